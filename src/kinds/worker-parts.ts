// Which parts a deployment has beside those that Davit knows: the names of its workers and their scale. Imports no zod at run time,
// because kubectl-davit bundles it.

import { ownValue } from '../runtime/json-value.ts';
import { RESERVED_WORKERS, ROLES, type Role } from './meta.ts';
import type { RuntimeWorker } from './workers.ts';

type Workers = Readonly<Record<string, Readonly<RuntimeWorker>>>;
type WithWorkers = { readonly workers?: Workers | undefined } | undefined;

/** The names of the workers, sorted. */
export function workerNames(of: { readonly workers?: Readonly<Record<string, unknown>> | undefined } = {}): string[] {
  return Object.keys(of.workers ?? {}).toSorted();
}

export function workerIn(runtime: WithWorkers, name: string): Readonly<RuntimeWorker> | undefined {
  return ownValue(runtime?.workers ?? {}, name);
}

/** Minimum and maximum of the pods of a worker, defaults filled in. */
export function workerScale({ minScale, maxScale }: Pick<RuntimeWorker, 'minScale' | 'maxScale'>): {
  readonly minScale: number;
  readonly maxScale: number;
} {
  return {
    minScale: minScale ?? Math.min(1, maxScale ?? 1),
    maxScale: maxScale ?? Math.max(1, minScale ?? 1),
  };
}

/** Whether a component, as the label of an object names it, is a worker. */
export function isWorker(component: string | undefined): boolean {
  return component !== undefined && component !== '' && !RESERVED_WORKERS.includes(component);
}

export function isRole(part: string): part is Role {
  return ROLES.some((role) => role === part);
}

/** Whether a component is a part whose pods run the image of the record all the time. */
export function isPart(component: string | undefined): boolean {
  return component !== undefined && (isRole(component) || isWorker(component));
}
