// What a check says: an entry of the Assessment.

import type { Reason } from '../../kinds/app-deployment-conditions.ts';
import { type ActionFailure, type ChildRef, failureAt } from './observed.ts';

export interface Entry {
  /** `stalled`: only a person can correct it. `unknown`: nothing has been reported yet. */
  readonly is: 'pass' | 'fail' | 'stalled' | 'unknown';
  readonly reason: Reason;
  readonly message: string;
  /** The entry is final for the revision, regardless of its pods: only a newer revision corrects it. */
  readonly final?: true;
  /** Entries of stores only: the pods that serve are not known to miss the store. */
  readonly serving?: true;
}

export function pass(reason: Reason, message: string): Entry {
  return { is: 'pass', reason, message };
}
export function fail(reason: Reason, message: string): Entry {
  return { is: 'fail', reason, message };
}
export function stalled(reason: Reason, message: string): Entry {
  return { is: 'stalled', reason, message };
}
export function unknown(reason: Reason, message: string): Entry {
  return { is: 'unknown', reason, message };
}

/** What is left to do for a store that answers. */
export function unfinished(entry: Entry): Entry | undefined {
  const { reason, message } = entry;
  return reason === 'Resizing' || reason === 'ResizeDeferred' ? fail(reason, message) : undefined;
}

const GOES_ON: ReadonlySet<ActionFailure['reason']> = new Set(['RequestFailed', 'FileUnread']);

/** The failure of this object as an entry. */
export function refusalAt(ref: ChildRef, failures: readonly ActionFailure[]): Entry | undefined {
  const failure = failureAt(ref, failures);
  return failure && entryOf(failure);
}

/** A failure as an entry: a request that failed is tried again, and so is a file; anything else waits for a person. */
export function entryOf({ reason, message }: ActionFailure): Entry {
  return GOES_ON.has(reason) ? fail(reason, message) : stalled(reason, message);
}

/** The answer of the first of `checks` that has one: they are in the order in which people should hear of them. */
export function firstOf<Seen>(checks: readonly ((seen: Seen) => Entry | undefined)[], seen: Seen): Entry | undefined {
  for (const check of checks) {
    const entry = check(seen);
    if (entry) return entry;
  }
  return undefined;
}

/** The first of `entries` that is no pass. */
export function firstProblem(entries: readonly (Entry | undefined)[]): Entry | undefined {
  return entries.find((entry) => entry !== undefined && entry.is !== 'pass');
}
