// Reads the text of a .env file, in the order of its lines, as Node.js reads one. What Node.js skips or cuts off without a word is an
// error here. Pure.

import { VARIABLE_NAME_PATTERN } from './name-patterns.ts';
import type { PlainVariable } from './plain-variables.ts';

export type ReadEnv =
  | { readonly variables: readonly PlainVariable[] }
  /** In the order of their places, each as `path:line:column: words`. None has a value, which may be secret. */
  | { readonly errors: readonly string[] };

interface Assignment extends PlainVariable {
  /** Offset of what follows it. */
  readonly end: number;
}
interface Mistake {
  readonly at: number;
  readonly words: string;
  /** Where reading continues. */
  readonly end: number;
}

const NAME = new RegExp(VARIABLE_NAME_PATTERN);

/** `path` is how errors name the file. */
export function readEnvText(content: string, path: string): ReadEnv {
  const text = content.replace(/^\uFEFF/, '').replace(/\r\n?/g, '\n');
  const values = new Map<string, PlainVariable & { readonly at: number }>();
  const errors: string[] = [];
  for (let at = nextLine(text, 0); at < text.length; ) {
    const read = assignmentAt(text, at);
    if ('words' in read) errors.push(`${path}:${placeOf(text, read.at)}: ${read.words}`);
    else {
      const { name, value } = read;
      const before = values.get(name);
      if (before)
        errors.push(
          `${path}:${placeOf(text, at)}: ${name} is set twice: line ${lineOf(text, before.at)} sets it as well.`,
        );
      else values.set(name, { name, value, at });
    }
    at = nextLine(text, read.end);
  }
  if (errors.length > 0) return { errors };
  return { variables: Array.from(values.values(), ({ name, value }) => ({ name, value })) };
}

/** Offset of the next text that is neither space nor a comment. */
function nextLine(text: string, from: number): number {
  return from + (/^(?:\s|#[^\n]*)*/.exec(text.slice(from))?.[0].length ?? 0);
}

function assignmentAt(text: string, at: number): Assignment | Mistake {
  const end = endOfLine(text, at);
  const [before = '', name = ''] = /^(?:export[ \t]+)?([^=]*)/.exec(text.slice(at, end)) ?? [];
  const equals = at + before.length;
  if (equals === end) return { at, words: 'This line sets no variable. Write KEY=VALUE, or # before a comment.', end };
  if (!NAME.test(name.trim()))
    return { at, words: 'The name of a variable has letters, digits and _, and does not begin with a digit.', end };
  const begin = equals + 1 + (/^[ \t]*/.exec(text.slice(equals + 1, end))?.[0].length ?? 0);
  const value = /^["'`]/.test(text.slice(begin)) ? quotedAt(text, begin) : plainAt(text, begin, end);
  return 'words' in value ? value : { name: name.trim(), ...value };
}

type Value = Pick<Assignment, 'value' | 'end'> | Mistake;

/** A value in quotes may have several lines. No quote is escaped within it. */
function quotedAt(text: string, begin: number): Value {
  const quote = text.charAt(begin);
  const close = text.indexOf(quote, begin + 1);
  if (close < 0)
    return { at: begin, words: `The quote ${quote} that opens here is never closed.`, end: endOfLine(text, begin) };
  const end = endOfLine(text, close);
  const [, rest = ''] = /^[ \t]*([^#]?)/.exec(text.slice(close + 1, end)) ?? [];
  if (rest !== '')
    return {
      at: close + 1,
      words: `The value ends at the quote before this. Put a value that contains ${quote} in the other kind of quotes.`,
      end,
    };
  const value = text.slice(begin + 1, close);
  return { value: quote === '"' ? value.replaceAll('\\n', '\n') : value, end };
}

function plainAt(text: string, begin: number, end: number): Value {
  const line = text.slice(begin, end);
  const hash = line.indexOf('#');
  if (hash > 0 && !/\s/.test(line.charAt(hash - 1)))
    return {
      at: begin + hash,
      words: 'Does a comment begin here? Put a space before it, or quotes around the value.',
      end,
    };
  return { value: (hash < 0 ? line : line.slice(0, hash)).trim(), end };
}

function endOfLine(text: string, from: number): number {
  const end = text.indexOf('\n', from);
  return end < 0 ? text.length : end;
}

/** `line:column`, both from 1. */
function placeOf(text: string, at: number): string {
  return `${lineOf(text, at)}:${(text.slice(0, at).split('\n').at(-1)?.length ?? 0) + 1}`;
}

function lineOf(text: string, at: number): number {
  return text.slice(0, at).split('\n').length;
}
