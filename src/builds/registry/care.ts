// What the leading controller does for the platform's registry: it looks at it for the metrics, and looks after the chart's own.

import { randomUUID } from 'node:crypto';
import type { Cluster } from '../../deployments/cluster/cluster.ts';
import { probeRepository } from '../../deployments/record/registry-names.ts';
import { systemClock } from '../../lib/controller/clock.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Settings } from '../../schema/settings.ts';
import type { RegistryMetrics } from './metrics.ts';
import { monitorRegistry } from './monitor.ts';
import { makePlatformRegistry } from './platform-registry.ts';
import { publishKeys } from './publish-keys.ts';
import { keepUp, makeRegistryUpkeep } from './upkeep.ts';

export interface RegistryCareOptions {
  /** Davit's own namespace. */
  readonly namespace: string;
  readonly settings: Settings;
  readonly log: Logger;
  readonly metrics: RegistryMetrics;
  readonly now: () => Date;
  /** Monotonic time in milliseconds. */
  readonly elapsed: () => number;
}

/** Begins to look at the registry and, if it is the chart's own, to look after it, until `leading` aborts. */
export function careForRegistry(
  { namespace, settings, log, metrics, now, elapsed }: RegistryCareOptions,
  shell: Cluster,
  leading: AbortSignal,
): void {
  const { registry } = settings.builds;
  const platform = makePlatformRegistry({
    builds: settings.builds,
    proxies: settings.proxy,
    kube: shell.client,
    namespace,
    now,
    randomId: randomUUID,
    log,
  });
  if (registry === undefined || platform === undefined) return;
  const { client } = platform;
  leading.addEventListener('abort', () => void platform.close(), { once: true });
  const loop = { clock: systemClock, log, signal: leading };
  // Also where no API runs yet, and whether or not the registry answers.
  if (registry.tokens) void publishKeys(platform.keyRing, loop);
  const upkeep =
    registry.upkeep &&
    makeRegistryUpkeep({ shell, settings, registry, upkeep: registry.upkeep, client, namespace, log, now, elapsed });
  if (upkeep) void keepUp(upkeep, shell.caches, loop);
  const probe = (signal: AbortSignal): Promise<unknown> => client.digestOf(probeRepository(registry), 'none', signal);
  void monitorRegistry({ probe, own: upkeep?.shown, metrics, ...loop });
}
