// Tags and the display name of a deployment, which are labels and an annotation of its record. Pure.

import { DISPLAY_NAME_ANNOTATION, TAG_LABEL_PREFIX } from '../../kinds/meta.ts';
import { shortened } from '../../kinds/text.ts';
import type { KubeObject } from '../../runtime/kube/client.ts';

/** Characters. */
export const LONGEST_DISPLAY_NAME = 253;

/** Ids of its tags, in their order. */
export function tagsOf({ metadata: { labels = {} } }: KubeObject): string[] {
  return Object.keys(labels)
    .map((label) => label.toLowerCase())
    .filter((label) => label.startsWith(TAG_LABEL_PREFIX))
    .map((label) => label.slice(TAG_LABEL_PREFIX.length))
    .toSorted();
}

export function labelsOf(tags: readonly string[]): Record<string, string> {
  return Object.fromEntries(tags.map((tag) => [`${TAG_LABEL_PREFIX}${tag.toLowerCase()}`, '']));
}

/** A merge patch of the labels, after which the record has these tags alone. Undefined if it has. */
export function patchedTags(
  { metadata: { labels = {} } }: KubeObject,
  tags: readonly string[] | null | undefined,
): Record<string, string | null> | undefined {
  const wanted = tags ? labelsOf(tags) : undefined;
  if (wanted === undefined) return undefined;
  const surplus = Object.keys(labels).filter((label) => label.startsWith(TAG_LABEL_PREFIX) && !(label in wanted));
  const missing = Object.entries(wanted).filter(([label]) => !(label in labels));
  if (surplus.length === 0 && missing.length === 0) return undefined;
  return Object.fromEntries([...surplus.map((label) => [label, null] as const), ...missing]);
}

/** Undefined if it has none. kubectl may have written it, so it is cut to what HTTP takes. */
export function displayNameOf({ metadata: { annotations } }: KubeObject): string | undefined {
  const name = annotations?.[DISPLAY_NAME_ANNOTATION];
  return name ? shortened(name, LONGEST_DISPLAY_NAME) : undefined;
}
