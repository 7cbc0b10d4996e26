// Text for people that is made of text from outside: server messages, container messages, lists of names. Nobody bounds
// those, and the API server refuses a whole status for one string that is too long.

/** The longest message of a condition or revision, as the schemas say. The API server counts characters, not UTF-16 units. */
export const LONGEST_MESSAGE = 4096;
/** The longest quotation of text from outside within a message. */
export const LONGEST_QUOTE = 1024;
/** So many names of a list are enough to act on. */
const MOST_LISTED = 20;
const LONGEST_NAME = 300;
const ELLIPSIS = '…';

/**
 * Control characters but line break and tab, marks that turn the direction of text, and what is no character. A terminal
 * obeys them, and the API server refuses some of them in the body of an apply.
 */
const UNPRINTABLE =
  // oxlint-disable-next-line no-control-regex -- they are what is looked for
  /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069\uFEFF\uFFFE\uFFFF]/g;

/**
 * `text` with at most `most` characters, all of which can be shown; others are replaced by U+FFFD. Halves of a character
 * are replaced too: the API server would store something else than was sent, and the status would be written again at
 * every look.
 */
export function shortened(text: string, most = LONGEST_MESSAGE): string {
  if (text.length <= most) return printable(text);
  const beginning = text.slice(0, most - ELLIPSIS.length);
  const isHalved = /[\uD800-\uDBFF]$/.test(beginning);
  return `${printable(isHalved ? beginning.slice(0, -1) : beginning)}${ELLIPSIS}`;
}

function printable(text: string): string {
  return text.toWellFormed().replaceAll(UNPRINTABLE, '\uFFFD');
}

/** Text from outside on one line, cut to what a person reads, without the full stop at its end. */
export function quoted(words: string | undefined, most = LONGEST_QUOTE): string {
  // Cut before anything is matched: a message may have megabytes.
  const line = (words ?? '')
    .slice(0, most * 4)
    .replaceAll(/\s+/g, ' ')
    .trim();
  return shortened(line, most).replace(/\.$/, '');
}

/** `a, b, c`; of a long list its beginning and how many more there are: `a, b … and 87 more`. */
export function listed(items: readonly string[], separator = ', '): string {
  const first = items.slice(0, MOST_LISTED).map((item) => shortened(item, LONGEST_NAME));
  // So that all of them fit into a message beside what is said of them.
  while (first.length > 1 && first.join(separator).length > LONGEST_MESSAGE / 2) first.pop();
  const left = items.length - first.length;
  return `${first.join(separator)}${left > 0 ? ` ${ELLIPSIS} and ${left} more` : ''}`;
}
