// Reads a log that grows, a page of the API at a time. Pure but for the question that it is given.

import type { DeployLogsQuery, LogLine } from '../http/logs/payloads.ts';

const NEWEST = 300;
/** More would make the page slow. */
const MOST_SHOWN = 3000;

export interface ReadLog {
  /** Oldest first. */
  readonly lines: readonly LogLine[];
  readonly isTruncated: boolean;
}

/** Reads the newest lines the first time, and those after them each time that follows. */
export function makeLogReader(
  page: (
    query: DeployLogsQuery,
    signal: AbortSignal,
  ) => Promise<{
    readonly logs: readonly LogLine[];
    readonly truncated: boolean;
  }>,
): (signal: AbortSignal) => Promise<ReadLog> {
  let read: ReadLog | undefined;
  return async (signal) => {
    const last = read?.lines.at(-1);
    if (read === undefined || last === undefined) {
      const { logs, truncated } = await page({ limit: NEWEST, order: 'desc' }, signal);
      read = { lines: logs.toReversed(), isTruncated: truncated };
      return read;
    }
    // Lines of one moment may come in two answers.
    const { logs, truncated } = await page({ limit: 1000, order: 'asc', start_time: last.timestamp }, signal);
    const known = new Set(read.lines.map((line) => line.id));
    const added = logs.filter((line) => !known.has(line.id));
    if (added.length > 0)
      read = { lines: [...read.lines, ...added].slice(-MOST_SHOWN), isTruncated: read.isTruncated || truncated };
    return read;
  };
}
