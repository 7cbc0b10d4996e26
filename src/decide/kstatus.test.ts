// What `helm --wait`, Argo CD, Flux and kpt make of a record: they read its conditions by the rules of kstatus, of which
// this is a small copy. Source: sigs.k8s.io/cli-utils, pkg/kstatus, "The Conditions".

import { expect, it } from 'vitest';
import { anObserved, aPod, aRecord, aRevision, aStore, aWorkload, SETTINGS } from '../../test/builders.ts';
import type { AppDeployment, AppDeploymentStatus } from '../api/app-deployment.ts';
import type { AppRevision } from '../api/app-revision.ts';
import { conditionOf } from '../api/conditions.ts';
import { checkPolicy, checkReferences } from './health.ts';
import type { Observed, Refusal } from './observed.ts';
import { pausedBy } from './pause.ts';
import { deletingStatus, statusOf } from './status.ts';

type KStatus = 'Terminating' | 'InProgress' | 'Failed' | 'Current';

function kstatus({ metadata, status }: AppDeployment): KStatus {
  if (metadata.deletionTimestamp !== undefined) return 'Terminating';
  if (status?.observedGeneration !== undefined && status.observedGeneration !== metadata.generation)
    return 'InProgress';
  const is = (type: string, value: string): boolean => conditionOf(status?.conditions, type)?.status === value;
  if (is('Reconciling', 'True')) return 'InProgress';
  if (is('Stalled', 'True')) return 'Failed';
  if (is('Ready', 'False') || is('Ready', 'Unknown')) return 'InProgress';
  return 'Current';
}

const NOW = new Date('2026-02-02T02:02:02Z');
const record = aRecord();
const latest = aRevision(record);
const deployed = aRevision(record, 'DEPLOYED');
const stores = [aStore('postgres'), aStore('redis')];
const healthy = anObserved(record, { revisions: [deployed], children: [...stores, aWorkload('server', deployed)] });
const zero = aRecord({ sourceConfig: { resourceSpec: { maxScale: 0 } } });
const overdue = { type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded' };
const pulling = { name: 'server', image: 'a', state: { waiting: { reason: 'ImagePullBackOff' } } };

function said(observed: Observed, of: AppRevision | undefined, refusals: Refusal[] = []): AppDeployment {
  const status: AppDeploymentStatus = statusOf(
    {
      observed,
      latest: of,
      policy: checkPolicy(observed, SETTINGS),
      references: checkReferences(observed),
      address: { is: 'unwanted' },
      refusals,
      paused: pausedBy(observed.record, SETTINGS),
    },
    NOW,
  );
  return { ...observed.record, status };
}

it.each<{ name: string; record: AppDeployment; want: KStatus }>([
  { name: 'just made', record: said(anObserved(record, { revisions: [latest] }), latest), want: 'InProgress' },
  {
    name: 'waiting for its database',
    record: said(
      anObserved(record, { revisions: [latest], children: [aStore('postgres', 0), aStore('redis')] }),
      latest,
    ),
    want: 'InProgress',
  },
  {
    name: 'rolling',
    record: said(
      anObserved(record, { revisions: [latest], children: [...stores, aWorkload('server', latest, { ready: 0 })] }),
      latest,
    ),
    want: 'InProgress',
  },
  {
    name: 'an image that cannot be pulled, so far',
    record: said(
      anObserved(record, {
        revisions: [latest],
        children: [...stores, aWorkload('server', latest, { ready: 0 })],
        pods: [aPod('server', latest, { main: [pulling] })],
      }),
      latest,
    ),
    want: 'InProgress',
  },
  {
    name: 'broken: past its deadline',
    record: said(
      anObserved(record, {
        revisions: [latest],
        children: [...stores, aWorkload('server', latest, { ready: 0, conditions: [overdue] })],
        pods: [aPod('server', latest, { main: [pulling] })],
      }),
      latest,
    ),
    want: 'Failed',
  },
  { name: 'healthy', record: said(healthy, deployed), want: 'Current' },
  {
    name: 'healthy, with a change that nobody has looked at',
    record: { ...said(healthy, deployed), metadata: { ...record.metadata, generation: 2 } },
    want: 'InProgress',
  },
  {
    name: 'pods that the API server refuses, beside old ones that serve',
    record: said(healthy, deployed, [{ reason: 'PodsRefused', object: 'Deployment shop', message: 'no' }]),
    want: 'Failed',
  },
  {
    name: 'a Secret that is missing',
    record: said(
      anObserved(aRecord({ secretReferences: [{ name: 'A', secretName: 'mine', secretKey: 'a' }] }), {
        revisions: [latest],
        secretKeys: { mine: null },
      }),
      latest,
    ),
    want: 'Failed',
  },
  {
    name: 'paused',
    record: said(
      anObserved(aRecord({}, { annotations: { 'davit.dev/paused': 'true' } }), { revisions: [latest] }),
      latest,
    ),
    want: 'Failed',
  },
  { name: 'not a tenant', record: said(anObserved(record, { tenantId: null }), undefined), want: 'Failed' },
  { name: 'waiting for a push', record: said(anObserved(record), undefined), want: 'Failed' },
  {
    name: 'scaled to zero',
    record: said(
      anObserved(zero, {
        revisions: [aRevision(zero)],
        children: [...stores, aWorkload('server', aRevision(zero), { wanted: 0 })],
      }),
      aRevision(zero),
    ),
    want: 'Current',
  },
  {
    name: 'being deleted',
    record: deleting(),
    want: 'Terminating',
  },
])('$name: $want', ({ record: seen, want }) => {
  expect(kstatus(seen)).toBe(want);
});

function deleting(): AppDeployment {
  const gone = aRecord({}, { deletionTimestamp: '2026-01-01T00:00:00Z' });
  return { ...gone, status: deletingStatus(anObserved(gone), 'its workloads', NOW) };
}
