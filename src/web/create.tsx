// The form for a new deployment: of an image, a repository, a template, an upload or a push. What the API refuses stands at its field, in
// the API's words. A script of its own.

import { render, type VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Platform } from '../deploy/http/platform/payloads.ts';
import { type Source, uses } from '../kinds/source-rules.ts';
import type { Finding } from './api.ts';
import { Configure } from './configure-file.tsx';
import { apply, deployArchive } from './create-api.ts';
import { Field, useForm } from './create-fields.tsx';
import { choicesOf, databasesOf, findingsOfText, type Given, IMAGE, type SetFields, setOf } from './create-request.ts';
import { SourceFields } from './create-sources.tsx';
import { askBeforeLeaving } from './drafts.ts';
import { Editor } from './file-editor.tsx';
import { FileFields } from './file-fields.tsx';
import { asList, fieldsOf, valueAt } from './file-text.ts';
import type { LoadedProps, NewProps } from './new.tsx';
import { NextVersion } from './next-version.tsx';
import { Failure, Submit } from './parts.tsx';
import { Push } from './push.tsx';
import { linkOf } from './route.ts';
import { useRead } from './rows.tsx';
import { Generated } from './secret-value.tsx';
import { plain } from './text.ts';
import { archiveOf, type Chosen, folderIn, ProgressBar, UploadFields, useChosen, useProgress } from './upload.tsx';

askBeforeLeaving(window);

/** See CreateScript in new.tsx. */
export function show(place: HTMLElement, props: LoadedProps): void {
  if (!('deployment' in props)) return render(<Create {...props} />, place);
  const View = { configure: Configure, push: Push, upload: NextVersion }[props.shown];
  render(<View key={props.deployment.id} {...props} />, place);
}

export function hide(place: HTMLElement): void {
  render(null, place);
}

/** A deployment that is there, and whose upload has still to come. */
interface Made {
  readonly id: string;
  readonly name: string;
}

function Create({ api, list, say, go }: NewProps): VNode {
  const { found: platform, failure: unknown } = useRead<Platform>(api, 'v2/platform');
  const mostMb = platform?.builds.upload_max_mb;
  const [wanted, setWanted] = useState<Source>();
  const choices = platform ? choicesOf(platform) : [IMAGE];
  // What the person has chosen, or the first that can be.
  const { source, blocked } =
    choices.find((choice) => choice.source === wanted) ??
    choices.find((choice) => !choice.blocked) ??
    choices[0] ??
    IMAGE;
  const choosing = useChosen();
  const { chosen } = choosing;
  const [text, setText] = useText(chosen);
  const progress = useProgress();
  const [made, setMade] = useState<Made>();
  const set = useRef<SetFields>([]);
  const { attributes, isAsking, error, failures } = useForm(send, set);
  const findings = text.trim() === '' ? [] : findingsOfText(error);

  useEffect(() => document.getElementById('new-name')?.focus(), []);
  async function send(form: HTMLFormElement): Promise<void> {
    const { given, secrets } = givenIn(form);
    set.current = setOf(source, given, platform?.templates ?? []);
    const name = given['new-name'] ?? '';
    const body = { source, set: set.current, secrets, ...(text.trim() !== '' && { file: text }) };
    const archive = uses(source, 'upload')
      ? await archiveOf(chosen, given['new-config'] ?? '', mostMb, progress.packing)
      : undefined;
    const id = made?.id ?? (await apply(api, body, false)).deployment?.id ?? '';
    if (archive) {
      setMade({ id, name });
      await deployArchive(api, id, archive, body, progress.uploading(archive));
    }
    // The person has perhaps gone elsewhere meanwhile.
    if (!form.isConnected) return;
    say(`${name} is created.`);
    go(linkOf(id, uses(source, 'push') ? 'push' : 'overview'));
  }

  return (
    <>
      <p>Everything else has the platform's defaults and can be changed later. {platform && databasesOf(platform)}</p>
      <form class="stack" {...attributes}>
        <Field id="new-name" failures={failures} required readOnly={made !== undefined} />
        {choices.length > 1 && (
          <Field
            id="new-source"
            failures={failures}
            value={source}
            disabled={made !== undefined}
            options={choices.map((choice) => [choice.source, choice.label])}
            onValue={(value) => setWanted(value as Source)}
          />
        )}
        <Failure sentence={unknown && `Other sources cannot be offered now: ${unknown.message}`} />
        <Failure sentence={blocked} />
        {blocked === undefined && (
          <SourceFields key={source} api={api} source={source} platform={platform} failures={failures}>
            <UploadFields {...choosing} platform={platform} failures={failures} />
          </SourceFields>
        )}
        <More text={text} platform={platform} findings={findings} onText={setText} />
        <Failure sentence={findings.length > 0 ? 'The text under More has errors.' : failures['']} />
        <ProgressBar progress={isAsking ? progress.now : undefined} />
        <End made={made} isAsking={isAsking} isBlocked={blocked !== undefined} list={list} />
      </form>
    </>
  );
}

interface EndProps {
  readonly made: Made | undefined;
  readonly isAsking: boolean;
  readonly isBlocked: boolean;
  readonly list: string;
}

function End({ made, isAsking, isBlocked, list }: EndProps): VNode {
  return (
    <>
      <p role="status">
        {made && !isAsking && (
          <>
            <a href={linkOf(made.id)}>{made.name}</a> is created, but has no source yet. Upload the source, or open the
            deployment.
          </>
        )}
      </p>
      <div class="actions">
        <Submit isAsking={isAsking} disabled={isBlocked}>
          {made ? 'Upload' : 'Create'}
        </Submit>
        <a class="button" href={list}>
          Cancel
        </a>
      </div>
    </>
  );
}

/** The davit.yaml of the folder that was chosen last; a text that was typed stays. */
function useText(chosen: Chosen | undefined): [string, (text: string) => void] {
  const [text, setText] = useState('');
  const brought = useRef('');
  useEffect(() => {
    const own = folderIn(chosen)?.davitFile ?? '';
    if (text === brought.current) setText(own);
    brought.current = own;
  }, [chosen]);
  return [text, setText];
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
  readonly platform: Platform | undefined;
  readonly findings: readonly Finding[];
  readonly onText: (text: string) => void;
}

/** Everything else that a deployment can be configured with from the beginning. */
function More({ text, platform, findings, onText }: MoreProps): VNode {
  const names = asList(valueAt(fieldsOf(text), ['secrets'])).filter((name) => typeof name === 'string');
  return (
    <details class="more">
      <summary>More: port, command, sizes, workers, tasks, variables</summary>
      <FileFields text={text} platform={platform} onText={onText} />
      <h3>As davit.yaml</h3>
      <p class="help">
        This text has the values of the fields above. Add here what has no field, such as plain variables,{' '}
        <code>{'env: [{name: LOG_LEVEL, value: info}]'}</code>, and names of secret ones,{' '}
        <code>secrets: [API_KEY]</code>.
      </p>
      <Editor id="new-file" label="davit.yaml" text={text} findings={findings} onText={onText} />
      {[...new Set(names)].map((name) => (
        <Generated key={name} id={`secret ${name}`} label={`Value of ${plain(name)}`} />
      ))}
    </details>
  );
}
