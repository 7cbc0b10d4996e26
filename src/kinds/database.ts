// What a record asks for its own PostgreSQL beyond its size: what runs it, backups, and what a new one begins with.

import { z } from 'zod';
import { whole } from '../runtime/http/casing.ts';
import { BACKUP_NAME_PATTERN, DATABASE_DRIVERS, MOST_LISTED, TIME_PATTERN } from './database-names.ts';
import { NAME_PATTERN } from './name-patterns.ts';
import {
  Count,
  celRules,
  DNS_LABEL_PATTERN,
  ImageReference,
  integer,
  listOf,
  matching,
  oneOf,
  Time,
  text,
} from './primitives.ts';
import { PACE_OF_BACKUPS, Schedule, scheduleRules, TimeZone, zonelessScheduleRules } from './tasks.ts';

export type DatabaseDriver = (typeof DATABASE_DRIVERS)[number];

/** More would slow down every commit. */
const MOST_INSTANCES = 9;
/**
 * Whether a commit waits for a replica. required: always, so that nothing can be written without a replica. preferred: while there is
 * one. off: never.
 */
export const DATA_DURABILITIES = ['required', 'preferred', 'off'] as const;

export const Instances = integer(1, MOST_INSTANCES);
export const ONE_POD_MESSAGE =
  'only driver cloudnative-pg has instances: leave instances out, or set driver to cloudnative-pg';

/** A person without the superuser's rights cannot make them. Others, such as dblink, would give their owner these rights. */
export const Extensions = listOf(oneOf(['vector']), 1);

export const ARCHIVE_DRIVER_MESSAGE =
  'only driver cloudnative-pg has an archive: leave archive out, or set driver to cloudnative-pg';
export const ARCHIVE_RESTORE_MESSAGE =
  'only driver cloudnative-pg begins with an archive: leave restore.archive out for the newest backup, or set driver to cloudnative-pg';
export const ARCHIVE_OR_BACKUP_MESSAGE = 'set archive or backup, not both';

/** Fields of `backup` with a schedule. */
export const BACKUP_SCHEDULES = ['schedule', 'verifySchedule'] as const satisfies readonly (keyof DatabaseBackup)[];

const ARCHIVE_KEPT_DAYS = 7;
const STALE_AFTER_HOURS = 48;
/** Three days more than a week. */
const VERIFICATION_STALE_AFTER_HOURS = 240;

export const DatabaseBackup = z.object({
  enabled: z
    .boolean()
    .describe('Whether backups are made. Default: true. Without backup, settings.backups.default decides.')
    .optional(),
  schedule: Schedule.describe(
    'When a backup is made, as in a CronJob: five fields, or @daily; at most every 5 minutes. Default: once a day between 00:00 and 06:00, at a minute derived from the name.',
  ).optional(),
  timeZone: TimeZone.optional(),
  keep: integer(1, 1000)
    .describe(
      'Number of scheduled backups to keep; each new one deletes the oldest beyond it. Default: settings.backups.keep, which is 7.',
    )
    .optional(),
  keepDays: integer(1, 3650)
    .describe(
      'Days for which a scheduled backup is kept, even if there are more than keep. Default: settings.backups.keepDays, which is not set.',
    )
    .optional(),
  staleAfterHours: integer(1, 8760)
    .describe(`Hours without a backup after which BackupReady is False. Default: ${STALE_AFTER_HOURS}.`)
    .optional(),
  verify: z
    .boolean()
    .describe(
      'Whether the newest backup is restored into a temporary server, on a schedule, and compared with its database. Default: settings.backups.verify, which is false.',
    )
    .optional(),
  verifySchedule: Schedule.describe(
    'When the newest backup is verified, as in a CronJob; at most every 5 minutes. Default: once a week between 06:00 and 12:00, at a day and minute derived from the name.',
  ).optional(),
  verifyStaleAfterHours: integer(1, 8760)
    .describe(
      `Hours without a verification after which BackupVerified is False. Default: ${VERIFICATION_STALE_AFTER_HOURS}.`,
    )
    .optional(),
});
export type DatabaseBackup = z.infer<typeof DatabaseBackup>;

