// Builds a page of log lines from streams of containers. It keeps only lines that can still be on the page. Pure.

import { type FieldError, HttpError } from '../runtime/http/http-error.ts';
import type { ContainerLog } from '../runtime/kube/log-path.ts';
import { LAST_LINES, LONGEST_LINE, MOST_BYTES_OF_PAGE } from './budget.ts';
import { makeLeveller, type Said } from './levels.ts';
import { momentOf } from './moments.ts';
import type { DeployLogs, DeployLogsQuery, LogLine } from './payloads.ts';
import { type Position, type Positions, positionsIn, positionText } from './positions.ts';
import { makeReading } from './reading.ts';

interface Line {
  /** The sort key of a line: its time, its container, and its number among lines of the same time. */
  readonly key: string;
  readonly timestamp: string;
  readonly said: Said;
}

/** Takes the log of one container, in the API server's format with `timestamps=true`. */
export interface LineSink {
  /** false: no later line of this container can be on the page. */
  push(piece: Uint8Array): boolean;
  /** Ends the log, whose last line may have no line end. */
  end(): void;
}

export interface Page {
  /** `by`: what `byOf` returns, or the container alone. */
  sink(by: string): LineSink;
  /**
   * Whether the caller has all that a start of a container wrote before it ended. `starts`: ids of this start, and of those after it.
   */
  hasAll(by: string, starts: readonly string[]): boolean;
  /** Whether this read has found lines of a container. */
  hasLines(by: string): boolean;
  /** The API server gave as much of a container as it gives at once. */
  skip(by: string): void;
  /** This start of a container has ended and was read to its end. */
  readToEnd(by: string, start: string): void;
  /** The time from which lines of this container are needed, as RFC 3339. Undefined if all are. */
  since(by: string): string | undefined;
  /** The number of last lines of this container that the page can need. Undefined if all since `since` are needed. */
  lastLines(by: string): number | undefined;
  /** `isOver`: nothing more will be written. */
  done(truncated: boolean, isOver?: boolean): DeployLogs;
}

export interface PageOptions {
  /** Limit for all lines on the page, two for a character. */
  readonly mostBytes?: number;
  /** By whom a line is counted that `by` wrote: positions are those of writers. */
  readonly writerOf?: (by: string) => string;
  /** Writers whose positions are kept also where they are not read. */
  readonly writers?: readonly string[];
}

const USUAL_LIMIT = 50;
/** Milliseconds. Lines of a container are in the order of time, except if its clock is set back. A smaller step loses no line. */
const SLACK_MS = 2000;

