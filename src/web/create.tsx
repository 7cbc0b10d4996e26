// The form for a new deployment: of an image, a repository, a template, an upload or a push. What the API refuses stands at its field, in
// the API's words. A script of its own.

import { type RefObject, render, type TargetedSubmitEvent, type VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Platform } from '../deploy/http/platform/payloads.ts';
import { type Source, uses } from '../kinds/source-rules.ts';
import * as requests from './create-api.ts';
import { Asked, ConfigField } from './create-fields.tsx';
import { RepositoryFields } from './create-repository.tsx';
import {
  type Choice,
  choicesOf,
  type Failures,
  FIELDS,
  type FieldId,
  failuresOf,
  type Given,
  IMAGE,
  requestOf,
  unfit,
} from './create-request.ts';
import type { NewProps } from './new.tsx';
import { Failure, Word } from './parts.tsx';
import { Push } from './push.tsx';
import { linkOf, linkOfPush } from './route.ts';

/** See CreateScript in new.tsx. */
export function mount(place: HTMLElement, props: NewProps): () => void {
  const { pushedTo } = props;
  render(pushedTo === undefined ? <Create {...props} /> : <Push {...props} id={pushedTo} />, place);
  return () => render(null, place);
}

/** What the platform offers, as far as it has said so. */
interface Offer {
  readonly platform?: Platform;
  readonly failure?: string;
}

function useOffer(api: requests.Ask): Offer {
  const [offer, setOffer] = useState<Offer>({});
  useEffect(() => {
    requests.platform(api).then(
      (platform) => setOffer({ platform }),
      (error: unknown) => setOffer({ failure: error instanceof Error ? error.message : String(error) }),
    );
  }, []);
  return offer;
}

/** A deployment that is there, and whose upload has still to come. */
interface Made {
  readonly id: string;
  readonly name: string;
}

interface Creation {
  readonly isAsking: boolean;
  readonly failures: Failures;
  readonly made: Made | undefined;
  readonly submit: (event: TargetedSubmitEvent<HTMLFormElement>) => Promise<void>;
}

/** What becomes of the form when it is sent. */
function useCreation(
  { api, say, go }: NewProps,
  form: RefObject<HTMLFormElement | null>,
  source: Source,
  platform: Platform | undefined,
): Creation {
  const [isAsking, setIsAsking] = useState(false);
  const [failures, setFailures] = useState<Failures>({});
  const [made, setMade] = useState<Made>();

  /** Resolves to the id of what was made. */
  async function send(given: Given, archive: File | undefined): Promise<string> {
    const make = (): Promise<Made> => requests.create(api, requestOf(source, given, platform?.templates ?? []));
    if (archive === undefined) return (await make()).id;
    const most = platform?.builds.upload_max_mb ?? Number.POSITIVE_INFINITY;
    const why = unfit(archive, new Uint8Array(await archive.slice(0, 3).arrayBuffer()), most);
    if (why !== undefined) throw new UnfitArchive(why);
    const { id, name } = made ?? (await make());
    setMade({ id, name });
    await requests.deployArchive(api, id, archive, given['new-config'] ?? '');
    return id;
  }

  async function submit(event: TargetedSubmitEvent<HTMLFormElement>): Promise<void> {
    event.preventDefault();
    if (isAsking) return;
    const { given, archive } = givenIn(event.currentTarget);
    setIsAsking(true);
    setFailures({});
    try {
      const id = await send(given, archive);
      // The person has perhaps gone elsewhere meanwhile.
      if (form.current === null) return;
      say(`${given['new-name']} is created.`);
      go(uses(source, 'push') ? linkOfPush(id) : linkOf(id));
    } catch (error) {
      setIsAsking(false);
      const shown = shownFields(form.current);
      const found = error instanceof UnfitArchive ? { 'new-archive': error.message } : failuresOf(error, shown);
      setFailures(found);
      const first = shown.find((id) => found[id] !== undefined);
      if (first) document.getElementById(first)?.focus();
    }
  }
  return { isAsking, failures, made, submit };
}

