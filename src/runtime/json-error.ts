// Finds where a syntax error in JSON text is, and what is wrong there. The error of JSON.parse does not always contain the position,
// and never for truncated text.

const SPACE = /[ \t\r\n]*/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;
/** Before it are control characters, which a text holds only as escapes. */
const FIRST_PRINTABLE = 0x20;

/** `line` and `column` count from 1. `column` is in UTF-16 code units. */
export interface SyntaxFault {
  readonly line: number;
  readonly column: number;
  /** A sentence without its capital letter and full stop. It quotes at most one character of the text, or two of an escape. */
  readonly why: string;
}

/** Levels of nesting; a stack is deeper still. */
const MAX_DEPTH = 1000;

/**
 * Returns the first error in text that JSON.parse rejects. For an error within a string it is the position of its opening quote.
 * Nesting deeper than MAX_DEPTH counts as the error.
 */
export function syntaxFault(text: string): SyntaxFault {
  let at = 0;
  let depth = 0;
  let why: string | undefined;
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
    why = faultInString(text, at);
    // What is missing is most often the closing quote, and then the error is where the string begins.
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
    if (depth > MAX_DEPTH) why = `it is nested more than ${MAX_DEPTH} deep`;
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
  why ??= at >= text.length ? 'the text ends too early' : `${characterAt(text, at)} is not expected here`;
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1, why };
}

function faultInString(text: string, at: number): string {
  const isEscape = text[at] === '\\';
  if (at + Number(isEscape) >= text.length) return 'the string that begins here has no closing quote';
  if (isEscape) return `the string that begins here has an invalid escape, \\${text.slice(at + 1, at + 2)}`;
  const character =
    text[at] === '\n' ? 'a line break, which JSON writes as \\n' : `the control character ${characterAt(text, at)}`;
  return `the string that begins here contains ${character}`;
}

function characterAt(text: string, at: number): string {
  return JSON.stringify(String.fromCodePoint(text.codePointAt(at) ?? 0));
}
