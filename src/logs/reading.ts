// How far a page of logs reads each container: from where the caller has read to, to the last line that the page was given. Pure.

import { digestOf, isAfter, type Position, type Positions, type Read } from './positions.ts';

export interface Reading {
  /** The last line of this container that the caller has; undefined if it has none. */
  lastOf(writer: string): Position | undefined;
  /** The container is read, perhaps without a line. */
  begin(writer: string): void;
  /** Whether the caller lacks this line, which is then read. */
  takes(writer: string, position: Position): boolean;
  /** Whether there was such a line. */
  hasLines(writer: string): boolean;
  /** As much as the API server gives at once was read. If the caller had all of it, the next read begins a second later. */
  skip(writer: string): void;
  /** Whether the caller has all of a start that has ended. `starts`: ids of this start, and of those after it. */
  hasAll(writer: string, starts: readonly string[]): boolean;
  /** This start has ended and was read to its end. `isEarlier`: it is the one before the last restart, which is read beside the other. */
  end(writer: string, start: string, isEarlier: boolean): void;
  /** Where the next read begins. `onPage`: last line on the page of each container, for a page that does not have all lines. */
  after(onPage: ReadonlyMap<string, Position> | undefined): Positions;
}

/** `known`: what the caller has read; undefined for its first read. `writers`: containers that stay known also if they are not read. */
export function makeReading(known: Positions | undefined, writers: readonly string[]): Reading {
  const seen = new Map<string, Position | undefined>(writers.map((writer) => [writer, undefined]));
  const ended = new Map<string, string>();
  const readOf = (writer: string): Read => known?.get(digestOf(writer)) ?? {};
  const begin = (writer: string): void => void seen.set(writer, seen.get(writer));

  return {
    begin,
    lastOf: (writer) => readOf(writer).last,
    takes(writer, position) {
      const { last } = readOf(writer);
      if (last !== undefined && !isAfter(position, last)) return false;
      const latest = seen.get(writer);
      if (latest === undefined || isAfter(position, latest)) seen.set(writer, position);
      return true;
    },
    hasLines: (writer) => seen.get(writer) !== undefined,
    skip(writer) {
      const { last } = readOf(writer);
      if (last === undefined || seen.get(writer) !== undefined) return;
      const next = new Date(Date.parse(`${last.time.slice(0, 19)}Z`) + 1000).toISOString();
      seen.set(writer, { time: `${next.slice(0, 19)}.000000000Z`, nth: -1 });
    },
    hasAll(writer, starts) {
      begin(writer);
      const all = readOf(writer).ended;
      return all !== undefined && starts.some((start) => digestOf(start) === all);
    },
    end(writer, start, isEarlier) {
      if (!isEarlier || !ended.has(writer)) ended.set(writer, digestOf(start));
    },
    after: (onPage) =>
      new Map(
        [...seen].map(([writer, last]) => {
          const before = readOf(writer);
          return [
            digestOf(writer),
            {
              last: (onPage ? onPage.get(writer) : last) ?? before.last,
              ended: (onPage ? undefined : ended.get(writer)) ?? before.ended,
            },
          ];
        }),
      ),
  };
}
