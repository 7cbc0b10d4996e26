// The tab Configure: the davit.yaml of a deployment as text and fields, checked, reviewed and applied by the API, and its variables. Part of
// create.js.

import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { AppliedFile } from '../deploy/http/file-payloads.ts';
import type { Deployment } from '../deploy/http/payloads.ts';
import type { Platform } from '../deploy/http/platform/payloads.ts';
import type { Finding, Versioned } from './api.ts';
import { findingsOfText, isRefusal } from './create-request.ts';
import { Dialog } from './dialog.tsx';
import { ChangeList } from './differences.tsx';
import { type Draft, draftOf, isDirty, keepDraft } from './drafts.ts';
import { Editor } from './file-editor.tsx';
import { FileFields } from './file-fields.tsx';
import { textOf } from './file-text.ts';
import type { ConfigureProps } from './new.tsx';
import { Failure, rawOf, useAsking } from './parts.tsx';
import { Card, useRead } from './rows.tsx';
import { Generated } from './secret-value.tsx';
import { messageOf } from './text.ts';
import { Variables } from './variables.tsx';

/** What was found of the present text. */
interface Found {
  readonly findings?: readonly Finding[];
  readonly failure?: string;
  /** What a dry run has answered. */
  readonly checked?: AppliedFile;
}

interface FileState {
  readonly draft: Draft | undefined;
  /** What somebody else has made of it since. */
  readonly other: Draft | undefined;
  readonly found: Found;
  readonly isAsking: boolean;
  /** What is about to be applied. */
  readonly reviewed: AppliedFile | undefined;
  readonly keep: (next: Draft) => void;
  readonly check: (isReview?: boolean) => Promise<void>;
  readonly apply: (form: FormData) => Promise<string>;
  readonly endReview: () => void;
}

function useFile({ api, deployment }: ConfigureProps): FileState {
  const { id, name } = deployment;
  const [draft, setDraft] = useState(() => draftOf(api, id));
  const [other, setOther] = useState<Draft>();
  const [found, setFound] = useState<Found>({});
  const { isAsking, ask } = useAsking();
  const [reviewed, setReviewed] = useState<AppliedFile>();

  function keep(next: Draft): void {
    keepDraft(api, id, next);
    setDraft(next);
    setFound({});
    setOther((theirs) => (theirs?.etag === next.etag ? undefined : theirs));
  }

  /** Returns whether the file is the one that the draft began with. */
  async function load(): Promise<boolean> {
    const { value, etag }: Versioned<object> = await api.read(`v2/deployments/${id}/file`);
    const [base, kept] = [textOf(value), draftOf(api, id)];
    if (kept === undefined || !isDirty(kept)) keep({ base, text: base, etag });
    else if (kept.base === base) keep({ ...kept, etag });
    else setOther({ base, text: base, etag });
    return kept?.base === base;
  }

  useEffect(() => {
    load().catch((error: unknown) => setFound({ failure: messageOf(error) }));
  }, [versionOf(deployment)]);

  /** Sends the text, and shows what is wrong with it. */
  async function send(query: string, more: object = {}, isAgain = false): Promise<AppliedFile> {
    const { text = '', etag = '' } = draftOf(api, id) ?? {};
    try {
      const body = { file: text, whole: true, name, ...more };
      return await api.ask('POST', `v2/deployments/file?secrets=names${query}`, body, { 'if-match': etag });
    } catch (error) {
      if (isRefusal(error) && error.status === 412) {
        // A restart or a secret's value leaves the file as it is.
        if ((await load()) && !isAgain) return send(query, more, true);
        // The page says that somebody else changed it, and offers what can be done.
        setReviewed(undefined);
        setFound({});
        throw error;
      }
      const findings = findingsOfText(error);
      setFound(findings.length > 0 ? { findings } : { failure: messageOf(error) });
      throw error;
    }
  }

  /** What it finds is shown. */
  const check = (isReview = false): Promise<void> =>
    ask(async () => {
      const checked = await send('&dry_run=true');
      setFound({ checked });
      if (isReview) setReviewed(checked);
    });

  async function apply(form: FormData): Promise<string> {
    const missing = reviewed?.missing_secrets ?? [];
    const secrets = missing.map((one) => ({ name: one, value: rawOf(form, `secret ${one}`) }));
    const { deployment: after } = await send('', secrets.length > 0 ? { secrets } : {});
    const { text, etag } = draftOf(api, id) ?? { text: '', etag: '' };
    keep({ base: text, text, etag });
    await load().catch(() => undefined);
    const isNew = after?.latest_revision_id !== deployment.latest_revision_id;
    return isNew ? `A new revision of ${name} is created.` : `${name} is changed. No new revision is needed.`;
  }

  return { draft, other, found, isAsking, reviewed, keep, check, apply, endReview: () => setReviewed(undefined) };
}

