// So many requests a minute for each caller, counted before anything is asked of the API server: one caller's loop must
// not use up what the facade may ask of it for all the others.

import rateLimit from '@fastify/rate-limit';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Refused } from '../refused.ts';
import { sentBy } from './auth.ts';

/** Callers that are counted at once. Whoever has been silent for longest is forgotten first, which only helps him. */
const CALLERS = 10_000;
const WINDOW_MS = 60_000;

/**
 * A caller is who sends a token, known by its hash; without one, the address. Probes are never counted. `perMinute` 0
 * counts nothing. Refuses with 429 and `Retry-After` in seconds (RFC 6585, 4).
 */
export async function registerRateLimit(app: FastifyInstance, perMinute: number): Promise<void> {
  if (perMinute === 0) return;
  await app.register(rateLimit, { global: false, cache: CALLERS });
  const count = app.createRateLimit({ max: perMinute, timeWindow: WINDOW_MS, keyGenerator: callerOf });
  app.addHook('onRequest', async (request) => {
    if (isProbe(request)) return;
    const counted = await count(request);
    if (counted.isAllowed || !counted.isExceeded) return;
    const seconds = String(Math.max(1, counted.ttlInSeconds));
    throw new Refused(429, `More than ${perMinute} requests in a minute. Try again in ${seconds} s.`, {
      'retry-after': seconds,
    });
  });
}

function callerOf(request: FastifyRequest): string {
  return sentBy(request)?.hash ?? request.ip;
}

export function isProbe(request: FastifyRequest): boolean {
  const route = request.routeOptions.url;
  return route?.endsWith('/livez') === true || route?.endsWith('/readyz') === true;
}
