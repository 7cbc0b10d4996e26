// Shell scripts of the pods that move a database to one that is not Davit's. Its URI is in the variable EXTERNAL_URI, and neither it nor
// its password is on a command line, or in anything that is printed. Imports no zod at run time, because kubectl-davit bundles it.

import { REFUSED } from '../../../schema/meta.ts';
import { POSTGRES_URI_STEPS } from '../wait-scripts.ts';
import { AWAIT_SERVER } from './await-server.ts';
import { OWN_RELATIONS } from './load-scripts.ts';
import { COPY_WORDS, ERROR_ALONE, OWN_WORDS } from './own-words.ts';

/** Where the authority's certificate is, if the Secret with the URI has one. */
export const CA_FOLDER = '/external';
export const CA_KEY = 'ca.crt';

const BEGIN = `set -eu
umask 077
`;

/** One system and one database of it: the same numbers for whoever asks. Empty for who may not ask. */
const IDENTITY =
  "select (select system_identifier from pg_control_system()) || '/' || oid from pg_database where datname = current_database()";

/**
 * A server, as long as it runs: the number that it was made with, and when it was started. A copy of its volume has the first in common,
 * and not the second. Every role may ask for both, unless somebody has revoked that.
 */
const SERVER =
  "select (select system_identifier from pg_control_system()) || '/' || (extract(epoch from pg_postmaster_start_time()) * 1000000)::bigint";

/** In the present database: what the next one is compared with, and its schema without rows. */
export const DESCRIBE = `${BEGIN}${OWN_WORDS}${AWAIT_SERVER}mv server-version present-version
psql -X -w -q -A -t -c "select pg_encoding_to_char(encoding) from pg_database where datname = current_database()" > present-encoding
psql -X -w -q -A -t -c "${IDENTITY}" > present-identity 2> problem || : > present-identity
psql -X -w -q -A -t -c "${SERVER}" > present-server 2> problem || : > present-server
printf '%s' "$PGHOST" > present-host
pg_dump -w -F custom --schema-only --no-owner --no-privileges -f schema 2> problem || own_words $?
`;

/** `refuse WORDS` ends where another try would mend nothing. */
const REFUSE = `refuse() {
  printf '%s\\n' "$1" >&2
  exit ${REFUSED}
}
`;

const PLAIN_NAMES = 'set search_path = pg_catalog';

/**
 * Connects as the application will: with the parameters of its URI, except for those that PostgreSQL's programs do not know. A URI whose
 * server they could not verify as it asks is refused. \`ask\` runs psql, with statements by -c or -f. Whoever had the database before may
 * have left functions and a search_path of its own, so only what PostgreSQL has is found. What the server answers is compared or said, and
 * never read as statements.
 */
const CONNECT = `${REFUSE}uri=$EXTERNAL_URI
unset EXTERNAL_URI
${POSTGRES_URI_STEPS.begin}${POSTGRES_URI_STEPS.read}[ "$usable" = yes ] || refuse 'The URI cannot be read. It is postgresql://user:password@host:port/database, special characters percent-encoded.'
case "&$query" in
  *'&sslcert='* | *'&sslkey='*) refuse 'The URI names a client certificate (sslcert, sslkey), which is a file that only the application has. Load the backup by hand.' ;;
esac
if [ ! -r "$root" ] && [ -r ${CA_FOLDER}/${CA_KEY} ]; then root=${CA_FOLDER}/${CA_KEY}; fi
${POSTGRES_URI_STEPS.verify}[ "$blind" = no ] || refuse 'The URI asks to verify the server (sslmode), by the certificate of an authority that only the application has. Add that certificate to the Secret, as key ${CA_KEY}.'
unset uri rest authority userinfo password query parameter value
export PGCONNECT_TIMEOUT=10
ask() {
  psql -X -w -q -A -t -v ON_ERROR_STOP=1 ${ERROR_ALONE} -d "$target" -c '${PLAIN_NAMES}' "$@"
}
tries=0
until ask -c 'show server_version_num' > server-version 2> problem; do
  tries=$((tries + 1))
  if [ "$tries" -ge "$TRIES" ]; then cat problem >&2; exit 1; fi
  sleep 2
done
`;

