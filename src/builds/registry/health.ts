// Decides from the pod of the chart's registry how its garbage collection goes, for the metrics.

import type { KubeObject } from '../../lib/kube/client.ts';

const DAY_S = 24 * 3600;

/** Init container that collects garbage before the registry serves. */
const COLLECT_GARBAGE = 'collect-garbage';

/** The used part of the registry's pod. */
export interface RegistryPod extends KubeObject {
  readonly status?: {
    readonly startTime?: string;
    readonly initContainerStatuses?: readonly {
      readonly name: string;
      readonly state?: { readonly terminated?: Ended };
      readonly lastState?: { readonly terminated?: Ended };
    }[];
  };
}

interface Ended {
  readonly exitCode: number;
  readonly finishedAt?: string;
}

/** The collection by the registry's present pod. Times are in seconds since 1970. */
export interface GarbageCollection {
  readonly state: 'succeeded' | 'running' | 'failing';
  readonly succeededAt?: number;
  /** When the pod reaches the age at which it is replaced. Absent where nobody replaces it. */
  readonly dueAt?: number;
}

/** Undefined if the pod collects no garbage. `everyDays`: undefined where nobody replaces the pod. */
export function collectionOf({ status }: RegistryPod, everyDays: number | undefined): GarbageCollection | undefined {
  const collect = status?.initContainerStatuses?.find(({ name }) => name === COLLECT_GARBAGE);
  if (collect === undefined) return undefined;
  const ended = collect.state?.terminated;
  // After a failure the kubelet waits, and then runs it again.
  const { exitCode = 0 } = ended ?? collect.lastState?.terminated ?? {};
  const started = secondsOf(status?.startTime);
  const finished = ended?.exitCode === 0 ? secondsOf(ended.finishedAt) : undefined;
  return {
    state: exitCode !== 0 ? 'failing' : ended ? 'succeeded' : 'running',
    ...(finished !== undefined && { succeededAt: finished }),
    ...(everyDays !== undefined && started !== undefined && { dueAt: started + everyDays * DAY_S }),
  };
}

function secondsOf(time: string | undefined): number | undefined {
  const ms = Date.parse(time ?? '');
  return Number.isFinite(ms) ? ms / 1000 : undefined;
}
