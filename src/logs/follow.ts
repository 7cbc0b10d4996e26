// Follows what the pods of a record write: a connection for each container, for as long as it writes. Pods that come are
// joined, those that go are left.

import { Invalid, NotFound, Unavailable } from '../lib/errors.ts';
import { makeMark, pause } from '../lib/http/mark.ts';
import type { KubeClient } from '../lib/kube/client.ts';
import type { EventStream } from '../organization/facade/event-stream.ts';
import { ENDED_AT_ONCE, LAST_LINES, type LogBudget, MOST_FOLLOWED, MOST_PODS, MOST_STREAMS } from './budget.ts';
import { bornAt, listPods, type PodObject, type PodsToRead } from './pods.ts';
import type { Positions } from './positions.ts';
import { pushInTurns } from './push-in-turns.ts';
import type { LogSender } from './sender.ts';

/** How often pods are listed where nothing tells of a change. */
const LIST_EVERY_MS = 10_000;
/** How long it takes until a node is asked again that did not answer. */
const AGAIN_MS = 5000;
/** Shortest time between two lists. */
const LIST_AGAIN_MS = 1000;

export interface Following {
  readonly kube: KubeClient;
  readonly pods: PodsToRead;
  readonly stream: EventStream;
  readonly sender: LogSender;
  readonly positions: Positions;
  readonly budget: LogBudget;
  /** The namespace whose share of the budget is used. */
  readonly tenant: string;
  /** By whom a container's lines are counted: positions are those of writers. */
  readonly writerOf: (pod: string, container: string) => string;
  /** Whether a writer is read from its first line on, however much it has written before. */
  readonly fromStart: boolean;
  /** Whether the last lines of the containers that there are have been read, also of those that have ended. */
  readonly hasPage: boolean;
  /** Calls `listener` when pods may have come or gone, until the returned function is called. */
  readonly onChange: (listener: () => void) => () => void;
  /** `over`: nothing more will be written, but may still be to be read. `gone`: what there is to read is nobody's any more. */
  readonly state: () => 'goes on' | 'over' | 'gone';
}

interface Container {
  readonly pod: string;
  readonly name: string;
  /** One start of it. */
  readonly id: string;
  readonly restarts: number;
  readonly isRunning: boolean;
}

