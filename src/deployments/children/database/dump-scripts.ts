// Shell scripts of the pods that make a backup. That of a server of driver pod has all of the server: its databases, and statements for what
// PostgreSQL keeps beside them, which is roles, and what is set on a database. A Cluster's has one database, which its owner can read.
//
// They write `dump`: what was dumped, one thing after the other. `parts` says how many bytes each has (archive/parts.ts). Statements are made
// by the server itself, which quotes its own names; :"davit_owner" in them is the user that the restored deployment will have.

import { OWNER } from '../../record/database-driver.ts';
import { AWAIT_SERVER } from './await-server.ts';
import { contentsBeside, PSQL } from './contents-script.ts';
import { OWN_WORDS } from './own-words.ts';

/** Smaller are those of objects that initdb has made. Source: PostgreSQL's access/transam.h, FirstNormalObjectId. */
export const FIRST_OWN = 16_384;
const OWNER_HERE = "(select datdba from pg_database where datname = :'main')";
const who = (role: string): string =>
  `case when ${role} = ${OWNER_HERE} then ':"davit_owner"' else ${role}::regrole::text end`;

/** The one of this server, or what is taken for it in another one. */
const isOwner = (role: string): string => `(${role} = ${OWNER_HERE} or ${role}::regrole::text = '${OWNER.user}')`;

/** Settings whose value is a list of names, quoted already. Source: PostgreSQL's pg_dump, variable_is_guc_list_quote. */
const LISTS =
  "'local_preload_libraries', 'search_path', 'session_preload_libraries', 'shared_preload_libraries', 'temp_tablespaces', 'unix_socket_directories'";
const SETTINGS = `(select s.setrole, s.setdatabase, format('%I to %s', split_part(c, '=', 1), case when split_part(c, '=', 1) in (${LISTS})
then replace(substr(c, strpos(c, '=') + 1), '""', '''''') else quote_literal(substr(c, strpos(c, '=') + 1)) end) as sets
from pg_db_role_setting s, unnest(s.setconfig) c) s`;

/** Everything of roles but their passwords. The superuser of another server is its own, and so is the password of its owner. */
const ROLES = `select format('select %L where not exists (select from pg_roles where rolname = %L) \\gexec', format('create role %I', rolname), rolname)
from pg_roles where oid >= ${FIRST_OWN} order by oid;
select format('select %L where %L <> :''davit_owner'' \\gexec', format('alter role %I with %s %s %s %s %s %s %s connection limit %s%s', rolname,
case when rolsuper then 'superuser' else 'nosuperuser' end, case when rolinherit then 'inherit' else 'noinherit' end,
case when rolcreaterole then 'createrole' else 'nocreaterole' end, case when rolcreatedb then 'createdb' else 'nocreatedb' end,
case when rolcanlogin then 'login' else 'nologin' end, case when rolreplication then 'replication' else 'noreplication' end,
case when rolbypassrls then 'bypassrls' else 'nobypassrls' end, rolconnlimit, ' valid until ' || quote_literal(rolvaliduntil)), rolname)
from pg_roles where oid >= ${FIRST_OWN} and oid <> ${OWNER_HERE} order by oid;
select format('comment on role %s is %L;', ${who('oid')}, shobj_description(oid, 'pg_authid')) from pg_roles
where oid >= ${FIRST_OWN} and shobj_description(oid, 'pg_authid') is not null;
select format('grant %s to %s%s;', ${who('roleid')}, ${who('member')}, case when to_jsonb(m) ? 'inherit_option'
then format(' with admin %s, inherit %s, set %s', to_jsonb(m) ->> 'admin_option', to_jsonb(m) ->> 'inherit_option', to_jsonb(m) ->> 'set_option')
when admin_option then ' with admin option' end) from pg_auth_members m where (member >= ${FIRST_OWN} or member = ${OWNER_HERE})
and not (${isOwner('roleid')} and ${isOwner('member')});
select format('alter role %s set %s;', case when setrole = 0 then 'all' else ${who('setrole')} end, sets) from ${SETTINGS}
where setdatabase = 0 and (setrole in (0, ${OWNER_HERE}) or setrole >= ${FIRST_OWN});
`;

const PASSWORDS = `select format('select %L where %L <> :''davit_owner'' \\gexec', format('alter role %I password %L', rolname, rolpassword), rolname)
from pg_authid where rolpassword is not null and oid >= ${FIRST_OWN} and oid <> ${OWNER_HERE};
`;

