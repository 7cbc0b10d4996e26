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
  readonly involvedObject?: { readonly kind?: string; readonly name?: string; readonly uid?: string };
}

/** An object that exists. */
export interface Existing {
  readonly kind: string;
  readonly metadata: Pick<KubeObject['metadata'], 'name' | 'uid'>;
}

/**
 * Those about objects with these names, newest first. Where the object of an event's kind and name exists, only its own events count: one of
 * another uid is about an earlier object of the name. Those of other kinds, which were not read, and of what is gone count by their name.
 */
export function eventsOf(existing: readonly Existing[], events: readonly ClusterEvent[], now: number): ClusterEvent[] {
  const names = new Set(existing.map(({ metadata }) => metadata.name));
  const uids = new Map(existing.map(({ kind, metadata }) => [`${kind}/${metadata.name}`, metadata.uid]));
  return events
    .filter(({ involvedObject: { kind, name = '', uid } = {} }) => {
      const own = uids.get(`${kind}/${name}`);
      return names.has(name) && (own === undefined || uid === undefined || uid === own);
    })
    .toSorted((a, b) => lastTimeMs(b, now) - lastTimeMs(a, now));
}

/** Kinds whose events tell, unless they are warnings, what the pods and their conditions show. */
const CHATTY: ReadonlySet<string | undefined> = new Set(['Deployment', 'ReplicaSet', 'StatefulSet', 'Job', 'Pod']);

export function isNews({ type, involvedObject }: ClusterEvent): boolean {
  return type !== 'Normal' || !CHATTY.has(involvedObject?.kind);
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
