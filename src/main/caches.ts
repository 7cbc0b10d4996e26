// The watch caches of the controller's process.

import { type BuildCaches, makeBuildCaches } from '../build/caches.ts';
import { type ListenerCaches, makeListenerCaches } from '../clusters/hub/caches.ts';
import { type CacheOptions, type Caches, makeCaches } from '../deploy/cluster/caches.ts';
import { canBuild } from '../deploy/record/build-source.ts';
import type { Notifier } from '../kinds/notifier.ts';
import type { Settings } from '../kinds/settings.ts';
import type { Reflector } from '../runtime/controller/reflector.ts';
import type { KubeObject } from '../runtime/kube/client.ts';
import { makeNotifierCache } from './notices/caches.ts';

export interface ControllerCaches extends Caches {
  /** Undefined if builds are not configured. */
  readonly builds: BuildCaches | undefined;
  readonly notifiers: Reflector<Notifier>;
  /** Undefined if no deployments run on further clusters. */
  readonly listening: ListenerCaches | undefined;
}

export interface ControllerCacheOptions extends Pick<CacheOptions, 'client' | 'log' | 'metrics' | 'onRewound'> {
  readonly settings: Settings;
}

/** Those that the settings ask for. None runs yet. */
export function makeControllerCaches(options: ControllerCacheOptions): ControllerCaches {
  const { client, log, metrics, onRewound, settings } = options;
  const whole = { client, log, metrics, ...(onRewound && { onRewound }) };
  const caches = makeCaches({
    ...whole,
    namespaces: settings.namespaces,
    organizationNamespace: settings.organizationNamespace,
    addressKind: settings.address.kind,
    keda: settings.keda.enabled,
    cloudNativePg: settings.database.cloudNativePg.enabled,
  });
  const builds = canBuild(settings) ? makeBuildCaches(whole, settings.builds.namespace) : undefined;
  const listening = settings.listeners.enabled ? makeListenerCaches(whole) : undefined;
  const notifiers = makeNotifierCache(whole, settings.namespaces);
  const all = [
    ...caches.all,
    notifiers,
    ...(builds ? [builds.jobs, builds.pods] : []),
    ...(listening ? [listening.works, listening.leases] : []),
  ] as unknown as Reflector<KubeObject>[];
  return { ...caches, builds, listening, notifiers, all };
}
