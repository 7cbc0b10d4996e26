// The status of a record, with its conditions such as Ready and Available: a pure function of what was observed. It never claims what was
// not seen.

import type { AppDeploymentStatus, State } from '../kinds/app-deployment.ts';
import { type ConditionType, isFailure, type Reason } from '../kinds/app-deployment-conditions.ts';
import type { AppRevision, RevisionState } from '../kinds/app-revision.ts';
import { type ConditionInput, mergeConditions, rfc3339 } from '../kinds/conditions.ts';
import { holds } from '../kinds/operation-phases.ts';
import { type AddressOutcome, addressOf, reportedAddress } from './assess/address.ts';
import { type Assessment, WAITING_FOR_IMAGE } from './assess/assessment.ts';
import { backupStatusOf } from './assess/backup.ts';
import { isInCluster } from './assess/database-cluster.ts';
import { keptDatabases, stillCounting } from './assess/database-move.ts';
import { usedVolume, volumeSizeGi } from './assess/database-volume.ts';
import { type Entry, entryOf, fail, firstProblem, pass, stalled, unfinished } from './assess/entry.ts';
import {
  type ActionFailure,
  isServing,
  keepsDatabase,
  type Observed,
  type ObservedChildren,
  type ObservedRecord,
} from './assess/observed.ts';
import { restoreStatusOf } from './assess/restore.ts';
import { storedBackupsOf } from './assess/stored-backups.ts';
import { checkTasks, taskStatuses } from './assess/task-runs.ts';
import { verificationStatusOf } from './assess/verification.ts';
import { archiveStatusOf } from './assess/wal-archive.ts';
import { replicasOf, workersOf } from './assess/workloads.ts';
import { latestRevisionGeneration } from './record/latest-generation.ts';
import { runsHere } from './record/listener-assignment.ts';
import { changedBy } from './record/requester.ts';
import { effectiveNumbers } from './record/resolve.ts';
import { imageOf } from './record/revision-image.ts';
import { asksForNothing, stateFrom } from './record/state.ts';
import { revisionStateOf } from './revision-status.ts';
import { stalledReasonSince } from './stalled-since.ts';

export interface StatusInputs {
  readonly observed: Observed;
  /** The newest revision; undefined where the record has none (yet). */
  readonly latest: AppRevision | undefined;
  readonly assessment: Assessment;
  readonly address: AddressOutcome;
  readonly refusals: readonly ActionFailure[];
  /** Where its database can be moved. Absent where it cannot. */
  readonly offers?: AppDeploymentStatus['databaseDrivers'];
  /** What runs its datastores. Absent where there is none. */
  readonly datastores?: AppDeploymentStatus['datastores'];
}

