import { expect, it } from 'vitest';
import { aRecord, aRevision } from '../../../test/support/builders.ts';
import type { AppDeployment, AppDeploymentStatus } from '../../kinds/app-deployment.ts';
import type { AppRevision } from '../../kinds/app-revision.ts';
import type { BuildStatus } from '../../kinds/build.ts';
import type { TaskRun, TaskStatus } from '../../kinds/tasks.ts';
import type { KubeObject } from '../../runtime/kube/client.ts';
import { censusOf } from './census.ts';

const at = (minute: number): string => `2026-01-01T00:0${minute}:00Z`;
const seconds = (minute: number): number => Date.parse(at(minute)) / 1000;

function record(state: AppDeploymentStatus['state'], ready: string, stalled: string, minute = 0): AppDeployment {
  const condition = (type: string, text: string): object => {
    const [status, reason] = text.split(' ');
    return { type, status, reason, message: '', lastTransitionTime: at(minute) };
  };
  const conditions = [condition('Ready', ready), condition('Stalled', stalled)];
  return aRecord({}, { status: { state, conditions } as AppDeploymentStatus });
}
function building(build: BuildStatus): AppRevision {
  return { ...aRevision(aRecord()), status: { build } };
}

it('counts records by state, conditions and reason', () => {
  const { deployments } = censusOf(
    [
      record('READY', 'True Serving', 'False Settled'),
      record('READY', 'True Serving', 'False Settled'),
      record('READY', 'False PodsRefused', 'True PodsRefused'),
      aRecord(),
    ],
    [],
  );
  expect(deployments).toEqual([
    { state: 'READY', ready: 'True', stalled: 'False', reason: 'Serving', count: 2 },
    { state: 'READY', ready: 'False', stalled: 'True', reason: 'PodsRefused', count: 1 },
    { state: 'UNKNOWN', ready: 'Unknown', stalled: 'Unknown', reason: 'NotObserved', count: 1 },
  ]);
});

it('counts tasks by how their last run ended', () => {
  const runs = (...states: TaskRun['state'][]): TaskStatus => ({
    name: 'clean',
    state: 'Scheduled',
    runs: states.map((state, at) => ({ job: `j${at}`, state })),
  });
  const tasks = [runs(), runs('Running', 'Failed'), runs('Succeeded', 'Failed'), runs('Running')];
  expect(censusOf([aRecord({}, { status: { tasks } }), aRecord()], []).tasks).toEqual([
    { result: 'none', count: 2 },
    { result: 'failed', count: 1 },
    { result: 'succeeded', count: 1 },
  ]);
  const { each } = censusOf([aRecord({}, { status: { tasks } }), aRecord()], [], 5);
  expect(each?.records.map(({ failedTasks }) => failedTasks)).toEqual([1, undefined]);
});

it('says of each reason since when the oldest is stalled', () => {
  const { stalledSince } = censusOf(
    [
      record('READY', 'False PodsRefused', 'True PodsRefused', 5),
      record('READY', 'False PodsRefused', 'True PodsRefused', 2),
      record('READY', 'False VolumeLost', 'True VolumeLost', 7),
      record('READY', 'True Serving', 'False Settled', 1),
    ],
    [],
  );
  expect(stalledSince).toEqual([
    { type: 'none', reason: 'PodsRefused', at: seconds(2) },
    { type: 'none', reason: 'VolumeLost', at: seconds(7) },
  ]);
});

it('takes the time of the reason, not that of the first reason for which the record was stalled', () => {
  const paused = record('READY', 'False Paused', 'True Paused', 1);
  const since = { ...paused, status: { ...paused.status, stalledReasonSince: at(8) } as AppDeploymentStatus };
  expect(censusOf([since], []).stalledSince).toEqual([{ type: 'none', reason: 'Paused', at: seconds(8) }]);
});

it.each(['Paused', 'NotATenant', 'ContractUnknown', 'VolumeMissing'])(
  'counts data at risk by DatabaseReady where Ready says %s',
  (reason) => {
    const stalled = record('READY', `False ${reason}`, `True ${reason}`);
    const database = { type: 'DatabaseReady', status: 'False', reason: 'VolumeMissing', message: '' };
    const conditions = [...(stalled.status?.conditions ?? []), { ...database, lastTransitionTime: at(1) }];
    const atRisk = { ...stalled, status: { ...stalled.status, conditions } as AppDeploymentStatus };
    expect(censusOf([stalled, atRisk], []).dataAtRisk).toEqual([{ reason: 'VolumeMissing', count: 1 }]);
  },
);

