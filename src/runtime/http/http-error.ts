// An error that the facade itself answers with. Errors of the API server are in src/runtime/errors.ts.

/** One error in a request: its location (`['body', 'name']`), a message for people, and a code for programs. */
export interface FieldError {
  readonly loc: readonly (string | number)[];
  readonly msg: string;
  readonly type: string;
  /** In the text of a file, from 1. */
  readonly line?: number;
  readonly column?: number;
}

export class HttpError extends Error {
  override readonly name = 'HttpError';
  readonly status: number;
  readonly detail: string | readonly FieldError[];
  readonly headers: Readonly<Record<string, string>>;
  constructor(status: number, detail: string | readonly FieldError[], headers: Readonly<Record<string, string>> = {}) {
    super(typeof detail === 'string' ? detail : `${detail.length} findings`);
    this.status = status;
    this.detail = detail;
    this.headers = headers;
  }
}

/** Throws the error for a full queue of log requests. */
export function tooManyLogs(): never {
  throw new HttpError(429, 'Too many logs are being read. Try again in 1 s.', { 'retry-after': '1' });
}
