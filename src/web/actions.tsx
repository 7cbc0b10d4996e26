// What a person can have changed: each act is a question, which sends one request.

import type { Deployment } from '../deploy/http/payloads.ts';
import type { Revision } from '../deploy/http/revisions/payloads.ts';
import type { Api } from './api.ts';
import { Fields, type Question } from './dialog.tsx';
import { Differences } from './differences.tsx';
import { CONTENT, contentOf, numbersOf, partsOf, patchOf, ranOf } from './health.ts';
import { fieldOf } from './parts.tsx';
import { requestKey, short } from './text.ts';

/** What each tab of a deployment is given. */
export interface TabProps {
  readonly api: Api;
  readonly deployment: Deployment;
  /** Undefined where the tenant was named by its id, or not at all. */
  readonly namespace: string | undefined;
  /** Shows and announces a sentence. */
  readonly say: (sentence: string) => void;
  /** Opens a dialog. Absent where nothing can be changed. */
  readonly onAsk: ((question: Question) => void) | undefined;
}

type Subject = Pick<TabProps, 'api' | 'deployment'>;

const KEEP_SERVING = 'The running pods keep serving until the new ones are ready.';

export function deploying({ api, deployment }: Subject): Question {
  const { id, name, source_revision_config: config } = deployment;
  const field = contentOf(deployment);
  const present = (field && config[field]) ?? '';
  const change = api.changing(id);
  return {
    title: `Deploy ${name}`,
    action: 'Deploy',
    says: [`This creates a new revision, even if the source has not changed. ${KEEP_SERVING}`],
    fields: field ? [{ id: 'deployed', label: CONTENT[field], defaultValue: present }] : [],
    send(form) {
      const wanted = fieldOf(form, 'deployed');
      const isChanged = field !== undefined && wanted !== '' && wanted !== present;
      return change('POST', '/revisions', isChanged ? { source_revision_config: { [field]: wanted } } : {});
    },
    done: `A new revision of ${name} is created.`,
  };
}

/** What a rollback does. `ran`: the image or commit, if known. */
function givesBack(id: string, ran = ''): string {
  return `A new revision gets everything that revision ${short(id)} had: ${ran}its sizes and its variables. The number of pods stays. ${KEEP_SERVING}`;
}

/** The act that the API names, as the request that it is. */
export function nextAct(
  { api, deployment: { id, name } }: Subject,
  { label, method, path, body }: NonNullable<Deployment['next_act']>,
): Question {
  const to = /\/revisions\/([^/]+)\/redeploy$/.exec(path)?.[1];
  const change = api.changing(id);
  return {
    title: `${label}?`,
    action: label,
    says: [
      to
        ? givesBack(to)
        : `This changes deployment ${name}. If its pods change, a new revision is created. The request:`,
    ],
    children: to ? (
      <Differences api={api} id={id} to={to} />
    ) : (
      <pre tabIndex={0} aria-label="Request">
        {method} {path}
        {body !== null && `\n${JSON.stringify(body)}`}
      </pre>
    ),
    send: () => change(method, path.slice(`/v2/deployments/${id}`.length), body ?? undefined),
    done: `${name}: ${label} is requested.`,
  };
}

export function restarting({ api, deployment: { id, name } }: Subject): Question {
  const change = api.changing(id);
  return {
    title: `Restart ${name}`,
    action: 'Restart',
    says: [`New pods run the same image with the same variables. ${KEEP_SERVING}`],
    send: () => change('POST', '/restart'),
    done: `The pods of ${name} are being replaced.`,
  };
}

export function cloning({ api, deployment: { id, name, database_archive } }: Subject): Question {
  const since = database_archive?.first_recoverable_at ?? null;
  const change = api.changing(id);
  return {
    title: `Clone ${name}`,
    action: 'Clone',
    says: [
      'The clone runs the same revision with the same variables and sizes. It has no address.',
      `Its database starts from the newest backup of ${name}. With a time, such as 2026-11-25T12:00:00Z, it starts from ${
        since === null ? 'the newest backup before that time' : `the state at that time, from ${since} on`
      }.`,
    ],
    fields: [
      { id: 'name', label: 'Name', required: true },
      { id: 'at', label: 'Time' },
    ],
    async send(form) {
      const [clone, at] = [fieldOf(form, 'name'), fieldOf(form, 'at')];
      await change('POST', '/clone', { name: clone, ...(at !== '' && { at }) });
      return `${clone} is being created as ${name} is now.`;
    },
  };
}

