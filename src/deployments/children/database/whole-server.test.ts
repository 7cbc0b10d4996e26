// A backup of a whole server, and its restore into another one, with two real servers of PostgreSQL: nothing is lost.

import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { type LocalPostgres, startLocalPostgres } from '../../../../test/support/local-postgres.ts';
import { emptyServer, makeServer } from '../../../../test/support/whole-server.ts';
import { contentsOf, missingContents } from '../../archive/contents.ts';
import { partsIn, writeParts } from '../../archive/part-files.ts';
import { dumpScript } from './dump-scripts.ts';
import { COUNT, checkScript, loadScript, OWN_RELATIONS } from './load-scripts.ts';

const [origin, next] = [await startLocalPostgres(), await startLocalPostgres()];
const folder = mkdtempSync(join(tmpdir(), 'davit-whole-'));
const LOADED = JSON.stringify({ from: 'shop', name: '20260201T020000Z-0000000a', takenAt: '2026-02-01T02:00:00Z' });
const LOAD = loadScript(true).replaceAll('/dev/termination-log', 'said');
afterAll(async () => {
  await origin?.stop();
  await next?.stop();
  rmSync(folder, { recursive: true, force: true });
});

describe.skipIf(!origin || !next)(`a server${origin ? '' : ' (skipped: PostgreSQL is not installed)'}`, () => {
  const run = (server: LocalPostgres | undefined, script: string, database = 'app'): string =>
    server?.shell(`cd ${folder}; ${script}`, {
      PGDATABASE: database,
      RESTORE_ID: 'u1',
      OWN_RELATIONS: OWN_RELATIONS.value,
    }) ?? '';
  const sql = (server: LocalPostgres | undefined, statement: string, database = 'app'): string =>
    run(server, `psql -X -q -A -t -v ON_ERROR_STOP=1 << 'END'\n${statement}\nEND\n`, database).trim();

  /** Dumps the first server, and leaves what a fetch leaves. */
  async function dumped(database = 'app', isOwn = true): Promise<void> {
    run(origin, dumpScript({ isWhole: true, isCounted: true }), database);
    const sizeBytes = statSync(join(folder, 'dump')).size;
    await writeParts(folder, { ...(await partsIn(folder, sizeBytes)), sizeBytes }, isOwn);
    writeFileSync(join(folder, 'fetched'), LOADED);
    run(origin, 'mv contents dumped-contents');
  }

  /** What pg_dumpall and pg_dump say of a server, without the comments that a restore leaves on databases. */
  const described = (server: LocalPostgres | undefined): string =>
    run(
      server,
      `pg_dumpall -g | grep -v -E '^--|restrict ' | sort | sed 's/ PASSWORD .SCRAM[^;]*//'
for name in app reports 'odd name*' postgres; do
  PGDATABASE=$name pg_dump -C -s | grep -v -E 'restrict |COMMENT ON DATABASE|Type: COMMENT'
  PGDATABASE=$name psql -X -A -t -c 'select extname, extowner::regrole from pg_extension order by 1'
done`,
    ).replaceAll(/\n(--)?(?=\n)/g, '');

  beforeEach(() => {
    run(origin, 'rm -f -- *');
    for (const server of [origin, next]) if (server) emptyServer(server);
  });

  it('has all databases, roles, owners, grants, settings, extensions and rows again', async () => {
    if (origin) makeServer(origin);
    await dumped();
    expect(await partsIn(folder, statSync(join(folder, 'dump')).size)).toMatchObject({
      databases: [{ name: 'odd name*' }, { name: 'postgres' }, { name: 'reports' }, { name: 'app' }],
      roles: { count: 4 },
      extensions: ['citext', 'dblink', 'hstore', 'pg_trgm', 'pgcrypto'],
    });
    run(next, `${checkScript(true)}${LOAD}${COUNT}`);
    expect(described(next)).toBe(described(origin));
    const [had, has] = ['dumped-contents', 'contents'].map((name) =>
      contentsOf(readFileSync(join(folder, name), 'utf8')),
    );
    expect(had?.length).toBe(4);
    expect(missingContents(had ?? [], has ?? [])).toEqual([]);
    expect(readFileSync(join(folder, 'said'), 'utf8')).toBe(LOADED);
    // The passwords of roles are those of before, and Davit's are the new server's own.
    const passwords = `select rolname, rolpassword from pg_authid where rolname !~ '^(pg_|app$)' order by 1`;
    expect(sql(next, passwords)).toBe(sql(origin, passwords));
    expect(sql(next, `select rolpassword is null, rolsuper from pg_authid where rolname = 'app'`)).toBe('t|f');
    // A restore that is repeated finds that it was done.
    run(next, `rm said; ${checkScript(true)}cat loaded; ${LOAD}`);
    expect(readFileSync(join(folder, 'loaded'), 'utf8')).toBe(LOADED);
  });

  it('gets no passwords with the backup of another deployment', async () => {
    if (origin) makeServer(origin);
    await dumped('app', false);
    run(next, LOAD);
    expect(sql(next, `select count(*) from pg_authid where rolpassword is not null and oid >= 16384`)).toBe('0');
    expect(sql(next, `select count(*) from pg_roles where rolname in ('reader', 'owner of reports')`)).toBe('2');
  });

  it('is loaded again by the next try where a pod was lost, whatever it had loaded', async () => {
    if (origin) makeServer(origin);
    await dumped();
    for (const end of ['load() { exit 9; }\n', 'after() { exit 9; }\n', 'numbers() { exit 9; }\n']) {
      const cut = LOAD.replace('export PGDATABASE PGOPTIONS', `${end}export PGDATABASE PGOPTIONS`);
      expect(() => run(next, cut)).toThrow(/^$/);
      run(next, checkScript(true));
    }
    run(next, LOAD);
    expect(described(next)).toBe(described(origin));
  });

  it('of which the last step alone is missing gets that', async () => {
    if (origin) makeServer(origin);
    await dumped();
    const cut = LOAD.replace(/  numbers "\$\(cat own\)"\n  after\n/, '  exit 9\n');
    expect(cut).not.toBe(LOAD);
    expect(() => run(next, cut)).toThrow(/^$/);
    run(next, `${checkScript(true)}${LOAD}`);
    expect(described(next)).toBe(described(origin));
  });

  it('of one database and one role goes into a Cluster, where all is the owner’s', async () => {
    sql(
      origin,
      `create role gone; set role app; create table t(n int); insert into t values (1), (2); create extension hstore; reset role;
create table ours(n int); grant select on t to gone; alter table t enable row level security; alter table t force row level security;
alter database app set work_mem = '7MB'`,
    );
    await dumped();
    const shell = next?.shell ?? ((): string => '');
    const env = { PGUSER: 'app', PGDATABASE: 'app', RESTORE_ID: 'u1', OWN_RELATIONS: OWN_RELATIONS.value };
    const load = loadScript(false).replaceAll('/dev/termination-log', 'said');
    shell(`cd ${folder}; ${checkScript(false)}${load}`, env);
    expect(
      sql(next, `select relname, relowner::regrole, relacl from pg_class where relname in ('t', 'ours') order by 1`),
    ).toBe('ours|app|\nt|app|');
    expect(sql(next, `select count(*), (select count(*) from pg_roles where rolname = 'gone') from t`)).toBe('2|0');
    expect(readFileSync(join(folder, 'said'), 'utf8')).toBe(LOADED);
  });

  it('that has anything is refused, and nothing of it changes', async () => {
    await dumped();
    sql(next, 'create database theirs');
    expect(() => run(next, checkScript(true))).toThrow(/is not empty: .* 1 further databases and roles/);
    expect(() => run(next, LOAD)).toThrow(/is not empty/);
    sql(next, 'drop database theirs; create role theirs');
    expect(() => run(next, LOAD)).toThrow(/is not empty/);
    sql(next, 'drop role theirs; create table own(n int)');
    expect(() => run(next, LOAD)).toThrow(/is not empty/);
    expect(sql(next, `select shobj_description(oid, 'pg_database') from pg_database where datname = 'app'`)).toBe('');
  });

  it.each([1, 2, 3, 5, 8, 13, 21, 34])(
    'is never taken for restored with a dump that was cut (%i of 40)',
    async (part) => {
      if (origin) makeServer(origin);
      await dumped();
      const size = statSync(join(folder, 'dump')).size;
      run(origin, `head -c ${Math.floor((size * part) / 40)} dump > cut; mv cut dump`);
      expect(() => run(next, LOAD)).toThrow(/pg_restore: error|ERROR|was not loaded/);
      expect(
        sql(next, `select shobj_description(oid, 'pg_database') from pg_database where datname = 'app'`),
      ).not.toMatch(/^davit-restore /);
    },
  );

  it('says which extension is missing, in the words of PostgreSQL', async () => {
    sql(origin, 'create extension hstore');
    await dumped();
    const image = `${readFileSync(join(folder, 'dump'), 'latin1')}`.replaceAll('hstore', 'nostor');
    writeFileSync(join(folder, 'dump'), image, 'latin1');
    expect(() => run(next, LOAD)).toThrow(/ERROR: {2}extension "nostor" is not available/);
  });

  it('cannot be backed up without a database that nobody may connect to', () => {
    sql(origin, 'create database closed allow_connections false');
    expect(() => run(origin, dumpScript({ isWhole: true, isCounted: false }))).toThrow(/cannot be dumped: closed\./);
  });

  it('whose application was the superuser gives it all that it had', async () => {
    run(origin, 'psql -X -q -c "drop database app" -c "drop role app"', 'postgres');
    sql(
      origin,
      `create role bob login password 'b'; create role carl; grant carl to postgres; alter role postgres set search_path = x, public;
create schema x; create table x.t(a serial primary key, b mood_); `.replace(', b mood_', ''),
      'postgres',
    );
    sql(
      origin,
      `insert into x.t default values; create extension hstore schema public; create extension dblink; create type mood as enum ('a');
create function f() returns int language sql as 'select 1'; create procedure p() language sql as 'select 1';
create aggregate total(int) (sfunc = int4pl, stype = int); create statistics st on a, (a + 1) from x.t; select lo_from_bytea(77, 'abc');
create function et() returns event_trigger language plpgsql as 'begin end'; create event trigger et on ddl_command_end execute function et();
grant create on schema x to bob; set role bob; create table x.bobs(n int); reset role; create database more`,
      'postgres',
    );
    sql(origin, 'create table m(n int)', 'more');
    await dumped('postgres');
    run(next, `${LOAD}${COUNT}`);
    const owners = `select relname, relowner::regrole from pg_class where relkind in ('r', 'S') and relnamespace in ('x'::regnamespace) order by 1`;
    expect(sql(next, owners)).toBe('bobs|bob\nt|app\nt_a_seq|app');
    expect(sql(next, `select distinct proowner::regrole from pg_proc where proname in ('f', 'p', 'total')`)).toBe(
      'app',
    );
    expect(sql(next, `select proowner::regrole from pg_proc where proname = 'et'`)).toBe('postgres');
    expect(sql(next, 'select lomowner::regrole from pg_largeobject_metadata')).toBe('app');
    expect(sql(next, `select extname, extowner::regrole from pg_extension order by 1`)).toBe(
      'dblink|postgres\nhstore|app\nplpgsql|postgres',
    );
    expect(sql(next, `select datdba::regrole from pg_database where datname = 'more'`)).toBe('app');
    expect(sql(next, `select relowner::regrole from pg_class where relname = 'm'`, 'more')).toBe('app');
    expect(
      sql(next, `select rolsuper, rolconfig from pg_roles where rolname in ('app', 'postgres') order by rolname`),
    ).toBe('f|{"search_path=x, public"}\nt|');
    expect(sql(next, `select roleid::regrole from pg_auth_members where member = 'app'::regrole`)).toBe('carl');
  });
});
