// Waits for caches of the in-memory API server. Their watches deliver in turns of the event loop, not in time; one that has ended begins
// again after a while.

import { setTimeout as sleep } from 'node:timers/promises';
import type { FakeKube } from './fake-kube.ts';

interface Watching {
  readonly resource: { readonly plural: string };
  /** '' until it has seen anything. */
  observedResourceVersion(): string;
  /** Absent where the cluster always has the kind. */
  isInstalled?(): boolean;
}

/** More than any event needs. */
const TURNS = 1000;
/** Much longer than the pause of a watch that begins again, however busy the machine is. */
const PAUSES = 3000;
const PAUSE_MS = 20;

/** Returns when the caches have seen what the server has now. Throws if one of them never does: its watch is broken or was not begun. */
export async function caughtUp(kube: FakeKube, caches: readonly Watching[]): Promise<void> {
  const version = BigInt(kube.resourceVersion());
  const isBehind = (cache: Watching): boolean =>
    cache.isInstalled?.() !== false && BigInt(cache.observedResourceVersion()) < version;
  if (!caches.some(isBehind)) return;
  kube.bookmark();
  for (let turn = 0; turn < TURNS && caches.some(isBehind); turn += 1) {
    await new Promise((resolve) => setImmediate(resolve));
  }
  for (let pause = 0; pause < PAUSES && caches.some(isBehind); pause += 1) {
    await sleep(PAUSE_MS);
    // For watches that have begun since.
    kube.bookmark();
  }
  const behind = caches.filter(isBehind).map(({ resource }) => resource.plural);
  if (behind.length > 0) throw new Error(`Caches have not seen version ${version} of the server: ${behind.join(', ')}`);
}
