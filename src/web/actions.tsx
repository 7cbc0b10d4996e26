// What a person can have changed: each dialog sends one request of the API and shows its answer in the API's words.

import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { Deployment } from '../deploy/http/payloads.ts';
import type { Revision } from '../deploy/http/revisions/payloads.ts';
import { mayBeBuilt, SOURCE_RULES } from '../kinds/source-rules.ts';
import type { Api } from './api.ts';
import { partsOf } from './health.ts';
import { type ActionProps, Dialog, fieldOf, Word } from './parts.tsx';
import { RollBack } from './roll-back.tsx';
import { Scale, Sizes } from './sizes.tsx';
import { requestKey, short } from './text.ts';

export type Asked =
  | { readonly action: 'deploy' | 'next' | 'restart' | 'scale' | 'sizes' | 'clone' | 'delete' }
  | { readonly action: 'roll back' | 'interrupt'; readonly revision: Revision }
  | { readonly action: 'run'; readonly task: string; readonly isRunning: boolean };

/** What each tab of a deployment is given. */
export interface TabProps {
  readonly api: Api;
  readonly deployment: Deployment;
  /** Undefined where the tenant was named by its id, or not at all. */
  readonly namespace: string | undefined;
  /** Shows and announces a sentence. */
  readonly say: (sentence: string) => void;
  /** Opens a dialog. Absent where nothing can be changed. */
  readonly onAsk: ((asked: Asked) => void) | undefined;
}

/** The dialog of what is asked for. */
export function Action({ asked, ...props }: ActionProps & { readonly asked: Asked }): VNode {
  switch (asked.action) {
    case 'deploy':
      return <Deploy {...props} />;
    case 'next':
      return <Next {...props} />;
    case 'restart':
      return <Restart {...props} />;
    case 'scale':
      return <Scale {...props} />;
    case 'sizes':
      return <Sizes {...props} />;
    case 'clone':
      return <Clone {...props} />;
    case 'delete':
      return <Delete {...props} />;
    case 'roll back':
      return <RollBack {...props} revision={asked.revision} />;
    case 'interrupt':
      return <Interrupt {...props} revision={asked.revision} />;
    case 'run':
      return <RunTask {...props} task={asked.task} isRunning={asked.isRunning} />;
  }
}

/** The field that names what the source's next revision runs; undefined for an upload, which is built again. */
function contentOf({
  source,
  source_revision_config: config,
}: Deployment): { readonly field: 'image_uri' | 'repo_ref'; readonly label: string } | undefined {
  if (config.image_uri !== null || !mayBeBuilt(source)) return { field: 'image_uri', label: 'Image' };
  const isOfRepository = SOURCE_RULES[source].content.includes('repoUrl');
  return isOfRepository ? { field: 'repo_ref', label: 'Branch, tag or commit' } : undefined;
}

function Deploy({ api, deployment, onDone, onClose }: ActionProps): VNode {
  const content = contentOf(deployment);
  const present = content && deployment.source_revision_config[content.field];
  return (
    <Dialog
      title={`Deploy ${deployment.name}`}
      action="Deploy"
      onDone={onDone}
      onClose={onClose}
      onConfirm={async (form) => {
        const wanted = fieldOf(form, 'content');
        const isChanged = content !== undefined && wanted !== '' && wanted !== present;
        await api.revise(deployment.id, isChanged ? { source_revision_config: { [content.field]: wanted } } : {});
        return `A new revision of ${deployment.name} is created.`;
      }}
    >
      <p>
        A new revision is created, also of the same source. The running pods keep serving until the new ones are ready.
      </p>
      {content !== undefined && (
        <div class="fields">
          <label for="deployed">{content.label}</label>
          <Word id="deployed" name="content" defaultValue={present ?? ''} />
        </div>
      )}
    </Dialog>
  );
}

/** The act that the API names, as the request that it is. */
function Next({ api, deployment: { name, next_act: shown }, onDone, onClose }: ActionProps): VNode {
  // Another one may be named while the dialog is open.
  const [act] = useState(shown);
  const label = act?.label ?? '';
  return (
    <Dialog
      title={`${label}?`}
      action={label}
      onDone={onDone}
      onClose={onClose}
      onConfirm={async () => {
        if (act !== null) await api.ask(act.method, act.path.slice(1), act.body ?? undefined);
        return `${name}: ${label} is requested.`;
      }}
    >
      <p>This changes the deployment {name}, and creates a revision where its pods change. The request:</p>
      <pre tabIndex={0} aria-label="Request">
        {act?.method} {act?.path}
        {act !== null && act.body !== null && `\n${JSON.stringify(act.body)}`}
      </pre>
    </Dialog>
  );
}

