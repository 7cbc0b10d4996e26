import { describe, expect, it } from 'vitest';
import {
  anObserved,
  aRecord,
  aRevision,
  assessed,
  aWorkload,
  ownLabels,
  type WorkloadDetails,
} from '../../../test/support/builders.ts';
import type { AppDeploymentSpec } from '../../kinds/app-deployment.ts';
import type { ResourceSpec } from '../../kinds/resource-spec.ts';
import type { Runtime } from '../../kinds/runtime.ts';
import type { KubeObject } from '../../runtime/kube/client.ts';
import { checkAutoscaling, checkHonored } from './autoscaling.ts';

function autoscaler(role: 'server' | 'queue', active?: { status: string; reason: string }): KubeObject {
  return {
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    metadata: { name: role === 'server' ? 'shop' : 'shop--queue', namespace: 'team', labels: ownLabels(role) },
    status: { conditions: active ? [{ type: 'ScalingActive', message: 'words that change', ...active }] : [] },
  } as KubeObject;
}

const FINE = { status: 'True', reason: 'ValidMetricFound' };

describe('checkAutoscaling', () => {
  it.each([
    { reason: 'no range', spec: {}, there: [], want: ['pass', 'FixedScale'] },
    { reason: 'not there yet', spec: { maxScale: 3 }, there: [], want: ['fail', 'NotObserved'] },
    { reason: 'silent', spec: { maxScale: 3 }, there: [autoscaler('server')], want: ['fail', 'NotObserved'] },
    { reason: 'it works', spec: { maxScale: 3 }, there: [autoscaler('server', FINE)], want: ['pass', 'Autoscaled'] },
    {
      reason: 'one of two knows nothing',
      spec: { maxScale: 3, queueCpu: 1 },
      there: [
        autoscaler('server', FINE),
        autoscaler('queue', { status: 'False', reason: 'FailedGetContainerResourceMetric' }),
      ],
      want: ['fail', 'MetricsMissing'],
    },
  ])('$reason', ({ spec, there, want }) => {
    const record = aRecord({ sourceConfig: { resourceSpec: spec } });
    const entry = checkAutoscaling(anObserved(record, { children: there }), aRevision(record));
    expect([entry.is, entry.reason]).toEqual(want);
    expect(entry.message).not.toContain('words that change');
  });
});

describe('the depth of the queue', () => {
  const record = aRecord({
    sourceConfig: {
      resourceSpec: { queueMinScale: 0, queueMaxScale: 4 },
      runtime: { queueDepth: { query: 'SELECT 1' } },
    },
  });
  const scaled = (ready?: { status: string; reason: string }, hpa?: { status: string; reason: string }): KubeObject =>
    ({
      apiVersion: 'keda.sh/v1alpha1',
      kind: 'ScaledObject',
      metadata: { name: 'shop--queue', namespace: 'team', labels: ownLabels('queue') },
      status: {
        conditions: [
          ...(ready ? [{ type: 'Ready', message: 'words that change', ...ready }] : []),
          ...(hpa ? [{ type: 'HPAActive', message: 'words that change', ...hpa }] : []),
        ],
      },
    }) as KubeObject;
  it.each([
    {
      reason: 'without KEDA CPU and memory decide',
      keda: false,
      there: [autoscaler('queue', FINE)],
      want: ['fail', 'KedaMissing', 'MinimumIsOne'],
    },
    {
      reason: 'without metrics, too, KEDA is still what is missing',
      keda: false,
      there: [autoscaler('queue', { status: 'False', reason: 'FailedGetContainerResourceMetric' })],
      want: ['fail', 'KedaMissing', 'MinimumIsOne'],
    },
    { reason: 'KEDA is silent', keda: true, there: [], want: ['fail', 'NotObserved', 'AsAsked'] },
    {
      reason: 'KEDA follows',
      keda: true,
      there: [scaled({ status: 'True', reason: 'ScaledObjectReady' })],
      want: ['pass', 'FollowsQueue', 'AsAsked'],
    },
    {
      reason: 'KEDA cannot query',
      keda: true,
      there: [scaled({ status: 'False', reason: 'TriggerError' })],
      want: ['fail', 'QueueDepthUnknown', 'AsAsked'],
    },
    {
      reason: 'KEDA follows, and its autoscaler rests because there are no pods',
      keda: true,
      there: [scaled({ status: 'True', reason: 'ScaledObjectReady' }, { status: 'True', reason: 'ScalingDisabled' })],
      want: ['pass', 'FollowsQueue', 'AsAsked'],
    },
    {
      reason: 'KEDA starts the first pod, and its autoscaler gets no number for more',
      keda: true,
      there: [
        scaled({ status: 'True', reason: 'ScaledObjectReady' }, { status: 'False', reason: 'FailedGetExternalMetric' }),
      ],
      want: ['fail', 'QueueDepthUnknown', 'AsAsked'],
    },
  ])('$reason', ({ keda, there, want }) => {
    const observed = { ...anObserved(record, { children: there }), keda };
    const entry = checkAutoscaling(observed, aRevision(record));
    expect([entry.is, entry.reason, checkHonored(observed, aRevision(record)).reason]).toEqual(want);
    expect(entry.message).not.toContain('words that change');
  });
});

