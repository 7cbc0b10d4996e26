// What a pod uses, as the cluster's metrics say, and what it may use at most. Source: k8s.io/metrics/pkg/apis/metrics/v1, which has the fields of v1beta1.

import type { KubeObject } from '../runtime/kube/client.ts';
import { quantity } from './quantity.ts';

type Quantities = Readonly<Record<string, string | number>>;

/** The used part of PodMetrics of metrics.k8s.io/v1 and v1beta1. */
export interface PodMetrics extends KubeObject {
  readonly containers?: readonly { readonly usage?: Quantities }[];
}

/** CPU in cores, memory in MiB; null where it is not known, or where there is no limit. */
export interface Amounts {
  readonly cpu: number | null;
  readonly memoryMb: number | null;
}

interface Container {
  readonly restartPolicy?: string;
  readonly resources?: { readonly limits?: Quantities; readonly requests?: Quantities };
}
interface PodSpec {
  readonly containers?: readonly Container[];
  readonly initContainers?: readonly Container[];
}

const MEBIBYTE = 2 ** 20;

/** The sum over all containers. */
export function usageOf({ containers = [] }: PodMetrics): Amounts {
  return sumOf(containers.map(({ usage }) => usage));
}

/** The sum over all containers that run as long as the pod. */
export function limitsOf(spec?: PodSpec): Amounts {
  return sumOf(lastingIn(spec).map(({ resources }) => resources?.limits));
}

/** The sum of the requests of a pod's containers. */
export function requestsOf(spec?: PodSpec): Amounts {
  return sumOf(lastingIn(spec).map(({ resources }) => resources?.requests));
}

function lastingIn({ containers = [], initContainers = [] }: PodSpec = {}): readonly Container[] {
  return [...containers, ...initContainers.filter(({ restartPolicy }) => restartPolicy === 'Always')];
}

/** One that has no amount leaves the sum open. */
function sumOf(all: readonly (Quantities | undefined)[]): Amounts {
  const sum = (resource: 'cpu' | 'memory'): number | null => {
    const amounts = all.map((one) => quantity(one?.[resource]));
    if (amounts.length === 0) return null;
    return amounts.reduce<number | null>(
      (total, amount) => (total === null || typeof amount !== 'number' ? null : total + amount),
      0,
    );
  };
  const [cpu, memory] = [sum('cpu'), sum('memory')];
  return {
    cpu: cpu === null ? null : Math.round(cpu * 1000) / 1000,
    memoryMb: memory === null ? null : Math.round(memory / MEBIBYTE),
  };
}

/** `0.012 of 0.5 CPU, 48 of 512 MB`. Empty where nothing is known of what it uses. */
export function usageWords(usage: Amounts, limits: Amounts): string {
  return [amountWords(usage.cpu, limits.cpu, 'CPU'), amountWords(usage.memoryMb, limits.memoryMb, 'MB')]
    .filter((words) => words !== '')
    .join(', ');
}

function amountWords(used: number | null, most: number | null, unit: string): string {
  if (used === null) return '';
  return most === null ? `${used} ${unit}` : `${used} of ${most} ${unit}`;
}
