// The databases that a record has, one after the other. A move makes another one beside, under names of its own, and lets go of the one
// before, whose volume and password stay. Each has a number, which stands in the revision. Imports no zod at run time, because
// kubectl-davit bundles it.

import type { AppDeployment } from '../../schema/app-deployment.ts';
import type { AppRevision } from '../../schema/app-revision.ts';
import type { DatabaseDriver, DatabaseRestore } from '../../schema/database.ts';
import { DATABASE_DRIVERS, isBackupName } from '../../schema/database-names.ts';
import { MOVE_DATABASE_ANNOTATION, MOVE_DATABASE_BY_ANNOTATION } from '../../schema/meta.ts';
import { driverOf } from './database-driver.ts';
import { majorVersion } from './image.ts';
import { uidOf } from './metadata.ts';
import { type Names, names } from './names.ts';
import { moveRequesterOf } from './requester.ts';
import { namesExternalPostgres } from './secret-references.ts';

/** One of the databases of a record. */
export interface DatabaseOfRecord {
  readonly driver: DatabaseDriver;
  readonly number: number;
}

export interface DatabaseMove {
  readonly from: DatabaseOfRecord;
  readonly to: DatabaseOfRecord;
  /** The record's own backup with which the new one begins. Absent: back to one that is kept, with the data that it has. */
  readonly backup?: string;
}

type Snapshot = Pick<AppRevision, 'spec'>;

/** The first database has 0. */
export function databaseNumberOf({ spec }: Snapshot): number {
  return spec.resolved.movedDatabase?.number ?? 0;
}

/** Number of the database that the record uses, or used last. `revisions`: its own, newest first. */
export function databaseNumberOfRevisions([newest]: readonly Snapshot[]): number {
  return newest ? databaseNumberOf(newest) : 0;
}

/** Names of the objects of the database of a revision. */
export function databaseNames({ metadata: { name } }: AppDeployment, revision: Snapshot): Names {
  return names(name, databaseNumberOf(revision));
}

/**
 * The database that Davit made for a revision. Undefined where it uses none, or an external one: its number is that of the own one, which such a
 * record returns to.
 */
export function databaseOf(revision: Snapshot): DatabaseOfRecord | undefined {
  const { postgres } = revision.spec.resolved;
  return postgres && { driver: driverOf(postgres), number: databaseNumberOf(revision) };
}

/** Major version of a revision's own PostgreSQL. Undefined where its image does not say it. */
export function postgresVersionOf(revision: Snapshot | undefined): number | undefined {
  const image = revision?.spec.resolved.postgres?.image;
  return image === undefined ? undefined : majorVersion(image);
}

/** For people, and in the annotation: pod/0. */
export function databaseText({ driver, number }: DatabaseOfRecord): string {
  return `${driver}/${number}`;
}

/** Value of the annotation: `pod/0 to cloudnative-pg/1 with 20260201T020000Z-0000000a`, or back: `cloudnative-pg/1 to pod/0`. */
export function moveText({ from, to, backup }: DatabaseMove): string {
  return `${databaseText(from)} to ${databaseText(to)}${backup === undefined ? '' : ` with ${backup}`}`;
}

const DATABASE = `(${DATABASE_DRIVERS.join('|')})/([0-9]|[1-9][0-9]{1,3})`;
const MOVE = new RegExp(`^${DATABASE} to ${DATABASE}(?: with (\\S{1,64}))?$`);

/** Undefined if it is none. */
export function moveIn(text: string): DatabaseMove | undefined {
  const [, from = '', fromNumber, to = '', toNumber, backup] = MOVE.exec(text) ?? [];
  if (fromNumber === undefined || (backup !== undefined && !isBackupName(backup))) return undefined;
  return {
    from: { driver: from as DatabaseDriver, number: Number(fromNumber) },
    to: { driver: to as DatabaseDriver, number: Number(toNumber) },
    ...(backup !== undefined && { backup }),
  };
}

