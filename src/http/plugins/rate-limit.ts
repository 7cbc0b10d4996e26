// So many requests a minute for each caller, counted before anything is asked of the API server: one caller's loop must
// not use up what the facade may ask of it for all the others.

import rateLimit from '@fastify/rate-limit';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Authentication } from '../core/authentication.ts';
import { HttpError } from '../core/http-error.ts';
import { sentBy } from './auth.ts';

/** Callers that are counted at once. Whoever has been silent for longest is forgotten first, which only helps him. */
const CALLERS = 10_000;
const WINDOW_MS = 60_000;

export interface RateLimit {
  /** Counts a request of one who was found out to be `username` after it had come. */
  count(request: FastifyRequest, username: string): Promise<void>;
}

const COUNTED_AS: unique symbol = Symbol('counted as');

declare module 'fastify' {
  interface FastifyRequest {
    [COUNTED_AS]: string;
  }
}

/**
 * A caller is the user whose token was good once; everybody else is counted by address, so that made-up tokens are all
 * the same caller's. Pages that take no token are counted apart from those, probes never. `perMinute` 0 counts nothing. Refuses with 429 and `Retry-After` in seconds
 * (RFC 6585, 4).
 */
export async function registerRateLimit(
  app: FastifyInstance,
  perMinute: number,
  userOf: Authentication['remembered'],
): Promise<RateLimit> {
  if (perMinute === 0) return { count: async () => undefined };
  app.decorateRequest(COUNTED_AS, '');
  await app.register(rateLimit, { global: false, cache: CALLERS });
  const limited = app.createRateLimit({
    max: perMinute,
    timeWindow: WINDOW_MS,
    keyGenerator: (request) => request[COUNTED_AS],
  });

  async function countAs(request: FastifyRequest, caller: string, whose = ''): Promise<void> {
    request[COUNTED_AS] = caller;
    const counted = await limited(request);
    if (counted.isAllowed || !counted.isExceeded) return;
    const seconds = String(Math.max(1, counted.ttlInSeconds));
    throw new HttpError(429, `More than ${perMinute} requests in a minute${whose}. Try again in ${seconds} s.`, {
      'retry-after': seconds,
    });
  }

  app.addHook('onRequest', async (request) => {
    if (isProbe(request)) return;
    const sender = sentBy(request);
    const username = sender && userOf(sender);
    if (username !== undefined) await countAs(request, `user ${username}`);
    else if (isPage(request)) await countAs(request, `page ${request.ip}`, ' for pages came from this address');
    else await countAs(request, `address ${request.ip}`, FROM_ADDRESS);
  });
  return { count: (request, username) => countAs(request, `user ${username}`) };
}

const FROM_ADDRESS = ' came from this address with tokens that are not known yet, or none';

/** What everybody may see: the document, the page to try it at, and the page at `/`. */
function isPage(request: FastifyRequest): boolean {
  const route = request.routeOptions.url ?? '';
  return /\/(docs(\/.*)?|assets\/.*|openapi\.json)?$/.test(route);
}

export function isProbe(request: FastifyRequest): boolean {
  const route = request.routeOptions.url;
  return route?.endsWith('/livez') === true || route?.endsWith('/readyz') === true;
}
