// The new database of an application that is no superuser, with a real PostgreSQL.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startLocalPostgres } from '../../../../test/support/local-postgres.ts';
import { dumpScript } from './dump-scripts.ts';
import { LOAD, OWN_RELATIONS } from './load-scripts.ts';
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
    const dump = dumpScript({ isWhole: false, isCounted: false });
    shell(`cd ${folder}; ${dump}`, { PGUSER: 'app', PGDATABASE: 'app' });
    as('app', 'app', 'drop table notes');
    shell(`cd ${folder}; printf '{}' > fetched; ${LOAD.replaceAll('/dev/termination-log', 'loaded-last')}`, {
      PGUSER: 'app',
      PGDATABASE: 'app',
      RESTORE_ID: 'u1',
      OWN_RELATIONS: OWN_RELATIONS.value,
    });
    expect(as('app', 'app', 'select count(*) from notes')).toBe('1');
  });
});
