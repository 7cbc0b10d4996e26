// Which operations may stop something now: a platform that patches a thousand databases does not restart all of them at once.

import { conditionOf } from '../kinds/conditions.ts';
import type { DatastoreOperation } from '../kinds/datastore-operation.ts';
import { isBegun, isEnded } from '../kinds/operation-phases.ts';
import { AT_ONCE } from './steps.ts';

/** The oldest first, by uid where they are equally old. */
export function orderOf({ metadata }: DatastoreOperation): string {
  return `${metadata.creationTimestamp} ${metadata.uid}`;
}

function waitsForTurn(operation: DatastoreOperation): boolean {
  const { metadata, status } = operation;
  const isOpen = !isEnded(operation) && !isBegun(operation) && metadata.deletionTimestamp === undefined;
  return isOpen && conditionOf(status?.conditions, 'Complete')?.reason === AT_ONCE;
}

/** The operation that has waited longest for its turn. */
export function nextInTurn(operations: readonly DatastoreOperation[]): DatastoreOperation | undefined {
  const waiting = operations.filter(waitsForTurn);
  return waiting.reduce<DatastoreOperation | undefined>(
    (first, one) => (first && orderOf(first) < orderOf(one) ? first : one),
    undefined,
  );
}

/**
 * Whether this operation may begin. `all`: the operations of the platform. `begun`: uids of those that this process has begun, and that may
 * not be in `all` as such yet.
 */
export function isItsTurn(
  operation: DatastoreOperation,
  all: readonly DatastoreOperation[],
  begun: ReadonlySet<string>,
  atOnce: number,
): boolean {
  const others = all.filter(({ metadata }) => metadata.uid !== operation.metadata.uid);
  const isWorking = (one: DatastoreOperation): boolean =>
    !isEnded(one) && (isBegun(one) || begun.has(one.metadata.uid ?? ''));
  const working = others.filter(isWorking).length;
  if (working >= atOnce) return false;
  const own = orderOf(operation);
  const earlier = others.filter((one) => waitsForTurn(one) && !isWorking(one) && orderOf(one) < own);
  return working + earlier.length < atOnce;
}
