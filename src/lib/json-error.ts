// Finds the position of a syntax error in JSON text. The error of JSON.parse does not always contain it, and never for
// truncated text.

const SPACE = /[ \t\r\n]*/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;
/** Before it are control characters, which a text holds only as escapes. */
const FIRST_PRINTABLE = 0x20;

/** Both count from 1. `column` is in UTF-16 code units. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** Levels of nesting; a stack is deeper still. */
const MAX_DEPTH = 1000;

/**
 * Returns the position of the first error in text that JSON.parse rejects. Nesting deeper than MAX_DEPTH counts as the
 * error.
 */
export function errorPosition(text: string): Position {
  let at = 0;
  let depth = 0;
  function take(pattern: RegExp): boolean {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found === null) return false;
    at += found[0].length;
    return true;
  }
  /** A loop, because a regular expression backtracks in text that does not end, or needs the stack for each character. */
  function takeString(): boolean {
    if (text[at] !== '"') return false;
    const start = at;
    at += 1;
    while (at < text.length) {
      if (text[at] === '"') {
        at += 1;
        return true;
      }
      if (text[at] !== '\\' && text.charCodeAt(at) >= FIRST_PRINTABLE) at += 1;
      else if (!take(ESCAPE)) break;
    }
    // The error is where the text begins: what is missing is most often its closing quote.
    at = start;
    return false;
  }
  function takeCharacter(character: string): boolean {
    take(SPACE);
    if (text[at] !== character) return false;
    at += 1;
    return true;
  }
  function takeMember(close: string): boolean {
    if (close === ']') return takeValue();
    take(SPACE);
    return takeString() && takeCharacter(':') && takeValue();
  }
  function takeMembers(close: string): boolean {
    if (takeCharacter(close)) return true;
    while (takeMember(close)) {
      if (takeCharacter(close)) return true;
      if (!takeCharacter(',')) return false;
    }
    return false;
  }
  function takeNested(close: string): boolean {
    depth += 1;
    const isWhole = depth <= MAX_DEPTH && takeMembers(close);
    depth -= 1;
    return isWhole;
  }
  function takeValue(): boolean {
    if (takeCharacter('{')) return takeNested('}');
    if (takeCharacter('[')) return takeNested(']');
    return takeString() || take(SCALAR);
  }
  takeValue();
  take(SPACE);
  const before = text.slice(0, at).split('\n');
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}