/** Resolves when all is read of what is over, or when it is gone, or the stream has ended. Fails where pods may not be listed. */
export async function followPods(following: Following): Promise<void> {
  const { kube, pods, stream, sender, positions, budget, tenant, writerOf, fromStart } = following;
  const left = new AbortController();
  const signal = AbortSignal.any([stream.signal, left.signal]);
  const changed = makeMark();
  const open = new Map<string, Promise<void>>();
  /** Containers that have ended and are read to their end. */
  const done = new Set<string>();
  /** So often containers had been restarted when they were read last; of those that came later, 0. */
  const restarts = new Map<string, number>();
  /** Containers that may have written more than anybody asks for before the stream began. */
  let old: ReadonlySet<string> | undefined;
  let isTold = false;

  async function containers(): Promise<Container[] | undefined> {
    try {
      const items = await listPods(kube, pods, signal);
      const newest = items.toSorted((a, b) => (bornAt(a) < bornAt(b) ? 1 : -1)).slice(0, MOST_PODS);
      return newest.flatMap(containersOf).slice(0, MOST_STREAMS);
    } catch (error) {
      if (signal.aborted || error instanceof Unavailable) return undefined;
      throw error;
    }
  }

  async function read({ pod, name, id }: Container, previous: boolean): Promise<void> {
    const writer = writerOf(pod, name);
    const sink = sender.sink(writer, `${pod}/${name}`);
    const since = (sender.lastOf(writer)?.time ?? positions.floor)?.slice(0, '2026-01-01T00:00:00'.length);
    const query = new URLSearchParams({
      container: name,
      timestamps: 'true',
      ...(previous ? { previous: 'true' } : { follow: 'true' }),
      ...(since !== undefined && { sinceTime: `${since}Z` }),
      ...(since === undefined && old?.has(id) && !fromStart && { tailLines: String(LAST_LINES) }),
    });
    const path = `/api/v1/namespaces/${pods.namespace}/pods/${pod}/log?${query.toString()}`;
    for await (const piece of kube.stream(path, { signal, isOpenEnded: true })) {
      await pushInTurns(sink, piece);
      await budget.paceFollowed(piece.length, signal);
      await sender.room();
    }
    sink.end();
  }

  async function follow(container: Container, slot: Promise<() => void>): Promise<void> {
    const giveBack = await slot;
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
    } finally {
      giveBack();
      open.delete(id);
      changed.set();
    }
  }

  /** What there is when the stream begins. */
  function begin(all: readonly Container[]): void {
    old = new Set(all.map(({ id }) => id));
    if (!following.hasPage) return;
    for (const { pod, name, id, restarts: before, isRunning } of all) {
      restarts.set(`${pod}/${name}`, before);
      if (!isRunning) done.add(id);
    }
  }

  /** Follows what is not followed yet; resolves to whether there is nothing to follow. */
  async function join(all: readonly Container[]): Promise<boolean> {
    if (old === undefined) begin(all);
    // The log of a build is read once more where it is kept.
    if (!fromStart) positions.keepOnly(new Set(all.map(({ pod, name }) => writerOf(pod, name))));
    const wanted = all.filter(({ id }) => !done.has(id));
    const fresh = wanted.filter(({ id }) => !open.has(id));
    // Those that have ended are read soon, and take a place for as long.
    const leftOut = [
      ...fresh.filter(({ isRunning }) => isRunning),
      ...fresh.filter(({ isRunning }) => !isRunning),
    ].filter((container) => {
      const most = container.isRunning ? MOST_FOLLOWED : MOST_FOLLOWED + ENDED_AT_ONCE;
      const slot = open.size < most ? budget.follows.take(tenant) : undefined;
      // oxlint-disable-next-line promise/prefer-await-to-then -- goes on beside the others
      if (slot !== undefined) open.set(container.id, follow(container, slot).catch(fail));
      return slot === undefined;
    });
    if (!isTold && leftOut.some(({ isRunning }) => isRunning)) {
      isTold = true;
      await stream.send(truncated());
    }
    return wanted.length === 0;
  }

  let failure: Error | undefined;
  function fail(error: unknown): void {
    failure ??= error instanceof Error ? error : new Error(String(error));
    changed.set();
  }

  const unfollow = following.onChange(changed.set);
  signal.addEventListener('abort', changed.set);
  try {
    while (!signal.aborted) {
      changed.clear();
      const state = following.state();
      if (state === 'gone') return;
      // oxlint-disable-next-line no-await-in-loop -- one list after the other
      const all = await containers();
      // oxlint-disable-next-line no-await-in-loop
      const isEmpty = all !== undefined && (await join(all));
      if (failure !== undefined) throw failure;
      if (state === 'over' && isEmpty) return;
      // oxlint-disable-next-line no-await-in-loop
      await pause(LIST_AGAIN_MS, signal);
      // oxlint-disable-next-line no-await-in-loop
      await changed.wait(LIST_EVERY_MS);
    }
  } finally {
    unfollow();
    left.abort();
    await Promise.all(open.values());
  }
}

/** A pod that is gone, or a container that has not started, says nothing; an API server or a node that does not answer is asked again. */
function passOver(error: unknown): void {
  if (error instanceof NotFound || error instanceof Invalid || error instanceof Unavailable) return;
  throw error;
}

function containersOf({ metadata, status }: PodObject): Container[] {
  const all = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  return all
    .filter(({ containerID = '' }) => containerID !== '')
    .map(({ name, restartCount = 0, containerID = '', state }) => ({
      pod: metadata.name,
      name,
      id: `${metadata.name}/${name} ${containerID}`,
      restarts: restartCount,
      isRunning: state?.running !== undefined,
    }));
}

function truncated(): { event: string; data: string } {
  const detail = `Not all containers are followed: at most ${MOST_FOLLOWED} are in one stream, those of the newest pods first, and the tenant's streams share a limit. Follow one revision, or close other streams.`;
  return { event: 'truncated', data: JSON.stringify({ detail }) };
}
