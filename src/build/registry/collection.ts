// Decides when the registry's pod collects garbage, and how that ends. A collection is armed once, by a ConfigMap from which the pod's init
// container has its arguments, and disarmed as soon as it has begun twice, has succeeded or has taken too long. So a pod that starts
// for any other reason collects nothing, and a collection that fails or does not end keeps the registry from starting no longer than
// the time limit.

import { z } from 'zod';
import type { ContainerState, Pod } from '../../deploy/assess/observed.ts';
import { jsonOf } from '../../runtime/json-value.ts';
import type { KubeObject } from '../../runtime/kube/client.ts';

const DAY_MS = 24 * 3600 * 1000;

/** Init container that collects garbage before the registry serves, if the ConfigMap says so. */
const COLLECT_GARBAGE = 'collect-garbage';
/** Environment variable of the init container with an argument of its command, and key of the ConfigMap. */
export const ARGUMENT = 'DAVIT_COLLECTION';
/** Has the command collect. */
export const COLLECT = '--delete-untagged';
/** Has the command print its help and succeed. Every other pod of the registry starts so. */
const IDLE = '--help';
const STATE = 'state';
/** The ConfigMap has this annotation, with any value, if somebody asks for a collection now. */
const REQUESTED = 'davit.dev/collect';
/** Length of the last output of a failed collection that is kept. */
const LONGEST_REASON = 500;
/** A second attempt often succeeds: the first has removed what it could not read. */
const MOST_RESTARTS = 1;

/** The ConfigMap `davit-registry-collection`, which the chart creates without data. */
export interface CollectionConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

const State = z.object({
  /** `armed`: the next pod collects, or collects now. The others: how the last collection ended. */
  phase: z.enum(['armed', 'succeeded', 'failing', 'timed_out']),
  /** When it was armed, or ended. */
  since: z.iso.datetime(),
  /** Uid of the pod that was replaced when it was armed. */
  replaced: z.string().optional(),
  /** The last output of a failed collection. */
  reason: z.string().optional(),
  succeededAt: z.iso.datetime().optional(),
});
/** A collection, as the ConfigMap stores it. */
export type CollectionState = z.output<typeof State>;

/** What the ConfigMap says. A value that cannot be read is none. */
export interface StoredCollection {
  readonly state: CollectionState | undefined;
  /** Whether the next start of the init container collects. */
  readonly isArmed: boolean;
  readonly isRequested: boolean;
  readonly createdAt: Date;
}

export function storedIn({ metadata, data }: CollectionConfigMap): StoredCollection {
  return {
    state: State.safeParse(jsonOf(data?.[STATE] ?? '')).data,
    isArmed: data?.[ARGUMENT] === COLLECT,
    isRequested: metadata.annotations?.[REQUESTED] !== undefined,
    createdAt: new Date(metadata.creationTimestamp ?? ''),
  };
}

/** Merge patch of the ConfigMap: the next pod after the one with this uid collects. */
export function arming(before: CollectionState | undefined, replaced: string, now: Date): object {
  const { succeededAt } = before ?? {};
  const state: CollectionState = {
    phase: 'armed',
    since: now.toISOString(),
    replaced,
    ...(succeededAt && { succeededAt }),
  };
  return {
    metadata: { annotations: { [REQUESTED]: null } },
    data: { [ARGUMENT]: COLLECT, [STATE]: JSON.stringify(state) },
  };
}

/** What is to be done next, in this order. */
export interface CollectionStep {
  /** Merge patch of the ConfigMap. */
  readonly patch?: object;
  /** The collection has ended with this. */
  readonly ended?: CollectionState;
  /** The pod still collects, and is to be replaced by one that does not. */
  readonly replacesPod?: true;
}

