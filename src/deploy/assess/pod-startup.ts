// Pods that are assigned to a node and have not started (their volumes are being mounted, or their first image is being pulled),
// and pods that run and are not ready.

import { COMPONENT_LABEL } from '../../kinds/meta.ts';
import { isPart } from '../../kinds/worker-parts.ts';
import type { Pod } from './observed.ts';

/** A volume that can be mounted at once is mounted by then. */
export const FIRST_LOOK_MS = 2_000;
const LONGEST_MS = 60_000;

/**
 * Until then a failed health check needs no advice. Servers with many imports listen only after ten seconds and more, and a start
 * that ends well must not read like a fault.
 */
const STARTS_WELL_MS = 20_000;

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

/** What the kubelet is waited for, and since when (milliseconds). */
export interface Awaited {
  readonly what: 'start' | 'health';
  readonly sinceMs: number;
}

/** A pod whose volumes or image are awaited, or one of the image's own that runs and is not ready. */
export function awaitedOf(pod: Pod): Awaited | undefined {
  const startingMs = startingSinceMs(pod);
  if (startingMs !== undefined) return { what: 'start', sinceMs: startingMs };
  const unreadyMs = unreadySinceMs(pod);
  return unreadyMs === undefined ? undefined : { what: 'health', sinceMs: unreadyMs };
}

function unreadySinceMs({ metadata, status }: Pod): number | undefined {
  const role = metadata.labels?.[COMPONENT_LABEL] ?? '';
  if (metadata.deletionTimestamp !== undefined || status?.phase !== 'Running' || !isPart(role)) return undefined;
  const own = status.containerStatuses?.find(({ name }) => name === role);
  if (!own?.state?.running || own.ready) return undefined;
  const ready = status.conditions?.find(({ type }) => type === 'Ready');
  const times = [own.state.running.startedAt, ready?.lastTransitionTime].map((time) => Date.parse(time ?? ''));
  const known = times.filter((time) => !Number.isNaN(time));
  return known.length > 0 ? Math.max(...known) : undefined;
}

/** The pods, with a mark on those whose own container has just started. */
export function withJustStarted(pods: readonly Pod[], now: Date): readonly Pod[] {
  return pods.map((pod) => {
    const role = pod.metadata.labels?.[COMPONENT_LABEL];
    const own = pod.status?.containerStatuses?.find(({ name }) => name === role);
    const began = Date.parse(own?.state?.running?.startedAt ?? '');
    // One that was restarted has shown that it does not start well.
    const isNew = now.getTime() - began < STARTS_WELL_MS && (own?.restartCount ?? 0) === 0;
    return isNew ? { ...pod, justStarted: true } : pod;
  });
}

/**
 * Milliseconds until the pods are looked at again: no watch tells why a volume is not mounted, or what a health check got. As long as the longest wait
 * has been by now, so that the pauses double.
 */
export function recheckAfterMs(pods: readonly Pod[], now: Date): number | undefined {
  const waits = pods.flatMap((pod) => {
    const awaited = awaitedOf(pod);
    return awaited === undefined ? [] : [now.getTime() - awaited.sinceMs];
  });
  if (waits.length === 0) return undefined;
  const longest = Math.max(...waits);
  return longest < FIRST_LOOK_MS ? FIRST_LOOK_MS - longest : Math.min(LONGEST_MS, longest);
}
