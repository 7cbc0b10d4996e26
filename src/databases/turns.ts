// Which operations may stop something now: a platform that patches a thousand databases does not restart all of them at once.

import { conditionOf } from '../kinds/conditions.ts';
import type { DatastoreOperation } from '../kinds/datastore-operation.ts';
import { isBegun, isEnded } from '../kinds/operation-phases.ts';
import { AT_ONCE } from './steps.ts';

/** The oldest first, by uid where they are equally old. */
export function orderOf({ metadata }: DatastoreOperation): string {
  return `${metadata.creationTimestamp} ${metadata.uid}`;
}

/**
 * How long an operation that has begun holds its turn. A tenant can keep one from ending, for example by a pause or a finalizer on a pod. After this
 * time it does not hold up others.
 */
const TURN_MS = 15 * 60_000;

/** Whether it has begun, and counts among those that work at once. */
export function holdsTurn(operation: DatastoreOperation, now: Date): boolean {
  const isOverdue = now.getTime() - Date.parse(operation.status?.startedAt ?? '') > TURN_MS;
  return isWorking(operation) && !isOverdue;
}

function isWorking(operation: DatastoreOperation): boolean {
  return isBegun(operation) && !isEnded(operation);
}

export function waitsForTurn(operation: DatastoreOperation): boolean {
  const { metadata, status } = operation;
  const isOpen = !isEnded(operation) && !isBegun(operation) && metadata.deletionTimestamp === undefined;
  return isOpen && conditionOf(status?.conditions, 'Complete')?.reason === AT_ONCE;
}

/** Which of two comes first: that of the tenant with fewer operations that work, whether or not they hold a turn; otherwise the older one. */
function byTenant(all: readonly DatastoreOperation[]): (a: DatastoreOperation, b: DatastoreOperation) => number {
  const working = new Map<string | undefined, number>();
  for (const one of all)
    if (isWorking(one)) working.set(one.metadata.namespace, (working.get(one.metadata.namespace) ?? 0) + 1);
  const shareOf = ({ metadata }: DatastoreOperation): number => working.get(metadata.namespace) ?? 0;
  return (a, b) => shareOf(a) - shareOf(b) || (orderOf(a) < orderOf(b) ? -1 : 1);
}

/** The operation whose turn is next. */
export function nextInTurn(operations: readonly DatastoreOperation[]): DatastoreOperation | undefined {
  return operations.filter(waitsForTurn).toSorted(byTenant(operations))[0];
}

/**
 * Whether this operation may begin. `all`: the operations of the platform. `begun`: uids of those that this process has begun, and that may
 * not be in `all` as such yet.
 */
export function isItsTurn(
  operation: DatastoreOperation,
  all: readonly DatastoreOperation[],
  { begun, atOnce, now }: { readonly begun: ReadonlySet<string>; readonly atOnce: number; readonly now: Date },
): boolean {
  const others = all.filter(({ metadata }) => metadata.uid !== operation.metadata.uid);
  const isJustBegun = (one: DatastoreOperation): boolean =>
    !isEnded(one) && !isBegun(one) && begun.has(one.metadata.uid ?? '');
  const working = others.filter((one) => isJustBegun(one) || holdsTurn(one, now)).length;
  if (working >= atOnce) return false;
  const compare = byTenant(others);
  const earlier = others.filter((one) => waitsForTurn(one) && !isJustBegun(one) && compare(one, operation) < 0);
  return working + earlier.length < atOnce;
}
