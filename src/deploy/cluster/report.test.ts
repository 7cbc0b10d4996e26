// Events of a record, by what its condition Ready becomes.

import { expect, it } from 'vitest';
import { aRecord } from '../../../test/support/builders.ts';
import type { AppDeployment, AppDeploymentStatus } from '../../kinds/app-deployment.ts';
import { REASONS, type Reason } from '../../kinds/app-deployment-conditions.ts';
import type { EventToRecord } from '../../runtime/controller/events.ts';
import type { Cluster } from './cluster.ts';
import { reportRecord } from './report.ts';

const NORMAL: readonly Reason[] = [
  'Serving',
  'Progressing',
  'Settled',
  'Deleting',
  'Paused',
  'ScaledToZero',
  'NoTaskFailed',
  'FileUnread',
  'FixedScale',
  'Autoscaled',
  'FollowsQueue',
  'AsAsked',
  'MinimumIsOne',
  'StoreIsExternal',
  'StoreNotNeeded',
  'WaitingForImage',
  'BuildQueued',
  'Building',
  'BuildInterrupted',
  'Migrating',
  'Answering',
  'NotObserved',
  'NotNeeded',
  'Starting',
  'AllResolved',
  'Accepted',
  'Routed',
  'AddressPending',
  'VolumeResizing',
  'Resizing',
  'BackedUp',
  'Verified',
  'VerificationPending',
  'Archived',
  'ArchivePending',
  'VerificationWithoutCounts',
  'BackupPending',
  'NotConfigured',
  'Restored',
  'Restoring',
  'OperationRunning',
  'DatabaseDriverInUse',
];

function statusOf(reason: Reason, stalled = false): AppDeploymentStatus {
  const of = (type: string, isTrue: boolean): object => ({
    type,
    status: isTrue ? 'True' : 'False',
    reason,
    message: `Because of ${reason}.`,
    lastTransitionTime: '2026-01-01T00:00:00Z',
  });
  return { state: 'UNKNOWN', conditions: [of('Ready', false), of('Stalled', stalled)] } as AppDeploymentStatus;
}

async function eventsOf(before: AppDeploymentStatus | undefined, after: AppDeploymentStatus): Promise<string[]> {
  const events = await recorded({ ...aRecord(), ...(before && { status: before }) }, after);
  return events.map(({ type, reason }) => `${type} ${reason}`);
}

async function recorded(record: AppDeployment, after: AppDeploymentStatus): Promise<EventToRecord[]> {
  const events: EventToRecord[] = [];
  const home = {
    client: { apply: async (_resource: unknown, object: unknown) => object },
    registry: { resourceOf: () => undefined },
    caches: { all: [] },
  } as unknown as Cluster;
  await reportRecord(record, after, home, {
    record: (event) => void events.push(event),
    flush: async () => undefined,
  });
  return events;
}

it.each(Object.keys(REASONS) as Reason[])('%s', async (reason) => {
  const isNormal = NORMAL.includes(reason);
  const before = statusOf(reason === 'Serving' ? 'Progressing' : 'Serving');
  expect(await eventsOf(before, statusOf(reason))).toEqual([`${isNormal ? 'Normal' : 'Warning'} ${reason}`]);
  expect(await eventsOf(before, statusOf(reason, true))).toEqual([`Warning ${reason}`]);
  expect(await eventsOf(undefined, statusOf(reason))).toEqual(isNormal ? [] : [`Warning ${reason}`]);
});

it('says once that a database was given up', async () => {
  const healthy = statusOf('Serving');
  const after = { ...healthy, databaseVolumeUid: 'new' };
  const record = { ...aRecord(), status: { ...healthy, databaseVolumeUid: 'old' } };
  record.metadata = { ...record.metadata, annotations: { 'davit.dev/empty-database': 'old' } };
  const events = await recorded(record, after);
  expect(events.map((event) => [event.type, event.reason, event.note])).toEqual([
    [
      'Warning',
      'DatabaseGivenUp',
      'The lost database old was replaced by new, which began empty, as annotation davit.dev/empty-database requested.',
    ],
  ]);
  expect(await recorded({ ...record, status: after }, { ...after, state: 'READY' })).toEqual([]);
});