export function makePage(
  query: DeployLogsQuery,
  { mostBytes = MOST_BYTES_OF_PAGE, writerOf = containerOf, writers = [] }: PageOptions = {},
): Page {
  const positions = positionsOf(query);
  const descending = positions === undefined && query.order !== 'asc';
  const limit = query.limit ?? USUAL_LIMIT;
  const after = keyOf(query.offset);
  const isWanted = textFilter(query);
  const [from, until] = [timeOf(query.start_time), timeOf(query.end_time)];
  /** Whether `a` is nearer to the beginning of the page. */
  const isBefore = (a: string, b: string): boolean => (descending ? a > b : a < b);
  // One more line than shown, to know whether there is another page.
  const kept = makeKept(limit + 1, mostBytes, isBefore);
  const reading = makeReading(positions, writers);
  let isCut = false;

  /** Whether this time is so far beyond `bound` that no later line of the same container can be on the page. */
  const isBeyond = (time: string, bound: string | undefined): boolean =>
    bound !== undefined && time > bound && Date.parse(time) - Date.parse(bound) > SLACK_MS;

  /** false: neither this line nor a later one of the same container can be on the page. */
  function take(by: string, time: string, nth: number, said: () => Said): boolean {
    if (from !== undefined && Date.parse(time) < from) return true;
    if (until !== undefined && Date.parse(time) > until) return Date.parse(time) - until <= SLACK_MS;
    const bound = kept.bound();
    if (bound !== undefined && isBefore(bound.slice(0, TIME_LENGTH), time))
      return descending || !isBeyond(time, bound.slice(0, TIME_LENGTH));
    const key = lineKey(time, by, nth);
    if (after !== undefined && !isBefore(after, key))
      return !descending || !isBeyond(time, after.slice(0, TIME_LENGTH));
    if (bound !== undefined && !isBefore(key, bound)) return true;
    const wanted = said();
    // A container that ended after it was listed waits for its next start: its node then gives one log for both.
    const isTwin = kept.has(lineKey(time, otherOf(by), nth), wanted.message);
    if (isWanted(wanted) && !isTwin) kept.add({ key, timestamp: time, said: wanted });
    return true;
  }

  return {
    lastLines: (by) => (reading.lastOf(writerOf(by)) ? undefined : firstLines(query, descending)),
    hasAll: (by, starts) => reading.hasAll(writerOf(by), starts),
    hasLines: (by) => reading.hasLines(writerOf(by)),
    skip: (by) => reading.skip(writerOf(by)),
    readToEnd: (by, start) => reading.end(writerOf(by), start, by.endsWith(PREVIOUS)),
    since(by) {
      // Ascending: the previous pages have the lines before the offset. Descending: a full page has no place for older lines.
      const bound = descending ? kept.bound() : after;
      const times = [bound?.slice(0, TIME_LENGTH), reading.lastOf(writerOf(by))?.time, query.start_time ?? undefined];
      const latest = Math.max(...times.map((time) => (time === undefined ? -Infinity : Date.parse(time))));
      // Whole seconds suffice, because the page filters exactly.
      return latest === -Infinity ? undefined : `${new Date(latest).toISOString().slice(0, 19)}Z`;
    },
    sink(by) {
      const writer = writerOf(by);
      reading.begin(writer);
      return makeLineSink(makeLeveller(query.escapes === true), (time, nth, said, wasCut) => {
        if (!reading.takes(writer, { time, nth })) return true;
        isCut ||= wasCut;
        return take(by, time, nth, said);
      });
    },
    done(truncated, isOver = false) {
      const lines = kept.inOrder();
      const onPage = lines.slice(0, limit);
      const shown = onPage.map(({ key, timestamp, said }) => shownLine(key, timestamp, said));
      const hasMore = lines.length > limit || kept.wasFull();
      const isLast = after !== undefined || until !== undefined || (isOver && !(hasMore && !descending));
      return {
        logs: shown,
        next_offset: hasMore ? (shown.at(-1)?.id ?? null) : null,
        position: isLast
          ? null
          : positionText(reading.after(hasMore && !descending ? lastOf(onPage, writerOf) : undefined)),
        truncated: truncated || isCut,
      };
    },
  };
}

/** How many last lines suffice of a container that was not read before; undefined: all are needed. */
function firstLines(query: DeployLogsQuery, descending: boolean): number | undefined {
  const { tail, position, limit, offset, end_time: end, query: text, level } = query;
  if (position) return tail ?? undefined;
  const isLimited = descending && !(offset || end || text || level);
  return Math.min(tail ?? LAST_LINES, isLimited ? (limit ?? USUAL_LIMIT) + 1 : Infinity);
}

/** The last line of each writer. */
function lastOf(lines: readonly Line[], writerOf: (by: string) => string): ReadonlyMap<string, Position> {
  return new Map(lines.map(({ key }) => [writerOf(partsOf(key).by), partsOf(key)]));
}

function writerIn(key: string): Pick<LogLine, 'pod' | 'container'> {
  const [first = '', second] = (key.split(' ')[1] ?? '').split('/');
  return second === undefined ? { pod: null, container: first } : { pod: first, container: second };
}

const PREVIOUS = '/previous';

/** Who wrote a log: `pod/container`, with `/previous` before the last restart of the container. */
export function byOf({ pod, container, previous }: ContainerLog): string {
  return `${pod}/${container}${previous ? PREVIOUS : ''}`;
}

/** `by` without the mark of the log before the last restart. */
function containerOf(by: string): string {
  return by.endsWith(PREVIOUS) ? by.slice(0, -PREVIOUS.length) : by;
}

/** The other log of the same container: before its last restart, or after it. */
function otherOf(by: string): string {
  const container = containerOf(by);
  return container === by ? `${by}${PREVIOUS}` : container;
}

interface Kept {
  add(line: Line): void;
  has(key: string, message: string): boolean;
  /** The key of the last line of a full page. Undefined while there is room. */
  bound(): string | undefined;
  /** Whether lines were dropped because of their size. The next page has them. */
  wasFull(): boolean;
  inOrder(): readonly Line[];
}

/** The first `most` of all added lines, or fewer if those are large. */
function makeKept(most: number, mostBytes: number, isBefore: (a: string, b: string) => boolean): Kept {
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
      while (bytes > mostBytes && lines.length > 1) {
        dropLast();
        room = lines.length;
        isFull = true;
      }
    },
    has(key, message) {
      const line = lines[placeOf(key)];
      return line?.key === key && line.said.message === message;
    },
    bound: () => (lines.length >= room ? lines.at(-1)?.key : undefined),
    wasFull: () => isFull,
    inOrder: () => lines,
  };
}

