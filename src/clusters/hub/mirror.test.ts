import { describe, expect, it } from 'vitest';
import { aRecord, aRevision } from '../../../test/support/builders.ts';
import type { AppDeployment, AppDeploymentStatus } from '../../kinds/app-deployment.ts';
import { conditionOf } from '../../kinds/conditions.ts';
import type { Listener } from '../../kinds/listener.ts';
import type { ListenerWork } from '../../kinds/listener-work.ts';
import { boundedWork } from './caches.ts';
import { type Mirrored, mirroredRevision, mirroredStatus, reportedSnapshot } from './mirror.ts';

const LISTENER = '4f1c1a52-4d52-4b33-9d0c-0b3f7f1f6c11';
const NOW = new Date('2026-01-01T12:00:00Z');
const THEIR_TIME = '2031-05-05T05:05:05Z';

const condition = (type: string, status: 'True' | 'False' | 'Unknown', reason: string): object => ({
  type,
  status,
  reason,
  message: `${type} ${reason}`,
  lastTransitionTime: THEIR_TIME,
});
const SERVING = {
  state: 'READY',
  stateChangedAt: THEIR_TIME,
  observedGeneration: 77,
  image: 'registry.example/app:1',
  replicas: '1/1',
  conditions: [
    condition('Ready', 'True', 'Serving'),
    condition('Available', 'True', 'Serving'),
    condition('Reconciling', 'False', 'Settled'),
    condition('Stalled', 'False', 'Settled'),
    condition('DatabaseReady', 'True', 'Answers'),
  ],
} as unknown as AppDeploymentStatus;

function aListener(isConnected = true, clusterId = 'one'): Listener {
  return {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'Listener',
    metadata: { name: 'edge', namespace: 'team', uid: LISTENER },
    spec: { namespaces: ['shops'] },
    status: {
      clusterId,
      lastSeenAt: '2026-01-01T11:00:00Z',
      conditions: [
        {
          type: 'Connected',
          status: isConnected ? 'True' : 'False',
          reason: isConnected ? 'Reporting' : 'Silent',
          message: 'The cluster does not report.',
          lastTransitionTime: '2026-01-01T00:00:00Z',
        },
      ],
    },
  };
}
function theRecord(status?: AppDeploymentStatus, metadata: object = {}, spec: object = {}): AppDeployment {
  const record = aRecord({
    sourceConfig: { listenerId: LISTENER, listenerConfig: { k8sNamespace: 'shops' }, ...spec },
  });
  return { ...record, metadata: { ...record.metadata, generation: 2, ...metadata }, ...(status && { status }) };
}
function aWork(record: AppDeployment, status?: object, generation = 2): ListenerWork {
  return {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'ListenerWork',
    metadata: { name: record.metadata.uid ?? '', namespace: 'davit-lsn-4f1c1a52' },
    spec: {
      clusterId: 'one',
      hubId: 'hub',
      tenantId: 't',
      name: record.metadata.name,
      namespace: 'shops',
      generation,
      deployment: record.spec,
    },
    ...(status && { status: { clusterId: 'one', epoch: 3, generation, ...status } }),
  };
}
function seen(more: Partial<Mirrored> & { report?: object; status?: AppDeploymentStatus } = {}): Mirrored {
  const { report, status, ...rest } = more;
  const record = rest.record ?? theRecord(status);
  return { record, listener: aListener(), work: aWork(record, report), ...rest };
}
const REPORT = { deployment: SERVING };
/** A record that was mirrored once. */
const BEFORE = mirroredStatus(seen({ report: REPORT }), new Date('2026-01-01T11:00:00Z'));

function told({ state, conditions }: AppDeploymentStatus): string {
  const of = (type: string): string => {
    const found = conditionOf(conditions, type);
    return `${found?.status} ${found?.reason}`;
  };
  return `${state}: ${of('Ready')}, ${of('Available')}, Stalled ${of('Stalled')}, DatabaseReady ${of('DatabaseReady')}`;
}
const ALL_WELL = 'READY: True Serving, True Serving, Stalled False Settled, DatabaseReady True Answers';

