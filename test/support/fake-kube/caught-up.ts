// Waits for caches of the in-memory API server. Their watches deliver in turns of the event loop, not in time.

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

/** Returns when the caches have seen what the server has now. Throws if one of them never does: its watch is broken or was not begun. */
export async function caughtUp(kube: FakeKube, caches: readonly Watching[]): Promise<void> {
  kube.bookmark();
  const version = BigInt(kube.resourceVersion());
  const isBehind = (cache: Watching): boolean =>
    cache.isInstalled?.() !== false && BigInt(cache.observedResourceVersion()) < version;
  for (let turn = 0; turn < TURNS && caches.some(isBehind); turn += 1) {
    // oxlint-disable-next-line no-await-in-loop -- one turn at a time
    await new Promise((resolve) => setImmediate(resolve));
  }
  const behind = caches.filter(isBehind).map(({ resource }) => resource.plural);
  if (behind.length > 0) throw new Error(`Caches have not seen version ${version} of the server: ${behind.join(', ')}`);
}
