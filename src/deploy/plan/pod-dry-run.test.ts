import { describe, expect, it } from 'vitest';
import { anObserved, aRecord, aStore, ownLabels } from '../../../test/support/builders.ts';
import type { KubeObject } from '../../runtime/kube/client.ts';
import type { Workload } from '../assess/observed.ts';
import { NOTHING_PRUNED, plan } from './plan.ts';
import { podRefused, podsToTry, untilStuckMs, withoutRefused } from './pod-dry-run.ts';

const NOW = new Date('2026-01-01T01:00:00Z');
const EARLIER = '2026-01-01T00:00:00Z';
const JUST_NOW = '2026-01-01T00:59:55Z';

function aDeployment(image: string, replicas?: number): KubeObject {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'shop', namespace: 'team', uid: 'u', labels: ownLabels('server') },
    spec: {
      ...(replicas !== undefined && { replicas }),
      template: {
        metadata: { labels: { team: 'blue' }, annotations: { note: 'x' } },
        spec: { containers: [{ name: 'server', image }] },
      },
    },
  } as KubeObject;
}

function aSet(image: string): KubeObject {
  return {
    ...aDeployment(image),
    kind: 'StatefulSet',
    metadata: { name: 'shop--redis', namespace: 'team', labels: ownLabels('redis') },
  };
}

function there(set: KubeObject, createdAt: string, replicas: number): Workload {
  const metadata = { ...set.metadata, generation: 1, creationTimestamp: createdAt };
  return { ...set, metadata, status: { observedGeneration: 1, replicas } };
}

function tried(desired: readonly KubeObject[], children: readonly KubeObject[]): string[] {
  const observed = anObserved(aRecord(), { children });
  return podsToTry(plan(desired, observed), desired, observed, NOW).map(
    ({ pod, replaces }) => `${pod.metadata.name}${replaces ? ' in place of another' : ''}`,
  );
}

describe('podsToTry', () => {
  it.each([
    {
      name: 'nothing is there yet: the store runs nothing of others, and takes nothing away',
      desired: [aDeployment('a'), aSet('a')],
      children: [],
      want: ['shop'],
    },
    { name: 'as it is', desired: [aDeployment('a')], children: [aDeployment('a')], want: [] },
    { name: 'another image', desired: [aDeployment('b')], children: [aDeployment('a')], want: ['shop'] },
    { name: 'another scale alone', desired: [aDeployment('a', 3)], children: [aDeployment('a', 1)], want: [] },
    { name: 'scaled to zero', desired: [aDeployment('b', 0)], children: [aDeployment('a', 1)], want: [] },
    {
      name: 'a set that replaces its pod',
      desired: [aSet('b')],
      children: [there(aSet('a'), EARLIER, 1)],
      want: ['shop--redis in place of another'],
    },
    {
      name: 'a set without a pod for long',
      desired: [aSet('a')],
      children: [there(aSet('a'), EARLIER, 0)],
      want: ['shop--redis'],
    },
    { name: 'a set that was just made', desired: [aSet('a')], children: [there(aSet('a'), JUST_NOW, 0)], want: [] },
    { name: 'a set that runs', desired: [aSet('a')], children: [there(aSet('a'), EARLIER, 1)], want: [] },
    { name: 'other kinds', desired: [{ ...aSet('a'), kind: 'Service' }], children: [], want: [] },
  ])('$name', ({ desired, children, want }) => {
    expect(tried(desired, children)).toEqual(want);
  });

  it.each([
    { name: 'a set that was just made', children: [there(aSet('a'), JUST_NOW, 0)], want: 5001 },
    { name: 'a set without a pod for long', children: [there(aSet('a'), EARLIER, 0)], want: undefined },
    { name: 'a set that runs', children: [there(aSet('a'), JUST_NOW, 1)], want: undefined },
    {
      name: 'a set that nobody has looked at',
      children: [{ ...there(aSet('a'), JUST_NOW, 0), status: {} }],
      want: undefined,
    },
    { name: 'a Deployment', children: [aDeployment('a')], want: undefined },
  ])('comes again in time for $name', ({ children, want }) => {
    expect(untilStuckMs(anObserved(aRecord(), { children }), NOW)).toBe(want);
  });

  it('makes the pod as the controller of the workload would', () => {
    const desired = [aDeployment('a')];
    const observed = anObserved(aRecord());
    expect(podsToTry(plan(desired, observed), desired, observed, NOW)[0]?.pod).toEqual({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'shop', namespace: 'team', labels: { team: 'blue' }, annotations: { note: 'x' } },
      spec: { containers: [{ name: 'server', image: 'a' }] },
    });
  });
});

describe('podRefused', () => {
  const pod = { workload: aSet('a'), pod: aSet('a'), replaces: false };
  it('quotes the API server', () => {
    expect(podRefused(pod, 'pods "shop--redis" is forbidden:\n  no.')).toEqual({
      reason: 'PodsRefused',
      ref: { kind: 'StatefulSet', name: 'shop--redis' },
      message:
        'The API server rejects the pods of StatefulSet shop--redis: pods "shop--redis" is forbidden: no. Running pods are not changed. Correct the cause; the deployment then continues automatically.',
    });
  });
  it('minds no quota that the pod to be replaced still holds', () => {
    const words = 'pods "shop--redis" is forbidden: exceeded quota: small, requested: pods=1';
    expect(podRefused({ ...pod, replaces: true }, words)).toBeUndefined();
    expect(podRefused(pod, words)).toBeDefined();
    expect(podRefused({ ...pod, replaces: true }, 'violates PodSecurity')).toBeDefined();
  });
  it('what was refused is not applied, the rest is', () => {
    const observed = anObserved(aRecord(), { children: [aStore('postgres')] });
    const { actions } = plan([aDeployment('a'), aSet('a')], observed, NOTHING_PRUNED);
    const refusal = podRefused(pod, 'no');
    if (!refusal) throw new Error('It counts.');
    expect(withoutRefused(actions, [refusal]).map(({ object }) => object.kind)).toEqual(['Deployment']);
  });
});
