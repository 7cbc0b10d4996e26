// A record in the HTTP API: status, ids of revisions, times. The facade shows the controller's report, or computes the values
// that are known before the first report.

import type { AppDeployment, State } from '../../kinds/app-deployment.ts';
import type { AppRevision } from '../../kinds/app-revision.ts';
import { conditionOf } from '../../kinds/conditions.ts';
import { STORE_PARTS } from '../../kinds/meta.ts';
import { doesWithout } from '../../kinds/runtime.ts';
import { later, writtenAt } from '../../runtime/kube/write-times.ts';
import { parseImage } from './image.ts';
import { runsHere } from './listener-assignment.ts';
import { names } from './names.ts';
import { activeRevision, revisionsOf } from './revisions.ts';
import { asksForNothing, stateFrom } from './state.ts';
import { wantedRevisionId } from './wanted-revision.ts';

/** The status in the API: the controller's, or before its first report the one of the same table with nothing observed. */
export function apiStatus(record: AppDeployment): State {
  const { metadata, spec, status } = record;
  const isLeaving = metadata.deletionTimestamp !== undefined;
  if (!isLeaving && status?.state !== undefined) return status.state;
  return stateFrom({
    isLeaving,
    runsNothing: asksForNothing(spec),
    isElsewhere: !runsHere(record),
    isRefused: false,
    storesAnswer: STORE_PARTS.every((part) => doesWithout(part, spec.sourceConfig.runtime)),
    isServing: false,
  });
}

/** Why it is as it is, for people: what the condition Ready says, of the record as it stands. */
export function statusMessage({ metadata, status }: AppDeployment): string {
  if (metadata.deletionTimestamp !== undefined && status?.state !== 'AWAITING_DELETE')
    return 'The deployment is being deleted.';
  const ready = conditionOf(status?.conditions, 'Ready');
  if (ready === undefined) return 'Davit has not processed this deployment yet.';
  return isLookedAt({ metadata, status }) ? ready.message : 'Davit has not processed the last change yet.';
}

/** The sentence of what only a person can mend; undefined where there is no such thing. */
export function stalledMessage({ metadata, status }: AppDeployment): string | undefined {
  const stalled = conditionOf(status?.conditions, 'Stalled');
  return stalled?.status === 'True' && isLookedAt({ metadata, status }) ? stalled.message : undefined;
}

/**
 * URL of the main service for pods of the same cluster. It is there once a revision with an image is, and null on a listener and
 * while the record is being deleted.
 */
export function internalUrl(record: AppDeployment): string | null {
  const { metadata, status } = record;
  if (status?.image === undefined || metadata.deletionTimestamp !== undefined || !runsHere(record)) return null;
  return `http://${names(metadata.name).service}.${metadata.namespace}.svc`;
}

/** Whether what is reported is of the record as it stands. */
export function isLookedAt({
  metadata,
  status,
}: Pick<AppDeployment, 'metadata'> & { status?: AppDeployment['status'] | undefined }): boolean {
  return (status?.observedGeneration ?? 0) >= (metadata.generation ?? 0);
}

/**
 * `latest`: the newest revision, or the requested one before the controller has created it; null until an image or source has
 * been pushed. `active`: the newest revision that reached DEPLOYED, or null. `revisions` may be in any order and contain those
 * of other records.
 */
export function shownRevisionIds(
  record: AppDeployment,
  revisions: readonly AppRevision[],
): { readonly latest: string | null; readonly active: string | null } {
  const deployed = activeRevision(revisionsOf(record, revisions));
  return {
    latest: wantedRevisionId(record, revisions)?.id ?? null,
    active: deployed?.spec.id ?? record.status?.activeRevisionId ?? null,
  };
}

/**
 * RFC 3339: the later of the newest write outside the status subresource and of the last change of the status word,
 * never a heartbeat. Throws like createdAt.
 */
export function updatedAt(record: AppDeployment): string {
  return later(writtenAt(record), record.status?.stateChangedAt ?? writtenAt(record));
}

/** The image's tag; null for a bare digest, no tag or no image. */
export function imageVersion(imageUri: string | null | undefined): string | null {
  return imageUri ? (parseImage(imageUri).tag ?? null) : null;
}

/** The versions by which a filter finds the image: its tag, and its digest if it is pinned. */
export function imageVersions(imageUri: string | null | undefined): string[] {
  if (!imageUri) return [];
  const { tag, digest } = parseImage(imageUri);
  return [tag, digest].filter((version) => version !== undefined);
}
