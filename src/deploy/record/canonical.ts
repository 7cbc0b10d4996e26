// The canonical form of requested values. Different texts mean the same pods: an empty list or none, null or an absent
// field, maps in any order. Snapshots were stored by different versions of Davit, each in its own form.

import type { Requested } from '../../kinds/app-revision.ts';
import { ROLES } from '../../kinds/meta.ts';

/** Maps for which empty means absent. Other empty objects have a meaning: `emptyDir: {}`. */
export const EMPTY_MAPS: ReadonlySet<string> = new Set([
  'resourceSpec',
  'runtime',
  'envNames',
  'workers',
  ...ROLES,
  'migrate',
  'labels',
  'annotations',
  'resources',
  'limits',
  'requests',
  'volumeAttributes',
]);

/** Top-level lists of resourceSpec whose order has no meaning. Mounts and containers keep theirs. */
const UNORDERED: ReadonlySet<string> = new Set(['volumes', 'imagePullSecrets']);

/**
 * Removes undefined, null, empty lists, and empty maps that mean the same as none. Sorts lists without a meaningful order by
 * name; a plain variable may refer to earlier ones, so these keep theirs. Accepts any content of a snapshot, which may not match the current schema.
 */
export function canonical(requested: Readonly<Partial<Requested>>): Requested {
  const { secrets, secretReferences, resourceSpec, runtime, tasks, ...rest } = requested;
  const pods = Object.entries(resourceSpec ?? {}).map(([field, value]) => [
    field,
    UNORDERED.has(field) && Array.isArray(value) ? byName(value as Named[]) : value,
  ]);
  const form = withoutAbsent({
    ...rest,
    tasks: tasks && byName(tasks),
    resourceSpec: Object.fromEntries(pods) as object,
    runtime: { ...runtime, without: runtime?.without?.toSorted() },
  }) as Requested;
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

/** A deep copy, or undefined if nothing with a meaning is left. */
function withoutAbsent(value: unknown, field = ''): unknown {
  if (value === null) return undefined;
  if (Array.isArray(value)) return value.length > 0 ? value.map((item: unknown) => withoutAbsent(item)) : undefined;
  if (typeof value !== 'object') return value;
  const entries = Object.entries(value)
    .map(([key, inner]) => [key, withoutAbsent(inner, key)] as const)
    .filter(([, inner]) => inner !== undefined);
  return entries.length === 0 && EMPTY_MAPS.has(field) ? undefined : Object.fromEntries(entries);
}
