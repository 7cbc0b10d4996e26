// When base backups begin, and what is believed of a store's report.

import { expect, it } from 'vitest';
import { anObserved, aRecord } from '../../../test/support/builders.ts';
import type { KubeObject } from '../../runtime/kube/client.ts';
import type { ObservedChildren, Pod } from './observed.ts';
import { archiveStatusOf, canMakeBaseBackups } from './wal-archive.ts';

const record = aRecord();
const uid = record.metadata.uid ?? '';

const OWNER = { apiVersion: 'postgresql.cnpg.io/v1', kind: 'Cluster', name: 'shop--postgres', uid: 'c' };
const CLUSTER = {
  ...OWNER,
  metadata: { name: OWNER.name, uid: OWNER.uid, labels: { 'davit.dev/deployment-uid': uid } },
} as KubeObject;

function instance(role: string, container: string, ready: boolean): Pod {
  const labels = { 'cnpg.io/cluster': 'shop--postgres', 'cnpg.io/instanceRole': role };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'shop--postgres-1', labels, ownerReferences: [{ ...OWNER, controller: true }] },
    status: { initContainerStatuses: [{ name: container, ready }] },
  };
}

const SCHEDULE = {
  apiVersion: 'postgresql.cnpg.io/v1',
  kind: 'ScheduledBackup',
  metadata: { name: 'shop--postgres-1', labels: { 'davit.dev/deployment-uid': uid } },
} as KubeObject;

const observing = (pods: readonly Pod[], children: readonly KubeObject[] = []): ObservedChildren =>
  anObserved(record, { pods, children: [...children, CLUSTER] });

it.each([
  ['the primary has the container', [instance('primary', 'plugin-barman-cloud', true)], [], true],
  ['it is not ready', [instance('primary', 'plugin-barman-cloud', false)], [], false],
  ['it has another container', [instance('primary', 'bootstrap-controller', true)], [], false],
  ['a replica alone has it', [instance('replica', 'plugin-barman-cloud', true)], [], false],
  ['there is no instance', [], [], false],
  ['the primary is being replaced, and the schedule is there', [], [SCHEDULE], true],
] as const)('base backups begin when the instances can make them: %s', (_what, pods, children, can) => {
  expect(canMakeBaseBackups(observing(pods, children))).toBe(can);
});

it('takes no time from an ObjectStore that is none, or not of this life', () => {
  const store = (owner: string, at: string): KubeObject =>
    ({
      apiVersion: 'barmancloud.cnpg.io/v1',
      kind: 'ObjectStore',
      metadata: {
        name: `shop---archive-${uid.slice(0, 8)}`,
        labels: { 'davit.dev/deployment-uid': owner },
      },
      status: { serverRecoveryWindow: { 'shop--postgres': { firstRecoverabilityPoint: at } } },
    }) as KubeObject;
  const said = (owner: string, at: string) => archiveStatusOf(observing([], [store(owner, at)]));
  expect(said(uid, '2026-02-01T01:00:00+01:00')).toEqual({ firstRecoverableAt: '2026-02-01T00:00:00Z' });
  expect(said(uid, 'yesterday')).toBeUndefined();
  expect(said('other', '2026-02-01T00:00:00Z')).toBeUndefined();
});
