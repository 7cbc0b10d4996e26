// Converts answers of the API server (a Status object and an HTTP code) to the errors of errors.ts.

import {
  AlreadyExists,
  Conflict,
  type FieldCause,
  Forbidden,
  Gone,
  Invalid,
  NotFound,
  type ServerError,
  Unauthorized,
  Unavailable,
} from '../errors.ts';
import { isObject } from '../json-value.ts';

/** The readable part of a failed answer. */
export interface FailedAnswer {
  readonly code: number;
  /** The body: a Status object if it is from the API server, anything if it is from a proxy. */
  readonly body: string;
  /** The Retry-After header. */
  readonly retryAfter?: string | undefined;
}

interface Status {
  readonly message?: string;
  readonly reason?: string;
  readonly code?: number;
  readonly details?: {
    readonly retryAfterSeconds?: number;
    readonly causes?: readonly { readonly reason?: string; readonly message?: string; readonly field?: string }[];
  };
}

/** Maximum length of a proxy's error page in a message. */
const LONGEST_FOREIGN_MESSAGE = 300;

/** The error for a failed answer. `doing` names the request, such as `get pods t1/x`. */
export function errorFromAnswer(doing: string, answer: FailedAnswer): ServerError {
  const status = parseStatus(answer.body) ?? {
    message: answer.body.slice(0, LONGEST_FOREIGN_MESSAGE).trim() || `HTTP ${answer.code}`,
  };
  return errorFromStatus(doing, { ...status, code: answer.code }, retryAfterMs(answer.retryAfter));
}

/** The error for a Status object, which a watch's ERROR event contains. */
export function errorFromStatus(doing: string, raw: unknown, headerRetryAfterMs?: number): ServerError {
  const status: Status = isObject(raw) ? raw : {};
  const code = status.code ?? 500;
  const serverMessage = status.message ?? status.reason ?? `HTTP ${code}`;
  const message = `${doing}: ${serverMessage}`;
  const options = { serverMessage };

  if (code === 410 || status.reason === 'Expired' || status.reason === 'Gone') return new Gone(message, options);
  // A server-side apply of an object that violates the schema: the server answers 500, but a retry does not help.
  if (code === 500 && serverMessage.startsWith('failed to create typed patch object'))
    return new Invalid(message, [], options);
  if (code === 401) return new Unauthorized(message, options);
  if (code === 403) return new Forbidden(message, options);
  if (code === 404) return new NotFound(message, options);
  if (code === 409) {
    return status.reason === 'AlreadyExists' ? new AlreadyExists(message, options) : new Conflict(message, options);
  }
  if (code === 408 || code === 429 || code >= 500 || code < 400) {
    const seconds = status.details?.retryAfterSeconds;
    const wait = headerRetryAfterMs ?? (seconds === undefined ? undefined : seconds * 1000);
    return new Unavailable(message, { ...options, ...(wait !== undefined && { retryAfterMs: wait }) });
  }
  const causes = causesOf(status);
  // For another object's uid the server answers an apply or patch with a change of an immutable field, and a PUT with 409. Both
  // mean that the precondition failed, whatever else is wrong with the object.
  if (causes.some((cause) => cause.field === 'metadata.uid')) return new Conflict(message, options);
  return new Invalid(message, causes, options);
}

function causesOf(status: Status): FieldCause[] {
  const causes = status.details?.causes;
  if (!Array.isArray(causes)) return [];
  return causes.map((cause) => ({
    field: cause.field ?? '',
    message: cause.message ?? '',
    reason: cause.reason ?? '',
  }));
}

function parseStatus(body: string): Status | undefined {
  try {
    const value: unknown = JSON.parse(body);
    return isObject(value) && value['kind'] === 'Status' ? (value as Status) : undefined;
  } catch {
    return undefined;
  }
}

/** Retry-After in milliseconds; the API server sends whole seconds, a proxy may send a date. */
export function retryAfterMs(header: string | undefined, now = Date.now()): number | undefined {
  if (header === undefined) return undefined;
  const seconds = Number(header);
  if (Number.isFinite(seconds) && seconds >= 0) return seconds * 1000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
