// Limits the requests of each caller a minute, before any request to the API server: one caller must not use up the facade's
// share of the API server.

import rateLimit from '@fastify/rate-limit';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { HttpError } from '../runtime/http/http-error.ts';
import { addressOf, type Callers } from './callers.ts';

/** Maximum number of callers with a count. The least recent caller's count is dropped first. */
const CALLERS = 10_000;
const WINDOW_MS = 60_000;

export interface RateLimit {
  /** Counts a request whose caller, by default its address, became known only after it had arrived. Throws HttpError 429. */
  count(request: FastifyRequest, caller?: string): Promise<void>;
}

const COUNTED_AS: unique symbol = Symbol('counted as');

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Agents send it for many people under one account, so it has a limit of its own. */
    readonly isForAgents?: boolean;
  }
  interface FastifyRequest {
    [COUNTED_AS]: string;
  }
}

/**
 * A caller is the user of a token that was valid once, or another credential that was checked. Other requests are counted by address,
 * so invented tokens count together. Pages without authentication are counted separately, and probes are not counted. `perMinute` 0
 * means no limit. Throws HttpError 429 with `Retry-After` in seconds (RFC 6585, 4).
 */
export async function registerRateLimit(
  app: FastifyInstance,
  perMinute: number,
  { callerOf }: Callers,
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

  async function count(request: FastifyRequest, caller = addressOf(request)): Promise<void> {
    await countAs(request, caller, caller === addressOf(request) ? FROM_ADDRESS : '');
  }

  app.addHook('onRequest', async (request) => {
    if (isProbe(request) || request.routeOptions.config.countsLater === true) return;
    const caller = callerOf(request);
    if (caller === addressOf(request) && isPage(request))
      await countAs(request, `page ${request.ip}`, ' for pages came from this address');
    else if (caller !== addressOf(request) && request.routeOptions.config.isForAgents === true)
      await countAs(request, `tokens ${caller}`, ' for tokens');
    else await count(request, caller);
  });
  return { count };
}

const FROM_ADDRESS = ' came from this address with unknown tokens, or without one';

/** The pages without authentication: the document, the page to try the API, and the page at `/`. */
function isPage(request: FastifyRequest): boolean {
  const route = request.routeOptions.url ?? '';
  return /\/(docs(\/.*)?|assets\/.*|openapi\.json)?$/.test(route);
}

export function isProbe(request: FastifyRequest): boolean {
  const route = request.routeOptions.url;
  return route?.endsWith('/livez') === true || route?.endsWith('/readyz') === true;
}
