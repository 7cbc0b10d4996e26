// A merge patch that repairs a child makes Davit the owner of fields twice: by the patch, and by its applies. Such a field would
// stay for ever once the record no longer asks for it, because an apply gives up only what applies own.

import { FIELD_MANAGER } from '../../kinds/meta.ts';
import { placeOf } from '../../runtime/controller/cluster.ts';
import { Conflict } from '../../runtime/errors.ts';
import { isObject } from '../../runtime/json-value.ts';
import type { KubeClient, KubeObject, ManagedField, Resource } from '../../runtime/kube/client.ts';

/** Others change the object too, such as its status while it rolls. */
const ATTEMPTS = 5;

/**
 * Makes what Davit's patches own the applies' own, so that the next apply decides on it. `object` is the answer of an apply. Returns
 * whether anything was changed. Throws Conflict if the object changes too often; the next apply tries again.
 */
export async function leaveToApplies(
  object: KubeObject,
  resource: Resource,
  client: Pick<KubeClient, 'get' | 'mergePatch'>,
): Promise<boolean> {
  let current = object;
  for (let attempt = 1; ; attempt += 1) {
    const { uid, resourceVersion } = current.metadata;
    const managedFields = withoutOwnUpdates(current.metadata.managedFields);
    if (managedFields === undefined) return attempt > 1;
    try {
      const patch = { metadata: { uid, resourceVersion, managedFields } };
      await client.mergePatch(resource, placeOf(object), patch, { fieldManager: FIELD_MANAGER });
      return true;
    } catch (error) {
      if (!(error instanceof Conflict) || attempt === ATTEMPTS) throw error;
    }
    current = await client.get(resource, placeOf(object));
  }
}

/** Undefined if no patch owns anything. */
function withoutOwnUpdates(entries: readonly ManagedField[] = []): readonly ManagedField[] | undefined {
  const isDavits = (entry: ManagedField, operation: string): boolean =>
    entry.manager === FIELD_MANAGER && entry.operation === operation && (entry.subresource ?? '') === '';
  const update = entries.find((entry) => isDavits(entry, 'Update'));
  const applied = entries.find((entry) => isDavits(entry, 'Apply'));
  if (!update || !applied) return undefined;
  return entries
    .filter((entry) => entry !== update)
    .map((entry) => (entry === applied ? { ...entry, fieldsV1: union(entry.fieldsV1, update.fieldsV1) } : entry));
}

/** Both sets of fields, each a tree of objects. */
function union(a: unknown, b: unknown): unknown {
  if (!isObject(a) || !isObject(b)) return a ?? b;
  const both = Object.entries(b).map(([field, value]) => [field, union(a[field], value)] as const);
  return { ...a, ...Object.fromEntries(both) };
}
