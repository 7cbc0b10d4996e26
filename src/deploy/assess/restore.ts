// The backup with which a record's own PostgreSQL begins. It is loaded by a Job, once, before the first pod and the migration. That it was
// loaded stands in the status for ever; until then the report of the container that loaded it is the evidence.

import type { AppRevision } from '../../kinds/app-revision.ts';
import { rfc3339 } from '../../kinds/conditions.ts';
import { type DatabaseRestore, type DatabaseRestoreStatus, LoadedBackup } from '../../kinds/database.ts';
import { RESTORE, RESTORE_CONTAINER, RESTORE_REQUEST_ANNOTATION } from '../../kinds/meta.ts';
import { bytesText } from '../../kinds/text.ts';
import { jsonOf } from '../../runtime/json-value.ts';
import { youngestFirst } from '../../runtime/kube/youngest-first.ts';
import { originText, otherDriver } from '../record/backup-consent.ts';
import { driverOf } from '../record/database-driver.ts';
import { restoreOf } from '../record/database-move.ts';
import { restoreNumberIn } from '../record/names.ts';
import { restoreRequestOf } from '../record/restore-request.ts';
import {
  archiveAsked,
  archivePhaseOf,
  archiveRestoreStatus,
  beganWith,
  checkArchiveRestore,
} from './archive-restore.ts';
import { keysMissing, OR_WITHOUT, storeMissing } from './backup-store.ts';
import { beginningFails, databaseJobPods, lastWords, newestFailure } from './database-jobs.ts';
import { type Entry, fail, firstOf, pass, refusalAt, stalled } from './entry.ts';
import { hasEnded, type Job, jobEnd, jobsOf } from './jobs.ts';
import { type ActionFailure, knownDatabase, type Observed, type ObservedChildren, type Pod } from './observed.ts';
import { isUnended } from './pod-failures.ts';
import { ownStoreAnswers } from './stores.ts';

/**
 * `done`: nothing is loaded any more, or nothing was asked for. `ending`: what was asked for before must end first. `external`: the
 * revision has no PostgreSQL of its own. `taken`: of an archive alone, see archive-restore.ts.
 */
type Phase = 'done' | 'due' | 'running' | 'failed' | 'ending' | 'external' | 'taken';

function restorePhaseOf(observed: ObservedChildren, revision: AppRevision): Phase {
  if (loadedInto(observed)) return 'done';
  const job = jobOf(observed);
  const isBusy = restorePods(observed).some(isUnended);
  if (restoreAsked(observed) === undefined) return (job && !hasEnded(job)) || isBusy ? 'ending' : 'done';
  if (archiveAsked(observed) !== undefined) return archivePhaseOf(observed, revision);
  if (revision.spec.resolved.postgres === undefined) return 'external';
  if (job === undefined) return isBusy ? 'ending' : 'due';
  if (!isCurrent(observed, job)) return 'ending';
  return jobEnd(job, 'Failed') ? 'failed' : 'running';
}

/** Whether the pods and the migration of a revision may begin, as far as the database is concerned. */
export function isRestored(observed: ObservedChildren, revision: AppRevision): boolean {
  return restorePhaseOf(observed, revision) === 'done';
}

/** Whether the Job may be made: for a revision that the pass has found, by which its source was judged. */
export function mayRestore(observed: Observed, revision: AppRevision): boolean {
  return (
    archiveAsked(observed) === undefined &&
    observed.revisions[0]?.spec.id === revision.spec.id &&
    restorePhaseOf(observed, revision) === 'due' &&
    whyNotAllowed(observed, revision) === undefined &&
    observed.backupStore?.hasCredentials === true &&
    ownStoreAnswers('postgres', observed)
  );
}

/**
 * The Jobs that are of no more use: that of another database of the record, from which it has gone back meanwhile, and that of the present
 * one if its backup is loaded, another one is asked for, or it has ended and left no report. It is then made again, and finds out what the
 * database began with.
 */
export function obsoleteRestores(observed: ObservedChildren): readonly Job[] {
  return [...restoresElsewhere(observed), ...obsoleteRestore(observed)];
}

/** What such a Job has begun is undone with its pod: all is loaded, or nothing. */
function restoresElsewhere(observed: ObservedChildren): readonly Job[] {
  const { record, names } = observed;
  return jobsOf(observed, RESTORE).filter(({ metadata: { name, deletionTimestamp } }) => {
    const number = restoreNumberIn(record.metadata.name, name);
    return number !== undefined && number !== names.databaseNumber && deletionTimestamp === undefined;
  });
}

