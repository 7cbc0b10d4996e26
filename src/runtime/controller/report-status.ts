// Writes statuses that have changed.

import { isDeepStrictEqual } from 'node:util';
import type { KubeObject } from '../kube/client.ts';
import { type CacheSet, type Cluster, overlayWrite } from './cluster.ts';

export interface StatusWrite {
  readonly fieldManager: string;
  /** A field of the status that another field manager owns and that is not compared. */
  readonly foreign?: string | undefined;
}

/** Applies `status` unless the object already has it, and adds the response to the cache. Returns whether the status was written. */
export async function reportStatus<T extends KubeObject & { readonly status?: object }>(
  object: T,
  status: object,
  home: Cluster<CacheSet>,
  { fieldManager, foreign }: StatusWrite,
): Promise<boolean> {
  if (isDeepStrictEqual(without(object.status, foreign), status)) return false;
  const { name, namespace, uid } = object.metadata;
  const wanted = {
    apiVersion: object.apiVersion,
    kind: object.kind,
    metadata: { name, ...(namespace !== undefined && { namespace }), ...(uid !== undefined && { uid }) },
    status,
  };
  const written = await home.client.apply(home.registry.resourceOf(object), wanted, {
    fieldManager,
    force: true,
    subresource: 'status',
  });
  overlayWrite(home.caches, written);
  return true;
}

function without(status: object | undefined, field: string | undefined): object | undefined {
  if (status === undefined || field === undefined || !(field in status)) return status;
  const { [field]: _others, ...own } = status as Readonly<Record<string, unknown>>;
  return Object.keys(own).length === 0 ? undefined : own;
}
