// Which kinds of other software the cluster serves. It may be installed and removed while the facade runs.

import { Forbidden, NotFound } from '../../../lib/errors.ts';
import type { KubeClient, Resource } from '../../../lib/kube/client.ts';

export interface ServedKinds {
  /** Throws Unavailable. */
  has(resource: Resource): Promise<boolean>;
}

/** So long an answer is taken again, in milliseconds. */
const KNOWN_MS = 30_000;

/** Discovery, which every service account may ask. What it is refused is not there for its tenants either. */
export function makeServedKinds({ kube, now }: { readonly kube: KubeClient; readonly now: () => Date }): ServedKinds {
  const known = new Map<string, { readonly until: number; readonly plurals: Promise<ReadonlySet<string>> }>();
  return {
    async has({ group, version, plural }) {
      const path = `/apis/${group}/${version}`;
      const before = known.get(path);
      const time = now().getTime();
      const isFresh = before !== undefined && time < before.until;
      const plurals = isFresh ? before.plurals : servedAt(kube, path);
      if (!isFresh) {
        known.set(path, { until: time + KNOWN_MS, plurals });
        // A failure is not remembered.
        plurals.catch(() => known.delete(path));
      }
      return (await plurals).has(plural);
    },
  };
}

async function servedAt(kube: KubeClient, path: string): Promise<ReadonlySet<string>> {
  try {
    const { resources } = JSON.parse(await kube.text(path)) as {
      readonly resources: readonly { readonly name: string }[];
    };
    return new Set(resources.map(({ name }) => name));
  } catch (error) {
    if (error instanceof NotFound || error instanceof Forbidden) return new Set();
    throw error;
  }
}
