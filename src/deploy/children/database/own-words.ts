// What a program of PostgreSQL may say in a pod of Davit's own: last words of containers stand in conditions and events, which people
// read who may not read the data.

import { REFUSED } from '../../../kinds/meta.ts';

const HIDDEN = 'the error may quote a row, so it is not shown here. Load the backup by hand to see it';

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
 * The same of psql with WITH_CODES: the error, or the table whose rows have one. What is said of a row that is copied may quote any of its
 * values, also where the words are those of a missing role or relation. An error of the statements themselves, which the next try would have too,
 * ends with REFUSED, unless another try has loaded the backup meanwhile. SQLSTATEs of classes 08, 40, 53, 55, 57 and 58, and 25006 of a server that
 * is a standby, are of the server's state (PostgreSQL, appendix A).
 */
export const COPY_WORDS = `copy_words() {
  if grep -q -E '^(CONTEXT:  )?COPY [^,]+, line ' problem; then
    sed -n -E 's/^(CONTEXT:  )?COPY ([^,]*), line .*/COPY failed for table "\\2": ${HIDDEN}/p' problem | head -n 1 >&2
  else
    sed -n -E -e 's/((ERROR|FATAL):  )[0-9A-Z]{5}: /\\1/p' -e '/^pg_restore: /p' -e '/^sh: /p' problem >&2
  fi
  if [ "$1" = 3 ] && grep -q 'ERROR:  ' problem && ! grep -q -E 'ERROR:  (08|40|53|55|57|58|25006)' problem; then
    case $(comment 'current_database()') in
      "$mark"*) ;;
      *) exit ${REFUSED} ;;
    esac
  fi
  exit "$1"
}
`;

/** Options of psql whose errors `copy_words` reads. */
export const WITH_CODES = '-v VERBOSITY=verbose';

/** Options of psql where no rows are copied: the error alone. */
export const ERROR_ALONE = '-v VERBOSITY=terse -v SHOW_CONTEXT=never';