/** The status of a record that is not being deleted. `now` only dates what changed. */
export function statusOf(inputs: StatusInputs, now: Date): AppDeploymentStatus {
  const { observed, latest, assessment } = inputs;
  const { record } = observed;
  const active = activeNow(inputs);
  const state = stateOf(inputs, active);
  const generation = record.metadata.generation ?? 0;
  const shown = active ?? latest;
  const image = shown && imageOf(shown);
  const replicas = replicasOf(observed);
  const volume = usedVolume(observed, assessment.database.is === 'pass');
  const backup = backupStatusOf(observed);
  const archive = archiveStatusOf(observed);
  const verification = verificationStatusOf(observed);
  const backups = storedBackupsOf(observed, verification?.name);
  const restore = restoreStatusOf(observed, now);
  const kept = keptDatabases(observed);
  // The scale that the record has again afterwards.
  const isHeld = holds(observed.operation);
  const tasks = active && taskStatuses(observed, active);
  const wanted = [
    ...conditionsOf(inputs, state, active),
    ...(tasks ? [condition('TasksReady', checkTasks(observed, tasks))] : []),
  ];
  const conditions = mergeConditions(stillCounting(observed, wanted), wanted, generation, now);
  return {
    state,
    stateChangedAt: stateChangedAt(record.status, state, now),
    ...stalledReasonSince(record.status, conditions, now),
    observedGeneration: generation,
    ...changedBy(record),
    ...(latest && {
      phase: reportedState(observed, latest),
      latestRevisionId: latest.spec.id,
      latestRevision: latest.metadata.name,
      ...latestRevisionGeneration(record, observed.revisions, latest),
      resourceSpec: (isHeld && record.status?.resourceSpec) || observedNumbers(observed, latest),
    }),
    ...(active && { activeRevisionId: active.spec.id, activeRevision: active.metadata.name }),
    ...(image !== undefined && { image }),
    ...(replicas !== undefined && { replicas }),
    ...(isHeld ? workersBefore(record.status) : workersOf(observed, latest)),
    ...deletionOf(observed),
    ...(observed.names.databaseNumber > 0 && { databaseNumber: observed.names.databaseNumber }),
    ...(volume !== undefined && { databaseVolumeUid: volume }),
    ...(volume !== undefined && isInCluster(observed) && { databaseDriver: 'cloudnative-pg' as const }),
    ...(inputs.offers && { databaseDrivers: inputs.offers }),
    ...(kept && { databasesKept: kept }),
    ...operationSeen(observed.operation),
    ...(inputs.datastores && { datastores: inputs.datastores }),
    ...(backup !== undefined && { databaseBackup: backup }),
    ...(backups !== undefined && { databaseBackups: backups }),
    ...(archive !== undefined && { databaseArchive: archive }),
    ...(verification !== undefined && { databaseVerification: verification }),
    ...(restore !== undefined && { databaseRestore: restore }),
    ...reportedAddress(observed, inputs.address, now),
    ...(tasks && { tasks }),
    conditions,
  };
}

/** What the deletion of the record does with its database, and what it does while the spec does not say so. */
function deletionOf({
  record,
  deletionDefault,
}: ObservedRecord): Pick<AppDeploymentStatus, 'databaseDeletionPolicy' | 'databaseDeletionDefault'> {
  if (deletionDefault === undefined) return {};
  const databaseDeletionPolicy = keepsDatabase({ record, deletionDefault }) ? 'Retain' : 'Delete';
  return { databaseDeletionPolicy, databaseDeletionDefault: deletionDefault };
}

function workersBefore(status: AppDeploymentStatus | undefined): Pick<AppDeploymentStatus, 'workers'> {
  return status?.workers ? { workers: status.workers } : {};
}

/** How far the operation is that this pass has followed. */
function operationSeen(operation: Observed['operation']): Pick<AppDeploymentStatus, 'databaseOperation'> {
  const { phase } = operation?.status ?? {};
  return operation && phase ? { databaseOperation: { name: operation.metadata.name, phase } } : {};
}

/** The state of the newest revision as this pass reports it. */
function reportedState({ revisions }: ObservedRecord, latest: AppRevision): RevisionState {
  const reported = revisions.find(({ spec }) => spec.id === latest.spec.id) ?? latest;
  return reported.status?.state ?? 'CREATING';
}

/** The numbers of resourceSpec in force. The volume has the size that it has, whatever is asked for. */
function observedNumbers(observed: ObservedChildren, { spec: { resolved } }: AppRevision): Record<string, number> {
  const numbers = effectiveNumbers(resolved);
  const dbStorageGi = resolved.postgres && volumeSizeGi(observed);
  return { ...numbers, ...(dbStorageGi !== undefined && { dbStorageGi }) };
}

/** What keeps a teardown from going on. */
export interface Hindrance {
  readonly message: string;
  /** Only a person can mend it. */
  readonly stalled: boolean;
}

