// If Davit has rights only in some namespaces: one reflector per namespace behind one store.

import type { KubeObject, Resource } from '../kube/client.ts';
import { versionOf } from './object-cache.ts';
import { makeReflector, type Reflector, type ReflectorOptions, type Watching } from './reflector.ts';

export type MakeCache = <T extends KubeObject = KubeObject>(
  resource: Resource,
  details?: Partial<ReflectorOptions<T>>,
) => Reflector<T>;

/**
 * Makes watch caches: of the whole cluster or, if namespaces are listed, one per namespace behind one store. Of a cluster-scoped kind, and
 * where the details name a namespace, it is one.
 */
export function cacheMaker(watching: Watching, namespaces: readonly string[] = []): MakeCache {
  return <T extends KubeObject>(resource: Resource, details: Partial<ReflectorOptions<T>> = {}) => {
    const options = { ...watching, resource, ...details };
    if (namespaces.length === 0 || !resource.namespaced || details.namespace !== undefined)
      return makeReflector<T>(options);
    return combineReflectors<T>(
      new Map(namespaces.map((namespace) => [namespace, makeReflector<T>({ ...options, namespace })])),
    );
  };
}

/**
 * Combines reflectors of one resource, one per permitted namespace. Other namespaces are empty. `observedResourceVersion` is
 * the lowest of all.
 */
export function combineReflectors<T extends KubeObject>(byNamespace: ReadonlyMap<string, Reflector<T>>): Reflector<T> {
  const all = [...byNamespace.values()];
  const first = all[0];
  if (first === undefined) throw new Error('combine reflectors: none given');
  const of = (namespace: string | undefined): Reflector<T> | undefined => byNamespace.get(namespace ?? '');

  function furthestBehind(): string {
    return all.map((one) => one.observedResourceVersion()).reduce((a, b) => (versionOf(a) < versionOf(b) ? a : b));
  }

  return {
    resource: first.resource,
    namespace: undefined,
    async run(signal) {
      await Promise.all(all.map((one) => one.run(signal)));
    },
    hasSynced: () => all.every((one) => one.hasSynced()),
    async waitForSync(signal) {
      return (await Promise.all(all.map((one) => one.waitForSync(signal)))).every(Boolean);
    },
    onChange(listener) {
      const removers = all.map((one) => one.onChange(listener));
      return () => {
        for (const remove of removers) remove();
      };
    },
    isInstalled: () => all.every((one) => one.isInstalled()),
    onInstalled(listener) {
      const removers = all.map((one) => one.onInstalled(listener));
      return () => {
        for (const remove of removers) remove();
      };
    },
    get: (ref) => of(ref.namespace)?.get(ref),
    byUid(uid) {
      for (const one of all) {
        const found = one.byUid(uid);
        if (found !== undefined) return found;
      }
      return undefined;
    },
    list: (namespace) =>
      namespace === undefined ? all.flatMap((one) => one.list()) : (of(namespace)?.list(namespace) ?? []),
    byLabel: (namespace, label, value) => of(namespace)?.byLabel(namespace, label, value) ?? [],
    byIndex: (namespace, index, value) => of(namespace)?.byIndex(namespace, index, value) ?? [],
    // A namespace that is not watched never shows an object, so there is nothing to wait for.
    isAtLeast: (ref, resourceVersion) => of(ref.namespace)?.isAtLeast(ref, resourceVersion) ?? true,
    overlay: (object) => of(object.metadata.namespace)?.overlay(object),
    overlayDeleted(uid, resourceVersion) {
      const having = all.find((one) => one.byUid(uid) !== undefined);
      // An object that no cache shows may still come to any of them.
      for (const one of having ? [having] : all) one.overlayDeleted(uid, resourceVersion);
    },
    observedResourceVersion: furthestBehind,
    status() {
      const failing = all.map((one) => one.status()).find((status) => status.failingForMs !== undefined);
      return { ...(failing ?? first.status()), synced: all.every((one) => one.hasSynced()) };
    },
  };
}
