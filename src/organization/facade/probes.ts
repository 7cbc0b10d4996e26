// Whether the facade lives, and whether it can answer.

import type { FastifyInstance } from 'fastify';
import { HttpError } from '../../lib/http/http-error.ts';
import type { FacadeCaches } from './caches.ts';

/** `answers`: whether the API server does. */
export function registerProbes(app: FastifyInstance, caches: FacadeCaches, answers: () => Promise<boolean>): void {
  const hidden = { schema: { hide: true } };
  app.get('/livez', hidden, async () => ({ status: 'ok' }));
  app.get('/readyz', hidden, async () => {
    const empty = Object.entries(caches).flatMap(([name, cache]) => (cache.hasSynced() ? [] : [name]));
    if (empty.length > 0)
      throw new HttpError(503, `Not ready: not listed yet: ${empty.join(', ')}.`, { 'retry-after': '1' });
    if (!(await answers()))
      throw new HttpError(503, 'Not ready: the Kubernetes API server does not answer.', { 'retry-after': '1' });
    return { status: 'ok' };
  });
}
