// The tab Data: databases, backups, and operations with their progress. Which acts are possible, and why not the others, the API says.

import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { OperationList } from '../databases/http/payloads.ts';
import type { RetainedList } from '../databases/http/retained.ts';
import type { Deployment } from '../deploy/http/payloads.ts';
import { conditionOf } from '../kinds/conditions.ts';
import { ENDED_PHASES, type OperationAction, type OperationPhase } from '../kinds/operation-phases.ts';
import { bytesText } from '../kinds/text.ts';
import { cloning, type TabProps } from './actions.tsx';
import type { Api } from './api.ts';
import { type Question, useQuestion } from './dialog.tsx';
import { useFollowed } from './follow.ts';
import { failedLast, numbersOf, toneOfCondition } from './health.ts';
import { Age, Asking, fieldOf } from './parts.tsx';
import { type Act as Button, Card, type Row, Rows, useAllowed, useRead } from './rows.tsx';
import { age, plain, requestKey } from './text.ts';
import { dayOf, useZone } from './times.ts';

type Act = OperationList['acts'][number];
type Operation = OperationList['resources'][number];
type Backup = NonNullable<Deployment['database_backups']>['newest'][number];

/** How often operations are read while none works: each is a list of the API server. */
const CALM_MS = 10_000;

const LABELS: Readonly<Record<OperationAction, string>> = {
  Backup: 'Back up now',
  Restore: 'Restore',
  Move: 'Move',
  Upgrade: 'Upgrade',
  Return: 'Return',
  DeletePrevious: 'Delete',
  Patch: 'Patch',
};
/** Acts on the whole database; the others stand in a row. */
const WHOLE: readonly OperationAction[] = ['Backup', 'Move', 'Upgrade', 'Return'];

export function Data({ api, deployment, onAsk, say }: TabProps): VNode {
  const { id, name } = deployment;
  const path = `v2/deployments/${id}/operations`;
  const [isBusy, setIsBusy] = useState(false);
  // Days are shown anew where the choice changes.
  useZone();
  const followed = useFollowed(`${id} ${isBusy}`, api.poll<OperationList>(path), {
    everyMs: isBusy ? undefined : CALM_MS,
  });
  const list = followed.value;
  const [dialog, ask] = useQuestion(say, followed.again);
  useEffect(() => setIsBusy(list?.resources.some(({ phase }) => !ENDED_PHASES.has(phase)) === true), [list]);

  const acts = onAsk ? (list?.acts ?? []) : [];
  const offered = acts.filter(({ refused }) => refused === null);
  const restore = offered.find(({ request }) => request.action === 'Restore');
  const button = (act: Act | undefined, of: string, backup?: Backup): Button | undefined =>
    act && {
      label: `${LABELS[act.request.action]}…`,
      of,
      onClick: () => ask(questionOf({ api, deployment, act, list, backup })),
    };
  const previous = deployment.databases_kept.filter(({ number }) => number !== list?.database?.number);
  // A listed backup has a button of its own.
  const isWhole = ({ request: { action } }: Act): boolean =>
    WHOLE.includes(action) || (action === 'Restore' && !deployment.database_backups?.newest.length);
  return (
    <>
      <Asking of={followed} what="The operations" />
      <Card title="Databases" acts={offered.filter(isWhole).map((act) => button(act, name))}>
        <Rows
          none="Davit has not created a database for it."
          rows={[
            ...storeRows(deployment, list).map((row) => {
              const patch = offered.find(({ request }) => request.patch?.datastore === row.key);
              return { ...row, acts: [button(patch, row.title)] };
            }),
            ...previous.map(({ driver, number }) => {
              const act = offered.find(({ request }) => request.delete_previous?.number === number);
              const title = `PostgreSQL ${driver}/${number}`;
              return {
                key: number,
                icon: 'postgres',
                title,
                says: 'kept with its data, not used',
                acts: [button(act, title)],
              };
            }),
          ]}
        />
        <NotNow acts={acts} />
      </Card>
      <Backups
        deployment={deployment}
        restoreOf={(backup) => button(restore, backup.name, backup)}
        clone={onAsk && { label: 'Clone to a time…', of: name, onClick: () => onAsk(cloning({ api, deployment })) }}
      />
      {list && (
        <Card title="Operations" sub="the ten newest">
          <Rows
            rows={list.resources.map((operation) => ({
              ...operationRow(operation),
              acts: [
                onAsk &&
                  !ENDED_PHASES.has(operation.phase) && {
                    label: 'Cancel…',
                    of: operation.name,
                    onClick: () => ask(cancelling(api, path, operation, name)),
                  },
              ],
            }))}
          />
        </Card>
      )}
      {onAsk && <Retained api={api} say={say} of={deployment} />}
      {dialog}
    </>
  );
}

