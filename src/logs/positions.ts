// How far the log of each container has been read: a caller that reads again gets what is missing. One time for all containers would
// lose lines that arrive late, because the clocks of nodes differ. Pure.

import { hash } from 'node:crypto';

/** A line among those of one container: its time, and which of that moment's it is; -1 is before the first. */
export interface Position {
  /** RFC 3339 in UTC with nine digits. */
  readonly time: string;
  readonly nth: number;
}

/** How far a container has been read. */
export interface Read {
  /** Its last line. Absent if there was none. */
  readonly last?: Position | undefined;
  /** Digest of its last start that had ended and was read to its end. */
  readonly ended?: string | undefined;
}

/** By `digestOf` the container's name. */
export type Positions = ReadonlyMap<string, Read>;

const VERSION = 'v1';
const DIGEST = /^[\w-]{8}$/;
const BASE = 36;
/** Room for 20 pods of ten containers, and for as many that are gone. */
export const LONGEST_POSITION = 16_000;

/** Names of pods are long, and of a few hundred these are different. */
export function digestOf(name: string): string {
  return hash('sha256', name, 'base64url').slice(0, 8);
}

/** Text that callers send back. */
export function positionText(positions: Positions): string {
  const parts = [...positions].map(([name, { last, ended = '' }]) =>
    [name, last ? shortTime(last.time) : '', last ? last.nth.toString(BASE) : '', ended].join('.'),
  );
  return [VERSION, ...parts].join('~');
}

/** Undefined for what is no text of `positionText`. */
export function positionsIn(text: string): Positions | undefined {
  if (text.length > LONGEST_POSITION) return undefined;
  const [version, ...parts] = text.split('~');
  if (version !== VERSION) return undefined;
  const positions = new Map<string, Read>();
  for (const part of parts) {
    const [name = '', time = '', nth = '', ended = '', ...rest] = part.split('.');
    const last = time === '' && nth === '' ? undefined : { time: timeOf(time) ?? '', nth: Number.parseInt(nth, BASE) };
    const isValid = DIGEST.test(name) && (ended === '' || DIGEST.test(ended)) && rest.length === 0;
    if (!isValid || (last && (last.time === '' || !(last.nth >= -1)))) return undefined;
    positions.set(name, { last, ended: ended || undefined });
  }
  return positions;
}

export function isAfter(a: Position, b: Position): boolean {
  return a.time === b.time ? a.nth > b.nth : a.time > b.time;
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
