// What the scripts of a move to an external database do with a real PostgreSQL, and what they say: it is shown to people who may not read
// the data or the password.

import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { freePort } from '../../../../test/cluster/control-plane.ts';
import { startLocalPostgres } from '../../../../test/support/local-postgres.ts';
import { DUMP } from './backup.ts';
import { CHECK_EXTERNAL, DESCRIBE, EXTERNAL_ENV, LOAD_EXTERNAL, TRY } from './external-scripts.ts';

const port = await freePort('127.0.0.1');
const postgres = await startLocalPostgres({ port });
const folders: string[] = [];
afterAll(async () => {
  await postgres?.stop();
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

const PASSWORD = 'p@ss/w0rd';
const AUTHORITY = `shop:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}`;
const URI = `postgresql://${AUTHORITY}/out"side?sslmode=disable`;
const QUOTED = '"out""side"';
const FETCHED = '{"from":"shop","name":"b","takenAt":"2026-02-01T00:00:00Z","sizeBytes":1}';

describe.skipIf(!postgres)(
  `a move to an external database${postgres ? '' : ' (skipped: PostgreSQL is not installed)'}`,
  () => {
    const shell = postgres?.shell ?? ((): string => '');
    let folder: string;
    const sql = (database: string, text: string): string =>
      shell(`psql -X -q -A -t -v ON_ERROR_STOP=1 -d ${database}`, {}, text).trim();

    beforeAll(() => {
      sql('postgres', `create role shop login password '${PASSWORD}'; create role other login password 'x';`);
      sql('postgres', 'create database origin;');
    });
    beforeEach(() => {
      folder = mkdtempSync(join(tmpdir(), 'davit-external-'));
      folders.push(folder);
      sql('postgres', `drop database if exists ${QUOTED};`);
      sql('postgres', `create database ${QUOTED} owner shop;`);
      sql(
        'origin',
        `set client_min_messages = error; drop schema public cascade; create schema public; drop extension if exists citext;
create table users(id int primary key, email text); insert into users values (1, 'ada@private.example'), (2, 'bob');`,
      );
    });

    /** In the present database, as the container of its image has it. */
    const inside = (script: string): string => shell(`cd ${folder}; ${script}`, { PGDATABASE: 'origin' });
    interface Outside {
      readonly uri?: string;
      readonly id?: string;
      readonly scheme?: string;
      /** By default the present database is on a server that others use too, on which it may go to another one. */
      readonly own?: 'yes';
    }
    const outside = (script: string, { uri = URI, id = 'u1/1/b', scheme = '', own: isOwn }: Outside = {}): string => {
      // As in a pod, where nothing but the URI says where to.
      const clean = 'unset PGHOST PGPORT PGUSER PGDATABASE; ';
      const own = script.replaceAll('/dev/termination-log', join(folder, 'said')).replaceAll('sleep 2', 'sleep 0');
      shell(`${clean}cd ${folder}; ${own}`, {
        ...Object.fromEntries(EXTERNAL_ENV.map(({ name, value }) => [name, value])),
        EXTERNAL_URI: uri,
        RESTORE_ID: id,
        URI_SCHEME: scheme,
        OWN_SERVER: isOwn ?? '',
      });
      return readFileSync(join(folder, 'said'), 'utf8').trim();
    };
    const words = (run: () => string): string => {
      try {
        return run();
      } catch (error) {
        return (error as Error).message;
      }
    };
    const tries = (how: Outside = {}): string => {
      inside(DESCRIBE);
      return words(() => outside(TRY, { id: 'u1/1/', ...how }));
    };
    const fetched = (): void => void inside(`${DUMP}printf '%s' '${FETCHED}' > fetched`);
    const loads = (how: Outside = {}): string => {
      words(() => outside(CHECK_EXTERNAL, how));
      return words(() => outside(LOAD_EXTERNAL, how));
    };
    const count = (): string => sql(`'out"side'`, "select count(*) from pg_class where relname = 'users'");
    const comment = (): string =>
      sql('postgres', `select shobj_description(oid, 'pg_database') from pg_database where datname = 'out"side'`);

    it('is tried without a trace, and says where it would go', () => {
      expect(JSON.parse(tries())).toEqual({
        host: '127.0.0.1',
        port: String(port),
        database: 'out"side',
        user: 'shop',
        version: expect.stringMatching(/^\d+/),
      });
      expect([count(), comment()]).toEqual(['0', '']);
    });

    it('loads all and the mark, and once', () => {
      fetched();
      expect(JSON.parse(loads())).toMatchObject({ name: 'b' });
      expect(sql(`'out"side'`, 'select string_agg(email, $$,$$ order by id) from users')).toBe(
        'ada@private.example,bob',
      );
      expect(comment()).toBe(`davit-restore u1/1/b ${FETCHED}`);
      sql(`'out"side'`, 'delete from users');
      expect(JSON.parse(loads())).toMatchObject({ name: 'b' });
      expect(sql(`'out"side'`, 'select count(*) from users')).toBe('0');
      // Another backup, and another deployment.
      rmSync(join(folder, 'loaded'));
      expect(loads({ id: 'u1/1/c' })).toMatch(/^The database is not empty: it has 2 tables/);
      expect(loads({ id: 'u2/1/b' })).toMatch(/^The database is not empty/);
    });

    it('loads nothing beside another one that is loading, whose rows are not seen yet', async () => {
      fetched();
      const other = `begin; comment on database ${QUOTED} is 'davit-restore u2/1/b x'; create table theirs(); select pg_sleep(2); commit;`;
      const loading = `{ psql -X -q -d 'out"side' -c "$OTHER" > /dev/null; } & sleep 0.5; wait_for=$!; (unset PGHOST PGPORT PGUSER PGDATABASE; ${LOAD_EXTERNAL}); code=$?; wait $wait_for; exit $code`;
      const env = Object.fromEntries(EXTERNAL_ENV.map(({ name, value }) => [name, value]));
      expect(
        words(() =>
          shell(`cd ${folder}; ${loading}`, { ...env, EXTERNAL_URI: URI, RESTORE_ID: 'u1/1/b', OTHER: other }),
        ),
      ).toMatch(/the database is not empty any more/);
      expect([count(), comment()]).toEqual(['0', 'davit-restore u2/1/b x']);
    });

    it('keeps nothing of a load that fails, and quotes no row', () => {
      sql(
        'origin',
        "create function f(t text) returns boolean language sql as 'select true'; alter table users add check (f(email));",
      );
      fetched();
      sql(`'out"side'`, `create function f(t text) returns boolean language sql as 'select false';`);
      const said = loads();
      expect(said).toMatch(/ERROR/);
      expect(said).not.toContain('private');
      expect([count(), comment()]).toEqual(['0', '']);
    });

    it.each([
      ['a scheme of an application', `postgresql+asyncpg://${AUTHORITY}/out"side?sslmode=disable&pool_size=3`],
      [
        'parameters that others know',
        `postgres://${AUTHORITY}/out"side?schema=public&connection_limit=1&sslmode=prefer`,
      ],
      [
        'user and password as parameters',
        `postgresql://127.0.0.1:${port}/out"side?user=shop&password=${encodeURIComponent(PASSWORD)}`,
      ],
    ])('takes a URI with %s', (_what, uri) => {
      expect(JSON.parse(tries({ uri }))).toMatchObject({ user: 'shop' });
    });

    const at = (rest: string): string => `postgresql://${AUTHORITY}/${rest}`;
    it.each([
      ['no URI', 'host=127.0.0.1 password=secret-word', /^The URI cannot be read/],
      ['another scheme', `mysql://${AUTHORITY}/x`, /^The URI cannot be read/],
      [
        'a password that is not encoded',
        `postgresql://shop:se@cret/word@127.0.0.1:${port}/x`,
        /^The URI cannot be read/,
      ],
      ['nothing', '', /^The URI cannot be read/],
      [
        'a wrong password',
        `postgresql://shop:secret-word@127.0.0.1:${port}/x?sslmode=disable`,
        /password authentication failed for user "shop"/,
      ],
      ['a server that is away', 'postgresql://shop:secret-word@127.0.0.1:1/x', /Connection refused/],
      ['a database that is not there', at('none'), /database "none" does not exist/],
      [
        'a server that it cannot verify',
        at('out"side?sslmode=verify-full&sslrootcert=/app/rds.pem'),
        /as key ca\.crt\.$/m,
      ],
      ['a client certificate', at('out"side?sslcert=/app/a.pem&sslkey=/app/a.key'), /client certificate/],
    ])('refuses %s, without a word of the password', (_what, uri, said) => {
      const found = tries({ uri });
      expect(found).toMatch(said);
      expect(found).not.toMatch(/secret-word|se@cret|w0rd/);
    });

    it('refuses a scheme that the application does not take', () => {
      expect(tries({ scheme: 'postgresql+asyncpg' })).toMatch(/scheme postgresql\+asyncpg/);
      expect(tries({ scheme: 'postgresql' })).toMatch(/^\{/);
    });

    it.each([
      ['one that is not empty', 'create table theirs();', /^The database is not empty: it has 1 tables/],
      [
        'one that another deployment has',
        `comment on database ${QUOTED} is 'davit-restore u2/1/x {}'`,
        /mark of another deployment/,
      ],
      [
        'one of somebody else',
        `alter database ${QUOTED} owner to other; grant all on schema public to shop`,
        /ALTER DATABASE "out""side" OWNER TO shop/,
      ],
      [
        'one that takes no writes',
        `alter role shop in database ${QUOTED} set default_transaction_read_only = on`,
        /takes no writes/,
      ],
      ['one without a schema public', 'drop schema public', /no schema public/],
    ])('refuses %s, and leaves it as it was', (_what, before, said) => {
      sql(`'out"side'`, before);
      const has = comment();
      expect(tries()).toMatch(said);
      expect([count(), comment()]).toEqual(['0', has]);
      sql('postgres', 'alter role shop reset all');
    });

    it('refuses another encoding', () => {
      sql('postgres', `drop database ${QUOTED}`);
      sql('postgres', `create database ${QUOTED} owner shop encoding 'LATIN1' locale 'C' template template0`);
      expect(tries()).toMatch(
        /^The database has the encoding LATIN1, and the present one has \w+\. Create it with: ENCODING/,
      );
    });

    it('refuses the present database, and an older server', () => {
      sql('origin', 'drop table users');
      sql('postgres', 'alter database origin owner to shop');
      const uri = at('origin?sslmode=disable');
      expect(tries({ uri })).toBe('The URI is that of the database that the deployment has now.\n');
      inside(`${DESCRIBE}echo 990001 > present-version`);
      expect(words(() => outside(TRY, { id: 'u1/1/' }))).toMatch(/which is older than PostgreSQL 99 of the present/);
    });

    const OWN =
      /^The URI is that of another database on the own server of the deployment\. .* URI of another server into the Secret/;
    it('refuses another database of the own server, which stops when it is moved from', () => {
      expect(tries({ own: 'yes' })).toMatch(OWN);
      expect(comment()).toBe('');
    });

    it.each([
      ['the name of its Service', 'localhost.team.svc', OWN],
      ['another name', 'shop--postgres.team.svc', /^\{/],
    ])('knows the own server, where that says nothing, by %s', (_what, host, said) => {
      sql(`'out"side'`, 'revoke execute on function pg_catalog.pg_postmaster_start_time() from public');
      inside(`${DESCRIBE}printf '%s' ${host} > present-host`);
      const uri = URI.replace('127.0.0.1', 'localhost');
      expect(words(() => outside(TRY, { uri, id: 'u1/1/', own: 'yes' }))).toMatch(said);
    });

    it('takes a server that was made from a copy of the own one', () => {
      inside(`${DESCRIBE}sed -i 's,/.*,/1767225600000000,' present-server`);
      expect(words(() => outside(TRY, { id: 'u1/1/', own: 'yes' }))).toMatch(/^\{/);
    });

    it('knows before that an extension cannot be made there', () => {
      sql('origin', 'create extension if not exists pg_stat_statements');
      expect(tries()).toMatch(/permission denied to create extension "pg_stat_statements"/);
      sql('origin', 'drop extension pg_stat_statements');
    });

    it('finds nothing that whoever had the database before has left in it', () => {
      const evil = `$evil$select E'x is null;\\n\\\\! touch ${folder}/run\\nselect 1; --'$evil$`;
      const names = ['quote_ident(name)', 'quote_ident(text)', 'current_setting(text)'];
      const made = names.map((name) => `create function evil.${name} returns text language sql as ${evil};`);
      sql(`'out"side'`, `create schema evil; grant usage on schema evil to public; ${made.join(' ')}`);
      sql('postgres', `alter database ${QUOTED} set search_path = evil, pg_catalog, public`);
      expect(tries()).toMatch(/^\{"host"/);
      fetched();
      expect(JSON.parse(loads())).toMatchObject({ name: 'b' });
      expect(comment()).toBe(`davit-restore u1/1/b ${FETCHED}`);
      expect(existsSync(join(folder, 'run'))).toBe(false);
    });

    it('says that a schema whose texts end its transaction has left something', () => {
      sql('postgres', 'create database tampered');
      sql(
        'tampered',
        `create view seen as select 1 as a;
create or replace function pg_catalog.pg_get_viewdef(oid) returns text language sql as $$select ' select 1 as a; COMMIT; create table public.left_there(); begin; select 1;'$$;`,
      );
      shell(`cd ${folder}; ${DESCRIBE}`, { PGDATABASE: 'tampered' });
      expect(words(() => outside(TRY, { id: 'u1/1/' }))).toMatch(
        /ends its transaction, so the trial has left 2 tables/,
      );
      sql('postgres', 'drop database tampered');
    });

    it('takes what this deployment has left there and somebody has emptied', () => {
      sql('postgres', `comment on database ${QUOTED} is 'davit-restore u1/1/earlier {}'`);
      expect(tries()).toMatch(/^\{/);
      fetched();
      expect(JSON.parse(loads({ id: 'u1/2/b' }))).toMatchObject({ name: 'b' });
    });
  },
);
