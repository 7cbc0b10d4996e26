// One request and its whole answer, by undici's handlers: its `request` makes a stream of every answer and is called off
// by a signal of its own, which costs more than to send and read the few kilobytes of an object.

import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';

export interface Answer {
  readonly code: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface ExchangeOptions {
  /** From now until the whole answer is here, waiting for a free connection included. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /** A request may wait long for a free connection: whether it is still wanted is asked when it has got one. */
  readonly isStillWanted?: (() => boolean) | undefined;
}

/** What was asked for is no longer wanted, and was not sent. */
export class Abandoned extends Error {}

/** There was no whole answer in time. The request may have been sent. */
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
          // 1xx comes before the answer.
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
