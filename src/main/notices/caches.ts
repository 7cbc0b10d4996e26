// The controller's watch cache of Notifiers.

import { NOTIFIERS, type Notifier } from '../../kinds/notifier.ts';
import { reflectNamespaces } from '../../runtime/controller/multi-namespace-reflector.ts';
import type { Reflector, ReflectorOptions } from '../../runtime/controller/reflector.ts';
import type { KubeObject } from '../../runtime/kube/client.ts';

export type NotifierCacheOptions = Pick<ReflectorOptions<KubeObject>, 'client' | 'log' | 'metrics' | 'onRewound'>;

/** `namespaces`: those of tenants; if empty, the whole cluster. */
export function makeNotifierCache(options: NotifierCacheOptions, namespaces: readonly string[]): Reflector<Notifier> {
  return reflectNamespaces<Notifier>(namespaces, { ...options, resource: NOTIFIERS });
}
