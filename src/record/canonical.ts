// The one form of what a record asks for. Kubernetes takes many texts for the same pods: a list of nothing for no list, a
// null for an absent field, maps in any order. Snapshots were stored by every Davit that there was, each in its own form.

import type { Requested } from '../api/app-revision.ts';

/** Maps in which no entry means the same as no map. Elsewhere an empty object says something: `emptyDir: {}`. */
const MAPS: ReadonlySet<string> = new Set([
  'resourceSpec',
  'labels',
  'annotations',
  'resources',
  'limits',
  'requests',
  'volumeAttributes',
]);

/** Lists at the top of resourceSpec whose order says nothing; mounts and containers keep theirs. */
const UNORDERED: ReadonlySet<string> = new Set(['volumes', 'imagePullSecrets']);

/**
 * Absent is absent: no undefined and no null, no empty list, and no empty map where that is the same. Lists whose order
 * means nothing are sorted by name. Takes whatever a snapshot may hold: it is not checked against today's schema.
 */
export function canonical(requested: Readonly<Partial<Requested>>): Requested {
  const { secrets, secretReferences, resourceSpec, ...rest } = requested;
  const pods = Object.entries(resourceSpec ?? {}).map(([field, value]) => [
    field,
    UNORDERED.has(field) && Array.isArray(value) ? byName(value as Named[]) : value,
  ]);
  const form = withoutAbsent({ ...rest, resourceSpec: Object.fromEntries(pods) as object }) as Requested;
  return {
    ...form,
    sourceRevisionConfig: form.sourceRevisionConfig ?? {},
    secrets: byName(secrets ?? []),
    secretReferences: byName(secretReferences ?? []),
  };
}

interface Named {
  readonly name: string;
}

function byName<T extends Named>(list: readonly T[]): T[] {
  return list.toSorted((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}

/** A deep copy. Undefined where nothing is left of it that says anything. */
function withoutAbsent(value: unknown, field = ''): unknown {
  if (value === null) return undefined;
  if (Array.isArray(value)) return value.length > 0 ? value.map((item: unknown) => withoutAbsent(item)) : undefined;
  if (typeof value !== 'object') return value;
  const entries = Object.entries(value)
    .map(([key, inner]) => [key, withoutAbsent(inner, key)] as const)
    .filter(([, inner]) => inner !== undefined);
  return entries.length === 0 && MAPS.has(field) ? undefined : Object.fromEntries(entries);
}
