// How an image is pushed to a deployment, and the form that deploys it. Part of create.js.

import type { TargetedSubmitEvent, VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import * as requests from './create-api.ts';
import { Asked } from './create-fields.tsx';
import { digestIn, type Failures, failuresOf } from './create-request.ts';
import type { NewProps } from './new.tsx';
import { Failure, fieldOf, Word } from './parts.tsx';
import { linkOf } from './route.ts';
import { plain } from './text.ts';

const NO_DIGEST =
  'This has no digest. Copy it from the last line of docker push: sha256: and 64 characters of 0–9 and a–f.';

interface Asking {
  readonly isAsking: boolean;
  readonly failures: Failures;
  readonly fail: (failures: Failures) => void;
  /** Does nothing while another question is open. */
  readonly ask: (question: () => Promise<void>) => Promise<void>;
}

function useAsking(): Asking {
  const [isAsking, setIsAsking] = useState(false);
  const [failures, fail] = useState<Failures>({});
  async function ask(question: () => Promise<void>): Promise<void> {
    if (isAsking) return;
    setIsAsking(true);
    fail({});
    await question().catch((error: unknown) => fail(failuresOf(error, ['new-digest'])));
    setIsAsking(false);
  }
  return { isAsking, failures, fail, ask };
}

export interface PushProps extends NewProps {
  readonly id: string;
}

export function Push(props: PushProps): VNode {
  const { api, id } = props;
  const [name, setName] = useState<string>();
  const [place, setPlace] = useState<requests.PushToken>();
  const { isAsking, failures, fail, ask } = useAsking();
  useEffect(() => {
    requests.deployment(api, id).then(
      (found) => setName(found.name),
      (error: unknown) => fail(failuresOf(error, [])),
    );
  }, []);
  return (
    <>
      <p>
        It is deployed as <a href={linkOf(id)}>{name === undefined ? 'the deployment' : plain(name)}</a>, from its own
        repository in the platform's registry.
      </p>
      {place === undefined ? (
        <>
          <p>A password for the push is made when you ask for it. It is valid for one hour.</p>
          <Failure sentence={failures['']} />
          <div class="actions">
            <button
              type="button"
              class="main"
              aria-disabled={isAsking}
              onClick={() => void ask(async () => setPlace(await requests.pushToken(api, id)))}
            >
              {isAsking ? 'Asking the API …' : 'Make a password'}
            </button>
            <a class="button" href={linkOf(id)}>
              Cancel
            </a>
          </div>
        </>
      ) : (
        <Pushed {...props} place={place} />
      )}
    </>
  );
}

/** What is pushed where, and the form that deploys it. */
function Pushed({ api, say, go, id, place }: PushProps & { readonly place: requests.PushToken }): VNode {
  const form = useRef<HTMLFormElement>(null);
  const { isAsking, failures, fail, ask } = useAsking();

  async function deploy(event: TargetedSubmitEvent<HTMLFormElement>): Promise<void> {
    event.preventDefault();
    const digest = digestIn(fieldOf(new FormData(event.currentTarget), 'new-digest'));
    if (digest === undefined) {
      fail({ 'new-digest': NO_DIGEST });
      document.getElementById('new-digest')?.focus();
      return;
    }
    await ask(async () => {
      const { name } = await requests.deployImage(api, id, `${place.repository_url}@${digest}`);
      // The person has perhaps gone elsewhere meanwhile.
      if (form.current === null) return;
      say(`A new revision of ${name} is created.`);
      go(linkOf(id));
    });
  }

  return (
    <form ref={form} onSubmit={(event) => void deploy(event)}>
      <Password place={place} />
      <p>Sign in with this password, and push. Write the name of your image in place of IMAGE:</p>
      <pre tabIndex={0}>{commands(place)}</pre>
      <Asked id="new-digest" failures={failures}>
        {(more) => <Word {...more} required />}
      </Asked>
      <Failure sentence={failures['']} />
      <div class="actions">
        <button type="submit" class="main" aria-disabled={isAsking}>
          {isAsking ? 'Asking the API …' : 'Deploy'}
        </button>
        <a class="button" href={linkOf(id)}>
          Cancel
        </a>
      </div>
    </form>
  );
}

/** A tag is needed to push, and nothing is deployed by it: the digest is. */
function commands({ username, repository_url: repository }: requests.PushToken): string {
  const [host] = repository.split('/', 1);
  return plain(
    [
      `docker login ${host} --username ${username}`,
      `docker tag IMAGE ${repository}:pushed`,
      `docker push ${repository}:pushed`,
    ].join('\n'),
  );
}

/** Hidden, as others may see the screen. A browser has no clipboard for a page that came without TLS. */
function Password({ place }: { readonly place: requests.PushToken }): VNode {
  const [isShown, setIsShown] = useState(false);
  const [said, setSaid] = useState('');
  const field = useRef<HTMLInputElement>(null);

  // A new element has the focus first: a reader hears what has come.
  useEffect(() => field.current?.focus(), []);
  const copy = (): void => {
    navigator.clipboard.writeText(place.token).then(
      () => setSaid('Copied.'),
      () => setSaid('The browser does not copy it. Show it, and copy it by hand.'),
    );
  };
  return (
    <>
      <label for="push-password">Password</label>
      <input
        ref={field}
        id="push-password"
        {...({ type: isShown ? 'text' : 'password' } as { readonly type: 'text' })}
        value={place.token}
        readOnly
        autocomplete="off"
        aria-describedby="push-password-help"
      />
      <p id="push-password-help" class="help">
        Valid until {new Date(place.expires_at).toLocaleTimeString()}, for this repository only. It is not shown again.
      </p>
      <p role="status">{said}</p>
      <div class="actions">
        {window.isSecureContext && (
          <button type="button" onClick={copy}>
            Copy the password
          </button>
        )}
        <button type="button" onClick={() => setIsShown(!isShown)}>
          {isShown ? 'Hide the password' : 'Show the password'}
        </button>
      </div>
    </>
  );
}
