// What a Notifier has to tell: it compares what the statuses of deployments say now with what was told last. An event that was not told
// and is over is never told.

import type { AppDeployment } from '../../kinds/app-deployment.ts';
import type { AppRevision, RevisionState } from '../../kinds/app-revision.ts';
import { conditionOf } from '../../kinds/conditions.ts';
import type { NotifierSpec, Told } from '../../kinds/notifier.ts';
import { lastEnded } from '../../kinds/tasks.ts';

export type EventType =
  | 'deployment.ready'
  | 'deployment.failed'
  | 'deployment.unavailable'
  | 'build.failed'
  | 'backup.failed'
  | 'task.failed';

/** An event for the webhook or the code host. `value`: stored after it was sent. */
export type Notice =
  | {
      readonly to: 'webhook';
      readonly subject: string;
      readonly value: string;
      readonly type: EventType;
      /** When it happened, RFC 3339. */
      readonly at: string;
      readonly reason: string;
      readonly message: string;
      readonly task?: string;
    }
  | {
      readonly to: 'commit';
      readonly subject: typeof COMMIT;
      readonly value: string;
      readonly commit: string;
      readonly state: CommitState;
      readonly description: string;
    };
export type CommitState = 'pending' | 'success' | 'failure' | 'error';

export interface Decision {
  readonly notices: readonly Notice[];
  /** The values of sent events that stay stored. */
  readonly keeps: Told;
  /** Milliseconds until an event is due if nothing changes. */
  readonly lookAgainMs?: number;
}

const STATE = 'state';
const COMMIT = 'commit';
/** A deployment that serves again within this time was never unavailable. */
const UNAVAILABLE_MS = 60_000;
/** States and reasons in which a deployment is not expected to serve, or is unknown. */
const QUIET_STATES: readonly (string | undefined)[] = ['UNUSED', 'AWAITING_DELETE'];
const QUIET_REASONS: readonly string[] = ['Paused', 'ListenerSilent'];

const REPLACED = 'Replaced by a newer commit';
/** Without messages, which quote logs: everybody who sees the repository reads a commit's status. */
const COMMIT_STATES: Readonly<Partial<Record<RevisionState, readonly [CommitState, string]>>> = {
  CREATING: ['pending', 'Waiting for its build'],
  QUEUED: ['pending', 'Waiting for its build'],
  AWAITING_BUILD: ['pending', 'Waiting for its build'],
  BUILDING: ['pending', 'Building'],
  AWAITING_DEPLOY: ['pending', 'Deploying'],
  DEPLOYING: ['pending', 'Deploying'],
  DEPLOYED: ['success', 'Deployed'],
  CREATE_FAILED: ['failure', 'It could not be deployed'],
  BUILD_FAILED: ['failure', 'The build failed'],
  DEPLOY_FAILED: ['failure', 'The rollout failed'],
  INTERRUPTED: ['error', 'The build was interrupted'],
  SKIPPED: ['error', REPLACED],
};

/** The events that are due for a record. `told`: the last sent ones. `latest`: its newest revision. */
export function decide(
  spec: NotifierSpec,
  {
    record,
    latest,
    told,
  }: { readonly record: AppDeployment; readonly latest: AppRevision | undefined; readonly told: Told },
  now: Date,
): Decision {
  const events = spec.webhook
    ? [...stateEvents(record, latest, now), ...backupEvents(record), ...taskEvents(record)]
    : [];
  const commits = spec.commitStatuses === true ? commitNotices(record, latest, told[COMMIT]) : [];
  const waits = events.find((event) => 'waitsMs' in event);
  const notices = [...events.filter((event) => 'type' in event), ...commits].filter(
    ({ subject, value }) => told[subject] !== value,
  );
  const present = new Set([STATE, COMMIT, ...events.map(({ subject }) => subject)]);
  return {
    notices,
    keeps: Object.fromEntries(Object.entries(told).filter(([subject]) => present.has(subject))),
    ...(waits && { lookAgainMs: waits.waitsMs }),
  };
}

type WebhookNotice = Extract<Notice, { to: 'webhook' }>;
type StateEvent = WebhookNotice | { readonly subject: typeof STATE; readonly waitsMs: number };

