// Decides how a collection of garbage by the registry's pod goes on. A collection is armed once, by a ConfigMap from which the pod's init
// container has its arguments, and disarmed as soon as it has begun twice, has succeeded or has taken too long. So a pod that starts
// for any other reason collects nothing, and a collection that fails or does not end keeps the registry from starting no longer than
// the time limit.

import { z } from 'zod';
import { jsonOf } from '../../lib/json-value.ts';
import type { KubeObject } from '../../lib/kube/client.ts';

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
/** Bytes of what a failing collection says last. */
const LONGEST_REASON = 500;

/** The used part of the registry's pod. */
export interface RegistryPod extends KubeObject {
  readonly status?: {
    readonly startTime?: string;
    readonly initContainerStatuses?: readonly ContainerStatus[];
  };
}

interface ContainerStatus {
  readonly name: string;
  readonly restartCount?: number;
  readonly state?: ContainerState;
  readonly lastState?: ContainerState;
}
interface ContainerState {
  readonly running?: { readonly startedAt?: string };
  readonly terminated?: { readonly exitCode: number; readonly message?: string };
}

/** The ConfigMap `davit-registry-collection`, which the chart creates without data. */
export interface CollectionConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

const Ending = z.enum(['succeeded', 'failed', 'timedOut']);
const State = z.object({
  /** `armed`: the next pod collects, or collects now. */
  phase: z.enum(['armed', 'ended']),
  /** When it was armed, or ended. */
  since: z.iso.datetime(),
  /** Uid of the pod that was replaced when it was armed. */
  replaced: z.string().optional(),
  ending: Ending.optional(),
  /** What a failing collection said last. */
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
  /** Since when there is a ConfigMap: the platform begins to collect then. */
  readonly createdAt: Date | undefined;
}

export function storedIn({ metadata, data }: CollectionConfigMap): StoredCollection {
  const created = Date.parse(metadata.creationTimestamp ?? '');
  return {
    state: State.safeParse(jsonOf(data?.[STATE] ?? '')).data,
    isArmed: data?.[ARGUMENT] === COLLECT,
    isRequested: metadata.annotations?.[REQUESTED] !== undefined,
    createdAt: Number.isFinite(created) ? new Date(created) : undefined,
  };
}

/** Merge patch of the ConfigMap: the next pod after the one with this uid collects. */
export function arming(before: CollectionState | undefined, replaced: string, now: Date): object {
  const { succeededAt } = before ?? {};
  const state: CollectionState = {
    phase: 'armed',
    since: now.toISOString(),
    replaced,
    ...(succeededAt !== undefined && { succeededAt }),
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
  pod: RegistryPod | undefined,
  limitMs: number,
  now: Date,
): CollectionStep {
  const disarm = { [ARGUMENT]: IDLE };
  const found = pod?.status?.initContainerStatuses?.find(({ name }) => name === COLLECT_GARBAGE);
  if (state?.phase !== 'armed') {
    const startedAt = Date.parse(found?.state?.running?.startedAt ?? '');
    // Left behind by a controller that ended in between: a command that prints its help takes no time.
    const isLate = now.getTime() - startedAt >= limitMs;
    return { ...(isArmed && { patch: { data: disarm } }), ...(isLate && { replacesPod: true as const }) };
  }
  const collect = pod?.metadata.uid === state.replaced ? undefined : found;
  const restarts = collect?.restartCount ?? 0;
  const { terminated: last = collect?.lastState?.terminated } = collect?.state ?? {};
  const end = (ending: z.output<typeof Ending>, reason?: string): CollectionStep => {
    const succeededAt = ending === 'succeeded' ? now.toISOString() : state.succeededAt;
    const ended: CollectionState = {
      phase: 'ended',
      since: now.toISOString(),
      ending,
      ...(reason !== undefined && { reason }),
      ...(succeededAt !== undefined && { succeededAt }),
    };
    return { patch: { data: { ...disarm, [STATE]: JSON.stringify(ended) } }, ended };
  };
  const isDone = collect?.state?.terminated?.exitCode === 0;
  // It is disarmed only when the second attempt has begun. A pod that then attempts for the first time is another one, and collects nothing.
  if (isDone && (restarts === MOST_RESTARTS || (restarts < MOST_RESTARTS && isArmed))) return end('succeeded');
  if (isDone || restarts > MOST_RESTARTS) return end('failed', reasonOf(collect?.lastState ?? {}));
  const isLate = now.getTime() - Date.parse(state.since) >= limitMs;
  if (isLate && collect?.state?.running) return { ...end('timedOut'), replacesPod: true };
  if (isLate)
    return end('failed', last ? reasonOf({ terminated: last }) : 'The pod of the registry did not begin to collect.');
  return restarts === MOST_RESTARTS && isArmed ? { patch: { data: disarm } } : {};
}

/** A second attempt often succeeds: the first has removed what it could not read. */
const MOST_RESTARTS = 1;

function reasonOf({ terminated }: ContainerState): string {
  const { exitCode = 1, message = '' } = terminated ?? {};
  return message.trim().slice(0, LONGEST_REASON) || `Exit code ${exitCode}.`;
}

/** When there was the last collection, or since when the platform collects, and after how many days the next is due: soon after a failure. */
export function lastCollection(
  stored: Pick<StoredCollection, 'state' | 'createdAt'> | undefined,
  everyDays: number,
): { readonly at: Date | undefined; readonly everyDays: number } {
  const { state } = stored ?? {};
  if (state === undefined) return { at: stored?.createdAt, everyDays };
  return { at: new Date(state.since), everyDays: state.ending === 'failed' ? 1 : everyDays };
}

/** For the metrics. Times are in seconds since 1970. */
export interface GarbageCollection {
  /** Undefined if there has been none. */
  readonly state?: 'succeeded' | 'running' | 'failing' | 'timed_out';
  readonly succeededAt?: number;
  /** When the next is due. Absent where there will be none. */
  readonly dueAt?: number;
}

const SHOWN = { succeeded: 'succeeded', failed: 'failing', timedOut: 'timed_out' } as const;

/** `everyDays`: undefined where nobody collects, while Davit is paused. */
export function collectionShown(stored: StoredCollection, everyDays: number | undefined): GarbageCollection {
  const { state } = stored;
  const last = lastCollection(stored, everyDays ?? 1);
  return {
    ...(state && { state: state.phase === 'armed' ? ('running' as const) : SHOWN[state.ending ?? 'failed'] }),
    ...(state?.succeededAt !== undefined && { succeededAt: Date.parse(state.succeededAt) / 1000 }),
    ...(everyDays !== undefined &&
      last.at !== undefined && { dueAt: (last.at.getTime() + last.everyDays * DAY_MS) / 1000 }),
  };
}