export function Configure(props: ConfigureProps): VNode {
  const { deployment, say, isLocked } = props;
  const { name } = deployment;
  const file = useFile(props);
  const { draft, found, reviewed, keep } = file;
  const { found: platform } = useRead<Platform>(props.api, 'v2/platform');
  const onText = (text: string): void => {
    if (draft) keep({ ...draft, text });
  };
  return (
    <div class="columns">
      <div>
        <Card
          title="davit.yaml"
          end={
            draft && (
              <a
                class="button"
                download={`${name}.yaml`}
                href={`data:application/yaml;charset=utf-8,${encodeURIComponent(draft.text)}`}
              >
                Download
              </a>
            )
          }
        >
          <p class="help">
            This describes all of {name}. If you remove a line, its default applies. Secrets are listed by name; their
            values are under Variables.
          </p>
          {draft && (
            <Editor
              id="davit-yaml"
              label="davit.yaml"
              text={draft.text}
              findings={found.findings ?? []}
              readOnly={isLocked}
              onText={onText}
            />
          )}
          <Failure sentence={found.failure} />
          <p role="status">
            {draft === undefined && found.failure === undefined && 'Loading its file …'}
            {found.checked && sentenceOfCheck(found.checked, name)}
          </p>
          {draft && !isLocked && <Acts {...file} draft={draft} name={name} />}
          {reviewed && (
            <Dialog
              title={`Changes of ${name}`}
              action="Apply"
              says={[reviewed.changes.length > 0 ? 'All changes are applied together.' : 'Nothing differs.']}
              send={file.apply}
              onDone={say}
              onClose={file.endReview}
            >
              <ChangeList changes={reviewed.changes} />
              {reviewed.missing_secrets.map((secret) => (
                <Generated key={secret} id={`secret ${secret}`} label={`Value of ${secret}`} />
              ))}
            </Dialog>
          )}
        </Card>
        <Variables {...props} isDirty={isDirty(draft)} />
      </div>
      {draft && !isLocked && (
        <Card title="Fields">
          <FileFields text={draft.text} onText={onText} deployment={deployment} platform={platform} />
        </Card>
      )}
    </div>
  );
}

interface ActsProps extends FileState {
  readonly draft: Draft;
  readonly name: string;
}

function Acts({ draft, other, isAsking, keep, check, name }: ActsProps): VNode {
  if (other)
    return (
      <div class="conflict" role="alert">
        <p>
          Somebody else changed {name} while you were editing. Your text is kept, without their changes: to apply it
          undoes them, and the review lists them.
        </p>
        <div class="actions">
          <button
            type="button"
            onClick={() => {
              keep({ ...other, text: draft.text });
              void check(true);
            }}
          >
            Review my changes
          </button>
          <button type="button" onClick={() => keep(other)}>
            Discard my changes
          </button>
        </div>
      </div>
    );
  return (
    <div class="actions">
      <button type="button" aria-disabled={isAsking} onClick={() => void check()}>
        {isAsking ? 'Asking the API …' : 'Check'}
      </button>
      <button
        type="button"
        class="main"
        disabled={!isDirty(draft)}
        aria-disabled={isAsking}
        onClick={() => void check(true)}
      >
        Review and apply
      </button>
      {isDirty(draft) && (
        <button type="button" class="plain" onClick={() => keep({ ...draft, text: draft.base })}>
          Discard
        </button>
      )}
    </div>
  );
}

/** Another one after each change by somebody. Reports of the controller are none. */
function versionOf(deployment: Deployment): string {
  const { source_config, source_revision_config, secrets, secret_references } = deployment;
  return JSON.stringify([source_config, source_revision_config, secrets, secret_references]);
}

function sentenceOfCheck({ changes, missing_secrets: missing, file }: AppliedFile, name: string): string {
  const differs = changes.length === 0 ? 'Nothing differs.' : `Fields that change: ${changes.length}.`;
  const lacks = missing.length === 0 ? '' : ` Secrets without a value: ${missing.join(', ')}.`;
  const isOther = typeof file['name'] === 'string' && file['name'] !== name;
  return `No error is found. ${differs}${lacks}${isOther ? ` A name cannot be changed: it stays ${name}.` : ''}`;
}
