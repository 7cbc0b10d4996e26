// What a record's database on the shared server needs next. Each decision follows from what the server shows, so that a crash between
// any two statements is made good by the next look.

import type { AppDeployment } from '../../schema/app-deployment.ts';
import { FORGET_DATABASE_ANNOTATION, MOVE_DATABASE_ANNOTATION } from '../../schema/meta.ts';
import { moveIn } from './database-move.ts';

/** Role and database have the same name: `installation` tells clusters apart that were restored from one another. */
export function sharedDatabaseName(installation: string, uid: string): string {
  return `${installation}_${uid.replaceAll('-', '').toLowerCase()}`;
}

/** Beginning of the comment on every role that a Davit has made: by it the connections that are given away are added up. */
export const MARK_PREFIX = 'davit ';

/** The comment on a role by which its record is known. Every role of the server can read it, so it has no name of a person's. */
export function sharedMark(uid: string): string {
  return `${MARK_PREFIX}${uid.toLowerCase()}`;
}

export interface RoleThere {
  readonly mark: string | undefined;
  readonly canLogin: boolean;
  /** -1: unlimited. */
  readonly connections: number;
  /** Attributes by which it could reach more than its own database, such as CREATEROLE. */
  readonly elevated: readonly string[];
}

export interface DatabaseThere {
  readonly owner: string;
  readonly publicConnects: boolean;
  readonly isOpen: boolean;
}

/** What the server has under one name. */
export interface Found {
  readonly role?: RoleThere;
  readonly database?: DatabaseThere;
}

export interface ServerFacts {
  /** As server_version_num: 150004. */
  readonly version: number;
  readonly isReadOnly: boolean;
  /** Whether the administrator may make roles and databases. */
  readonly mayManage: boolean;
  /** max_connections without what PostgreSQL keeps for superusers. */
  readonly connections: number;
  /** Sum of the limits of all roles that a Davit has made. */
  readonly given: number;
}

export interface ServerView {
  readonly facts: ServerFacts;
  readonly found: Found;
}

export interface WantedThere {
  readonly name: string;
  readonly mark: string;
  /** Most connections of the role. */
  readonly connections: number;
  /** Connections of the server that no record gets. */
  readonly reserved: number;
  /** Whether the record's Secret has a password for the role. */
  readonly hasPassword: boolean;
  /** Whether the database was there once, so that an empty one would take the place of data. */
  readonly wasMade?: boolean;
}

export type Step =
  | { readonly do: 'create role'; readonly name: string; readonly mark: string; readonly connections: number }
  | { readonly do: 'create database'; readonly name: string }
  | { readonly do: 'restrict role'; readonly name: string; readonly attributes: readonly string[] }
  | { readonly do: 'close to others'; readonly name: string }
  | { readonly do: 'open'; readonly name: string }
  | { readonly do: 'limit'; readonly name: string; readonly connections: number }
  | { readonly do: 'lock role'; readonly name: string }
  | { readonly do: 'drop database'; readonly name: string }
  | { readonly do: 'drop role'; readonly name: string };

/** Steps that give connections away: decided again in a transaction in which nobody else gives any. */
export const GIVES_CONNECTIONS: ReadonlySet<Step['do']> = new Set(['create role', 'limit']);
/** Steps that write the password of the record's Secret. */
export const SETS_PASSWORD: ReadonlySet<Step['do']> = new Set(['create role', 'create database']);

export type ServerReason = 'SharedServerUnreachable' | 'SharedServerUnusable' | 'SharedServerFull' | 'NameConflict';

export interface ServerTrouble {
  readonly reason: ServerReason;
  readonly message: string;
}

export type Next =
  | { readonly is: 'done' }
  | { readonly is: 'step'; readonly step: Step }
  /** Neither database nor data are there: a password may be made. */
  | { readonly is: 'needs password' }
  /** The database is there, and its password is not. */
  | { readonly is: 'password lost' }
  /** The database was there, and is not any more. */
  | { readonly is: 'data lost' }
  /** The database is as it should be, except for the limit: the server has no room for the new one. */
  | { readonly is: 'kept'; readonly connections: number; readonly trouble: ServerTrouble }
  | { readonly is: 'refused'; readonly trouble: ServerTrouble };

/** What is known of the server, as far as one record is concerned. */
export type SharedView =
  /** The platform has none. */
  | { readonly is: 'unconfigured' }
  /** Nobody has looked yet. */
  | { readonly is: 'unknown' }
  | { readonly is: 'troubled'; readonly trouble: ServerTrouble }
  /** `trouble`: of the last step for this record. `reserved`: connections that no record gets. */
  | { readonly is: 'seen'; readonly view: ServerView; readonly reserved: number; readonly trouble?: ServerTrouble };

/** What a record asks the server for. */
export type SharedOrder =
  /** `secret`: name of the Secret with the password of its role. */
  | { readonly is: 'there'; readonly wanted: WantedThere; readonly secret: string }
  | { readonly is: 'gone'; readonly wanted: Pick<WantedThere, 'name' | 'mark'> };

/** Value of the annotation that asks to drop a database. `secretUid`: of its password. `now`: number of the one that the record uses. */
export function forgetText(secretUid: string, now: number): string {
  return `${secretUid} ${now}`;
}

/**
 * Uid of the Secret of the database that is to be dropped. Undefined where nobody asks for that, or has asked while the record used another
 * database than now: it may be the one that the next move leaves, whose data a person may still want. `now`: number of the one that it uses.
 */
