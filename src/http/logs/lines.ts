// From what containers wrote to a page of it, while it is being read: only lines that can still be on the page are kept. Pure.

import { HttpError } from '../core/http-error.ts';
import { LONGEST_LINE, MOST_BYTES_OF_PAGE } from './budget.ts';
import type { DeployLogs, DeployLogsQuery, Level, LogLine } from './payloads.ts';

interface Line {
  /** By which lines are in order: the time, then who wrote it, then which of that moment's. */
  readonly key: string;
  readonly timestamp: string;
  readonly message: string;
}

/** Takes what one container wrote: lines as the API server gives them with `timestamps=true`. */
export interface LineSink {
  /** false: nothing that comes after it can be on the page. */
  push(piece: Uint8Array): boolean;
  /** A last line may have no end. */
  end(): void;
}

export interface Page {
  /** `by`: `pod/container`, with `/previous` for what it wrote before its last restart, or the container alone. */
  sink(by: string): LineSink;
  /** Lines before it need not be read: RFC 3339, or undefined where any may count. */
  since(): string | undefined;
  /** So many last lines of a container are enough, as far as the query tells. */
  readonly enough: number | undefined;
  done(truncated: boolean): DeployLogs;
}

const USUAL_LIMIT = 50;
/** Containers write in the order of time; a clock that is set back by less than this loses nothing. */
const SLACK_MS = 2000;

export function makePage(query: DeployLogsQuery): Page {
  const descending = query.order !== 'asc';
  const limit = query.limit ?? USUAL_LIMIT;
  const after = keyOf(query.offset);
  const isWanted = textFilter(query);
  const takesAll = (query.query ?? '') === '' && typeof query.level !== 'string';
  const [from, until] = [timeOf(query.start_time), timeOf(query.end_time)];
  /** Before: nearer to the beginning of the page. */
  const isBefore = (a: string, b: string): boolean => (descending ? a > b : a < b);
  // One more than is shown, which tells that there is another page.
  const kept = makeKept(limit + 1, isBefore);
  let isCut = false;

  /** Whether this time is so far beyond `bound` that no later line of the same container counts. */
  const isBeyond = (time: string, bound: string | undefined): boolean =>
    bound !== undefined && time > bound && Date.parse(time) - Date.parse(bound) > SLACK_MS;

  /** false: neither this line nor a later one of the same container can be on the page. */
  function take(by: string, time: string, nth: number, message: () => string): boolean {
    if (from !== undefined && Date.parse(time) < from) return true;
    if (until !== undefined && Date.parse(time) > until) return Date.parse(time) - until <= SLACK_MS;
    const bound = kept.bound();
    if (bound !== undefined && isBefore(bound.slice(0, TIME_LENGTH), time))
      return descending || !isBeyond(time, bound.slice(0, TIME_LENGTH));
    const key = lineKey(time, by, nth);
    if (after !== undefined && !isBefore(after, key))
      return !descending || !isBeyond(time, after.slice(0, TIME_LENGTH));
    if (bound !== undefined && !isBefore(key, bound)) return true;
    const said = message();
    if (!isWanted(said)) return true;
    kept.add({ key, timestamp: time, message: said });
    return true;
  }

  return {
    enough: descending && takesAll && after === undefined && until === undefined ? limit + 1 : undefined,
    since() {
      // Ascending: lines before the offset were shown already. Descending: lines older than all lines of a full page will not be
      // shown.
      const bound = descending ? kept.bound() : after;
      const times = [bound?.slice(0, TIME_LENGTH), query.start_time ?? undefined];
      const latest = Math.max(...times.map((time) => (time === undefined ? -Infinity : Date.parse(time))));
      // Whole seconds are enough: the page is cut exactly.
      return latest === -Infinity ? undefined : `${new Date(latest).toISOString().slice(0, 19)}Z`;
    },
    sink(by) {
      return makeLineSink((time, nth, message, wasCut) => {
        isCut ||= wasCut;
        return take(by, time, nth, message);
      });
    },
    done(truncated) {
      const lines = kept.inOrder();
      const shown = lines.slice(0, limit).map(({ key, timestamp, message }) => shownLine(key, timestamp, message));
      const hasMore = lines.length > limit || kept.wasFull();
      return {
        logs: shown,
        next_offset: hasMore ? (shown.at(-1)?.id ?? null) : null,
        truncated: truncated || isCut,
      };
    },
  };
}

function writerIn(key: string): Pick<LogLine, 'pod' | 'container'> {
  const [first = '', second] = (key.split(' ')[1] ?? '').split('/');
  return second === undefined ? { pod: null, container: first } : { pod: first, container: second };
}

interface Kept {
  add(line: Line): void;
  /** The key of the last line of a full page; undefined while there is room. */
  bound(): string | undefined;
  /** Lines were dropped for their size, which the next page has. */
  wasFull(): boolean;
  inOrder(): readonly Line[];
}

