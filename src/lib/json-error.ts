// Finds the position of a syntax error in JSON text. The error of JSON.parse does not always contain it, and never for
// truncated text.

const SPACE = /[ \t\r\n]*/y;
const STRING = /"(?:[^"\\\u0000-\u001f]+|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;

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
  function takeCharacter(character: string): boolean {
    take(SPACE);
    if (text[at] !== character) return false;
    at += 1;
    return true;
  }
  function takeMember(close: string): boolean {
    if (close === ']') return takeValue();
    take(SPACE);
    return take(STRING) && takeCharacter(':') && takeValue();
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
    return take(STRING) || take(SCALAR);
  }
  takeValue();
  take(SPACE);
  const before = text.slice(0, at).split('\n');
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}
