import { describe, expect, it } from 'vitest';
import { anObserved, aPod, aRecord, aRevision, aStore, aWorkload, ownLabels } from '../../../test/support/builders.ts';
import { VARIABLES_LABEL } from '../../kinds/meta.ts';
import type { KubeObject } from '../../runtime/kube/client.ts';
import type { Pod } from '../assess/observed.ts';
import { withOverdue } from '../assess/terminating-pods.ts';
import { nextTeardownStep, orphanedChildren, untilHinderedMs } from './teardown.ts';

const NOW = new Date('2026-02-02T02:02:02Z');
const OWN_VALUES = { secrets: [{ name: 'KEY', secretName: 'shop--vars-1', secretKey: 'KEY' }] };
const record = aRecord(OWN_VALUES, { deletionTimestamp: '2026-01-01T00:00:00Z' });
const revision = aRevision(record, 'DEPLOYED');

function child(kind: string, name: string, component: string): KubeObject {
  return {
    apiVersion: 'v1',
    kind,
    metadata: { name, namespace: 'team', uid: `uid-${kind}-${name}`, labels: ownLabels(component) },
  };
}

const claim = child('PersistentVolumeClaim', 'shop--postgres', 'postgres');
const password = child('Secret', 'shop--postgres', 'postgres');
const values: KubeObject = {
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: {
    name: 'shop--vars-1',
    namespace: 'team',
    uid: 'v',
    labels: { 'davit.dev/deployment': 'shop', [VARIABLES_LABEL]: '' },
  },
};

function going(deletionTimestamp: string): Pod {
  const pod = aPod('postgres', revision, {});
  return { ...pod, metadata: { ...pod.metadata, deletionTimestamp }, spec: { nodeName: 'n1' } };
}

