// Time limits for bodies. Node has a single one for all requests, which is that of uploads.

import type { IncomingMessage } from 'node:http';

interface Limit {
  readonly ms: number;
  readonly onLate: () => void;
  timer: NodeJS.Timeout | undefined;
}

const limits = new WeakMap<IncomingMessage, Limit>();

/** Calls `onLate` if the request has a body that has not arrived after `ms`. */
export function limitBody(request: IncomingMessage, ms: number, onLate: () => void): void {
  if (request.headers['content-length'] === undefined && request.headers['transfer-encoding'] === undefined) return;
  const limit: Limit = { ms, onLate, timer: undefined };
  limits.set(request, limit);
  start(request, limit);
  const clear = (): void => clearTimeout(limit.timer);
  request.once('end', clear).once('close', clear);
}

/** Leaves a request to the time limit of uploads, until the returned function is called. */
export function allowSlowBody(request: IncomingMessage): () => void {
  const limit = limits.get(request);
  clearTimeout(limit?.timer);
  return () => {
    if (limit !== undefined && !request.complete && !request.destroyed) start(request, limit);
  };
}

function start(request: IncomingMessage, limit: Limit): void {
  limit.timer = setTimeout(() => {
    if (!request.complete) limit.onLate();
  }, limit.ms);
}
