// Whether containers of a deployed revision exit again and again. Davit counts the exits of a revision that was never deployed, and gives
// it up. For another one it says the reason, and Kubernetes restarts the containers: also for one that was deployed at a scale of zero, of
// which no pod has run yet.

import type { Pod } from '../deployments/assess/observed.ts';
import { exitsIn, startedAgainIn } from '../deployments/assess/pod-failures.ts';
import { conditionOf } from '../schema/conditions.ts';
import { COMPONENT_LABEL } from '../schema/meta.ts';
import { isPart } from '../schema/worker-parts.ts';
import type { ShownCondition } from './build-log.ts';
import type { Clock } from './command.ts';
import { ignoreFailure, type Kubectl } from './kubectl.ts';
import { listOf } from './records.ts';

/** So often a container exits before it counts: the default of settings.pods.maxCrashes, which callers cannot read. */
const MOST_EXITS = 3;

export interface PodExits {
  /** What tells the pod from others, also from an earlier one of its name. */
  readonly pod: string;
  /** Those of its container that has exited most, of containers that do not run well. */
  readonly exits: number;
}

/**
 * Judges one look after the other, from the first that finds a crash. Exits of which the first look knows may be from before a repair: a
 * pod that has them counts when it exits once more.
 */
export function makeCrashCount(): (pods: readonly PodExits[]) => boolean {
  let first: ReadonlyMap<string, number> | undefined;
  return (pods) => {
    first ??= new Map(pods.map(({ pod, exits }) => [pod, exits]));
    const before = first;
    return pods.some(({ pod, exits }) => exits >= MOST_EXITS && exits > (before.get(pod) ?? 0));
  };
}

/** A container that exited with a failure, and runs again. */
export interface StartedAgain {
  /** What tells this start from others. */
  readonly key: string;
  /** As a subject, for people. */
  readonly what: string;
  /** Milliseconds since 1970 by the clock of its node, or a later time; undefined where nobody says it. */
  readonly startedAt: number | undefined;
}

/** So long a container that was started again has to run before it counts, in milliseconds: between two crashes it may be ready. */
const SETTLED_MS = 30_000;

export type Unsettled = (started: readonly StartedAgain[]) => string | undefined;

/**
 * Judges one look after the other: returns for people why a ready deployment does not count yet, if it does not. A container has run since
 * it was started, or at least since the first look at it: the clocks of nodes may be wrong.
 */
export function makeUnsettled({ now }: Pick<Clock, 'now'>): Unsettled {
  const firstSeen = new Map<string, number>();
  return (started) => {
    const fresh = started.find(({ key, startedAt = Number.POSITIVE_INFINITY }) => {
      const seenAt = firstSeen.get(key) ?? now();
      firstSeen.set(key, seenAt);
      return now() - Math.min(seenAt, startedAt) < SETTLED_MS;
    });
    return (
      fresh &&
      `${fresh.what} exited and was started again. If it runs for ${SETTLED_MS / 1000} s, the deployment counts as ready.`
    );
  };
}

/** Whether it is a container of a part, and none of a store, that keeps the record from being ready. */
export function saysCrash(conditions: readonly ShownCondition[] | undefined): boolean {
  const ready = conditionOf(conditions, 'Ready');
  return (
    ready?.status === 'False' &&
    ready.reason === 'ContainerCrashed' &&
    ready.message === conditionOf(conditions, 'WorkloadsReady')?.message
  );
}

/** Asks when it is first called, and has the same answer for all later calls. */
export function askedOnce<T>(ask: () => Promise<T>): () => Promise<T> {
  let answer: Promise<T> | undefined;
  return () => {
    answer ??= ask();
    return answer;
  };
}

/** `pods`: those of all parts. */
export function exitsOfParts(pods: readonly Pod[]): readonly PodExits[] {
  return pods.map((pod) => ({ pod: pod.metadata.uid ?? pod.metadata.name, exits: exitsIn(pod) }));
}

/** The same of what was started again. */
export function startedAgainOfParts(pods: readonly Pod[]): readonly StartedAgain[] {
  return pods.flatMap((pod) =>
    startedAgainIn(pod).map(({ name: container, restartCount, state }) => ({
      key: `${pod.metadata.uid ?? pod.metadata.name}/${container}/${restartCount}`,
      what: `Container ${container} of pod ${pod.metadata.name}`,
      startedAt: state?.running?.startedAt === undefined ? undefined : Date.parse(state.running.startedAt),
    })),
  );
}

/** The pods of all parts. None for a caller who may not list pods. */
export async function podsOfAllParts(kubectl: Kubectl, name: string): Promise<readonly Pod[]> {
  const pods = (await listOf<Pod>(kubectl, 'pods', name).catch(ignoreFailure)) ?? [];
  return pods.filter(
    ({ metadata }) => isPart(metadata.labels?.[COMPONENT_LABEL]) && metadata.deletionTimestamp === undefined,
  );
}
