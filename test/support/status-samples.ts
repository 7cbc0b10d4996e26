// Records in every state that a person or a tool may find them in, as the pure core reports them, and what those who wait
// for them are to make of each.

import type { ActionFailure, Observed } from '../../src/deploy/assess/observed.ts';
import { deletingStatus, statusOf } from '../../src/deploy/status.ts';
import type { AppDeployment, AppDeploymentStatus } from '../../src/kinds/app-deployment.ts';
import type { AppRevision } from '../../src/kinds/app-revision.ts';
import { anObserved, aPod, aRecord, aRevision, aStore, assessed, aWorkload } from './builders.ts';

/** `helm --wait`, Flux and kpt: sigs.k8s.io/cli-utils, pkg/kstatus. */
export type KStatus = 'Terminating' | 'InProgress' | 'Failed' | 'Current';

export interface SeenRecord {
  readonly name: string;
  readonly record: AppDeployment;
  readonly kstatus: KStatus;
  /** By the health check of docs/install.md; without one Argo CD decides on its own. */
  readonly argo?: 'Progressing' | 'Degraded' | 'Suspended' | 'Healthy';
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

function said(observed: Observed, of: AppRevision | undefined, refusals: ActionFailure[] = []): AppDeployment {
  const status: AppDeploymentStatus = statusOf(assessed(observed, of, { refusals }), NOW);
  return { ...observed.record, status };
}

function deleting(): AppDeployment {
  const gone = aRecord({}, { deletionTimestamp: '2026-01-01T00:00:00Z' });
  return { ...gone, status: deletingStatus(anObserved(gone), 'its workloads', NOW) };
}

export const SEEN_RECORDS: readonly SeenRecord[] = [
  {
    name: 'not observed yet',
    record: { ...record, status: { observedGeneration: 0 } },
    kstatus: 'InProgress',
    argo: 'Progressing',
  },
  {
    name: 'not looked at yet, read past the API server that fills in a status',
    record,
    kstatus: 'Current',
    argo: 'Progressing',
  },
  {
    name: 'just made',
    record: said(anObserved(record, { revisions: [latest] }), latest),
    kstatus: 'InProgress',
    argo: 'Progressing',
  },
  {
    name: 'waiting for its database',
    record: said(
      anObserved(record, { revisions: [latest], children: [aStore('postgres', 0), aStore('redis')] }),
      latest,
    ),
    kstatus: 'InProgress',
    argo: 'Progressing',
  },
  {
    name: 'rolling',
    record: said(
      anObserved(record, { revisions: [latest], children: [...stores, aWorkload('server', latest, { ready: 0 })] }),
      latest,
    ),
    kstatus: 'InProgress',
    argo: 'Progressing',
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
    kstatus: 'InProgress',
    argo: 'Progressing',
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
    kstatus: 'Failed',
    argo: 'Degraded',
  },
  { name: 'healthy', record: said(healthy, deployed), kstatus: 'Current', argo: 'Healthy' },
  {
    name: 'healthy, with a change that nobody has looked at',
    record: { ...said(healthy, deployed), metadata: { ...record.metadata, generation: 2 } },
    kstatus: 'InProgress',
    argo: 'Progressing',
  },
  {
    name: 'pods that the API server refuses, beside old ones that serve',
    record: said(healthy, deployed, [
      { reason: 'PodsRefused', ref: { kind: 'Deployment', name: 'shop' }, message: 'no' },
    ]),
    kstatus: 'Failed',
    argo: 'Degraded',
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
    kstatus: 'Failed',
    argo: 'Degraded',
  },
  {
    name: 'paused',
    record: said(
      anObserved(aRecord({}, { annotations: { 'davit.dev/paused': 'true' } }), { revisions: [latest] }),
      latest,
    ),
    kstatus: 'Failed',
    argo: 'Suspended',
  },
  {
    name: 'not a tenant',
    record: said(anObserved(record, { tenantId: null }), undefined),
    kstatus: 'Failed',
    argo: 'Degraded',
  },
  { name: 'waiting for a push', record: said(anObserved(record), undefined), kstatus: 'Failed', argo: 'Suspended' },
  {
    name: 'scaled to zero',
    record: said(
      anObserved(zero, {
        revisions: [aRevision(zero)],
        children: [...stores, aWorkload('server', aRevision(zero), { wanted: 0 })],
      }),
      aRevision(zero),
    ),
    kstatus: 'Current',
    argo: 'Healthy',
  },
  {
    name: 'being deleted',
    record: deleting(),
    kstatus: 'Terminating',
  },
];
