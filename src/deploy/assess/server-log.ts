// What of PostgreSQL's log may be quoted in a condition, whose readers may not read the data.

/** The kubelet takes the last bytes of a log, wherever a line begins. */
const TAIL_BYTES = 2048;

/** Such lines follow an error, and have rows, keys and statements. What belongs to one stands on further lines. */
const ADDED = /(?:^|\s)(?:DETAIL|HINT|QUERY|CONTEXT|STATEMENT|LOCATION): {2}/;
const MESSAGE = /(?:^|\s)(?:DEBUG\d?|LOG|INFO|NOTICE|WARNING|ERROR|FATAL|PANIC): {2}/;

/** The messages alone, without what PostgreSQL adds to them. `log`: the end of its log. */
export function messagesOnly(log: string): string {
  let isHidden = Buffer.byteLength(log) >= TAIL_BYTES;
  const lines = log.split('\n').filter((line) => {
    if (ADDED.test(line)) isHidden = true;
    else if (MESSAGE.test(line) && !line.startsWith('\t')) isHidden = false;
    return !isHidden;
  });
  return withoutValues(lines.join('\n'));
}

/**
 * A message of PostgreSQL about a value quotes it, as in `invalid input syntax for type integer: "4111"` (its class 22). Names of tables
 * and columns, which stand elsewhere, stay.
 */
export function withoutValues(message: string): string {
  return message.replaceAll(/: "[^\n]*"/g, ': (a value)').replaceAll(/\bvalue "[^\n]*"/g, 'value (not shown)');
}
