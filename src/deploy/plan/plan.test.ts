import { describe, expect, it } from 'vitest';
import { anObserved, aPod, aRecord, aRevision, ownLabels } from '../../../test/support/builders.ts';
import { APPLIED_ANNOTATION } from '../../kinds/meta.ts';
import type { KubeObject } from '../../runtime/kube/client.ts';
import type { ActionFailure } from '../assess/observed.ts';
import { type Action, plan, withoutUnsafe } from './plan.ts';

interface Thing extends KubeObject {
  readonly spec?: object;
}

function thing(
  kind: string,
  spec: object,
  details: { digest?: string; uid?: string; labels?: Record<string, string>; deletionTimestamp?: string } = {},
): Thing {
  const { digest = 'd1', uid, labels = ownLabels('server'), deletionTimestamp } = details;
  return {
    apiVersion: 'v1',
    kind,
    metadata: {
      name: 'shop',
      namespace: 'team',
      labels,
      annotations: { [APPLIED_ANNOTATION]: digest },
      ...(uid !== undefined && { uid }),
      ...(deletionTimestamp !== undefined && { deletionTimestamp }),
    },
    spec,
  };
}

function summary(desired: Thing[], there: Thing[], record = aRecord()): string[] {
  const { actions, refusals } = plan(desired, anObserved(record, { children: there }));
  return [
    ...actions.map((action) => `${action.do} ${action.object.kind} ${action.object.metadata.uid ?? 'new'}`),
    ...refusals.map((refusal) => refusal.reason),
  ];
}

describe('plan', () => {
  it.each([
    {
      name: 'absent',
      reason: 'it is made',
      desired: [thing('Service', { a: 1 })],
      there: [],
      want: ['apply Service new'],
    },
    {
      name: 'as wanted',
      reason: 'steady state writes nothing',
      desired: [thing('Service', { a: 1 })],
      there: [thing('Service', { a: 1, b: 2 }, { uid: 'u' })],
      want: [],
    },
    {
      name: 'changed by a person',
      reason: 'drift is corrected, on this very object',
      desired: [thing('Service', { a: 1 })],
      there: [thing('Service', { a: 2 }, { uid: 'u' })],
      want: ['apply Service u'],
    },
    {
      name: 'a field no longer wanted',
      reason: 'only the digest shows it',
      desired: [thing('Service', { a: 1 })],
      there: [thing('Service', { a: 1, old: 1 }, { uid: 'u', digest: 'd0' })],
      want: ['apply Service u'],
    },
    {
      name: 'stripped of its digest',
      reason: 'nobody knows what was applied',
      desired: [thing('Service', { a: 1 })],
      there: [
        {
          ...thing('Service', { a: 1 }, { uid: 'u' }),
          metadata: { name: 'shop', namespace: 'team', uid: 'u', labels: ownLabels('server') },
        },
      ],
      want: ['apply Service u'],
    },
    {
      name: "somebody else's",
      reason: 'never overwritten',
      desired: [thing('Service', { a: 1 })],
      there: [
        thing(
          'Service',
          { a: 1 },
          { uid: 'u', labels: { 'davit.dev/deployment': 'shop', 'davit.dev/deployment-uid': 'other' } },
        ),
      ],
      want: ['NameConflict'],
    },
    {
      name: 'being deleted',
      reason: 'it is waited for',
      desired: [thing('Service', { a: 1 })],
      there: [thing('Service', { a: 2 }, { uid: 'u', deletionTimestamp: '2026-01-01T00:00:00Z' })],
      want: [],
    },
    {
      name: 'no longer wanted',
      reason: 'it is pruned',
      desired: [],
      there: [thing('Service', {}, { uid: 'u' })],
      want: ['delete Service u'],
    },
    {
      name: 'a volume no longer wanted',
      reason: 'data is never pruned',
      desired: [],
      there: [thing('PersistentVolumeClaim', {}, { uid: 'u' }), thing('Secret', {}, { uid: 's' })],
      want: [],
    },
  ])('$name: $reason', ({ desired, there, want }) => {
    expect(summary(desired, there)).toEqual(want);
  });

  it('a volume never shrinks', () => {
    const claim = (size: string, details: object = {}): Thing =>
      thing('PersistentVolumeClaim', { resources: { requests: { storage: size } } }, details);
    const asking = aRecord({ sourceConfig: { resourceSpec: { dbStorageGi: 5 } } });
    expect(summary([claim('5Gi')], [claim('10Gi', { uid: 'u' })], asking)).toEqual(['StorageCannotShrink']);
    // A default asks for nothing: the volume has grown outside of Davit.
    expect(summary([claim('5Gi')], [claim('10Gi', { uid: 'u' })])).not.toContain('StorageCannotShrink');
    expect(summary([claim('20Gi')], [claim('10Gi', { uid: 'u' })])).toEqual(['apply PersistentVolumeClaim u']);
  });
});

describe('another image and another max_connections of a Cluster', () => {
  const cluster = (image: string, connections: string, primaryUpdateMethod: string, details: object = {}): Thing => {
    const parameters = { max_connections: connections };
    return thing('Cluster', { imageName: image, postgresql: { parameters }, primaryUpdateMethod }, details);
  };
  const there = { uid: 'u', digest: 'd0' };
  it.each([
    [
      'CloudNativePG refuses both at once: parameters first',
      'switchover',
      cluster('17.2', '100', 'switchover', there),
      '17.2',
      undefined,
    ],
    ['then the image', 'switchover', cluster('17.2', '200', 'switchover', there), '17.4', 'd1'],
    ['one becomes several', 'switchover', cluster('17.2', '100', 'restart', there), '17.2', undefined],
    ['one instance takes both', 'restart', cluster('17.2', '100', 'restart', there), '17.4', 'd1'],
  ])('%s', (_reason, method, actual, imageName, digest) => {
    const { actions } = plan([cluster('17.4', '200', method)], anObserved(aRecord(), { children: [actual] }));
    const { metadata, spec }: Thing = actions[0]?.object ?? actual;
    expect(spec).toMatchObject({ imageName, postgresql: { parameters: { max_connections: '200' } } });
    // Without the digest neither apply is a correction of what a person changed.
    expect(metadata.annotations?.[APPLIED_ANNOTATION]).toBe(digest);
  });
});

