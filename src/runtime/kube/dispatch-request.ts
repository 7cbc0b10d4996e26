// One request and its complete answer, with undici's handlers. undici's `request` creates a stream for every answer and a
// signal for its cancellation, which costs more than sending and reading an object of a few kilobytes.

import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';

export interface Answer {
  readonly code: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface ExchangeOptions {
  /** Time limit for the complete answer, including the wait for a free connection. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /** Called when the request has a connection, because the wait for one may be long. If it returns false, nothing is sent. */
  readonly isStillWanted?: (() => boolean) | undefined;
}

/** The request was cancelled before it was sent. */
export class Abandoned extends Error {}

/** No complete answer arrived in time. The request may have been sent. */
export class TimedOut extends Error {}

/** Rejects with Unwanted, TimedOut, the reason of `signal`, or what has broken the connection. */
export function dispatchRequest(
  dispatcher: Dispatcher,
  request: Dispatcher.DispatchOptions,
  { timeoutMs, signal, isStillWanted }: ExchangeOptions,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    let controller: Dispatcher.DispatchController | undefined;
    let ended: Error | undefined;
    let code = 0;
    let headers: IncomingHttpHeaders = {};
    const chunks: Buffer[] = [];

    const callOff = (reason: Error): void => {
      settle();
      ended = reason;
      controller?.abort(reason);
      reject(reason);
    };
    const timer = setTimeout(() => callOff(new TimedOut(`no answer in ${timeoutMs} ms`)), timeoutMs).unref();
    const onAbort = (): void => callOff(signal?.reason as Error);
    const settle = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    };

    if (signal?.aborted) return onAbort();
    signal?.addEventListener('abort', onAbort);
    dispatcher.dispatch(
      { ...request, headersTimeout: 0, bodyTimeout: 0 },
      {
        onRequestStart(started) {
          if (ended) throw ended;
          if (isStillWanted?.() === false) throw new Abandoned('cancelled before it was sent');
          controller = started;
        },
        onResponseStart(_controller, statusCode, given) {
          // An informational response (1xx) precedes the answer.
          if (statusCode < 200) return;
          code = statusCode;
          headers = given;
        },
        onResponseData(_controller, chunk) {
          chunks.push(chunk);
        },
        onResponseEnd() {
          settle();
          resolve({ code, headers, body: Buffer.concat(chunks).toString('utf8') });
        },
        onResponseError(_controller, error) {
          settle();
          reject(error);
        },
      },
    );
  });
}