/** Events of the deployment. None while a rollout is in progress: the last sent one remains valid. */
function* stateEvents(
  { metadata, status = {} }: AppDeployment,
  latest: AppRevision | undefined,
  now: Date,
): Generator<StateEvent> {
  const { conditions, latestRevisionId = '', activeRevisionId = '', phase, state } = status;
  // An older generation's status says nothing of what was asked since.
  if (status.observedGeneration !== metadata.generation) return;
  const [ready, stalled, available] = ['Ready', 'Stalled', 'Available'].map((type) => conditionOf(conditions, type));
  const event = { to: 'webhook', subject: STATE } as const;
  if (stalled?.status === 'True') {
    const { message, lastTransitionTime: at } = stalled;
    const ofBuild = phase === 'BUILD_FAILED' ? (latest?.status?.build?.reason ?? stalled.reason) : undefined;
    const [type, reason] =
      ofBuild === undefined ? (['deployment.failed', stalled.reason] as const) : (['build.failed', ofBuild] as const);
    yield {
      ...event,
      value: `failed ${latestRevisionId} ${reason}`,
      type,
      at: status.stalledReasonSince ?? at,
      reason,
      message,
    };
  } else if (available?.status === 'False' && activeRevisionId !== '') {
    const { reason, message, lastTransitionTime: at } = available;
    if (QUIET_STATES.includes(state) || QUIET_REASONS.includes(reason)) return;
    const waitsMs = Date.parse(at) + UNAVAILABLE_MS - now.getTime();
    if (waitsMs > 0) yield { subject: STATE, waitsMs };
    else
      yield { ...event, value: `unavailable ${activeRevisionId}`, type: 'deployment.unavailable', at, reason, message };
  } else if (ready?.status === 'True') {
    const { reason, message, lastTransitionTime: at } = ready;
    yield { ...event, value: `ready ${latestRevisionId}`, type: 'deployment.ready', at, reason, message };
  }
}

function* backupEvents({ status = {} }: AppDeployment): Generator<WebhookNotice> {
  const { databaseBackup: { lastSuccessAt, ...dump } = {}, databaseArchive: { lastBackupAt, ...archive } = {} } =
    status;
  const kinds = [
    { subject: 'backup', failed: dump.lastFailureAt, succeeded: lastSuccessAt, condition: 'BackupReady' },
    { subject: 'archive', failed: archive.lastFailureAt, succeeded: lastBackupAt, condition: 'ArchiveReady' },
  ];
  for (const { subject, failed: at, succeeded = '', condition } of kinds) {
    if (at === undefined || at <= succeeded) continue;
    const { reason = 'BackupFailed', message = '' } = conditionOf(status.conditions, condition) ?? {};
    yield { to: 'webhook', subject, value: `failed ${at}`, type: 'backup.failed', at, reason, message };
  }
}

function* taskEvents({ status = {} }: AppDeployment): Generator<WebhookNotice> {
  for (const task of status.tasks ?? []) {
    const run = lastEnded(task);
    if (run?.state !== 'Failed') continue;
    const { job, finishedAt: at = '', reason = 'TaskFailed', message = '' } = run;
    const event = { to: 'webhook', type: 'task.failed', at, reason, message, task: task.name } as const;
    yield { ...event, subject: `task ${task.name}`, value: `failed ${job}` };
  }
}

/** An earlier commit that is still pending is never built or deployed: a newer one has taken its place. */
function* commitNotices(
  { spec }: AppDeployment,
  latest: AppRevision | undefined,
  told = '',
): Generator<Extract<Notice, { to: 'commit' }>> {
  const commit = latest?.status?.build?.commit ?? latest?.spec.commit;
  const [state, description = ''] = COMMIT_STATES[latest?.status?.state ?? 'CREATING'] ?? [];
  if (spec.source !== 'codehost' || commit === undefined || state === undefined) return;
  const notice = { to: 'commit', subject: COMMIT } as const;
  const [before = '', stateBefore] = told.split(' ');
  if (stateBefore === 'pending' && before !== commit)
    yield { ...notice, value: `${before} error`, commit: before, state: 'error', description: REPLACED };
  yield { ...notice, value: `${commit} ${state}`, commit, state, description };
}
