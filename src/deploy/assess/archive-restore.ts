// The archive with which a database of driver cloudnative-pg begins. Its Cluster is made only when the archive is known, because without
// one it would begin empty; CloudNativePG then restores it, once, and what it began with stays with the Cluster.

import type { AppRevision } from '../../kinds/app-revision.ts';
import { rfc3339 } from '../../kinds/conditions.ts';
import type { DatabaseRestore, DatabaseRestoreStatus } from '../../kinds/database.ts';
import { CNPG_CLUSTER_LABEL, CNPG_JOB_LABEL } from '../../kinds/meta.ts';
import { driverOf } from '../record/database-driver.ts';
import { restoreOf } from '../record/database-move.ts';
import { type ArchiveOrigin, archiveOriginName, chosenArchive, originIn } from '../record/wal-archive.ts';
import { keysMissing, OR_WITHOUT, storeMissing } from './backup-store.ts';
import { clusterAnswers, isOfCluster, ownCluster, phaseOf } from './database-cluster.ts';
import { beginningFails } from './database-jobs.ts';
import { type Entry, fail, firstOf, pass, stalled } from './entry.ts';
import { type Job, jobEnd } from './jobs.ts';
import { childOf, isOurs, knownDatabase, type Observed, type ObservedChildren, type Pod } from './observed.ts';

/** CloudNativePG's name for the Job and pods that restore. */
const RECOVERY = 'full-recovery';

/** By far the most frequent cause, and PostgreSQL's words for it are in a log. */
const BEYOND =
  'A point in time after the last archived change cannot be restored. To restore the newest state, leave out at.';

type Restored = Readonly<DatabaseRestore>;

/** What the database is to begin with, if that is an archive. */
export function archiveAsked({ record, revisions }: ObservedChildren): Restored | undefined {
  const restore = restoreOf(record, revisions);
  return restore?.archive === true ? restore : undefined;
}

/**
 * What the Cluster of the record begins with, or began with: CloudNativePG asks for it again, also later. Undefined where it begins empty,
 * and where the archive is not known yet, or there are no keys for it.
 */
export function archiveOriginOf(observed: Observed): ArchiveOrigin | undefined {
  const { names, record, archives } = observed;
  if (names.databaseNumber !== 0 || archives === undefined) return undefined;
  const before = childOf(observed, 'ObjectStore', archiveOriginName(record));
  if (ownCluster(observed)) return before && isOurs(before, observed) ? originIn(before) : undefined;
  const hasKeys = observed.backupStore?.hasCredentials === true;
  const chosen = hasKeys && awaitsCluster(observed) ? chosenIn(observed) : undefined;
  return typeof chosen === 'string' ? undefined : chosen;
}

/** Whether no Cluster may be made, because it would begin empty. */
export function awaitsArchive(observed: Observed): boolean {
  return awaitsCluster(observed) && archiveOriginOf(observed) === undefined;
}

function awaitsCluster(observed: ObservedChildren): boolean {
  const isDone = knownDatabase(observed).restore?.restoredAt !== undefined;
  return !isDone && archiveAsked(observed) !== undefined && ownCluster(observed) === undefined;
}

function chosenIn(observed: Observed): ArchiveOrigin | string | undefined {
  const asked = archiveAsked(observed);
  return asked && chosenArchive(observed.archives ?? [], asked);
}

/** As restorePhaseOf has it; `taken`: there was a Cluster before. */
export type ArchivePhase = 'done' | 'due' | 'running' | 'failed' | 'external' | 'taken';

/** For a restore that was asked for and is not known to be done. */
export function archivePhaseOf(observed: ObservedChildren, revision: AppRevision): ArchivePhase {
  const { postgres } = revision.spec.resolved;
  if (postgres === undefined || driverOf(postgres) !== 'cloudnative-pg') return 'external';
  const cluster = ownCluster(observed);
  if (cluster === undefined) return 'due';
  if (cluster.spec?.bootstrap?.recovery === undefined) return 'taken';
  if (clusterAnswers(observed)) return 'done';
  const job = recoveryJob(observed);
  return job && jobEnd(job, 'Failed') ? 'failed' : 'running';
}

/** Whether its data is on its way, however long that takes. */
export function isRestoringArchive(observed: ObservedChildren, revision: AppRevision): boolean {
  const isDone = knownDatabase(observed).restore?.restoredAt !== undefined;
  return !isDone && archiveAsked(observed) !== undefined && archivePhaseOf(observed, revision) !== 'done';
}

/** What the status says of it as soon as the Cluster answers. */
export function archiveRestoreStatus(observed: ObservedChildren, now: Date): DatabaseRestoreStatus | undefined {
  const asked = archiveAsked(observed);
  const isThere = ownCluster(observed)?.spec?.bootstrap?.recovery !== undefined && clusterAnswers(observed);
  if (!asked || !isThere) return undefined;
  const store = childOf(observed, 'ObjectStore', archiveOriginName(observed.record));
  const at = store ? originIn(store)?.at : asked.at;
  return {
    from: asked.from,
    archive: true,
    ...(at !== undefined && { takenAt: rfc3339(new Date(at)) }),
    restoredAt: rfc3339(now),
  };
}

