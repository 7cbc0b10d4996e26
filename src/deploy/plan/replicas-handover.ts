// Hands `replicas` over from a fixed number to an autoscaler without a dip. If a field manager stops applying the field, it
// returns to its default, 1, so another manager has to own it first. The way back needs nothing: the fixed number is applied with
// force.

import type { AppRevision } from '../../kinds/app-revision.ts';
import { AUTOSCALED_ANNOTATION } from '../../kinds/meta.ts';
import type { KubeObject } from '../../runtime/kube/client.ts';
import { isOurs, type Observed, type ObservedChildren, type Workload, workloadOf } from '../assess/observed.ts';
import { autoscaledParts, followsDepth } from '../record/scale.ts';

interface Autoscaler extends KubeObject {
  readonly spec?: { readonly minReplicas?: number; readonly minReplicaCount?: number };
}

const AUTOSCALERS: ReadonlySet<string> = new Set(['HorizontalPodAutoscaler', 'ScaledObject']);

/**
 * The parts of `revision` whose `replicas` an autoscaler owns. New Deployments are not included: they are created with the
 * minimum and handed over in the next pass.
 */
export function handedOver(
  observed: ObservedChildren & Pick<Observed, 'keda'>,
  revision: AppRevision,
): ReadonlySet<string> {
  return new Set(
    autoscaledParts(revision.spec.resolved, followsDepth(revision.spec, observed.keda)).filter((role) => {
      const workload = workloadOf(observed, role);
      return workload !== undefined && isOurs(workload, observed);
    }),
  );
}

/**
 * The minimum number with which `wanted` is handed over, or undefined if no hand-over is due. It is due if `actual` still has
 * Davit's number, or 0, at which an autoscaler by CPU and memory does nothing.
 */
export function handOverFloor(
  wanted: KubeObject,
  actual: KubeObject,
  desired: readonly KubeObject[],
): number | undefined {
  if (wanted.kind !== 'Deployment' || !isAutoscaled(wanted)) return undefined;
  const replicas = (actual as Workload).spec?.replicas ?? 1;
  const autoscaler = desired.find(
    ({ kind, metadata }) => AUTOSCALERS.has(kind) && metadata.name === wanted.metadata.name,
  ) as Autoscaler | undefined;
  const fromZero = autoscaler?.kind === 'ScaledObject';
  if (isAutoscaled(actual) && (replicas > 0 || fromZero)) return undefined;
  return autoscaler?.spec?.minReplicas ?? autoscaler?.spec?.minReplicaCount ?? 1;
}

function isAutoscaled({ metadata }: KubeObject): boolean {
  return metadata.annotations?.[AUTOSCALED_ANNOTATION] === 'true';
}
