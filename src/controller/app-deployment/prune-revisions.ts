// Keeps the history of a record within bounds.

import type { Observed } from '../../decide/observed.ts';
import { surplusRevisions } from '../../decide/revision-history.ts';
import { NotFound } from '../../errors.ts';
import type { Cluster } from '../shared/cluster.ts';
import { settleAll } from '../shared/settle-all.ts';

/**
 * Deletes the revisions that are beyond the newest `kept` and of no use any more: each as it was seen, or not at all.
 * Returns what failed: too long a history makes no record less ready.
 */
export async function collectRevisions(observed: Observed, kept: number, home: Cluster): Promise<unknown[]> {
  const errors: unknown[] = [];
  await settleAll(
    surplusRevisions(observed, kept).map(async (revision) => {
      const { namespace = '', name, uid = '', resourceVersion = '' } = revision.metadata;
      try {
        const resource = home.registry.resourceOf(revision);
        await home.client.remove(resource, { namespace, name }, { uid, resourceVersion });
      } catch (error) {
        if (!(error instanceof NotFound)) {
          errors.push(error);
          return;
        }
      }
      home.caches.revisions.overlayDeleted(uid, resourceVersion);
    }),
  );
  return errors;
}
