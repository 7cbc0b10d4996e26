// Operations on databases, on the in-memory API server.

import { DATASTORE_OPERATIONS, type DatastoreOperation } from '../../../src/kinds/datastore-operation.ts';
import { BACKUP, COMPONENT_LABEL } from '../../../src/kinds/meta.ts';
import { JOBS, PODS } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import type { FakeKube } from '../../support/fake-kube/fake-kube.ts';

let made = 0;

/** An operation on the database of the record `shop`, younger than the one before. */
export function ask(kube: FakeKube, name: string, spec: Partial<DatastoreOperation['spec']> = {}): void {
  made += 1;
  kube.seed(DATASTORE_OPERATIONS, {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'DatastoreOperation',
    metadata: {
      name,
      namespace: 'team',
      uid: `${String(made).padStart(8, '0')}-0000-4000-8000-000000000000`,
      generation: 1,
      creationTimestamp: new Date(Date.parse('2026-02-02T03:00:00Z') + made * 1000).toISOString(),
    },
    spec: { deployment: 'shop', action: 'Backup', ...spec },
  } as DatastoreOperation);
}

export function operationIn(kube: FakeKube, name: string): DatastoreOperation | undefined {
  return kube.objects<DatastoreOperation>(DATASTORE_OPERATIONS).find(({ metadata }) => metadata.name === name);
}

/** `Running BackupRunning`. */
export function state(kube: FakeKube, name: string): string {
  const { phase, conditions } = operationIn(kube, name)?.status ?? {};
  return `${phase} ${conditions?.find(({ type }) => type === 'Complete')?.reason}`;
}

/** Jobs that make backups. */
export const backupJobs = (kube: FakeKube): KubeObject[] =>
  kube.objects(JOBS).filter(({ metadata }) => metadata.labels?.[COMPONENT_LABEL] === BACKUP);

export const SENT = { name: '20260203T020000Z-0123abcd', takenAt: '2026-02-03T02:00:00Z', sizeBytes: 2048 };

/** As the pod of a backup ends: with what the container that sends says, or an exit code. */
export function endBackup(
  kube: FakeKube,
  job: KubeObject | undefined,
  exitCode = 0,
  message = JSON.stringify(SENT),
): void {
  if (!job) throw new Error('there is no Job');
  const { name, uid = '', labels } = job.metadata;
  const how = exitCode === 0 ? 'Complete' : 'Failed';
  kube.seed(PODS, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `${name}-pod`,
      namespace: 'team',
      labels: labels ?? {},
      ownerReferences: [{ apiVersion: 'batch/v1', kind: 'Job', name, uid, controller: true }],
    },
    status: {
      phase: exitCode === 0 ? 'Succeeded' : 'Failed',
      containerStatuses: [
        {
          name: 'davit-upload',
          state: { terminated: { exitCode, reason: 'Error', message, finishedAt: '2026-02-03T02:00:08Z' } },
        },
      ],
    },
  } as KubeObject);
  const conditions = [{ type: how, status: 'True', lastTransitionTime: '2026-02-03T02:00:09Z' }];
  kube.seed(JOBS, { ...job, status: { conditions } } as KubeObject);
}