export const DatabaseArchive = z.object({
  enabled: z.boolean().describe('Whether the database is archived. Default: true.').optional(),
  schedule: Schedule.describe(
    'When a base backup is made, as in a CronJob, in UTC; at most every 5 minutes. Default: once a day between 00:00 and 06:00, at a minute derived from the name. The first one is made at once.',
  ).optional(),
  keepDays: integer(1, 3650)
    .describe(
      `Minimum number of days back to which the database can be restored. Older data is deleted. Default: ${ARCHIVE_KEPT_DAYS}.`,
    )
    .optional(),
  staleAfterHours: integer(1, 8760)
    .describe(`Hours without a base backup after which ArchiveReady is False. Default: ${STALE_AFTER_HOURS}.`)
    .optional(),
});
export type DatabaseArchive = z.infer<typeof DatabaseArchive>;

export const OTHER_NAMESPACE =
  'Namespace of that deployment. Default: this one. The deployment in another namespace must allow it (annotation davit.dev/backups-for). For a namespace that was deleted, even one of this name, an administrator allows it (annotation davit.dev/backups-of of this namespace).';
export const ARCHIVE_ELSEWHERE_MESSAGE =
  'an archive is restored only within its namespace: leave archive out for a backup, or namespace out';
export const AT_OR_BACKUP_MESSAGE = 'set at or backup, not both';

export const DatabaseRestore = whole(
  z
    .object({
      from: matching(NAME_PATTERN, 40, 1).describe(
        'Deployment whose backup it is, of the same namespace unless namespace names another. It may have been deleted.',
      ),
      namespace: matching(DNS_LABEL_PATTERN, 63).describe(OTHER_NAMESPACE).optional(),
      at: matching(TIME_PATTERN, 40)
        .describe('Use the newest backup from this time or before. Default: the newest.')
        .optional(),
      backup: matching(BACKUP_NAME_PATTERN, 64)
        .describe('Use the backup with this name, as listed in the status of its deployment.')
        .optional(),
      archive: z
        .boolean()
        .describe(
          'true: begin with the state at exactly the time in at, from the archive of that deployment (driver cloudnative-pg). Without at: with the newest archived state. Default: false.',
        )
        .optional(),
    })
    .meta(
      celRules([
        { rule: '!has(self.at) || !has(self.backup)', message: AT_OR_BACKUP_MESSAGE, fieldPath: '.backup' },
        {
          rule: '!has(self.archive) || !self.archive || !has(self.backup)',
          message: ARCHIVE_OR_BACKUP_MESSAGE,
          fieldPath: '.archive',
        },
        {
          rule: '!has(self.archive) || !self.archive || !has(self.namespace)',
          message: ARCHIVE_ELSEWHERE_MESSAGE,
          fieldPath: '.archive',
        },
      ]),
    ),
);
export type DatabaseRestore = z.infer<typeof DatabaseRestore>;

export const Database = z.object({
  driver: oneOf(DATABASE_DRIVERS)
    .describe(
      "Driver of the deployment's own PostgreSQL: pod (one pod, without a replica) or cloudnative-pg (instances that replicate, by the operator CloudNativePG). Once there is data, only kubectl davit database move changes it. Default: settings.database.driver when the database is created. A change creates a revision.",
    )
    .optional(),
  instances: Instances.describe(
    'Number of instances of driver cloudnative-pg: a primary, and replicas that can take its place. Default: settings.database.instances. A change creates a revision.',
  ).optional(),
  extensions: Extensions.describe(
    'Extensions of PostgreSQL that Davit creates in the new database, because only its superuser can: vector (pgvector). The image must have them. It can be set only when the deployment is created.',
  ).optional(),
  backup: DatabaseBackup.meta({
    'x-kubernetes-validations': scheduleRules(PACE_OF_BACKUPS, ...BACKUP_SCHEDULES),
  })
    .describe('Scheduled backups to the store of the platform.')
    .optional(),
  archive: DatabaseArchive.meta({
    'x-kubernetes-validations': zonelessScheduleRules(PACE_OF_BACKUPS, 'schedule'),
  })
    .describe(
      'Archive of every change in the store of the platform, from which the database can be restored to any point in time (driver cloudnative-pg).',
    )
    .optional(),
  restore: DatabaseRestore.describe(
    'The backup that the new database begins with. It is loaded once, into an empty database, before the first pod of the deployment starts. It can be set only when the deployment is created.',
  ).optional(),
});
export type Database = z.infer<typeof Database>;

