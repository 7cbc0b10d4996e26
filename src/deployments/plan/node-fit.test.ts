import { describe, expect, it } from 'vitest';
import { anObserved, aRecord, aStore } from '../../../test/support/builders.ts';
import type { KubeObject } from '../../lib/kube/client.ts';
import { type ClusterNode, roomToCheck, withoutRoom } from './node-fit.ts';

function aNode(cpu: string, memory: string, more: object = {}, labels: object = {}): ClusterNode {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'n', labels: labels as Record<string, string> },
    spec: more,
    status: { allocatable: { cpu, memory } },
  };
}

function aSet(cpu: string, memory: string, more: object = {}): KubeObject {
  const store = aStore('postgres');
  const containers = [{ name: 'postgres', resources: { requests: { cpu, memory } } }];
  return { ...store, spec: { replicas: 1, template: { spec: { containers, ...more } } } } as KubeObject;
}

const taint = { key: 'gpu', value: 'yes', effect: 'NoSchedule' };

describe('a node that could take the pod', () => {
  it.each([
    { reason: 'one is large enough', nodes: [aNode('1', '1Gi'), aNode('4', '8Gi')], fits: true },
    { reason: 'none has the CPU', nodes: [aNode('1900m', '8Gi')], fits: false },
    { reason: 'none has the memory', nodes: [aNode('8', '3Gi')], fits: false },
    { reason: 'one has the CPU, another the memory', nodes: [aNode('8', '1Gi'), aNode('1', '8Gi')], fits: false },
    { reason: 'exactly', nodes: [aNode('2', '4Gi')], fits: true },
    { reason: 'it is cordoned', nodes: [aNode('8', '8Gi', { unschedulable: true })], fits: false },
    { reason: 'it is tainted', nodes: [aNode('8', '8Gi', { taints: [taint] })], fits: false },
    {
      reason: 'its taint is tolerated',
      nodes: [aNode('8', '8Gi', { taints: [taint] })],
      pod: { tolerations: [{ key: 'gpu', operator: 'Exists' }] },
      fits: true,
    },
    {
      reason: 'another value is tolerated',
      nodes: [aNode('8', '8Gi', { taints: [taint] })],
      pod: { tolerations: [{ key: 'gpu', value: 'no' }] },
      fits: false,
    },
    {
      reason: 'what its taint says passes',
      nodes: [aNode('8', '8Gi', { taints: [{ key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' }] })],
      fits: true,
    },
    {
      reason: 'no other is preferred to it',
      nodes: [aNode('8', '8Gi', { taints: [{ ...taint, effect: 'PreferNoSchedule' }] })],
      fits: true,
    },
    {
      reason: 'the selector is another',
      nodes: [aNode('8', '8Gi')],
      pod: { nodeSelector: { disk: 'ssd' } },
      fits: false,
    },
    {
      reason: 'the selector is its own',
      nodes: [aNode('8', '8Gi', {}, { disk: 'ssd' })],
      pod: { nodeSelector: { disk: 'ssd' } },
      fits: true,
    },
  ])('$reason: $fits', ({ nodes, pod, fits }) => {
    const refusals = withoutRoom([aSet('2', '4Gi', pod)], nodes);
    expect(refusals.map(({ reason, ref }) => `${reason} ${ref.kind} ${ref.name}`)).toEqual(
      fits ? [] : ['NoNodeFits StatefulSet shop--postgres'],
    );
  });

  it('says what is asked and what there is', () => {
    const [refusal] = withoutRoom([aSet('60', '1Gi')], [aNode('2', '4Gi')]);
    expect(refusal?.message).toContain('requests 60 CPU and 1024 MiB');
    expect(refusal?.message).toContain('have 2 CPU and 4096 MiB');
  });
});

describe('room is checked', () => {
  const before = aSet('100m', '1Gi');
  const withReady = (ready: number): KubeObject =>
    ({ ...before, status: { readyReplicas: ready } }) as unknown as KubeObject;
  it.each([
    { reason: 'a running one asks for more', set: withReady(1), wanted: aSet('60', '1Gi'), checked: true },
    {
      reason: 'it asks for other nodes',
      set: withReady(1),
      wanted: aSet('100m', '1Gi', { nodeSelector: { a: 'b' } }),
      checked: true,
    },
    { reason: 'it asks for the same in other words', set: withReady(1), wanted: aSet('0.1', '1024Mi'), checked: false },
    { reason: 'it does not run: nothing is lost', set: withReady(0), wanted: aSet('60', '1Gi'), checked: false },
  ])('$reason: $checked', ({ set, wanted, checked }) => {
    const observed = anObserved(aRecord(), { children: [set] });
    expect(roomToCheck([{ do: 'apply', object: wanted, observed: set }], observed).length).toBe(checked ? 1 : 0);
  });

  it('not of one that is new: an autoscaler may bring its node', () => {
    const wanted = aSet('60', '1Gi');
    expect(roomToCheck([{ do: 'apply', object: wanted, observed: undefined }], anObserved(aRecord()))).toEqual([]);
  });
});
