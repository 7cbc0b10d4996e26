// The migration of a revision: a Job that runs once, before the rollout. Its end is latched in the status of the revision; until
// then the Job is the evidence. What a new revision takes over of it: record/kept-build.ts.

import type { AppRevision, MigrationStatus } from '../../kinds/app-revision.ts';
import { MIGRATION, MIGRATION_CONTAINER, REVISION_LABEL, STORE_PARTS } from '../../kinds/meta.ts';
import { timeoutOf } from '../../kinds/migrate.ts';
import { shortened } from '../../kinds/text.ts';
import type { KubeObject } from '../../runtime/kube/client.ts';
import { hasMigrated } from '../record/kept-build.ts';
import { imageOf } from '../record/revision-image.ts';
import { runsNothing } from '../record/revisions.ts';
import { podsIdOf } from '../record/shared-pods.ts';
import { type Entry, entryOf, fail, pass, stalled } from './entry.ts';
import { type Job, jobEnd, jobsOf, podMissed, untilPodMissedMs } from './jobs.ts';
import { withMissingStores } from './missing-stores.ts';
import {
  type ActionFailure,
  failureOfKind,
  type Observed,
  type ObservedChildren,
  type ObservedRecord,
  type Pod,
  rollsNothing,
  workloadOf,
} from './observed.ts';
import { isUnended, podFailure, podsOf, workFailure } from './pod-failures.ts';
import { longHeldWords } from './pod-inits.ts';
import { isOwn, ownStoreAnswers } from './stores.ts';
import { howToRelease } from './terminating-pods.ts';

type Migration =
  /** None is asked for, or it has run. */
  | { readonly is: 'done' }
  /** The record runs nothing. It is due before the first pod. */
  | { readonly is: 'asleep' }
  | { readonly is: 'due' }
  | { readonly is: 'running' }
  /** Its Job was made and is not in the cache. */
  | { readonly is: 'lost' }
  | { readonly is: 'failed'; readonly message: string };

export function migrationOf(observed: ObservedChildren, revision: AppRevision): Migration {
  const { requested, id } = revision.spec;
  const latched = revision.status?.migration;
  if (!requested.runtime?.migrate || hasMigrated(revision)) return { is: 'done' };
  const job = migrationJobs(observed).find((one) => revisionIdOf(one) === id);
  // Pods that were started followed a migration that succeeded.
  if (!job && latched?.phase !== 'Failed' && isStarted(observed, revision)) return { is: 'done' };
  const end = job && endOf(observed, job);
  if (runsNothing(revision) && end !== 'succeeded') return { is: job && end === undefined ? 'running' : 'asleep' };
  if (imageOf(revision) === undefined) return { is: 'due' };
  if (latched?.phase === 'Failed') return { is: 'failed', message: latched.message ?? '' };
  if (!job) return { is: latched ? 'lost' : 'due' };
  if (end === 'succeeded') return { is: 'done' };
  return end === 'failed' ? migrationFailure(observed, revision, job) : { is: 'running' };
}

/** What the status of a revision says of its migration; undefined before its Job is made. */
export function migrationStatusOf(observed: ObservedChildren, revision: AppRevision): MigrationStatus | undefined {
  const before = revision.status?.migration;
  if (before && before.phase !== 'Running') return before;
  const job = migrationJobs(observed).find((one) => revisionIdOf(one) === revision.spec.id);
  if (!job) return before;
  const end = endOf(observed, job);
  if (end === 'succeeded') return { phase: 'Succeeded', job: job.metadata.name };
  const failure = end === 'failed' ? migrationFailure(observed, revision, job) : undefined;
  return failure?.is === 'failed'
    ? { phase: 'Failed', job: job.metadata.name, message: shortened(failure.message) }
    : { phase: 'Running', job: job.metadata.name };
}

/**
 * Another revision whose migration is still running: half of a migration is worse than a late rollout, so it is let finish. After its
 * Job was deleted, its pod goes on until it has ended.
 */
export function migratingBefore(observed: ObservedChildren, latest: AppRevision): AppRevision | undefined {
  const jobs = migrationJobs(observed);
  const ids = new Set(jobs.map(revisionIdOf));
  const pods = podsOf(observed, MIGRATION).filter(
    (pod) => !ids.has(revisionIdOf(pod)) && isUnended(pod) && exitCodeOf(pod) === undefined,
  );
  const running = new Set([...jobs.filter((job) => endOf(observed, job) === undefined), ...pods].map(revisionIdOf));
  return observed.revisions.find(({ spec }) => spec.id !== latest.spec.id && running.has(spec.id));
}