/** What of it is a matter of revisions. */
export const RequestedDatabase = Database.pick({ driver: true, instances: true });
export type RequestedDatabase = z.infer<typeof RequestedDatabase>;

/** The backups that a record asks for, with all defaults. */
export interface BackupPlan {
  readonly schedule: string;
  readonly timeZone: string | undefined;
  readonly staleAfterHours: number;
}

/** Undefined if none are asked for. `name`: of the record; its default schedule follows from it. */
export function backupPlanOf(database: Readonly<Database> | undefined, name: string): BackupPlan | undefined {
  const backup = database?.backup;
  if (backup === undefined || backup.enabled === false) return undefined;
  const { schedule = defaultSchedule(name), timeZone, staleAfterHours = STALE_AFTER_HOURS } = backup;
  return { schedule, timeZone, staleAfterHours };
}

/** `backup`: what the platform makes of a database that has neither backups nor an archive, and whose record does not refuse them. */
export function withBackupDefault(
  database: Readonly<Database> | undefined,
  backup: DatabaseBackup | undefined,
): Readonly<Database> | undefined {
  const isSaid = database?.backup !== undefined || archivePlanOf(database, '') !== undefined;
  return backup === undefined || isSaid ? database : { ...database, backup };
}

/** Spreads the backups of a platform over six hours of the night. `name`: another name for runs other than backups. */
function defaultSchedule(name: string): string {
  const minute = spread(name, 360);
  return `${minute % 60} ${Math.floor(minute / 60)} * * *`;
}

/** The archive that a record asks for, with all defaults. */
export interface ArchivePlan {
  readonly schedule: string;
  readonly keepDays: number;
  readonly staleAfterHours: number;
}

/** Undefined if none is asked for. `name`: of the record; its default schedule follows from it. */
export function archivePlanOf(database: Readonly<Database> | undefined, name: string): ArchivePlan | undefined {
  const archive = database?.archive;
  if (archive === undefined || archive.enabled === false) return undefined;
  const { schedule = defaultSchedule(`${name}/archive`), keepDays = ARCHIVE_KEPT_DAYS } = archive;
  return { schedule, keepDays, staleAfterHours: archive.staleAfterHours ?? STALE_AFTER_HOURS };
}

/** How the newest backup is verified, with all defaults. */
export interface VerificationPlan {
  readonly schedule: string;
  readonly timeZone: string | undefined;
  readonly staleAfterHours: number;
}

/** Undefined if verification is off. `isDefault`: whether the platform verifies what does not say otherwise. */
export function verificationPlanOf(
  database: Readonly<Database> | undefined,
  name: string,
  isDefault: boolean,
): VerificationPlan | undefined {
  const plan = backupPlanOf(database, name);
  const { verify = isDefault, verifySchedule, verifyStaleAfterHours } = database?.backup ?? {};
  if (plan === undefined || !verify) return undefined;
  return {
    schedule: verifySchedule ?? defaultVerificationSchedule(name),
    timeZone: plan.timeZone,
    staleAfterHours: verifyStaleAfterHours ?? VERIFICATION_STALE_AFTER_HOURS,
  };
}

/** Spreads them over the mornings of a week, when the backups of the night are there. */
function defaultVerificationSchedule(name: string): string {
  const minute = spread(name, 7 * 360);
  return `${minute % 60} ${6 + (Math.floor(minute / 60) % 6)} * * ${Math.floor(minute / 360)}`;
}

function spread(name: string, most: number): number {
  let sum = 0;
  for (const letter of name) sum = (sum * 31 + letter.charCodeAt(0)) % most;
  return sum;
}

/** A driver that the platform has, for the next database of a record. */
export const DatabaseOffer = z.object({
  driver: oneOf(DATABASE_DRIVERS).describe('Driver that a DatastoreOperation can move the database to.'),
  postgresVersion: integer(1, 9999)
    .describe(
      'Major version of PostgreSQL of the next database, from the tag of the image in the settings. Absent if the tag has no version.',
    )
    .optional(),
});
export type DatabaseOffer = z.infer<typeof DatabaseOffer>;

