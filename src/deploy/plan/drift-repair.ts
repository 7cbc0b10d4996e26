// Repairs list elements that a person has changed. Server-side apply merges lists by key: it treats a port with a changed number
// as another port and adds Davit's beside it under the same name, and it keeps a changed source of a variable beside Davit's
// value. The API server rejects both every time. The patch removes the changed elements.

import { isObject } from '../../runtime/json-value.ts';
import type { KubeObject } from '../../runtime/kube/client.ts';
import { elementKey } from './list-map-keys.ts';

type Fields = Readonly<Record<string, unknown>>;

interface WithSpec extends KubeObject {
  readonly spec?: Fields;
}

/** Lists whose elements are merged: fields that others added to Davit's containers are kept. */
const MERGED: ReadonlySet<string> = new Set(['containers', 'initContainers']);
/** Fields of a spec of which only one may be set. */
const ALTERNATIVES: readonly (readonly string[])[] = [['minAvailable', 'maxUnavailable']];

/**
 * A JSON merge patch for this version of `actual` that sets all of Davit's list elements to the wanted state and keeps those of
 * others. It is sent only after a rejected apply, because a patch does not remove fields that Davit no longer sets.
 */
export function repairPatch(wanted: KubeObject, actual: KubeObject): object {
  const { uid, resourceVersion } = actual.metadata;
  const spec = (wanted as WithSpec).spec ?? {};
  return {
    metadata: { uid, resourceVersion },
    spec: { ...otherAlternatives(spec), ...inPlace(spec, (actual as WithSpec).spec ?? {}) },
  };
}

function otherAlternatives(spec: Fields): Fields {
  const others = ALTERNATIVES.filter((fields) => fields.some((field) => field in spec)).flat();
  return Object.fromEntries(others.map((field) => [field, null]));
}

/** A merge patch merges objects by field and replaces lists. */
function inPlace(wanted: Fields, actual: Fields): Fields {
  return Object.fromEntries(
    Object.entries(wanted).map(([field, value]) => {
      const there = actual[field];
      if (Array.isArray(value)) return [field, listInPlace(value, Array.isArray(there) ? there : [], field)];
      return [field, isObject(value) && isObject(there) ? inPlace(value, there) : value];
    }),
  );
}

/** Davit's elements in order, followed by those of others that do not conflict. */
function listInPlace(wanted: readonly unknown[], actual: readonly unknown[], field: string): readonly unknown[] {
  const own = new Set(wanted.map((element) => elementKey(field, element)));
  if (own.has(undefined)) return wanted;
  const others = actual.filter((element) => !own.has(elementKey(field, element)));
  return [...wanted.map((element) => (MERGED.has(field) ? mergedElement(element, actual, field) : element)), ...others];
}

function mergedElement(element: unknown, actual: readonly unknown[], field: string): unknown {
  const there = actual.find((other) => elementKey(field, other) === elementKey(field, element));
  if (!isObject(element) || !isObject(there)) return element;
  const lists = Object.entries(element).flatMap(([name, value]) => {
    const its = there[name];
    return Array.isArray(value) && Array.isArray(its) ? [[name, listInPlace(value, its, name)] as const] : [];
  });
  return { ...there, ...element, ...Object.fromEntries(lists) };
}
