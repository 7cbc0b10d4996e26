// Which containers of a pod have ended although they were to run, or have failed: their logs say why.

import { COMPONENT_LABEL } from '../../kinds/meta.ts';
import { isPart } from '../../kinds/worker-parts.ts';
import type { ContainerStatus, Pod } from './observed.ts';

export interface EndedContainer {
  readonly pod: string;
  readonly component: string;
  readonly container: string;
  readonly exitCode: number;
  readonly reason?: string;
  readonly finishedAt?: string;
  /** Whether the container runs again or waits to: the log is the one before. */
  readonly previous: boolean;
}

/** Init containers first. */
export function endedContainers({ metadata, status }: Pod): EndedContainer[] {
  const component = metadata.labels?.[COMPONENT_LABEL] ?? '';
  const { initContainerStatuses: init = [], containerStatuses: main = [] } = status ?? {};
  return [...init, ...main].flatMap((container) => {
    const ended = failedEnd(container, isPart(component) && main.includes(container));
    if (ended === undefined) return [];
    const { exitCode, reason, finishedAt } = ended;
    return [
      {
        pod: metadata.name,
        component,
        container: container.name,
        exitCode,
        ...(reason !== undefined && { reason }),
        ...(finishedAt !== undefined && { finishedAt }),
        previous: container.state?.terminated === undefined,
      },
    ];
  });
}

/** How it ended last. Undefined if it has not, did what it was to do, or is ready again. `runsOn`: it was to do something all the time. */
function failedEnd(
  { state, lastState, ready }: ContainerStatus,
  runsOn: boolean,
): NonNullable<ContainerStatus['state']>['terminated'] {
  const ended = state?.terminated ?? (state?.running && ready ? undefined : lastState?.terminated);
  const isDone = ended?.exitCode === 0 && !runsOn && state?.waiting?.reason !== 'CrashLoopBackOff';
  return isDone ? undefined : ended;
}