interface Seen {
  readonly observed: Observed;
  readonly asked: Restored;
  readonly phase: ArchivePhase;
}

/** In the order in which people should hear of them. */
const CHECKS: readonly ((seen: Seen) => Entry | undefined)[] = [
  noCluster,
  clusterThere,
  recoveryFailed,
  noPlugin,
  ({ observed }) => storeMissing(observed, stalled, 'no archive can be read', OR_WITHOUT),
  ({ observed }) => keysMissing(observed, stalled, 'the archive cannot be read'),
  noArchive,
  recoveryCannotBegin,
  recoveryTriesAgain,
];

/** Undefined where nothing is known to be in the way: `running` and `due`. */
export function checkArchiveRestore(observed: Observed, revision: AppRevision): Entry {
  const asked = archiveAsked(observed) ?? { from: '' };
  const phase = archivePhaseOf(observed, revision);
  const seen = { observed, asked, phase };
  const { names, record } = observed;
  return (
    firstOf(CHECKS, seen) ??
    fail(
      'Restoring',
      phase === 'due'
        ? `${ofArchive(asked)} is restored as soon as the Cluster exists.`
        : `${ofArchive(asked)} is being restored.${phaseOf(observed)} kubectl get pods -l ${CNPG_CLUSTER_LABEL}=${names.postgres} -n ${record.metadata.namespace} shows its progress.`,
    )
  );
}

/** What the condition says when it is done. `status`: as the record has it. */
export function beganWith({ from, takenAt }: DatabaseRestoreStatus): Entry {
  const state = takenAt === undefined ? 'everything that was archived' : `the state of ${takenAt}`;
  return pass('Restored', `The database began with the archive of ${from}, and has ${state}.`);
}

function ofArchive({ from, at }: Restored): string {
  return `The archive of ${from}${at === undefined ? '' : `, with the state of ${at},`}`;
}

function noCluster({ phase }: Seen): Entry | undefined {
  return phase === 'external'
    ? stalled(
        'RestoreNotPossible',
        'Only a database with driver cloudnative-pg can begin with an archive. Create another deployment with source_config.database.driver cloudnative-pg, or leave out restore.archive to begin with a backup.',
      )
    : undefined;
}

function clusterThere({ observed: { names }, phase }: Seen): Entry | undefined {
  return phase === 'taken'
    ? stalled(
        'RestoreNotPossible',
        `Cluster ${names.postgres} existed already, and a restore never overwrites data. Remove source_config.database.restore, or create a deployment with another name.`,
      )
    : undefined;
}

function recoveryFailed({ observed, asked, phase }: Seen): Entry | undefined {
  if (phase !== 'failed') return undefined;
  const { name, namespace } = observed.record.metadata;
  return stalled(
    'RestoreFailed',
    `${ofArchive(asked)} could not be restored. ${logsOfRecovery(observed)} ${BEYOND} Then delete the deployment and create it again: kubectl delete appd ${name} -n ${namespace}.`,
  );
}

function noPlugin({ observed }: Seen): Entry | undefined {
  return observed.archives === undefined ? pluginMissing('begins with an archive') : undefined;
}

/** `what`: that needs it. */
export function pluginMissing(what: string): Entry {
  return stalled(
    'ArchivePluginMissing',
    `The deployment ${what}, but this platform does not have CloudNativePG's Barman Cloud plugin (kind ObjectStore). Ask the platform team to install it; the deployment then continues automatically.`,
  );
}

function noArchive({ observed, phase }: Seen): Entry | undefined {
  const chosen = phase === 'due' ? chosenIn(observed) : undefined;
  return typeof chosen === 'string' ? stalled('ArchiveMissing', chosen) : undefined;
}

function recoveryCannotBegin({ observed, phase }: Seen): Entry | undefined {
  if (phase !== 'running') return undefined;
  const trouble = beginningFails(recoveryPods(observed));
  return trouble && fail(trouble.reason, `The restore cannot begin. ${trouble.message}`);
}

/** The store may be away for a moment, and a point in time that is not archived yet may be so at the next try. */
function recoveryTriesAgain({ observed, asked, phase }: Seen): Entry | undefined {
  const tries = recoveryPods(observed).filter(({ status }) => status?.phase === 'Failed').length;
  if (phase !== 'running' || tries === 0) return undefined;
  return fail(
    'Restoring',
    `${ofArchive(asked)} was not restored after ${tries === 1 ? 'one attempt' : `${tries} attempts`}; CloudNativePG is trying again. ${logsOfRecovery(observed)} ${BEYOND}`,
  );
}

function recoveryJob({ children, names }: ObservedChildren): Job | undefined {
  return children.find(({ kind, metadata }) => kind === 'Job' && metadata.name === `${names.postgres}-1-${RECOVERY}`);
}

function recoveryPods({ pods, names }: ObservedChildren): readonly Pod[] {
  return pods.filter((pod) => isOfCluster(pod, names.postgres) && pod.metadata.labels?.[CNPG_JOB_LABEL] === RECOVERY);
}

/** CloudNativePG's pods leave no last words. */
function logsOfRecovery({ names, record }: ObservedChildren): string {
  return `Its log shows the cause: kubectl logs -n ${record.metadata.namespace} job/${names.postgres}-1-${RECOVERY} --all-containers.`;
}
