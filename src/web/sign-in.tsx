// Who asks, and for which tenant: a person whom the cluster's issuer knows, or a token that is pasted.

import type { ComponentChildren, TargetedSubmitEvent, VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { SignInSetup } from '../kinds/sign-in.ts';
import { ApiError, makeApi, type Session } from './api.ts';
import { type Credentials, type Issuer, pasted, type Start } from './credentials.ts';
import { Failure, fieldOf, Submit, Word } from './parts.tsx';
import { messageOf, plain } from './text.ts';

export interface SignInProps {
  readonly issuer: Issuer | undefined;
  /** The issuer that leads back to another address of the page. */
  readonly elsewhere: SignInSetup | undefined;
  readonly tenant: string;
  readonly begun: Exclude<Start, { readonly how: 'relayed' }>;
  readonly onEnter: (session: Session) => void;
  readonly onLeave: () => void;
}

const ONE_WORD = 'A token and a tenant are one word each. Copy them again.';

function isWord(text: string): boolean {
  return /^[\x21-\x7e]+$/.test(text);
}

/** Why the API does not take the credentials; undefined if it does. */
export async function refusalBy(session: Session, issuer: Issuer | undefined): Promise<string | undefined> {
  try {
    await makeApi(session, () => undefined).check();
    return undefined;
  } catch (error) {
    const sentence = messageOf(error);
    if (!(error instanceof ApiError) || error.status !== 401) return sentence;
    return session.credentials.subject === undefined || issuer === undefined
      ? `The token was refused. ${sentence}`
      : issuer.refused(sentence);
  }
}

export function SignIn({ issuer, elsewhere, tenant, begun, onEnter, onLeave }: SignInProps): VNode {
  const given = begun.how === 'enter' ? begun.credentials : undefined;
  const past = begun.how === 'ask' ? begun : undefined;
  const [isAsking, setIsAsking] = useState(false);
  const [failure, setFailure] = useState(past?.failure);
  const [typed, setTyped] = useState(tenant);

  function focus(): void {
    document.getElementById(issuer ? 'tenant' : 'token')?.focus();
  }
  /** `ask` resolves to the sentence that says why not. */
  async function trying(ask: (tenant: string) => Promise<string | undefined>): Promise<void> {
    const wanted = typed.trim();
    if (isAsking) return;
    setIsAsking(true);
    setFailure(undefined);
    const sentence = wanted === '' || isWord(wanted) ? await ask(wanted).catch(messageOf) : ONE_WORD;
    setIsAsking(false);
    setFailure(sentence);
    if (sentence !== undefined) focus();
  }
  const enter = (credentials: Credentials): Promise<void> =>
    trying(async (wanted) => {
      const session = { credentials, tenant: wanted };
      const sentence = await refusalBy(session, issuer);
      if (sentence === undefined) onEnter(session);
      return sentence;
    });

  useEffect(() => {
    document.title = 'Sign in – Davit';
    focus();
    if (given) void enter(given);
  }, []);

  const tenantField = <TenantField typed={typed} onType={setTyped} failure={failure} />;
  return (
    <section class="sign-in" aria-labelledby="sign-in">
      <h1 id="sign-in">Deployments on this cluster</h1>
      {past?.notice !== undefined && <p role="status">{past.notice}</p>}
      {past?.hasLeft && issuer && <Left issuer={issuer} />}
      {given?.person !== undefined && <Known person={given.person} onLeave={onLeave} />}
      {!issuer && (
        <p>
          Sign in with a Kubernetes token. The page has the rights of the token, and keeps it in memory until you sign
          out or close the tab.
        </p>
      )}
      {elsewhere && (
        <p>
          To sign in with {elsewhere.name}, open <a href={elsewhere.redirectUri}>{elsewhere.redirectUri}</a>.
        </p>
      )}
      {issuer && (
        <form
          class="stack"
          onSubmit={(event) => {
            event.preventDefault();
            void (given ? enter(given) : trying((wanted) => issuer.go(wanted)));
          }}
        >
          {tenantField}
          <Submit isAsking={isAsking}>{given ? 'Continue' : `Sign in with ${issuer.setup.name}`}</Submit>
        </form>
      )}
      <TokenForm
        isFolded={issuer !== undefined}
        isAsking={isAsking}
        onToken={(token) => void enter(token)}
        onFailure={setFailure}
      >
        {!issuer && tenantField}
      </TokenForm>
    </section>
  );
}

/** Somebody whom the issuer knows, and the API does not let in yet. */
function Known({ person, onLeave }: Pick<SignInProps, 'onLeave'> & { readonly person: string }): VNode {
  return (
    <p>
      You are {plain(person)}.{' '}
      <button type="button" onClick={onLeave}>
        Sign out
      </button>
    </p>
  );
}

interface TenantFieldProps {
  readonly typed: string;
  readonly onType: (tenant: string) => void;
  readonly failure: string | undefined;
}

function TenantField({ typed, onType, failure }: TenantFieldProps): VNode {
  return (
    <>
      <label for="tenant">Tenant</label>
      <Word
        id="tenant"
        name="tenant"
        value={typed}
        onInput={(event) => onType(event.currentTarget.value)}
        aria-describedby="tenant-help token-failure"
      />
      <p id="tenant-help" class="help">
        The name or the id of the namespace. Leave it empty if you have only one.
      </p>
      <Failure id="token-failure" sentence={failure} />
    </>
  );
}

interface TokenFormProps {
  /** Behind a word, where there is another way. */
  readonly isFolded: boolean;
  readonly isAsking: boolean;
  readonly onToken: (credentials: Credentials) => void;
  readonly onFailure: (sentence: string) => void;
  readonly children?: ComponentChildren;
}

export function TokenForm({ isFolded, isAsking, onToken, onFailure, children }: TokenFormProps): VNode {
  function submit(event: TargetedSubmitEvent<HTMLFormElement>): void {
    event.preventDefault();
    const word = fieldOf(new FormData(event.currentTarget), 'token');
    if (isWord(word)) onToken(pasted(word));
    else onFailure(ONE_WORD);
  }
  const form = (
    <form class="stack" onSubmit={submit}>
      <label for="token">Token</label>
      <Word id="token" name="token" type="password" required aria-describedby="token-help token-failure" />
      <p id="token-help" class="help">
        For example from <code>kubectl create token ACCOUNT -n TEAM --duration=1h</code>
      </p>
      {children}
      <Submit isAsking={isAsking} kind={isFolded ? '' : 'main'}>
        {isFolded ? 'Sign in with the token' : 'Sign in'}
      </Submit>
    </form>
  );
  if (!isFolded) return form;
  return (
    <details>
      <summary>Use a token</summary>
      {form}
    </details>
  );
}

/** Signing out here does not end what else the person does with the issuer. */
function Left({ issuer }: { readonly issuer: Issuer }): VNode {
  const { name } = issuer.setup;
  const [url, setUrl] = useState<string>();
  useEffect(() => {
    issuer.leaving().then(setUrl, () => undefined);
  }, []);
  return (
    <p role="status">
      You are signed out here. {name} still knows this browser.{' '}
      {url !== undefined && <a href={url}>Sign out of {name} too</a>}
    </p>
  );
}

/** In the tab in which a person has signed in again. */
export function Relayed(): VNode {
  useEffect(() => {
    document.title = 'Signed in – Davit';
    // Not every browser does.
    close();
  }, []);
  return (
    <section class="sign-in" role="status">
      <h1>Continue in the other tab</h1>
      <p>You are signed in there. You can close this tab.</p>
    </section>
  );
}