function storeRows(deployment: Deployment, list: OperationList | undefined): (Row & { readonly title: string })[] {
  const { name, datastores, conditions, source_config: config, database_claim: claim } = deployment;
  const isKept = deployment.database_deletion_policy === 'Retain';
  const { driver, number } = list?.database ?? {};
  const size = numbersOf(deployment)['db_storage_gi'];
  return (['postgres', 'redis'] as const).flatMap((key) => {
    const store = datastores[key];
    if (store === null) return [];
    const isPostgres = key === 'postgres';
    const condition = conditionOf(conditions, isPostgres ? 'DatabaseReady' : 'RedisReady');
    return {
      key,
      tone: condition ? toneOfCondition(condition) : 'busy',
      icon: key,
      title: isPostgres ? 'PostgreSQL' : 'Redis',
      says: `${store.version ?? 'version not known'}${store.available === null ? '' : `. A patch is available: ${store.available}`}`,
      why: condition?.status === 'True' ? undefined : condition?.message,
      sub: [
        isPostgres && driver !== undefined && `${driver}/${number}`,
        isPostgres ? size && `${size} GiB volume` : 'no volume',
        driver === 'cloudnative-pg' && isPostgres && `${config.database?.instances ?? 'some'} instances`,
        isPostgres && claim !== null && `${isKept ? 'kept' : 'deleted too'} when ${name} is deleted`,
        <code>{plain(store.image)}</code>,
      ],
    } satisfies Row;
  });
}

/** Acts with the same reason are one line. */
function NotNow({ acts }: { readonly acts: readonly Act[] }): VNode | null {
  const reasons = Map.groupBy(
    acts.filter(({ refused }) => refused !== null),
    ({ refused }) => refused ?? '',
  );
  if (reasons.size === 0) return null;
  return (
    <details class="folded">
      <summary>Not possible now</summary>
      {[...reasons].map(([refused, those]) => (
        <p key={refused}>
          <strong>{[...new Set(those.map(({ request }) => LABELS[request.action]))].join(', ')}</strong>:{' '}
          {plain(refused)}
        </p>
      ))}
    </details>
  );
}

interface BackupsProps {
  readonly deployment: Deployment;
  readonly restoreOf: (backup: Backup) => Button | undefined;
  readonly clone: Button | undefined;
}

/** Rows that are shown at once. */
const FIRST_BACKUPS = 7;

function Backups({ deployment, restoreOf, clone }: BackupsProps): VNode | null {
  const { name, database_backup: last, database_backups: stored, database_archive: archive } = deployment;
  const verified = deployment.database_verification;
  const [isAll, setIsAll] = useState(false);
  if (!last && !stored && !archive) return null;
  const all = stored?.newest ?? [];
  const since = archive?.first_recoverable_at ?? null;
  const facts = [
    stored && `${stored.count} in the store`,
    last?.last_success_at && `the last ${age(last.last_success_at, new Date())} ago`,
    last?.size_bytes && bytesText(last.size_bytes),
    verified?.verified_at && `verified ${age(verified.verified_at, new Date())} ago`,
  ];
  return (
    <Card title="Backups" sub={facts.filter(Boolean).join(', ')}>
      <Rows
        rows={[
          failure('backup', last?.last_failure_at, last?.last_success_at, last?.last_failure),
          failure('base backup', archive?.last_failure_at, archive?.last_backup_at, ''),
          failure('verification', verified?.last_failure_at, verified?.verified_at, verified?.last_failure),
          archive && {
            key: 'archive',
            tone: since === null ? 'busy' : 'good',
            title: 'Archive',
            says: since === null ? 'nothing can be restored yet' : `any time since ${dayOf(since)}`,
            sub: [archive.last_backup_at && <Age then={archive.last_backup_at} after=" since the last base backup" />],
            acts: [since !== null && clone],
          },
          ...all.slice(0, isAll ? all.length : FIRST_BACKUPS).map(
            (backup): Row => ({
              key: backup.name,
              tone: backup.verified ? 'good' : 'off',
              title: dayOf(backup.taken_at),
              says: `${bytesText(backup.size_bytes)}, ${backup.verified ? 'verified' : 'not verified'}`,
              sub: [
                <Age then={backup.taken_at} after=" ago" />,
                <code>{plain(backup.name)}</code>,
                backup.number !== null && `database ${backup.number}`,
                backup.by_hand && 'manual',
                backup.earlier && `of an earlier ${name}`,
              ],
              acts: [restoreOf(backup)],
            }),
          ),
        ]}
      />
      {all.length > FIRST_BACKUPS && !isAll && (
        <button type="button" class="plain" onClick={() => setIsAll(true)}>
          Show all {all.length}
        </button>
      )}
    </Card>
  );
}

