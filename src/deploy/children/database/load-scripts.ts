// Shell scripts of the pods that load a backup. In a server of driver pod the superuser makes the roles and each further database. The application's
// database comes last, in one transaction, which is its owner's session where nobody else has anything in it. Without `roles.sql` the backup is of one
// database, and everything in it becomes its owner's.
//
// The databases say how far a restore is, so that one whose pod or Job was lost is repeated without harm: a comment on `postgres`, from the
// transaction that makes the roles, says that the restore has begun, and one on the application's, from the transaction that loads it, which
// backup it has. RESTORE_ID: uid of the record; what follows it is a LoadedBackup.

import { REFUSED } from '../../../kinds/meta.ts';
import { SUPERUSER } from '../../record/database-driver.ts';
import { AWAIT_SERVER, BEGIN } from './await-server.ts';
import { CONTENTS, PSQL } from './contents-script.ts';
import { FIRST_OWN, FURTHER } from './dump-scripts.ts';
import { COPY_WORDS, WITH_CODES } from './own-words.ts';

/** Variable of the scripts: counts everything of a person that a database can have, which is relations that are not of an extension. */
export const OWN_RELATIONS = {
  name: 'OWN_RELATIONS',
  value: `select count(*) from pg_class c join pg_namespace n on n.oid = c.relnamespace
where n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
and not exists (select 1 from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')`,
};

const FURTHER_ROLES = `pg_roles where oid >= ${FIRST_OWN} and oid <> (select datdba from pg_database where datname = current_database())`;

/** Only the superuser of a pod's server loads roles and further databases: a Cluster has roles of its own. */
const HOW_FAR = `mark="davit-restore $RESTORE_ID "
begun="davit-restoring $RESTORE_ID"
sql() {
  ${PSQL} "$@"
}
comment() {
  sql -c "select shobj_description(oid, 'pg_database') from pg_database where datname = $1"
}
empty() {
  if [ "$(comment "'${SUPERUSER.database}'")" = "$begun" ]; then return; fi
  count=$(sql -c "$OWN_RELATIONS")
  others=0
  if [ "$PGUSER" = ${SUPERUSER.user} ]; then
    others=$(sql -c "select (select count(*) from pg_database where ${FURTHER}) + (select count(*) from ${FURTHER_ROLES})")
  fi
  if [ "$count" != 0 ] || [ "$others" != 0 ]; then
    echo "The database is not empty: it has $count tables, indexes and sequences, and its server has $others further databases and roles. A backup is loaded only into an empty database: create another deployment, with a scale of 0." >&2
    exit ${REFUSED}
  fi
}
`;

/** Leaves \`loaded\` where this restore was done before. */
export const CHECK = `${BEGIN}${HOW_FAR}${AWAIT_SERVER}now=$(comment 'current_database()')
case $now in
  "$mark"*) printf '%s' "\${now#"$mark"}" > loaded ;;
  *) empty ;;
esac
`;

/** Another deployment's backup brings no passwords. */
const LOAD_ROLES = `if [ "$(comment "'${SUPERUSER.database}'")" != "$begun" ]; then
  {
    cat roles.sql
    if [ -e foreign ]; then
      echo "select format('alter role %I password null', rolname) from pg_authid where rolpassword is not null and oid >= ${FIRST_OWN} and rolname <> '$owner' \\gexec"
    fi
    echo "comment on database ${SUPERUSER.database} is '$begun';"
  } | sql ${WITH_CODES} --single-transaction -f - > /dev/null 2> problem || copy_words $?
fi
`;

/** What a try before has left, whose pod was lost and may still be running. Nothing is dropped of a server that is restored. */
const UNDO = `sql > /dev/null << 'END_OF_SQL'
select pg_terminate_backend(pid) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid();
select format('drop database %I', datname) from pg_database where ${FURTHER} and shobj_description((select oid from pg_database where datname = current_database()), 'pg_database') is null
\\gexec
END_OF_SQL
`;