it('counts datastores by their versions, and by whether a patch would bring another image', () => {
  const having = (datastores: AppDeploymentStatus['datastores']): AppDeployment =>
    aRecord({}, { status: { ...(datastores && { datastores }) } });
  const [old, patched] = [
    { image: 'postgres:17.5', version: '17.5', available: 'postgres:17.6' },
    { image: 'postgres:17.6', version: '17.6' },
  ];
  const records = [
    having({ postgres: old, redis: { image: 'valkey:8' } }),
    having({ postgres: old }),
    having({ postgres: patched }),
    aRecord(),
  ];
  expect(censusOf(records, []).datastores).toEqual([
    { datastore: 'postgres', version: '17.5', behind: 'true', count: 2 },
    { datastore: 'redis', version: 'unknown', behind: 'false', count: 1 },
    { datastore: 'postgres', version: '17.6', behind: 'false', count: 1 },
  ]);
});

it('counts the records that ask for backups, and says of when the oldest last backup is', () => {
  const backedUp = (reason: string, lastSuccessAt?: string): AppDeployment => {
    const condition = { type: 'BackupReady', status: 'True', reason, message: '', lastTransitionTime: at(0) };
    const status = { conditions: [condition], ...(lastSuccessAt && { databaseBackup: { lastSuccessAt } }) };
    return aRecord({}, { status: status as AppDeploymentStatus });
  };
  const records = [backedUp('BackedUp', at(4)), backedUp('BackedUp', at(3)), backedUp('BackupPending'), aRecord()];
  expect(censusOf(records, [])).toMatchObject({
    backups: [
      { reason: 'BackedUp', count: 2 },
      { reason: 'BackupPending', count: 1 },
    ],
    oldestBackup: seconds(3),
  });
  expect(censusOf([aRecord()], []).oldestBackup).toBeUndefined();
});

it('counts the databases that nothing protects, and not among those that ask for backups', () => {
  const [bare, backedUp] = ['NotConfigured', 'BackedUp'].map((reason) => {
    const condition = { type: 'BackupReady', status: 'False', reason, message: '', lastTransitionTime: at(0) };
    return aRecord({}, { status: { conditions: [condition] } as AppDeploymentStatus });
  }) as [AppDeployment, AppDeployment];
  expect(censusOf([bare, bare, backedUp, aRecord()], [])).toMatchObject({
    unprotected: 2,
    backups: [{ reason: 'BackedUp', count: 1 }],
  });
  expect(censusOf([], []).unprotected).toBe(0);
});

it('counts the databases of records that are gone, with their sizes', () => {
  const claim = (uid: string, storage: string): KubeObject =>
    ({
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: {
        name: 'shop--postgres',
        namespace: 'team',
        labels: {
          'davit.dev/deployment': 'shop',
          'davit.dev/component': 'postgres',
          'davit.dev/deployment-uid': uid,
        },
      },
      spec: { resources: { requests: { storage } } },
    }) as KubeObject;
  const holders = [claim('gone', '2Gi'), claim('gone too', '1Gi'), claim(aRecord().metadata.uid ?? '', '4Gi')];
  expect(censusOf([aRecord()], [], undefined, holders).retained).toEqual({ count: 2, bytes: 3 * 2 ** 30 });
});

it('counts records by the reason of DatabaseReady, whatever Ready says', () => {
  const known = (status: string, reason: string): AppDeployment => {
    const condition = { type: 'DatabaseReady', status, reason, message: '', lastTransitionTime: at(0) };
    return aRecord({}, { status: { conditions: [condition] } as AppDeploymentStatus });
  };
  const records = [
    known('True', 'InstancesMissing'),
    known('False', 'NotAnswering'),
    known('False', 'NotAnswering'),
    aRecord(),
  ];
  expect(censusOf(records, []).databases).toEqual([
    { reason: 'InstancesMissing', count: 1 },
    { reason: 'NotAnswering', count: 2 },
  ]);
});

it('does the same for verifications', () => {
  const verified = (reason: string, verifiedAt?: string): AppDeployment => {
    const condition = { type: 'BackupVerified', status: 'True', reason, message: '', lastTransitionTime: at(0) };
    const status = { conditions: [condition], ...(verifiedAt && { databaseVerification: { verifiedAt } }) };
    return aRecord({}, { status: status as AppDeploymentStatus });
  };
  const records = [
    verified('Verified', at(4)),
    verified('VerificationFailing', at(3)),
    verified('VerificationPending'),
    aRecord(),
  ];
  expect(censusOf(records, [])).toMatchObject({
    verifications: [
      { reason: 'Verified', count: 1 },
      { reason: 'VerificationFailing', count: 1 },
      { reason: 'VerificationPending', count: 1 },
    ],
    oldestVerification: seconds(3),
  });
  expect(censusOf([aRecord()], []).oldestVerification).toBeUndefined();
});

