// Who asked for a change of a record, or for the end of a build. The writer claims it in an annotation, and the policies davit-requested-by
// and davit-interrupted-by let nobody claim it for another user or for another write (ADR 42).
// Imports no zod at run time.

import type { AppDeployment, AppDeploymentStatus } from '../../kinds/app-deployment.ts';
import type { AppRevision } from '../../kinds/app-revision.ts';
import { conditionOf } from '../../kinds/conditions.ts';
import {
  INTERRUPT_ANNOTATION,
  INTERRUPTED_BY_ANNOTATION,
  LONGEST_USERNAME,
  REQUESTED_BY_ANNOTATION,
} from '../../kinds/meta.ts';

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
export function claimOfChange(record: AppDeployment, username: string): Claim | undefined {
  const claim = claimOfNext(record, username);
  return claim === undefined ? undefined : { [REQUESTED_BY_ANNOTATION]: claim };
}

/** That `username` makes the generation after this version of the record. */
function claimOfNext({ metadata: { uid, generation } }: AppDeployment, username: string): string | undefined {
  return uid !== undefined && generation !== undefined && SHOWN.test(username)
    ? `${uid} ${generation + 1} ${username}`
    : undefined;
}

/** The annotation of a write by `username` that interrupts the build of the revision of `id`; undefined for a name that is not shown. */
export function claimOfInterrupt(
  { metadata: { uid } }: AppDeployment,
  id: string,
  username: string,
): Readonly<Record<typeof INTERRUPTED_BY_ANNOTATION, string>> | undefined {
  return uid !== undefined && SHOWN.test(username)
    ? { [INTERRUPTED_BY_ANNOTATION]: `${uid} ${id.toLowerCase()} ${username}` }
    : undefined;
}

/**
 * Username of the writer of the record's present generation; undefined if the write does not say it, and for a record that is being deleted:
 * a deletion makes a generation that nobody claims.
 */
export function requesterOf({ metadata: { uid, generation, annotations } }: AppDeployment): string | undefined {
  const { subject, of, username } = wordsOf(annotations?.[REQUESTED_BY_ANNOTATION]);
  const isOfThisWrite = of === String(generation) && (subject === uid || (subject === NEW && of === '1'));
  return isOfThisWrite ? username : undefined;
}

/** The username of the last writer, as a field of the status for this generation. */
export function changedBy(record: AppDeployment): Pick<AppDeploymentStatus, 'changedBy'> {
  const username = requesterOf(record);
  return username === undefined ? {} : { changedBy: username };
}

/** Username of who asked to interrupt the build that the record's annotation names; undefined if the write does not say it. */
export function interrupterOf({ metadata: { uid, annotations } }: AppDeployment): string | undefined {
  const { subject, of, username } = wordsOf(annotations?.[INTERRUPTED_BY_ANNOTATION]);
  return subject === uid && of === annotations?.[INTERRUPT_ANNOTATION]?.toLowerCase() ? username : undefined;
}

/** `username` is undefined where it is not shown. */
function wordsOf(claim = ''): Readonly<Record<'subject' | 'of' | 'username', string | undefined>> {
  const [subject, of, ...name] = claim.split(' ');
  const username = name.join(' ');
  return { subject, of, username: SHOWN.test(username) ? username : undefined };
}

/**
 * Username of who asked for the revision that is made of the record now; undefined unless one write alone made the difference. `own`:
 * its revisions, newest first. Changes that Davit has not deployed yet, because it was paused or stopped, may be another's. Those that
 * need no revision, as of the scale, are no difference.
 */
export function revisionRequesterOf(record: AppDeployment, own: readonly AppRevision[]): string | undefined {
  const { status, metadata } = record;
  const newest = own[0]?.spec;
  const ready = conditionOf(status?.conditions, 'Ready');
  // A record without an image had nothing to deploy until the write that brings one.
  const isServing = ready?.status === 'True' || (newest === undefined && ready?.reason === 'WaitingForImage');
  const same =
    newest !== undefined && newest.id === status?.latestRevisionId ? status.latestRevisionGeneration : undefined;
  const deployed = Math.max(
    newest?.deploymentGeneration ?? 0,
    same ?? 0,
    isServing ? (status?.observedGeneration ?? 0) : 0,
  );
  return metadata.generation === deployed + 1 ? requesterOf(record) : undefined;
}
