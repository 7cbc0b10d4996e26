// Reads what containers write into a stream, each line once: from where it was left when its connection ended or it was restarted.

import { Invalid, NotFound, Unavailable } from '../lib/errors.ts';
import { pause } from '../lib/http/mark.ts';
import type { KubeClient } from '../lib/kube/client.ts';
import { logPath } from '../lib/kube/log-path.ts';
import { LAST_LINES, type LogBudget } from './budget.ts';
import type { PodsToRead } from './pods.ts';
import type { Positions } from './positions.ts';
import { pushInTurns } from './push-in-turns.ts';
import type { LogSender } from './sender.ts';

/** How long it takes until a node is asked again that did not answer. */
const AGAIN_MS = 5000;

export interface ReaderNeeds {
  readonly kube: KubeClient;
  readonly pods: PodsToRead;
  readonly sender: LogSender;
  readonly positions: Positions;
  readonly budget: LogBudget;
  /** By whom a container's lines are counted: positions are those of writers. */
  readonly writerOf: (pod: string, container: string) => string;
  /** Whether a writer is read from its first line on, however much it has written before. */
  readonly fromStart: boolean;
  /** Whether the last lines of the containers that there are have been read, also of those that have ended. */
  readonly hasPage: boolean;
}

export interface Container {
  readonly pod: string;
  readonly name: string;
  /** One start of it. */
  readonly id: string;
  readonly restarts: number;
  readonly isRunning: boolean;
}

export interface ContainerReader {
  /** What there is when the stream begins: the first call counts. */
  begin(all: readonly Container[]): void;
  /** Whether it has ended and is read to its end. */
  isDone(id: string): boolean;
  /** Reads until the container or the connection ends. */
  follow(container: Container): Promise<void>;
}

export function makeContainerReader(needs: ReaderNeeds, signal: AbortSignal): ContainerReader {
  const { kube, pods, sender, positions, budget, writerOf, fromStart, hasPage } = needs;
  const done = new Set<string>();
  /** So often containers had been restarted when they were read last; of those that came later, 0. */
  const restarts = new Map<string, number>();
  /** Containers that may have written more than anybody asks for before the stream began. */
  let old: ReadonlySet<string> | undefined;

  async function read({ pod, name, id }: Container, previous: boolean): Promise<void> {
    const writer = writerOf(pod, name);
    const sink = sender.sink(writer, `${pod}/${name}`);
    const since = (sender.lastOf(writer)?.time ?? positions.floor)?.slice(0, '2026-01-01T00:00:00'.length);
    const log = { pod, container: name, previous };
    const path = logPath(pods.namespace, log, {
      ...(!previous && { follow: 'true' }),
      ...(since !== undefined && { sinceTime: `${since}Z` }),
      ...(since === undefined && old?.has(id) && !fromStart && { tailLines: String(LAST_LINES) }),
    });
    for await (const piece of kube.stream(path, { signal, isOpenEnded: true })) {
      await pushInTurns(sink, piece);
      await budget.paceFollowed(piece.length, signal);
      await sender.room();
    }
    sink.end();
  }

  return {
    isDone: (id) => done.has(id),
    begin(all) {
      if (old !== undefined) return;
      old = new Set(all.map(({ id }) => id));
      if (!hasPage) return;
      for (const { pod, name, id, restarts: before, isRunning } of all) {
        restarts.set(`${pod}/${name}`, before);
        if (!isRunning) done.add(id);
      }
    },
    async follow(container) {
      const { pod, name, id, isRunning } = container;
      try {
        if (container.restarts > (restarts.get(`${pod}/${name}`) ?? 0)) await read(container, true).catch(passOver);
        restarts.set(`${pod}/${name}`, container.restarts);
        await read(container, false);
        // One that has ended since is read once more, which finds what was written last.
        if (!isRunning) done.add(id);
      } catch (error) {
        if (signal.aborted) return;
        passOver(error);
        if (error instanceof Unavailable) await pause(AGAIN_MS, signal);
        else if (!isRunning) done.add(id);
      }
    },
  };
}

/** A pod that is gone, or a container that has not started, says nothing; an API server or a node that does not answer is asked again. */
function passOver(error: unknown): void {
  if (error instanceof NotFound || error instanceof Invalid || error instanceof Unavailable) return;
  throw error;
}
