// Token and tenant. They go into the session's memory, and are gone with the tab or a reload.

import type { TargetedSubmitEvent, VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, makeApi, type Session } from './api.ts';
import { Failure, fieldOf, Word } from './parts.tsx';

export interface SignInProps {
  readonly tenant: string;
  /** Why the session before has ended. */
  readonly refused: string | undefined;
  readonly onEnter: (session: Session) => void;
}

export function SignIn({ tenant, refused, onEnter }: SignInProps): VNode {
  const [isAsking, setIsAsking] = useState(false);
  const [failure, setFailure] = useState(refused && `The token was refused. ${refused}`);
  const field = useRef<HTMLInputElement>(null);

  useEffect(() => {
    document.title = 'Sign in – Davit';
    field.current?.focus();
  }, []);

  async function enter(event: TargetedSubmitEvent<HTMLFormElement>): Promise<void> {
    event.preventDefault();
    if (isAsking) return;
    const given = new FormData(event.currentTarget);
    const session = { token: fieldOf(given, 'token'), tenant: fieldOf(given, 'tenant') };
    if (!/^[\x21-\x7e]+$/.test(session.token) || !/^[\x21-\x7e]*$/.test(session.tenant)) {
      setFailure('A token and a tenant are one word each. Copy them again.');
      field.current?.focus();
      return;
    }
    setIsAsking(true);
    setFailure(undefined);
    let sentence: string | undefined;
    try {
      await makeApi(session, () => undefined).check();
    } catch (error) {
      sentence = error instanceof Error ? error.message : String(error);
      if (error instanceof ApiError && error.status === 401) sentence = `The token was refused. ${sentence}`;
    }
    setIsAsking(false);
    setFailure(sentence);
    if (sentence === undefined) onEnter(session);
    else field.current?.focus();
  }

  return (
    <section class="sign-in" aria-labelledby="sign-in">
      <h1 id="sign-in">Deployments on this cluster</h1>
      <p>
        The page does what a Kubernetes token may do. It keeps the token in memory until you sign out or close the tab.
      </p>
      <form onSubmit={(event) => void enter(event)}>
        <label for="token">Token</label>
        <input
          id="token"
          name="token"
          type="password"
          autocomplete="off"
          spellcheck={false}
          required
          ref={field}
          aria-describedby="token-help token-failure"
        />
        <p id="token-help" class="help">
          For example from <code>kubectl create token ACCOUNT -n TEAM --duration=1h</code>
        </p>
        <label for="tenant">Tenant</label>
        <Word id="tenant" name="tenant" defaultValue={tenant} aria-describedby="tenant-help" />
        <p id="tenant-help" class="help">
          The namespace's name or its id. Empty if the token may use only one.
        </p>
        <Failure id="token-failure" sentence={failure} />
        <button type="submit" class="main" aria-disabled={isAsking}>
          {isAsking ? 'Asking the API …' : 'Sign in'}
        </button>
      </form>
    </section>
  );
}