/** The pattern is its own match where no folder has it. */
const EACH_FURTHER = `for folder in further-*; do
  if [ ! -e "$folder/dump" ]; then continue; fi
`;

/** A pipe hides a failure of its first command. With what is set on the application's database, which is there already. */
const LOAD_FURTHER = `${EACH_FURTHER}  { pg_restore --create -f - "$folder/dump" 2> pg-restore-problem || : > cut; } |
    psql -X -w -q -v ON_ERROR_STOP=1 ${WITH_CODES} -d ${SUPERUSER.database} > /dev/null 2> problem || copy_words $?
  if [ -e cut ]; then cat pg-restore-problem >&2; exit 1; fi
done
pg_restore --create --list dump | grep -E '^[0-9]+; [0-9]+ [0-9]+ (DATABASE PROPERTIES - |ACL - DATABASE )' > properties || :
pg_restore --create -L properties -f - dump | sed '/^CREATE DATABASE /d' > properties.sql
sql ${WITH_CODES} -f properties.sql > /dev/null 2> problem || copy_words $?
`;

/**
 * Extensions become the property of the database's owner where it may make them, and of the superuser where it may not. One that needs a schema of
 * the dump is left to the load.
 */
const LOAD_EXTENSIONS = `pg_restore --list dump | grep -E '^[0-9]+; 3079 [0-9]+ EXTENSION ' > extensions || :
if [ -s extensions ]; then
  pg_restore --no-owner -L extensions -f - dump > extensions.sql
  PGOPTIONS="$PGOPTIONS -c role=$owner" psql -X -w -q -f extensions.sql > /dev/null 2>&1 || :
  psql -X -w -q -f extensions.sql > /dev/null 2>&1 || :
fi
`;

/**
 * The session is its owner's own where nobody else has anything in the database: checks of tables call functions of the application, which in a session
 * of the superuser would be the superuser, whatever its role.
 *
 * Without the dump's last line, which commits, nothing is left, and no comment. A pipe hides a failure of its first command, so what was loaded is
 * read from the database. \`fetched\` has no quotation marks of SQL.
 */
export const LOAD = `${BEGIN}${HOW_FAR}${COPY_WORDS}owner=$(sql -c 'select pg_get_userbyid(datdba) from pg_database where datname = current_database()')
if [ ! -e loaded ]; then
empty
flags=
loader=$PGUSER
if [ -e roles.sql ]; then
${LOAD_ROLES}${UNDO}${LOAD_FURTHER}fi
${LOAD_EXTENSIONS}if [ ! -e roles.sql ] || [ -e owned ]; then
loader=$owner
pg_restore --list dump | grep -v ' COMMENT - EXTENSION ' > entries
flags='-L entries'
fi
if [ ! -e roles.sql ]; then flags='-L entries --no-owner --no-privileges'; fi
pg_restore -f - --single-transaction $flags dump 2> pg-restore-problem | {
  while IFS= read -r line; do
    printf '%s\\n' "$line"
    if [ "$line" = 'BEGIN;' ]; then
      printf "COMMENT ON DATABASE \\"%s\\" IS '%s%s';\\n" "$PGDATABASE" "$mark" "$(cat fetched)"
      break
    fi
  done
  cat
} | {
  if [ "$loader" != "$PGUSER" ]; then export PGUSER="$loader" PGPASSWORD="\${OWNER_PASSWORD:-}"; fi
  psql -X -w -q -v ON_ERROR_STOP=1 ${WITH_CODES}
} > /dev/null 2> problem || copy_words $?
fi
now=$(comment 'current_database()')
case $now in
  "$mark"*) printf '%s' "\${now#"$mark"}" > /dev/termination-log ;;
  *) cat pg-restore-problem >&2; echo 'The backup was not loaded.' >&2; exit 1 ;;
esac
`;

/** What each database has then. */
export const COUNT = `${EACH_FURTHER}  (
    cd "$folder"
    PGDATABASE=$(cat name)
    export PGDATABASE
${CONTENTS}  )
done
${CONTENTS}`;
