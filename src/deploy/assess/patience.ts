// How long something may fail before a person is asked. No watch tells that a time is over, so the record is requeued.

import type { AppDeployment } from '../../kinds/app-deployment.ts';
import type { ConditionType } from '../../kinds/app-deployment-conditions.ts';
import { conditionOf } from '../../kinds/conditions.ts';
import { archivePlanOf, backupPlanOf, verificationPlanOf } from '../../kinds/database.ts';
import type { Condition } from '../../kinds/primitives.ts';
import type { Settings } from '../../kinds/settings.ts';
import { databaseAsked } from '../record/backup-default.ts';

export interface Patience {
  /** When it is judged, in milliseconds since 1970. */
  readonly at?: number;
  /** Exits of a container after which the record is Stalled, and a new revision has failed. */
  readonly maxCrashes: number;
  readonly unavailableSeconds: number;
  /** Conditions that have been False for longer than that. */
  readonly exhausted: ReadonlySet<ConditionType>;
  readonly progressDeadlineSeconds: number;
  /** Conditions that have been False for longer than a rollout may take. */
  readonly overdue: ReadonlySet<ConditionType>;
  /** The record asks for backups, and has had none for longer than it allows. */
  readonly backupStale?: boolean;
  /** Whether the last base backup of its archive is too old. */
  readonly archiveStale?: boolean;
  /** Whether the last verification is too old. */
  readonly verificationStale?: boolean;
}

const TIMED: readonly ConditionType[] = ['Available', 'WorkloadsReady', 'DatabaseReady', 'RedisReady'];
/** At a scale of zero nothing is available, and nothing is wrong: what was scaled up has the time from then on. */
const TOGETHER: Readonly<Partial<Record<ConditionType, ConditionType>>> = { Available: 'WorkloadsReady' };
/** What a rollout waits for, also where no Deployment has a deadline. */
const AWAITED: readonly ConditionType[] = ['WorkloadsReady', 'DatabaseReady', 'RedisReady'];

export function patienceOf(record: AppDeployment, settings: Settings, now: Date): Patience {
  const { maxCrashes, unavailableSeconds, progressDeadlineSeconds } = settings.pods;
  const over = (types: readonly ConditionType[], seconds: number): ReadonlySet<ConditionType> =>
    new Set(types.filter((type) => leftMs(record, type, seconds, now) === 0));
  const exhausted = over(TIMED, unavailableSeconds);
  const overdue = over(AWAITED, progressDeadlineSeconds);
  const backupStale = untilBackupStaleMs(record, settings, now) === 0;
  const verificationStale = untilVerificationStaleMs(record, settings, now) === 0;
  const archiveStale = untilArchiveStaleMs(record, now) === 0;
  const limits = { at: now.getTime(), maxCrashes, unavailableSeconds, exhausted, progressDeadlineSeconds, overdue };
  return { ...limits, backupStale, archiveStale, verificationStale };
}

/** Milliseconds until the next condition has been False for too long; undefined if none is on its way there. */
export function untilExhaustedMs(record: AppDeployment, settings: Settings, now: Date): number | undefined {
  const { pods } = settings;
  const waits = [
    ...TIMED.map((type) => leftMs(record, type, pods.unavailableSeconds, now)),
    ...AWAITED.map((type) => leftMs(record, type, pods.progressDeadlineSeconds, now)),
    untilBackupStaleMs(record, settings, now),
    untilArchiveStaleMs(record, now),
    untilVerificationStaleMs(record, settings, now),
  ].filter((ms) => ms !== undefined && ms > 0) as number[];
  return waits.length > 0 ? Math.min(...waits) : undefined;
}

/**
 * Milliseconds until the last backup is too old; undefined if no backups are asked for. Before the first one it is counted from the
 * first report that one is missing.
 */
function untilBackupStaleMs(record: AppDeployment, settings: Settings, now: Date): number | undefined {
  const { metadata, status } = record;
  const plan = backupPlanOf(databaseAsked(record, settings), metadata.name);
  const ready = conditionOf(status?.conditions, 'BackupReady');
  if (ready?.reason === 'NotConfigured') return undefined;
  return untilStaleMs(plan, ready, status?.databaseBackup?.lastSuccessAt, now);
}

/** Milliseconds until the last base backup is too old. Undefined if the record has no archive. */
function untilArchiveStaleMs({ metadata, spec, status }: AppDeployment, now: Date): number | undefined {
  const plan = archivePlanOf(spec.sourceConfig.database, metadata.name);
  const ready = conditionOf(status?.conditions, 'ArchiveReady');
  return untilStaleMs(plan, ready, status?.databaseArchive?.lastBackupAt, now);
}

/** Milliseconds until the last verification is too old. Undefined without verification, or before the first backup. */
function untilVerificationStaleMs(record: AppDeployment, settings: Settings, now: Date): number | undefined {
  const { metadata, status } = record;
  if (status?.databaseBackup?.name === undefined) return undefined;
  const plan = verificationPlanOf(databaseAsked(record, settings), metadata.name, settings.backups.verify);
  const verified = conditionOf(status.conditions, 'BackupVerified');
  return untilStaleMs(plan, verified, status.databaseVerification?.verifiedAt, now);
}

function untilStaleMs(
  plan: { readonly staleAfterHours: number } | undefined,
  condition: Condition | undefined,
  last: string | undefined,
  now: Date,
): number | undefined {
  if (plan === undefined || condition === undefined) return undefined;
  if (last === undefined && STALE.has(condition.reason)) return 0;
  const from = Date.parse(last ?? condition.lastTransitionTime);
  return Math.max(0, from + plan.staleAfterHours * 3_600_000 - now.getTime());
}

const STALE: ReadonlySet<string> = new Set(['BackupStale', 'ArchiveStale', 'VerificationStale']);

function leftMs({ status }: AppDeployment, type: ConditionType, seconds: number, now: Date): number | undefined {
  const types = [type, TOGETHER[type] ?? type];
  const conditions = types.map((one) => conditionOf(status?.conditions, one));
  const isCounted = (one: Condition): boolean => one.type !== 'WorkloadsReady' || one.reason !== 'OperationRunning';
  const since = conditions.map((one) =>
    one?.status === 'False' && isCounted(one) ? Date.parse(one.lastTransitionTime) : undefined,
  );
  if (since.includes(undefined)) return undefined;
  return Math.max(0, Math.max(...since.map(Number)) + seconds * 1000 - now.getTime());
}
