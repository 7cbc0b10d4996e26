// Pods that are assigned to a node and have not started: their volumes are being mounted, or their first image is being pulled.

import type { Pod } from './observed.ts';

/** A volume that can be mounted at once is mounted by then. */
export const FIRST_LOOK_MS = 2_000;
const LONGEST_MS = 60_000;

/** What the kubelet says of a container before there is anything to say. */
const BEFORE: ReadonlySet<string> = new Set(['ContainerCreating', 'PodInitializing']);

/** Since when (milliseconds) the pod could have begun; undefined if it has, or no node has it. */
export function startingSinceMs({ metadata, status }: Pod): number | undefined {
  if (metadata.deletionTimestamp !== undefined || status?.phase !== 'Pending') return undefined;
  const containers = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
  if (containers.length === 0 || containers.some(({ state }) => !BEFORE.has(state?.waiting?.reason ?? '')))
    return undefined;
  const scheduled = status.conditions?.find(({ type }) => type === 'PodScheduled');
  const since = Date.parse(scheduled?.lastTransitionTime ?? '');
  return scheduled?.status === 'True' && !Number.isNaN(since) ? since : undefined;
}

/**
 * Milliseconds until the pods are looked at again: no watch tells why a volume is not mounted. As long as the longest wait
 * has been by now, so that the pauses double.
 */
export function recheckAfterMs(pods: readonly Pod[], now: Date): number | undefined {
  const waits = pods.flatMap((pod) => {
    const since = startingSinceMs(pod);
    return since === undefined ? [] : [now.getTime() - since];
  });
  if (waits.length === 0) return undefined;
  const longest = Math.max(...waits);
  return longest < FIRST_LOOK_MS ? FIRST_LOOK_MS - longest : Math.min(LONGEST_MS, longest);
}