/** The comment says what it began with. RESTORE_ID: uid of the record, number of the database and backup. */
const COMMENT = `mark="davit-restore $RESTORE_ID "
comment() {
  ask -c "select shobj_description(oid, 'pg_database') from pg_database where datname = current_database()"
}
`;

/** psql puts the name in that it has connected to. */
const COMMENT_ON_IT = `${PLAIN_NAMES};\\nCOMMENT ON DATABASE :\\"DBNAME\\" IS`;

const EMPTY = `count=$(ask -c "$OWN_RELATIONS")
[ "$count" = 0 ] || refuse "The database is not empty: it has $count tables, indexes and sequences. A database is moved only into an empty one."
now=$(comment)
case $now in
  "davit-restore \${RESTORE_ID%%/*}/"*) ;;
  'davit-restore '*) refuse 'The database has the mark of another deployment, which was loaded into it. If that does not use it any more, remove the mark (COMMENT ON DATABASE ... IS NULL) and run the command again.' ;;
esac
`;

/** One row: why it cannot be used, or nothing. PRESENT: server_version_num of the database before. */
const UNFIT = `select case
when pg_is_in_recovery() or current_setting('default_transaction_read_only') = 'on'
then 'The server takes no writes: it is a standby, or the user may only read.'
when current_setting('server_version_num')::int / 10000 < :present / 10000
then format('The server has PostgreSQL %s, which is older than PostgreSQL %s of the present database. A backup is loaded into the same major version or a newer one.', current_setting('server_version_num')::int / 10000, :present / 10000)
when pg_encoding_to_char(d.encoding) <> :'encoding'
then format('The database has the encoding %s, and the present one has %s. Create it with: ENCODING %L TEMPLATE template0.', pg_encoding_to_char(d.encoding), :'encoding', :'encoding')
when to_regnamespace('public') is null
then 'The database has no schema public.'
when not pg_has_role(d.datdba, 'USAGE')
then format('User %s is not the owner of the database, who alone may mark it as loaded: ALTER DATABASE %I OWNER TO %I.', current_user, current_database(), current_user)
else '' end
from pg_database d where d.datname = current_database()`;

/** What psql says of where it has connected to. */
const HOST = "select :'HOST'";

/**
 * Refuses another database of the server that Davit stops with the present one. Without an answer of the server, by the names of its
 * Services: that of Davit, and those of CloudNativePG.
 */
const NOT_OWN_SERVER = `if [ "$OWN_SERVER" = yes ]; then
  is_own=no
  server=$(ask -c "${SERVER}" 2> problem) || server=
  if [ -n "$server" ] && [ "$server" = "$(cat present-server)" ]; then is_own=yes; fi
  service=$(cat present-host)
  service=\${service%.svc}
  space=\${service#*.} service=\${service%%.*}
  at=$(ask -f - <<'END'
${HOST};
END
)
  case \${at%%.*} in "$service" | "$service-rw" | "$service"-[0-9]*)
    case \${at#*.} in "$at" | "$space" | "$space".* | "$service" | "$service.$space" | "$service.$space".*) is_own=yes ;; esac ;;
  esac
  [ "$is_own" = no ] || refuse 'The URI is that of another database on the own server of the deployment. Davit stops that server when it is moved from, and the data with it. Put the URI of another server into the Secret. A newer PostgreSQL and another driver need no URI: kubectl davit database upgrade, or move --driver.'
fi
`;

/** What is said of it: ExternalServer. psql knows where it has connected to. */
const ABOUT = `select json_build_object('host', :'HOST', 'port', :'PORT', 'database', current_database(), 'user', current_user, 'version', current_setting('server_version'))`;

