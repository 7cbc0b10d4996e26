// Whether a requested revision is a rollback, and why a requested rollback is not possible.

import type { AppDeployment } from '../../kinds/app-deployment.ts';
import type { AppRevision } from '../../kinds/app-revision.ts';
import { ownRequested } from './file-values.ts';
import { keepsBuild, requestedOf, sameRevision } from './requested.ts';

export type Rollback =
  | { readonly is: 'none'; readonly of?: undefined }
  /** The resolved values of revision `of` are restored, with the image that was built from it and the scale of the record. */
  | { readonly is: 'taken'; readonly of: AppRevision }
  /**
   * The requested rollback is not possible. `why`: the cause, and what happens instead. `of`: the named revision, if its image is
   * deployed with the values of the record.
   */
  | { readonly is: 'ignored'; readonly why: string; readonly of?: AppRevision };

export const NO_ROLLBACK: Rollback = { is: 'none' };

/**
 * The rollback that the record requests with a new revisionSerial. `own`: the record's existing revisions, newest first. `contract`: the
 * newest pod contract that this version of Davit has.
 */
export function rollbackOf(record: AppDeployment, own: readonly AppRevision[], contract: number): Rollback {
  const { rollbackTo, revisionSerial } = record.spec;
  // Without a new serial, rollbackTo belongs to an earlier rollback.
  if (rollbackTo === undefined || revisionSerial === undefined) return NO_ROLLBACK;
  if (own.some((revision) => revision.spec.revisionSerial === revisionSerial)) return NO_ROLLBACK;
  const old = own.find((revision) => revision.spec.id.toLowerCase() === rollbackTo.toLowerCase());
  const instead = 'The new revision has the values of the record and the current defaults.';
  if (old === undefined) return { is: 'ignored', why: `Revision ${rollbackTo} does not exist. ${instead}` };
  const requested = requestedOf(record.spec);
  if (!sameRevision(ownRequested(old.spec), requested)) {
    const differs = `rollbackTo names revision ${rollbackTo}, but the record has other values than that revision.`;
    // The record was changed again (sizes or secrets) before the controller saw the rollback.
    return isUnseenRequest(record, own[0]) && keepsBuild(requested, old)
      ? {
          is: 'ignored',
          of: old,
          why: `${differs} The image built for that revision is deployed with the values of the record.`,
        }
      : { is: 'ignored', why: `${differs} Restore them too. ${instead}` };
  }
  if (old.spec.resolved.contract > contract)
    return { is: 'ignored', why: `A newer version of Davit created revision ${rollbackTo}. ${instead}` };
  return { is: 'taken', of: old };
}

/**
 * Whether rollbackTo was set after the newest revision was created. An unchanged value may be left over from an earlier rollback by a
 * person who writes the record without the API. The API leaves it only in a second write that requests a revision.
 */
function isUnseenRequest(
  { spec: { rollbackTo, revisionSerial = 0 } }: AppDeployment,
  newest: AppRevision | undefined,
): boolean {
  return newest?.spec.rollbackTo !== rollbackTo || revisionSerial > (newest?.spec.revisionSerial ?? 0) + 1;
}