/**
 * The move that a record asks for and that is not made yet. Who wrote its present generation has asked for it, and nobody has changed the
 * record since: what somebody has left in it moves nothing with another's change. `own`: the record's revisions, newest first.
 */
export function moveAsked(record: AppDeployment, own: readonly Snapshot[]): DatabaseMove | undefined {
  return moveRequesterOf(record) === undefined ? undefined : moveNamed(record, own);
}

/**
 * The move that the annotation of a record names, whoever has set that, and that is not made yet: it names the database that the newest
 * revision has, and the driver that the record asks for. So it is spent when the next revision is made.
 * `own`: the record's revisions, newest first.
 */
export function moveNamed(record: AppDeployment, own: readonly Snapshot[]): DatabaseMove | undefined {
  const move = moveIn(record.metadata.annotations?.[MOVE_DATABASE_ANNOTATION] ?? '');
  const now = own[0] && databaseOf(own[0]);
  if (!move || !now || databaseText(now) !== databaseText(move.from)) return undefined;
  return asksFor(record, move.to) && move.to.number !== move.from.number ? move : undefined;
}

/** Whether the fields of a record ask for a database of this driver. */
export function asksFor({ spec }: AppDeployment, { driver }: DatabaseOfRecord): boolean {
  return !namesExternalPostgres(spec) && spec.sourceConfig.database?.driver === driver;
}

/** Whether the next database may begin with a backup of the one before: a newer one of its driver, or a Cluster after a pod. */
export function isWayUp({ from, to }: DatabaseMove): boolean {
  return from.driver === to.driver || to.driver === 'cloudnative-pg';
}

export const ONLY_UP =
  'A Cluster is not moved to a pod. If that is needed, make a dump of it with pg_dump at a scale of 0, and load that into a new deployment with pg_restore (docs/database-moves.md).';

/** Takes a move back that is asked for and not made: until then nothing else of the record takes effect. */
export function takeBackCommand({ metadata: { name, namespace } }: AppDeployment, { from }: DatabaseMove): string {
  const patch = {
    metadata: { annotations: { [MOVE_DATABASE_ANNOTATION]: null, [MOVE_DATABASE_BY_ANNOTATION]: null } },
    spec: { sourceConfig: { database: { driver: from.driver } } },
  };
  return `kubectl patch appdeployment ${name} -n ${namespace} --type=merge -p '${JSON.stringify(patch)}'`;
}

/** Whether the database of this number was moved from before its backup was loaded. `own`: the record's revisions, newest first. */
export function wasNeverLoaded([newest]: readonly Snapshot[], number: number): boolean {
  return newest?.spec.resolved.movedDatabase?.neverLoaded?.includes(number) === true;
}

/** Why there is no way back to it, and what to do. */
export function neverLoadedWords(name: string, database: DatabaseOfRecord): string {
  return `No backup was ever loaded into database ${databaseText(database)}, so it is empty. To delete it: kubectl davit database forget-old ${name}`;
}

/** In the mark on a database that has been loaded. What an earlier move has left under the number of this one is not taken for it. */
export function restoreIdOf(record: AppDeployment, revision: Snapshot): string {
  const { number = 0, backup } = revision.spec.resolved.movedDatabase ?? {};
  return number === 0 ? uidOf(record) : `${uidOf(record)}/${number}/${backup}`;
}

/** The backup that Davit loads into the database of the record before its first pod. `own`: its revisions, newest first. */
export function restoreOf(
  { metadata: { name }, spec }: AppDeployment,
  own: readonly Snapshot[],
): Readonly<DatabaseRestore> | undefined {
  const moved = own[0]?.spec.resolved.movedDatabase;
  if (moved === undefined || moved.number === 0) return spec.sourceConfig.database?.restore;
  const isOwn = own[0] && databaseOf(own[0]) !== undefined;
  return isOwn && moved.backup !== undefined ? { from: name, backup: moved.backup } : undefined;
}
