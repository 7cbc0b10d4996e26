// What the facade itself refuses, as the answer it becomes. Failures of the API server are errors.ts's, not this.

/** One thing wrong with a request: where (`['body', 'name']`), a sentence for people, and a word for machines. */
export interface FieldError {
  readonly loc: readonly (string | number)[];
  readonly msg: string;
  readonly type: string;
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

export function deploymentNotFound(id: string): string {
  return `Deployment ID ${id} not found.`;
}

/** All slots for reading logs are taken, and as many wait as may. */
export function tooManyLogs(): never {
  throw new HttpError(503, 'Too many logs are being read. Try again in 1 s.', { 'retry-after': '1' });
}
