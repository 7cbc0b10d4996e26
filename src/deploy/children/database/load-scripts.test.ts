// What a dump and a restore say when they fail, with a real PostgreSQL: their words are shown to people who may not read the data.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startLocalPostgres } from '../../../../test/support/local-postgres.ts';
import { REFUSED } from '../../../kinds/meta.ts';
import { dumpScript } from './dump-scripts.ts';
import { LOAD, OWN_RELATIONS } from './load-scripts.ts';

const postgres = await startLocalPostgres();
const folders: string[] = [];
afterAll(async () => {
  await postgres?.stop();
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** One database, as that of a Cluster; that of a server is in whole-server.test.ts. */
const DUMP = dumpScript({ isWhole: false, isCounted: false });
/** What a fetch leaves. */
const FETCHED = `printf '{"name":"b"}' > fetched`;

/** Names a row in what PostgreSQL adds to the error: a check that reads another table, which is not loaded yet. */
const BROKEN_CHECK = `create table lim(n int); insert into lim values (100);
create function okn(t text) returns boolean language sql as 'select length(t) < (select max(n) from lim)';
create table users(id int, email text, card text, check (okn(card)));`;
/** A unique index over a function whose answer was another one when the rows were written. */
const BROKEN_INDEX = `create table users(id int, email text, card text);
create function same(t text) returns text immutable language sql as 'select $1';
create unique index users_email on users (same(email));`;
const ROWS = `insert into users values (1, 'ada@private.example', '4111-1111'), (2, 'bob@private.example', '4111-2222');`;
const SAME = `create or replace function same(t text) returns text immutable language sql as 'select ''x@private.example''';`;

describe.skipIf(!postgres)(
  `what fails in a database${postgres ? '' : ' (skipped: PostgreSQL is not installed)'}`,
  () => {
    const shell = postgres?.shell ?? ((): string => '');
    let folder: string;
    // No superuser of a pod's server, whose restore looks at all of it.
    beforeAll(() => void shell('createuser --superuser owner; createdb origin; createdb copy -O owner'));
    beforeEach(() => {
      folder = mkdtempSync(join(tmpdir(), 'davit-load-'));
      folders.push(folder);
      sql('origin', 'set client_min_messages = error; drop schema public cascade; create schema public;');
    });
    const run = (database: string, script: string): string =>
      shell(`cd ${folder}; ${script}`, {
        PGUSER: 'owner',
        PGDATABASE: database,
        RESTORE_ID: 'u1',
        OWN_RELATIONS: OWN_RELATIONS.value,
      });
    const sql = (database: string, text: string): string =>
      run(database, `psql -X -q -A -t -v ON_ERROR_STOP=1 <<'END'\n${text}\nEND\n`);
    const codeOf = (database: string, script: string): number =>
      Number(run(database, `(${script}) 2> words || echo $?`));
    const words = (database: string, script: string): string => {
      try {
        return run(database, script);
      } catch (error) {
        return (error as Error).message;
      }
    };

    describe('a load', () => {
      it.each([
        [
          'row',
          BROKEN_CHECK,
          '',
          /COPY failed for table "(public\.)?users": the error may quote a row, so it is not shown here\. Load/,
        ],
        ['key', BROKEN_INDEX, SAME, /ERROR: {2}could not create unique index "users_email"/],
      ])('says the error, and not the %s that it is about', (_what, schema, after, error) => {
        sql('origin', `${schema}\n${ROWS}\n${after}`);
        run('origin', `${DUMP}${FETCHED}`);
        const said = words('copy', LOAD);
        expect(said).toMatch(error);
        expect(said).not.toMatch(/private\.example|4111|CONTEXT|DETAIL|QUERY/);
        expect(run('copy', 'psql -X -A -t -c "$OWN_RELATIONS"').trim()).toBe('0');
      });
    });

    it('a load that PostgreSQL refuses is not tried again, and one for which it has no space is', () => {
      sql('origin', `${BROKEN_CHECK}\n${ROWS}`);
      run('origin', `${DUMP}${FETCHED}`);
      expect(codeOf('copy', LOAD)).toBe(REFUSED);
      const answers = (says: string, code: number, comment = ''): number =>
        codeOf(
          'copy',
          `mkdir -p bin; cat > bin/psql <<'END'
#!/bin/sh
case "$*" in
  *shobj_description*) echo '${comment}' ;;
  *VERBOSITY=verbose) cat > /dev/null; echo '${says}' >&2; exit ${code} ;;
  *-c*) echo 0 ;;
esac
END
chmod +x bin/psql; PATH=$PWD/bin:$PATH; ${LOAD}`,
        );
      expect(answers('psql:<stdin>:9: ERROR:  42704: type "t" does not exist', 3)).toBe(REFUSED);
      expect(answers('psql:<stdin>:9: ERROR:  53100: could not extend file: No space left on device', 3)).toBe(3);
      expect(answers('psql:<stdin>:9: FATAL:  57P01: terminating connection', 2)).toBe(2);
      expect(answers('psql:<stdin>:9: error: \\connect: FATAL:  53300: sorry, too many clients already', 3)).toBe(3);
      // Another try has loaded it: the next one finds that.
      expect(answers('psql:<stdin>:9: ERROR:  42P07: relation "t" already exists', 3, 'davit-restore u1 {}')).toBe(3);
    });

    it('a row that names a role is not quoted as the role that is missing', () => {
      const role = '"ada@private.example"';
      sql('origin', `create role ${role}; create table users(email regrole); insert into users values ('${role}');`);
      run('origin', `${DUMP}${FETCHED}`);
      sql('origin', `drop role ${role}`);
      const said = words('copy', LOAD);
      expect(said).toMatch(
        /COPY failed for table "(public\.)?users": the error may quote a row, so it is not shown here\. Load/,
      );
      expect(said).not.toContain('private');
    });

    it('a dump says which table could not be read, and no row', () => {
      // PostgreSQL reads tables that are whole, so another program fails in its place.
      const fails = `mkdir bin; cat > bin/pg_dump <<'END'
#!/bin/sh
cat >&2 <<'SAID'
pg_dump: error: Dumping the contents of table "users" failed: PQgetResult() failed.
pg_dump: detail: Error message from server: ERROR:  could not read block 7
CONTEXT:  COPY users, line 1: "1 ada@private.example 4111-1111"
SAID
exit 3
END
chmod +x bin/pg_dump; PATH=$PWD/bin:$PATH; `;
      const said = words('origin', fails + DUMP);
      expect(said).toMatch(/^pg_dump: error: Dumping .*\npg_dump: detail: .* could not read block 7$/m);
      expect(said).not.toMatch(/private\.example|4111|CONTEXT/);
    });

    it('a program that is not there is told by the shell', () => {
      const only = `mkdir bin; for one in sed psql date sleep cat stat rm; do ln -s "$(command -v $one)" bin/$one; done; PATH=$PWD/bin; `;
      expect(words('origin', `${only}${DUMP}`)).toMatch(/pg_dump: (command )?not found/);
    });
  },
);
