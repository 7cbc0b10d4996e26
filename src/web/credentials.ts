// Who asks the API: a token that was pasted, or what the cluster's issuer gave. In memory alone.

import type { SignInSetup } from '../kinds/sign-in.ts';

export interface Credentials {
  /** The person, as the issuer knows and names them. Absent where a token was pasted. */
  readonly subject?: string;
  readonly person?: string;
  /** The token to send now. Never rejects: of a token that is valid no more the API says so. */
  token(): Promise<string>;
  /** Takes back what the issuer gave, as far as it can be. */
  end(): Promise<void>;
}

/** How the page begins. */
export type Start =
  | {
      readonly how: 'ask';
      readonly tenant?: string;
      readonly failure?: string;
      readonly notice?: string;
      /** Whether somebody whom the issuer knows has signed out. */
      readonly hasLeft?: boolean;
    }
  | { readonly how: 'enter'; readonly tenant: string; readonly credentials: Credentials }
  /** The answer of the issuer was another tab's, which has it. */
  | { readonly how: 'relayed' };

/** The cluster's issuer, as oidc.js makes it. It rejects with sentences for people. */
export interface Issuer {
  readonly setup: SignInSetup;
  /** The answer with which the issuer led here, a reload, or neither. */
  start(): Promise<Start>;
  /** Leaves the page for the issuer. Rejects where that is not possible. */
  go(tenant: string): Promise<never>;
  /**
   * Signs in again while the page stays: tells the address of each attempt, which the person opens in another tab, and then what
   * came of it. Returns a function that ends it.
   */
  again(
    onUrl: (url: string | undefined) => void,
    onAnswer: (credentials: Promise<Credentials | undefined>) => void,
  ): () => void;
  /** For a reload of this tab: the tenant for which a person is signed in; undefined if nobody is. */
  remember(tenant: string | undefined): void;
  /** Where the browser goes to sign out at the issuer; undefined if it has no such place. */
  leaving(): Promise<string | undefined>;
  /** The sentence about an ID token that the API does not take. */
  refused(sentence: string): string;
}

export function pasted(token: string): Credentials {
  return { token: async () => token, end: async () => undefined };
}

/** Undefined where the platform has none, or leads back to another address of the page than `here`. */
export async function loadIssuer(
  root: HTMLElement,
  here: string,
): Promise<{ readonly issuer?: Issuer; readonly elsewhere?: SignInSetup }> {
  const { oidc } = root.dataset;
  if (oidc === undefined) return {};
  const { script, ...setup } = JSON.parse(oidc) as SignInSetup & { readonly script: string };
  if (setup.redirectUri !== here) return { elsewhere: setup };
  // src/web/oidc.ts, under its hash.
  const { makeIssuer } = (await import(script)) as { readonly makeIssuer: (setup: SignInSetup) => Issuer };
  return { issuer: makeIssuer(setup) };
}
