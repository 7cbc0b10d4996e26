// The form for a new deployment of an image. What the API refuses stands at its field, in the API's words.

import type { TargetedSubmitEvent, VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { type Api, ApiError } from './api.ts';
import { Failure, fieldOf, Word } from './parts.tsx';
import { linkOf } from './route.ts';

interface Field {
  readonly id: string;
  readonly label: string;
  readonly help: string;
  /** Where the API finds it in the body. */
  readonly loc: string;
}

const NAME: Field = {
  id: 'new-name',
  label: 'Name',
  help: 'Lower-case letters, digits and single hyphens. It cannot be changed.',
  loc: 'name',
};
const IMAGE: Field = {
  id: 'new-image',
  label: 'Image',
  help: 'Such as registry.example.com/team/shop:1.5.0. It listens on PORT, and answers GET /ok with 200 when it can serve.',
  loc: 'source_revision_config.image_uri',
};
const FIELDS = [NAME, IMAGE];

/** Sentences by the id of their field; under '' what belongs to none. */
type Failures = Readonly<Record<string, string>>;

export interface NewProps {
  readonly api: Api;
  /** Shows and announces a sentence. */
  readonly say: (sentence: string) => void;
  readonly go: (link: string) => void;
  /** The list as it was left. */
  readonly list: string;
}

export function New({ api, say, go, list }: NewProps): VNode {
  const [isAsking, setIsAsking] = useState(false);
  const [failures, setFailures] = useState<Failures>({});
  const form = useRef<HTMLFormElement>(null);

  useEffect(() => {
    document.title = 'New deployment – Davit';
    document.getElementById(NAME.id)?.focus();
  }, []);

  async function create(event: TargetedSubmitEvent<HTMLFormElement>): Promise<void> {
    event.preventDefault();
    if (isAsking) return;
    const given = new FormData(event.currentTarget);
    const name = fieldOf(given, NAME.id);
    setIsAsking(true);
    setFailures({});
    try {
      const id = await api.create(name, fieldOf(given, IMAGE.id));
      // The person has perhaps gone elsewhere meanwhile.
      if (form.current === null) return;
      say(`${name} is created.`);
      go(linkOf(id));
    } catch (error) {
      setIsAsking(false);
      const found = failuresOf(error);
      setFailures(found);
      const first = FIELDS.find(({ id }) => found[id] !== undefined);
      if (first) document.getElementById(first.id)?.focus();
    }
  }

  return (
    <section class="sign-in" aria-labelledby="new">
      <nav aria-label="Back">
        <a href={list}>← All deployments</a>
      </nav>
      <h1 id="new">New deployment</h1>
      <p>
        The image must be in a registry. Everything else has the platform's defaults and can be changed later. To build
        and deploy a folder, use <code>kubectl davit deploy</code>.
      </p>
      <form ref={form} onSubmit={(event) => void create(event)}>
        {FIELDS.map((field) => (
          <Asked key={field.id} field={field} failure={failures[field.id]} />
        ))}
        <Failure sentence={failures['']} />
        <div class="actions">
          <button type="submit" class="main" aria-disabled={isAsking}>
            {isAsking ? 'Asking the API …' : 'Create'}
          </button>
          <a class="button" href={list}>
            Cancel
          </a>
        </div>
      </form>
    </section>
  );
}

function Asked({
  field: { id, label, help },
  failure,
}: {
  readonly field: Field;
  readonly failure: string | undefined;
}): VNode {
  return (
    <>
      <label for={id}>{label}</label>
      <Word
        id={id}
        name={id}
        required
        aria-invalid={failure !== undefined}
        aria-describedby={`${id}-help ${id}-failure`}
      />
      <p id={`${id}-help`} class="help">
        {help}
      </p>
      <Failure id={`${id}-failure`} sentence={failure} />
    </>
  );
}

function failuresOf(error: unknown): Failures {
  if (!(error instanceof ApiError)) return { '': error instanceof Error ? error.message : String(error) };
  // A name that is taken is no finding: the request is right in itself.
  if (error.status === 409) return { [NAME.id]: error.message };
  if (error.findings.length === 0) return { '': error.message };
  const failures: Record<string, string> = {};
  for (const { loc, msg } of error.findings) {
    const at = loc.slice(1).join('.');
    const field = FIELDS.find((one) => one.loc === at);
    const id = field?.id ?? '';
    const sentence = field ? `${field.label} ${msg}.` : `${at} ${msg}.`;
    failures[id] = failures[id] === undefined ? sentence : `${failures[id]} ${sentence}`;
  }
  return failures;
}
