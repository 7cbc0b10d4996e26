// Events and pods of the cluster as the API shows them. Pure.

import type { EventObject } from '../../../lib/kube/event-object.ts';
import { isOver } from '../../../schema/event-over.ts';
import { lastTime } from '../../../schema/event-time.ts';
import { COMPONENT_LABEL, REVISION_LABEL } from '../../../schema/meta.ts';
import { type Amounts, limitsOf, type PodMetrics, usageOf } from '../../../schema/pod-usage.ts';
import type { ContainerStatus, Pod } from '../../assess/observed.ts';
import { isReadyPod, podFailure } from '../../assess/pod-failures.ts';
import type { DeploymentEvent, DeploymentPod } from './payloads.ts';

/** `pods`: those of the deployment, as far as the caller may see them. `now` in milliseconds since 1970. */
export function presentEvent(event: EventObject, pods: readonly Pod[], now: number): DeploymentEvent {
  const { type = 'Normal', reason = '', note = '', regarding, series, deprecatedCount } = event;
  const at = lastTime(event, now);
  return {
    type,
    reason,
    message: note,
    object: `${regarding?.kind ?? ''}/${regarding?.name ?? ''}`,
    count: Math.max(1, series?.count ?? deprecatedCount ?? 1),
    last_at: at ?? null,
    over: isOver({ type, kind: regarding?.kind, name: regarding?.name, at }, pods),
  };
}

/** Which revision runs on pods that have the id of a revision. `component`: that of the pods. */
export type RevisionOf = (component: string, id: string) => string;

/** `metrics` are those of the pod, if there are any. */
export function presentPod(pod: Pod, metrics: PodMetrics | undefined, revisionOf: RevisionOf): DeploymentPod {
  const { metadata, spec, status = {} } = pod;
  const { phase = 'Unknown', initContainerStatuses = [], containerStatuses = [] } = status;
  const containers = [...initContainerStatuses, ...containerStatuses];
  const exits = containers.flatMap(exitOf).toSorted((a, b) => ((a.at ?? '') < (b.at ?? '') ? 1 : -1));
  const maker = metadata.ownerReferences?.find(({ controller }) => controller === true);
  const { [COMPONENT_LABEL]: part = '', [REVISION_LABEL]: startedFor } = metadata.labels ?? {};
  return {
    name: metadata.name,
    part,
    revision_id: startedFor === undefined ? null : revisionOf(part, startedFor),
    started_for_revision_id: startedFor ?? null,
    made_by: maker === undefined ? null : `${maker.kind}/${maker.name}`,
    phase,
    ending: metadata.deletionTimestamp !== undefined,
    ready: isReadyPod(pod),
    restarts: containers.reduce((sum, { restartCount = 0 }) => sum + restartCount, 0),
    problem: podFailure([pod]) ?? null,
    last_exit: exits[0] ?? null,
    usage: metrics ? presentAmounts(usageOf(metrics)) : null,
    limits: presentAmounts(limitsOf(spec)),
    created_at: metadata.creationTimestamp ?? null,
  };
}

function presentAmounts({ cpu, memoryMb }: Amounts): DeploymentPod['limits'] {
  return { cpu, memory_mb: memoryMb };
}

/** None for an init container that has done its work. */
function exitOf({ name, state, lastState }: ContainerStatus): NonNullable<DeploymentPod['last_exit']>[] {
  return [state?.terminated, lastState?.terminated].flatMap((one) => {
    if (one === undefined || (one.exitCode === 0 && one === state?.terminated)) return [];
    return [{ container: name, exit_code: one.exitCode, reason: one.reason ?? null, at: one.finishedAt ?? null }];
  });
}
