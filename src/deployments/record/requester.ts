// Who asked for a change of a record. The writer claims it in an annotation, and the policy davit-requested-by lets nobody claim it
// for another user or for another write (ADR 42). Imports no zod at run time.

import type { AppDeployment } from '../../schema/app-deployment.ts';
import type { AppRevision } from '../../schema/app-revision.ts';
import { conditionOf } from '../../schema/conditions.ts';
import { LONGEST_USERNAME, REQUESTED_BY_ANNOTATION } from '../../schema/meta.ts';

/** A name that is longer, or that has characters which a terminal does not print, is not shown. */
const SHOWN = new RegExp(String.raw`^[^\p{C}\p{Zl}\p{Zp}]{1,${LONGEST_USERNAME}}$`, 'u');

/** In place of the uid, which a record gets while it is created. */
const NEW = 'new';

type Claim = Readonly<Record<typeof REQUESTED_BY_ANNOTATION, string>>;

/** The annotation of a record that `username` creates; undefined for a name that is not shown. */
export function claimOfCreation(username: string): Claim | undefined {
  return SHOWN.test(username) ? { [REQUESTED_BY_ANNOTATION]: `${NEW} 1 ${username}` } : undefined;
}

/**
 * The annotation of a write by `username` that changes the spec of this very version of the record; undefined for a name that is not
 * shown. The API server rejects it in any other write.
 */
export function claimOfChange({ metadata }: AppDeployment, username: string): Claim | undefined {
  const { uid, generation } = metadata;
  if (uid === undefined || generation === undefined || !SHOWN.test(username)) return undefined;
  return { [REQUESTED_BY_ANNOTATION]: `${uid} ${generation + 1} ${username}` };
}

/** Username of the writer of the record's spec; undefined if the write does not say it. A claim of an earlier write counts for nothing. */
export function requesterOf({ metadata }: AppDeployment): string | undefined {
  const { uid, generation, annotations } = metadata;
  const [subject, of, ...name] = (annotations?.[REQUESTED_BY_ANNOTATION] ?? '').split(' ');
  const isOfThisWrite = of === String(generation) && (subject === uid || (subject === NEW && of === '1'));
  const username = name.join(' ');
  return isOfThisWrite && SHOWN.test(username) ? username : undefined;
}

/**
 * Username of who asked for the revision that is made of the record now; undefined unless one write alone made the difference. `own`:
 * its revisions, newest first. Changes that Davit has not deployed yet, because it was paused or stopped, may be another's.
 */
export function revisionRequesterOf(record: AppDeployment, own: readonly AppRevision[]): string | undefined {
  const { status, metadata } = record;
  const isServing = conditionOf(status?.conditions, 'Ready')?.status === 'True';
  const deployed = Math.max(own[0]?.spec.deploymentGeneration ?? 0, isServing ? (status?.observedGeneration ?? 0) : 0);
  return metadata.generation === deployed + 1 ? requesterOf(record) : undefined;
}
