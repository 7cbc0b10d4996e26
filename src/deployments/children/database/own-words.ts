// What a program of PostgreSQL may say in a pod of Davit's own: last words of containers stand in conditions and events, which people
// read who may not read the data.

/**
 * `own_words CODE` ends with this code, and writes what the program itself has said to `problem`. What PostgreSQL adds to an error
 * (DETAIL, CONTEXT, QUERY) is on lines of its own, and may be rows of a table.
 */
export const OWN_WORDS = `own_words() {
  sed -n -e '/^pg_[a-z]*: /p' -e '/^sh: /p' problem >&2
  exit "$1"
}
`;

/** Options of psql for the same: the error alone. */
export const ERROR_ALONE = '-v VERBOSITY=terse -v SHOW_CONTEXT=never';