/** Whether the rollout may begin: nothing is left to migrate, and nothing migrates. */
export function isMigrated(observed: ObservedChildren, revision: AppRevision): boolean {
  return mayRun(observed, revision) && !migratingBefore(observed, revision);
}

/** Whether as many pods of it may run as the scale in force says. */
export function mayRun(observed: ObservedChildren, revision: AppRevision): boolean {
  const { is } = migrationOf(observed, revision);
  return is === 'done' || is === 'asleep';
}

/** Whether the Job may be made: the revision's own stores answer. An external one is waited for by its pod. */
export function mayMigrate(observed: ObservedChildren, revision: AppRevision): boolean {
  return (
    migrationOf(observed, revision).is === 'due' &&
    !migratingBefore(observed, revision) &&
    STORE_PARTS.every((part) => !isOwn(part, revision) || ownStoreAnswers(part, observed))
  );
}

/**
 * Jobs of earlier revisions that have ended and whose end stands in a status, or whose revision is gone. The latest one's is
 * obsolete too if a sidecar keeps its pod although the migration has succeeded: the Job would fail at its deadline.
 */
export function obsoleteMigrations(observed: ObservedChildren, latest: AppRevision): readonly KubeObject[] {
  return migrationJobs(observed).filter((job) => {
    const id = revisionIdOf(job);
    const revision = observed.revisions.find(({ spec }) => spec.id === id);
    const phase = revision?.status?.migration?.phase;
    if (job.metadata.deletionTimestamp !== undefined) return false;
    if (id === latest.spec.id)
      return phase === 'Succeeded' && !jobEnd(job, 'Complete') && isKeptBySidecar(observed, id);
    if (endOf(observed, job) === undefined) return false;
    return !revision || (phase !== undefined && phase !== 'Running');
  });
}

/**
 * What keeps a revision that runs nothing from being one that was deployed: its migration has not run, or that of its image has
 * failed. Undefined if nothing does.
 */
export function checkUnmigrated(observed: ObservedChildren, revision: AppRevision): Entry | undefined {
  if (imageOf(revision) === undefined || migrationOf(observed, revision).is !== 'asleep') return undefined;
  const before = observed.revisions.find(({ spec, status }) => spec.id !== revision.spec.id && status?.migration);
  const failed = [revision, before].find((one) => one?.status?.migration?.phase === 'Failed');
  return failed && imageOf(failed) === imageOf(revision)
    ? stalled('MigrationFailed', failed.status?.migration?.message ?? '')
    : pass('ScaledToZero', 'Scaled to zero. The migration runs before the first pod is started.');
}

/** What stands between the revision and its rollout; undefined if nothing does. `failures`: what came of the last try. */
export function checkMigration(
  observed: ObservedChildren & Pick<Observed, 'patience'>,
  revision: AppRevision,
  failures: readonly ActionFailure[],
): Entry | undefined {
  const migration = migrationOf(observed, revision);
  const earlier = migratingBefore(observed, revision);
  if (migration.is === 'failed') return stalled('MigrationFailed', migration.message);
  const stuck = earlier && podsOf(observed, MIGRATION, earlier.spec.id).find((pod) => pod.overdue);
  if (earlier && stuck)
    return stalled(
      'PodStuckTerminating',
      `The latest revision is waiting for the migration of revision ${earlier.spec.id}. ${howToRelease(stuck)}`,
    );
  if (earlier)
    return fail(
      'Migrating',
      `The migration of revision ${earlier.spec.id} is still running, and Davit waits for it to finish: ${follow(observed, earlier)}. The latest revision follows. To stop the migration: kubectl delete job ${observed.names.migration(earlier.spec.id)} -n ${observed.record.metadata.namespace}; the latest revision then waits until its pod has ended.`,
    );
  if (migration.is === 'done' || migration.is === 'asleep') return undefined;
  const refused = failures.find(rollsNothing) ?? failureOfKind('Job', failures);
  if (refused) return entryOf(refused);
  if (migration.is === 'running') {
    const pods = podsOf(observed, MIGRATION, revision.spec.id);
    const trouble = withMissingStores(workFailure(pods), revision.spec.requested);
    const is = trouble?.reason === 'PodStuckTerminating' ? stalled : fail;
    if (trouble) return is(trouble.reason, `The migration: ${trouble.message}`);
    const held = longHeldWords(pods);
    if (held !== undefined) return fail('Migrating', `The migration has not begun. ${held}`);
    const job = migrationJobs(observed).find((one) => revisionIdOf(one) === revision.spec.id);
    if (job && untilPodMissedMs(job, pods, observed.patience?.at ?? 0) === 0)
      return fail('Migrating', `The migration has not begun. ${podMissed(job)}`);
    return fail('Migrating', `The migration is running: ${follow(observed, revision)}.`);
  }
  return fail('Migrating', 'The migration runs before the rollout, as soon as PostgreSQL and Redis answer.');
}