it('counts builds that have not ended, and says since when the oldest waits', () => {
  const revisions = [
    building({ phase: 'Queued', queuedAt: at(4) }),
    building({ phase: 'Queued', queuedAt: at(3) }),
    building({ phase: 'Building', queuedAt: at(1) }),
    building({ phase: 'Built', queuedAt: at(0) }),
    aRevision(aRecord()),
  ];
  expect(censusOf([], revisions)).toEqual({
    deployments: [],
    dataAtRisk: [],
    datastores: [],
    databases: [],
    backups: [],
    unprotected: 0,
    retained: { count: 0, bytes: 0 },
    archives: [],
    verifications: [],
    unavailableSince: [],
    degradedSince: [],
    stalledSince: [],
    tenants: [
      { ready: 'True', count: 0 },
      { ready: 'False', count: 0 },
    ],
    tasks: [],
    builds: [
      { phase: 'Queued', count: 2 },
      { phase: 'Building', count: 1 },
    ],
    queuedSince: seconds(3),
  });
  expect(censusOf([], []).queuedSince).toBeUndefined();
});

it('has as many groups as the tables have entries, whatever the statuses say', () => {
  const records = Array.from({ length: 500 }, (_, i) => record('READY', `False Made${i}`, `True Made${i}`));
  const { deployments, stalledSince } = censusOf(records, []);
  expect(deployments).toEqual([{ state: 'READY', ready: 'False', stalled: 'True', reason: 'Other', count: 500 }]);
  expect(stalledSince).toEqual([{ type: 'none', reason: 'Other', at: seconds(0) }]);
});

it('dates what was deployed and does not serve, by the reason of Available', () => {
  const seen = (status: 'True' | 'False', reason: string, at: string, more: object = {}): AppDeployment => {
    const available = { type: 'Available', status, reason, message: '', lastTransitionTime: `2026-01-01T00:${at}:00Z` };
    const deployed = { state: 'UNKNOWN', activeRevisionId: 'a', conditions: [available], ...more };
    return aRecord({}, { status: deployed as AppDeployment['status'] & object });
  };
  const records = [
    seen('True', 'Serving', '00'),
    seen('False', 'ContainerCrashed', '05'),
    seen('False', 'ContainerCrashed', '03'),
    seen('False', 'NotAnswering', '04', { state: 'AWAITING_DATABASE' }),
    // Never deployed, at zero, being deleted and stopped by a person.
    seen('False', 'ContainerCrashed', '01', { activeRevisionId: undefined }),
    seen('False', 'ScaledToZero', '01', { state: 'UNUSED' }),
    seen('False', 'Deleting', '01', { state: 'AWAITING_DELETE' }),
    seen('False', 'Paused', '01'),
  ];
  const minute = Date.parse('2026-01-01T00:00:00Z') / 1000;
  expect(censusOf(records, []).unavailableSince).toEqual([
    { type: 'none', reason: 'ContainerCrashed', at: minute + 180 },
    { type: 'none', reason: 'NotAnswering', at: minute + 240 },
  ]);
});

it('dates what serves and lacks pods, outside of builds and unless it is Stalled, by deployment_type', () => {
  const seen = (
    reason: string,
    more: { readonly stalled?: 'True'; readonly available?: 'False' } = {},
  ): AppDeployment => {
    const common = { message: '', lastTransitionTime: '2026-01-01T00:02:00Z' };
    const conditions = [
      { type: 'Available', status: more.available ?? 'True', reason: 'Serving', ...common },
      { type: 'Stalled', status: more.stalled ?? 'False', reason: 'Settled', ...common },
      { type: 'WorkloadsReady', status: 'False', reason, ...common },
    ];
    const status = { state: 'READY', activeRevisionId: 'a', conditions } as AppDeployment['status'] & object;
    return aRecord({ sourceConfig: { deploymentType: 'prod' } }, { status });
  };
  const at = Date.parse('2026-01-01T00:02:00Z') / 1000;
  const since = (record: AppDeployment): unknown => censusOf([record], []).degradedSince;
  expect(since(seen('ContainerCrashed'))).toEqual([{ type: 'prod', reason: 'ContainerCrashed', at }]);
  expect(since(seen('Progressing'))).toEqual([{ type: 'prod', reason: 'Progressing', at }]);
  for (const other of [
    seen('Building'),
    seen('Migrating'),
    seen('ContainerCrashed', { stalled: 'True' }),
    seen('ContainerCrashed', { available: 'False' }),
  ])
    expect(since(other)).toEqual([]);
});

it('counts tenants by whether all of their deployments that are meant to run are Ready', () => {
  const of = (namespace: string, one: AppDeployment): AppDeployment => ({
    ...one,
    metadata: { ...one.metadata, namespace },
  });
  const records = [
    of('a', record('READY', 'True Serving', 'False Settled')),
    of('a', record('READY', 'False ImagePullFailed', 'False Settled')),
    of('a', record('READY', 'True Serving', 'False Settled')),
    of('b', record('READY', 'True Serving', 'False Settled')),
    of('b', record('UNKNOWN', 'False Paused', 'True Paused')),
    of('c', record('UNUSED', 'True ScaledToZero', 'False Settled')),
  ];
  expect(censusOf(records, []).tenants).toEqual([
    { ready: 'True', count: 1 },
    { ready: 'False', count: 1 },
  ]);
});
