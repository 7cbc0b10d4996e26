// Whether an object in the cluster has drifted from the wanted state. Compares only Davit's fields and ignores those of others.
// Server-side apply would give the same result, but costs a request (and sometimes a new resourceVersion although nothing changed:
// kubernetes/kubernetes#95460, #121404). `isApplied` of plan.ts also compares the digest of what was applied last.

import { quantity } from '../../kinds/quantity.ts';
import { isObject } from '../../runtime/json-value.ts';
import { elementKey } from './list-map-keys.ts';

type Json = unknown;

/** Parents whose string values are quantities: `2048Mi` is stored as `2Gi`. */
const QUANTITY_PARENTS: ReadonlySet<string> = new Set(['limits', 'requests', 'divisor', 'sizeLimit']);

/**
 * True if a field of `wanted` is missing in `actual` or has another value. Zero values that Go omits (false, 0, '', [], {})
 * count as present.
 */
export function hasDrifted(wanted: Json, actual: Json, field = '', parent = ''): boolean {
  if (wanted === undefined || wanted === actual) return false;
  if (actual === undefined || actual === null) return !isZero(wanted) && !isDropped(field, wanted);
  if (Array.isArray(wanted)) return !Array.isArray(actual) || listDiffers(wanted, actual, field);
  if (isObject(wanted)) {
    if (!isObject(actual)) return true;
    return Object.entries(wanted).some(([key, value]) => hasDrifted(value, actual[key], key, field));
  }
  if (QUANTITY_PARENTS.has(parent) || QUANTITY_PARENTS.has(field)) return quantity(wanted) !== quantity(actual);
  return true;
}

/** Kubernetes before 1.35 stores no other restartPolicy of a container (feature gate ContainerRestartRules). */
function isDropped(field: string, wanted: Json): boolean {
  return field === 'restartPolicy' && wanted !== 'Always';
}

function listDiffers(wanted: readonly Json[], actual: readonly Json[], field: string): boolean {
  const keys = wanted.map((item) => elementKey(field, item));
  if (keys.includes(undefined))
    return wanted.length !== actual.length || wanted.some((item, index) => hasDrifted(item, actual[index], '', field));
  // Elements of others may be anywhere. Davit's must be in order: init containers start one after the other, and a variable can
  // only use earlier ones. An apply restores the order.
  const places = new Map(actual.map((item, index) => [elementKey(field, item), index]));
  const found = keys.map((key) => places.get(key) ?? -1);
  return wanted.some(
    (item, index) =>
      (found[index] ?? -1) <= (found[index - 1] ?? -1) || hasDrifted(item, actual[found[index] ?? -1], '', field),
  );
}

function isZero(value: Json): boolean {
  if (Array.isArray(value)) return value.length === 0;
  // All fields of a wanted object may be zero values, and Go then omits the object.
  if (isObject(value)) return Object.values(value).every(isZero);
  return value === false || value === 0 || value === '' || value === null || value === undefined;
}