/** The entry for a Job that was created and deleted. */
export function migrationLost(observed: ObservedRecord, { spec: { id } }: AppRevision): ActionFailure {
  const name = observed.names.migration(id);
  return {
    reason: 'MigrationFailed',
    ref: { kind: 'Job', name },
    message: `Job ${name} was deleted before the migration ended, so its progress is unknown. Check the database, then create a new revision, which migrates again. ${whatServes(observed)}`,
  };
}

function whatServes({ revisions }: ObservedRecord): string {
  const hasServed = revisions.some(({ status }) => status?.state === 'DEPLOYED');
  return hasServed ? 'The running pods keep serving.' : 'No revision has served yet.';
}

function follow({ record: { metadata }, names }: ObservedRecord, { spec: { id } }: AppRevision): string {
  return `kubectl logs job/${names.migration(id)} -n ${metadata.namespace} shows its progress`;
}

function migrationFailure(observed: ObservedChildren, revision: AppRevision, job: Job): Migration {
  const todo = 'Correct the cause, then deploy a new revision.';
  const { name, namespace } = job.metadata;
  const meanwhile = `The whole log: kubectl logs job/${name} -n ${namespace}. ${whatServes(observed)} A new revision migrates again.`;
  const { migrate } = revision.spec.requested.runtime ?? {};
  if (migrate && jobEnd(job, 'Failed')?.reason === 'DeadlineExceeded')
    return {
      is: 'failed',
      message: `The migration took longer than ${timeoutOf(migrate)} s (timeout_seconds) and was stopped. ${todo} ${meanwhile}`,
    };
  const pods = podsOf(observed, MIGRATION, revision.spec.id);
  const trouble = withMissingStores(podFailure(pods), revision.spec.requested);
  // The pod has ended, and the cache of pods does not show it yet.
  if (
    !trouble &&
    jobEnd(job, 'Failed') &&
    pods.some(({ status }) => status?.phase !== 'Failed' && status?.phase !== 'Succeeded')
  )
    return { is: 'running' };
  return { is: 'failed', message: `The migration failed. ${trouble?.message ?? todo} ${meanwhile}` };
}

function migrationJobs(observed: ObservedChildren): readonly Job[] {
  return jobsOf(observed, MIGRATION);
}

function revisionIdOf({ metadata }: KubeObject): string | undefined {
  return metadata.labels?.[REVISION_LABEL];
}

/**
 * How the migration ended, undefined while it runs. Davit's own container decides: an injected sidecar that goes on keeps the
 * pod, and with it the Job, until the deadline. A pod that the cluster takes away is replaced.
 */
function endOf(observed: Pick<ObservedChildren, 'pods'>, job: Job): 'succeeded' | 'failed' | undefined {
  if (jobEnd(job, 'Complete')) return 'succeeded';
  const pods = podsOf(observed, MIGRATION, revisionIdOf(job));
  const codes = pods.map((pod) => ({ pod, code: exitCodeOf(pod) }));
  if (codes.some(({ code }) => code === 0)) return 'succeeded';
  const isLeft = codes.some(({ pod, code }) => code !== undefined && pod.status?.phase === 'Running' && !isTaken(pod));
  return isLeft || jobEnd(job, 'Failed') ? 'failed' : undefined;
}

/** Whether a container other than Davit's still runs in a pod of the migration. A sidecar of Kubernetes is an init container. */
function isKeptBySidecar(observed: Pick<ObservedChildren, 'pods'>, revisionId: string): boolean {
  return podsOf(observed, MIGRATION, revisionId).some(({ status }) =>
    status?.containerStatuses?.some(({ name, state }) => name !== MIGRATION_CONTAINER && state?.running !== undefined),
  );
}

function exitCodeOf({ status }: Pod): number | undefined {
  const own = status?.containerStatuses?.find(({ name }) => name === MIGRATION_CONTAINER);
  return own?.state?.terminated?.exitCode;
}

function isTaken({ metadata, status }: Pod): boolean {
  const isDisrupted = status?.conditions?.some(({ type, status: is }) => type === 'DisruptionTarget' && is === 'True');
  return metadata.deletionTimestamp !== undefined || isDisrupted === true;
}

/** At a scale of zero the template is there without its migration, and a person may start pods of it. */
function isStarted(observed: ObservedChildren, revision: AppRevision): boolean {
  if (revision.status?.state === 'AWAITING_DEPLOY') return false;
  const { template, replicas = 1 } = workloadOf(observed, 'server')?.spec ?? {};
  return template?.metadata?.labels?.[REVISION_LABEL] === podsIdOf(revision, 'server') && replicas > 0;
}
