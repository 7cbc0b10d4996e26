// Which kinds of other software the cluster serves. It may be installed and removed while the facade runs.

import { Forbidden } from '../../../lib/errors.ts';
import type { KubeClient, Resource } from '../../../lib/kube/client.ts';
import { servedResources } from '../../../lib/kube/discovery.ts';

export interface ServedKinds {
  /** Throws Unavailable. */
  has(resource: Resource): Promise<boolean>;
}

/** So long an answer is taken again, in milliseconds. */
const KNOWN_MS = 30_000;

export function makeServedKinds({ kube, now }: { readonly kube: KubeClient; readonly now: () => Date }): ServedKinds {
  const known = new Map<string, { readonly until: number; readonly plurals: Promise<ReadonlySet<string>> }>();
  return {
    async has(resource) {
      const key = `${resource.group}/${resource.version}`;
      const before = known.get(key);
      const time = now().getTime();
      const isFresh = before !== undefined && time < before.until;
      const plurals = isFresh ? before.plurals : servedResources(kube, resource).catch(noneIfForbidden);
      if (!isFresh) {
        known.set(key, { until: time + KNOWN_MS, plurals });
        // A failure is not remembered.
        plurals.catch(() => known.delete(key));
      }
      return (await plurals).has(resource.plural);
    },
  };
}

/** Every service account may ask. What it is refused is not there for its tenants either. */
function noneIfForbidden(error: unknown): ReadonlySet<string> {
  if (error instanceof Forbidden) return new Set();
  throw error;
}