/** A database beside the first one, as empty as it was made. */
const CREATE = `select format('select %L || %s \\gexec', format('create database %I template template0 encoding %L lc_collate %L lc_ctype %L',
datname, pg_encoding_to_char(encoding), datcollate, datctype), case to_jsonb(d) ->> 'datlocprovider'
when 'i' then quote_literal(format(' locale_provider icu icu_locale %L', coalesce(to_jsonb(d) ->> 'datlocale', to_jsonb(d) ->> 'daticulocale')))
when 'b' then quote_literal(format(' locale_provider builtin builtin_locale %L', to_jsonb(d) ->> 'datlocale'))
else 'case when current_setting(''server_version_num'')::int >= 150000 then '' locale_provider libc'' else '''' end' end)
from pg_database d where datname = current_database();
select format('alter database %I owner to %s;', datname, ${who('datdba')}) from pg_database where datname = current_database();
`;

/**
 * Before a database is loaded, in the same transaction: what is not the superuser's is made by who has it, as far as he may. What is left is
 * made by the superuser who loads it.
 */
const BEFORE = `select format('do %L;', format('begin execute format(''set local role %%s'', %s); create extension if not exists %I; reset role; exception when others then reset role; end',
case when extowner = ${OWNER_HERE} then '(select datdba::regrole from pg_database where datname = current_database())' else quote_literal(extowner::regrole) end, extname))
from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.oid >= ${FIRST_OWN} and n.oid < ${FIRST_OWN} and (extowner >= ${FIRST_OWN} or extowner = ${OWNER_HERE})
order by e.oid;
`;

/** What is set on a database, and in a server whose application was the superuser, what the application gets of it. It may run again. */
const AFTER = `select format('alter %s set %s;', case when setrole = 0 then 'database :"DBNAME"' else format('role %s in database :"DBNAME"', ${who('setrole')}) end, sets)
from ${SETTINGS} where setdatabase = (select oid from pg_database where datname = current_database());
select format('alter database :"DBNAME" connection limit %s;', datconnlimit) from pg_database where datname = current_database() and datconnlimit <> -1;
select 'revoke all on database :"DBNAME" from public;' from pg_database where datname = current_database() and datacl is not null;
select format('grant %s on database :"DBNAME" to %s%s;', a.privilege_type, case when a.grantee = 0 then 'public' else ${who('a.grantee')} end,
case when a.is_grantable then ' with grant option' end) from pg_database d, aclexplode(d.datacl) a where d.datname = current_database() and a.grantee <> d.datdba;
select 'alter database :"DBNAME" is_template true;' from pg_database where datname = current_database() and datistemplate and datname <> 'template1';
`;

const OWNED = [
  ['pg_class', "relowner = 10 and relkind in ('r', 'p', 'v', 'm', 'f', 'S')"],
  ['pg_namespace', 'nspowner = 10'],
  ['pg_proc', "proowner = 10 and prorettype <> 'event_trigger'::regtype"],
  [
    'pg_type',
    "typowner = 10 and typcategory <> 'A' and (typrelid = 0 or exists (select from pg_class c where c.oid = typrelid and c.relkind = 'c'))",
  ],
  ['pg_operator', 'oprowner = 10'],
  ['pg_opclass', 'opcowner = 10'],
  ['pg_opfamily', 'opfowner = 10'],
  ['pg_collation', 'collowner = 10'],
  ['pg_conversion', 'conowner = 10'],
  ['pg_ts_config', 'cfgowner = 10'],
  ['pg_ts_dict', 'dictowner = 10'],
  ['pg_statistic_ext', 'stxowner = 10'],
  ['pg_foreign_server', 'srvowner = 10'],
  ['pg_largeobject_metadata', 'lomowner = 10'],
] as const;
/** REASSIGN OWNED refuses the first superuser, 10. It runs in the restored database, whose application is no superuser any more. */
const HAND_OVER = `select format('alter %s %s owner to %I', case i.type when 'statistics object' then 'statistics' when 'composite type' then 'type' else i.type end, i.identity, :'davit_owner')
from (${OWNED.map(([catalog, is]) => `select '${catalog === 'pg_largeobject_metadata' ? 'pg_largeobject' : catalog}'::regclass::oid as c, oid as o from ${catalog} where ${catalog === 'pg_largeobject_metadata' ? '' : `oid >= ${FIRST_OWN} and `}${is}`).join('\nunion all ')}) x
cross join lateral pg_identify_object(c, o, 0) i where :'davit_owner' <> 'postgres'
and not exists (select from pg_depend d where d.classid = c and d.objid = o and (d.deptype in ('e', 'i') or (d.deptype = 'a' and i.type = 'sequence')))
\\gexec
`;

