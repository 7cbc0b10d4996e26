// Cleans up after records that were deleted past their finalizer. The API server evaluates finalizers before a deletion, and not
// again if the object changes meanwhile (kubernetes/kubernetes#77988): a record that is deleted while it gets its finalizer
// disappears immediately, and the pass in progress keeps creating its children. The garbage collector deletes children with an
// owner; the volume and the passwords have none.

import type { AppDeployment } from '../kinds/app-deployment.ts';
import { DEPLOYMENT_LABEL } from '../kinds/meta.ts';
import type { Settings } from '../kinds/settings.ts';
import type { Result } from '../runtime/controller/controller.ts';
import { keyOf, refOf } from '../runtime/controller/keys.ts';
import type { Change } from '../runtime/controller/store.ts';
import type { KubeObject } from '../runtime/kube/client.ts';
import { childrenNamed } from './cluster/caches.ts';
import type { Cluster } from './cluster/cluster.ts';
import { deleteObjects } from './cluster/delete.ts';
import { errorsOf } from './cluster/failures.ts';
import { hasFinalizer } from './finalize.ts';
import { orphanedChildren } from './plan/teardown.ts';
import { deletionDefault } from './record/database-deletion.ts';

export interface Vanished {
  /** Deletes the remaining children of a record of this key that was recently deleted in this way. Failures are the caller's to throw. */
  sweep(key: string): Promise<Result & { readonly failed?: readonly unknown[] }>;
  /** Follows the cache no more. */
  close(): void;
}

/** Time in which writes that were sent before the deletion may still arrive. */
const LOOKS_FOR_MS = 30_000;
const LOOKS_EVERY_MS = 2000;

/** `elapsed`: milliseconds of a monotonic clock. */
export function makeVanished(home: Cluster, { database }: Settings, elapsed: () => number): Vanished {
  const gone = new Map<string, { readonly record: AppDeployment; readonly until: number }>();
  const close = home.caches.records.onChange((change) => {
    if (!isVanished(change)) return;
    const { namespace, name } = change.object.metadata;
    gone.set(keyOf(namespace, name), { record: change.object, until: elapsed() + LOOKS_FOR_MS });
  });

  return {
    close,
    async sweep(key) {
      const left = gone.get(key);
      if (!left) return {};
      const { record } = left;
      const of = { record, deletionDefault: deletionDefault(record, database.deletionPolicy) };
      const failed = errorsOf(await deleteObjects(orphanedChildren(of, allNamed(key, home)), home));
      if (failed.length > 0 || elapsed() < left.until) return { requeueAfterMs: LOOKS_EVERY_MS, failed };
      gone.delete(key);
      return {};
    },
  };
}

/**
 * Only for deletions that the watch reported, which contain the last state: if a record is missing from a list, a person may have
 * removed its finalizer to keep its children.
 */
function isVanished({ type, object, previous }: Change<AppDeployment>): boolean {
  const wasTold = type === 'deleted' && previous !== undefined;
  return wasTold && hasFinalizer(object) && object.metadata.deletionTimestamp === undefined;
}

function allNamed(key: string, { caches }: Cluster): readonly KubeObject[] {
  const { namespace, name } = refOf(key);
  const project = caches.tracingProjects.get({ namespace, name });
  const revisions = caches.revisions.byLabel(namespace, DEPLOYMENT_LABEL, name);
  return [...childrenNamed(caches, namespace, name), ...revisions, ...(project ? [project] : [])];
}
