// Records that went although our finalizer was on them. The API server looks at finalizers before a deletion, and not again
// where the object has changed by the time it is carried out (kubernetes/kubernetes#77988): a record that is deleted in the
// moment in which it gets its finalizer is gone at once, and the pass under way goes on making its children. What has an
// owner is the garbage collector's; the volume and the passwords have none.

import type { AppDeployment } from '../../api/app-deployment.ts';
import { DEPLOYMENT_LABEL } from '../../api/meta.ts';
import { orphanedChildren } from '../../decide/children/teardown.ts';
import type { KubeObject } from '../../kube/client.ts';
import type { Result } from '../../runtime/controller.ts';
import type { Change } from '../../runtime/store.ts';
import { hasFinalizer } from '../app-deployment/finalize.ts';
import { childrenNamed } from '../shared/caches.ts';
import type { Clusters } from '../shared/cluster.ts';
import { deleteEverywhere } from '../shared/delete.ts';
import { keyOf, refOf } from '../shared/keys.ts';

export interface Vanished {
  /** Deletes what a record of this key has left that went so a moment ago; does nothing for any other key. */
  sweep(key: string): Promise<Result>;
  /** Follows the cache no more. */
  close(): void;
}

/** What was sent before the record went may arrive later than this process is told so. */
const LOOKS_FOR_MS = 30_000;
const LOOKS_EVERY_MS = 2000;

/** `elapsed`: milliseconds on a clock that is never set. */
export function makeVanished(clusters: Clusters, elapsed: () => number): Vanished {
  const gone = new Map<string, { readonly record: AppDeployment; readonly until: number }>();
  const close = clusters.home.caches.records.onChange((change) => {
    if (!isVanished(change)) return;
    const { namespace, name } = change.object.metadata;
    gone.set(keyOf(namespace, name), { record: change.object, until: elapsed() + LOOKS_FOR_MS });
  });

  return {
    close,
    async sweep(key) {
      const left = gone.get(key);
      if (!left) return {};
      const failed = await deleteEverywhere(orphanedChildren(left.record, allNamed(key, clusters)), clusters);
      if (failed.length > 0 || elapsed() < left.until) return { requeueAfterMs: LOOKS_EVERY_MS };
      gone.delete(key);
      return {};
    },
  };
}

/**
 * Told by the watch, for only that has the last state: a record that is missing from a list may have lost its finalizer by
 * somebody's hand, who wants to keep what it had.
 */
function isVanished({ type, object, previous }: Change<AppDeployment>): boolean {
  const wasTold = type === 'deleted' && previous !== undefined;
  return wasTold && hasFinalizer(object) && object.metadata.deletionTimestamp === undefined;
}

function allNamed(key: string, { home: { caches }, target }: Clusters): readonly KubeObject[] {
  const { namespace, name } = refOf(key);
  const project = caches.tracingProjects.get({ namespace, name });
  const revisions = caches.revisions.byLabel(namespace, DEPLOYMENT_LABEL, name);
  return [...childrenNamed(target.caches, namespace, name), ...revisions, ...(project ? [project] : [])];
}