describe('nextTeardownStep', () => {
  const everything = [
    aWorkload('server', revision),
    aStore('redis'),
    aStore('postgres'),
    claim,
    password,
    values,
    child('Service', 'shop', 'server'),
  ];
  it.each([
    {
      name: 'the address first, so that nobody is led to what is going',
      children: [...everything, child('Ingress', 'shop', 'server')],
      pods: [],
      want: ['Ingress shop'],
    },
    {
      name: 'then workloads, with their Service',
      children: everything,
      pods: [],
      want: ['Deployment shop', 'Service shop'],
    },
    {
      name: 'pods that still run are waited for',
      children: everything.slice(1, 6),
      pods: [aPod('server', revision, {})],
      want: [],
    },
    { name: 'then Redis', children: everything.slice(1, 6), pods: [], want: ['StatefulSet shop--redis'] },
    { name: 'then PostgreSQL', children: everything.slice(2, 6), pods: [], want: ['StatefulSet shop--postgres'] },
    {
      name: 'its data only when nothing uses it any more',
      children: [claim, password, values],
      pods: [],
      want: ['PersistentVolumeClaim shop--postgres', 'Secret shop--postgres'],
    },
    { name: 'then the values', children: [values], pods: [], want: ['Secret shop--vars-1'] },
    { name: 'then the revisions', children: [], pods: [], want: [`AppRevision ${revision.metadata.name}`] },
  ])('$name', ({ children, pods, want }) => {
    const step = nextTeardownStep(anObserved(record, { children, pods, revisions: [revision] }), NOW);
    expect(step?.remove.map((object) => `${object.kind} ${object.metadata.name}`)).toEqual(want);
  });

  it.each([
    { says: 'Retain', otherwise: 'Delete', isKept: true },
    { says: 'Delete', otherwise: 'Retain', isKept: false },
    { says: undefined, otherwise: 'Retain', isKept: true },
    { says: undefined, otherwise: 'Delete', isKept: false },
    { says: undefined, otherwise: undefined, isKept: true },
  ] as const)('a spec with policy $says, and otherwise $otherwise: kept is $isKept', (row) => {
    const going = aRecord({ databaseDeletionPolicy: row.says }, { deletionTimestamp: '2026-01-01T00:00:00Z' });
    const observed = anObserved(going, { children: [claim, password] });
    const step = nextTeardownStep({ ...observed, ...(row.otherwise && { deletionDefault: row.otherwise }) }, NOW);
    expect(step?.remove).toEqual(row.isKept ? undefined : [claim, password]);
  });

  it('what another record of the name left behind is not touched', () => {
    const foreign = {
      ...claim,
      metadata: { ...claim.metadata, labels: { ...claim.metadata.labels, 'davit.dev/deployment-uid': 'other' } },
    };
    expect(nextTeardownStep(anObserved(record, { children: [foreign] }), NOW)).toBeUndefined();
  });

  it('values that this record never named stay: the next record of the name may have sent them', () => {
    const next = { ...values, metadata: { ...values.metadata, name: 'shop--vars-2' } };
    expect(nextTeardownStep(anObserved(record, { children: [next] }), NOW)).toBeUndefined();
    const old = aRevision(
      aRecord({ secrets: [{ name: 'KEY', secretName: 'shop--vars-2', secretKey: 'KEY' }] }),
      'DEPLOYED',
    );
    const step = nextTeardownStep(anObserved(record, { children: [values, next], revisions: [old] }), NOW);
    expect(step?.remove.map(({ metadata }) => metadata.name)).toEqual(['shop--vars-1', 'shop--vars-2']);
  });

  it('what is going already is waited for, not deleted again', () => {
    const going = {
      ...aStore('redis'),
      metadata: { ...aStore('redis').metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
    };
    expect(nextTeardownStep(anObserved(record, { children: [going] }), NOW)).toEqual({ waitsFor: 'Redis', remove: [] });
  });

  it.each([
    {
      name: 'that ends within its time',
      pods: [aPod('postgres', revision, {})],
      waitsFor: 'PostgreSQL (pod shop-postgres-0)',
      hindrance: undefined,
    },
    {
      name: 'of a dead node',
      pods: [withOverdue([going('2026-02-02T01:00:00Z')], NOW)[0] as Pod],
      waitsFor: 'PostgreSQL (pod shop-postgres-0 on node n1)',
      hindrance: expect.stringMatching(
        /^Pod shop-postgres-0 should have terminated by 2026-02-02T01:00:00Z, but node n1 has not confirmed it.*kubectl taint nodes n1 node.kubernetes.io\/out-of-service=nodeshutdown:NoExecute.*kubectl delete pod shop-postgres-0 -n team --force --grace-period=0/,
      ),
    },
    {
      name: 'that has a long grace period',
      pods: [withOverdue([going('2026-02-02T03:00:00Z')], NOW)[0] as Pod],
      waitsFor: 'PostgreSQL (pod shop-postgres-0 on node n1)',
      hindrance: undefined,
    },
  ])('a pod $name is named', ({ pods, waitsFor, hindrance }) => {
    const step = nextTeardownStep(anObserved(record, { pods, children: [claim] }), NOW);
    expect(step).toEqual({ waitsFor, remove: [], ...(hindrance !== undefined && { hindrance }) });
  });

  it.each([
    ['for an hour', '2026-02-02T01:02:02Z', 'example.com/lb', true],
    ['for a moment', '2026-02-02T02:02:00Z', 'example.com/lb', false],
    ['only while its pods end', '2026-02-02T01:02:02Z', 'foregroundDeletion', false],
  ])('an object that a finalizer holds %s', (_what, deletionTimestamp, finalizer, isNamed) => {
    const ingress = child('Ingress', 'shop', 'server');
    const held = { ...ingress, metadata: { ...ingress.metadata, deletionTimestamp, finalizers: [finalizer] } };
    const observed = anObserved(record, { children: [held] });
    expect(nextTeardownStep(observed, NOW)?.hindrance).toBe(
      isNamed
        ? 'Ingress shop is held by its finalizers (example.com/lb). Check the controllers that own them.'
        : undefined,
    );
    expect(untilHinderedMs(observed, NOW)).toBe(_what === 'for a moment' ? 58_001 : undefined);
  });

  it('a pod that no workload controls is not waited for', () => {
    const copy = aPod('postgres', revision, {});
    const { ownerReferences: _owners, ...metadata } = copy.metadata;
    expect(nextTeardownStep(anObserved(record, { pods: [{ ...copy, metadata }] }), NOW)).toBeUndefined();
  });

  it('the tracing project goes only when asked', () => {
    const project = {
      apiVersion: 'davit.dev/v1alpha1',
      kind: 'TracingProject' as const,
      metadata: { name: 'shop', namespace: 'team', uid: 't' },
    };
    expect(nextTeardownStep({ ...anObserved(record), tracingProject: project }, NOW)).toBeUndefined();
    const asked = aRecord({ tracingProjectDeletionPolicy: 'Delete' }, { deletionTimestamp: '2026-01-01T00:00:00Z' });
    expect(nextTeardownStep({ ...anObserved(asked), tracingProject: project }, NOW)?.remove).toEqual([project]);
  });
});

describe('orphanedChildren, of a record that went without its teardown', () => {
  const service = child('Service', 'shop', 'server');
  const going = { ...service, metadata: { ...service.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } };
  const others = { ...claim, metadata: { ...claim.metadata, labels: { 'davit.dev/deployment-uid': 'other' } } };
  it.each([
    { name: 'all at once', spec: {}, named: [service, claim, password], want: [service, claim, password] },
    { name: 'not the values: the next record of the name may have sent them', spec: {}, named: [values], want: [] },
    { name: 'nothing of another record, nothing that is going', spec: {}, named: [others, going], want: [] },
    {
      name: 'no data that is to be kept',
      spec: { databaseDeletionPolicy: 'Retain' as const },
      named: [service, claim, password],
      want: [service],
    },
  ])('$name', ({ spec, named, want }) => {
    expect(orphanedChildren({ record: aRecord(spec) }, named)).toEqual(want);
  });
});