/** `pod`: undefined if there is none at present. `limitMs`: how long the registry may be away for a collection. */
export function stepOf(
  { state, isArmed }: StoredCollection,
  pod: Pod | undefined,
  limitMs: number,
  now: Date,
): CollectionStep {
  const disarm = { [ARGUMENT]: IDLE };
  const found = pod?.status?.initContainerStatuses?.find(({ name }) => name === COLLECT_GARBAGE);
  const isLongAgo = (time = ''): boolean => now.getTime() - Date.parse(time) >= limitMs;
  if (state?.phase !== 'armed') {
    // Left behind by a controller that ended in between: a command that prints its help takes no time.
    const isLate = isLongAgo(found?.state?.running?.startedAt);
    return { ...(isArmed && { patch: { data: disarm } }), ...(isLate && { replacesPod: true as const }) };
  }
  const collect = pod?.metadata.uid === state.replaced ? undefined : found;
  const restarts = collect?.restartCount ?? 0;
  const end = (phase: CollectionState['phase'], reason?: string): CollectionStep => {
    const since = now.toISOString();
    const succeededAt = phase === 'succeeded' ? since : state.succeededAt;
    const ended = { phase, since, ...(reason !== undefined && { reason }), ...(succeededAt && { succeededAt }) };
    return { patch: { data: { ...disarm, [STATE]: JSON.stringify(ended) } }, ended };
  };
  const isDone = collect?.state?.terminated?.exitCode === 0;
  // It is disarmed only when the second attempt has begun. A pod that then attempts for the first time is another one, and collects nothing.
  if (isDone && (restarts === MOST_RESTARTS || (restarts < MOST_RESTARTS && isArmed))) return end('succeeded');
  if (isDone || restarts > MOST_RESTARTS) return end('failing', reasonOf(collect?.lastState));
  if (isLongAgo(state.since)) {
    if (collect?.state?.running) return { ...end('timed_out'), replacesPod: true };
    const last = [collect?.state, collect?.lastState].find((one) => one?.terminated);
    return end('failing', last ? reasonOf(last) : 'The pod of the registry did not start the garbage collection.');
  }
  return restarts === MOST_RESTARTS && isArmed ? { patch: { data: disarm } } : {};
}

function reasonOf({ terminated }: ContainerState = {}): string {
  const { exitCode = 1, message = '' } = terminated ?? {};
  return message.trim().slice(0, LONGEST_REASON) || `Exit code ${exitCode}.`;
}

/** When the next collection is due: soon after one that failed. Before the first, the platform collects since `createdAt`. */
export function dueAt({ state, createdAt }: Pick<StoredCollection, 'state' | 'createdAt'>, everyDays: number): Date {
  const days = state?.phase === 'failing' ? 1 : everyDays;
  return new Date((state ? Date.parse(state.since) : createdAt.getTime()) + days * DAY_MS);
}

/**
 * Whether the registry's pod is to be replaced now. Builds that run put it off by at most a day, because a push fails while the registry
 * is down, unless somebody asks for it. So does an image at risk: one that no tag keeps, because the registry refuses to tag it.
 */
export function isCollectionDue(
  due: Date,
  hour: number,
  { isRequested, isBuilding, isAtRisk }: Readonly<Record<'isRequested' | 'isBuilding' | 'isAtRisk', boolean>>,
  now: Date,
): boolean {
  // The last one was within the hour, so the next is due a little later in the same hour.
  const overdueDays = (now.getTime() - due.getTime()) / DAY_MS + 0.25;
  if (isAtRisk && overdueDays < 1) return false;
  return isRequested || (now.getUTCHours() === hour && overdueDays >= (isBuilding ? 1 : 0));
}

/** For the metrics. Times are in seconds since 1970. */
export interface GarbageCollection {
  /** Undefined if there has been none. */
  readonly state?: 'succeeded' | 'running' | 'failing' | 'timed_out';
  readonly succeededAt?: number;
  /** When the next is due. Absent where there will be none. */
  readonly dueAt?: number;
}

/** `everyDays`: undefined while Davit is paused, so that nothing is collected. */
export function collectionShown(stored: StoredCollection, everyDays: number | undefined): GarbageCollection {
  const { phase, succeededAt } = stored.state ?? {};
  return {
    ...(phase && { state: phase === 'armed' ? 'running' : phase }),
    ...(succeededAt && { succeededAt: Date.parse(succeededAt) / 1000 }),
    ...(everyDays && { dueAt: dueAt(stored, everyDays).getTime() / 1000 }),
  };
}
