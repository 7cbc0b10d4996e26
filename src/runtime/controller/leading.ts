// Takes part in leader elections for as long as the process lives.

import type { KubeClient, KubeObject } from '../kube/client.ts';
import type { Logger } from '../logger.ts';
import { runLeaderElection } from './leader-election.ts';
import type { RuntimeMetrics } from './metrics.ts';
import { versionOf } from './object-cache.ts';

export interface LeadingOptions {
  readonly leaseClient: KubeClient;
  /** The namespace and name of the Lease. */
  readonly namespace: string;
  readonly name: string;
  readonly identity: string;
  readonly leaseMs: number;
  readonly log: Logger;
  readonly metrics: Pick<RuntimeMetrics, 'leading'>;
  readonly signal: AbortSignal;
  readonly onRewound: (what: string) => void;
  /** Called when this process begins to lead, until `leading` aborts; `holds` says whether it still does. */
  begin(leading: AbortSignal, holds: () => boolean): Led;
}

/** What a leader does. */
export interface Led {
  /** Ends it; the lease is still ours until the promise resolves. */
  stop(): Promise<void>;
  /** Ends it at once, for leadership is lost. No election begins before the promise resolves. */
  abort(): void | Promise<void>;
}

/** Leads again after leadership was lost. Resolves when `signal` has aborted and the Lease is released. */
export async function leadAgainAndAgain(options: LeadingOptions): Promise<void> {
  const { signal, namespace, name, identity, leaseMs, log, metrics, begin } = options;
  // One guard for all elections: an outage ends an election, and a backup may be restored during it.
  const client = rewindGuarded(options.leaseClient, options.onRewound);
  while (!signal.aborted) {
    const electing = new AbortController();
    let led: Led | undefined;
    // The workers stop first, so that the lease is released after the last write.
    const stop = (): void => void (led?.stop() ?? Promise.resolve()).finally(() => electing.abort());
    signal.addEventListener('abort', stop, { once: true });
    const outcome = await runLeaderElection({
      client,
      namespace,
      name,
      identity,
      log,
      metrics,
      leaseDurationMs: leaseMs,
      renewDeadlineMs: Math.round((leaseMs * 2) / 3),
      retryPeriodMs: Math.round((leaseMs * 2) / 15),
      signal: electing.signal,
      onStarted: (leading, holds) => {
        led = begin(leading, holds);
      },
      onStopped: () => led?.abort(),
    });
    signal.removeEventListener('abort', stop);
    log.info({ outcome }, 'Election over');
  }
}

/**
 * The same client, for a single object. `onRewound` is called, possibly repeatedly, when the object is read, created or
 * replaced at a resourceVersion below an earlier one.
 */
export function rewindGuarded(client: KubeClient, onRewound: (what: string) => void): KubeClient {
  let highest: string | undefined;

  function seen<T extends KubeObject>(object: T): T {
    const { name, resourceVersion } = object.metadata;
    if (versionOf(resourceVersion) < versionOf(highest))
      onRewound(
        `${object.kind} ${name}: resourceVersion ${resourceVersion} is older than ${highest}, which was seen before`,
      );
    else highest = resourceVersion;
    return object;
  }

  return {
    ...client,
    get: async (...all) => seen(await client.get(...all)),
    create: async (...all) => seen(await client.create(...all)),
    replace: async (...all) => seen(await client.replace(...all)),
  };
}
