// Shell scripts of the pods that load a backup.

import { REFUSED } from '../../../schema/meta.ts';
import { AWAIT_SERVER } from './await-server.ts';
import { CONTENTS } from './contents-script.ts';
import { COPY_WORDS, OWN_WORDS } from './own-words.ts';

/** Variable of the scripts: counts everything of a person that a database can have, which is relations that are not of an extension. */
export const OWN_RELATIONS = {
  name: 'OWN_RELATIONS',
  value: `select count(*) from pg_class c join pg_namespace n on n.oid = c.relnamespace
where n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
and not exists (select 1 from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')`,
};

const BEGIN = `set -eu
umask 077
`;
const EMPTY = `count=$(psql -X -w -q -A -t -c "$OWN_RELATIONS")
if [ "$count" != 0 ]; then
  echo "The database is not empty: it has $count tables, indexes and sequences. A backup is loaded only into an empty database: create another deployment, with a scale of 0." >&2
  exit ${REFUSED}
fi
`;

export const CHECK_EMPTY = `${BEGIN}${AWAIT_SERVER}${EMPTY}`;
/**
 * All of the dump or nothing. It is asked again whether the database is empty: fetching a backup takes time. What a superuser loads becomes the
 * property of the database's owner.
 */
export const LOAD = `${BEGIN}owner=$(psql -X -w -q -A -t -c 'select pg_get_userbyid(datdba) from pg_database where datname = current_database()')
export PGOPTIONS="-c role=$owner"
${OWN_WORDS}${EMPTY}pg_restore -w --no-owner --no-privileges --exit-on-error --single-transaction -d "$PGDATABASE" dump 2> problem || own_words $?
`;

/** The same, into a server that is there for nothing else, and what it then has. */
export const LOAD_AND_COUNT = `${LOAD}${CONTENTS}`;

/**
 * The database itself says which backup it began with: a comment, written by the transaction that loads it. So a restore whose pod or
 * Job was lost is repeated without harm. RESTORE_ID: uid of the record; what follows it is a LoadedBackup.
 */
const COMMENT = `mark="davit-restore $RESTORE_ID "
comment() {
  psql -X -w -q -A -t -c "select shobj_description(oid, 'pg_database') from pg_database where datname = current_database()"
}
`;

/** Leaves \`loaded\` where this restore was done before. */
export const CHECK_ONCE = `${BEGIN}${AWAIT_SERVER}${COMMENT}now=$(comment)
case $now in
  "$mark"*) printf '%s' "\${now#"$mark"}" > loaded; exit 0 ;;
esac
${EMPTY}`;

/**
 * Without the dump's last line, which commits, nothing is left. A pipe hides a failure of its first command, so what was loaded is
 * read from the database. \`fetched\` has no quotation marks of SQL.
 */
export const LOAD_ONCE = `${BEGIN}${COMMENT}${COPY_WORDS}if [ ! -e loaded ]; then
${EMPTY}pg_restore -f - --single-transaction --no-owner --no-privileges dump | {
  while IFS= read -r line; do
    printf '%s\\n' "$line"
    if [ "$line" = 'BEGIN;' ]; then
      printf "COMMENT ON DATABASE \\"%s\\" IS '%s%s';\\n" "$PGDATABASE" "$mark" "$(cat fetched)"
      break
    fi
  done
  cat
} | psql -X -w -q -v ON_ERROR_STOP=1 > /dev/null 2> problem || copy_words $?
fi
now=$(comment)
case $now in
  "$mark"*) printf '%s' "\${now#"$mark"}" > /dev/termination-log ;;
  *) echo 'The backup was not loaded.' >&2; exit 1 ;;
esac
`;
