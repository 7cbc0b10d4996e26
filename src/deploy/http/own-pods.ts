// The pods of a deployment and what they use, read with the caller's token.

import type { AppDeployment } from '../../kinds/app-deployment.ts';
import { DEPLOYMENT_LABEL, DEPLOYMENT_UID_LABEL } from '../../kinds/meta.ts';
import type { Amounts, PodMetrics } from '../../kinds/pod-usage.ts';
import { Forbidden, Unavailable, undefinedIfNotFound } from '../../runtime/errors.ts';
import { POD_METRICS, POD_METRICS_V1BETA1, PODS } from '../../runtime/kube/api-resources.ts';
import type { KubeClient } from '../../runtime/kube/client.ts';
import { youngestFirst } from '../../runtime/kube/youngest-first.ts';
import type { ContainerStatus, Pod } from '../assess/observed.ts';
import type { DeploymentPod } from './events/payloads.ts';

type Exit = NonNullable<DeploymentPod['last_exit']>;

const PAGE = 500;
/** How long metrics are waited for: they come from another server than the rest. */
const METRICS_MS = 5000;

/** Newest first. Undefined for a caller who may not list pods. */
export async function listPods(kube: KubeClient, { metadata }: AppDeployment): Promise<readonly Pod[] | undefined> {
  const { namespace = '' } = metadata;
  try {
    const { items } = await kube.list<Pod>(PODS, {
      namespace,
      labelSelector: selectorOf(metadata),
      limit: PAGE,
    });
    return youngestFirst(items);
  } catch (error) {
    if (error instanceof Forbidden) return undefined;
    throw error;
  }
}

/** Throws NotFound where the cluster serves no metrics, Forbidden for a caller who may not list them, and Unavailable if they come too late. */
export async function listMetrics(kube: KubeClient, { metadata }: AppDeployment): Promise<readonly PodMetrics[]> {
  const { namespace = '' } = metadata;
  const late = AbortSignal.timeout(METRICS_MS);
  try {
    const listing = { namespace, labelSelector: selectorOf(metadata), limit: PAGE, signal: late };
    const { items } =
      (await kube.list<PodMetrics>(POD_METRICS, listing).catch(undefinedIfNotFound)) ??
      (await kube.list<PodMetrics>(POD_METRICS_V1BETA1, listing));
    return items;
  } catch (error) {
    throw late.aborted ? new Unavailable('list metrics of pods', { cause: error }) : error;
  }
}

function selectorOf({ name, uid = '' }: AppDeployment['metadata']): string {
  return `${DEPLOYMENT_LABEL}=${name},${DEPLOYMENT_UID_LABEL}=${uid}`;
}

/** How often the containers of a pod were restarted. */
export function restartsOf(pod: Pod): number {
  return containersOf(pod).reduce((sum, { restartCount = 0 }) => sum + restartCount, 0);
}

/** The exits of its containers that are known, newest first. */
export function exitsOf(pod: Pod): Exit[] {
  return containersOf(pod)
    .flatMap(exitOf)
    .toSorted((a, b) => ((a.at ?? '') < (b.at ?? '') ? 1 : -1));
}

function containersOf({ status: { initContainerStatuses = [], containerStatuses = [] } = {} }: Pod): ContainerStatus[] {
  return [...initContainerStatuses, ...containerStatuses];
}

/** None for an init container that has done its work. */
function exitOf({ name, state, lastState }: ContainerStatus): Exit[] {
  return [state?.terminated, lastState?.terminated].flatMap((one) => {
    if (one === undefined || (one.exitCode === 0 && one === state?.terminated)) return [];
    return [{ container: name, exit_code: one.exitCode, reason: one.reason ?? null, at: one.finishedAt ?? null }];
  });
}

export function presentAmounts({ cpu, memoryMb }: Amounts): { cpu: number | null; memory_mb: number | null } {
  return { cpu, memory_mb: memoryMb };
}
