// Idempotency-Key: a POST that is repeated because its response was lost returns what the first one has created.
// Source: draft-ietf-httpapi-idempotency-key-header-07. The object that was created stores the key, so it works across restarts and
// replicas, as long as the object exists.

import { createHash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { HttpError } from '../runtime/http/http-error.ts';

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

/** The first `count` hexadecimal digits of a request's key, for the name of what it creates. */
export function keyDigits(key: string, count: number): string {
  return Buffer.from(key, 'base64url').toString('hex').slice(0, count);
}

/** Throws HttpError 422: the key was used for something else, which is named. */
export function usedFor(other: string): never {
  const msg = `was used for another request, which ${other}. Use a new key for a new request`;
  throw new HttpError(422, [{ loc: LOC, msg, type: 'value_error' }]);
}
