// Idempotency-Key: a POST that is repeated because its response was lost returns the run that the first one began.
// Source: draft-ietf-httpapi-idempotency-key-header-07. The Job stores the key, so it works across restarts and replicas, as long
// as the Job exists.

import { createHash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { HttpError } from '../../../lib/http/http-error.ts';

const KEY = /^[\x21-\x7e]{1,255}$/;
const LOC = ['header', 'Idempotency-Key'];

/**
 * Digest of the key of a request by this user: nobody gets what another one's request with the same key has made. Undefined if it has
 * none. Throws HttpError 422 if the key is not valid.
 */
export function requestKey({ headers }: FastifyRequest, username = ''): string | undefined {
  const key = headers['idempotency-key'];
  if (key === undefined) return undefined;
  if (typeof key === 'string' && KEY.test(key))
    return createHash('sha256').update(`${key} ${username}`).digest('base64url');
  const msg = 'must be 1 to 255 printable ASCII characters without spaces, such as a UUID';
  throw new HttpError(422, [{ loc: LOC, msg, type: 'string_pattern_mismatch' }]);
}

/** Throws HttpError 422: the key was used for something else, which is named. */
export function usedFor(other: string): never {
  const msg = `was used for another request, which ${other}. Send a new key with a new request`;
  throw new HttpError(422, [{ loc: LOC, msg, type: 'value_error' }]);
}