function Restart({ api, deployment, onDone, onClose }: ActionProps): VNode {
  return (
    <Dialog
      title={`Restart ${deployment.name}`}
      action="Restart"
      onDone={onDone}
      onClose={onClose}
      onConfirm={async () => {
        await api.restart(deployment.id);
        return `The pods of ${deployment.name} are being replaced.`;
      }}
    >
      <p>
        New pods run the same image with the same variables. The running pods keep serving until the new ones are ready.
      </p>
    </Dialog>
  );
}

function Clone({ api, deployment: { id, name, database_archive }, onDone, onClose }: ActionProps): VNode {
  const since = database_archive?.first_recoverable_at ?? null;
  return (
    <Dialog
      title={`Clone ${name}`}
      action="Clone"
      onDone={onDone}
      onClose={onClose}
      onConfirm={async (form) => {
        const [clone, at] = [fieldOf(form, 'name'), fieldOf(form, 'at')];
        await api.clone(id, { name: clone, ...(at !== '' && { at }) });
        return `${clone} is being created as ${name} is now.`;
      }}
    >
      <p>
        It gets what serves, the same variables and sizes, and no address. Its database begins with the newest backup of{' '}
        {name}, or with {since === null ? 'the newest before a time' : `its state at any time since ${since}`}, such as
        2026-11-25T12:00:00Z.
      </p>
      <div class="fields">
        <label for="clone">Name</label>
        <Word id="clone" name="name" required />
        <label for="at">Time</label>
        <Word id="at" name="at" />
      </div>
    </Dialog>
  );
}

function Interrupt({
  api,
  deployment,
  revision,
  onDone,
  onClose,
}: ActionProps & { readonly revision: Revision }): VNode {
  return (
    <Dialog
      title={`Interrupt the build of ${short(revision.id)}`}
      action="Interrupt"
      isDangerous
      onDone={onDone}
      onClose={onClose}
      onConfirm={async () => {
        await api.interrupt(deployment.id, revision.id);
        return `The build of ${short(revision.id)} is being interrupted.`;
      }}
    >
      <p>The active revision keeps serving. Deploy again to build again.</p>
    </Dialog>
  );
}

function Delete({ api, deployment, onDone, onClose }: ActionProps): VNode {
  const { name } = deployment;
  const hasDatabase = partsOf(deployment).some(({ prefix }) => prefix === 'db_');
  return (
    <Dialog
      title={`Delete ${name}`}
      action={`Delete ${name}`}
      isDangerous
      onDone={onDone}
      onClose={onClose}
      onConfirm={async (form) => {
        if (fieldOf(form, 'name') !== name) throw new Error(`That is not its name. Type ${name} to delete it.`);
        await api.remove(deployment.id);
        return `${name} is being deleted.`;
      }}
    >
      <p>
        This deletes the deployment <strong>{name}</strong>, its revisions, its variables and its pods. It cannot be
        undone.
      </p>
      <p>
        {hasDatabase
          ? deployment.database_deletion_policy === 'Retain'
            ? 'Its PostgreSQL volume and its password stay.'
            : 'Its PostgreSQL volume with all data is deleted too.'
          : 'It has no PostgreSQL of its own: an external database keeps its data.'}
        {deployment.database_backup?.last_success_at &&
          ' Its backups stay in their store: a new deployment can begin with them.'}
      </p>
      <div class="fields">
        <label for="confirm">Type the name to confirm</label>
        <Word id="confirm" name="name" required />
      </div>
    </Dialog>
  );
}

/** Sends the same key until it is closed, so that a run whose answer was lost is not begun twice. */
function RunTask({
  api,
  deployment,
  task,
  isRunning,
  onDone,
  onClose,
}: ActionProps & { readonly task: string; readonly isRunning: boolean }): VNode {
  const [key] = useState(requestKey);
  return (
    <Dialog
      title={`Run ${task} now`}
      action="Run now"
      onDone={onDone}
      onClose={onClose}
      onConfirm={async () => {
        const { job } = await api.runTask(deployment.id, task, key);
        return `Job ${job} runs ${task} of ${deployment.name}.`;
      }}
    >
      <p>
        Its command runs once, with the image and the variables of the active revision. The schedule stays as it is.
      </p>
      {isRunning && <p>The last run has not ended. The new one runs in addition to it.</p>}
    </Dialog>
  );
}
