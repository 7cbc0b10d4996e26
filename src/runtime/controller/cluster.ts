// A cluster as a controller uses it: a client for requests and the watch caches of its objects.

import type { ResourceRegistry } from '../kube/api-resources.ts';
import type { KubeClient, KubeObject, ObjectRef } from '../kube/client.ts';
import { abortable } from './clients/wrap-client.ts';
import type { Reflector } from './reflector.ts';

export interface CacheSet {
  /** In this order, a written object is shown by the first that holds its kind. */
  readonly all: readonly Reflector<KubeObject>[];
}

export interface Cluster<Caches extends CacheSet = CacheSet> {
  readonly client: KubeClient;
  readonly caches: Caches;
  readonly registry: ResourceRegistry;
}

/** Returns the cluster with a client whose requests are aborted by `signal`. */
export function until<Caches extends CacheSet>(cluster: Cluster<Caches>, signal: AbortSignal): Cluster<Caches> {
  return { ...cluster, client: abortable(cluster.client, signal) };
}

export function placeOf({ metadata: { namespace, name } }: KubeObject): ObjectRef {
  return { ...(namespace !== undefined && { namespace }), name };
}

/**
 * Shows a written object in the cache of its kind at once, so that no decision is based on the version before. A cache of the
 * object's namespace alone comes before those of all namespaces.
 */
export function overlayWrite({ all }: CacheSet, object: KubeObject): void {
  const ofKind = all.filter(({ resource }) => resource.kind === object.kind);
  const ofNamespace = ofKind.find(
    ({ namespace }) => namespace !== undefined && namespace === object.metadata.namespace,
  );
  (ofNamespace ?? ofKind.find(({ namespace }) => namespace === undefined))?.overlay(object);
}
