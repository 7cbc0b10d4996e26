// What Davit has put back: a person's change of one of its fields, or a child that was deleted.

import { APPLIED_ANNOTATION } from '../../kinds/meta.ts';
import { isObject } from '../../runtime/json-value.ts';
import type { KubeObject } from '../../runtime/kube/client.ts';
import { type ActionFailure, refText, refTo } from '../assess/observed.ts';
import { hasDrifted } from './drift.ts';
import { elementKey } from './list-map-keys.ts';
import type { Action } from './plan.ts';

/** Kinds of which a deployed revision has all its objects: a missing one was deleted by somebody. */
const ALWAYS_THERE: ReadonlySet<string> = new Set(['Deployment', 'StatefulSet', 'Service', 'NetworkPolicy']);

/**
 * A note for each action that was performed and put something back. `isDeployed`: the revision was deployed when the pass began, and
 * the record has not changed since.
 */
export function correctionsOf(
  actions: readonly Action[],
  failures: readonly ActionFailure[],
  isDeployed: boolean,
): readonly string[] {
  return actions.flatMap((action) => {
    if (action.do !== 'apply' || action.handOverFloor !== undefined) return [];
    const { object, observed } = action;
    const ref = refTo(object);
    if (failures.some((failure) => failure.ref.kind === ref.kind && failure.ref.name === ref.name)) return [];
    if (observed === undefined)
      return isDeployed && ALWAYS_THERE.has(ref.kind)
        ? [`${refText(ref)} was missing and has been created again.`]
        : [];
    if (appliedDigest(object) !== appliedDigest(observed) || !hasDrifted(object, observed)) return [];
    return [`${refText(ref)} was changed and has been put back: ${driftedField(object, observed)}.`];
  });
}

function appliedDigest({ metadata: { annotations } }: KubeObject): string | undefined {
  return annotations?.[APPLIED_ANNOTATION];
}

/** The path of the first field that differs, without its value: `spec.template.spec.containers[main].image`. */
export function driftedField(wanted: unknown, actual: unknown, field = '', path = ''): string {
  if (isObject(wanted) && isObject(actual)) {
    const found = Object.keys(wanted).find((key) => hasDrifted(wanted[key], actual[key], key, field));
    if (found === undefined) return path;
    return driftedField(wanted[found], actual[found], found, path === '' ? found : `${path}.${found}`);
  }
  if (Array.isArray(wanted) && Array.isArray(actual))
    for (const element of wanted) {
      const key = elementKey(field, element);
      const there = actual.find((other) => elementKey(field, other) === key);
      if (key !== undefined && there !== undefined && hasDrifted(element, there, '', field))
        return driftedField(element, there, field, `${path}[${key}]`);
    }
  return path;
}
