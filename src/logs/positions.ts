// How far a followed log has been sent, by writer: which lines a reader that connects again has seen. Pure.

import { hash } from 'node:crypto';

/** A line among those of one writer: its time, and which of that moment's it is. */
export interface Position {
  /** RFC 3339 in UTC with nine digits. */
  readonly time: string;
  /** -1 is before the first one. */
  readonly nth: number;
}

export interface Positions {
  /** Time before which lines of a writer without a position are not wanted; undefined where all are. */
  readonly floor: string | undefined;
  of(writer: string): Position | undefined;
  /** A line of this writer was sent. */
  advance(writer: string, position: Position): void;
  /** Leaves out writers that are no more. */
  keepOnly(writers: ReadonlySet<string>): void;
  /** What `positionsOf` reads. */
  token(): string;
}

const VERSION = 'v1';
const NAME_LENGTH = 8;
const BASE = 36;
/** Characters for as many containers as are looked at; a header may be twice as long. */
const LONGEST_TOKEN = 8000;

export function startAt(floor: string | undefined): Positions {
  return makePositions(floor, new Map());
}

/** Positions as `token` wrote them; undefined for anything else. */
export function positionsOf(token: string | undefined): Positions | undefined {
  if (token === undefined || token.length > LONGEST_TOKEN) return undefined;
  const [version, floor = '', ...parts] = token.split('~');
  if (version !== VERSION) return undefined;
  const known = new Map<string, Known>();
  for (const part of parts) {
    const [name = '', time = '', nth = ''] = part.split('.');
    const at = timeOf(time);
    const count = Number.parseInt(nth, BASE);
    if (name.length !== NAME_LENGTH || at === undefined || !(count >= 0)) return undefined;
    known.set(name, knownOf({ time: at, nth: count - 1 }));
  }
  const from = floor === '' ? undefined : timeOf(floor);
  return floor !== '' && from === undefined ? undefined : makePositions(from, known);
}

interface Known {
  readonly position: Position;
  /** As a part of the token, which each line has. */
  readonly text: string;
}

function knownOf(position: Position): Known {
  return { position, text: `${shortTime(position.time)}.${(position.nth + 1).toString(BASE)}` };
}

function makePositions(floor: string | undefined, known: Map<string, Known>): Positions {
  return {
    floor,
    of: (writer) => known.get(nameOf(writer))?.position,
    advance: (writer, position) => void known.set(nameOf(writer), knownOf(position)),
    keepOnly(writers) {
      const names = new Set([...writers].map(nameOf));
      for (const name of known.keys()) if (!names.has(name)) known.delete(name);
    },
    token() {
      const parts = [...known].map(([name, { text }]) => `${name}.${text}`);
      return [VERSION, floor === undefined ? '' : shortTime(floor), ...parts].join('~');
    },
  };
}

export function isAfter(a: Position, b: Position): boolean {
  return a.time === b.time ? a.nth > b.nth : a.time > b.time;
}

/** Names of pods are long, and of a few writers these are different. */
function nameOf(writer: string): string {
  return hash('sha256', writer, 'base64url').slice(0, NAME_LENGTH);
}

const NANOSECONDS = 1_000_000_000n;

/** Nanoseconds since 1970, in base 36. */
function shortTime(time: string): string {
  const seconds = BigInt(Date.parse(`${time.slice(0, 19)}Z`) / 1000);
  return (seconds * NANOSECONDS + BigInt(time.slice(20, 29))).toString(BASE);
}

const SHORT_TIME = /^[0-9a-z]{1,13}$/;
/** The year 2262. */
const LATEST = 2n ** 63n;

function timeOf(short: string): string | undefined {
  if (!SHORT_TIME.test(short)) return undefined;
  const all = Array.from(short).reduce((sum, digit) => sum * BigInt(BASE) + BigInt(Number.parseInt(digit, BASE)), 0n);
  if (all >= LATEST) return undefined;
  const seconds = new Date(Number(all / NANOSECONDS) * 1000).toISOString().slice(0, 19);
  return `${seconds}.${String(all % NANOSECONDS).padStart(9, '0')}Z`;
}
