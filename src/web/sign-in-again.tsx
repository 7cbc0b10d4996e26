// The token has ended while the page is open: a dialog above everything, so that what was typed stays. With the issuer a person signs in in
// another tab.

import type { VNode } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Session } from './api.ts';
import type { Credentials, Issuer } from './credentials.ts';
import { Failure, useAsking } from './parts.tsx';
import { refusalBy, TokenForm } from './sign-in.tsx';

export interface SignInAgainProps {
  readonly issuer: Issuer | undefined;
  readonly session: Session;
  /** Why, as the API says it. */
  readonly refused: string;
  readonly onRenewed: (credentials: Credentials) => void;
  readonly onLeave: () => void;
}

export function SignInAgain({ issuer, session, refused, onRenewed, onLeave }: SignInAgainProps): VNode {
  const dialog = useRef<HTMLDialogElement>(null);
  const link = useRef<HTMLAnchorElement>(null);
  const { isAsking, failure, ask } = useAsking();
  const [url, setUrl] = useState<string>();
  const { person, subject } = session.credentials;

  useLayoutEffect(() => {
    dialog.current?.showModal();
    if (!issuer) document.getElementById('token')?.focus();
  }, []);
  useEffect(() => {
    if (url !== undefined && document.activeElement?.id !== 'token') link.current?.focus();
  }, [url]);
  useEffect(() => issuer?.again(setUrl, (given) => void take(given)), []);

  const take = (given: Credentials | Promise<Credentials | undefined>): Promise<void> =>
    ask(async () => {
      const credentials = await given;
      const why = credentials && (await whyNot(credentials));
      if (why !== undefined) throw new Error(why);
    });

  async function whyNot(credentials: Credentials): Promise<string | undefined> {
    // What is typed here is somebody else's.
    if (subject !== undefined && credentials.subject !== undefined && credentials.subject !== subject)
      return `You signed in as ${credentials.person}, and this page is ${person}'s. To continue as ${credentials.person}, sign out first.`;
    const refusal = await refusalBy({ credentials, tenant: session.tenant }, issuer);
    if (refusal === undefined) onRenewed(credentials);
    return refusal;
  }

  return (
    // Escape would leave a page that can do nothing.
    <dialog ref={dialog} aria-labelledby="again" onClose={() => dialog.current?.showModal()}>
      <h2 id="again">Sign in again</h2>
      <p>
        The token was refused. {refused} What you have typed is kept.
        {issuer && ` ${issuer.setup.name} opens in another tab.`}
      </p>
      <Failure id="token-failure" sentence={failure} />
      <TokenForm
        isFolded={issuer !== undefined}
        isAsking={isAsking}
        onToken={(given) => void take(given)}
        onFailure={(sentence) => void ask(() => Promise.reject(new Error(sentence)))}
      />
      <div class="actions">
        <button type="button" onClick={onLeave}>
          Sign out
        </button>
        {issuer && (
          <a
            ref={link}
            class="button main"
            {...(url !== undefined && { href: url })}
            target="_blank"
            rel="noopener noreferrer"
            aria-disabled={url === undefined}
          >
            {isAsking ? 'Asking the API …' : `Sign in with ${issuer.setup.name}`}
          </a>
        )}
      </div>
    </dialog>
  );
}
