// JSON as a request's body may be: what JSON.parse takes, less what means something else to every reader (a key given
// twice, RFC 8259, 4), and less what is only there to be a burden.

import { errorPosition } from '../../api/json-error.ts';
import { HttpError } from './http-error.ts';

/** Deeper than anything that is ever meant; a stack is deeper still. */
const MAX_DEPTH = 64;
/** A record of the largest size has some thousands. */
const MAX_KEYS = 20_000;
/** In all its lists together. Each costs the rules far more than the two bytes that it takes. */
const MAX_ITEMS = 10_000;

/** Throws HttpError (400) with one sentence. One pass over the text, besides JSON.parse's own. */
export function parseBody(body: Buffer): unknown {
  const text = decoded(body);
  const value = parsed(text);
  refuseBurdens(text);
  return value;
}

function decoded(body: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    throw new HttpError(400, 'The body is not valid UTF-8.');
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    const { line, column } = errorPosition(text);
    throw new HttpError(400, `The body is not valid JSON at line ${line}, column ${column}.`);
  }
}

/** `text` is valid JSON, so that a string in an object which does not follow a colon is a key. */
function refuseBurdens(text: string): void {
  /** The keys of each object that is open; undefined for a list. */
  const open: (Set<string> | undefined)[] = [];
  let keys = 0;
  let items = 0;
  let afterColon = false;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (character === '{' || character === '[') {
      open.push(character === '{' ? new Set() : undefined);
      if (open.length > MAX_DEPTH) throw new HttpError(400, `The body is nested more than ${MAX_DEPTH} deep.`);
      afterColon = false;
    } else if (character === '}' || character === ']') {
      open.pop();
    } else if (character === ',') {
      afterColon = false;
      if (open.at(-1) === undefined) items += 1;
      if (items >= MAX_ITEMS) throw new HttpError(400, `The body has more than ${MAX_ITEMS} items in its lists.`);
    } else if (character === ':') {
      afterColon = true;
    } else if (character === '"') {
      const end = endOfString(text, at);
      const seen = open.at(-1);
      if (seen !== undefined && !afterColon) {
        keys += 1;
        refuseKey(keyIn(text.slice(at, end + 1)), seen);
        if (keys > MAX_KEYS) throw new HttpError(400, `The body has more than ${MAX_KEYS} keys.`);
      }
      at = end;
    }
  }
}

function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at;
}

function keyIn(quoted: string): string {
  return quoted.includes('\\') ? (JSON.parse(quoted) as string) : quoted.slice(1, -1);
}

function refuseKey(key: string, seen: Set<string>): void {
  // Harmless to us; not to the next program that merges such an object into its own.
  if (key === '__proto__') throw new HttpError(400, 'The body has the key "__proto__", which is no field of anything.');
  if (seen.has(key))
    throw new HttpError(400, `The body has the key ${JSON.stringify(key.slice(0, 100))} twice in one object.`);
  seen.add(key);
}
