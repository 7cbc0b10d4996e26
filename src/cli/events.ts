// The events of one deployment's objects.

import type { Pod } from '../deployments/assess/observed.ts';
import type { KubeObject } from '../lib/kube/client.ts';
import { isOver } from '../schema/event-over.ts';
import { lastTime, lastTimeMs } from '../schema/event-time.ts';

/** The used part of an Event of Kubernetes. */
export interface ClusterEvent extends KubeObject {
  readonly type?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly count?: number;
  readonly lastTimestamp?: string | null;
  readonly eventTime?: string | null;
  readonly series?: { readonly count?: number; readonly lastObservedTime?: string };
  readonly involvedObject?: { readonly kind?: string; readonly name?: string };
}

/** Those about objects with these names, newest first. */
export function eventsOf(names: readonly string[], events: readonly ClusterEvent[], now: number): ClusterEvent[] {
  const known = new Set(names);
  return events
    .filter(({ involvedObject }) => known.has(involvedObject?.name ?? ''))
    .toSorted((a, b) => lastTimeMs(b, now) - lastTimeMs(a, now));
}

/** Whether it is a warning of one of these pods from before it became ready. */
export function isOfThePast(event: ClusterEvent, pods: readonly Pod[], now: number): boolean {
  const { kind, name } = event.involvedObject ?? {};
  return isOver({ type: event.type, kind, name, at: lastTime(event, now) }, pods);
}

/** How often it happened. */
export function timesOf({ series, count }: ClusterEvent): number {
  return series?.count ?? count ?? 1;
}
