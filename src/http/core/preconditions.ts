// ETag and If-Match (RFC 9110, 8.8.3 and 13.1.1), so that of two callers neither undoes the other's change unseen.

import type { FastifyRequest } from 'fastify';
import type { KubeObject } from '../../kube/client.ts';
import { HttpError } from './http-error.ts';

/** Whether an object is as the caller has seen it. */
export type Precondition = (object: KubeObject) => boolean;

/**
 * The version of what callers can change: uid and generation. It is not resourceVersion: the controller writes the status
 * of a rollout several times a second, and no change would ever find the version that its caller has read.
 */
export function etagOf({ metadata }: KubeObject): string {
  return `"${metadata.uid}-${metadata.generation ?? 0}"`;
}

/** A list of entity tags as RFC 9110 has it. */
const ENTITY_TAGS = /^\s*(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"(?:\s*,\s*(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*")*\s*$/;
const ENTITY_TAG = /(?:W\/)?"[^"]*"/g;

/** Undefined where the request names no version. Refuses with 400 what is no list of entity tags. */
export function ifMatch({ headers }: FastifyRequest): Precondition | undefined {
  const header = headers['if-match'];
  if (header === undefined) return undefined;
  if (header.trim() === '*') return () => true;
  if (!ENTITY_TAGS.test(header))
    throw new HttpError(400, 'If-Match takes the ETag of an earlier answer with its quotes, several of them, or *.');
  // A weak tag matches nothing: the comparison is the strong one.
  const tags = new Set(header.match(ENTITY_TAG));
  return (object) => tags.has(etagOf(object));
}

/** `what`: such as `Deployment "shop"`. */
export function preconditionFailed(what: string, object: KubeObject): HttpError {
  const message = `${what} is no longer the version that If-Match names. Read it, and send its present ETag.`;
  return new HttpError(412, message, { etag: etagOf(object) });
}
