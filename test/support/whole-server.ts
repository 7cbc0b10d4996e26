// What a server of PostgreSQL can have beside the tables of one database, for tests of backups.

import type { LocalPostgres } from './local-postgres.ts';

/** For psql as the superuser in database `app`, which role `app` owns. Three databases, four roles, and what hangs on them. */
export const WHOLE_SERVER = `set client_min_messages = error;
create role reader login password 'r' connection limit 5; create role "owner of reports" login password 'x' valid until '2099-01-01';
create role "odd ""role" createdb;
grant reader to "owner of reports" with admin option; grant pg_read_all_data to "odd ""role"; grant "owner of reports" to app;
alter role "owner of reports" set search_path to "$user", public, 'Odd Schema';
alter role reader in database app set work_mem = '7MB'; alter role app set statement_timeout = '77s';
alter database app set app.tenant = 'it''s'; revoke all on database app from public; grant connect on database app to reader;
create database reports owner "owner of reports"; create database "odd name*" lc_collate 'C' lc_ctype 'C' template template0;
alter database "odd name*" set timezone = 'Asia/Tokyo';
create extension dblink; create extension pg_trgm; create schema priv; create extension citext schema priv;
set role app; create extension hstore; create schema s;
create table s.docs(id bigint generated always as identity primary key, owner text, body text);
insert into s.docs(owner, body) select 'u' || n % 3, md5(n::text) from generate_series(1, 2000) n;
alter table s.docs enable row level security; alter table s.docs force row level security;
create policy own on s.docs using (owner = current_user);
create table t(a int, b text); insert into t values (1, 'x'), (2, null);
grant select on t to reader with grant option; grant usage on schema s to "owner of reports";
alter default privileges in schema s grant select on tables to "owner of reports";
create type mood as enum ('a', 'b'); create view v as select * from t; create materialized view mv as select count(*) from t;
select lo_from_bytea(77, 'large'); reset role;
create function secret() returns int security definer language sql as 'select 42';
revoke all on function secret() from public; grant execute on function secret() to reader;
grant create on schema s to "owner of reports"; set role "owner of reports"; create table s.theirs as select 1 as a; reset role;
\\connect reports
set role "owner of reports"; create table big as select generate_series(1, 500) n; grant select on big to reader; reset role;
create extension pgcrypto;
\\connect "odd name*"
create table z(n int); insert into z values (3); create statistics st on (n + 1) from z;
\\connect postgres
create table kept(n int); insert into kept values (9);
`;

/** Adds it to a server that `emptyServer` has made. */
export function makeServer({ shell }: LocalPostgres): void {
  shell(`psql -X -q -o /dev/null -v ON_ERROR_STOP=1 -d app << 'END'\n${WHOLE_SERVER}END\n`);
}

/** Role `app` and its database, and nothing else. */
export function emptyServer(server: LocalPostgres): void {
  dropAll(server);
  server.shell(`psql -X -q -c 'create role app login' -c 'create database app owner app'`);
}

/** As initdb has made it. */
export function dropAll({ shell }: LocalPostgres): void {
  shell(`psql -X -q -o /dev/null -v ON_ERROR_STOP=1 -d template1 << 'END'
set client_min_messages = error;
select pg_terminate_backend(pid) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid();
select format('drop database %I', datname) from pg_database where datname not in ('template0', 'template1')
\\gexec
select format('drop role %I', rolname) from pg_roles where oid >= 16384
\\gexec
alter role postgres reset all;
create database postgres;
END
`);
}
