// From what containers write to events, while they write: lines that arrive together are sent in the order of their time. What a
// reader has not taken yet is bounded; whoever reads logs for it waits meanwhile.

import { makeMark, pause } from '../lib/http/mark.ts';
import type { StreamEvent } from '../lib/http/server-sent-events.ts';
import { turns } from '../lib/http/turns.ts';
import type { EventStream } from '../organization/facade/event-stream.ts';
import type { Said } from './levels.ts';
import { type LineSink, lineKey, makeLineSink, shownLine, textFilter } from './lines.ts';
import type { DeployLogsQuery } from './payloads.ts';
import { isAfter, type Position, type Positions } from './positions.ts';

/** Bytes of lines that wait to be sent, from which on nothing more is read. */
const MOST_WAITING_BYTES = 1024 * 1024;
/** Longer ids come with the last line alone of those that are sent together. */
const LONGEST_ID = 512;
/** So long lines are gathered, to be put in order. */
const GATHER_MS = 100;
/** How long it takes until a right is asked again that could not be. */
const ASK_AGAIN_MS = 5000;

export interface LogSender {
  /**
   * Takes what one container wrote, from the beginning of a second on. Lines that were taken from this writer before are passed
   * over. `by` is whom the line names as its writer.
   */
  sink(writer: string, by: string): LineSink;
  /** The last line that was taken from this writer, or that the reader has seen. */
  lastOf(writer: string): Position | undefined;
  /** Resolves when more may be read. */
  room(): Promise<void>;
  /** Sends what is taken, until `close`, and the rest then. Resolves when all is sent, or the stream has ended. */
  run(): Promise<void>;
  close(): void;
}

interface Waiting {
  readonly key: string;
  readonly writer: string;
  readonly position: Position;
  readonly said: Said;
}

export interface LogSenderOptions {
  readonly stream: EventStream;
  readonly positions: Positions;
  readonly query: Pick<DeployLogsQuery, 'query' | 'level'>;
  /** How often the caller's right is asked again where nothing is written. */
  readonly reviewMs: number;
}

export function makeLogSender({ stream, positions, query, reviewMs }: LogSenderOptions): LogSender {
  const { signal } = stream;
  const isWanted = textFilter(query);
  const taken = new Map<string, Position>();
  const arrived = makeMark();
  let waiting: Waiting[] = [];
  let bytes = 0;
  let isClosed = false;
  let hasRoom = Promise.withResolvers<void>();

  const lastOf = (writer: string): Position | undefined => taken.get(writer) ?? positions.of(writer);

  async function eventsOf(batch: readonly Waiting[]): Promise<StreamEvent[]> {
    const events: StreamEvent[] = [];
    for (const line of batch) {
      const over = turns.over();
      // oxlint-disable-next-line no-await-in-loop -- other work has its turn between two lines
      if (over !== undefined) await over;
      events.push(eventOf(positions, line, line === batch.at(-1)));
    }
    return events;
  }

  async function sendWaiting(): Promise<void> {
    const batch = waiting.toSorted((a, b) => (a.key < b.key ? -1 : 1));
    waiting = [];
    if (batch.length > 0) await stream.send(...(await eventsOf(batch)));
    bytes = waiting.reduce((sum, line) => sum + sizeOf(line), 0);
    hasRoom.resolve();
    hasRoom = Promise.withResolvers();
  }

  signal.addEventListener('abort', () => {
    arrived.set();
    hasRoom.resolve();
  });

  return {
    lastOf,
    sink(writer, by) {
      const isNew = newerThan(lastOf(writer), positions.floor);
      return makeLineSink((time, nth, text) => {
        const position = { time, nth };
        if (!isNew(position)) return true;
        const last = lastOf(writer);
        if (last === undefined || isAfter(position, last)) taken.set(writer, position);
        const said = text();
        if (!isWanted(said)) return true;
        const line = { key: lineKey(time, by, nth), writer, position, said };
        waiting.push(line);
        bytes += sizeOf(line);
        arrived.set();
        return true;
      });
    },
    async room() {
      // oxlint-disable-next-line no-await-in-loop -- another reader may have taken it
      while (bytes > MOST_WAITING_BYTES && !signal.aborted) await hasRoom.promise;
    },
    async run() {
      while (!signal.aborted && (waiting.length > 0 || !isClosed)) {
        arrived.clear();
        // oxlint-disable no-await-in-loop -- one batch after the other
        if (waiting.length === 0 && !isClosed) await arrived.wait(reviewMs);
        if (!isClosed) await pause(GATHER_MS, signal);
        if (await stream.mayGoOn()) await sendWaiting();
        else await pause(Math.min(ASK_AGAIN_MS, reviewMs), signal);
        // oxlint-enable no-await-in-loop
      }
    },
    close() {
      isClosed = true;
      arrived.set();
    },
  };
}

function eventOf(positions: Positions, { key, writer, position, said }: Waiting, isLast: boolean): StreamEvent {
  positions.advance(writer, position);
  const id = positions.token();
  const data = JSON.stringify(shownLine(key, position.time, said));
  return { event: 'log', data, ...((id.length <= LONGEST_ID || isLast) && { id }) };
}

/** Tells whether a line was written after `last`, or, where there is none, not before `floor`. */
function newerThan(last: Position | undefined, floor: string | undefined): (position: Position) => boolean {
  return (position) => (last === undefined ? floor === undefined || position.time >= floor : isAfter(position, last));
}

/** As V8 keeps it: two bytes a character at most. */
function sizeOf({ key, said }: Waiting): number {
  return 2 * (key.length + said.message.length);
}
