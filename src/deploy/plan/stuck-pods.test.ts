import { describe, expect, it } from 'vitest';
import { anObserved, aPod, aRecord, aRevision, aStore } from '../../../test/support/builders.ts';
import type { ContainerState, Pod, Workload } from '../assess/observed.ts';
import { stuckPods } from './stuck-pods.ts';

const record = aRecord();
const revision = aRevision(record);
const DATABASE = aStore('postgres', 0);

function aSet(status: object = {}, metadata: object = {}): Workload {
  return {
    ...DATABASE,
    metadata: { ...DATABASE.metadata, ...metadata },
    status: { observedGeneration: 1, currentRevision: 'good', updateRevision: 'good', ...status },
  };
}

function stuck(states: readonly ContainerState[] = [], metadata: object = {}, ready = false): Pod {
  const pod = aPod('postgres', revision, {
    main: states.map((state) => ({ name: 'postgres', state })),
    conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }],
  });
  const { uid = '' } = DATABASE.metadata;
  return {
    ...pod,
    metadata: {
      ...pod.metadata,
      labels: { ...pod.metadata.labels, 'controller-revision-hash': 'bad' },
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'shop--postgres', uid, controller: true }],
      ...metadata,
    },
  };
}

function withSidecar(pod: Pod): Pod {
  const { containerStatuses = [] } = pod.status ?? {};
  const sidecar = { name: 'istio-proxy', ready: true, state: { running: {} } };
  return {
    ...pod,
    status: {
      ...pod.status,
      initContainerStatuses: [{ ...sidecar, name: 'native-proxy' }],
      containerStatuses: [sidecar, ...containerStatuses],
    },
  };
}

const waiting = (reason: string): ContainerState => ({ waiting: { reason } });

describe('pods that a StatefulSet would keep for ever', () => {
  it.each([
    { reason: 'no node takes it', pod: stuck(), deleted: true },
    { reason: 'its image cannot be pulled', pod: stuck([waiting('ImagePullBackOff')]), deleted: true },
    { reason: 'it crashes over and over', pod: stuck([waiting('CrashLoopBackOff')]), deleted: true },
    { reason: 'its container has just ended', pod: stuck([{ terminated: { exitCode: 1 } }]), deleted: true },
    {
      reason: 'what runs is a sidecar that a webhook has injected',
      pod: withSidecar(stuck([waiting('CrashLoopBackOff')])),
      deleted: true,
    },
    { reason: 'what runs may be a database in recovery', pod: stuck([{ running: {} }]), deleted: false },
    { reason: 'the StatefulSet itself replaces a Ready one', pod: stuck([{ running: {} }], {}, true), deleted: false },
    { reason: 'it is Ready, whatever is said of its containers', pod: stuck([], {}, true), deleted: false },
    { reason: 'it is going already', pod: stuck([], { deletionTimestamp: '2026-01-01T00:00:00Z' }), deleted: false },
    { reason: 'nobody owns it: a copy for debugging', pod: stuck([], { ownerReferences: [] }), deleted: false },
    {
      reason: 'another workload owns it',
      pod: stuck([], {
        ownerReferences: [{ apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'x', uid: 'x', controller: true }],
      }),
      deleted: false,
    },
    { reason: 'it is of the newest template', pod: stuck(), set: { updateRevision: 'bad' }, deleted: false },
    {
      reason: 'the newest template has not been seen yet',
      pod: stuck(),
      set: { observedGeneration: 0 },
      deleted: false,
    },
    {
      reason: 'the StatefulSet is going',
      pod: stuck(),
      meta: { deletionTimestamp: '2026-01-01T00:00:00Z' },
      deleted: false,
    },
    { reason: "the StatefulSet is somebody else's", pod: stuck(), meta: { labels: {} }, deleted: false },
    {
      reason: 'the StatefulSet of a singleton replaces it itself',
      pod: stuck(),
      meta: { labels: { ...DATABASE.metadata.labels, 'davit.dev/component': 'scheduler' } },
      deleted: false,
    },
  ])('$reason: deleted $deleted', ({ pod, set, meta, deleted }) => {
    const observed = anObserved(record, { children: [aSet(set, meta)], pods: [pod] });
    expect(stuckPods(observed, new Set())).toEqual(deleted ? [pod] : []);
  });

  it('waits while the StatefulSet is being applied: the pod would be made again from the old template', () => {
    const pod = stuck();
    const set = aSet();
    const observed = anObserved(record, { children: [set], pods: [pod] });
    expect(stuckPods(observed, new Set([set.metadata.name]))).toEqual([]);
  });
});
