// What a program of PostgreSQL may say in a pod of Davit's own: last words of containers stand in conditions and events, which people
// read who may not read the data.

const HIDDEN = 'the log of the database has the error, which may quote a row';

/**
 * `own_words CODE` ends with this code, and writes what the program itself has said to `problem`. What PostgreSQL adds to an error
 * (DETAIL, CONTEXT, QUERY) is on lines of its own, and may be rows of a table.
 */
export const OWN_WORDS = `own_words() {
  sed -n -e 's/\\(COPY failed for table "[^"]*"\\): .*/\\1: ${HIDDEN}/' -e '/^pg_[a-z]*: /p' -e '/^sh: /p' problem >&2
  exit "$1"
}
`;

/**
 * The same of psql: the error, or the table whose rows have one. What is said of a row that is copied may quote any of its values, also where the
 * words are those of a missing role or relation.
 */
export const COPY_WORDS = `copy_words() {
  if grep -q -E '^(CONTEXT:  )?COPY [^,]+, line ' problem; then
    sed -n -E 's/^(CONTEXT:  )?COPY ([^,]*), line .*/COPY failed for table "\\2": ${HIDDEN}/p' problem | head -n 1 >&2
  else
    sed -n -e '/ERROR:  /p' -e '/FATAL:  /p' -e '/^pg_restore: /p' -e '/^sh: /p' problem >&2
  fi
  exit "$1"
}
`;

/** Options of psql where no rows are copied: the error alone. */
export const ERROR_ALONE = '-v VERBOSITY=terse -v SHOW_CONTEXT=never';
