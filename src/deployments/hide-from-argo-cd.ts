// Changes the labels of objects without an owner that an earlier version of Davit created, once: Argo CD would prune them.

import { overlayWrite, placeOf } from '../lib/controller/cluster.ts';
import { FIELD_MANAGER } from '../schema/meta.ts';
import { type ActionFailure, type Observed, refTo } from './assess/observed.ts';
import type { Clusters } from './cluster/cluster.ts';
import { failureOf } from './cluster/failures.ts';
import { settleFailures } from './cluster/settle-all.ts';
import { prunable, unprunable } from './plan/argo-cd.ts';

/** Returns the requests that failed. Tracing projects are in the home cluster, all others in the target cluster. */
export function hideFromArgoCd(observed: Observed, { home, target }: Clusters): Promise<ActionFailure[]> {
  return settleFailures(
    prunable(observed).map(async (object) => {
      const { client, registry, caches } = object.kind === 'TracingProject' ? home : target;
      try {
        const patch = unprunable(object);
        overlayWrite(
          caches,
          await client.mergePatch(registry.resourceOf(object), placeOf(object), patch, { fieldManager: FIELD_MANAGER }),
        );
        return undefined;
      } catch (error) {
        return failureOf(error, refTo(object), 'apply');
      }
    }),
  );
}