describe('checkHonored', () => {
  const external = { name: 'POSTGRES_URI_CUSTOM', secretName: 'outside', secretKey: 'uri' };
  it('sizes of stores that the record does without are said, and those of an external one first', () => {
    const spec = { dbCpu: 1, redisCpu: 1, dbStorageGi: 5 };
    const of = (runtime: Runtime, more: object = {}): string[] => {
      const record = aRecord({ sourceConfig: { resourceSpec: spec, runtime }, ...more });
      const { reason, message } = checkHonored(anObserved(record), aRevision(record));
      return [reason, message];
    };
    expect(of({ database: 'none', redis: 'none' })).toEqual([
      'StoreNotNeeded',
      'runtime of shop has database: none, redis: none, so these fields have no effect: dbCpu, dbStorageGi, redisCpu.',
    ]);
    const [reason, message] = of({ redis: 'none' }, { secretReferences: [external] });
    expect([reason, message]).toEqual(['StoreIsExternal', expect.stringMatching(/: dbCpu, dbStorageGi\.$/)]);
  });

  it.each<{ reason: string; spec: ResourceSpec; more?: Partial<AppDeploymentSpec>; want: string; says: string }>([
    { reason: 'nothing special', spec: { maxScale: 3, dbCpu: 2 }, want: 'AsAsked', says: 'Every field' },
    { reason: 'a minimum of 0', spec: { minScale: 0, maxScale: 3 }, want: 'MinimumIsOne', says: '(server)' },
    { reason: 'zero is zero', spec: { minScale: 0, maxScale: 0 }, want: 'AsAsked', says: 'Every field' },
    {
      reason: 'sizes of an external database',
      spec: { dbCpu: 2, dbStorageGi: 20, redisCpu: 1 },
      more: { secretReferences: [external] },
      want: 'StoreIsExternal',
      says: 'dbCpu, dbStorageGi.',
    },
  ])('$reason', ({ spec, more, want, says }) => {
    const record = aRecord({ sourceConfig: { resourceSpec: spec }, ...more });
    const entry = checkHonored(anObserved(record), aRevision(record));
    expect(entry).toMatchObject({ reason: want, message: expect.stringContaining(says) as string });
  });
});

describe('a role with a range of 2 to 6', () => {
  const record = aRecord({ sourceConfig: { resourceSpec: { minScale: 2, maxScale: 6 } } });
  it.each<{ reason: string; first: boolean; seen: WorkloadDetails; want: string }>([
    { reason: 'all there are run it', first: true, seen: { wanted: 2 }, want: 'pass' },
    { reason: 'the first time all must be ready', first: true, seen: { wanted: 4, total: 4, ready: 2 }, want: 'fail' },
    {
      reason: 'more pods are started: no rollout',
      first: false,
      seen: { wanted: 5, total: 5, ready: 2 },
      want: 'pass',
    },
    {
      reason: 'more are asked for than there are',
      first: false,
      seen: { wanted: 6, total: 3, updated: 3, ready: 3 },
      want: 'pass',
    },
    { reason: 'fewer than the minimum', first: false, seen: { wanted: 2, ready: 1 }, want: 'fail' },
    { reason: 'old pods still run', first: false, seen: { wanted: 3, total: 4, updated: 3, ready: 4 }, want: 'fail' },
  ])('$reason', ({ first, seen, want }) => {
    const revision = aRevision(record, first ? 'DEPLOYING' : 'DEPLOYED');
    const children = [aWorkload('server', revision, seen)];
    expect(assessed(anObserved(record, { children }), revision).assessment.workloads.is).toBe(want);
  });
});
