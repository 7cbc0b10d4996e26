// When an object was made, and when it was written last.

import type { KubeObject } from './client.ts';

/** RFC 3339. Throws for an object that was not read from an API server. */
export function createdAt(object: KubeObject): string {
  const { creationTimestamp, name } = object.metadata;
  if (creationTimestamp === undefined) throw new TypeError(`${object.kind} ${name} has no creationTimestamp`);
  return creationTimestamp;
}

/** RFC 3339: the newest write outside the status subresource. Throws like createdAt. */
export function writtenAt(object: KubeObject): string {
  return (object.metadata.managedFields ?? [])
    .filter((entry) => entry.subresource !== 'status')
    .map((entry) => entry.time)
    .filter((time) => time !== undefined)
    .reduce(later, createdAt(object));
}

/** The later of two times in RFC 3339. */
export function later(a: string, b: string): string {
  return Date.parse(b) > Date.parse(a) ? b : a;
}
