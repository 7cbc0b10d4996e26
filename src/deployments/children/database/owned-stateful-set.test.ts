// The new database of an application that is no superuser, with a real PostgreSQL.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startLocalPostgres } from '../../../../test/support/local-postgres.ts';
import { DUMP } from './backup.ts';
import { LOAD, LOAD_ONCE, OWN_RELATIONS } from './load-scripts.ts';
import { ownerSql } from './owned-stateful-set.ts';

const postgres = await startLocalPostgres();
const folder = mkdtempSync(join(tmpdir(), 'davit-owned-'));
afterAll(async () => {
  await postgres?.stop();
  rmSync(folder, { recursive: true, force: true });
});

// It is in every package of PostgreSQL, and only a superuser can make it, as with vector.
const EXTENSION = 'pageinspect';

describe.skipIf(!postgres)(`the owner of app${postgres ? '' : ' (skipped: PostgreSQL is not installed)'}`, () => {
  const shell = postgres?.shell ?? ((): string => '');
  const as = (user: string, database: string, sql: string): string =>
    shell(`psql -X -q -A -t -v ON_ERROR_STOP=1 -U ${user} -d ${database} <<'END'\n${sql}\nEND\n`).trim();

  beforeAll(() => {
    shell(`createdb app; psql -X -q -v ON_ERROR_STOP=1 -d app <<'END'\n${ownerSql([EXTENSION])}END\n`, {
      APP_PASSWORD: `it's "secret"`,
    });
  });

  it('has nothing in its SQL that Kubernetes replaces in a command', () => {
    expect(ownerSql(['vector'])).not.toMatch(/\$[$(]/);
  });

  it('is no superuser, and makes tables in the schema public', () => {
    expect(as('app', 'app', 'select rolsuper from pg_roles where rolname = current_user')).toBe('f');
    as('app', 'app', 'create table notes (id int); insert into notes values (1)');
    expect(as('app', 'app', 'select count(*) from notes')).toBe('1');
    expect(() => as('app', 'app', `copy notes from program 'echo 2'`)).toThrow(/permission denied|must be superuser/);
  });

  it('has the extension that was asked for, and can make no other one of its kind', () => {
    as('app', 'app', `create extension if not exists ${EXTENSION}`);
    expect(as('app', 'app', `select pg_get_userbyid(extowner) from pg_extension where extname = '${EXTENSION}'`)).toBe(
      'app',
    );
    expect(() => as('app', 'app', 'create extension dblink')).toThrow(/Must be superuser to create this extension/);
  });

  it('loads a dump of such a database, though the extension is there', () => {
    shell(`cd ${folder}; ${DUMP}`, { PGUSER: 'app', PGDATABASE: 'app' });
    as('app', 'app', 'drop table notes');
    shell(`cd ${folder}; printf '{}' > fetched; ${LOAD_ONCE.replace('/dev/termination-log', 'loaded-last')}`, {
      PGUSER: 'app',
      PGDATABASE: 'app',
      RESTORE_ID: 'u1',
      OWN_RELATIONS: OWN_RELATIONS.value,
    });
    expect(as('app', 'app', 'select count(*) from notes')).toBe('1');
  });

  it('is dumped whole by the superuser, and loaded as its own', () => {
    as(
      'app',
      'app',
      `create table hidden (id int); insert into hidden values (1);
alter table hidden enable row level security; alter table hidden force row level security;
select lo_from_bytea(77, 'large')`,
    );
    const run = (user: string, script: string): string =>
      shell(`cd ${folder}; ${script}`, { PGUSER: user, PGDATABASE: 'app', OWN_RELATIONS: OWN_RELATIONS.value });
    expect(() => run('app', DUMP)).toThrow(/row-level security/);
    run('postgres', DUMP);
    as('app', 'app', 'drop table hidden, notes; select lo_unlink(77)');
    run('postgres', LOAD);
    expect(
      as(
        'postgres',
        'app',
        'select tableowner, (select count(*) from hidden) from pg_tables where tablename = $$hidden$$',
      ),
    ).toBe('app|1');
    expect(as('app', 'app', `select convert_from(lo_get(77), 'UTF8')`)).toBe('large');
  });
});
