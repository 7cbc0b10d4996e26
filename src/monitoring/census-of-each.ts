// The state of single records, for the metrics that name them (setting metrics.perDeployment). Their number is bounded: those that
// need somebody come first, and how many are left out is a number too.

import { stalledFrom } from '../deployments/stalled-since.ts';
import type { AppDeployment } from '../schema/app-deployment.ts';
import { REASONS } from '../schema/app-deployment-conditions.ts';
import { conditionOf } from '../schema/conditions.ts';
import { hasFailedLast } from '../schema/tasks.ts';
import type { EachRecord } from './metrics.ts';
import { reasonLabel } from './outcomes.ts';

type Listed = EachRecord['records'][number];

/** At most `most` records: those that are Stalled, those that are not Ready, then the others by name. */
export function censusOfEach(records: readonly AppDeployment[], most: number): EachRecord {
  const all = records.map(listed).toSorted((a, b) => urgency(a) - urgency(b) || (placeOf(a) < placeOf(b) ? -1 : 1));
  return { records: all.slice(0, most), omitted: Math.max(0, all.length - most) };
}

function listed({ metadata: { namespace = '', name }, status }: AppDeployment): Listed {
  const ready = conditionOf(status?.conditions, 'Ready');
  const stalled = conditionOf(status?.conditions, 'Stalled');
  const from = stalledFrom(status);
  return {
    namespace,
    name,
    reason: ready ? reasonLabel(ready.reason, REASONS) : 'NotObserved',
    isReady: ready?.status === 'True',
    ...(status?.tasks && { failedTasks: status.tasks.filter(hasFailedLast).length }),
    ...(stalled &&
      from !== undefined && { stalled: { reason: reasonLabel(stalled.reason, REASONS), at: from / 1000 } }),
  };
}

function urgency({ stalled, isReady }: Listed): number {
  if (stalled) return 0;
  return isReady ? 2 : 1;
}

function placeOf({ namespace, name }: Listed): string {
  return `${namespace}/${name}`;
}
