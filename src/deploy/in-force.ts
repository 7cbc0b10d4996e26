// The scale of a revision, and the images of its datastores, that are in force now.

import type { AppRevision } from '../kinds/app-revision.ts';
import { holds } from '../kinds/operation-phases.ts';
import type { Settings } from '../kinds/settings.ts';
import type { Preconditions } from './assess/assessment.ts';
import type { Observed } from './assess/observed.ts';
import { ownRevisions } from './cluster/caches.ts';
import type { ReconcilerOptions } from './pass.ts';
import { withImagesInForce } from './record/image-in-force.ts';
import { scaledBy, scaledTo, stopped } from './record/scaled.ts';

/** A revision at the scale that is in force: none while an operation holds the record. */
export function scaleInForce(
  { record, operation }: Pick<Observed, 'record' | 'operation'>,
  revision: AppRevision,
  settings: Settings,
): AppRevision {
  return holds(operation) ? stopped(revision) : scaledBy(record.spec, revision, settings);
}

/** A revision at the scale, and with the images of its datastores, that are in force. `own`: newest first. */
export function revisionInForce(
  of: Pick<Observed, 'record' | 'operation'>,
  revision: AppRevision,
  [newest]: readonly AppRevision[],
  settings: Settings,
): AppRevision {
  return scaleInForce(of, withImagesInForce(of, revision, newest === revision), settings);
}

/**
 * The revisions from which a new one is made, at the scale that the record asks for. While an operation holds the record, those that were
 * observed have none, which a rollback would keep.
 */
export function revisionsToMakeFrom(
  observed: Pick<Observed, 'record' | 'operation' | 'revisions'>,
  { home: { caches }, settings }: Pick<ReconcilerOptions, 'home' | 'settings'>,
): readonly AppRevision[] {
  const { record, operation, revisions } = observed;
  if (!holds(operation)) return revisions;
  return ownRevisions(record, caches).map((revision, index) =>
    scaledBy(record.spec, withImagesInForce(observed, revision, index === 0), settings),
  );
}

/** A scale that is refused, or asked for in a pause, is not in force: the one that was reported before it is. */
export function atScaleInForce(observed: Observed, { policy, paused }: Preconditions): Observed {
  const reported = observed.record.status;
  const isAsked = policy.is === 'pass' && paused === undefined;
  if (isAsked || reported?.resourceSpec === undefined || holds(observed.operation)) return observed;
  return { ...observed, revisions: observed.revisions.map((revision) => scaledTo(reported, revision)) };
}