it('what no record wants any more of a scale goes too', () => {
  const there = [thing('HorizontalPodAutoscaler', {}, { uid: 'a' }), thing('PodDisruptionBudget', {}, { uid: 'b' })];
  expect(summary([], there)).toEqual(['delete HorizontalPodAutoscaler a', 'delete PodDisruptionBudget b']);
});

it('what is wanted as it is there is not sent', () => {
  const held = thing('Deployment', { replicas: 0 }, { uid: 'u', digest: 'of another look' });
  expect(summary([held], [held])).toEqual([]);
});

describe('safely', () => {
  const apply = (kind: string): Action => ({ do: 'apply', object: thing(kind, {}), observed: undefined });
  it('pods are ended by a scale of zero, whatever is refused', () => {
    const zero: Action = { do: 'apply', object: thing('Deployment', { replicas: 0 }), observed: undefined };
    const one: Action = { do: 'apply', object: thing('Deployment', { replicas: 1 }), observed: undefined };
    const set = thing('StatefulSet', { replicas: 0 });
    const labels = { ...set.metadata.labels, 'davit.dev/component': 'scheduler' };
    const singleton: Action = {
      do: 'apply',
      object: { ...set, metadata: { ...set.metadata, labels } },
      observed: undefined,
    };
    const store: Action = { do: 'apply', object: set, observed: undefined };
    const refusals = [refusal('PasswordMissing', 'Secret', 'shop--postgres')];
    expect(withoutUnsafe([zero, one, singleton, store], refusals)).toEqual([zero, singleton]);
  });

  const actions: Action[] = [apply('Service'), apply('StatefulSet'), { do: 'delete', object: thing('Deployment', {}) }];
  const refusal = (reason: ActionFailure['reason'], kind: string, name: string): ActionFailure => ({
    reason,
    ref: { kind, name },
    message: '',
  });

  it.each([
    { name: 'nothing refused', refusals: [], want: ['apply Service', 'apply StatefulSet', 'delete Deployment'] },
    {
      name: 'a volume that stays as large as it is',
      refusals: [refusal('StorageCannotShrink', 'PersistentVolumeClaim', 'shop--postgres')],
      want: ['apply Service', 'apply StatefulSet', 'delete Deployment'],
    },
    {
      name: 'a volume that could not be made',
      refusals: [refusal('ApplyRefused', 'PersistentVolumeClaim', 'shop--postgres')],
      want: ['apply Service', 'apply StatefulSet'],
    },
    {
      name: "somebody else's volume",
      refusals: [refusal('NameConflict', 'PersistentVolumeClaim', 'shop--postgres')],
      want: ['apply Service'],
    },
    {
      name: "somebody else's password",
      refusals: [refusal('NameConflict', 'Secret', 'shop--redis')],
      want: ['apply Service'],
    },
    {
      name: 'a password that could not be made',
      refusals: [refusal('ApplyRefused', 'Secret', 'shop--redis')],
      want: ['apply Service'],
    },
    {
      name: 'a password that was lost',
      refusals: [refusal('PasswordMissing', 'Secret', 'shop--postgres')],
      want: ['apply Service'],
    },
    {
      name: "somebody else's service",
      refusals: [refusal('NameConflict', 'Service', 'shop')],
      want: ['apply Service', 'apply StatefulSet'],
    },
  ])('$name', ({ refusals, want }) => {
    expect(withoutUnsafe(actions, refusals).map((action) => `${action.do} ${action.object.kind}`)).toEqual(want);
  });
});

it('a database is left to the pods that still use it, when the record has switched to an external one', () => {
  const external = { name: 'POSTGRES_URI_CUSTOM', secretName: 'outside', secretKey: 'uri' };
  const before = aRevision(aRecord(), 'DEPLOYED', 1);
  const record = aRecord({ secretReferences: [external], revisionSerial: 2 }, { generation: 2 });
  const after = aRevision(record, undefined, 2);
  const there = [
    thing('StatefulSet', {}, { uid: 's', labels: ownLabels('postgres') }),
    thing('Service', {}, { uid: 'v', labels: ownLabels('postgres') }),
    thing('PersistentVolumeClaim', {}, { uid: 'c', labels: ownLabels('postgres') }),
  ];
  const deleted = (pods: readonly ReturnType<typeof aPod>[]): string[] =>
    plan([], anObserved(record, { children: there, revisions: [after, before], pods })).actions.map(
      ({ object }) => object.kind,
    );
  expect(deleted([aPod('server', before, {}), aPod('server', after, {})])).toEqual([]);
  expect(deleted([aPod('server', after, {})])).toEqual(['StatefulSet', 'Service']);
});

it('a schedule that is not wanted goes at once: no pod uses it', () => {
  const record = aRecord();
  const revision = aRevision(record, 'DEPLOYED', 1);
  const schedule = thing('ScheduledBackup', {}, { uid: 's', labels: ownLabels('postgres') });
  const observed = anObserved(record, {
    children: [schedule],
    revisions: [revision],
    pods: [aPod('server', revision, {})],
  });
  expect(plan([], observed, new Set(['ScheduledBackup'])).actions).toEqual([{ do: 'delete', object: schedule }]);
});