function Create(props: NewProps): VNode {
  const { api, list } = props;
  const { platform, failure } = useOffer(api);
  const [wanted, setWanted] = useState<Source>();
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => document.getElementById('new-name')?.focus(), []);
  const choices = platform ? choicesOf(platform) : [IMAGE];
  const { source, blocked } = chosen(choices, wanted);
  const { isAsking, failures, made, submit } = useCreation(props, form, source, platform);
  const waiting = made ? 'Uploading …' : 'Asking the API …';
  return (
    <>
      <p>Everything else has the platform's defaults and can be changed later.</p>
      <form ref={form} onSubmit={(event) => void submit(event)}>
        <Asked id="new-name" failures={failures}>
          {(more) => <Word {...more} required readOnly={made !== undefined} />}
        </Asked>
        {choices.length > 1 && (
          <Asked id="new-source" failures={failures}>
            {(more) => (
              <select
                {...more}
                value={source}
                disabled={made !== undefined}
                onChange={(event) => setWanted(event.currentTarget.value as Source)}
              >
                {choices.map((choice) => (
                  <option key={choice.source} value={choice.source}>
                    {choice.label}
                  </option>
                ))}
              </select>
            )}
          </Asked>
        )}
        <Failure sentence={failure && `What else can be deployed is not known: ${failure}`} />
        <Failure sentence={blocked} />
        {blocked === undefined && (
          <SourceFields key={source} api={api} source={source} platform={platform} failures={failures} />
        )}
        <Failure sentence={failures['']} />
        <p role="status">
          {made && !isAsking && (
            <>
              <a href={linkOf(made.id)}>{made.name}</a> is created and has no source yet. Upload it, or open it.
            </>
          )}
        </p>
        <div class="actions">
          <button type="submit" class="main" aria-disabled={isAsking} disabled={blocked !== undefined}>
            {isAsking ? waiting : made ? 'Upload' : 'Create'}
          </button>
          <a class="button" href={list}>
            Cancel
          </a>
        </div>
      </form>
    </>
  );
}

/** A file that is not sent: what is wrong with it. */
class UnfitArchive extends Error {}

/** What the person has chosen, or the first that can be. */
function chosen(choices: readonly Choice[], wanted: Source | undefined): Choice {
  const first = choices.find(({ blocked }) => blocked === undefined) ?? choices[0] ?? IMAGE;
  return choices.find(({ source }) => source === wanted) ?? first;
}

function shownFields(form: HTMLFormElement | null): FieldId[] {
  return (Object.keys(FIELDS) as FieldId[]).filter((id) => form?.querySelector(`#${id}`));
}

/** What stands in the form, with the file if it asks for one. */
function givenIn(form: HTMLFormElement): { readonly given: Given; readonly archive?: File } {
  const entries = [...new FormData(form)];
  const texts = entries.flatMap(([id, value]) => (typeof value === 'string' ? [[id, value.trim()]] : []));
  const archive = entries.map(([, value]) => value).find((value) => value instanceof File);
  return { given: Object.fromEntries(texts) as Given, ...(archive && { archive }) };
}

interface SourceFieldsProps {
  readonly api: requests.Ask;
  readonly source: Source;
  readonly platform: Platform | undefined;
  readonly failures: Failures;
}

function SourceFields({ api, source, platform, failures }: SourceFieldsProps): VNode {
  switch (source) {
    case 'external_docker':
      return (
        <Asked id="new-image" failures={failures}>
          {(more) => <Word {...more} required />}
        </Asked>
      );
    case 'codehost':
      return <RepositoryFields api={api} integrations={platform?.integrations ?? []} failures={failures} />;
    case 'internal_template':
      return <TemplateFields templates={platform?.templates ?? []} failures={failures} />;
    case 'internal_source':
      return (
        <>
          <Asked id="new-archive" failures={failures}>
            {(more) => <input {...more} type="file" required accept=".gz,.tgz,application/gzip" />}
          </Asked>
          <ConfigField failures={failures} />
        </>
      );
    case 'internal_docker':
      return <p class="help">The next page shows where to push it, and makes a password for that.</p>;
  }
}

function TemplateFields({
  templates,
  failures,
}: {
  readonly templates: Platform['templates'];
  readonly failures: Failures;
}): VNode {
  const [name, setName] = useState(templates[0]?.name);
  const template = templates.find((one) => one.name === name);
  return (
    <>
      <Asked id="new-template" failures={failures}>
        {(more) => (
          <select {...more} value={name} onChange={(event) => setName(event.currentTarget.value)}>
            {templates.map((one) => (
              <option key={one.name} value={one.name}>
                {one.name}
              </option>
            ))}
          </select>
        )}
      </Asked>
      {template && (
        <p class="help">
          It runs <code>{template.image_uri ?? template.repo_url}</code>.
        </p>
      )}
      {template?.repo_url && (
        <>
          <Asked key={`ref ${name}`} id="new-ref" failures={failures}>
            {(more) => (
              <Word
                {...more}
                required
                readOnly={template.repo_ref !== null}
                defaultValue={template.repo_ref ?? 'main'}
              />
            )}
          </Asked>
          <ConfigField key={`config ${name}`} failures={failures} fixed={template.workflow_config_path} />
        </>
      )}
    </>
  );
}
