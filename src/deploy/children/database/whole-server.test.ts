// A backup of a whole server, and its restore into another one, with two real servers of PostgreSQL: nothing is lost.

import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { startFakeS3 } from '../../../../test/support/fake-s3.ts';
import { type LocalPostgres, startLocalPostgres } from '../../../../test/support/local-postgres.ts';
import { emptyServer, makeServer } from '../../../../test/support/whole-server.ts';
import { REFUSED } from '../../../kinds/meta.ts';
import { makeObjectStore } from '../../../runtime/outbound/object-store.ts';
import { ArchiveManifest } from '../../archive/archive.ts';
import { compareBackup } from '../../archive/compare.ts';
import { sendBackup } from '../../archive/send.ts';
import { dumpScript } from './dump-scripts.ts';
import { CHECK, COUNT, LOAD as LOAD_IN_POD, OWN_RELATIONS } from './load-scripts.ts';

const [origin, next] = [await startLocalPostgres(), await startLocalPostgres()];
const s3 = await startFakeS3('backups', 'key');
const STORE = { bucket: 'backups', prefix: 'davit', region: 'us-east-1', pathStyle: true };
const folder = mkdtempSync(join(tmpdir(), 'davit-whole-'));
const LOADED = JSON.stringify({ from: 'shop', name: '20260201T020000Z-0000000a', takenAt: '2026-02-01T02:00:00Z' });
const LOAD = LOAD_IN_POD.replaceAll('/dev/termination-log', 'said');
afterAll(async () => {
  await origin?.stop();
  await next?.stop();
  await s3.close();
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

  /** Dumps the first server, and leaves what a fetch leaves. Returns what the manifest has. */
  async function dumped({ isWhole = true, isOwn = true, database = 'app', also = '' } = {}): Promise<ArchiveManifest> {
    run(origin, dumpScript({ isWhole, isCounted: true }).replace('for oid in ', `for oid in ${also} `), database);
    s3.objects.clear();
    const owner = { prefix: 'davit', namespace: 'team', tenant: 't1', deployment: 'shop', uid: 'u1' };
    const store = makeObjectStore({ endpoint: s3.url, ...STORE }, { accessKeyId: 'key', secretAccessKey: 'secret' });
    const sending = { owner, folder, retention: { keep: 1 }, isByHand: false, random: '0000000a' };
    await sendBackup(store, { ...sending, now: () => new Date(), warn: (words) => expect.fail(words) });
    await store.close();
    const manifest = [...s3.objects].find(([key]) => key.endsWith('manifest.json'))?.[1].toString() ?? '';
    writeFileSync(join(folder, 'manifest'), manifest);
    writeFileSync(join(folder, 'fetched'), LOADED);
    if (ArchiveManifest.parse(JSON.parse(manifest)).isOwned === true) writeFileSync(join(folder, 'owned'), '');
    if (!isOwn) writeFileSync(join(folder, 'foreign'), '');
    run(origin, 'rm -f contents further-*/contents');
    return ArchiveManifest.parse(JSON.parse(manifest));
  }

  /** What pg_dumpall and pg_dump say of a server, without the comments that a restore leaves on databases. */
  const described = (server: LocalPostgres | undefined): string =>
    run(
      server,
      `pg_dumpall -g | grep -v -E '^--|restrict ' | sort | sed 's/ PASSWORD .SCRAM[^;]*//'
for name in app reports 'odd name*'; do
  PGDATABASE=$name pg_dump -C -s | grep -v -E 'restrict |COMMENT ON DATABASE|Type: COMMENT'
  PGDATABASE=$name psql -X -A -t -c 'select extname, extnamespace::regnamespace from pg_extension order by 1'
done`,
    ).replaceAll(/\n(--)?(?=\n)/g, '');

  beforeEach(() => {
    run(origin, 'rm -rf -- *');
    for (const server of [origin, next]) if (server) emptyServer(server);
  });

  it('has all databases, roles, owners, grants, settings, extensions and rows again', async () => {
    if (origin) makeServer(origin);
    const { files, roles, isOwned, extensions } = await dumped();
    expect(files.map(({ database }) => database)).toEqual([undefined, 'reports', 'odd name*', undefined]);
    expect([roles, isOwned, extensions]).toEqual([4, false, ['citext', 'dblink', 'hstore', 'pg_trgm']]);
    run(next, `${CHECK}${LOAD}${COUNT}`);
    expect(described(next)).toBe(described(origin));
    expect(await compareBackup(folder, new Date())).toMatchObject({ tables: 5, rows: 2504 });
    expect(
      sql(next, `select extname, extowner::regrole from pg_extension where extname in ('dblink', 'hstore') order by 1`),
    ).toBe('dblink|postgres\nhstore|app');
    expect(readFileSync(join(folder, 'said'), 'utf8')).toBe(LOADED);
    // Roles keep their passwords; the superuser and the application have those of the new server.
    const passwords = `select rolname, rolpassword from pg_authid where rolname !~ '^(pg_|app$)' order by 1`;
    expect(sql(next, passwords)).toBe(sql(origin, passwords));
    expect(sql(next, `select rolpassword is null, rolsuper from pg_authid where rolname = 'app'`)).toBe('t|f');
    // A restore that is repeated finds that it was done.
    run(next, `rm said; ${CHECK}cat loaded; ${LOAD}`);
    expect(readFileSync(join(folder, 'loaded'), 'utf8')).toBe(LOADED);
  });

  // What an application does that would be the superuser: it may set anything on its database, and a check calls its function.
  const HOSTILE = `create schema evil; create extension hstore;
create function evil.f() returns boolean language plpgsql as $$begin
  reset role; set session authorization default;
  if pg_catalog.current_setting('is_superuser') = 'on' then alter role app superuser; end if;
  return true;
exception when insufficient_privilege then return true; end$$;
create view evil.pg_database as select * from pg_catalog.pg_database where evil.f() offset 0;
create view evil.pg_roles as select * from pg_catalog.pg_roles where evil.f() offset 0;
create view evil.pg_class as select * from pg_catalog.pg_class where evil.f() offset 0;
alter database app set search_path = evil, public, pg_catalog; alter database app set role = 'app';
create table evil.t(n int); insert into evil.t values (1); alter table evil.t add check (evil.f());
create table evil.loop(n int); create function evil.g(evil.loop) returns boolean language sql as 'select evil.f()';
insert into evil.loop values (1); alter table evil.loop add check (evil.g(loop)); create index on evil.t ((n + 1));
create materialized view evil.mv as select evil.f(); select lo_from_bytea(77, 'large'); comment on table evil.t is 'mine';
alter default privileges in schema evil grant select on tables to public; grant select on evil.t to public`;
  const asApplication = (statements: string): void =>
    void origin?.shell(`psql -X -q -o /dev/null -v ON_ERROR_STOP=1 << 'END'\n${statements}\nEND\n`, {
      PGUSER: 'app',
      PGDATABASE: 'app',
    });
  const superusers = `select rolname from pg_catalog.pg_roles where rolsuper`;

  it('has no other superuser afterwards, whatever its application has in its database', async () => {
    sql(origin, 'create role bystander');
    asApplication(HOSTILE);
    const { isOwned, roles } = await dumped();
    expect([isOwned, roles, sql(origin, superusers)]).toEqual([true, 2, 'postgres']);
    run(next, `${CHECK}${LOAD}${COUNT}`);
    expect(sql(next, superusers)).toBe('postgres');
    expect(await compareBackup(folder, new Date())).toMatchObject({ tables: 2, rows: 2 });
    expect(sql(next, `select relowner::regrole, relacl is not null from pg_class where oid = 'evil.t'::regclass`)).toBe(
      'app|t',
    );
    expect(sql(next, `select rolname from pg_roles where rolname = 'bystander'`)).toBe('bystander');
    run(next, `rm said; ${CHECK}cat loaded; ${LOAD}`);
    expect(sql(next, superusers)).toBe('postgres');
  });

  it('has no other superuser after the restore of one database', async () => {
    asApplication(HOSTILE);
    await dumped({ isWhole: false });
    run(next, `${CHECK}${LOAD}${COUNT}`);
    expect(sql(next, superusers)).toBe('postgres');
  });

  it('gets no passwords with the backup of another deployment', async () => {
    if (origin) makeServer(origin);
    await dumped({ isOwn: false });
    run(next, LOAD);
    expect(sql(next, `select count(*) from pg_authid where rolpassword is not null and oid >= 16384`)).toBe('0');
    expect(sql(next, `select count(*) from pg_roles where rolname in ('reader', 'owner of reports')`)).toBe('2');
  });

  it('is loaded again by the next try where a pod was lost, whatever it had loaded', async () => {
    if (origin) makeServer(origin);
    await dumped();
    for (const from of [
      'select pg_terminate',
      '  { pg_restore --create',
      'pg_restore --create --list',
      'pg_restore -f - --sing',
    ]) {
      const at = LOAD.lastIndexOf('\n', LOAD.indexOf(from)) + 1;
      const step = from.startsWith('select') ? LOAD.lastIndexOf('sql > /dev/null', at) : at;
      expect(() => run(next, `${LOAD.slice(0, step)}exit 9\n${LOAD.slice(step)}`), from).toThrow(/^$/);
      run(next, CHECK);
    }
    run(next, LOAD);
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
    run(next, 'rm roles.sql');
    shell(`cd ${folder}; ${CHECK}${LOAD}`, env);
    expect(
      sql(next, `select relname, relowner::regrole, relacl from pg_class where relname in ('t', 'ours') order by 1`),
    ).toBe('ours|app|\nt|app|');
    expect(sql(next, `select count(*), (select count(*) from pg_roles where rolname = 'gone') from t`)).toBe('2|0');
    expect(readFileSync(join(folder, 'said'), 'utf8')).toBe(LOADED);
  });

  it('that has anything is refused, and nothing of it changes', async () => {
    await dumped();
    sql(next, 'create database theirs');
    expect(() => run(next, CHECK)).toThrow(/is not empty: .* 1 further databases and roles/);
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

  it('is not tried again where PostgreSQL refuses a further database, and no row of it is shown', async () => {
    sql(origin, 'create database reports');
    const refused = `create table lim(n int); insert into lim values (100);
create function okn(t text) returns boolean language sql as 'select length(t) < (select max(n) from lim)';
create table users(card text, check (okn(card))); insert into users values ('4111-1111')`;
    sql(origin, refused, 'reports');
    await dumped();
    const said = run(next, `(${LOAD}) 2>&1 || echo "code $?"`);
    expect(said).toMatch(new RegExp(`^COPY failed for table "users": .*\ncode ${REFUSED}\n$`));
  });

  it('is tried again with a further database that was cut', async () => {
    if (origin) makeServer(origin);
    await dumped();
    run(origin, 'for dump in further-*/dump; do head -c 2000 "$dump" > cut; mv cut "$dump"; done');
    expect(run(next, `(${LOAD}) 2>&1 || echo "code $?"`)).toMatch(/^pg_restore: error[^]*\ncode 1\n$/);
  });

  it('says which extension is missing, in the words of PostgreSQL', async () => {
    sql(origin, 'create extension hstore');
    await dumped();
    const image = `${readFileSync(join(folder, 'dump'), 'latin1')}`.replaceAll('hstore', 'nostor');
    writeFileSync(join(folder, 'dump'), image, 'latin1');
    expect(() => run(next, LOAD)).toThrow(/ERROR: {2}extension "nostor" is not available/);
  });

  it('whose further database was dropped during the dump is backed up without it', async () => {
    sql(origin, 'create database other');
    const { files } = await dumped({ also: '4294967294' });
    expect(files.map(({ database }) => database)).toEqual([undefined, 'other', undefined]);
  });

  it('cannot be backed up without a database that nobody may connect to', () => {
    sql(origin, 'create database closed allow_connections false');
    expect(() => run(origin, dumpScript({ isWhole: true, isCounted: false }))).toThrow(
      /without these databases, which allow no connections: closed\./,
    );
  });

  it('whose application was the superuser gives it the database, with extensions that it may not make itself', async () => {
    run(origin, 'psql -X -q -c "drop database app" -c "drop role app"', 'postgres');
    sql(
      origin,
      `create role bob; create schema x; create table x.t(a serial primary key); insert into x.t default values;
create extension hstore; create extension dblink; create function f() returns int language sql as 'select 1';
grant create on schema x to bob; set role bob; create table x.bobs(n int); reset role; create database more`,
      'postgres',
    );
    expect(await dumped({ isWhole: false, database: 'postgres' })).not.toHaveProperty('roles');
    run(next, `${CHECK}${LOAD}${COUNT}`);
    expect(await compareBackup(folder, new Date())).toMatchObject({ tables: 2, rows: 1 });
    const owners = `select distinct relowner::regrole from pg_class where relkind in ('r', 'S') and relnamespace = 'x'::regnamespace`;
    expect(sql(next, owners)).toBe('app');
    expect(sql(next, `select extname, extowner::regrole from pg_extension order by 1`)).toBe(
      'dblink|postgres\nhstore|app\nplpgsql|postgres',
    );
    expect(sql(next, `select count(*) from pg_database where datname = 'more'`)).toBe('0');
  });
});
