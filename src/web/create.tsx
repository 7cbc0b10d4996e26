// The form for a new deployment: of an image, a repository, a template, an upload or a push. What the API refuses stands at its field, in
// the API's words. A script of its own.

import { type ComponentChildren, type RefObject, render, type TargetedSubmitEvent, type VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ApplyFile } from '../deploy/http/file-payloads.ts';
import type { Platform } from '../deploy/http/platform/payloads.ts';
import { type Source, uses } from '../kinds/source-rules.ts';
import type { Finding } from './api.ts';
import { ConfigureTab } from './configure-tab.tsx';
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
  isRefusal,
  type SetFields,
  setOf,
} from './create-request.ts';
import { askBeforeLeaving } from './drafts.ts';
import { Editor } from './file-editor.tsx';
import { FileFields } from './file-fields.tsx';
import { asList, fieldsOf, valueAt } from './file-text.ts';
import type { LoadedProps, NewProps } from './new.tsx';
import { Failure, Word } from './parts.tsx';
import { Push } from './push.tsx';
import { linkOf, linkOfPush } from './route.ts';
import { Generated } from './secret-value.tsx';
import { messageOf, plain } from './text.ts';
import {
  archiveOf,
  type Chosen,
  failureOf,
  folderIn,
  type Progress,
  ProgressBar,
  sendArchive,
  Unfit,
  UploadFields,
  useChosen,
} from './upload.tsx';

askBeforeLeaving(window);

/** See CreateScript in new.tsx. */
export function show(place: HTMLElement, props: LoadedProps): void {
  if ('deployment' in props) render(<ConfigureTab key={props.deployment.id} {...props} />, place);
  else if (props.pushedTo === undefined) render(<Create {...props} />, place);
  else render(<Push {...props} id={props.pushedTo} />, place);
}

export function hide(place: HTMLElement): void {
  render(null, place);
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
      (error: unknown) => setOffer({ failure: messageOf(error) }),
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
  /** What is wrong with the text. */
  readonly findings: readonly Finding[];
  readonly progress: Progress | undefined;
  readonly made: Made | undefined;
  readonly submit: (event: TargetedSubmitEvent<HTMLFormElement>) => Promise<void>;
}

interface Wanted {
  readonly source: Source;
  readonly platform: Platform | undefined;
  /** Of a davit.yaml; empty for none. */
  readonly text: string;
  readonly chosen: Chosen | undefined;
}

/** What becomes of the form when it is sent. */
function useCreation(
  { api, say, go }: NewProps,
  form: RefObject<HTMLFormElement | null>,
  { source, platform, text, chosen }: Wanted,
): Creation {
  const [isAsking, setIsAsking] = useState(false);
  const [failures, setFailures] = useState<Failures>({});
  const [findings, setFindings] = useState<readonly Finding[]>([]);
  const [progress, setProgress] = useState<Progress>();
  const [made, setMade] = useState<Made>();

  /** Resolves to the id of what was made. */
  async function send(body: ApplyFile, name: string, config: string): Promise<string> {
    const isUpload = uses(source, 'upload');
    const mostMb = platform?.builds.upload_max_mb;
    const archive = isUpload ? await archiveOf(chosen, config, mostMb, setProgress) : undefined;
    const id = made?.id ?? (await requests.apply(api, body, false)).deployment?.id ?? '';
    if (archive === undefined) return id;
    setMade({ id, name });
    const path = await sendArchive(api, id, archive, setProgress);
    await requests.apply(api, { ...body, source_tarball_path: path }, true);
    return id;
  }

  async function submit(event: TargetedSubmitEvent<HTMLFormElement>): Promise<void> {
    event.preventDefault();
    if (isAsking) return;
    const { given, secrets } = givenIn(event.currentTarget);
    setIsAsking(true);
    setFailures({});
    setFindings([]);
    let set: SetFields = [];
    try {
      set = setOf(source, given, platform?.templates ?? []);
      const name = given['new-name'] ?? '';
      const file = text.trim() === '' ? {} : { file: text };
      const id = await send({ source, set, secrets, ...file }, name, given['new-config'] ?? '');
      // The person has perhaps gone elsewhere meanwhile.
      if (form.current === null) return;
      say(`${name} is created.`);
      go(uses(source, 'push') ? linkOfPush(id) : linkOf(id));
    } catch (error) {
      setIsAsking(false);
      setProgress(undefined);
      const shown = shownFields(form.current);
      const ofText = isRefusal(error)
        ? error.findings.filter(({ loc }) => loc[1] === 'file' && text.trim() !== '')
        : [];
      setFindings(ofText);
      const found: Failures =
        error instanceof Unfit
          ? failureOf(error, chosen)
          : ofText.length > 0
            ? { '': 'The text under More has errors.' }
            : failuresOf(error, shown, set);
      setFailures(found);
      const first = shown.find((id) => found[id] !== undefined);
      if (first) document.getElementById(first)?.focus();
    }
  }
  return { isAsking, failures, findings, progress, made, submit };
}