/** The status of a record that is being deleted; `waitsFor` names what is still there. */
export function deletingStatus(
  observed: ObservedChildren,
  waitsFor: string,
  now: Date,
  paused?: string,
  hindrance?: Hindrance,
): AppDeploymentStatus {
  const { record } = observed;
  const reason = paused === undefined ? 'Deleting' : 'Paused';
  const waiting = `waiting for the deletion of ${waitsFor}.${hindrance ? ` ${hindrance.message}` : ''}`;
  const message = `Being deleted: ${paused ?? waiting}`;
  const stalled = paused !== undefined || hindrance?.stalled === true;
  const wanted: ConditionInput[] = [
    { type: 'Ready', status: 'False', reason, message },
    { type: 'Available', status: 'False', reason, message },
    { type: 'Reconciling', status: stalled ? 'False' : 'True', reason, message },
    { type: 'Stalled', status: stalled ? 'True' : 'False', reason, message },
  ];
  const generation = record.metadata.generation ?? 0;
  const { stalledReasonSince: _since, tasks: _tasks, changedBy: _by, ...before } = record.status ?? {};
  const { url: _url, hostClaim: _claim, ...status } = before;
  const conditions = mergeConditions(record.status?.conditions, wanted, generation, now);
  return {
    // The host is another's to have only when nothing leads here any more.
    ...(addressOf(observed) ? before : status),
    // Also of a record that is deleted before its first status: with a status that lacks it, it would count as an older one.
    ...deletionOf(observed),
    state: 'AWAITING_DELETE',
    stateChangedAt: stateChangedAt(record.status, 'AWAITING_DELETE', now),
    ...stalledReasonSince(record.status, conditions, now),
    observedGeneration: generation,
    conditions,
  };
}

function stateChangedAt(before: AppDeploymentStatus | undefined, state: State, now: Date): string {
  return before?.state === state && before.stateChangedAt !== undefined ? before.stateChangedAt : rfc3339(now);
}

/** The newest revision that reached DEPLOYED, the latest one included if it does so in this very look. */
function activeNow({ observed, latest, assessment }: StatusInputs): AppRevision | undefined {
  return observed.revisions.find(
    (revision) =>
      revision.status?.state === 'DEPLOYED' ||
      (revision.spec.id === latest?.spec.id && revisionStateOf(revision, assessment.rollout) === 'DEPLOYED'),
  );
}

function stateOf({ observed, latest, assessment }: StatusInputs, active: AppRevision | undefined): State {
  const { policy, database, redis } = assessment;
  return stateFrom({
    isLeaving: observed.namespaceTerminating,
    // An operation stops what is to run.
    runsNothing: !holds(observed.operation) && isIntendedToRest(observed, latest),
    isElsewhere: !runsHere(observed.record),
    isRefused: !latest && policy.is !== 'pass',
    storesAnswer: [database, redis].every(({ is, serving }) => is === 'pass' || serving === true),
    isServing: active !== undefined && isServing(observed) && assessment.down === undefined,
  });
}

function isIntendedToRest(observed: Observed, latest: AppRevision | undefined): boolean {
  if (!latest) return asksForNothing(observed.record.spec);
  return latest.spec.resolved.server.maxScale === 0 && !isServing(observed);
}

/** The conditions that say what one entry of the assessment says. */
const ENTRIES = [
  ['DatabaseReady', 'database'],
  ['RedisReady', 'redis'],
  ['WorkloadsReady', 'workloads'],
  ['AutoscalingReady', 'autoscaling'],
  ['ResourceSpecHonored', 'honored'],
  ['AddressReady', 'address'],
  ['ReferencesResolved', 'references'],
  ['PolicyAccepted', 'policy'],
  // Only of a record with its own PostgreSQL.
  ['BackupReady', 'backup'],
  // Only of a record that asks for an archive.
  ['ArchiveReady', 'archive'],
  // Only of a record with verification.
  ['BackupVerified', 'verification'],
  // Only of a record that begins with one.
  ['DatabaseRestored', 'restore'],
] as const satisfies readonly (readonly [ConditionType, keyof Assessment])[];

function conditionsOf(inputs: StatusInputs, state: State, active: AppRevision | undefined): ConditionInput[] {
  const { assessment } = inputs;
  const said = { ...assessment, workloads: assessment.down ?? assessment.workloads };
  const ready = readyEntry(inputs);
  const done = ready.is === 'pass';
  const waits = ready.is === 'stalled';
  const available =
    state === 'READY'
      ? pass('Serving', `Revision ${active?.spec.id ?? ''} is serving.`)
      : (firstProblem(
          done || inputs.observed.namespaceTerminating ? [] : [...whatIsDown(inputs), ...inTheWay(inputs)],
        ) ?? ready);
  return [
    condition('Ready', ready),
    condition('Available', available, state === 'READY' ? 'True' : 'False'),
    done || waits
      ? { type: 'Reconciling', status: 'False', reason: 'Settled', message: 'Nothing is left to do.' }
      : condition('Reconciling', ready, 'True'),
    waits
      ? condition('Stalled', ready, 'True')
      : { type: 'Stalled', status: 'False', reason: 'Settled', message: 'Davit continues automatically.' },
    ...ENTRIES.flatMap(([type, name]) => {
      const entry = said[name];
      return entry === undefined ? [] : [condition(type, entry)];
    }),
  ];
}

