// The image that the pods of a datastore have. A patch changes it without a revision, so it stands in the status of the record, and
// takes precedence over the revisions: a rollback keeps a patch.

import type { AppDeployment } from '../../kinds/app-deployment.ts';
import type { AppRevision } from '../../kinds/app-revision.ts';
import type { DatastoreOperation } from '../../kinds/datastore-operation.ts';
import { STORE_PARTS, type StorePart } from '../../kinds/meta.ts';
import { databaseNumberOf } from './database-move.ts';
import { isOlderImage, isSameLine } from './image.ts';

interface Patched {
  readonly record: Pick<AppDeployment, 'status'>;
  /** The operation that works now. */
  readonly operation?: DatastoreOperation | undefined;
}

/** `revision` with the images in force. The same object if nothing differs. `isNewest`: of the revisions of the record. */
export function withImagesInForce(patched: Patched, revision: AppRevision, isNewest: boolean): AppRevision {
  const { resolved } = revision.spec;
  const changed = STORE_PARTS.flatMap((part) => {
    const own = resolved[part];
    const image = own && imageInForce(part, own.image, patched, { revision, isNewest });
    return own === undefined || image === own.image ? [] : [[part, { ...own, image }] as const];
  });
  if (changed.length === 0) return revision;
  return { ...revision, spec: { ...revision.spec, resolved: { ...resolved, ...Object.fromEntries(changed) } } };
}

function imageInForce(
  part: StorePart,
  own: string,
  { record: { status }, operation }: Patched,
  { revision, isNewest }: { readonly revision: AppRevision; readonly isNewest: boolean },
): string {
  const isOfOtherDatabase = part === 'postgres' && databaseNumberOf(revision) !== (status?.databaseNumber ?? 0);
  const { patch, phase } = operation?.status ?? {};
  const image =
    patch?.datastore === part ? (phase === 'Returning' ? patch.from : patch.to) : status?.datastores?.[part]?.image;
  if (image === undefined || image === own || isOfOtherDatabase || !isSameLine(image, own)) return own;
  // A revision that no status has seen yet was made with the image in force, or a newer one.
  const isUnseen = isNewest && revision.spec.id !== status?.latestRevisionId && patch?.datastore !== part;
  return isUnseen && !isOlderImage(own, image) ? own : image;
}
