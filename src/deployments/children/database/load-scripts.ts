// Shell scripts of the pods that load a backup. A server of driver pod gets all of it, from its superuser: roles first, then each database in a
// transaction, and last the one that the application uses. A Cluster gets that one alone, from its owner.
//
// `own` and `further` have a line for each database: where it begins in `dump`, how many bytes each of its parts has, and its name
// (archive/parts.ts). Without `roles`, the backup is of a Cluster, and everything becomes its owner's.
//
// The database itself says which backup it began with: a comment, which the transaction that loads it writes. So a restore whose pod or
// Job was lost is repeated without harm. RESTORE_ID: uid of the record; what follows it is a LoadedBackup.

import { REFUSED } from '../../../schema/meta.ts';
import { SUPERUSER } from '../../record/database-driver.ts';
import { AWAIT_SERVER } from './await-server.ts';
import { CONTENTS, PSQL } from './contents-script.ts';
import { FIRST_OWN, IS_BLANK } from './dump-scripts.ts';
import { COPY_WORDS } from './own-words.ts';

/** Variable of the scripts: counts everything of a person that a database can have, which is relations that are not of an extension. */
export const OWN_RELATIONS = {
  name: 'OWN_RELATIONS',
  value: `select count(*) from pg_class c join pg_namespace n on n.oid = c.relnamespace
where n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
and not exists (select 1 from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')`,
};

const OTHER_DATABASES = "pg_database where datname not in (current_database(), 'postgres', 'template0', 'template1')";
const OTHER_ROLES = `pg_roles where oid >= ${FIRST_OWN} and oid <> (select datdba from pg_database where datname = current_database())`;

/** `mark`: the whole restore was done before. `half`: only what is set on the database is missing. `begun`: the rest of the server may have anything. */
const begin = (isWhole: boolean): string => `set -eu
umask 077
main=$PGDATABASE
mark="davit-restore $RESTORE_ID "
half="davit-restored $RESTORE_ID "
begun="davit-restoring $RESTORE_ID "
sql() {
  ${PSQL} "$@"
}
comment() {
  sql -c "select shobj_description(oid, 'pg_database') from pg_database where datname = current_database()"
}
empty() {
  count=$(sql -c "$OWN_RELATIONS")
  others=${isWhole ? `$(sql -c "select (select count(*) from ${OTHER_DATABASES}) + (select count(*) from ${OTHER_ROLES})")` : 0}
  if [ "$count$others" != 00 ]; then
    echo "The database is not empty: it has $count tables, indexes and sequences, and its server $others further databases and roles. A backup is loaded only into an empty database: create another deployment, with a scale of 0." >&2
    exit ${REFUSED}
  fi
}
`;

/** Leaves `loaded` where this restore was done before. */
export const checkScript = (isWhole: boolean): string => `${begin(isWhole)}${AWAIT_SERVER}now=$(comment)
case $now in
  "$mark"*) printf '%s' "\${now#"$mark"}" > loaded ;;
  "$half"* | "$begun"*) ;;
  *) empty ;;
esac
`;

/** What a try before has left, whose pod is gone. A role that is in use is not in the way. */
const UNDO = `  sql > /dev/null << 'END_OF_SQL'
select pg_terminate_backend(pid) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid();
select format('drop database %I', datname) from ${OTHER_DATABASES}
\\gexec
\\set ON_ERROR_STOP 0
select format('drop role %I', rolname) from ${OTHER_ROLES}
\\gexec
END_OF_SQL
`;

/**
 * Without the dump's last line, which commits, nothing is left, and no comment. A pipe hides a failure of its first command, which leaves
 * \`broken\`. \`fetched\` has no quotation marks of SQL.
 */
const LOAD = `take() {
  tail -c +$(($1 + 1)) dump | head -c "$2"
}
say() {
  sql -c "comment on database \\"$main\\" is '$1'"
}
numbers() {
  read -r at create before archive after _ << END_OF_LINE
$1
END_OF_LINE
  at=$((at + create))
}
load() {
  rm -f broken
  { take $((at + before)) "$archive" | pg_restore -f - --single-transaction --no-tablespaces $flags 2> problem || : > broken; } | {
    while IFS= read -r line; do
      printf '%s\\n' "$line"
      if [ "$line" = 'BEGIN;' ]; then
        take "$at" "$before"
        printf "do 'begin execute format(''comment on database %%I is ''''%s%s'''''', current_database()); end';\\n" "$half" "$(cat fetched)"
        break
      fi
    done
    cat
  } | psql -X -w -q -v ON_ERROR_STOP=1 > /dev/null 2>> problem || copy_words $?
  if [ -e broken ]; then copy_words 1; fi
  case $(comment) in
    "$half"*) ;;
    *) echo 'The backup was not loaded.' >&2; exit 1 ;;
  esac
}
after() {
  take $((at + before + archive)) "$after" | sql -v davit_owner="$owner" > /dev/null
}
`;

/** A server that was never loaded, or not to the end, has no further databases yet. */
const LOAD_SERVER = `if [ -e roles ]; then
  say "$begun"
  read -r at bytes passwords < roles
  take "$at" "$bytes" | sql --single-transaction -v davit_owner="$owner" > /dev/null
  take $((at + bytes)) "$passwords" | sql --single-transaction -v davit_owner="$owner" > /dev/null
  while IFS= read -r line <&3; do
    numbers "$line"
    if [ "$create" != 0 ]; then take $((at - create)) "$create" | sql -v davit_owner="$owner" > /dev/null; fi
    PGDATABASE=\${line#* * * * * }
    if [ "$(sql -c "${IS_BLANK}")" = t ]; then load; fi
    after
    sql -c "select format('comment on database %I is null', current_database()) as forget" > forget
    sql -f forget
    PGDATABASE=$main
  done 3< further
fi
`;

/** A Cluster gets one database, whose owner may neither set roles on it nor have the objects of others. */
export const loadScript = (
  isWhole: boolean,
): string => `${begin(isWhole)}${COPY_WORDS}${LOAD}export PGDATABASE PGOPTIONS
owner=$(sql -c 'select pg_get_userbyid(datdba) from pg_database where datname = current_database()')
flags='--no-owner --no-privileges'
PGOPTIONS="-c role=$owner"
${isWhole ? 'if [ -e roles ]; then flags= PGOPTIONS=; fi\n' : ''}if [ ! -e loaded ]; then
  now=$(comment)
  case $now in
    "$half"*) ;;
    *)
      case $now in "$begun"*)
${UNDO}      ;; esac
      empty
${isWhole ? LOAD_SERVER : ''}      numbers "$(cat own)"
      load
      ;;
  esac
${isWhole ? '  numbers "$(cat own)"\n  after\n' : ''}  now=$(comment)
  say "$mark\${now#"$half"}"
fi
now=$(comment)
case $now in
  "$mark"*) printf '%s' "\${now#"$mark"}" > /dev/termination-log ;;
  *) echo 'The backup was not loaded.' >&2; exit 1 ;;
esac
`;

/** What the server has then, as \`contents\`. */
export const COUNT = `export PGUSER=${SUPERUSER.user}
unset PGOPTIONS
while IFS= read -r line <&3; do
  PGDATABASE=\${line#* * * * * }
${CONTENTS}done 3< further
PGDATABASE=$main
${CONTENTS}`;
