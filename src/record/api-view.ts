// A record as the HTTP API shows it: status, ids of revisions, times. The facade shows what the controller reported,
// and says what can be said before its first report.

import type { AppDeployment, State } from '../api/app-deployment.ts';
import type { AppRevision } from '../api/app-revision.ts';
import type { KubeObject } from '../kube/client.ts';
import { parseImage } from './image.ts';
import { runsHere } from './listener-assignment.ts';
import { revisionsOf } from './revisions.ts';
import { asksForNothing, stateFrom } from './state.ts';
import { wantedRevisionId } from './wanted-revision.ts';

/** The status word (design.md 3): the controller's, or that of the same table with nothing observed yet. */
export function apiStatus(record: AppDeployment): State {
  const { metadata, spec, status } = record;
  const isLeaving = metadata.deletionTimestamp !== undefined;
  if (!isLeaving && status?.state !== undefined) return status.state;
  return stateFrom({
    isLeaving,
    runsNothing: asksForNothing(spec),
    isElsewhere: !runsHere(record),
    isRefused: false,
    storesAnswer: false,
    isServing: false,
  });
}

/**
 * `latest`: the newest revision, or the one that the record asks for before the controller has made it; null while an
 * image or source is still to be pushed. `active`: the newest that reached DEPLOYED; null before. `revisions` in any
 * order; those of other records are passed over.
 */
export function shownRevisionIds(
  record: AppDeployment,
  revisions: readonly AppRevision[],
): { readonly latest: string | null; readonly active: string | null } {
  const deployed = revisionsOf(record, revisions).find((revision) => revision.status?.state === 'DEPLOYED');
  return {
    latest: wantedRevisionId(record, revisions)?.id ?? null,
    active: deployed?.spec.id ?? record.status?.activeRevisionId ?? null,
  };
}

/** RFC 3339. Throws for an object that no API server has seen. */
export function createdAt(object: KubeObject): string {
  const { creationTimestamp, name } = object.metadata;
  if (creationTimestamp === undefined) throw new TypeError(`${object.kind} ${name} has no creationTimestamp`);
  return creationTimestamp;
}

/** RFC 3339: the newest write outside the status subresource. Throws as createdAt does. */
export function writtenAt(object: KubeObject): string {
  return (object.metadata.managedFields ?? [])
    .filter((entry) => entry.subresource !== 'status')
    .map((entry) => entry.time)
    .filter((time) => time !== undefined)
    .reduce(later, createdAt(object));
}

/**
 * RFC 3339: the later of the newest write outside the status subresource and of the last change of the status word,
 * never a heartbeat (design.md 2). Throws as createdAt does.
 */
export function updatedAt(record: AppDeployment): string {
  return later(writtenAt(record), record.status?.stateChangedAt ?? writtenAt(record));
}

function later(a: string, b: string): string {
  return Date.parse(b) > Date.parse(a) ? b : a;
}

/** The image's tag; null for a bare digest, no tag or no image. */
export function imageVersion(imageUri: string | null | undefined): string | null {
  return imageUri ? (parseImage(imageUri).tag ?? null) : null;
}

/** What a filter by image version finds the image by: its tag, and its digest where it is pinned. */
export function imageVersions(imageUri: string | null | undefined): string[] {
  if (!imageUri) return [];
  const { tag, digest } = parseImage(imageUri);
  return [tag, digest].filter((version) => version !== undefined);
}
