import { describe, expect, it } from 'vitest';
import { aRecord, SETTINGS, TENANT } from '../../../test/support/builders.ts';
import type { QueueDepth } from '../../kinds/queue-depth.ts';
import type { ResourceSpec } from '../../kinds/resource-spec.ts';
import type { KubeObject } from '../../runtime/kube/client.ts';
import { wantedRevision } from '../record/wanted-revision.ts';
import { makeRevision } from './app-revision.ts';
import { desiredChildren } from './desired.ts';

function childrenOf(resourceSpec: ResourceSpec, queueDepth?: QueueDepth, keda = true): readonly KubeObject[] {
  const record = aRecord({ sourceConfig: { resourceSpec, runtime: { ...(queueDepth && { queueDepth }) } } });
  const wanted = wantedRevision(record, [], SETTINGS);
  if (!('create' in wanted)) throw new Error('no revision');
  const revision = makeRevision(record, wanted.create);
  return desiredChildren({ record, revision, tenantId: TENANT, settings: SETTINGS, keda });
}

function scalersOf(children: readonly KubeObject[]): string[] {
  const kinds = ['HorizontalPodAutoscaler', 'ScaledObject', 'TriggerAuthentication'];
  return children
    .filter(({ kind }) => kinds.includes(kind))
    .map(({ kind, metadata }) => `${kind} ${metadata.name}`)
    .toSorted();
}

const RANGE = { queueMinScale: 0, queueMaxScale: 4 };
const DEPTH = { query: 'SELECT 1' };
const BY_KEDA = ['ScaledObject shop--queue', 'TriggerAuthentication shop--queue'];
const BY_CPU = ['HorizontalPodAutoscaler shop--queue'];

describe('the queue workers follow', () => {
  it.each<{ reason: string; spec: ResourceSpec; depth?: QueueDepth; keda?: boolean; want: string[] }>([
    { reason: 'their queue', spec: RANGE, depth: DEPTH, want: BY_KEDA },
    {
      reason: 'it alone',
      spec: { ...RANGE, maxScale: 3 },
      depth: DEPTH,
      want: ['HorizontalPodAutoscaler shop', ...BY_KEDA],
    },
    { reason: 'it also from 0 to 1', spec: { queueMinScale: 0, queueMaxScale: 1 }, depth: DEPTH, want: BY_KEDA },
    { reason: 'CPU without KEDA', spec: RANGE, depth: DEPTH, keda: false, want: BY_CPU },
    { reason: 'CPU without a query', spec: RANGE, want: BY_CPU },
    {
      reason: 'nothing where their number is fixed',
      spec: { queueMinScale: 2, queueMaxScale: 2 },
      depth: DEPTH,
      want: [],
    },
    { reason: 'nothing where there are none', spec: {}, depth: DEPTH, want: [] },
    { reason: 'nothing where nothing runs', spec: { ...RANGE, maxScale: 0 }, depth: DEPTH, want: [] },
  ])('$reason', ({ spec, depth, keda, want }) => {
    expect(scalersOf(childrenOf(spec, depth, keda))).toEqual(want);
  });
});

it("is asked of the record's own PostgreSQL, and any number above zero counts", () => {
  const children = childrenOf(RANGE, { query: 'SELECT 1', perPod: 3 });
  const specOf = (kind: string): unknown =>
    (children.find((child) => child.kind === kind) as unknown as { spec: unknown }).spec;
  expect(specOf('TriggerAuthentication')).toEqual({
    secretTargetRef: [{ parameter: 'connection', name: 'shop--postgres', key: 'uri' }],
  });
  expect(specOf('ScaledObject')).toMatchObject({
    scaleTargetRef: { kind: 'Deployment', name: 'shop--queue' },
    minReplicaCount: 0,
    maxReplicaCount: 4,
    triggers: [
      {
        type: 'postgresql',
        metadata: { query: 'SELECT 1', targetQueryValue: '3', activationTargetQueryValue: '0' },
        authenticationRef: { name: 'shop--queue' },
      },
    ],
  });
});

it('lets KEDA reach the PostgreSQL that it asks, and nothing else', () => {
  const reachable = (depth: QueueDepth | undefined, keda: boolean): string[] =>
    childrenOf(RANGE, depth, keda)
      .filter((child) => child.kind === 'NetworkPolicy' && JSON.stringify(child).includes('"keda"'))
      .map(({ metadata }) => metadata.name);
  expect(reachable(DEPTH, true)).toEqual(['shop--postgres']);
  expect([...reachable(DEPTH, false), ...reachable(undefined, true)]).toEqual([]);
});

it('starts with no pod where the minimum is 0, and with one without KEDA', () => {
  const replicas = (keda: boolean): unknown =>
    (
      childrenOf(RANGE, DEPTH, keda).find(
        ({ kind, metadata }) => kind === 'Deployment' && metadata.name === 'shop--queue',
      ) as unknown as { spec: { replicas: number } }
    ).spec.replicas;
  expect([replicas(true), replicas(false)]).toEqual([0, 1]);
});
