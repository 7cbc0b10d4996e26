// The watch caches of the controller's process.

import { type BuildCaches, makeBuildCaches } from '../build/caches.ts';
import { type ListenerCaches, makeListenerCaches } from '../clusters/hub/caches.ts';
import { type Caches, makeCaches } from '../deploy/cluster/caches.ts';
import { slimObject } from '../deploy/cluster/slim.ts';
import { canBuild } from '../deploy/record/build-source.ts';
import { NOTIFIERS, type Notifier } from '../kinds/notifier.ts';
import type { Settings } from '../kinds/settings.ts';
import { cacheMaker } from '../runtime/controller/multi-namespace-reflector.ts';
import type { Reflector, Watching } from '../runtime/controller/reflector.ts';
import { present } from '../runtime/json-value.ts';
import type { KubeObject } from '../runtime/kube/client.ts';

export interface ControllerCaches extends Caches {
  /** Undefined if builds are not configured. */
  readonly builds: BuildCaches | undefined;
  readonly notifiers: Reflector<Notifier>;
  /** Undefined if no deployments run on further clusters. */
  readonly listening: ListenerCaches | undefined;
}

/** Those that the settings ask for. None runs yet. */
export function makeControllerCaches(options: Watching & { readonly settings: Settings }): ControllerCaches {
  const { client, log, metrics, onRewound, settings } = options;
  const watching = { client, log, ...present({ metrics, onRewound }) };
  const caches = makeCaches(watching, settings);
  const builds = canBuild(settings) ? makeBuildCaches(watching, settings.builds.namespace) : undefined;
  const listening = settings.listeners.enabled ? makeListenerCaches(watching) : undefined;
  const notifiers = cacheMaker(watching, settings.namespaces)<Notifier>(NOTIFIERS, { transform: slimObject });
  const all = [
    ...caches.all,
    notifiers,
    ...(builds ? [builds.jobs, builds.pods] : []),
    ...(listening ? [listening.works, listening.leases] : []),
  ] as unknown as Reflector<KubeObject>[];
  return { ...caches, builds, listening, notifiers, all };
}
