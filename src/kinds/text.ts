// Text for people that contains text from outside: server messages, container messages, lists of names. These have no maximum
// length, and the API server rejects a whole status for one string that is too long.

/** Maximum length of a message of a condition or revision, as in the schemas. The API server counts characters, not UTF-16 units. */
export const LONGEST_MESSAGE = 4096;
/** Maximum length of a quotation of text from outside in a message. */
export const LONGEST_QUOTE = 1024;
/** Maximum number of names of a list in a message. */
const MOST_LISTED = 20;
const LONGEST_NAME = 300;
const ELLIPSIS = '…';

/**
 * Control characters except line break and tab, bidirectional marks, and code points that are not characters. Terminals
 * interpret them, and the API server rejects some of them in the body of an apply.
 */
const UNPRINTABLE =
  // oxlint-disable-next-line no-control-regex -- the pattern searches for control characters
  /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069\uFEFF\uFFFE\uFFFF]/g;

/**
 * Sequences that colour or move text in a terminal, set its title or make links. Source: ECMA-48, 5.6 (strings), 5.4 (control sequences)
 * and 5.5 (other functions). The text of a string without its end stays: somebody's output must not hide what follows it.
 */
const ESCAPES = new RegExp(
  [
    String.raw`(?:\u001B[\]PX^_]|[\u0090\u0098\u009D-\u009F])[^\u0007\u001B\u0080-\u009F]*(?:\u0007|\u001B\\|\u009C)`,
    String.raw`(?:\u001B\[|\u009B)[0-?]*[ -/]*[@-~]`,
    String.raw`\u001B[ -/]*[0-~]`,
  ].join('|'),
  'g',
);

/** `text` without the escape sequences of terminals. */
export function withoutEscapes(text: string): string {
  return text.replaceAll(ESCAPES, '');
}

/**
 * `text` truncated to `most` characters. Characters that cannot be shown are replaced by U+FFFD. Unpaired surrogates
 * are replaced too: the API server would store other text than was sent, and every reconcile would write the status
 * again.
 */
export function shortened(text: string, most = LONGEST_MESSAGE): string {
  if (text.length <= most) return printable(text);
  const beginning = text.slice(0, most - ELLIPSIS.length);
  const isHalved = /[\uD800-\uDBFF]$/.test(beginning);
  return `${printable(isHalved ? beginning.slice(0, -1) : beginning)}${ELLIPSIS}`;
}

/** An argument that stays as it is: the kubelet replaces `$(NAME)` in command lines, and `$$` by `$`. */
export function literal(text: string): string {
  return text.replaceAll('$', () => '$$');
}

/** `text` of any length with U+FFFD for characters that cannot be shown. */
export function printable(text: string): string {
  return text.toWellFormed().replaceAll(UNPRINTABLE, '\uFFFD');
}

/** Text from outside on one line, truncated, without the full stop at its end. */
export function quoted(words: string | undefined, most = LONGEST_QUOTE): string {
  // Truncated before matching, because a message may have megabytes.
  const line = withoutEscapes((words ?? '').slice(0, most * 4))
    .replaceAll(/\s+/g, ' ')
    .trim();
  return shortened(line, most).replace(/\.$/, '');
}

/**
 * `message`, or `said` if the two differ only in numbers and ids: a server's message may contain a port or a request id. A status write
 * wakes its object, so each try would cause the next one.
 */
export function steadyMessage(message: string, said: string | undefined): string {
  return said !== undefined && withoutIds(said) === withoutIds(shortened(message)) ? said : message;
}

/** Every word with a digit stands for any other. */
function withoutIds(text: string): string {
  return text.replaceAll(/[A-Za-z0-9]+/g, (word) => (/\d/.test(word) ? '#' : word));
}

/** `a, b, c`. For a long list, its beginning and the number of the others: `a, b … and 87 more`. */
export function listed(items: readonly string[], separator = ', '): string {
  const first = items.slice(0, MOST_LISTED).map((item) => shortened(item, LONGEST_NAME));
  // The list must fit into a message together with the text around it.
  while (first.length > 1 && first.join(separator).length > LONGEST_MESSAGE / 2) first.pop();
  const left = items.length - first.length;
  return `${first.join(separator)}${left > 0 ? ` ${ELLIPSIS} and ${left} more` : ''}`;
}

/** A number of bytes for people, the same wherever it stands: `3.3 KiB`. */
export function bytesText(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  const kibibytes = bytes / 1024;
  if (kibibytes < 1024) return `${kibibytes.toFixed(1)} KiB`;
  const mebibytes = kibibytes / 1024;
  return mebibytes < 1024 ? `${mebibytes.toFixed(1)} MiB` : `${(mebibytes / 1024).toFixed(1)} GiB`;
}

interface YamlOptions {
  readonly lineWidth: 0;
  readonly aliasDuplicateObjects: false;
  readonly defaultStringType?: 'QUOTE_DOUBLE';
  readonly defaultKeyType?: 'PLAIN';
}

/**
 * YAML in which a character that is not printed as it is stands as its escape, so that no value changes on its way through a file.
 * `stringify`: of the library yaml, which not everybody who needs texts has loaded.
 */
export function yamlText(value: unknown, stringify: (value: unknown, options: YamlOptions) => string): string {
  const options = { lineWidth: 0, aliasDuplicateObjects: false } as const;
  const text = stringify(value, options);
  if (printable(text) === text) return text;
  // Only these have escapes. Source: YAML 1.2, section 5.7.
  const quoted = stringify(value, { ...options, defaultStringType: 'QUOTE_DOUBLE', defaultKeyType: 'PLAIN' });
  const escaped = (one: string): string => `\\U${(one.codePointAt(0) ?? 0).toString(16).padStart(8, '0')}`;
  return Array.from(quoted, (one) => (printable(one) === one ? one : escaped(one))).join('');
}
