// The errors that cross rooms. Each says what was being done; its cause says what went wrong underneath.
// No other room is imported here.

/** Data of an error of the API server in addition to its message. */
export interface ServerErrorOptions extends ErrorOptions {
  /** The API server's own words, without Davit's action. It may be passed on to the caller. */
  readonly serverMessage?: string;
}

/** A failure that the API server may have explained. Thrown as one of the classes below, never as itself. */
export abstract class ServerError extends Error {
  readonly serverMessage: string | undefined;
  constructor(message: string, options: ServerErrorOptions = {}) {
    super(message, options);
    this.serverMessage = options.serverMessage;
  }

  /** The API server's own words, or the message where there are none. */
  get words(): string {
    return this.serverMessage ?? this.message;
  }
}

/** The object asked for is not there (HTTP 404 from the API server). */
export class NotFound extends ServerError {
  override readonly name = 'NotFound';
}

/** For `.catch()`: undefined for what is not there; anything else is thrown again. */
export function undefinedIfNotFound(error: unknown): undefined {
  if (error instanceof NotFound) return undefined;
  throw error;
}

/** A precondition (uid, resourceVersion, absence) did not hold (HTTP 409). */
export class Conflict extends ServerError {
  override readonly name = 'Conflict';
}

/** An object of that name is there already (HTTP 409, reason AlreadyExists). */
export class AlreadyExists extends ServerError {
  override readonly name = 'AlreadyExists';
}

/** The token is not one the API server knows (HTTP 401). */
export class Unauthorized extends ServerError {
  override readonly name = 'Unauthorized';
}

/** The API server refused: RBAC, admission policy or quota (HTTP 403). */
export class Forbidden extends ServerError {
  override readonly name = 'Forbidden';
}

/** One field that the API server, or a schema of ours, found wrong. `field` is a dotted path, '' for the whole. */
export interface FieldCause {
  readonly field: string;
  readonly message: string;
  readonly reason: string;
}

/** The object's content is wrong (HTTP 400 or 422). */
export class Invalid extends ServerError {
  override readonly name = 'Invalid';
  readonly causes: readonly FieldCause[];
  constructor(message: string, causes: readonly FieldCause[] = [], options?: ServerErrorOptions) {
    super(message, options);
    this.causes = causes;
  }
}

/** What the API server will refuse again until something else changes: a policy, a quota, a right or the object itself. */
export function isRefusal(error: unknown): error is Forbidden | Invalid {
  return error instanceof Forbidden || error instanceof Invalid;
}

/** A list or watch position that the API server no longer keeps (HTTP 410). */
export class Gone extends ServerError {
  override readonly name = 'Gone';
}

/** The API server cannot be reached, is overloaded or failed (network error, HTTP 429, 5xx). Worth trying again. */
export class Unavailable extends ServerError {
  override readonly name: string = 'Unavailable';
  /** Milliseconds that the server asked to be left alone for (its Retry-After), if it said so. */
  readonly retryAfterMs: number | undefined;
  constructor(message: string, options: ServerErrorOptions & { retryAfterMs?: number } = {}) {
    super(message, options);
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** A watch that brought nothing for so long that the line may be dead. Or nothing happened: see runtime/controller/reflector.ts. */
export class Silent extends Unavailable {
  override readonly name = 'Silent';
}

/** Nothing that trying again soon could mend: something has to change first. */
export class Terminal extends Error {
  override readonly name = 'Terminal';
}

/**
 * Why a code host gave nothing: it refused the credentials, asks to be left alone, cannot be reached or failed, was too
 * slow, answered what makes no sense, or may not be asked at all.
 */
export type CodeHostFailure = 'refused' | 'limited' | 'unreachable' | 'timeout' | 'malformed' | 'forbidden' | 'missing';

/** An error of a code host. Its message may be passed on to the caller. */
export class CodeHostFailed extends Error {
  override readonly name = 'CodeHostFailed';
  readonly why: CodeHostFailure;
  /** Seconds that it asked to be left alone for. */
  readonly retryAfterSeconds: number | undefined;
  /** What is not there, of `missing`. */
  readonly missing: 'repository' | 'ref' | undefined;
  constructor(
    why: CodeHostFailure,
    message: string,
    options: ErrorOptions & { retryAfterSeconds?: number; missing?: 'repository' | 'ref' } = {},
  ) {
    super(message, options);
    this.why = why;
    this.missing = options.missing;
    this.retryAfterSeconds = options.retryAfterSeconds;
  }
}

/**
 * Why a registry did not do what it was asked: it refused the credentials, has no room, takes no writes at present (as
 * while it collects garbage), cannot be reached or failed, was too slow, or answered what makes no sense.
 */
export type RegistryFailure = 'refused' | 'full' | 'readOnly' | 'unreachable' | 'timeout' | 'malformed' | 'tooLarge';

/** An error of the platform's registry. Its message may be passed on to the caller. */
export class RegistryFailed extends Error {
  override readonly name = 'RegistryFailed';
  readonly why: RegistryFailure;
  constructor(why: RegistryFailure, message: string, options?: ErrorOptions) {
    super(message, options);
    this.why = why;
  }
}
