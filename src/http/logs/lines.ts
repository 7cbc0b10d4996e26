// From what containers wrote to a page of it. Pure.

import { Refused } from '../refused.ts';
import type { DeployLogs, DeployLogsQuery, Level } from './payloads.ts';

/** What one container wrote: each line as the API server gives it with `timestamps=true`. */
export interface Written {
  /** Pod and container. */
  readonly by: string;
  readonly text: string;
}

interface Line {
  /** By which lines are in order: the time, then who wrote it, then which of that moment's. */
  readonly key: string;
  readonly timestamp: string;
  readonly message: string;
}

const USUAL_LIMIT = 50;

export function pageOf(written: readonly Written[], query: DeployLogsQuery): DeployLogs {
  const descending = query.order !== 'asc';
  const limit = query.limit ?? USUAL_LIMIT;
  const after = keyOf(query.offset);
  const text = query.query?.toLowerCase() ?? '';
  const [from, until] = [timeOf(query.start_time, -Infinity), timeOf(query.end_time, Infinity)];
  const wanted = written
    .flatMap(linesOf)
    .toSorted((a, b) => (a.key < b.key ? -1 : 1) * (descending ? -1 : 1))
    .filter(({ key }) => after === undefined || (descending ? key < after : key > after))
    .filter(({ timestamp }) => Date.parse(timestamp) >= from && Date.parse(timestamp) <= until)
    .filter(({ message }) => message.toLowerCase().includes(text))
    .map(({ key, timestamp, message }) => ({
      id: Buffer.from(key).toString('base64url'),
      timestamp,
      level: levelOf(message),
      message,
    }))
    .filter(({ level }) => typeof query.level !== 'string' || level === query.level);
  const logs = wanted.slice(0, limit);
  return { logs, next_offset: wanted.length > limit ? (logs.at(-1)?.id ?? null) : null };
}

function timeOf(time: string | null | undefined, otherwise: number): number {
  return time === undefined || time === null ? otherwise : Date.parse(time);
}

const KEY = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z /;

function keyOf(offset: string | null | undefined): string | undefined {
  if (offset === undefined || offset === null || offset === '') return undefined;
  const key = Buffer.from(offset, 'base64url').toString('utf8');
  if (KEY.test(key)) return key;
  throw new Refused(422, [
    { loc: ['body', 'offset'], msg: 'must be a next_offset that was given', type: 'value_error' },
  ]);
}

function linesOf({ by, text }: Written): Line[] {
  const seen = new Map<string, number>();
  return text.split('\n').flatMap((line) => {
    const [, seconds, fraction = '', message = ''] = /^(\S{19})(?:\.(\d+))?Z ?(.*)$/s.exec(line) ?? [];
    if (seconds === undefined) return [];
    // The API server leaves out zeros at the end, and then times are no longer in the order of their text.
    const time = `${seconds}.${fraction.padEnd(9, '0')}Z`;
    const nth = seen.get(time) ?? 0;
    seen.set(time, nth + 1);
    return [
      { key: `${time} ${by} ${String(nth).padStart(6, '0')}`, timestamp: time, message: message.replace(/\r$/, '') },
    ];
  });
}

const WORDS: Readonly<Record<string, Level>> = {
  TRACE: 'DEBUG',
  DEBUG: 'DEBUG',
  INFO: 'INFO',
  NOTICE: 'INFO',
  LOG: 'INFO',
  WARN: 'WARNING',
  WARNING: 'WARNING',
  ERROR: 'ERROR',
  ERR: 'ERROR',
  CRITICAL: 'CRITICAL',
  FATAL: 'CRITICAL',
  PANIC: 'CRITICAL',
};

/** pino's and bunyan's numbers. */
function levelOfNumber(level: number): Level {
  if (level >= 60) return 'CRITICAL';
  if (level >= 50) return 'ERROR';
  if (level >= 40) return 'WARNING';
  return level >= 30 ? 'INFO' : 'DEBUG';
}

/** A line of JSON by its field; any other by the first word in capitals that names a level. */
export function levelOf(message: string): Level {
  if (message.startsWith('{')) {
    try {
      const { level, severity } = JSON.parse(message) as { level?: unknown; severity?: unknown };
      const said = level ?? severity;
      if (typeof said === 'number') return levelOfNumber(said);
      if (typeof said === 'string') return WORDS[said.toUpperCase()] ?? 'INFO';
    } catch {
      // A line that only looks like JSON.
    }
  }
  const word = /\b(TRACE|DEBUG|INFO|NOTICE|LOG|WARN|WARNING|ERROR|ERR|CRITICAL|FATAL|PANIC)\b/.exec(
    message.slice(0, 200),
  );
  return WORDS[word?.[1] ?? ''] ?? 'INFO';
}
