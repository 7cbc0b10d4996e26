// The init container that holds a pod back: which it is, since when, and for which store it waits. Until it has ended no
// container of the application has a log.

import { COMPONENT_LABEL, WAIT_FOR_DATABASE, WAIT_FOR_REDIS } from '../../kinds/meta.ts';
import type { ContainerStatus, Pod } from './observed.ts';
import { isReadyPod, living } from './pod-failures.ts';

/** An attempt to connect takes up to twelve seconds (children/wait-scripts.ts); a store that answers was reached by then. */
const LONG_MS = 20_000;

/** The store of each container that waits, as its pods are labelled. */
const AWAITED: Readonly<Record<string, string>> = { [WAIT_FOR_DATABASE]: 'postgres', [WAIT_FOR_REDIS]: 'redis' };

/** The first init container that has not done its part; undefined of a pod that ends, or whose own containers may run. */
export function heldBy({ metadata, spec, status }: Pod): ContainerStatus | undefined {
  if (metadata.deletionTimestamp !== undefined || status?.phase !== 'Pending') return undefined;
  return status.initContainerStatuses?.find(({ name, state, started }) =>
    isSidecar(name, spec) ? started !== true : state?.terminated?.exitCode !== 0,
  );
}

function isSidecar(container: string, spec: Pod['spec']): boolean {
  return spec?.initContainers?.find(({ name }) => name === container)?.restartPolicy === 'Always';
}

/** Since when (milliseconds) it could have ended: the deployment's own store must be ready before. */
function heldSinceMs(pod: Pod, pods: readonly Pod[]): number | undefined {
  const held = heldBy(pod);
  const began = Date.parse(held?.state?.running?.startedAt ?? '');
  if (!held || Number.isNaN(began)) return undefined;
  const ready = pods
    .filter((one) => one.metadata.labels?.[COMPONENT_LABEL] === AWAITED[held.name] && isReadyPod(one))
    .map(({ status }) => Date.parse(status?.conditions?.find(({ type }) => type === 'Ready')?.lastTransitionTime ?? ''))
    .filter((time) => !Number.isNaN(time));
  return Math.max(began, ...ready);
}

/** The pods of a record, with a mark on those that an init container holds back for long. */
export function withLongHeld(pods: readonly Pod[], now: Date): readonly Pod[] {
  return pods.map((pod) => {
    const since = heldSinceMs(pod, pods);
    return since !== undefined && now.getTime() - since >= LONG_MS ? { ...pod, longHeld: true } : pod;
  });
}

/** Milliseconds until the next pod gets the mark; undefined if none is on its way there. */
export function untilLongHeldMs(pods: readonly Pod[], now: Date): number | undefined {
  const waits = pods.flatMap((pod) => {
    const since = heldSinceMs(pod, pods);
    const left = since === undefined ? 0 : since + LONG_MS - now.getTime();
    return left > 0 ? [left] : [];
  });
  return waits.length > 0 ? Math.min(...waits) : undefined;
}

/** The newest end of an init container of this name that went well in these pods. */
export function lastPass(
  pods: readonly Pod[],
  container: string,
): { readonly pod: Pod; readonly at: string } | undefined {
  const passes = pods.flatMap((pod) => {
    const passed = pod.status?.initContainerStatuses?.find(
      ({ name, state }) => name === container && state?.terminated?.exitCode === 0,
    );
    return passed ? [{ pod, at: passed.state?.terminated?.finishedAt ?? '' }] : [];
  });
  const [newest] = passes.toSorted(
    (a, b) => b.at.localeCompare(a.at) || a.pod.metadata.name.localeCompare(b.pod.metadata.name),
  );
  return newest;
}

/** The first of these pods, by name, that has waited in this container for long, and longer than since the last that got through. */
export function lateAt(pods: readonly Pod[], container: string): Pod | undefined {
  const passed = Date.parse(lastPass(pods, container)?.at ?? '');
  return living(pods).find((pod) => {
    const held = pod.longHeld ? heldBy(pod) : undefined;
    return held?.name === container && !(Date.parse(held.state?.running?.startedAt ?? '') < passed);
  });
}

/** The command that shows the log of the container that holds the pod back. */
export function logsOf({ metadata: { name, namespace } }: Pod, container: string): string {
  return `kubectl logs ${name} -c ${container} -n ${namespace}`;
}

/** Why the containers of the application do not run yet; undefined where one has run, or there is no pod. */
export function heldWords(pods: readonly Pod[]): string | undefined {
  const late = longHeldWords(pods);
  if (late !== undefined) return late;
  const alive = living(pods);
  const [first] = alive;
  if (!first || alive.some(hasStarted)) return undefined;
  const { name, namespace } = first.metadata;
  return `Pod ${name} is starting, and its program is not running yet. If this persists: kubectl describe pod ${name} -n ${namespace}.`;
}

/** Describes pods that an init container has held back for long. Undefined if there are none. */
export function longHeldWords(pods: readonly Pod[]): string | undefined {
  const late = living(pods).find(({ longHeld }) => longHeld);
  const held = late && heldBy(late);
  if (!held) return undefined;
  const awaited = isSidecar(held.name, late.spec)
    ? `sidecar ${held.name} to start`
    : `init container ${held.name} to end`;
  return `Pod ${late.metadata.name} waits for its ${awaited}. ${logsOf(late, held.name)} shows what it is doing.`;
}

/** Whether a container of the application has run, so that it has a log. */
export function hasStarted({ status }: Pod): boolean {
  const statuses = status?.containerStatuses ?? [];
  return statuses.some(({ state, lastState }) =>
    [state?.running, state?.terminated, lastState?.terminated].some(Boolean),
  );
}
