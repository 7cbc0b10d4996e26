// Containers that exited and run again. Between two crashes a container may be ready for seconds: it counts as well only when it has
// shown that it stays. One that never exited counts at once.

import type { ContainerStatus, Pod } from './observed.ts';
import { FORGOTTEN_MS, WAITS } from './pod-failures.ts';

/** The shortest time that a container has to run after an exit. */
const SETTLED_MS = 30_000;

/** The pods, with a mark on their containers that have not run for long enough after an exit. */
export function withUnsettled(pods: readonly Pod[], now: Date): readonly Pod[] {
  const marked = (statuses: readonly ContainerStatus[] = []): readonly ContainerStatus[] =>
    statuses.map((one) => (settlesInMs(one, now) > 0 ? { ...one, unsettled: true } : one));
  return pods.map((pod) => {
    const { initContainerStatuses: init, containerStatuses: main } = pod.status ?? {};
    if (![...(init ?? []), ...(main ?? [])].some((one) => settlesInMs(one, now) > 0)) return pod;
    return { ...pod, status: { ...pod.status, initContainerStatuses: marked(init), containerStatuses: marked(main) } };
  });
}

/** Milliseconds until the next container has settled; undefined if none is on its way there. */
export function untilSettledMs(pods: readonly Pod[], now: Date): number | undefined {
  const waits = pods.flatMap(({ status: { initContainerStatuses: init = [], containerStatuses: main = [] } = {} }) =>
    [...init, ...main].map((one) => settlesInMs(one, now)).filter((ms) => ms > 0),
  );
  return waits.length > 0 ? Math.min(...waits) : undefined;
}

/**
 * One exit alone says nothing of the next. From the second on a container has to run for longer than it did before its last exit, so that one
 * that exits at intervals does not count in between.
 */
function settlesInMs({ name, restartCount = 0, state, lastState }: ContainerStatus, now: Date): number {
  const ended = lastState?.terminated;
  const began = Date.parse(state?.running?.startedAt ?? '');
  if (ended === undefined || Number.isNaN(began) || WAITS.has(name)) return 0;
  const ranMs = Date.parse(ended.finishedAt ?? '') - Date.parse(ended.startedAt ?? '');
  // A program that ends well after a while does so on purpose.
  if (ended.exitCode === 0 && !(ranMs < SETTLED_MS)) return 0;
  const isAgain = restartCount > 1 && ranMs < FORGOTTEN_MS;
  const neededMs = isAgain ? ranMs + SETTLED_MS : SETTLED_MS;
  const runsMs = now.getTime() - began;
  // The clock of a node that is far ahead says nothing.
  return runsMs < -FORGOTTEN_MS ? 0 : Math.max(0, neededMs - Math.max(0, runsMs));
}
