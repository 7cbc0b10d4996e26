// Finds one string in a large JSON text without building values of the rest, step by step: JSON.parse of ten megabytes can keep the
// event loop for seconds. Pure.

const [QUOTE, BACKSLASH, COLON] = [0x22, 0x5c, 0x3a];
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_LIST, CLOSE_LIST] = [0x7b, 0x7d, 0x5b, 0x5d];
const SPACES: ReadonlySet<number | undefined> = new Set([0x20, 0x09, 0x0a, 0x0d]);
/** Longer strings are neither a key nor the value that is sought. */
const LONGEST_STRING = 4096;

/**
 * Yields undefined after each `step` bytes, and at the end the string at `path` in the outer object, if it is there. The first one
 * counts if a key is there twice. Text that is not JSON yields any string or none.
 */
export function* stringAt(text: Uint8Array, path: readonly string[], step: number): Generator<string | undefined> {
  const bytes = Buffer.from(text.buffer, text.byteOffset, text.byteLength);
  /** Objects and lists that are open, and how many of them are the objects on the path. */
  let [depth, onPath] = [0, 0];
  let nextStep = step;
  let at = afterSpaces(bytes, 0);
  if (bytes[at] !== OPEN_OBJECT) return;
  for (; at < bytes.length; at += 1) {
    if (at >= nextStep) {
      nextStep = at + step;
      yield undefined;
    }
    const byte = bytes[at];
    if (byte === OPEN_OBJECT || byte === OPEN_LIST) {
      depth += 1;
      onPath ||= 1;
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) {
      if (depth === onPath) onPath -= 1;
      depth -= 1;
      if (onPath === 0) return;
    } else if (byte === QUOTE) {
      const end = endOfString(bytes, at);
      const isKey = depth === onPath && bytes[afterSpaces(bytes, end + 1)] === COLON;
      if (isKey && stringIn(bytes, at, end) === path[onPath - 1]) {
        const value = afterSpaces(bytes, afterSpaces(bytes, end + 1) + 1);
        const isLast = onPath === path.length;
        if (isLast) return yield bytes[value] === QUOTE ? stringIn(bytes, value, endOfString(bytes, value)) : undefined;
        if (bytes[value] === OPEN_OBJECT) {
          [depth, onPath, at] = [depth + 1, onPath + 1, value];
          continue;
        }
      }
      at = end;
    }
  }
}

/** Where the string that begins at `start` ends: the index of its quotation mark. */
function endOfString(bytes: Buffer, start: number): number {
  let at = start + 1;
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return at;
}

function afterSpaces(bytes: Buffer, start: number): number {
  let at = start;
  while (SPACES.has(bytes[at])) at += 1;
  return at;
}

function stringIn(bytes: Buffer, start: number, end: number): string | undefined {
  if (end - start > LONGEST_STRING) return undefined;
  try {
    return JSON.parse(bytes.toString('utf8', start, end + 1)) as string;
  } catch {
    return undefined;
  }
}
