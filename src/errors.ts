// The errors that cross rooms. Each says what was being done; its cause says what went wrong underneath.
// No other room is imported here.

/** The object asked for is not there (HTTP 404 from the API server). */
export class NotFound extends Error {
  override readonly name = 'NotFound';
}

/** A precondition (uid, resourceVersion, absence) did not hold (HTTP 409). */
export class Conflict extends Error {
  override readonly name = 'Conflict';
}

/** An object of that name is there already (HTTP 409, reason AlreadyExists). */
export class AlreadyExists extends Error {
  override readonly name = 'AlreadyExists';
}

/** The token is not one the API server knows (HTTP 401). */
export class Unauthorized extends Error {
  override readonly name = 'Unauthorized';
}

/** The API server refused: RBAC, admission policy or quota (HTTP 403). */
export class Forbidden extends Error {
  override readonly name = 'Forbidden';
}

/** One field that the API server, or a schema of ours, found wrong. `field` is a dotted path, '' for the whole. */
export interface FieldCause {
  readonly field: string;
  readonly message: string;
  readonly reason: string;
}

/** The object's content is wrong (HTTP 400 or 422). */
export class Invalid extends Error {
  override readonly name = 'Invalid';
  readonly causes: readonly FieldCause[];
  constructor(message: string, causes: readonly FieldCause[] = [], options?: ErrorOptions) {
    super(message, options);
    this.causes = causes;
  }
}

/** A list or watch position that the API server no longer keeps (HTTP 410). */
export class Gone extends Error {
  override readonly name = 'Gone';
}

/** The API server cannot be reached, is overloaded or failed (network error, HTTP 429, 5xx). Worth trying again. */
export class Unavailable extends Error {
  override readonly name = 'Unavailable';
  /** Milliseconds that the server asked to be left alone for (its Retry-After), if it said so. */
  readonly retryAfterMs: number | undefined;
  constructor(message: string, options: ErrorOptions & { retryAfterMs?: number } = {}) {
    super(message, options);
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** Nothing that trying again could mend; wait until something changes. */
export class Terminal extends Error {
  override readonly name = 'Terminal';
}