export function forgottenSecret(
  { metadata: { annotations } }: Pick<AppDeployment, 'metadata'>,
  now: number,
): string | undefined {
  const [secretUid = '', number] = annotations?.[FORGET_DATABASE_ANNOTATION]?.split(' ') ?? [];
  return number === String(now) ? secretUid : undefined;
}

/** Whether a person still wants it away: the record is being deleted, or its database was moved from the server and is to be forgotten. */
export function mayBeDropped(record: Pick<AppDeployment, 'metadata' | 'status'>): boolean {
  const { deletionTimestamp, annotations } = record.metadata;
  if (deletionTimestamp !== undefined) return true;
  const isUsed = moveIn(annotations?.[MOVE_DATABASE_ANNOTATION] ?? '')?.to.driver === 'shared';
  return forgottenSecret(record, record.status?.databaseNumber ?? 0) !== undefined && !isUsed;
}

/** DROP DATABASE ... WITH (FORCE), trusted extensions. */
const OLDEST_VERSION = 130_000;

/** What a record's database needs next. */
export function nextForThere({ facts, found }: ServerView, wanted: WantedThere): Next {
  const refusal = unusable(facts) ?? taken(found, wanted);
  if (refusal) return { is: 'refused', trouble: refusal };
  const { role, database } = found;
  const { name, mark, connections, hasPassword, wasMade = false } = wanted;
  if (wasMade && (role === undefined || database === undefined)) return { is: 'data lost' };
  if (role === undefined) {
    const full = noRoom(facts, wanted, 0);
    if (full) return { is: 'refused', trouble: full };
    return hasPassword ? nextStep({ do: 'create role', name, mark, connections }) : { is: 'needs password' };
  }
  if (database === undefined) return hasPassword ? nextStep({ do: 'create database', name }) : { is: 'needs password' };
  if (role.elevated.length > 0) return nextStep({ do: 'restrict role', name, attributes: role.elevated });
  // Before it is opened, nobody but its owner may connect.
  if (database.publicConnects) return nextStep({ do: 'close to others', name });
  if (!database.isOpen) return nextStep({ do: 'open', name });
  if (!hasPassword) return { is: 'password lost' };
  if (!role.canLogin)
    return refusedAs(
      'SharedServerUnusable',
      `Role ${name} may not log in. An administrator of the server allows it: ALTER ROLE ${name} LOGIN.`,
    );
  if (role.connections === connections) return { is: 'done' };
  const full =
    role.connections === -1 || role.connections > connections ? undefined : noRoom(facts, wanted, role.connections);
  return full
    ? { is: 'kept', connections: role.connections, trouble: full }
    : nextStep({ do: 'limit', name, connections });
}

/** What the deletion of a record's database needs next. What is not this record's is left alone. */
export function nextForGone(
  { facts, found: { role, database } }: ServerView,
  { name, mark }: Pick<WantedThere, 'name' | 'mark'>,
): Next {
  if (role === undefined || role.mark !== mark) return { is: 'done' };
  const refusal = unusable(facts);
  if (refusal) return { is: 'refused', trouble: refusal };
  if (role.canLogin) return nextStep({ do: 'lock role', name });
  return nextStep({ do: database?.owner === name ? 'drop database' : 'drop role', name });
}

function nextStep(step: Step): Next {
  return { is: 'step', step };
}

function refusedAs(reason: ServerReason, message: string): Next {
  return { is: 'refused', trouble: { reason, message } };
}

/** Why nothing can be made on this server. */
function unusable({ version, isReadOnly, mayManage }: ServerFacts): ServerTrouble | undefined {
  const refuses = (message: string): ServerTrouble => ({ reason: 'SharedServerUnusable', message });
  if (version < OLDEST_VERSION)
    return refuses(
      `The shared server has PostgreSQL ${Math.floor(version / 10_000)}, and 13 is the oldest that works.`,
    );
  if (isReadOnly)
    return refuses(
      'The shared server takes no writes, because it is a standby. settings.database.shared.host must lead to the primary.',
    );
  if (!mayManage)
    return refuses(
      'The administrator of the shared server may not make roles and databases. It needs CREATEROLE and CREATEDB, or is a superuser.',
    );
  return undefined;
}

/** A role or database of the name that is not this record's: it is never taken over. */
function taken({ role, database }: Found, { name, mark }: WantedThere): ServerTrouble | undefined {
  const isForeign = role !== undefined && role.mark !== mark;
  if (!isForeign && (database === undefined || (role !== undefined && database.owner === name))) return undefined;
  const what = isForeign ? `role ${name}` : `database ${name}`;
  return {
    reason: 'NameConflict',
    message: `The shared server has a ${what} that was not made for this deployment, and Davit does not take it over. An administrator of the server renames or drops it, or sets another settings.database.shared.installation.`,
  };
}

function noRoom({ connections, given }: ServerFacts, wanted: WantedThere, before: number): ServerTrouble | undefined {
  const room = Math.max(0, connections - wanted.reserved - given + Math.max(0, before));
  if (wanted.connections <= room) return undefined;
  return {
    reason: 'SharedServerFull',
    message: `The shared server has no room for ${wanted.connections} connections: ${room} of ${Math.max(0, connections - wanted.reserved)} are left. Lower db_max_connections of this or other deployments, or have max_connections of the server raised.`,
  };
}
