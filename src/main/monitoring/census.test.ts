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
    [{ state: 'READY', ready: 'True', stalled: 'False', reason: 'Serving' }, 2],
    [{ state: 'READY', ready: 'False', stalled: 'True', reason: 'PodsRefused' }, 1],
    [{ state: 'UNKNOWN', ready: 'Unknown', stalled: 'Unknown', reason: 'NotObserved' }, 1],
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
    [{ result: 'none' }, 2],
    [{ result: 'failed' }, 1],
    [{ result: 'succeeded' }, 1],
  ]);
  const { deployment_failed_tasks: each } = censusOf([aRecord({}, { status: { tasks } }), aRecord()], [], 5);
  expect(each.map(([, value]) => value)).toEqual([1]);
});

it('says of each reason since when the oldest is stalled', () => {
  const { deployments_stalled_oldest_timestamp_seconds: stalledSince } = censusOf(
    [
      record('READY', 'False PodsRefused', 'True PodsRefused', 5),
      record('READY', 'False PodsRefused', 'True PodsRefused', 2),
      record('READY', 'False VolumeLost', 'True VolumeLost', 7),
      record('READY', 'True Serving', 'False Settled', 1),
    ],
    [],
  );
  expect(stalledSince).toEqual([
    [{ deployment_type: 'none', reason: 'PodsRefused' }, seconds(2)],
    [{ deployment_type: 'none', reason: 'VolumeLost' }, seconds(7)],
  ]);
});

it('takes the time of the reason, not that of the first reason for which the record was stalled', () => {
  const paused = record('READY', 'False Paused', 'True Paused', 1);
  const since = { ...paused, status: { ...paused.status, stalledReasonSince: at(8) } as AppDeploymentStatus };
  expect(censusOf([since], []).deployments_stalled_oldest_timestamp_seconds).toEqual([
    [{ deployment_type: 'none', reason: 'Paused' }, seconds(8)],
  ]);
});

it.each(['Paused', 'NotATenant', 'ContractUnknown', 'VolumeMissing'])(
  'counts data at risk by DatabaseReady where Ready says %s',
  (reason) => {
    const stalled = record('READY', `False ${reason}`, `True ${reason}`);
    const database = { type: 'DatabaseReady', status: 'False', reason: 'VolumeMissing', message: '' };
    const conditions = [...(stalled.status?.conditions ?? []), { ...database, lastTransitionTime: at(1) }];
    const atRisk = { ...stalled, status: { ...stalled.status, conditions } as AppDeploymentStatus };
    expect(censusOf([stalled, atRisk], []).databases_at_risk).toEqual([[{ reason: 'VolumeMissing' }, 1]]);
  },
);

it('counts datastores by their versions, and by whether a patch would install another image', () => {
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
  expect(censusOf(records, []).datastore_version_info).toEqual([
    [{ datastore: 'postgres', version: '17.5', behind: 'true' }, 2],
    [{ datastore: 'redis', version: 'unknown', behind: 'false' }, 1],
    [{ datastore: 'postgres', version: '17.6', behind: 'false' }, 1],
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
    database_backups: [
      [{ reason: 'BackedUp' }, 2],
      [{ reason: 'BackupPending' }, 1],
    ],
    database_backups_oldest_timestamp_seconds: [[{}, seconds(3)]],
  });
  expect(censusOf([aRecord()], []).database_backups_oldest_timestamp_seconds).toEqual([]);
});

it('counts the databases that nothing protects, and not among those that ask for backups', () => {
  const [bare, backedUp] = ['NotConfigured', 'BackedUp'].map((reason) => {
    const condition = { type: 'BackupReady', status: 'False', reason, message: '', lastTransitionTime: at(0) };
    return aRecord({}, { status: { conditions: [condition] } as AppDeploymentStatus });
  }) as [AppDeployment, AppDeployment];
  expect(censusOf([bare, bare, backedUp, aRecord()], [])).toMatchObject({
    databases_unprotected: [[{}, 2]],
    database_backups: [[{ reason: 'BackedUp' }, 1]],
  });
  expect(censusOf([], []).databases_unprotected).toEqual([[{}, 0]]);
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
  expect(censusOf([aRecord()], [], undefined, holders)).toMatchObject({
    databases_retained: [[{}, 2]],
    databases_retained_bytes: [[{}, 3 * 2 ** 30]],
  });
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
    [{ reason: 'InstancesMissing' }, 1],
    [{ reason: 'NotAnswering' }, 2],
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
    database_verifications: [
      [{ reason: 'Verified' }, 1],
      [{ reason: 'VerificationFailing' }, 1],
      [{ reason: 'VerificationPending' }, 1],
    ],
    database_verifications_oldest_timestamp_seconds: [[{}, seconds(3)]],
  });
  expect(censusOf([aRecord()], []).database_verifications_oldest_timestamp_seconds).toEqual([]);
});

it('counts builds that have not ended, and says since when the oldest waits', () => {
  const revisions = [
    building({ phase: 'Queued', queuedAt: at(4) }),
    building({ phase: 'Queued', queuedAt: at(3) }),
    building({ phase: 'Building', queuedAt: at(1) }),
    building({ phase: 'Built', queuedAt: at(0) }),
    aRevision(aRecord()),
  ];
  expect(censusOf([], revisions)).toMatchObject({
    builds: [
      [{ phase: 'Queued' }, 2],
      [{ phase: 'Building' }, 1],
    ],
    builds_queued_oldest_timestamp_seconds: [[{}, seconds(3)]],
  });
  expect(censusOf([], []).builds_queued_oldest_timestamp_seconds).toEqual([]);
});

