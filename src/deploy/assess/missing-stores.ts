// A crash of a program that asks for a store which its record does without: nothing else says that the two belong together.

import type { Requested } from '../../kinds/app-revision.ts';
import { STORE_FIELDS, STORE_PARTS, STORE_URIS } from '../../kinds/meta.ts';
import { doesWithout } from '../../kinds/runtime.ts';
import { externalReference } from '../record/resolve.ts';
import type { Trouble } from './pod-failures.ts';

/** The trouble, with a clause for each store that is `none` and whose variable a crashed container names in its last words. */
export function withMissingStores(trouble: Trouble, requested: Readonly<Requested>): Trouble;
export function withMissingStores(trouble: Trouble | undefined, requested: Readonly<Requested>): Trouble | undefined;
export function withMissingStores(trouble: Trouble | undefined, requested: Readonly<Requested>): Trouble | undefined {
  if (trouble?.reason !== 'ContainerCrashed') return trouble;
  const clauses = STORE_PARTS.filter((part) => doesWithout(part, requested.runtime)).flatMap((part) => {
    // A secret of the record may have the name.
    const named = STORE_URIS[part].find(
      (name) => new RegExp(`\\b${name}\\b`).test(trouble.message) && externalReference(requested, name) === undefined,
    );
    return named === undefined ? [] : [` runtime.${STORE_FIELDS[part]} is none, so ${named} is not set.`];
  });
  return { ...trouble, message: `${trouble.message}${clauses.join('')}` };
}
