import { expect, it } from 'vitest';
import { aPod, aRecord, aRevision } from '../../test/support/builders.ts';
import type { Job } from '../deploy/assess/jobs.ts';
import { dumpOf } from './outcome.ts';

const NOW = new Date('2026-01-01T01:00:00Z');
const job: Job = { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'shop--backup-1', namespace: 'team' } };

it.each([
  ['whose node has just stopped reporting', undefined, 'False', 'NodeNotReady'],
  ['that Kubernetes has deleted from a lost node', '2026-01-01T00:00:00Z', 'False', 'PodStuckTerminating'],
  ['that has not begun to run on it', '2026-01-01T00:00:00Z', 'True', 'PodStuckTerminating'],
  ['that still has time to end', '2026-01-01T00:59:00Z', 'True', 'BackupRunning'],
])('a backup in a pod %s', (_what, deletionTimestamp, ready, reason) => {
  const conditions = [
    { type: 'Ready', status: ready },
    { type: 'ContainersReady', status: 'True' },
  ];
  const pod = aPod('backup', aRevision(aRecord()), { conditions });
  const ownerReferences = pod.metadata.ownerReferences?.map((owner) => ({ ...owner, kind: 'Job' })) ?? [];
  const metadata = { ...pod.metadata, ownerReferences, ...(deletionTimestamp !== undefined && { deletionTimestamp }) };
  const status = { ...pod.status, phase: 'Running' };
  expect(dumpOf(job, [{ ...pod, metadata, spec: { nodeName: 'n1' }, status }], NOW)).toMatchObject({
    is: 'running',
    said: { reason, ...(reason !== 'BackupRunning' && { message: expect.stringContaining('taint nodes n1 ') }) },
  });
});