function Create(props: NewProps): VNode {
  const { api, list } = props;
  const { platform, failure } = useOffer(api);
  const [wanted, setWanted] = useState<Source>();
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => document.getElementById('new-name')?.focus(), []);
  const choices = platform ? choicesOf(platform) : [IMAGE];
  const { source, blocked } = choiceOf(choices, wanted);
  const [text, setText] = useState('');
  const choosing = useChosen();
  const { chosen } = choosing;
  /** The davit.yaml of the folder that was chosen last; a text that was typed stays. */
  const brought = useRef('');
  useEffect(() => {
    const own = folderIn(chosen)?.davitFile ?? '';
    if (text === brought.current) setText(own);
    brought.current = own;
  }, [chosen]);
  const creation = useCreation(props, form, { source, platform, text, chosen });
  const { failures, made, submit } = creation;
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
          <SourceFields key={source} api={api} source={source} platform={platform} failures={failures}>
            <UploadFields {...choosing} mostMb={platform?.builds.upload_max_mb} failures={failures} />
          </SourceFields>
        )}
        <More text={text} findings={creation.findings} onText={setText} />
        <End {...creation} list={list} isBlocked={blocked !== undefined} />
      </form>
    </>
  );
}

interface EndProps extends Creation {
  readonly list: string;
  readonly isBlocked: boolean;
}

function End({ failures, progress, made, isAsking, list, isBlocked }: EndProps): VNode {
  return (
    <>
      <Failure sentence={failures['']} />
      <ProgressBar progress={progress} />
      <p role="status">
        {made && !isAsking && (
          <>
            <a href={linkOf(made.id)}>{made.name}</a> is created and has no source yet. Upload it, or open it.
          </>
        )}
      </p>
      <div class="actions">
        <button type="submit" class="main" aria-disabled={isAsking} disabled={isBlocked}>
          {isAsking ? 'Asking the API …' : made ? 'Upload' : 'Create'}
        </button>
        <a class="button" href={list}>
          Cancel
        </a>
      </div>
    </>
  );
}

/** What the person has chosen, or the first that can be. */
function choiceOf(choices: readonly Choice[], wanted: Source | undefined): Choice {
  const first = choices.find(({ blocked }) => blocked === undefined) ?? choices[0] ?? IMAGE;
  return choices.find(({ source }) => source === wanted) ?? first;
}

function shownFields(form: HTMLFormElement | null): FieldId[] {
  return (Object.keys(FIELDS) as FieldId[]).filter((id) => form?.querySelector(`#${id}`));
}

/** What stands in the form, and the values of secrets in it. */
function givenIn(form: HTMLFormElement): {
  readonly given: Given;
  readonly secrets: { name: string; value: string }[];
} {
  const texts = [...new FormData(form)].flatMap(([id, value]) =>
    typeof value === 'string' ? [[id, value] as const] : [],
  );
  const secrets = texts.flatMap(([id, value]) => {
    const [, name] = /^secret (.*)$/.exec(id) ?? [];
    return name === undefined || value === '' ? [] : [{ name, value }];
  });
  return { given: Object.fromEntries(texts.map(([id, value]) => [id, value.trim()])) as Given, secrets };
}

interface MoreProps {
  readonly text: string;
  readonly findings: readonly Finding[];
  readonly onText: (text: string) => void;
}

/** Everything else that a deployment can be configured with from the beginning. */
function More({ text, findings, onText }: MoreProps): VNode {
  const names = asList(valueAt(fieldsOf(text), ['secrets'])).filter((name) => typeof name === 'string');
  return (
    <details class="more">
      <summary>More: port, command, sizes, workers, tasks, variables</summary>
      <FileFields text={text} onText={onText} />
      <h3>As davit.yaml</h3>
      <p class="help">
        These fields are written here, and what has no field can be added: variables that everybody may see under env,
        the names of secret ones under secrets.
      </p>
      <Editor id="new-file" label="davit.yaml" text={text} findings={findings} onText={onText} />
      {[...new Set(names)].map((name) => (
        <Generated key={name} id={`secret ${name}`} label={`Value of ${plain(name)}`} />
      ))}
    </details>
  );
}

interface SourceFieldsProps {
  readonly api: requests.Ask;
  readonly source: Source;
  readonly platform: Platform | undefined;
  readonly failures: Failures;
  /** Those of an upload. */
  readonly children: ComponentChildren;
}

function SourceFields({ api, source, platform, failures, children }: SourceFieldsProps): VNode {
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
      return <>{children}</>;
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
