// Shell lines of the pods that make and load dumps.

/**
 * How each of these scripts begins. The owner of a database may set anything on it. With a search path of the owner's, names in statements of the
 * superuser would be those of the owner's functions and views. Options of a connection take precedence over what is set on databases and roles.
 */
export const BEGIN = `set -eu
umask 077
export PGOPTIONS='-c search_path=pg_catalog -c role=none -c default_transaction_read_only=off'
`;

/**
 * Writes `server-version` when the database answers. A new pod may begin before the network lets it through, so the first connection
 * is tried for two minutes.
 */
export const AWAIT_SERVER = `tries=0
until psql -X -w -q -A -t -c 'show server_version_num' > server-version 2> problem; do
  tries=$((tries + 1))
  if [ "$tries" -ge 60 ]; then cat problem >&2; exit 1; fi
  sleep 2
done
`;
