// What runs a record's own PostgreSQL, and what follows from it for those that connect. Imports no zod at run time, because
// kubectl-davit bundles it.

import type { AppRevision, Resolved } from '../../schema/app-revision.ts';
import type { Database, DatabaseDriver, RequestedDatabase } from '../../schema/database.ts';

type Postgres = NonNullable<Resolved['postgres']>;

/** The driver of a PostgreSQL. Without a word it is one pod. */
export function driverOf({ driver }: Pick<Postgres, 'driver'>): 'pod' | 'cloudnative-pg' {
  return driver ?? 'pod';
}

/** The driver that the newest of these revisions with an own PostgreSQL has. `revisions`: newest first. */
export function driverOfRevisions(revisions: readonly AppRevision[]): DatabaseDriver | undefined {
  const found = revisions.find(({ spec }) => spec.resolved.postgres ?? spec.resolved.sharedDatabase);
  const { postgres, sharedDatabase } = found?.spec.resolved ?? {};
  return sharedDatabase ? 'shared' : postgres && driverOf(postgres);
}

/** What a revision has of `database` of a record; undefined if nothing is asked for. */
export function asksOfDatabase(database: Readonly<Database> | undefined): RequestedDatabase | undefined {
  const { driver, instances } = database ?? {};
  if (driver === undefined && instances === undefined) return undefined;
  return { ...(driver !== undefined && { driver }), ...(instances !== undefined && { instances }) };
}

/** User and database that the record's pods use. */
export interface DatabaseAccess {
  readonly user: string;
  readonly database: string;
}

const ACCESS: Readonly<Record<Exclude<DatabaseDriver, 'shared'>, DatabaseAccess>> = {
  // The superuser of the pod's own server.
  pod: { user: 'postgres', database: 'postgres' },
  // The owner of one database, and no superuser.
  'cloudnative-pg': { user: 'app', database: 'app' },
};

export function accessOf(driver: keyof typeof ACCESS): DatabaseAccess {
  return ACCESS[driver];
}

/** Why a driver is not changed, and the way to the other one. */
export function driverFixedMessage(name: string, has: DatabaseDriver, asked: DatabaseDriver): string {
  return `the database of "${name}" has driver ${has}, which cannot change because there is data. Set it back to ${has}. To move it: kubectl davit database move ${name} --driver ${asked}.`;
}