type Maybe = string | null | undefined;

/** A failure before the last success is over. */
function failure(what: string, at: Maybe, since: Maybe, words: Maybe): Row | undefined {
  if (!failedLast(at, since)) return undefined;
  return { key: what, tone: 'bad', title: `The last ${what} failed`, says: <Age then={at} after=" ago" />, why: words };
}

const MOVING: readonly OperationPhase[] = ['Stopping', 'Running', 'Loading', 'Starting'];

function operationRow(operation: Operation): Row {
  const { name, action, phase, move, started_at: began, ended_at: ended, downtime_seconds: downtime } = operation;
  const isOver = ENDED_PHASES.has(phase);
  const step = MOVING.indexOf(phase);
  return {
    key: name,
    tone: phase === 'Succeeded' ? 'good' : isOver ? 'bad' : 'busy',
    title: `${action} ${phase.toLowerCase()}`,
    says: move && step >= 0 && <progress max={MOVING.length} value={step + 0.5} aria-label={`${action}: ${phase}`} />,
    why: operation.message,
    sub: [
      operation.requested_by && plain(operation.requested_by),
      <Age then={operation.created_at} after=" ago" />,
      began && (ended ? `took ${age(began, new Date(ended))}` : `for ${age(began, new Date())}`),
      downtime !== null && `down for ${downtime} s`,
      <code>{name}</code>,
    ],
  };
}

function cancelling(api: Api, path: string, operation: Operation, name: string): Question {
  return {
    title: `Cancel ${operation.action} of ${name}`,
    action: 'Cancel the operation',
    isDangerous: true,
    says: [`Operation ${operation.name} is deleted.`, afterCancel(operation, name)],
    send: () => api.ask('DELETE', `${path}/${operation.name}`),
    done: `${operation.action} of ${name} is cancelled.`,
  };
}

function afterCancel({ move, phase }: Operation, name: string): string {
  if (move === null) return 'What it has done so far is kept.';
  return phase === 'Starting'
    ? `${name} is already starting on the next database, and keeps it.`
    : `${name} starts again on its current database.`;
}

interface Wanted extends Pick<TabProps, 'api' | 'deployment'> {
  readonly act: Act;
  readonly list: OperationList | undefined;
  /** The backup to restore. */
  readonly backup: Backup | undefined;
}

/** Sends the same key until its dialog is closed, so that an operation whose answer was lost is not asked for twice. */
function questionOf({ api, deployment, act: { request, loses }, list, backup }: Wanted): Question {
  const { name } = deployment;
  const { action } = request;
  const key = requestKey();
  const effect = effectOf(deployment, request, list, backup);
  const lost = loses ?? effect.loses;
  const isNamed = action === 'Restore' && backup === undefined;
  return {
    title: `${LABELS[action]}: ${name}`,
    action: LABELS[action],
    says: effect.says,
    loses: lost,
    typed: lost === undefined ? undefined : name,
    fields: isNamed
      ? [{ id: 'backup', label: 'Backup', required: true, placeholder: '20260701T010000Z-7f9a2a3e' }]
      : [],
    async send(form) {
      const restore = {
        backup: backup?.name ?? fieldOf(form, 'backup'),
        ...(backup?.earlier === true && { from: name }),
      };
      const body = action === 'Restore' ? { ...request, restore } : request;
      await api.ask('POST', `v2/deployments/${deployment.id}/operations`, body, { 'idempotency-key': key });
    },
    done: `${action} of ${name} is requested. See its progress under Operations.`,
  };
}

type Effect = Pick<Question, 'loses'> & { readonly says: readonly string[] };

