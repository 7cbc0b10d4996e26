// What is said of a request that failed, and which of the errors behind it decides when the record comes again.

import { quoted } from '../../api/text.ts';
import { type ActionFailure, type ChildRef, said } from '../../decide/observed.ts';
import { Conflict, Forbidden, Invalid, ServerError, Terminal, Unavailable } from '../../errors.ts';

/**
 * A failed request as something to report. What the API server refuses for good needs a person; anything else has a
 * `cause`, which is thrown once everything has been reported, so that the record comes again. `object` is what people
 * read, where that is not `ref` itself.
 */
export function failureOf(error: unknown, ref: ChildRef, verb = 'apply', object = said(ref)): ActionFailure {
  if (error instanceof Invalid || error instanceof Forbidden) {
    const what = verb === 'apply' ? object : `to ${verb} ${object}`;
    const words = quoted(error.serverMessage ?? error.message);
    return { reason: 'ApplyRefused', ref, message: `The API server refused ${what}: ${words}` };
  }
  return { reason: 'RequestFailed', ref, message: messageOf(error, object, verb), cause: error };
}

function messageOf(error: unknown, object: string, verb: string): string {
  if (error instanceof Terminal) return `Davit cannot ${verb} ${object}: ${quoted(error.message)}.`;
  if (!(error instanceof ServerError))
    return `Davit failed to ${verb} ${object} and retries automatically. See the log of the controller for the cause.`;
  const words = quoted(error.serverMessage ?? error.message);
  return `The request to ${verb} ${object} failed: ${words}. Davit retries automatically. If the failure persists, check the API server, or the webhook that the message names.`;
}

/** Nothing but races that were lost: the next look will show who was quicker. */
export function areRaces(causes: readonly unknown[]): boolean {
  return causes.length > 0 && causes.every((cause) => cause instanceof Conflict);
}

export function causesOf(refusals: readonly ActionFailure[]): unknown[] {
  return refusals.flatMap(({ cause }) => (cause === undefined ? [] : [cause]));
}

/** The one that decides when to try again: that which asks for the longest pause, and a race or a dead end last. */
export function decisiveOf(causes: readonly unknown[]): unknown {
  return causes.toSorted((a, b) => rankOf(b) - rankOf(a))[0];
}

function rankOf(error: unknown): number {
  if (error instanceof Terminal) return -2;
  if (error instanceof Conflict) return -1;
  return error instanceof Unavailable ? (error.retryAfterMs ?? 0) : 0;
}

/** Whether the leadership was lost, after which nothing may be said either; a time limit's reason is an Unavailable. */
export function wasLost(signal: AbortSignal): boolean {
  return signal.aborted && !(signal.reason instanceof Unavailable);
}
