// The way to the cluster's issuer and back: a script of its own, oidc.js, for platforms that have an issuer. What is needed on the way back
// is in the tab's storage until then, and so is, for a reload, that this tab was signed in. Tokens are in memory alone.

import type { SignInSetup } from '../kinds/sign-in.ts';
import type { Issuer, Start } from './credentials.ts';
import { makeClient } from './issuer-client.ts';
import { type Flow, type Kept, keptIn, whatNow } from './way-back.ts';

/** Keys of the tab's storage. */
const FLOW_KEY = 'davit-sign-in';
const TAB_KEY = 'davit-signed-in';
const CHANNEL = 'davit-sign-in';
/** The tab that asked is in the same browser, though perhaps hidden. */
const RELAY_MS = 3000;

export function makeIssuer(setup: SignInSetup): Issuer {
  const client = makeClient(setup);
  const { name, clientId } = setup;

  async function go(tenant: string, isSilent = false): Promise<never> {
    const { url, flow } = await client.begin({ isSilent });
    const kept: Kept = { flow, tenant, fragment: location.hash, at: Date.now() };
    sessionStorage.setItem(FLOW_KEY, JSON.stringify(kept));
    if (isSilent) location.replace(url);
    else location.assign(url);
    return new Promise(() => undefined);
  }

  function remember(tenant: string | undefined): void {
    if (tenant === undefined) sessionStorage.removeItem(TAB_KEY);
    else sessionStorage.setItem(TAB_KEY, tenant);
  }

  async function start(): Promise<Start> {
    const kept = keptIn(sessionStorage.getItem(FLOW_KEY));
    const tab = sessionStorage.getItem(TAB_KEY) ?? undefined;
    const answer = new URLSearchParams(location.search);
    const now = whatNow(answer, kept, tab, Date.now());
    // An answer counts once, and a reload goes to the issuer once.
    sessionStorage.removeItem(FLOW_KEY);
    remember(undefined);
    if (now.next === 'relay' || now.next === 'finish') {
      history.replaceState(null, '', `${location.pathname}${kept?.fragment ?? ''}`);
      // replaceState tells nobody.
      dispatchEvent(new Event('popstate'));
    }
    const tenant = kept?.tenant ?? tab ?? '';
    try {
      if (now.next === 'go silently') return await go(tenant, true);
      if (now.next === 'relay')
        return (await relay(answer)) ? { how: 'relayed' } : { how: 'ask', tenant, failure: now.otherwise };
      if (now.next === 'ask') return { how: 'ask' };
      const credentials = await client.finish(now.flow, answer);
      if (credentials !== undefined) return { how: 'enter', tenant, credentials };
      return { how: 'ask', tenant, notice: `You are no longer signed in at ${name}. Sign in again.` };
    } catch (error) {
      return { how: 'ask', tenant, failure: error instanceof Error ? error.message : String(error) };
    }
  }

  return {
    setup,
    start,
    go,
    remember,
    leaving: client.leaving,
    refused: (sentence) =>
      `${name} let you in, but the API server refused the ID token. Its AuthenticationConfiguration must have this issuer, and ${clientId} among the audiences. ${sentence}`,
    again(onUrl, onAnswer) {
      let isOver = false;
      let stop: (() => void) | undefined;
      async function attempt(): Promise<void> {
        const { url, flow } = await client.begin({ isSilent: false });
        if (isOver) return;
        stop = awaitRelayed(flow, (answer) => {
          onUrl(undefined);
          onAnswer(client.finish(flow, answer));
          attempt().catch(() => undefined);
        });
        onUrl(url);
      }
      attempt().catch((error: unknown) => onAnswer(Promise.reject(error as Error)));
      return () => {
        isOver = true;
        stop?.();
      };
    },
  };
}

/** Gives the answer to the tab that asked for it. Resolves to whether there is one. */
function relay(answer: URLSearchParams): Promise<boolean> {
  const channel = new BroadcastChannel(CHANNEL);
  return new Promise<boolean>((resolve) => {
    setTimeout(() => resolve(false), RELAY_MS);
    channel.addEventListener('message', ({ data }: MessageEvent<unknown>) => {
      if (data === `taken ${answer.get('state')}`) resolve(true);
    });
    channel.postMessage(`answer ${answer.toString()}`);
  }).finally(() => channel.close());
}

/** Calls `onAnswer` with the answer to `flow` that another tab has got, once. */
function awaitRelayed(flow: Flow, onAnswer: (answer: URLSearchParams) => void): () => void {
  const channel = new BroadcastChannel(CHANNEL);
  channel.addEventListener('message', ({ data }: MessageEvent<unknown>) => {
    if (typeof data !== 'string' || !data.startsWith('answer ')) return;
    const answer = new URLSearchParams(data.slice('answer '.length));
    if (answer.get('state') !== flow.state) return;
    channel.postMessage(`taken ${flow.state}`);
    channel.close();
    onAnswer(answer);
  });
  return () => channel.close();
}