const STATUS = { pass: 'True', fail: 'False', stalled: 'False', unknown: 'Unknown' } as const;

function condition(
  type: ConditionType,
  { is, reason, message }: Entry,
  status: ConditionInput['status'] = STATUS[is],
): ConditionInput {
  return { type, status, reason, message };
}

/** The causes for which what should serve does not, before those that keep the latest revision from its rollout. */
function whatIsDown({ assessment: { database, redis, down } }: StatusInputs): readonly Entry[] {
  return down ? [database, redis, down] : [];
}

/** While nothing serves, a failure or the progress of a build is reported before a store that is still starting. */
function inTheWay(inputs: StatusInputs): readonly Entry[] {
  const { policy, references, database, redis, workloads } = inputs.assessment;
  if (activeNow(inputs) || !isOfNoStore(workloads)) return [policy, references, database, redis, workloads];
  const failing = [database, redis].filter(({ reason }) => isFailure(reason));
  return [policy, references, ...failing, workloads];
}

const BUILDS: ReadonlySet<Reason> = new Set(['BuildQueued', 'Building']);

/** Whether it cannot come of a store that does not answer yet, as the exit of a container may. */
function isOfNoStore({ is, reason }: Entry): boolean {
  return is !== 'pass' && (BUILDS.has(reason) || (isFailure(reason) && reason !== 'ContainerCrashed'));
}

/** Ready: the latest revision is deployed and serving at this generation. The first thing in the way is its reason. */
export function readyEntry(inputs: StatusInputs): Entry {
  const { observed, latest, assessment, refusals } = inputs;
  const { record } = observed;
  const { paused, policy, references, database, redis, workloads, address, restore } = assessment;
  // What only a person can mend comes before what is tried again.
  const failure = refusals.find(({ reason }) => reason !== 'RequestFailed') ?? refusals[0];
  const runsNothing = latest?.spec.resolved.server.maxScale === 0;
  // What is to be loaded needs its database all the same.
  const needsNothing = runsNothing && (restore === undefined || restore.is === 'pass');
  if (observed.namespaceTerminating)
    return fail('Deleting', `Namespace ${record.metadata.namespace} is being deleted, and the deployment with it.`);
  return (
    withDown(
      inputs,
      firstProblem([
        policy,
        paused === undefined ? undefined : stalled('Paused', paused),
        runsHere(record) ? undefined : ELSEWHERE,
        assessment.operation,
        failure && entryOf(failure),
        latest ? undefined : stalled('WaitingForImage', WAITING_FOR_IMAGE),
        references,
        ...(needsNothing ? [] : [onlyStalled(database), onlyStalled(redis)]),
        onlyStalled(workloads),
        ...(runsNothing ? [workloads] : [...inTheWay(inputs), unfinished(database), unfinished(redis)]),
        onlyStalled(address),
      ]),
    ) ??
    (runsNothing
      ? pass('ScaledToZero', 'Scaled to zero.')
      : pass('Serving', 'The latest revision is deployed and serving.'))
  );
}

/** Also why nothing serves, where that has another cause. */
function withDown(
  { assessment: { database, redis, down } }: StatusInputs,
  entry: Entry | undefined,
): Entry | undefined {
  const isOfStore = entry === database || entry === redis;
  return entry && down && !isOfStore
    ? { ...entry, message: `${entry.message} Nothing is serving meanwhile. ${down.message}` }
    : entry;
}

const ELSEWHERE = stalled('ListenerSilent', "A listener's cluster runs this record, so this Davit ignores it.");

function onlyStalled(entry: Entry): Entry | undefined {
  return entry.is === 'stalled' ? entry : undefined;
}
