// Whether containers of a deployed revision exit again and again. Davit counts the exits of a revision that was never deployed, and gives
// it up. For another one it says the reason, and Kubernetes restarts the containers: also for one that was deployed at a scale of zero, of
// which no pod has run yet.

import type { Pod } from '../deployments/assess/observed.ts';
import { exitsIn } from '../deployments/assess/pod-failures.ts';
import { conditionOf } from '../schema/conditions.ts';
import { COMPONENT_LABEL } from '../schema/meta.ts';
import { isPart } from '../schema/worker-parts.ts';
import type { ShownCondition } from './build-log.ts';
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

/** Whether it is a container of a part, and none of a store, that keeps the record from being ready. */
export function saysCrash(conditions: readonly ShownCondition[] | undefined): boolean {
  const ready = conditionOf(conditions, 'Ready');
  return (
    ready?.status === 'False' &&
    ready.reason === 'ContainerCrashed' &&
    ready.message === conditionOf(conditions, 'WorkloadsReady')?.message
  );
}

/** `pods`: those of all parts. */
export function exitsOfParts(pods: readonly Pod[]): readonly PodExits[] {
  return pods.map((pod) => ({ pod: pod.metadata.uid ?? pod.metadata.name, exits: exitsIn(pod) }));
}

/** The pods of all parts. None for a caller who may not list pods. */
export async function podsOfAllParts(kubectl: Kubectl, name: string): Promise<readonly Pod[]> {
  const pods = (await listOf<Pod>(kubectl, 'pods', name).catch(ignoreFailure)) ?? [];
  return pods.filter(
    ({ metadata }) => isPart(metadata.labels?.[COMPONENT_LABEL]) && metadata.deletionTimestamp === undefined,
  );
}
