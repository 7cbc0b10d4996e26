// Idempotency-Key: a POST that is repeated because its response was lost returns what the first one created.
// Source: draft-ietf-httpapi-idempotency-key-header-07. The record stores the key, so it works across restarts and replicas, as long
// as the record exists.

import { createHash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { HttpError } from '../../lib/http/http-error.ts';
import { canonicalJson } from '../../lib/json-value.ts';
import type { AppDeployment } from '../../schema/app-deployment.ts';
import { IDEMPOTENCY_KEY_ANNOTATION, REQUEST_DIGEST_ANNOTATION } from '../../schema/meta.ts';

/** The annotations of a record that was created by a request with a key. */
export type RequestMark = Readonly<
  Record<typeof IDEMPOTENCY_KEY_ANNOTATION | typeof REQUEST_DIGEST_ANNOTATION, string>
>;

const KEY = /^[\x21-\x7e]{1,255}$/;
const LOC = ['header', 'Idempotency-Key'];

/** Undefined if the request has no key. Throws HttpError 422 if the key is not valid. `username`: of the caller. */
export function requestMark(
  request: FastifyRequest,
  username: string | undefined,
  payload: { readonly secrets: readonly { readonly name: string }[]; readonly [field: string]: unknown },
): RequestMark | undefined {
  const key = requestKey(request, username);
  if (key === undefined) return undefined;
  // Readers of the record may lack the right to its values, and could guess them from a digest.
  const secrets = payload.secrets.map(({ name }) => name).toSorted();
  return {
    [IDEMPOTENCY_KEY_ANNOTATION]: key,
    [REQUEST_DIGEST_ANNOTATION]: digest(canonicalJson({ ...payload, secrets })),
  };
}

/**
 * Digest of the key of a request by this user: nobody gets what another one's request with the same key has made. Undefined if it has
 * none. Throws HttpError 422 if the key is not valid.
 */
export function requestKey({ headers }: FastifyRequest, username = ''): string | undefined {
  const key = headers['idempotency-key'];
  if (key === undefined) return undefined;
  if (typeof key === 'string' && KEY.test(key)) return digest(`${key} ${username}`);
  const msg = 'must be 1 to 255 printable ASCII characters without spaces, such as a UUID';
  throw new HttpError(422, [{ loc: LOC, msg, type: 'string_pattern_mismatch' }]);
}

/** Throws HttpError 422: the key was used for something else, which is named. */
export function usedFor(other: string): never {
  const msg = `was used for another request, which ${other}. Send a new key with a new request`;
  throw new HttpError(422, [{ loc: LOC, msg, type: 'value_error' }]);
}

/** Whether the record was created by a request with this key. Throws HttpError 422 if that request had another body. */
export function isMadeBy({ metadata }: AppDeployment, mark: RequestMark): boolean {
  const { annotations = {}, name } = metadata;
  if (annotations[IDEMPOTENCY_KEY_ANNOTATION] !== mark[IDEMPOTENCY_KEY_ANNOTATION]) return false;
  if (annotations[REQUEST_DIGEST_ANNOTATION] === mark[REQUEST_DIGEST_ANNOTATION]) return true;
  return usedFor(`created deployment "${name}"`);
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}
