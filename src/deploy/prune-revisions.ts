// Deletes the revisions that revision-history.ts selects.

import { NotFound } from '../runtime/errors.ts';
import type { ObservedChildren } from './assess/observed.ts';
import type { Cluster } from './cluster/cluster.ts';
import { settleAll } from './cluster/settle-all.ts';
import { surplusRevisions } from './revision-history.ts';

/**
 * Deletes unneeded revisions beyond the newest `kept`, each by its observed uid and version. Returns failures, which do not
 * affect the record's conditions.
 */
export async function collectRevisions(observed: ObservedChildren, kept: number, home: Cluster): Promise<unknown[]> {
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
