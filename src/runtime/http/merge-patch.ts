// Computes the JSON Merge Patch of a change for the API server, and repeats the change after a conflict. What a PATCH of Davit's own API
// merges is decided in casing.ts.

import { isDeepStrictEqual } from 'node:util';
import { Conflict } from '../errors.ts';
import { isObject, ownValue } from '../json-value.ts';
import type { KubeObject } from '../kube/client.ts';
import { HttpError } from './http-error.ts';

interface SpecPatch {
  readonly metadata: {
    readonly uid?: string;
    readonly resourceVersion?: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec?: unknown;
}

/** The JSON Merge Patch from `object` to one with this spec. The API server rejects it if the object has changed. */
export function patchTo<T extends KubeObject & { readonly spec: unknown }>(
  { metadata, spec: before }: T,
  after: T['spec'],
): SpecPatch {
  const { uid, resourceVersion } = metadata;
  const spec = mergePatchBetween(before, after);
  return {
    metadata: { ...(uid !== undefined && { uid }), ...(resourceVersion !== undefined && { resourceVersion }) },
    ...(spec !== undefined && { spec }),
  };
}

/** RFC 7386: objects by field, null for a removed field, other values whole. Undefined if nothing differs. */
function mergePatchBetween(before: unknown, after: unknown): unknown {
  if (isDeepStrictEqual(before, after)) return undefined;
  if (!isObject(before) || !isObject(after)) return after;
  const fields = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  const differing = fields.flatMap((field) => {
    const [was, is] = [ownValue(before, field), ownValue(after, field)];
    return isDeepStrictEqual(was, is) ? [] : [[field, is === undefined ? null : mergePatchBetween(was, is)] as const];
  });
  return Object.fromEntries(differing);
}

/** Enough for two dozen concurrent changes of one object. */
const ATTEMPTS = 24;

/** Calls `attempt` again with the result of `reread` after a Conflict, so no concurrent change is lost. Throws the last Conflict. */
export async function retryOnConflict<T, R>(
  first: T,
  attempt: (current: T) => Promise<R>,
  reread: () => Promise<T>,
): Promise<R> {
  let current = first;
  for (let attempts = 1; ; attempts += 1) {
    try {
      return await attempt(current);
    } catch (error) {
      if (!(error instanceof Conflict) || attempts === ATTEMPTS) throw error;
    }
    current = await reread();
  }
}

/** `what`: such as `Deployment "shop"`. */
export function changedMeanwhile(what: string): HttpError {
  return new HttpError(409, `${what} was changed by another request meanwhile. Read it and try again.`);
}