describe('mirroredStatus', () => {
  it.each<[string, Mirrored, string]>([
    ['serving', seen({ report: REPORT }), ALL_WELL],
    [
      'nothing reported yet',
      seen(),
      'UNKNOWN: False ListenerPending, False ListenerPending, Stalled False ListenerPending, DatabaseReady undefined undefined',
    ],
    [
      'no work yet',
      seen({ work: undefined }),
      'UNKNOWN: False ListenerPending, False ListenerPending, Stalled False ListenerPending, DatabaseReady undefined undefined',
    ],
    [
      'silent: UNKNOWN at once, the other conditions stay',
      seen({ status: BEFORE, report: REPORT, listener: aListener(false) }),
      'UNKNOWN: Unknown ListenerSilent, Unknown ListenerSilent, Stalled True ListenerSilent, DatabaseReady True Answers',
    ],
    [
      'the change is not applied: what ran still serves, and it is not Ready',
      seen({ record: theRecord(BEFORE, { generation: 3 }), report: REPORT }),
      'READY: False ListenerPending, True Serving, Stalled False ListenerPending, DatabaseReady True Answers',
    ],
    [
      'an older report: the later one stays',
      seen({ status: BEFORE, report: { generation: 1, deployment: { ...SERVING, state: 'UNKNOWN' } } }),
      ALL_WELL,
    ],
    [
      'an older report after silence',
      seen({
        status: mirroredStatus(seen({ status: BEFORE, report: REPORT, listener: aListener(false) }), NOW),
        report: { ...REPORT, generation: 1 },
      }),
      'UNKNOWN: False ListenerPending, False ListenerPending, Stalled False ListenerPending, DatabaseReady True Answers',
    ],
    [
      'rejected: what ran still serves',
      seen({ status: BEFORE, report: { ...REPORT, rejection: { reason: 'ListenerTooOld', message: 'no field x' } } }),
      'READY: False ListenerTooOld, True Serving, Stalled True ListenerTooOld, DatabaseReady True Answers',
    ],
    [
      'rejected by the report on a work that was made again, which has no generation',
      seen({
        status: BEFORE,
        report: { generation: undefined, rejection: { reason: 'HubChanged', message: 'older' } },
      }),
      'READY: False HubChanged, True Serving, Stalled True HubChanged, DatabaseReady True Answers',
    ],
    [
      'rejected, and not there any more',
      seen({
        status: BEFORE,
        report: { ...REPORT, absent: true, rejection: { reason: 'NameConflict', message: 'taken' } },
      }),
      'UNKNOWN: False NameConflict, False NameConflict, Stalled True NameConflict, DatabaseReady undefined undefined',
    ],
    [
      'a report of another cluster',
      seen({ status: BEFORE, report: { clusterId: 'two', deployment: { ...SERVING, state: 'UNUSED' } } }),
      'UNKNOWN: False ListenerPending, False ListenerPending, Stalled False ListenerPending, DatabaseReady True Answers',
    ],
    [
      'a report that this version cannot read',
      seen({ status: BEFORE, report: { deployment: { ...SERVING, state: 'FLYING' } } }),
      'UNKNOWN: False ListenerTooOld, False ListenerTooOld, Stalled True ListenerTooOld, DatabaseReady True Answers',
    ],
    [
      'paused',
      seen({ status: BEFORE, report: REPORT, paused: 'It is paused.' }),
      'READY: False Paused, True Serving, Stalled True Paused, DatabaseReady True Answers',
    ],
    [
      'being deleted',
      seen({ record: theRecord(BEFORE, { deletionTimestamp: '2026-01-01T11:30:00Z' }) }),
      'AWAITING_DELETE: False Deleting, False Deleting, Stalled False Deleting, DatabaseReady True Answers',
    ],
    [
      'being deleted while silent',
      seen({ record: theRecord(BEFORE, { deletionTimestamp: '2026-01-01T11:30:00Z' }), listener: aListener(false) }),
      'AWAITING_DELETE: Unknown ListenerSilent, Unknown ListenerSilent, Stalled True ListenerSilent, DatabaseReady True Answers',
    ],
    [
      'deleted in the cluster by somebody there',
      seen({ status: BEFORE, report: { deployment: { ...SERVING, state: 'AWAITING_DELETE' } } }),
      'UNKNOWN: True Serving, True Serving, Stalled False Settled, DatabaseReady True Answers',
    ],
    [
      'scaled to zero and silent: UNUSED by intention',
      seen({ record: theRecord(undefined, {}, { resourceSpec: { maxScale: 0 } }), listener: aListener(false) }),
      'UNUSED: Unknown ListenerSilent, Unknown ListenerSilent, Stalled True ListenerSilent, DatabaseReady undefined undefined',
    ],
  ])('%s', (_name, inputs, expected) => {
    expect(told(mirroredStatus(inputs, NOW))).toBe(expected);
  });

  it.each([
    ['an earlier epoch', { epoch: 2, generation: 2 }],
    ['an earlier generation of the same epoch', { epoch: 3, generation: 1 }],
    ['a generation that was never handed over', { epoch: 9, generation: 5 }],
  ])('a report of %s changes nothing that was reported later', (_name, age) => {
    const old = { ...age, deployment: { ...SERVING, replicas: '0/1', conditions: [] } };
    const status = mirroredStatus(seen({ status: BEFORE, report: old }), NOW);
    expect([status.replicas, status.remote]).toEqual(['1/1', { epoch: 3, generation: 2 }]);
  });

  it('a later epoch may report an earlier generation: the agent was restored', () => {
    const status = mirroredStatus(seen({ status: BEFORE, report: { ...REPORT, epoch: 4, generation: 1 } }), NOW);
    expect([status.remote, conditionOf(status.conditions, 'Ready')?.reason]).toEqual([
      { epoch: 4, generation: 1 },
      'ListenerPending',
    ]);
  });

  it('has only times and generations of this cluster, and repeats itself', () => {
    expect(JSON.stringify(BEFORE)).not.toContain('2031');
    expect(BEFORE.observedGeneration).toBe(2);
    expect(mirroredStatus(seen({ status: BEFORE, report: REPORT }), NOW)).toEqual(BEFORE);
    const silent = { status: BEFORE, report: REPORT, listener: aListener(false) };
    const first = mirroredStatus(seen(silent), NOW);
    expect(conditionOf(first.conditions, 'DatabaseReady')).toEqual(conditionOf(BEFORE.conditions, 'DatabaseReady'));
    expect(mirroredStatus(seen({ ...silent, status: first }), new Date('2026-02-01T00:00:00Z'))).toEqual(first);
  });

  it('has the tasks of the cluster, also while it is silent', () => {
    const tasks: AppDeploymentStatus['tasks'] = [
      { name: 'clean', state: 'Scheduled', runs: [{ job: 'shop--clean-1', state: 'Failed', startedAt: THEIR_TIME }] },
    ];
    const before = mirroredStatus(seen({ report: { deployment: { ...SERVING, tasks } } }), NOW);
    expect(before.tasks).toEqual(tasks);
    expect(mirroredStatus(seen({ status: before, report: REPORT, listener: aListener(false) }), NOW).tasks).toEqual(
      tasks,
    );
    expect(mirroredStatus(seen({ status: before, report: REPORT }), NOW).tasks).toBeUndefined();
  });

  it('tells how to release a name when the cluster never returns', () => {
    const record = theRecord(BEFORE, { deletionTimestamp: '2026-01-01T11:30:00Z' });
    for (const listener of [aListener(false), aListener(true, 'replacement')])
      expect(conditionOf(mirroredStatus(seen({ record, listener }), NOW).conditions, 'Ready')?.message).toContain(
        `kubectl annotate appd ${record.metadata.name} --overwrite davit.dev/abandon-remote=${record.metadata.uid}`,
      );
  });
});

