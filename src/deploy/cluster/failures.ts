// Converts failed requests to failures that a status reports, and selects the error that determines the requeue delay.

import { quoted } from '../../kinds/text.ts';
import { Conflict, isRefusal, ServerError, Terminal, Unavailable } from '../../runtime/errors.ts';
import { type ActionFailure, type ChildRef, refText } from '../assess/observed.ts';

/** A refusal is tried again after a minute at the latest (src/deploy/assess/retry.ts). */
const CORRECT = 'Correct the cause; the deployment then continues automatically.';

/**
 * Converts an error of a request to an ActionFailure. A rejection by the API server (Invalid, Forbidden) has no
 * `cause`, since a retry would not help. Any other failure has the error as its `cause`, which is thrown after the
 * report so that the record is requeued. `object` is the object's name in the message, by default that of `ref`.
 */
export function failureOf(error: unknown, ref: ChildRef, verb = 'apply', object = refText(ref)): ActionFailure {
  if (isRefusal(error)) {
    const what = verb === 'apply' ? object : `to ${verb} ${object}`;
    const words = quoted(error.words);
    return { reason: 'ApplyRefused', ref, message: `The API server refused ${what}: ${words}. ${CORRECT}` };
  }
  return { reason: 'RequestFailed', ref, message: messageOf(error, object, verb), cause: error };
}

function messageOf(error: unknown, object: string, verb: string): string {
  if (error instanceof Terminal) return `Davit cannot ${verb} ${object}: ${quoted(error.message)}.`;
  if (!(error instanceof ServerError))
    return `Davit failed to ${verb} ${object} and retries automatically. See the log of the controller for the cause.`;
  const words = quoted(error.words);
  return `The request to ${verb} ${object} failed: ${words}. Davit retries automatically. If the failure persists, check the API server, or the webhook that the message names.`;
}

/** Whether there are errors and every one is a Conflict. Such a reconcile is repeated: by then the caches show the concurrent write. */
export function areConflicts(causes: readonly unknown[]): boolean {
  return causes.length > 0 && causes.every((cause) => cause instanceof Conflict);
}

export function causesOf(refusals: readonly ActionFailure[]): unknown[] {
  return refusals.flatMap(({ cause }) => (cause === undefined ? [] : [cause]));
}

/** For failures that no status reports: a refusal is logged and retried too. */
export function errorsOf(failures: readonly ActionFailure[]): unknown[] {
  return failures.map(({ cause, message }) => cause ?? new Error(message));
}

/**
 * The error that determines the requeue delay: the one with the longest Retry-After. Conflict and Terminal rank last.
 */
export function decisiveOf(causes: readonly unknown[]): unknown {
  return causes.toSorted((a, b) => rankOf(b) - rankOf(a))[0];
}

function rankOf(error: unknown): number {
  if (error instanceof Terminal) return -2;
  if (error instanceof Conflict) return -1;
  return error instanceof Unavailable ? (error.retryAfterMs ?? 0) : 0;
}

/**
 * Whether `signal` was aborted because leadership was lost, after which no status may be written either. A time limit
 * aborts with an Unavailable instead.
 */
export function wasLost(signal: AbortSignal): boolean {
  return signal.aborted && !(signal.reason instanceof Unavailable);
}