/** The first `most` of all lines that are added, or fewer where those are large. */
function makeKept(most: number, isBefore: (a: string, b: string) => boolean): Kept {
  const lines: Line[] = [];
  let room = most;
  let bytes = 0;
  let isFull = false;

  function placeOf(key: string): number {
    let [low, high] = [0, lines.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (isBefore((lines[middle] as Line).key, key)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
  function dropLast(): void {
    bytes -= sizeOf(lines.pop() as Line);
  }

  return {
    add(line) {
      lines.splice(placeOf(line.key), 0, line);
      bytes += sizeOf(line);
      if (lines.length > room) dropLast();
      while (bytes > MOST_BYTES_OF_PAGE && lines.length > 1) {
        dropLast();
        room = lines.length;
        isFull = true;
      }
    },
    bound: () => (lines.length >= room ? lines.at(-1)?.key : undefined),
    wasFull: () => isFull,
    inOrder: () => lines,
  };
}

/** As V8 keeps it: two bytes a character at most. */
function sizeOf({ key, message }: Line): number {
  return 2 * (key.length + message.length);
}

/** What a line says, and who wrote it: `pod/container`, with `/previous` before its last restart, or the container alone. */
export function shownLine(key: string, timestamp: string, message: string): LogLine {
  return {
    id: Buffer.from(key).toString('base64url'),
    timestamp,
    level: levelOf(message),
    message,
    ...writerIn(key),
  };
}

/** Lines are in this order: by time, then by who wrote them, then as they were written. */
export function lineKey(time: string, by: string, nth: number): string {
  return `${time} ${by} ${String(nth).padStart(6, '0')}`;
}

/** What `lineKey` made of the id of a line. */
export function keyParts(id: string): { readonly time: string; readonly by: string; readonly nth: number } {
  const [time = '', by = '', nth = ''] = Buffer.from(id, 'base64url').toString('utf8').split(' ');
  return { time, by, nth: Number(nth) };
}

/** What of the text a query asks for. */
export function textFilter({ query, level }: Pick<DeployLogsQuery, 'query' | 'level'>): (message: string) => boolean {
  const text = query?.toLowerCase() ?? '';
  const wanted = typeof level === 'string' ? level : undefined;
  return (message) =>
    (text === '' || message.toLowerCase().includes(text)) && (wanted === undefined || levelOf(message) === wanted);
}

/**
 * Lines of what one container wrote, with their time and which of that moment's they are. `take` says whether there can be another
 * that counts.
 */
export function makeLineSink(
  take: (time: string, nth: number, message: () => string, wasCut: boolean) => boolean,
): LineSink {
  const last = { time: '', nth: 0 };
  return makeSplitter((line, wasCut) => {
    const time = timeAtStart(line);
    if (time === undefined) return true;
    last.nth = time.at === last.time ? last.nth + 1 : 0;
    last.time = time.at;
    return take(time.at, last.nth, () => line.toString('utf8', time.length).replace(/\r$/, ''), wasCut);
  });
}

const NEWLINE = 0x0a;

/** Lines of pieces. `take` says whether there can be another that counts; what of a line is too long is cut off. */
function makeSplitter(take: (line: Buffer, wasCut: boolean) => boolean): LineSink {
  /** The beginning of a line whose end has not come. */
  let begun: Buffer[] = [];
  let begunBytes = 0;
  let wasCut = false;

  function keep(piece: Buffer): void {
    const kept = piece.subarray(0, LONGEST_LINE - begunBytes);
    wasCut ||= kept.length < piece.length;
    if (kept.length === 0) return;
    begun.push(kept);
    begunBytes += kept.length;
  }
  function finish(): boolean {
    const [first, ...rest] = begun;
    const line = first === undefined ? Buffer.alloc(0) : rest.length === 0 ? first : Buffer.concat(begun);
    const goesOn = take(line, wasCut);
    begun = [];
    begunBytes = 0;
    wasCut = false;
    return goesOn;
  }

  return {
    push(bytes) {
      const piece = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      let start = 0;
      for (let end = piece.indexOf(NEWLINE); end >= 0; end = piece.indexOf(NEWLINE, start)) {
        keep(piece.subarray(start, end));
        start = end + 1;
        if (!finish()) return false;
      }
      if (start < piece.length) keep(piece.subarray(start));
      return true;
    },
    end() {
      if (begunBytes > 0) finish();
    },
  };
}

function timeOf(time: string | null | undefined): number | undefined {
  return time === undefined || time === null ? undefined : Date.parse(time);
}

const TIME_LENGTH = '2026-01-01T00:00:00.000000000Z'.length;
const KEY = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z /;

function keyOf(offset: string | null | undefined): string | undefined {
  if (offset === undefined || offset === null || offset === '') return undefined;
  const key = Buffer.from(offset, 'base64url').toString('utf8');
  if (KEY.test(key)) return key;
  throw new HttpError(422, [
    { loc: ['body', 'offset'], msg: 'must be a next_offset that was given', type: 'value_error' },
  ]);
}

const LONGEST_TIME = 40;
const TIME = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)(?: |$)/;

/** In UTC with nine digits, so that times are in the order of their text; `length` is where the message begins. */
function timeAtStart(line: Buffer): { readonly at: string; readonly length: number } | undefined {
  const [whole, seconds, fraction = '', zone] = TIME.exec(line.toString('latin1', 0, LONGEST_TIME)) ?? [];
  if (whole === undefined || seconds === undefined) return undefined;
  // A node gives its own zone.
  const utc = zone === 'Z' ? seconds : new Date(Date.parse(`${seconds}${zone}`)).toISOString().slice(0, 19);
  return { at: `${utc}.${fraction.padEnd(9, '0')}Z`, length: whole.length };
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