describe('revisions', () => {
  const record = theRecord();
  const revision = aRevision(record);
  const reported = (more: object = {}): Mirrored =>
    seen({
      record,
      work: aWork(record, {
        revisions: [
          { id: revision.spec.id, state: 'DEPLOYED', resolved: { ...revision.spec.resolved, port: 9000 }, ...more },
        ],
      }),
    });

  it('a snapshot has the values that the cluster resolved, and what the record asked for', () => {
    const snapshot = reportedSnapshot(
      reported({ requested: { secrets: [{ name: 'A', secretName: 's', secretKey: 'k' }] } }),
      revision.spec,
    );
    expect(snapshot).toEqual({ ...revision.spec, resolved: { ...revision.spec.resolved, port: 9000 } });
  });

  it.each([
    ['nothing is reported', seen({ record })],
    ['another revision is', reported({ id: LISTENER })],
    ['its values are unreadable', reported({ resolved: { contract: 'x' } })],
  ])('there is no snapshot while %s', (_name, inputs) => {
    expect(reportedSnapshot(inputs, revision.spec)).toBeUndefined();
  });

  it('the state is dated by this clock, and kept while it is the same', () => {
    const first = mirroredRevision(reported(), revision, NOW);
    expect(first).toMatchObject({ state: 'DEPLOYED', stateChangedAt: '2026-01-01T12:00:00Z' });
    const again = { ...revision, ...(first && { status: first }) };
    expect(mirroredRevision(reported(), again, new Date('2026-02-01T00:00:00Z'))).toEqual(first);
  });
});

describe('a report that fills the memory', () => {
  const record = theRecord();
  const many = (length: number): object => Object.fromEntries(Array.from({ length }, (_, n) => [`k${n}`, n]));

  it.each<[string, object]>([
    ['of the deployment', { deployment: { ...SERVING, resourceSpec: many(100_000) } }],
    ['of revisions', { ...REPORT, revisions: [{ id: 'a', state: 'DEPLOYED', resolved: many(100_000) }] }],
  ])('%s is not kept, and the record says so', (_name, report) => {
    const work = boundedWork(aWork(record, report));
    expect(JSON.stringify(work).length).toBeLessThan(10_000);
    const { conditions } = mirroredStatus(seen({ record, work }), NOW);
    expect(conditionOf(conditions, 'Ready')).toMatchObject({
      status: 'False',
      reason: 'ListenerTooOld',
      message: expect.stringContaining('is too long') as string,
    });
  });

  it('one of an ordinary deployment is kept as it is', () => {
    const work = aWork(record, { ...REPORT, revisions: [{ id: 'a', state: 'DEPLOYED', resolved: many(1000) }] });
    expect(boundedWork(work)).toBe(work);
    const { status: _status, ...unreported } = work;
    expect(boundedWork(unreported)).toBe(unreported);
  });
});
