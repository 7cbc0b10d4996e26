// What runs a record's own PostgreSQL, and what follows from it for those that connect. Imports no zod at run time, because
// kubectl-davit bundles it.

import type { AppRevision, Resolved } from '../../kinds/app-revision.ts';
import type { Database, DatabaseDriver, RequestedDatabase } from '../../kinds/database.ts';

type Postgres = NonNullable<Resolved['postgres']>;

/** What decides how a PostgreSQL is reached. */
export type MadeFor = Pick<Postgres, 'driver' | 'user'>;

/** The driver of a PostgreSQL. Without a word it is one pod. */
export function driverOf({ driver }: Pick<Postgres, 'driver'>): 'pod' | 'cloudnative-pg' {
  return driver ?? 'pod';
}

/** The driver that the newest of these revisions with its own PostgreSQL has. `revisions`: newest first. */
export function driverOfRevisions(revisions: readonly AppRevision[]): DatabaseDriver | undefined {
  const postgres = revisions.find(({ spec }) => spec.resolved.postgres)?.spec.resolved.postgres;
  return postgres && driverOf(postgres);
}

/** The deployment's own PostgreSQL of the newest of these revisions that has one; empty if none has. `revisions`: newest first. */
export function postgresOfRevisions(revisions: readonly AppRevision[]): MadeFor {
  return revisions.find(({ spec }) => spec.resolved.postgres)?.spec.resolved.postgres ?? {};
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

/** The superuser of a pod's server: the application itself in databases of pod contracts before 3. */
export const SUPERUSER: DatabaseAccess = { user: 'postgres', database: 'postgres' };
/** Key of its password, where the application is not the superuser. */
export const SUPERUSER_PASSWORD_KEY = 'superuser-password';
/** The owner of one database, and no superuser. */
export const OWNER = { user: 'app', database: 'app' } as const satisfies DatabaseAccess;

export function accessOf(postgres: MadeFor): DatabaseAccess {
  return driverOf(postgres) === 'pod' && postgres.user === undefined ? SUPERUSER : OWNER;
}

/** What a record asks for that an operation has overtaken. */
export function driverInUseMessage(name: string, has: DatabaseDriver, asked: DatabaseDriver): string {
  return `The database of ${name} has driver ${has}, because an operation moved it there, so the value ${asked} of source_config.database.driver has no effect. Set it to ${has}.`;
}

/** Why a driver is not changed, and the way to the other one. */
export function driverFixedMessage(name: string, has: DatabaseDriver, asked: DatabaseDriver): string {
  return `the database of "${name}" has driver ${has}, which cannot change because there is data. Set it back to ${has}.${asked === 'cloudnative-pg' ? ` To move it: kubectl davit database move ${name}.` : ''}`;
}