/** What is known of a record's own PostgreSQL or Redis. */
export const DatastoreStatus = z.object({
  image: ImageReference.describe(
    'The image in force. It takes precedence over the revisions, so that a rollback keeps a patch.',
  ),
  version: text(32).describe('Version that the server reports in its log. Absent if it is not known.').optional(),
  since: Time.describe('Start of the server that last answered. Absent if none has answered yet.').optional(),
  available: ImageReference.describe(
    'The image that action Patch brings: another one of the same major version and base, from the settings of the platform. Absent if the settings have no such image.',
  ).optional(),
});
export type DatastoreStatus = z.infer<typeof DatastoreStatus>;

/** What is known of the backups of a record. */
export const DatabaseBackupStatus = z.object({
  name: text(64).describe('Name of the last backup, for a restore.').optional(),
  lastSuccessAt: Time.describe('When the last backup was complete in the store.').optional(),
  sizeBytes: Count.describe('Size of the last backup in the store, in bytes.').optional(),
  lastFailureAt: Time.describe('When the last run failed, if one has.').optional(),
  lastFailure: text(1024).describe('Last output of that run.').optional(),
  heldAfter: text(64)
    .describe(
      'Name of the last backup of a database whose loss was accepted. The current database began empty, so no schedule runs until a person requests a backup of it.',
    )
    .optional(),
});
export type DatabaseBackupStatus = z.infer<typeof DatabaseBackupStatus>;

const DatabaseNumber = integer(0, 9999);
const PostgresVersion = integer(1, 9999);

/** A backup that the store has. */
export const StoredBackup = z.object({
  name: matching(BACKUP_NAME_PATTERN, 64).describe('Its name, for a restore.'),
  takenAt: Time.describe('Time of the state that it has.'),
  sizeBytes: Count.describe('Its size in the store, in bytes.'),
  number: DatabaseNumber.describe(
    'Number of its database among the databases of the deployment. Absent if it is not known.',
  ).optional(),
  postgresVersion: PostgresVersion.describe('Major version of PostgreSQL that made it.').optional(),
  databases: Count.describe('Number of databases in it.').optional(),
  roles: Count.describe('Number of roles in it.').optional(),
  verified: z.boolean().describe('Whether it was restored and compared with its database.').optional(),
  byHand: z
    .boolean()
    .describe('Whether a person requested it (action Backup). Retention neither counts nor deletes it.')
    .optional(),
  earlier: z.boolean().describe('Whether it belongs to an earlier deployment of the same name.').optional(),
});
export type StoredBackup = z.infer<typeof StoredBackup>;

/** The backups of a record that its store has. */
export const DatabaseBackupsStatus = z.object({
  listedAt: Time.describe('End of the last backup pod that listed the store.'),
  count: Count.describe('Number of backups in the store, including those of earlier deployments of the same name.'),
  newest: listOf(StoredBackup, MOST_LISTED).describe('The newest backups, newest first.'),
});
export type DatabaseBackupsStatus = z.infer<typeof DatabaseBackupsStatus>;

/** The base backups of an archive, by the Backups of CloudNativePG. */
export const BaseBackups = z.object({
  count: Count.describe('Number of base backups that CloudNativePG knows.'),
  newest: z
    .array(
      z.object({
        name: text(253).describe('Name of the Backup of CloudNativePG.'),
        takenAt: Time.describe('Time of the state that it has.'),
        number: DatabaseNumber.describe('Number of its database.'),
      }),
    )
    .max(MOST_LISTED)
    .describe('The newest backups, newest first.'),
});
export type BaseBackups = z.infer<typeof BaseBackups>;

/** What is known of the archive of a record. */
export const DatabaseArchiveStatus = z.object({
  firstRecoverableAt: Time.describe('The earliest point in time to which the database can be restored.').optional(),
  lastBackupAt: Time.describe('When the last base backup was complete in the store.').optional(),
  lastFailureAt: Time.describe('When a base backup failed last, if one has.').optional(),
  baseBackups: BaseBackups.describe('The base backups of the archive.').optional(),
});
export type DatabaseArchiveStatus = z.infer<typeof DatabaseArchiveStatus>;

