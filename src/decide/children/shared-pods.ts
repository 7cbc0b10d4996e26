// Whether a new revision replaces the running pods: one whose pods would be the same, but for their id, shares them.

import type { AppRevision } from '../../api/app-revision.ts';
import type { KubeObject } from '../../kube/client.ts';
import { imageOf } from '../../record/revision-image.ts';
import { podsIdOf } from '../../record/shared-pods.ts';
import { sameRevision } from '../../record/wanted-revision.ts';
import { isRolled, runningRevision } from '../assess/workloads.ts';
import type { Observed } from '../observed.ts';
import { NOTHING_PRUNED, plan } from './plan.ts';

/**
 * `draft`, with the id of the running pods if they are its own too: under that id nothing with pods or data would be changed for it, and
 * every pod is ready. It is decided once, when the revision is made. Who asks for a new revision and changes nothing wants new
 * pods, so that a tag is pulled again. `made`: the children of a revision, with their digests.
 */
export function sharingPods(
  observed: Observed,
  draft: AppRevision,
  made: (revision: AppRevision) => readonly KubeObject[],
): AppRevision {
  const running = runningRevision(observed);
  if (!running || imageOf(draft) === undefined || isAskedAgain(observed, draft) || !isMigrated(draft)) return draft;
  const podsOf = podsIdOf(running);
  const hasServed = observed.revisions.some((one) => podsIdOf(one) === podsOf && one.status?.state === 'DEPLOYED');
  if (!hasServed || running.status?.failure || !isRolled(observed, running)) return draft;
  const sharing = { ...draft, spec: { ...draft.spec, resolved: { ...draft.spec.resolved, podsOf } } };
  const children = made(sharing);
  const { actions, refusals } = plan(children, observed, NOTHING_PRUNED);
  const changes = actions.some(({ object }) => KEPT.has(object.kind));
  return changes || refusals.length > 0 || hasOthers(observed, children) ? draft : sharing;
}

/** A revision is DEPLOYED as soon as all of these are as it wants them. */
const KEPT: ReadonlySet<string> = new Set(['Deployment', 'StatefulSet', 'PersistentVolumeClaim']);

/** Whether a part runs that the revision does not have. */
function hasOthers({ children }: Observed, made: readonly KubeObject[]): boolean {
  return children.some(
    (child) =>
      (child.kind === 'Deployment' || child.kind === 'StatefulSet') &&
      !made.some(({ kind, metadata }) => kind === child.kind && metadata.name === child.metadata.name),
  );
}

function isAskedAgain({ revisions: [newest] }: Observed, { spec }: AppRevision): boolean {
  return spec.rollbackTo === undefined && newest !== undefined && sameRevision(spec.requested, newest.spec.requested);
}

function isMigrated({ spec: { requested, resolved } }: AppRevision): boolean {
  return !requested.runtime?.migrate || resolved.migrated === true;
}
