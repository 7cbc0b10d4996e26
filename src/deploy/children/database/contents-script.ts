// What a database has, as lines of JSON: rows and a sum of each table, sequences, large objects, and how many objects of each kind.
// The same statements run beside a dump and on what was restored from it, so that the two can be compared (archive/contents.ts).
// Source: PostgreSQL's documentation, "System Catalogs".

import { ERROR_ALONE } from './own-words.ts';

/** What changes how values are written must be the same on both sides; what is long must not be cut off. */
const SETTINGS = `set client_encoding = 'UTF8';
set statement_timeout = 0;
set lock_timeout = 0;
set idle_in_transaction_session_timeout = 0;
set datestyle = 'ISO, YMD';
set intervalstyle = 'postgres';
set timezone = 'UTC';
set extra_float_digits = 3;
set bytea_output = 'hex';
set lc_monetary = 'C';
set row_security = off;
set search_path = '';
`;

/** Neither PostgreSQL's own nor an extension's, which a dump does not have. `alias`: of an object of this catalog. */
const own = (catalog: string, alias: string): string =>
  `n.nspname !~ '^pg_' and n.nspname <> 'information_schema' and not exists (select 1 from pg_depend d where d.classid = '${catalog}'::regclass and d.objid = ${alias}.oid and d.deptype = 'e')`;
const RELATIONS = 'pg_class c join pg_namespace n on n.oid = c.relnamespace';
const OWN_RELATION = `${RELATIONS} where ${own('pg_class', 'c')}`;
/** Copies that its partitions have of a table's are not counted: PostgreSQL makes them. */
const OF_OWN_TABLE = `${own('pg_class', 'c')} and not c.relispartition`;

/** A table that is emptied or changed after the dump would be read as it is then, whatever the snapshot. */
const LOCKS = `select format('lock table only %I.%I in access share mode', n.nspname, c.relname) from ${OWN_RELATION} and c.relkind = 'r'
\\gexec
`;

/** They are no part of a snapshot. */
const SEQUENCES = `select format('select json_build_object(''sequence'', %L, ''value'', last_value::text) from %I.%I', quote_ident(n.nspname) || '.' || quote_ident(c.relname), n.nspname, c.relname) from ${OWN_RELATION} and c.relkind = 'S'
\\gexec
`;

/**
 * The sum of 64 bits of the SHA-256 of each row, in which the order of rows does not matter, and no two equal rows cancel each other.
 * The columns are in the order of their names: a restored table that inherits may have another one. A dump has no generated columns.
 */
const TABLES = `select format('select json_build_object(''table'', %L, ''rows'', count(*)::text, ''sum'', coalesce(sum((''x'' || left(encode(sha256(convert_to(row(%s)::text, getdatabaseencoding())), ''hex''), 16))::bit(64)::bigint), 0)::text) from only %I.%I x',
  quote_ident(n.nspname) || '.' || quote_ident(c.relname),
  (select string_agg('x.' || quote_ident(a.attname), ', ' order by a.attname collate "C") from pg_attribute a
   where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''),
  n.nspname, c.relname) from ${OWN_RELATION} and c.relkind = 'r' order by c.oid
\\gexec
`;

/** Zeros that were never written are written by a restore. Only a superuser may read pg_largeobject, so it is left alone where it is empty. */
const LARGE_OBJECTS = `select case when exists (select from pg_largeobject_metadata) then $of$
select json_build_object('largeObjects', (select count(*) from pg_largeobject_metadata)::text, 'sum', coalesce(sum(('x' || left(encode(sha256(convert_to(loid || ':' || pageno || ':' || encode(btrim(data, '\\x00'), 'hex'), 'UTF8')), 'hex'), 16))::bit(64)::bigint), 0)::text)
from pg_largeobject where length(btrim(data, '\\x00')) > 0
$of$ else $of$ select json_build_object('largeObjects', '0', 'sum', '0') $of$ end
\\gexec
`;

const OBJECTS = `select json_build_object('objects', kind, 'count', count(*)::text) from (
select case c.relkind when 'r' then 'tables' when 'p' then 'partitioned tables' when 'v' then 'views' when 'm' then 'materialized views' when 'f' then 'foreign tables' else 'sequences' end as kind
from ${OWN_RELATION} and c.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
union all select 'indexes' from pg_index i join ${RELATIONS} on c.oid = i.indrelid where i.indisvalid and ${OF_OWN_TABLE}
union all select 'constraints' from pg_constraint o join ${RELATIONS} on c.oid = o.conrelid where o.contype in ('c', 'f', 'p', 'u', 'x') and ${OF_OWN_TABLE}
union all select 'triggers' from pg_trigger t join ${RELATIONS} on c.oid = t.tgrelid where not t.tgisinternal and ${OF_OWN_TABLE}
union all select 'functions' from pg_proc p join pg_namespace n on n.oid = p.pronamespace where ${own('pg_proc', 'p')}
) every group by kind;
`;

const BEGIN = 'begin transaction isolation level repeatable read, read only;\n';
export const PSQL = `psql -X -w -q -A -t -v ON_ERROR_STOP=1 ${ERROR_ALONE}`;

/**
 * Lines of sh around a dump: they write \`dump\`, and \`contents\` of the same snapshot. \`dump\` is the command, which must not end the
 * script. Without \`contents\`, \`contents-problem\` says why: that must not keep a backup from being made.
 */
export function dumpWithContents(dump: string): string {
  return `${PSQL} > /dev/null 2> contents-problem << 'END_OF_SQL' || true
${SETTINGS}${BEGIN}${LOCKS}select pg_export_snapshot() as snapshot
\\gset
\\setenv DAVIT_SNAPSHOT :snapshot
\\o contents
${SEQUENCES}\\! ${dump} --snapshot="$DAVIT_SNAPSHOT" < /dev/null 2> problem; echo $? > dumped
${SEQUENCES}${TABLES}${LARGE_OBJECTS}${OBJECTS}commit;
\\o
\\! : > contents-whole
END_OF_SQL
if [ ! -e contents-whole ]; then rm -f contents; fi
code=0
if [ -e dumped ]; then
  code=$(cat dumped)
else
  rm -f dump
  ${dump} 2> problem || code=$?
fi
if [ "$code" != 0 ]; then own_words "$code"; fi
`;
}

/** Lines of sh that write \`contents\` of the database. */
export const CONTENTS = `${PSQL} > contents << 'END_OF_SQL'
${SETTINGS}${BEGIN}${SEQUENCES}${TABLES}${LARGE_OBJECTS}${OBJECTS}commit;
END_OF_SQL
`;