export function deleting({ api, deployment }: Subject): Question {
  const { id, name, database_deletion_policy: policy } = deployment;
  const hasDatabase = partsOf(deployment).some(({ prefix }) => prefix === 'db_');
  const database = !hasDatabase
    ? 'It has no PostgreSQL of its own: an external database keeps its data.'
    : policy === 'Retain'
      ? 'Its PostgreSQL volume and its password stay.'
      : 'Its PostgreSQL volume with all data is deleted too.';
  const hasBackup = Boolean(deployment.database_backup?.last_success_at);
  const backups = hasBackup ? ' Its backups stay in their store: a new deployment can start from them.' : '';
  const change = api.changing(id);
  return {
    title: `Delete ${name}`,
    action: `Delete ${name}`,
    says: [`This deletes deployment ${name}, its revisions, its variables and its pods.`, database + backups],
    loses: 'This cannot be undone.',
    typed: name,
    send: () => change('DELETE', ''),
    done: `${name} is being deleted.`,
  };
}

export function rollingBack({ api, deployment: { id, name } }: Subject, revision: Revision): Question {
  const { status, status_message: message } = revision;
  const change = api.changing(id);
  return {
    title: `Roll back ${name}`,
    action: 'Roll back',
    says: [
      givesBack(revision.id, `${ranOf(revision)}, `),
      ...(status === 'DEPLOYED' ? [] : [`This revision was never deployed: it is ${status}. ${message ?? ''}`]),
    ],
    children: <Differences api={api} id={id} to={revision.id} />,
    send: () => change('POST', `/revisions/${revision.id}/redeploy`),
    done: `${name} goes back to revision ${short(revision.id)}.`,
  };
}

export function interrupting({ api, deployment: { id } }: Subject, revision: Revision): Question {
  return {
    title: `Interrupt the build of ${short(revision.id)}`,
    action: 'Interrupt',
    isDangerous: true,
    says: ['The active revision keeps serving. To build again, deploy again.'],
    send: () => api.ask('POST', `v2/deployments/${id}/revisions/${revision.id}/interrupt`),
    done: `The build of ${short(revision.id)} is being interrupted.`,
  };
}

/** Sends the same key until its dialog is closed, so that a run whose answer was lost is not begun twice. */
export function running({ api, deployment: { id, name } }: Subject, task: string, isRunning: boolean): Question {
  const headers = { 'idempotency-key': requestKey() };
  return {
    title: `Run ${task} now`,
    action: 'Run now',
    says: [
      'Its command runs once, with the image and the variables of the active revision. The schedule does not change.',
      ...(isRunning ? ['The last run has not ended. The new one runs in addition to it.'] : []),
    ],
    async send() {
      const path = `v2/deployments/${id}/tasks/${encodeURIComponent(task)}/runs`;
      const { job } = await api.ask<{ readonly job: string }>('POST', path, undefined, headers);
      return `Job ${job} runs ${task} of ${name}.`;
    },
  };
}

/** The number of pods of each part. Only what differs is sent, and the API takes a minimum alone for both. */
export function scaling({ api, deployment }: Subject): Question {
  const { id, name } = deployment;
  const numbers = numbersOf(deployment);
  const change = api.changing(id);
  const parts = partsOf(deployment).filter(({ prefix }) => `${prefix}max_scale` in numbers);
  const fieldsOf = ({ name: part, prefix }: (typeof parts)[number]): { id: string; label: string }[] =>
    ['min', 'max'].map((end) => ({
      id: `${prefix}${end}_scale`,
      label: [end === 'min' ? 'Minimum' : 'Maximum', ...(prefix === '' ? [] : [part]), 'pods'].join(' '),
    }));
  return {
    title: `Scale ${name}`,
    action: 'Scale',
    says: ['No running pod is replaced, and no revision is made. A maximum of 0 stops every pod and keeps the data.'],
    children: parts.map((part) => (
      <fieldset key={part.name}>
        <legend>{part.name}</legend>
        <Fields
          fields={fieldsOf(part).map((field) => ({
            ...field,
            type: 'number' as const,
            min: 0,
            step: 1,
            defaultValue: numbers[field.id] ?? '',
          }))}
        />
      </fieldset>
    )),
    async send(form) {
      const changed: Record<string, number | null> = {};
      for (const part of parts) {
        const typed = fieldsOf(part).map((field) => ({ ...field, text: fieldOf(form, field.id) }));
        const [least, most] = typed;
        // An empty field is the default, which is never too small.
        if (least && most && most.text !== '' && Number(least.text) > Number(most.text))
          throw new Error(`${least.label} must not be more than ${most.label.toLowerCase()}.`);
        for (const { id: field, text } of typed) {
          const value = text === '' ? null : Number(text);
          if (value !== (numbers[field] ?? null)) changed[field] = value;
        }
      }
      if (Object.keys(changed).length === 0) throw new Error('Nothing is changed. Change a number, or cancel.');
      await change('PATCH', '', { source_config: patchOf(changed) });
      return `${name} is to run on ${fieldOf(form, 'min_scale')} to ${fieldOf(form, 'max_scale')} pods.`;
    },
  };
}
