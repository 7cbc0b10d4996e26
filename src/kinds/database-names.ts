// Names that the schema and kubectl-davit have in common: nothing of zod.

/** What runs a record's own PostgreSQL: one pod of Davit's, or CloudNativePG. */
export const DATABASE_DRIVERS = ['pod', 'cloudnative-pg'] as const;

/** What the deletion of a deployment does with its database and its tracing project. */
export const DELETION_POLICIES = ['Delete', 'Retain'] as const;
export type DeletionPolicy = (typeof DELETION_POLICIES)[number];

/** As `archiveName` makes it. */
export const BACKUP_NAME_PATTERN = '^[0-9]{8}T[0-9]{6}Z-[0-9a-f]{8}$';
const BACKUP_NAME = new RegExp(BACKUP_NAME_PATTERN);

export function isBackupName(text: string): boolean {
  return BACKUP_NAME.test(text);
}

/** RFC 3339, as the name of a backup says when it was taken. Undefined for a name without a time. */
export function timeOfBackup(name: string): string | undefined {
  const [, year, month, day, hour, minute, second] =
    /^(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})Z-[0-9a-f]{8}$/.exec(name) ?? [];
  const time = `${year}-${month}-${day}T${hour}:${minute}:${second}Z`;
  return year === undefined || Number.isNaN(Date.parse(time)) ? undefined : time;
}

/** Backups of a deployment that its status lists: the newest. The report of a pod that lists them fits into a termination message of 4 KiB. */
export const MOST_LISTED = 50;

/** Databases of a deployment that its status lists: the newest. */
export const MOST_KEPT = 100;

/** Limit of abandoned databases in a record, those replaced before they had their data. */
export const MOST_NEVER_LOADED = 100;

const DAY =
  '([0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])|[0-9]{4}-(0[13-9]|1[0-2])-(29|30)|[0-9]{4}-(0[13578]|1[02])-31';
/** The 29th of February, in years that 4 divides and in centuries that 400 divides. */
const LEAP_DAY = '([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)-02-29';
/** RFC 3339, of what people write, without days that a month does not have. */
export const TIME_PATTERN = `^${DAY}|${LEAP_DAY})T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`;
const TIME = new RegExp(TIME_PATTERN);

export function isTime(text: string): boolean {
  return TIME.test(text);
}
