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

/**
 * Returns the position of the first error in text that JSON.parse rejects. It recurses, so the caller limits the depth
 * of nesting.
 */
export function errorPosition(text: string): Position {
  let at = 0;
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
  function takeValue(): boolean {
    if (takeCharacter('{')) return takeMembers('}');
    if (takeCharacter('[')) return takeMembers(']');
    return take(STRING) || take(SCALAR);
  }
  takeValue();
  take(SPACE);
  const before = text.slice(0, at).split('\n');
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}