/**
 * Before anything is stopped, beside what DESCRIBE has left. The schema is made in a transaction that is rolled back, so that a missing
 * right or extension is known. URI_SCHEME: what the application expects, if it does not take any. OWN_SERVER: yes, where Davit runs the
 * server of the present database for this deployment alone.
 */
export const TRY = `${BEGIN}TRIES=5
${COPY_WORDS}${CONNECT}${COMMENT}if [ -n "$URI_SCHEME" ] && [ "$scheme" != "$URI_SCHEME" ]; then
  refuse "The deployment gives its programs URIs with the scheme $URI_SCHEME (runtime.postgres_uri_scheme), and an external one is given as it is. Write this scheme into the URI in the Secret."
fi
identity=$(ask -c "${IDENTITY}" 2> problem) || identity=
if [ -n "$identity" ] && [ "$identity" = "$(cat present-identity)" ]; then
  refuse 'The URI is that of the database that the deployment has now.'
fi
${NOT_OWN_SERVER}trouble=$(ask -v present="$(cat present-version)" -v encoding="$(cat present-encoding)" -f - <<'END'
${UNFIT};
END
)
[ -z "$trouble" ] || refuse "$trouble"
${EMPTY}pg_restore -f schema.sql --no-owner --no-privileges schema
{
  printf "BEGIN;\\n${COMMENT_ON_IT} 'davit-restore';\\n"
  cat schema.sql
  printf 'ROLLBACK;\\n'
} | psql -X -w -q -v ON_ERROR_STOP=1 -d "$target" > /dev/null 2> problem || copy_words $?
left=$(ask -c "$OWN_RELATIONS")
[ "$left" = 0 ] || refuse "The schema has a text that ends its transaction, so the trial has left $left tables, indexes and sequences. Look at the definitions of views and functions, and empty the external database."
ask -f - > /dev/termination-log <<'END'
${ABOUT};
END
`;

/** Leaves \`loaded\` where this move has loaded it before, and \`server-version\`. */
export const CHECK_EXTERNAL = `${BEGIN}TRIES=60
${CONNECT}${COMMENT}now=$(comment)
case $now in
  "$mark"*) printf '%s' "\${now#"$mark"}" > loaded; exit 0 ;;
esac
${EMPTY}`;

/** Two may load at the same time: the one that waits for the mark of the other sees then that it is not empty. */
const STILL_EMPTY = `DO $davit$ BEGIN IF (${OWN_RELATIONS.value}) <> 0 THEN RAISE EXCEPTION 'the database is not empty any more'; END IF; END $davit$;`;

/** All of the dump and the mark in one transaction, or nothing. What was loaded is read from the database: a pipe hides the failure of its first command. */
export const LOAD_EXTERNAL = `${BEGIN}TRIES=60
${COPY_WORDS}${CONNECT}${COMMENT}failed=0
if [ ! -e loaded ]; then
  ${EMPTY}pg_restore -f - --single-transaction --no-owner --no-privileges dump | {
    while IFS= read -r line; do
      printf '%s\\n' "$line"
      if [ "$line" = 'BEGIN;' ]; then
        printf "${COMMENT_ON_IT} '%s%s';\\n%s\\n" "$mark" "$(cat fetched)" "$STILL_EMPTY"
        break
      fi
    done
    cat
  } | psql -X -w -q -v ON_ERROR_STOP=1 -d "$target" > /dev/null 2> problem || failed=$?
fi
now=$(comment)
case $now in
  "$mark"*) printf '%s' "\${now#"$mark"}" > /dev/termination-log ;;
  *)
    [ "$failed" = 0 ] || copy_words "$failed"
    echo 'The backup was not loaded.' >&2
    exit 1 ;;
esac
`;

/** Variables of the scripts of the external database, beside EXTERNAL_URI and RESTORE_ID. */
export const EXTERNAL_ENV = [OWN_RELATIONS, { name: 'STILL_EMPTY', value: STILL_EMPTY }];
