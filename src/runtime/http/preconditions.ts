// ETag, If-Match and If-None-Match (RFC 9110, 8.8.3, 13.1.1 and 13.1.2): a caller does not overwrite a change that it has not
// read, and does not read again what it has.

import { hash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { KubeObject } from '../kube/client.ts';
import { HttpError } from './http-error.ts';

/** Whether an object is the version that the caller has read. */
export type Precondition = (object: KubeObject) => boolean;

/**
 * The version of the fields that callers can change: uid and generation. resourceVersion would not do: it also changes with
 * the status, which the controller writes several times a second during a rollout. `version`: of the whole answer, for
 * If-None-Match. If-Match does not compare it.
 */
export function etagOf({ metadata }: KubeObject, version?: string): string {
  return `"${metadata.uid}-${metadata.generation ?? 0}${version === undefined ? '' : `.${version}`}"`;
}

/** The version of a text: the same in every process. */
export function versionOf(text: string | Buffer): string {
  return hash('sha256', text, 'base64url').slice(0, 22);
}

/** Sets the ETag, and answers 304 without a body to a caller that has this version. */
export function unlessKnown<T>(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  etag: string,
  answer: () => T,
): T | FastifyReply {
  reply.header('etag', etag);
  const known = headers['if-none-match'];
  const isKnown = known?.trim() === '*' || known?.match(ENTITY_TAG)?.some((tag) => tag.replace('W/', '') === etag);
  return isKnown ? reply.code(304).send() : answer();
}

/** A list of entity tags (RFC 9110). */
const ENTITY_TAGS = /^\s*(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"(?:\s*,\s*(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*")*\s*$/;
const ENTITY_TAG = /(?:W\/)?"[^"]*"/g;
/** What `etagOf` adds for If-None-Match. */
const VERSION = /\.[^."]*"$/;

/** Undefined if the request has no If-Match. Throws HttpError 400 if the header is not a list of entity tags. */
export function ifMatch({ headers }: FastifyRequest): Precondition | undefined {
  const header = headers['if-match'];
  if (header === undefined) return undefined;
  if (header.trim() === '*') return () => true;
  if (!ENTITY_TAGS.test(header))
    throw new HttpError(400, 'If-Match must be *, or one or more ETags of earlier answers, each with its quotes.');
  // If-Match uses the strong comparison, so a weak tag never matches.
  const tags = new Set(header.match(ENTITY_TAG)?.map((tag) => tag.replace(VERSION, '"')));
  return (object) => tags.has(etagOf(object));
}

/** `what`: such as `Deployment "shop"`. */
export function preconditionFailed(what: string, object: KubeObject): HttpError {
  const message = `${what} is no longer the version that If-Match names. Read it and send its current ETag.`;
  return new HttpError(412, message, { etag: etagOf(object) });
}