/** What an act does, and what is lost, in numbers. */
function effectOf(deployment: Deployment, request: Act['request'], list?: OperationList, backup?: Backup): Effect {
  const { name, database_backup: last, database_backups: stored, datastores } = deployment;
  const { driver, number } = list?.database ?? {};
  const size = last?.size_bytes ? bytesText(last.size_bytes) : 'all data';
  const stops = (until: string): string => `All pods of ${name} stop. It does not serve for about a minute${until}.`;
  const kept = `Database ${driver}/${number} keeps its data until you delete it.`;
  const copied = [stops(` and the time to dump and load ${size}`), kept];
  switch (request.action) {
    case 'Backup':
      return { says: ['This backs up the database now. Nothing stops. The backup is kept until you delete it.'] };
    case 'Move':
      return { says: ['The next database is a Cluster of CloudNativePG with all data.', ...copied] };
    case 'Upgrade':
      return { says: ["The next database has the platform's newer PostgreSQL and all data.", ...copied] };
    case 'Restore':
      return {
        says: [stops(` and the time to load ${backup ? bytesText(backup.size_bytes) : 'the backup'}`), kept],
        loses: backup
          ? `Data written in the last ${age(backup.taken_at, new Date())}, since ${dayOf(backup.taken_at)}, will not be in the next database.`
          : 'Data written since the backup will not be in the next database.',
      };
    case 'Return': {
      const came = list?.resources.find(({ move }) => move?.to.number === number);
      const since = came?.serving_at ?? came?.ended_at;
      const time = since ? `in the last ${age(since, new Date())}` : 'since then';
      return {
        says: [stops(''), 'The previous database is used again, with the data that it had then.'],
        loses: `Data written ${time} stays in database ${driver}/${number}.`,
      };
    }
    case 'DeletePrevious': {
      const previous = request.delete_previous?.number;
      const backups = stored?.newest.filter((one) => one.number === previous).length ?? 0;
      return {
        says: [`The store keeps ${backups} listed ${backups === 1 ? 'backup' : 'backups'} of it.`],
        loses: `Database ${previous} is deleted: its volume, all data and its password. It cannot be undone.`,
      };
    }
    case 'Patch': {
      const { image, available } = datastores[request.patch?.datastore ?? 'postgres'] ?? {};
      return {
        says: [`It restarts with ${available} in place of ${image}. Connections break; the pods of ${name} stay.`],
      };
    }
  }
}

interface RetainedProps {
  readonly api: Api;
  readonly say: (sentence: string) => void;
  /** The deployment that may use one; absent for all of the tenant. */
  readonly of?: Deployment;
}

/** Databases that deleted deployments have left. */
export function Retained({ api, say, of }: RetainedProps): VNode | null {
  const path = 'v2/retained-databases';
  const { found, failure: refused, again } = useRead<RetainedList>(api, path);
  const mayDelete = useAllowed(api, path)?.('DELETE') === true;
  const [dialog, ask] = useQuestion(say, again);
  const rows = found?.resources.filter(({ wanted_by: by }) => of === undefined || by === of.id);
  // On the tab of a deployment it is about that one alone.
  if (of && !rows?.length && dialog === undefined) return null;
  return (
    <Card
      title="Databases of deleted deployments"
      sub={found && found.hidden.length > 0 && `without kind ${found.hidden.join(', ')}, which you may not list`}
      failure={refused}
    >
      <Rows
        rows={rows?.map(({ id, deployment_name: name, size_bytes: bytes, ...one }) => ({
          key: id,
          title: name,
          says: `${one.driver}/${one.number}, ${bytesText(bytes)}`,
          sub: [<Age then={one.created_at} after=" ago" />, <code>{plain(one.claim)}</code>],
          acts: [
            one.wanted_by !== null &&
              (of !== undefined || mayDelete) && {
                label: 'Adopt…',
                of: one.claim,
                onClick: () =>
                  ask({
                    title: `Adopt a database of ${name}`,
                    action: 'Adopt',
                    says: [`The present deployment ${name} uses it, with the ${bytesText(bytes)} volume and all data.`],
                    send: () => api.ask('POST', `${path}/${id}/adopt`, {}),
                    done: `${name} uses the database with its data.`,
                  }),
              },
            mayDelete && {
              label: 'Delete…',
              of: one.claim,
              onClick: () =>
                ask({
                  title: `Delete a database of ${name}`,
                  action: 'Delete',
                  says: [],
                  loses: `Its volume of ${bytesText(bytes)} with all data of a deleted ${name} is deleted, and its password. It cannot be undone.`,
                  typed: name,
                  send: () => api.ask('DELETE', `${path}/${id}`),
                  done: `A database of ${name} is being deleted.`,
                }),
            },
          ],
        }))}
      />
      {dialog}
    </Card>
  );
}
