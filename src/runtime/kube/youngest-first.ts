// Objects in the order of their creation.

import type { KubeObject } from './client.ts';

/** The newest come first. Times of creation have a resolution of a second. */
export function youngestFirst<T extends Pick<KubeObject, 'metadata'>>(objects: readonly T[]): T[] {
  return objects.toSorted((a, b) => (madeAt(a) < madeAt(b) ? 1 : -1));
}

function madeAt({ metadata }: Pick<KubeObject, 'metadata'>): string {
  return metadata.creationTimestamp ?? '';
}
