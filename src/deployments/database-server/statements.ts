// The SQL of each step, and of a look at the server. No value of a person stands in it: names are made of [a-z0-9_], and a password is
// a verifier.

import { MARK_PREFIX, type Step } from '../record/shared-database.ts';

/** SQLSTATE codes for which a step that was repeated, or whose object is gone, has reached what it wanted. */
export const ALREADY_SO: ReadonlySet<string> = new Set(['42710', '42P04']);

const NAME = /^[a-z][a-z0-9_]{0,62}$/;

/** One after the other. `verifier`: of the password, for steps that set it. `isSuperuser`: of the administrator. */
export function statementsOf(step: Step, isSuperuser: boolean, verifier = ''): readonly string[] {
  const name = identifier(step.name);
  switch (step.do) {
    case 'create role':
      return [
        `create role ${name} login nocreatedb nocreaterole connection limit ${integer(step.connections)} password ${text(verifier)}`,
        `comment on role ${name} is ${text(step.mark)}`,
        // Without it, an administrator who is no superuser can neither give a database to the role nor drop what it owns.
        ...(isSuperuser ? [] : [`grant ${name} to current_user`]),
      ];
    case 'create database':
      return [
        // The Secret may be another one than when the role was made: no data depends on its password yet.
        `alter role ${name} password ${text(verifier)}`,
        // Closed until nobody but its owner may connect. Nobody can be connected to template0, who would be in the way of the copy.
        `create database ${name} owner ${name} template template0 encoding 'UTF8' allow_connections false`,
      ];
    case 'restrict role':
      return [`alter role ${name} ${step.attributes.map((attribute) => `no${attribute.toLowerCase()}`).join(' ')}`];
    case 'close to others':
      return [`revoke all on database ${name} from public`];
    case 'open':
      return [`alter database ${name} allow_connections true`];
    case 'limit':
      return [`alter role ${name} connection limit ${integer(step.connections)}`];
    case 'lock role':
      return [`alter role ${name} nologin`];
    case 'drop database':
      return [`drop database if exists ${name} with (force)`];
    case 'drop role':
      // What it may own in the administrator's database, or have been granted there, would keep it.
      return [`drop owned by ${name}`, `drop role ${name}`];
  }
}

/** Names are made of an installation and a uid (record/shared-database.ts). */
function identifier(name: string): string {
  if (!NAME.test(name)) throw new TypeError(`${name} is not a name of a role`);
  return `"${name}"`;
}

function integer(count: number): string {
  if (!Number.isSafeInteger(count)) throw new TypeError(`${count} is not a number of connections`);
  return String(count);
}

function text(words: string): string {
  if (/['\\]/.test(words)) throw new TypeError('a text of a statement has a quotation mark');
  return `'${words}'`;
}

const ATTRIBUTES = [
  ['SUPERUSER', 'rolsuper'],
  ['CREATEROLE', 'rolcreaterole'],
  ['CREATEDB', 'rolcreatedb'],
  ['REPLICATION', 'rolreplication'],
  ['BYPASSRLS', 'rolbypassrls'],
] as const;

/** Parameter 1: the beginning of the names to look at, or one name. One row with the columns of LookRow. */
export const LOOK = `select
  current_setting('server_version_num')::int as version,
  pg_is_in_recovery() as read_only,
  me.rolsuper as superuser,
  me.rolsuper or (me.rolcreaterole and me.rolcreatedb) as may_manage,
  current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
    - coalesce(current_setting('reserved_connections', true), '0')::int as connections,
  (select coalesce(sum(greatest(r.rolconnlimit, 0)), 0)::int from pg_catalog.pg_roles r
    join pg_catalog.pg_shdescription d on d.objoid = r.oid and d.classoid = 'pg_catalog.pg_authid'::regclass
    where starts_with(d.description, '${MARK_PREFIX}')) as given,
  (select coalesce(json_agg(json_build_object('name', r.rolname, 'mark', d.description, 'canLogin', r.rolcanlogin,
    'connections', r.rolconnlimit, 'elevated', array_remove(array[${ATTRIBUTES.map(([word, column]) => `case when r.${column} then '${word}' end`).join(', ')}], null))), '[]')
    from pg_catalog.pg_roles r
    left join pg_catalog.pg_shdescription d on d.objoid = r.oid and d.classoid = 'pg_catalog.pg_authid'::regclass
    where starts_with(r.rolname::text, $1)) as roles,
  (select coalesce(json_agg(json_build_object('name', b.datname, 'owner', pg_get_userbyid(b.datdba),
    'publicConnects', has_database_privilege('public', b.oid, 'CONNECT'), 'isOpen', b.datallowconn)), '[]')
    from pg_catalog.pg_database b where starts_with(b.datname::text, $1)) as databases
  from pg_catalog.pg_roles me where me.rolname = current_user`;