function obsoleteRestore(observed: ObservedChildren): readonly Job[] {
  const job = jobOf(observed);
  if (!job || job.metadata.deletionTimestamp !== undefined) return [];
  const isReported = knownDatabase(observed).restore?.restoredAt !== undefined;
  const isMute =
    jobEnd(job, 'Complete') !== undefined && !restorePods(observed).some((pod) => isUnended(pod) || loadedBy(pod));
  return isReported || isMute || !isCurrent(observed, job) ? [job] : [];
}

/** As the status has it, with what the Job and its pods say now. Undefined if there is nothing to say. */
export function restoreStatusOf(observed: ObservedChildren, now: Date): DatabaseRestoreStatus | undefined {
  const before = knownDatabase(observed).restore;
  if (before?.restoredAt !== undefined) return before;
  const begun = archiveRestoreStatus(observed, now);
  if (begun !== undefined) return begun;
  const loaded = loadedInto(observed);
  const job = jobOf(observed);
  const after = {
    ...before,
    ...newestFailure(observed, job ? [job] : [], RESTORE, before?.lastFailureAt),
    ...(loaded && { ...loaded, restoredAt: rfc3339(now) }),
  };
  return Object.keys(after).length > 0 ? after : undefined;
}

interface Seen {
  readonly observed: Observed;
  readonly revision: AppRevision;
  readonly phase: Phase;
  readonly failures: readonly ActionFailure[];
}

/** In the order in which people should hear of them. */
const CHECKS: readonly ((seen: Seen) => Entry | undefined)[] = [
  restoredFrom,
  ending,
  notOwnedToRestore,
  notAllowed,
  hasFailed,
  ({ observed }) => storeMissing(observed, stalled, 'no backup can be loaded', OR_WITHOUT),
  ({ observed }) => keysMissing(observed, stalled, 'no backup can be fetched', '; the backup is then loaded'),
  ({ observed: { names }, failures }) => refusalAt({ kind: 'Job', name: names.restore }, failures),
  restorePodFails,
  triesAgain,
];

/** Undefined if the record asks for no restore, and none is in the way. `failures`: what came of the last try. */
export function checkRestore(
  observed: Observed,
  revision: AppRevision,
  failures: readonly ActionFailure[],
): Entry | undefined {
  const phase = restorePhaseOf(observed, revision);
  const isAsked = restoreAsked(observed) !== undefined;
  if (phase === 'done' && !isAsked) return undefined;
  const archive = checkFromArchive(observed, revision, phase);
  if (archive !== undefined) return archive;
  const seen = { observed, revision, phase, failures };
  return (
    firstOf(CHECKS, seen) ??
    fail(
      'Restoring',
      phase === 'running'
        ? `A backup of ${fromOf(observed)} is being loaded. kubectl get pods -l job-name=${observed.names.restore} -n ${observed.record.metadata.namespace} shows its progress.`
        : `A backup of ${fromOf(observed)} is loaded as soon as PostgreSQL answers.`,
    )
  );
}

/** Undefined where it is no archive that the database begins with, or began with. */
function checkFromArchive(observed: Observed, revision: AppRevision, phase: Phase): Entry | undefined {
  const known = knownDatabase(observed).restore ?? archiveRestoreStatus(observed, new Date(0));
  if (phase === 'done') return known?.archive === true ? beganWith(known) : undefined;
  return archiveAsked(observed) && phase !== 'ending' ? checkArchiveRestore(observed, revision) : undefined;
}

function restoredFrom({ observed, phase }: Seen): Entry | undefined {
  if (phase !== 'done') return undefined;
  const { from = '', name, takenAt, sizeBytes = 0 } = loadedInto(observed) ?? {};
  const whose = originText({ from, namespace: restoreAsked(observed)?.namespace });
  return pass(
    'Restored',
    `The database began with backup ${name} of ${whose}, which has the state of ${takenAt} (${bytesText(sizeBytes)}).`,
  );
}

function ending({ phase }: Seen): Entry | undefined {
  return phase === 'ending'
    ? fail(
        'Restoring',
        'The previously requested restore is being stopped. The deployment then continues automatically.',
      )
    : undefined;
}