/** The size in V8: at most two bytes a character. */
function sizeOf({ key, said }: Line): number {
  return 2 * (key.length + said.message.length);
}

/** A line as it is answered. Its key says who wrote it. */
function shownLine(key: string, timestamp: string, { level, message }: Said): LogLine {
  return {
    id: Buffer.from(key).toString('base64url'),
    timestamp,
    level,
    message,
    ...writerIn(key),
  };
}

/** Lines are in this order: by time, then by who wrote them, then as they were written. */
function lineKey(time: string, by: string, nth: number): string {
  return `${time} ${by} ${String(nth).padStart(6, '0')}`;
}

/** What `lineKey` made a key of. */
function partsOf(key: string): Position & { readonly by: string } {
  const [time = '', by = '', nth = ''] = key.split(' ');
  return { time, by, nth: Number(nth) };
}

/** What of the text a query asks for. */
function textFilter({ query, level }: Pick<DeployLogsQuery, 'query' | 'level'>): (said: Said) => boolean {
  const text = query?.toLowerCase() ?? '';
  const wanted = typeof level === 'string' ? level : undefined;
  return (said) =>
    (text === '' || said.message.toLowerCase().includes(text)) && (wanted === undefined || said.level === wanted);
}

/**
 * Lines of what one container wrote, with their time and which of that moment's they are. `take` says whether there can be another
 * that counts.
 */
function makeLineSink(
  levelled: ReturnType<typeof makeLeveller>,
  take: (time: string, nth: number, said: () => Said, wasCut: boolean) => boolean,
): LineSink {
  const last = { time: '', nth: 0 };
  return makeSplitter((line, wasCut) => {
    const time = timeAtStart(line);
    if (time === undefined) return true;
    last.nth = time.at === last.time ? last.nth + 1 : 0;
    last.time = time.at;
    return take(time.at, last.nth, levelled(line.subarray(time.length)), wasCut);
  });
}

const NEWLINE = 0x0a;

/** Splits pieces into lines, and truncates long ones. `take` returns whether more lines are needed. */
function makeSplitter(take: (line: Buffer, wasCut: boolean) => boolean): LineSink {
  /** The beginning of an incomplete line. */
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
        if (end > start) keep(piece.subarray(start, end));
        start = end + 1;
        // An empty line has no time.
        if (begunBytes > 0 && !finish()) return false;
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
  if (KEY.test(key) && momentOf(key.slice(0, TIME_LENGTH)) !== undefined) return key;
  throw new HttpError(422, [refused('offset', 'must be the next_offset of an earlier answer')]);
}

/** How far the caller has read each container; undefined for a first read. Throws HttpError 422. */
function positionsOf({ position, order, offset, end_time: end }: DeployLogsQuery): Positions | undefined {
  if (position === undefined || position === null || position === '') return undefined;
  const positions = positionsIn(position);
  const findings = [
    ...(positions === undefined ? [refused('position', 'must be the position of an earlier answer')] : []),
    ...(order === 'desc' ? [refused('order', 'must be asc with a position')] : []),
    ...(offset ? [refused('offset', 'cannot be combined with a position: send one of them')] : []),
    ...(end ? [refused('end_time', 'cannot be combined with a position')] : []),
  ];
  if (findings.length > 0) throw new HttpError(422, findings);
  return positions;
}

function refused(name: string, msg: string): FieldError {
  return { loc: ['body', name], msg, type: 'value_error' };
}

const SHORTEST_TIME = '2026-01-01T00:00:00Z'.length;
const LONGEST_TIME = 40;
const TIME = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)(?: |$)/;

/** The time in UTC with nine decimals, so that it sorts as text. `length`: where the message begins. */
function timeAtStart(line: Buffer): { readonly at: string; readonly length: number } | undefined {
  if (line.length < SHORTEST_TIME) return undefined;
  const [whole, seconds, fraction = '', zone] = TIME.exec(line.toString('latin1', 0, LONGEST_TIME)) ?? [];
  if (whole === undefined || seconds === undefined) return undefined;
  const moment = momentOf(`${seconds}${zone}`);
  if (moment === undefined) return undefined;
  // A node uses its own time zone.
  const utc = zone === 'Z' ? seconds : new Date(moment).toISOString().slice(0, 19);
  return { at: `${utc}.${fraction.padEnd(9, '0')}Z`, length: whole.length };
}
