// From a fixed number of pods to an autoscaler's without a dip. A manager that merely stops applying `replicas` gives
// the field back to its default, 1; so somebody else has to hold it before. The way back needs nothing: a fixed number
// is applied, and taken over from whoever had it.

import type { AppRevision } from '../../api/app-revision.ts';
import { AUTOSCALED_ANNOTATION, type Role } from '../../api/meta.ts';
import type { KubeObject } from '../../kube/client.ts';
import { autoscaledRoles } from '../../record/scale.ts';
import { deploymentOf, isOurs, type Observed, type Workload } from '../observed.ts';

interface Autoscaler extends KubeObject {
  readonly spec?: { readonly minReplicas?: number };
}

/**
 * The roles of `revision` whose `replicas` are left to an autoscaler. A Deployment that is still to be made is not among
 * them: it is made with the smallest number, and handed over in the next pass.
 */
export function handedOver(observed: Observed, revision: AppRevision): ReadonlySet<Role> {
  return new Set(
    autoscaledRoles(revision.spec.resolved).filter((role) => {
      const workload = deploymentOf(observed, role);
      return workload !== undefined && isOurs(workload, observed);
    }),
  );
}

/**
 * The smallest number that `wanted` has to be handed over with, or undefined where no hand-over is due: it is one if
 * `actual` still has our number, or none at all, for there an autoscaler rests.
 */
export function handOverFloor(
  wanted: KubeObject,
  actual: KubeObject,
  desired: readonly KubeObject[],
): number | undefined {
  if (wanted.kind !== 'Deployment' || !isAutoscaled(wanted)) return undefined;
  const replicas = (actual as Workload).spec?.replicas ?? 1;
  if (isAutoscaled(actual) && replicas > 0) return undefined;
  const autoscaler = desired.find(
    ({ kind, metadata }) => kind === 'HorizontalPodAutoscaler' && metadata.name === wanted.metadata.name,
  ) as Autoscaler | undefined;
  return autoscaler?.spec?.minReplicas ?? 1;
}

function isAutoscaled({ metadata }: KubeObject): boolean {
  return metadata.annotations?.[AUTOSCALED_ANNOTATION] === 'true';
}