/** What is known of the verifications of a record's backups. */
export const DatabaseVerificationStatus = z.object({
  name: text(64).describe('Name of the backup that was verified last.').optional(),
  takenAt: Time.describe('Time of the state that the backup has.').optional(),
  verifiedAt: Time.describe('When it was restored into a temporary server with every row of its database.').optional(),
  tables: Count.describe('Number of its tables.').optional(),
  rows: Count.describe('Number of rows of all tables.').optional(),
  lastFailureAt: Time.describe('When a backup last could not be restored, or differed from its database.').optional(),
  lastFailure: text(1024).describe('Last output of that run.').optional(),
  lastUncomparedAt: Time.describe('When a backup without counts to compare with was last restored.').optional(),
  lastUncompared: text(1024).describe('Which backup that was, and why it has no counts.').optional(),
});
export type DatabaseVerificationStatus = z.infer<typeof DatabaseVerificationStatus>;

/** What is known of the restore that a record asks for. */
export const DatabaseRestoreStatus = z.object({
  from: text(64).describe('Deployment whose backup the database began with.').optional(),
  name: text(64).describe('Name of that backup.').optional(),
  takenAt: Time.describe(
    'Time of the state with which the database began. Absent if it began with everything that was archived.',
  ).optional(),
  archive: z.boolean().describe('Whether it was an archive instead of a backup.').optional(),
  sizeBytes: Count.describe('Size of that backup in the store, in bytes.').optional(),
  restoredAt: Time.describe('When it was loaded. It is never loaded again.').optional(),
  lastFailureAt: Time.describe('When a restore failed last, if one has.').optional(),
  lastFailure: text(1024).describe('Last output of that restore.').optional(),
});
export type DatabaseRestoreStatus = z.infer<typeof DatabaseRestoreStatus>;

const UtcTime = z.string().regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/);

/** Termination message of the container that sent a backup. */
export const SentBackup = z.object({
  /** Limited to valid names, because anyone who may create Jobs can write this report. */
  name: matching(BACKUP_NAME_PATTERN, 64),
  /** RFC 3339: the dump has the state of this time. */
  takenAt: UtcTime,
  sizeBytes: z.int().min(1),
});
export type SentBackup = z.infer<typeof SentBackup>;

/** What the store has of a deployment, the newest first: name, bytes, and h for one by hand, e for one of an earlier deployment. */
export const StoredReport = z.object({
  count: Count,
  newest: listOf(z.tuple([SentBackup.shape.name, Count, oneOf(['', 'h', 'e', 'he'])]), MOST_LISTED),
});
export type StoredReport = z.infer<typeof StoredReport>;

/** The full termination message of a backup: the sent backup, and the contents of the store afterwards. */
export const BackupReport = z.object({
  ...SentBackup.shape,
  number: DatabaseNumber.optional(),
  postgresVersion: PostgresVersion.optional(),
  databases: Count.optional(),
  roles: Count.optional(),
  byHand: z.literal(true).optional(),
  /** Absent where the store could not be listed. */
  stored: StoredReport.optional(),
});
export type BackupReport = z.infer<typeof BackupReport>;

/** Termination message of the container that compared a restored backup with its manifest. */
export const VerificationReport = z.object({
  name: matching(BACKUP_NAME_PATTERN, 64),
  /** RFC 3339: the backup has the state of this time. */
  takenAt: UtcTime,
  /** RFC 3339: when it was compared. */
  comparedAt: UtcTime,
  tables: z.int().min(0),
  rows: z.int().min(0),
  /** Why it could not be compared: the backup was restored, and has nothing to compare with. Absent for what is verified. */
  uncompared: z.string().min(1).max(512).optional(),
});
export type VerificationReport = z.infer<typeof VerificationReport>;

/** Termination message of the container that loaded a backup, as the database has it. */
export const LoadedBackup = z.object({
  from: matching(NAME_PATTERN, 40),
  ...SentBackup.shape,
});
export type LoadedBackup = z.infer<typeof LoadedBackup>;