it('has as many groups as the tables have entries, whatever the statuses say', () => {
  const records = Array.from({ length: 500 }, (_, i) => record('READY', `False Made${i}`, `True Made${i}`));
  const { deployments, deployments_stalled_oldest_timestamp_seconds: stalledSince } = censusOf(records, []);
  expect(deployments).toEqual([[{ state: 'READY', ready: 'False', stalled: 'True', reason: 'Other' }, 500]]);
  expect(stalledSince).toEqual([[{ deployment_type: 'none', reason: 'Other' }, seconds(0)]]);
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
  expect(censusOf(records, []).deployments_unavailable_oldest_timestamp_seconds).toEqual([
    [{ deployment_type: 'none', reason: 'ContainerCrashed' }, minute + 180],
    [{ deployment_type: 'none', reason: 'NotAnswering' }, minute + 240],
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
  const since = (record: AppDeployment): unknown =>
    censusOf([record], []).deployments_degraded_oldest_timestamp_seconds;
  expect(since(seen('ContainerCrashed'))).toEqual([[{ deployment_type: 'prod', reason: 'ContainerCrashed' }, at]]);
  expect(since(seen('Progressing'))).toEqual([[{ deployment_type: 'prod', reason: 'Progressing' }, at]]);
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
    [{ ready: 'True' }, 1],
    [{ ready: 'False' }, 1],
  ]);
});

function named(name: string, ready: 'True' | 'False', reason: string, stalled: 'True' | 'False'): AppDeployment {
  const made = record(undefined, `${ready} ${reason}`, `${stalled} ${stalled === 'True' ? reason : 'Settled'}`);
  return { ...made, metadata: { ...made.metadata, name } };
}

const RECORDS = [
  named('a', 'True', 'Serving', 'False'),
  named('b', 'False', 'Progressing', 'False'),
  named('c', 'False', 'PodsRefused', 'True'),
  named('d', 'True', 'Serving', 'False'),
];

it('names each record with its reason, and since when it is stalled', () => {
  const { deployment_ready: ready, ...others } = censusOf(RECORDS, [], 10);
  expect(ready.map(([{ name, reason }, value]) => `${name} ${reason} ${value}`)).toEqual([
    'c PodsRefused 0',
    'b Progressing 0',
    'a Serving 1',
    'd Serving 1',
  ]);
  const c = { namespace: 'team', name: 'c', deployment_type: 'none' };
  expect(others).toMatchObject({
    deployments_omitted: [[{}, 0]],
    deployment_stalled_timestamp_seconds: [[{ ...c, reason: 'PodsRefused' }, seconds(0)]],
  });
});

it('leaves out those that need nobody first, and says how many', () => {
  const { deployment_ready: ready, deployments_omitted: omitted } = censusOf(RECORDS, [], 2);
  expect([ready.map(([{ name }]) => name), omitted]).toEqual([['c', 'b'], [[{}, 2]]]);
});

it('a record without a status is there, and a reason that nobody knows is Other', () => {
  const { deployment_ready: ready } = censusOf([aRecord(), named('x', 'False', 'Invented', 'True')], [], 10);
  expect(ready.map(([{ reason }]) => reason)).toEqual(['Other', 'NotObserved']);
});

it('says since when the data of a record or its service is in trouble, also of one that is Ready', () => {
  const ready = (name: string, conditions: object[], metadata = {}): AppDeployment => {
    const made = named(name, 'True', 'Serving', 'False');
    const all = [...(made.status?.conditions ?? []), ...conditions] as AppDeploymentStatus['conditions'];
    const status = { ...made.status, state: 'UNUSED', activeRevisionId: 'a', conditions: all } as AppDeploymentStatus;
    return { ...made, metadata: { ...made.metadata, ...metadata }, status };
  };
  const condition = (type: string, status: string, reason: string): object => ({
    type,
    status,
    reason,
    message: '',
    lastTransitionTime: at(0),
  });
  const stopped = {
    ...ready('moved', [condition('Available', 'False', 'ScaledToZero')]),
    spec: aRecord({ sourceConfig: { resourceSpec: { minScale: 0, maxScale: 0 } } }).spec,
  };
  const held = ready('moving', [condition('Available', 'False', 'OperationRunning')]);
  const { deployment_ready: all, deployment_trouble_timestamp_seconds: troubles } = censusOf(
    [
      ready('a-well', [condition('BackupReady', 'True', 'BackedUp'), condition('DatabaseReady', 'True', 'Answering')]),
      ready('a-bare', [condition('BackupReady', 'False', 'NotConfigured')]),
      ready('b-stale', [condition('BackupReady', 'False', 'BackupStale')]),
      ready('c-thin', [condition('DatabaseReady', 'True', 'InstancesMissing')]),
      ready('d-no-password', [condition('DatabaseReady', 'True', 'PasswordMissing')]),
      stopped,
      { ...held, status: { ...held.status, state: 'AWAITING_DATABASE' } },
    ],
    [],
    10,
  );
  expect(troubles.map(([{ name, condition, reason }, since]) => [name, condition, reason, since])).toEqual([
    ['b-stale', 'BackupReady', 'BackupStale', seconds(0)],
    ['c-thin', 'DatabaseReady', 'InstancesMissing', seconds(0)],
    ['d-no-password', 'DatabaseReady', 'PasswordMissing', seconds(0)],
    ['moving', 'Available', 'OperationRunning', seconds(0)],
    ['a-bare', 'BackupReady', 'NotConfigured', seconds(0)],
  ]);
  // Those in trouble come first, and then those without backups.
  expect(all.slice(4).map(([{ name }]) => name)).toEqual(['a-bare', 'a-well', 'moved']);
});
