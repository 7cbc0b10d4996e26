// The state of single records, for the metrics that name them (setting metrics.perDeployment). Their number is bounded: those that
// need somebody come first, and how many are left out is a number too.

import { stalledFrom } from '../../deploy/stalled-since.ts';
import type { AppDeployment } from '../../kinds/app-deployment.ts';
import { type ConditionType, isFailure, REASONS, type Reason } from '../../kinds/app-deployment-conditions.ts';
import { conditionOf } from '../../kinds/conditions.ts';
import { hasFailedLast } from '../../kinds/tasks.ts';
import type { EachRecord } from './metrics.ts';
import { reasonLabel } from './outcomes.ts';
import { degraded, typeLabel, unavailable } from './unavailable.ts';

type Listed = EachRecord['records'][number];

/** Conditions that are of a record's data, and of which an alert tells. Ready may be True beside them. */
const OF_DATA = ['DatabaseReady', 'BackupReady', 'ArchiveReady', 'BackupVerified'] as const satisfies ConditionType[];

/** The reason of BackupReady of a database that has neither backups nor an archive, on some platforms every one. */
export const UNPROTECTED = 'NotConfigured' satisfies Reason;

/** At most `most` records: those that are Stalled, those with another trouble, those without backups, then the others by name. */
export function censusOfEach(records: readonly AppDeployment[], most: number): EachRecord {
  const all = records.map(listed).toSorted((a, b) => urgency(a) - urgency(b) || (placeOf(a) < placeOf(b) ? -1 : 1));
  return { records: all.slice(0, most), omitted: Math.max(0, all.length - most) };
}

function listed(record: AppDeployment): Listed {
  const {
    metadata: { namespace = '', name },
    status,
  } = record;
  const ready = conditionOf(status?.conditions, 'Ready');
  const stalled = conditionOf(status?.conditions, 'Stalled');
  const from = stalledFrom(status);
  return {
    namespace,
    name,
    type: typeLabel(record),
    reason: ready ? reasonLabel(ready.reason, REASONS) : 'NotObserved',
    isReady: ready?.status === 'True',
    troubles: troublesOf(record),
    ...(status?.tasks && { failedTasks: status.tasks.filter(hasFailedLast).length }),
    ...(stalled &&
      from !== undefined && { stalled: { reason: reasonLabel(stalled.reason, REASONS), at: from / 1000 } }),
  };
}

function troublesOf(record: AppDeployment): Listed['troubles'] {
  const down = unavailable(record);
  const lacking = degraded(record);
  return [
    ...(down ? [{ condition: 'Available', ...down }] : []),
    ...(lacking ? [{ condition: 'WorkloadsReady', ...lacking }] : []),
    ...OF_DATA.flatMap((type) => {
      const condition = conditionOf(record.status?.conditions, type);
      // A database may answer, and its password be lost all the same.
      if (condition === undefined || (condition.status !== 'False' && !isFailure(condition.reason))) return [];
      const at = Date.parse(condition.lastTransitionTime) / 1000;
      return [{ condition: type, reason: reasonLabel(condition.reason, REASONS), at }];
    }),
  ];
}

function urgency({ stalled, isReady, troubles }: Listed): number {
  if (stalled) return 0;
  if (!isReady || troubles.some(({ reason }) => reason !== UNPROTECTED)) return 1;
  return troubles.length > 0 ? 2 : 3;
}

function placeOf({ namespace, name }: Listed): string {
  return `${namespace}/${name}`;
}
