// The page of last lines that a followed log begins with, and where following goes on after it. Every writer is read on from
// the last line that the page has read of it, whether that line is on the page or not.

import { tooManyLogs } from '../lib/http/http-error.ts';
import type { StreamEvent } from '../lib/http/server-sent-events.ts';
import type { KubeClient } from '../lib/kube/client.ts';
import type { LogBudget } from './budget.ts';
import { keyParts, type LineSink, makeLineSink, makePage, writerOf } from './lines.ts';
import type { DeployLogsQuery, LogLine } from './payloads.ts';
import { type PodsToRead, readLogs } from './pods.ts';
import { isAfter, type Position, type Positions, startAt } from './positions.ts';

/** Lines to begin with, where the query does not say. */
const USUAL_LIMIT = 50;

export interface FirstLines {
  /** Oldest first. */
  readonly lines: readonly LogLine[];
  /** The last line of each writer that was read. */
  readonly seen: ReadonlyMap<string, Position>;
}

export interface FirstReading {
  readonly query: DeployLogsQuery;
  readonly budget: LogBudget;
  /** The namespace whose share of the budget is used. */
  readonly tenant: string;
  readonly signal: AbortSignal;
}

export async function readFirstLines(
  kube: KubeClient,
  pods: PodsToRead,
  { query, budget, tenant, signal }: FirstReading,
): Promise<FirstLines> {
  const page = makePage({ ...query, limit: query.limit ?? USUAL_LIMIT, order: 'desc' });
  const seen = new Map<string, Position>();
  const sink = (by: string): LineSink => watched(page.sink(by), writerOf(by), seen);
  const giveBack = await (budget.requests.take(tenant, signal) ?? tooManyLogs());
  try {
    await readLogs(kube, pods, { page: { ...page, sink }, budget, tenant, signal });
    return { lines: page.done(false).logs.toReversed(), seen };
  } finally {
    giveBack();
  }
}

/** The same sink; notes in `seen` how far its writer is read. */
function watched(sink: LineSink, writer: string, seen: Map<string, Position>): LineSink {
  const watch = makeLineSink((time, nth) => {
    const last = seen.get(writer);
    if (last === undefined || isAfter({ time, nth }, last)) seen.set(writer, { time, nth });
    return true;
  });
  return {
    push(piece) {
      watch.push(piece);
      return sink.push(piece);
    },
    end() {
      watch.end();
      sink.end();
    },
  };
}

/** Before the first line of the page, and after everything that is not on it. */
export function startBefore({ lines, seen }: FirstLines): Positions {
  const positions = startAt(undefined);
  for (const [writer, position] of seen) positions.advance(writer, position);
  for (const { id } of lines.toReversed()) {
    const { time, by, nth } = keyParts(id);
    positions.advance(writerOf(by), { time, nth: nth - 1 });
  }
  return positions;
}

/** Moves the positions past the page. */
export function firstEvents({ lines, seen }: FirstLines, positions: Positions): StreamEvent[] {
  const events = lines.map((line) => {
    const { time, by, nth } = keyParts(line.id);
    positions.advance(writerOf(by), { time, nth });
    return { event: 'log', id: positions.token(), data: JSON.stringify(line) };
  });
  for (const [writer, position] of seen) positions.advance(writer, position);
  return events;
}
