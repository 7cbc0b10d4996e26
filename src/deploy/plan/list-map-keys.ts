// Lists that Kubernetes keeps as maps. Source: x-kubernetes-patch-merge-key and x-kubernetes-list-map-keys of its OpenAPI
// document, where ports are told apart by number and protocol; ours have names, and no two of a list have the same.

import { isObject } from '../../runtime/json-value.ts';

/** By the field that holds the list: what tells its elements apart. */
const KEYS: Readonly<Record<string, readonly string[]>> = {
  containers: ['name'],
  initContainers: ['name'],
  volumes: ['name'],
  env: ['name'],
  ports: ['name'],
  imagePullSecrets: ['name'],
  volumeMounts: ['mountPath'],
  topologySpreadConstraints: ['topologyKey', 'whenUnsatisfiable'],
  ownerReferences: ['uid'],
};

/**
 * What tells `element` apart in list `field`; undefined in a plain list. The same name may be of both kinds: a Service's
 * ports have names, a NetworkPolicy's have none.
 */
export function elementKey(field: string, element: unknown): string | undefined {
  const keys = KEYS[field];
  if (keys === undefined || !isObject(element)) return undefined;
  const values = keys.map((key) => element[key]);
  return values.includes(undefined) ? undefined : values.join(' ');
}
