// Idempotency-Key: a POST that is sent again, because its response was lost, gives what the first one made.
// Source: draft-ietf-httpapi-idempotency-key-header-07. The record itself keeps the key, so it holds across restarts and
// for all replicas, and as long as the record is there.

import { createHash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { AppDeployment } from '../../api/app-deployment.ts';
import { canonicalJson } from '../../api/json-value.ts';
import { IDEMPOTENCY_KEY_ANNOTATION, REQUEST_DIGEST_ANNOTATION } from '../../api/meta.ts';
import { HttpError } from '../core/http-error.ts';
import type { CreateDeployment } from './payloads.ts';

/** The annotations of a record that was made by a request with a key. */
export type RequestMark = Readonly<
  Record<typeof IDEMPOTENCY_KEY_ANNOTATION | typeof REQUEST_DIGEST_ANNOTATION, string>
>;

const KEY = /^[\x21-\x7e]{1,255}$/;
const LOC = ['header', 'Idempotency-Key'];

/** Undefined where the request has no key. Refuses with 422 what is no key. */
export function requestMark({ headers }: FastifyRequest, payload: CreateDeployment): RequestMark | undefined {
  const key = headers['idempotency-key'];
  if (key === undefined) return undefined;
  if (typeof key !== 'string' || !KEY.test(key)) {
    const msg = 'must be 1 to 255 printable ASCII characters without spaces, such as a UUID';
    throw new HttpError(422, [{ loc: LOC, msg, type: 'string_pattern_mismatch' }]);
  }
  // Who may read the record may not read its values: a digest of them would let such a reader guess them.
  const secrets = payload.secrets.map(({ name }) => name).toSorted();
  return {
    [IDEMPOTENCY_KEY_ANNOTATION]: digest(key),
    [REQUEST_DIGEST_ANNOTATION]: digest(canonicalJson({ ...payload, secrets })),
  };
}

/** Whether the record was made by a request with this key. Refuses with 422 a key that came with another body. */
export function isMadeBy({ metadata }: AppDeployment, mark: RequestMark): boolean {
  const { annotations = {}, name } = metadata;
  if (annotations[IDEMPOTENCY_KEY_ANNOTATION] !== mark[IDEMPOTENCY_KEY_ANNOTATION]) return false;
  if (annotations[REQUEST_DIGEST_ANNOTATION] === mark[REQUEST_DIGEST_ANNOTATION]) return true;
  const msg = `was used for another request, which made deployment "${name}". Send a new key with a new request`;
  throw new HttpError(422, [{ loc: LOC, msg, type: 'value_error' }]);
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}
