// Shell lines of the pods that make and load dumps.

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
