// What a person has put in the place of ours. Server-side apply merges: a port whose number was changed is another port to
// it, and ours comes back beside it, under the same name; a variable that was given a source keeps that beside our value.
// The API server refuses both, as often as they are applied. What is here takes theirs out of the way.

import type { KubeObject } from '../../kube/client.ts';
import { elementKey, isObject } from '../list-map-keys.ts';

type Fields = Readonly<Record<string, unknown>>;

interface WithSpec extends KubeObject {
  readonly spec?: Fields;
}

/** Elements that are merged themselves: what others have added to a container of ours stays. */
const MERGED: ReadonlySet<string> = new Set(['containers', 'initContainers']);
/** Fields of a spec of which only one may be set. */
const ALTERNATIVES: readonly (readonly string[])[] = [['minAvailable', 'maxUnavailable']];

/**
 * A JSON merge patch, for just this version of `actual`, that makes every list element of ours as it is wanted, and
 * leaves those of others. It is sent only where an apply was refused: a patch removes no field that we stop wanting.
 */
export function repairPatch(wanted: KubeObject, actual: KubeObject): object {
  const { uid, resourceVersion } = actual.metadata;
  const spec = (wanted as WithSpec).spec ?? {};
  return { metadata: { uid, resourceVersion }, spec: { ...otherAlternatives(spec), ...inPlace(spec, specOf(actual)) } };
}

function specOf(object: KubeObject): Fields {
  return (object as WithSpec).spec ?? {};
}

function otherAlternatives(spec: Fields): Fields {
  const others = ALTERNATIVES.filter((fields) => fields.some((field) => field in spec)).flat();
  return Object.fromEntries(others.map((field) => [field, null]));
}

/** A merge patch takes objects field by field and lists as a whole. */
function inPlace(wanted: Fields, actual: Fields): Fields {
  return Object.fromEntries(
    Object.entries(wanted).map(([field, value]) => {
      const there = actual[field];
      if (Array.isArray(value)) return [field, listInPlace(value, Array.isArray(there) ? there : [], field)];
      return [field, isObject(value) && isObject(there) ? inPlace(value, there) : value];
    }),
  );
}

/** Ours, in our order, and then those of others that are not in the way. */
function listInPlace(wanted: readonly unknown[], actual: readonly unknown[], field: string): readonly unknown[] {
  const own = new Set(wanted.map((element) => elementKey(field, element)));
  if (own.has(undefined)) return wanted;
  const others = actual.filter((element) => !own.has(elementKey(field, element)));
  return [...wanted.map((element) => (MERGED.has(field) ? merged(element, actual, field) : element)), ...others];
}

function merged(element: unknown, actual: readonly unknown[], field: string): unknown {
  const there = actual.find((other) => elementKey(field, other) === elementKey(field, element));
  if (!isObject(element) || !isObject(there)) return element;
  const lists = Object.entries(element).flatMap(([name, value]) => {
    const its = there[name];
    return Array.isArray(value) && Array.isArray(its) ? [[name, listInPlace(value, its, name)] as const] : [];
  });
  return { ...there, ...element, ...Object.fromEntries(lists) };
}
