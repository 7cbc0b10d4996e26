// Shell scripts of the pods that make a backup. That of a server whose superuser is Davit's has all of the server: its roles, and each
// database by pg_dump --create. Of others, it has the database that the application uses.
//
// They write `dump` and `about`, and for a whole server also `roles.sql`, and `further-OID/dump` and `further-OID/name` for each further
// database; where databases are counted, `contents` stands beside each dump.

import { OWNER, SUPERUSER } from '../../record/database-driver.ts';
import { AWAIT_SERVER, BEGIN } from './await-server.ts';
import { dumpWithContents, PSQL } from './contents-script.ts';
import { OWN_WORDS } from './own-words.ts';

/** Smaller are those of objects that initdb has made. Source: PostgreSQL's access/transam.h, FirstNormalObjectId. */
export const FIRST_OWN = 16_384;

/** Databases that a restored server has anyway. `postgres` is where PostgreSQL's own tools connect to, and the application may make nothing in it. */
const KEPT = "('postgres', 'template0', 'template1')";
/** Condition of pg_database that selects the databases other than these and the application's, to which the session is connected. */
export const FURTHER = `datname not in ${KEPT} and datname <> current_database()`;

/** What was dropped and not to its end has connection limit -2. Source: PostgreSQL's catalog/pg_database.h. */
const DUMPED = 'datconnlimit <> -2';

const EXTENSIONS = `'extensions', (select coalesce(json_agg(extname order by extname), '[]') from pg_extension where extname <> 'plpgsql')`;

/** Whether nobody but its owner has anything in the database, extensions apart. What the first superuser has is in no pg_shdepend. */
const IS_OWNED = `(select not exists (select from pg_shdepend s join pg_database d on d.oid = s.dbid and d.datname = current_database() where s.deptype = 'o' and s.refobjid <> d.datdba)
and not exists (select from (select 'pg_class'::regclass as c, oid from pg_class where relowner = 10 union all select 'pg_proc'::regclass, oid from pg_proc where proowner = 10
union all select 'pg_type'::regclass, oid from pg_type where typowner = 10 union all select 'pg_namespace'::regclass, oid from pg_namespace where nspowner = 10 and nspname !~ '^pg_') x
where oid >= ${FIRST_OWN} and not exists (select from pg_depend d where d.classid = x.c and d.objid = x.oid and d.deptype in ('e', 'i'))))`;

/** What is to be dumped. */
export interface Dumped {
  /** Whether the script runs as a superuser that is not the application. */
  readonly isWhole: boolean;
  /** Whether the rows of each table are counted too, by which a restore is judged. That costs as much again. */
  readonly isCounted: boolean;
}

/** A dump is read once more, because a file that pg_restore cannot read is no backup. */
export function dumpScript({ isWhole, isCounted }: Dumped): string {
  const command = `pg_dump -w -F custom ${isWhole ? '--create' : '--no-owner --no-privileges'} -f dump`;
  const make = isCounted ? dumpWithContents(command) : `${command} 2> problem || own_words $?\n`;
  const about = isWhole
    ? `'roles', (select count(*) from pg_roles where oid >= ${FIRST_OWN}), 'isOwned', ${IS_OWNED}, `
    : '';
  return `${BEGIN}date -u +%Y-%m-%dT%H:%M:%SZ > taken-at
${OWN_WORDS}${AWAIT_SERVER}one() {
${make}pg_restore --list dump > /dev/null
}
${isWhole ? WHOLE : ''}one
${PSQL} -c "select json_build_object(${about}${EXTENSIONS})" > about
`;
}

/** The server that is restored has its superuser and the application's role already, with passwords of their own. */
const WHOLE = `closed=$(${PSQL} -c "select string_agg(datname, ', ') from pg_database where not datallowconn and ${FURTHER} and ${DUMPED}")
if [ -n "$closed" ]; then
  echo "No backup is made without these databases, which allow no connections: $closed. Allow connections to them, or drop them." >&2
  exit 1
fi
pg_dumpall -w --roles-only -f all-roles 2> problem || own_words $?
sed -E -e '/^CREATE ROLE (${SUPERUSER.user}|${OWNER.user});$/d' -e '/^ALTER ROLE (${SUPERUSER.user}|${OWNER.user}) WITH /d' all-roles > roles.sql
rm all-roles
for oid in $(${PSQL} -c "select oid from pg_database where ${FURTHER} and ${DUMPED} order by oid"); do
  mkdir -p "further-$oid"
  (
    cd "further-$oid"
    PGDATABASE=$(${PSQL} -c "select datname from pg_database where oid = $oid")
    if [ -z "$PGDATABASE" ]; then
      # The database was dropped. With an empty name, libpq connects to the database that has the name of the user.
      rmdir "$PWD"
      exit 0
    fi
    export PGDATABASE
    printf %s "$PGDATABASE" > name
    one
  )
done
`;
