// The watch caches of the controller's process.

import { type BuildCaches, makeBuildCaches } from '../builds/caches.ts';
import { type CacheOptions, type Caches, makeCaches } from '../deployments/cluster/caches.ts';
import type { Reflector } from '../lib/controller/reflector.ts';
import type { KubeObject } from '../lib/kube/client.ts';
import { type ListenerCaches, makeListenerCaches } from '../listeners/hub/caches.ts';

export interface ControllerCaches extends Caches {
  /** Undefined if builds are not configured. */
  readonly builds: BuildCaches | undefined;
  /** Undefined if no deployments run on further clusters. */
  readonly listening: ListenerCaches | undefined;
}

export interface ControllerCacheOptions extends CacheOptions {
  /** Absent if builds are not configured. */
  readonly buildsNamespace?: string | undefined;
  /** Whether deployments run on further clusters. */
  readonly withListeners?: boolean;
}

export function makeControllerCaches({
  buildsNamespace,
  withListeners,
  ...options
}: ControllerCacheOptions): ControllerCaches {
  const caches = makeCaches(options);
  const { client, log, metrics, onRewound } = options;
  const whole = { client, log, metrics, ...(onRewound && { onRewound }) };
  const builds = buildsNamespace === undefined ? undefined : makeBuildCaches(whole, buildsNamespace);
  const listening = withListeners === true ? makeListenerCaches(whole) : undefined;
  const all = [
    ...caches.all,
    ...(builds ? [builds.jobs, builds.pods] : []),
    ...(listening ? [listening.works, listening.leases] : []),
  ] as unknown as Reflector<KubeObject>[];
  return { ...caches, builds, listening, all };
}
