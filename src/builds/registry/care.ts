// What the leading controller does for the platform's registry: it looks at it for the metrics, and looks after the chart's own.

import { randomUUID } from 'node:crypto';
import type { Cluster } from '../../deployments/cluster/cluster.ts';
import { probeRepository } from '../../deployments/record/registry-names.ts';
import { systemClock } from '../../lib/controller/clock.ts';
import type { WorkQueue } from '../../lib/controller/work-queue.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Settings } from '../../schema/settings.ts';
import { guardCollections } from './collection-guard.ts';
import type { RegistryMetrics } from './metrics.ts';
import { monitorRegistry } from './monitor.ts';
import { makePlatformRegistry } from './platform-registry.ts';
import { publishKeys } from './publish-keys.ts';
import { makeRegistryUpkeep, type RegistryUpkeep } from './upkeep.ts';

export interface RegistryCareOptions {
  /** Davit's own namespace. */
  readonly namespace: string;
  readonly settings: Settings;
  readonly log: Logger;
  readonly metrics: RegistryMetrics;
}

/**
 * Begins to look at the registry, until `leading` aborts. Returns its upkeep, or undefined where the settings leave that to its own
 * people, or name no registry.
 */
export function careForRegistry(
  { namespace, settings, log, metrics }: RegistryCareOptions,
  shell: Cluster,
  leading: AbortSignal,
  means: { readonly queue: WorkQueue; readonly now: () => Date; readonly elapsed: () => number },
): RegistryUpkeep | undefined {
  const { registry } = settings.builds;
  const platform = makePlatformRegistry({
    builds: settings.builds,
    proxies: settings.proxy,
    kube: shell.client,
    namespace,
    now: means.now,
    randomId: randomUUID,
    log,
  });
  if (registry === undefined || platform === undefined) return undefined;
  const { client } = platform;
  leading.addEventListener('abort', () => void platform.close(), { once: true });
  // Also where no API runs yet, and whether or not the registry answers.
  if (registry.tokens) void publishKeys(platform.keyRing, { clock: systemClock, log, signal: leading });
  const upkeep =
    registry.upkeep &&
    makeRegistryUpkeep({ shell, settings, registry, upkeep: registry.upkeep, client, namespace, ...means });
  if (upkeep) {
    const { collections, onRequest } = upkeep;
    void guardCollections({ collections, onRequest, clock: systemClock, log, signal: leading });
  }
  const probe = (signal: AbortSignal): Promise<unknown> => client.digestOf(probeRepository(registry), 'none', signal);
  void monitorRegistry({ probe, own: upkeep, metrics, clock: systemClock, log, signal: leading });
  return upkeep;
}
