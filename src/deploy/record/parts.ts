// The parts of a revision that run its image all the time: the roles that Davit knows, and the named workers.

import type { Resolved, Scaled, Sized } from '../../kinds/app-revision.ts';
import { ROLES } from '../../kinds/meta.ts';
import type { Runtime } from '../../kinds/runtime.ts';
import type { RuntimePart } from '../../kinds/runtime-part.ts';
import { isRole, workerIn, workerNames } from '../../kinds/worker-parts.ts';
import { ownValue } from '../../runtime/json-value.ts';

/** In display order: the roles, then the workers by name. */
export function partsOf(resolved: Readonly<Resolved>): readonly string[] {
  return [...ROLES.filter((role) => role === 'server' || resolved[role] !== undefined), ...workerNames(resolved)];
}

/** Resolved sizes and scale of a part; undefined if the revision has no such part. */
export function sizeOf(resolved: Readonly<Resolved>, part: string): Readonly<Sized | Scaled> | undefined {
  return isRole(part) ? resolved[part] : ownValue(resolved.workers ?? {}, part);
}

/** Whether two pods of a part must never run at the same time. */
export function isSingleton({ workers = {} }: Readonly<Resolved>, part: string): boolean {
  return ownValue(workers, part)?.singleton === true;
}

/** How a part is run, as the record says it. */
export function runtimeOf(runtime: Readonly<Runtime> | undefined, part: string): Readonly<RuntimePart> | undefined {
  return isRole(part) ? runtime?.[part] : workerIn(runtime, part);
}