function notOwnedToRestore({ phase }: Seen): Entry | undefined {
  return phase === 'external'
    ? stalled(
        'RestoreNotPossible',
        'The deployment has no PostgreSQL of its own, and Davit does not load backups into external databases. Remove source_config.database.restore, and load the backup where the external database runs.',
      )
    : undefined;
}

function notAllowed({ observed, revision, phase }: Seen): Entry | undefined {
  const refused = phase === 'due' ? whyNotAllowed(observed, revision) : undefined;
  return refused ? stalled('RestoreNotPossible', refused) : undefined;
}

/** By the consent of now: a restore that has begun is not ended. */
function whyNotAllowed({ record, revisions, backupSource }: Observed, { spec }: AppRevision): string | undefined {
  const restore = restoreOf(record, revisions);
  if (!backupSource || !restore) return '';
  if ('refused' in backupSource) return backupSource.refused;
  return otherDriver(originText(restore), backupSource.driver, driverOf(spec.resolved.postgres ?? {}));
}

function hasFailed({ observed, phase }: Seen): Entry | undefined {
  if (phase !== 'failed') return undefined;
  const { names, record } = observed;
  const { lastFailure = '' } = restoreStatusOf(observed, new Date(0)) ?? {};
  const { namespace } = record.metadata;
  // An operation returns to the database before.
  const others =
    names.databaseNumber > 0
      ? ''
      : ' Changing source_config.database.restore has the same effect. Without that field, the deployment starts with the database as it is.';
  return stalled(
    'RestoreFailed',
    `No backup of ${fromOf(observed)} was loaded. ${lastFailure}. Correct the cause, then delete the Job; Davit creates it again: kubectl delete job ${names.restore} -n ${namespace}.${others}`,
  );
}

function restorePodFails({ observed, phase }: Seen): Entry | undefined {
  if (phase !== 'running') return undefined;
  const trouble = beginningFails(restorePods(observed));
  return trouble && fail(trouble.reason, `The restore cannot begin. ${trouble.message}`);
}

/** The Job retries after a failure, because a store may be unavailable for a moment. */
function triesAgain({ observed, phase }: Seen): Entry | undefined {
  const [words] = phase === 'running' ? youngestFirst(restorePods(observed)).flatMap(lastWords) : [];
  return words === undefined
    ? undefined
    : fail('Restoring', `A backup of ${fromOf(observed)} could not be loaded yet; Davit is trying again. ${words}.`);
}

function fromOf(observed: ObservedChildren): string {
  return originText(restoreAsked(observed) ?? { from: '' });
}

/** Jobs that list the store have other names. */
function jobOf(observed: ObservedChildren): Job | undefined {
  return jobsOf(observed, RESTORE).find(({ metadata }) => metadata.name === observed.names.restore);
}

/** What the database is to begin with. */
function restoreAsked({ record, revisions }: ObservedChildren): Readonly<DatabaseRestore> | undefined {
  return restoreOf(record, revisions);
}

function isCurrent(observed: ObservedChildren, { metadata }: Job): boolean {
  const restore = restoreAsked(observed);
  return (
    metadata.deletionTimestamp === undefined &&
    restore !== undefined &&
    metadata.annotations?.[RESTORE_REQUEST_ANNOTATION] === restoreRequestOf(restore)
  );
}

function restorePods(observed: ObservedChildren): readonly Pod[] {
  return databaseJobPods(observed, RESTORE).filter(({ metadata }) =>
    metadata.ownerReferences?.some(({ kind, name }) => kind === 'Job' && name === observed.names.restore),
  );
}

/** The backup that the database began with, by the status or by the report of a pod. */
function loadedInto(observed: ObservedChildren): DatabaseRestoreStatus | undefined {
  const known = knownDatabase(observed).restore;
  return known?.restoredAt === undefined ? restorePods(observed).flatMap((pod) => loadedBy(pod) ?? [])[0] : known;
}

/** Its pod may be anybody's work, so nothing is believed unread. */
function loadedBy({ status }: Pod): LoadedBackup | undefined {
  const own = status?.containerStatuses?.find(({ name }) => name === RESTORE_CONTAINER);
  const ended = own?.state?.terminated;
  return ended?.exitCode === 0 ? LoadedBackup.safeParse(jsonOf(ended.message)).data : undefined;
}
