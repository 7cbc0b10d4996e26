// Which of its namespaces the agent can watch: a deleted one has lost the Role that allowed it, and its lists would never end.

import { APP_DEPLOYMENTS } from '../../kinds/app-deployment.ts';
import { type Clock, sleep } from '../../runtime/controller/clock.ts';
import { Forbidden } from '../../runtime/errors.ts';
import type { KubeClient } from '../../runtime/kube/client.ts';

export interface ListableOptions {
  readonly local: KubeClient;
  /** Namespaces of this cluster that the agent serves. */
  readonly served: readonly string[];
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** A Role that appears wakes nobody. */
const LOOK_AGAIN_MS = 60_000;

/** Runs `work` with the namespaces that can be listed, and again whenever these change, until `signal` aborts. */
export async function withListable(
  { local, served, clock, signal }: ListableOptions,
  work: (listable: readonly string[], signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const isForbidden = async (namespace: string): Promise<boolean> => {
    try {
      await local.list(APP_DEPLOYMENTS, { namespace, limit: 1, metadataOnly: true });
      return false;
    } catch (error) {
      return error instanceof Forbidden || Promise.reject(error);
    }
  };
  /** As before if the API server does not answer. All if it forbids all: then nothing is listed, and the readiness probe says why. */
  const listableNow = async (before: readonly string[]): Promise<readonly string[]> => {
    const forbidden = await Promise.all(served.map(isForbidden)).catch(() => undefined);
    const allowed = served.filter((_name, at) => forbidden?.[at] === false);
    return forbidden === undefined ? before : allowed.length > 0 ? allowed : served;
  };
  for (let listable = await listableNow(served); !signal.aborted; ) {
    const changed = new AbortController();
    const ends = AbortSignal.any([signal, changed.signal]);
    const working = work(listable, ends).finally(() => changed.abort());
    const before = listable;
    while (!ends.aborted) {
      await sleep(clock, LOOK_AGAIN_MS, ends);
      if (!ends.aborted) listable = await listableNow(before);
      if (listable.join() !== before.join()) changed.abort();
    }
    await working;
  }
}
