// Follows what the pods of a record write: a connection for each container, for as long as it writes. Pods that come are
// joined, those that go are left.

import { Unavailable } from '../lib/errors.ts';
import { makeMark, pause } from '../lib/http/mark.ts';
import { youngestFirst } from '../lib/kube/youngest-first.ts';
import type { EventStream } from '../organization/facade/event-stream.ts';
import { ENDED_AT_ONCE, MOST_FOLLOWED, MOST_PODS, MOST_STREAMS } from './budget.ts';
import { type Container, makeContainerReader, type ReaderNeeds } from './container-reader.ts';
import { listPods, type PodObject } from './pods.ts';

/** How often pods are listed where nothing tells of a change. */
const LIST_EVERY_MS = 10_000;
/** Shortest time between two lists. */
const LIST_AGAIN_MS = 1000;

export interface Following extends ReaderNeeds {
  readonly stream: EventStream;
  /** The namespace whose share of the budget is used. */
  readonly tenant: string;
  /** Calls `listener` when pods may have come or gone, until the returned function is called. */
  readonly onChange: (listener: () => void) => () => void;
  /** `over`: nothing more will be written, but may still be to be read. `gone`: what there is to read is nobody's any more. */
  readonly state: () => 'goes on' | 'over' | 'gone';
}

/** Resolves when all is read of what is over, or when it is gone, or the stream has ended. Fails where pods may not be listed. */
export async function followPods(following: Following): Promise<void> {
  const { stream, positions, budget, tenant, writerOf, fromStart } = following;
  const left = new AbortController();
  const signal = AbortSignal.any([stream.signal, left.signal]);
  const changed = makeMark();
  const open = new Map<string, Promise<void>>();
  const reader = makeContainerReader(following, signal);
  let isTold = false;

  async function follow(container: Container, slot: Promise<() => void>): Promise<void> {
    const giveBack = await slot;
    try {
      await reader.follow(container);
    } finally {
      giveBack();
      open.delete(container.id);
      changed.set();
    }
  }

  /** Follows what is not followed yet; resolves to whether there is nothing to follow. */
  async function join(all: readonly Container[]): Promise<boolean> {
    reader.begin(all);
    // The log of a build is read once more where it is kept.
    if (!fromStart) positions.keepOnly(new Set(all.map(({ pod, name }) => writerOf(pod, name))));
    const wanted = all.filter(({ id }) => !reader.isDone(id));
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
      const all = await listContainers(following, signal);
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

/** Undefined while the API server does not answer. */
async function listContainers(
  { kube, pods }: Pick<Following, 'kube' | 'pods'>,
  signal: AbortSignal,
): Promise<Container[] | undefined> {
  try {
    const items = await listPods(kube, pods, signal);
    const newest = youngestFirst(items).slice(0, MOST_PODS);
    return newest.flatMap(containersOf).slice(0, MOST_STREAMS);
  } catch (error) {
    if (signal.aborted || error instanceof Unavailable) return undefined;
    throw error;
  }
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
