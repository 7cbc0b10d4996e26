// How often containers of deployments were started again. A container that exits once an hour is well whenever somebody looks.

import type { Pod } from '../deployments/assess/observed.ts';
import { COMPONENT_LABEL, STORE_PARTS } from '../schema/meta.ts';
import { isPart, isWorker } from '../schema/worker-parts.ts';

/** The restarts between two states of one pod of a part or store; none of one that was not known before. */
export function restartsBetween(before: Pod | undefined, after: Pod): number {
  if (before === undefined || partLabel(after) === undefined) return 0;
  return Math.max(0, restartsOf(after) - restartsOf(before));
}

function restartsOf({ status: { initContainerStatuses: init = [], containerStatuses: main = [] } = {} }: Pod): number {
  return [...init, ...main].reduce((sum, { restartCount = 0 }) => sum + restartCount, 0);
}

/** The part of a pod as a label. Names of workers are the tenants'. */
export function partLabel({ metadata: { labels } }: Pod): string | undefined {
  const component = labels?.[COMPONENT_LABEL];
  if (isWorker(component)) return 'worker';
  return isPart(component) || STORE_PARTS.some((part) => part === component) ? component : undefined;
}
