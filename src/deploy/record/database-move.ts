// The databases that a record has, one after the other. An operation makes another one under names of its own, and lets go of the one
// before, whose volume and password stay. Each has a number, which stands in the revision. Imports no zod at run time, because
// kubectl-davit bundles it.

import type { AppDeployment } from '../../kinds/app-deployment.ts';
import type { AppRevision } from '../../kinds/app-revision.ts';
import type { DatabaseDriver, DatabaseRestore } from '../../kinds/database.ts';
import type { DatastoreOperation } from '../../kinds/datastore-operation.ts';
import { COPIES } from '../../kinds/operation-phases.ts';
import { driverOf } from './database-driver.ts';
import { majorVersion } from './image.ts';
import { uidOf } from './metadata.ts';
import { type Names, names } from './names.ts';

/** One of the databases of a record. */
export interface DatabaseOfRecord {
  readonly driver: DatabaseDriver;
  readonly number: number;
}

export interface DatabaseMove {
  readonly from: DatabaseOfRecord;
  readonly to: DatabaseOfRecord;
  /** The record's own backup with which the new one begins. Absent: back to one that is kept, with the data that it has. */
  readonly backup?: string | undefined;
  /** Deployment whose backup it is, where somebody has named one. Absent: this very deployment. */
  readonly backupOf?: string | undefined;
  /** Its namespace, where somebody has named one. */
  readonly backupNamespace?: string | undefined;
}

type Snapshot = Pick<AppRevision, 'spec'>;

/** The first database has 0. */
export function databaseNumberOf({ spec }: Snapshot): number {
  return spec.resolved.movedDatabase?.number ?? 0;
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

/** For people: pod/0. */
export function databaseText({ driver, number }: DatabaseOfRecord): string {
  return `${driver}/${number}`;
}

/** The move that an operation asks of a revision, and for whom. */
export interface MoveRequest extends DatabaseMove {
  /** uid of the operation. */
  readonly operation: string;
  readonly requestedBy?: string;
  /** Whether it has the data that the deployment had last: a copy of it, or the database to which a failed operation goes back. */
  readonly hasData: boolean;
}

/**
 * The database that the operation which works now wants in place of the one that the record has. Undefined where it wants none, and when
 * the newest revision has it. `own`: the record's revisions, newest first.
 */
export function moveOf(
  operation: DatastoreOperation | undefined,
  [newest]: readonly Snapshot[],
): MoveRequest | undefined {
  const { move, phase } = operation?.status ?? {};
  if (!operation || !move || !newest) return undefined;
  const isLoading = phase === 'Loading' && databaseOf(newest) !== undefined;
  const wanted: DatabaseMove | undefined = isLoading
    ? move
    : phase === 'Returning'
      ? { from: move.to, to: move.from }
      : undefined;
  const now = databaseNumberOf(newest);
  if (wanted?.from.number !== now || wanted.to.number === now) return undefined;
  const { action, requestedBy } = operation.spec;
  const { uid: of = '' } = operation.metadata;
  const hasData = !isLoading || COPIES.has(action);
  return { ...wanted, operation: of, hasData, ...(requestedBy !== undefined && { requestedBy }) };
}

export const ONLY_UP =
  'A Cluster cannot be moved to a pod. Instead, scale to 0, dump it with pg_dump, and load the dump into a new deployment with pg_restore (docs/databases.md).';

/** Whether the database of this number was moved from before its backup was loaded. `own`: the record's revisions, newest first. */
export function wasNeverLoaded([newest]: readonly Snapshot[], number: number): boolean {
  return newest?.spec.resolved.movedDatabase?.neverLoaded?.includes(number) === true;
}

/** Why there is no way back to it, and what to do. */
export function neverLoadedWords(name: string, database: DatabaseOfRecord): string {
  return `No backup was ever loaded into database ${databaseText(database)}, so it is empty. To delete it: kubectl davit database delete-previous ${name} --number ${database.number}`;
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
  const { backup, backupOf: from = name, backupNamespace: namespace } = moved;
  if (!isOwn || backup === undefined) return undefined;
  return { from, ...(namespace !== undefined && { namespace }), backup };
}
