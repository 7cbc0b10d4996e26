// How an image is pushed to a deployment, and the form that deploys it. Part of create.js.

import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { arriveAt, Field, useForm } from './create-fields.tsx';
import { digestIn, Unfit } from './create-request.ts';
import type { ConfigureProps } from './new.tsx';
import { Failure, fieldOf, Submit } from './parts.tsx';
import { linkOf } from './route.ts';
import { Card } from './rows.tsx';
import { copied } from './shell.tsx';
import { plain } from './text.ts';

const NO_DIGEST =
  'This has no digest. Copy it from the last line of docker push: sha256: and 64 characters of 0–9 and a–f.';

interface PushToken {
  readonly token: string;
  readonly username: string;
  /** Without a tag. */
  readonly repository_url: string;
  readonly expires_at: string;
}

/** First a password of the registry for the deployment's own repository, then what was pushed with it, by its digest. */
export function Push({ api, deployment: { id, name }, say }: ConfigureProps): VNode {
  const path = `v2/deployments/${id}`;
  const [place, setPlace] = useState<PushToken>();
  const { attributes, isAsking, failures } = useForm(send);

  async function send(form: HTMLFormElement): Promise<void> {
    if (place === undefined) {
      setPlace(await api.ask('POST', `${path}/push-token`, {}));
      return;
    }
    const digest = digestIn(fieldOf(new FormData(form), 'new-digest'));
    if (digest === undefined) throw new Unfit('new-digest', NO_DIGEST);
    const body = { source_revision_config: { image_uri: `${place.repository_url}@${digest}` } };
    await api.ask('PATCH', `${path}?secrets=names`, body);
    // The person has perhaps gone elsewhere meanwhile.
    if (!form.isConnected) return;
    say(`A new revision of ${name} is created.`);
    arriveAt(linkOf(id));
  }

  return (
    <Card title="Push an image" sub="to its own repository in the platform's registry">
      <form class="stack" {...attributes}>
        {place === undefined ? (
          <p>To push, you need a password. It is valid for one hour.</p>
        ) : (
          <>
            <Password place={place} />
            <p>Sign in with this password, and push. Replace IMAGE with the name of your image:</p>
            <pre tabIndex={0}>{commands(place)}</pre>
            <Field id="new-digest" failures={failures} required />
          </>
        )}
        <Failure sentence={failures['']} />
        <Submit isAsking={isAsking}>{place === undefined ? 'Make a password' : 'Deploy the image'}</Submit>
      </form>
    </Card>
  );
}

/** A tag is needed to push, and nothing is deployed by it: the digest is. */
function commands({ username, repository_url: repository }: PushToken): string {
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
function Password({ place }: { readonly place: PushToken }): VNode {
  const [isShown, setIsShown] = useState(false);
  const [said, setSaid] = useState('');
  const field = useRef<HTMLInputElement>(null);

  // A new element has the focus first: a reader hears what has come.
  useEffect(() => field.current?.focus(), []);
  async function copy(): Promise<void> {
    setSaid((await copied(place.token)) ? 'Copied.' : 'The browser did not copy it. Show it, and copy it by hand.');
  }
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
          <button type="button" onClick={() => void copy()}>
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