/** Whether the database has anything that initdb has not made. */
export const IS_BLANK = `select not exists (select from pg_class where oid >= ${FIRST_OWN} union all select from pg_namespace where oid >= ${FIRST_OWN}
union all select from pg_proc where oid >= ${FIRST_OWN} union all select from pg_type where oid >= ${FIRST_OWN} union all select from pg_extension where oid >= ${FIRST_OWN})`;

/** Its status is in `dumped`: a pipe hides it. Without `dumping`, it has not begun. */
const archive = (flags: string): string =>
  `: > dumping; { pg_dump -w -F custom${flags} \${DAVIT_SNAPSHOT:+--snapshot="$DAVIT_SNAPSHOT"} 2> problem; echo $? > dumped; } < /dev/null | cat >> dump || echo 1 > dumped`;

/** What is to be dumped. A Cluster's owner reads one database, and no roles. */
export interface Dumped {
  readonly isWhole: boolean;
  /** Whether each table is counted too, by which a restore is judged. That costs as much again. */
  readonly isCounted: boolean;
}

/** An archive is read once more, because a file that pg_restore cannot read is no backup. */
export function dumpScript({ isWhole, isCounted }: Dumped): string {
  const command = archive(isWhole ? '' : ' --no-owner --no-privileges');
  const make = isCounted ? contentsBeside(command) : `${command}\n`;
  const put = (statements: string): string => (isWhole ? written(statements) : '');
  return `set -eu
umask 077
${OWN_WORDS}${AWAIT_SERVER}date -u +%Y-%m-%dT%H:%M:%SZ > taken-at
main=$PGDATABASE
: > dump
: > parts
: > extensions
sql() {
  ${PSQL} -v main="$main" "$@"
}
size() {
  stat -c %s dump
}
one() {
  rm -f dumping dumped
  at=$(size)
  if [ "$1" = further ]; then
    :
    ${put(CREATE)}  fi
  before=$(size)
  ${put(BEFORE)}  archive=$(size)
${make}  code=$(cat dumped)
  if [ "$code" != 0 ]; then own_words "$code"; fi
  after=$(size)
  ${put(AFTER)}  if [ "$hand_over" = 1 ]; then cat hand-over >> dump; fi
  tail -c +$((archive + 1)) dump | pg_restore --list > /dev/null
  printf '%s %s %s %s %s\\n' $((before - at)) $((archive - before)) $((after - archive)) $(($(size) - after)) "$PGDATABASE" >> parts
  sql -c "select extname from pg_extension where extname <> 'plpgsql'" >> extensions
}
hand_over=0
${isWhole ? WHOLE : ''}PGDATABASE=$main
one main
${isWhole ? SERVER : ''}`;
}

/** psql does not fail for a full disk. */
const END = '-- end';
const written = (statements: string): string => `sql >> dump << 'END_OF_SQL'
${statements}select '${END}';
END_OF_SQL
  if [ "$(tail -c ${END.length + 1} dump)" != '${END}' ]; then
    echo 'No space is left for the dump.' >&2
    exit 1
  fi
`;

const NOT_DUMPED = `select string_agg(quote_ident(datname), ', ') from pg_database where datname ~ '[\\n\\r]' or (not datallowconn and datname <> 'template0')`;
/** What was dropped and not to its end has -2. Source: PostgreSQL's catalog/pg_database.h. */
const FURTHER = `select datname from pg_database where datname not in ('template0', :'main') and datconnlimit <> -2 order by datname;
`;
const WHOLE = `left=$(sql -c "${NOT_DUMPED}")
if [ -n "$left" ]; then
  echo "No backup is made without these databases, which cannot be dumped: $left. Allow connections to them, and give them a name without a line break." >&2
  exit 1
fi
cat > hand-over << 'END_OF_SQL'
${HAND_OVER}END_OF_SQL
hand_over=$(sql -c "select count(*) from pg_database where datname = '$main' and datdba = 10")
sql > names << 'END_OF_SQL'
${FURTHER}END_OF_SQL
while IFS= read -r name <&3; do
  export PGDATABASE="$name"
  case $name in
    postgres | template1) if [ "$(sql -c "${IS_BLANK}")" = f ]; then one kept; fi ;;
    *) one further ;;
  esac
done 3< names
`;
/** After the databases: what they name is there then. */
const SERVER = `at=$(size)
${written(ROLES)}passwords=$(size)
${written(PASSWORDS)}printf '%s %s %s\\n' "$(sql -c 'select count(*) from pg_roles where oid >= ${FIRST_OWN}')" $((passwords - at)) $(($(size) - passwords)) > role-parts
`;
