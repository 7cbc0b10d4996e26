import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anObserved, aPod, aRecord, aRevision, aStore, assessed, aWorkload } from '../../test/support/builders.ts';
import type { AppDeployment } from '../kinds/app-deployment.ts';
import type { AppRevision } from '../kinds/app-revision.ts';
import { conditionOf } from '../kinds/conditions.ts';
import type { AddressOutcome } from './assess/address.ts';
import { pass } from './assess/entry.ts';
import type { ActionFailure, ContainerState, Observed, Pod, Workload } from './assess/observed.ts';
import { withOverdue } from './assess/terminating-pods.ts';
import { apiStatus } from './record/api-view.ts';
import { awaitsSource } from './record/requested.ts';
import { latestStatus, overtakenStatus } from './revision-status.ts';
import { deletingStatus, type StatusInputs, statusOf } from './status.ts';

const NOW = new Date('2026-02-02T02:02:02Z');
const record = aRecord();
const latest = aRevision(record);
const deployed = aRevision(record, 'DEPLOYED');
const stores = [aStore('postgres'), aStore('redis')];

function rolling(status: object): Workload {
  const store = aStore('postgres');
  return { ...store, status: { ...store.status, ...status } };
}
const DEADLINE = { type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded' };

function judge(
  observed: Observed,
  of: AppRevision | null = latest,
  refusals: ActionFailure[] = [],
): ReturnType<typeof statusOf> {
  return statusOf(inputsOf(observed, of, refusals), NOW);
}

function inputsOf(observed: Observed, of: AppRevision | null, refusals: ActionFailure[] = []): StatusInputs {
  return assessed(observed, of ?? undefined, { refusals });
}

function summary(status: ReturnType<typeof statusOf>): Record<string, string> {
  return Object.fromEntries(
    ['Ready', 'Available', 'Reconciling', 'Stalled'].map((type) => {
      const condition = conditionOf(status.conditions, type);
      return [type, `${condition?.status} ${condition?.reason}`];
    }),
  );
}

interface Row {
  readonly name: string;
  readonly reason: string;
  readonly observed: Observed;
  readonly latest?: AppRevision | null;
  readonly refusals?: ActionFailure[];
  readonly want: {
    readonly state: string;
    readonly Ready: string;
    readonly Available: string;
    readonly Reconciling: string;
    readonly Stalled: string;
  };
}

const waiting = (reason: string): { waiting: { reason: string } } => ({ waiting: { reason } });

const rows: Row[] = [
  {
    name: 'nothing made yet',
    reason: 'a database that was not seen has not answered',
    observed: anObserved(record, { revisions: [latest] }),
    want: {
      state: 'AWAITING_DATABASE',
      Ready: 'False NotObserved',
      Available: 'False NotObserved',
      Reconciling: 'True NotObserved',
      Stalled: 'False Settled',
    },
  },
  {
    name: 'database starting',
    reason: 'Redis alone is not enough',
    observed: anObserved(record, { revisions: [latest], children: [aStore('postgres', 0), aStore('redis')] }),
    want: {
      state: 'AWAITING_DATABASE',
      Ready: 'False Starting',
      Available: 'False Starting',
      Reconciling: 'True Starting',
      Stalled: 'False Settled',
    },
  },
  {
    name: 'first rollout',
    reason: 'nothing has reached DEPLOYED, so READY cannot be claimed',
    observed: anObserved(record, {
      revisions: [latest],
      children: [...stores, aWorkload('server', latest, { ready: 0 })],
    }),
    want: {
      state: 'UNKNOWN',
      Ready: 'False Progressing',
      Available: 'False Progressing',
      Reconciling: 'True Progressing',
      Stalled: 'False Settled',
    },
  },
  {
    name: 'up',
    reason: 'every pod runs the latest revision',
    observed: anObserved(record, { revisions: [latest], children: [...stores, aWorkload('server', latest)] }),
    want: {
      state: 'READY',
      Ready: 'True Serving',
      Available: 'True Serving',
      Reconciling: 'False Settled',
      Stalled: 'False Settled',
    },
  },
  {
    name: 'the Deployment has not been looked at by its controller',
    reason: 'counts of an older generation say nothing about this one',
    observed: anObserved(record, {
      revisions: [latest],
      children: [...stores, aWorkload('server', latest, { behind: true })],
    }),
    want: {
      state: 'UNKNOWN',
      Ready: 'False Progressing',
      Available: 'False Progressing',
      Reconciling: 'True Progressing',
      Stalled: 'False Settled',
    },
  },
  {
    name: 'old pods still roll',
    reason: 'a surplus pod is an old one',
    observed: anObserved(record, {
      revisions: [latest],
      children: [...stores, aWorkload('server', latest, { total: 2 })],
    }),
    want: {
      state: 'UNKNOWN',
      Ready: 'False Progressing',
      Available: 'False Progressing',
      Reconciling: 'True Progressing',
      Stalled: 'False Settled',
    },
  },
  {
    name: 'serving lost',
    reason: 'a deployed revision without an available pod is not READY',
    observed: anObserved(record, {
      revisions: [deployed],
      children: [...stores, aWorkload('server', deployed, { ready: 0 })],
    }),
    latest: deployed,
    want: {
      state: 'UNKNOWN',
      Ready: 'False Progressing',
      Available: 'False Progressing',
      Reconciling: 'True Progressing',
      Stalled: 'False Settled',
    },
  },
  {
    name: 'the image cannot be pulled',
    reason: 'it may still come, so it is not stalled before the deadline',
    observed: anObserved(record, {
      revisions: [latest],
      children: [...stores, aWorkload('server', latest, { ready: 0 })],
      pods: [aPod('server', latest, { main: [{ name: 'server', image: 'x:1', state: waiting('ImagePullBackOff') }] })],
    }),
    want: {
      state: 'UNKNOWN',
      Ready: 'False ImagePullFailed',
      Available: 'False ImagePullFailed',
      Reconciling: 'True ImagePullFailed',
      Stalled: 'False Settled',
    },
  },
  {
    name: 'the image cannot be pulled, past the deadline',
    reason: 'now only a person can mend it',
    observed: anObserved(record, {
      revisions: [latest],
      children: [...stores, aWorkload('server', latest, { ready: 0, conditions: [DEADLINE] })],
      pods: [aPod('server', latest, { main: [{ name: 'server', image: 'x:1', state: waiting('ErrImagePull') }] })],
    }),
    want: {
      state: 'UNKNOWN',
      Ready: 'False ImagePullFailed',
      Available: 'False ImagePullFailed',
      Reconciling: 'False Settled',
      Stalled: 'True ImagePullFailed',
    },
  },
  {
    name: 'the database image cannot be pulled',
    reason: 'a database that never comes up says why',
    observed: anObserved(record, {
      revisions: [latest],
      children: [aStore('postgres', 0), aStore('redis')],
      pods: [
        aPod('postgres', latest, { main: [{ name: 'postgres', image: 'pg:0', state: waiting('ImagePullBackOff') }] }),
      ],
    }),
    want: {
      state: 'AWAITING_DATABASE',
      Ready: 'False ImagePullFailed',
      Available: 'False ImagePullFailed',
      Reconciling: 'True ImagePullFailed',
      Stalled: 'False Settled',
    },
  },
  {
    name: 'a database whose new settings have not been looked at',
    reason: 'what answers is the old one still',
    observed: anObserved(record, {
      revisions: [latest],
      children: [rolling({ observedGeneration: 0 }), aStore('redis'), aWorkload('server', latest)],
    }),
    want: {
      state: 'AWAITING_DATABASE',
      Ready: 'False Starting',
      Available: 'False Starting',
      Reconciling: 'True Starting',
      Stalled: 'False Settled',
    },
  },
  {
    name: 'a database that is being rolled to its new settings',
    reason: 'its pod is of the old template',
    observed: anObserved(record, {
      revisions: [latest],
      children: [
        rolling({ currentRevision: 'shop--postgres-1', updateRevision: 'shop--postgres-2' }),
        aStore('redis'),
        aWorkload('server', latest),
      ],
    }),
    want: {
      state: 'AWAITING_DATABASE',
      Ready: 'False Starting',
      Available: 'False Starting',
      Reconciling: 'True Starting',
      Stalled: 'False Settled',
    },
  },
  {
    name: 'a foreign object in the way',
    reason: 'it is a condition, never overwritten',
    observed: anObserved(record, { revisions: [latest], children: stores }),
    refusals: [
      {
        reason: 'NameConflict',
        ref: { kind: 'Deployment', name: 'shop' },
        message: 'Deployment shop is there already.',
      },
    ],
    want: {
      state: 'UNKNOWN',
      Ready: 'False NameConflict',
      Available: 'False NameConflict',
      Reconciling: 'False Settled',
      Stalled: 'True NameConflict',
    },
  },
  {
    name: 'no image yet',
    reason: 'waiting for a push is Stalled too',
    observed: anObserved(aRecord({ sourceRevisionConfig: {} })),
    latest: null,
    want: {
      state: 'UNUSED',
      Ready: 'False WaitingForImage',
      Available: 'False WaitingForImage',
      Reconciling: 'False Settled',
      Stalled: 'True WaitingForImage',
    },
  },
  {
    name: 'a source that the hosting mode does not allow',
    reason: 'admission may not be installed',
    observed: anObserved(aRecord({ source: 'internal_docker' })),
    latest: null,
    want: {
      state: 'UNKNOWN',
      Ready: 'False SourceNotAllowed',
      Available: 'False SourceNotAllowed',
      Reconciling: 'False Settled',
      Stalled: 'True SourceNotAllowed',
    },
  },
  {
    name: 'not a tenant',
    reason: 'somebody applied a record in the wrong namespace and must be told',
    observed: anObserved(record, { tenantId: null }),
    latest: null,
    want: {
      state: 'UNKNOWN',
      Ready: 'False NotATenant',
      Available: 'False NotATenant',
      Reconciling: 'False Settled',
      Stalled: 'True NotATenant',
    },
  },
  {
    name: 'a missing Secret',
    reason: 'it is named, and nothing is started',
    observed: anObserved(aRecord({ secretReferences: [{ name: 'A', secretName: 'mine', secretKey: 'a' }] }), {
      revisions: [latest],
      children: stores,
      secretKeys: { mine: null },
    }),
    want: {
      state: 'UNKNOWN',
      Ready: 'False SecretMissing',
      Available: 'False SecretMissing',
      Reconciling: 'False Settled',
      Stalled: 'True SecretMissing',
    },
  },
  {
    name: 'a missing key',
    reason: 'the Secret is there, so the key is what is named',
    observed: anObserved(aRecord({ secretReferences: [{ name: 'A', secretName: 'mine', secretKey: 'a' }] }), {
      revisions: [latest],
      children: stores,
      secretKeys: { mine: ['b'] },
    }),
    want: {
      state: 'UNKNOWN',
      Ready: 'False SecretKeyMissing',
      Available: 'False SecretKeyMissing',
      Reconciling: 'False Settled',
      Stalled: 'True SecretKeyMissing',
    },
  },
];

describe('statusOf', () => {
  it.each(rows)('$name: $reason', ({ observed, latest: of = latest, refusals = [], want }) => {
    const status = judge(observed, of, refusals);
    expect({ state: status.state, ...summary(status) }).toEqual(want);
  });

  it('scaled to zero is UNUSED and, once done, Ready by intention', () => {
    const zero = aRecord({ sourceConfig: { resourceSpec: { maxScale: 0 } } });
    const revision = aRevision(zero);
    const status = judge(
      anObserved(zero, { revisions: [revision], children: [...stores, aWorkload('server', revision, { wanted: 0 })] }),
      revision,
    );
    expect(conditionOf(status.conditions, 'WorkloadsReady')).toMatchObject({
      status: 'True',
      message: 'Scaled to zero, so no part has a pod.',
    });
    expect({ state: status.state, ...summary(status) }).toEqual({
      state: 'UNUSED',
      Ready: 'True ScaledToZero',
      Available: 'False ScaledToZero',
      Reconciling: 'False Settled',
      Stalled: 'False Settled',
    });
  });

  it('scaled to zero, a database that is to begin with a backup and does not answer is Stalled: nothing would say so', () => {
    const database = { driver: 'pod', restore: { from: 'other' } } as const;
    const zero = aRecord({ sourceConfig: { resourceSpec: { maxScale: 0 }, database } });
    const revision = aRevision(zero);
    const children = [aStore('postgres', 0), aStore('redis'), aWorkload('server', revision, { wanted: 0 })];
    const backupStore = { secret: 'store', hasCredentials: true, isVerified: false };
    const patience = {
      maxCrashes: 5,
      unavailableSeconds: 600,
      progressDeadlineSeconds: 300,
      exhausted: new Set<never>(),
      overdue: new Set(['DatabaseReady'] as const),
    };
    const seen = (late: boolean): Record<string, string> =>
      summary(
        judge(
          { ...anObserved(zero, { revisions: [revision], children }), backupStore, ...(late && { patience }) },
          revision,
        ),
      );
    expect(seen(false)).toMatchObject({ Ready: 'False Restoring', Stalled: 'False Settled' });
    expect(seen(true)).toMatchObject({ Ready: 'False NotAnswering', Stalled: 'True NotAnswering' });
  });

  it('a failed rollout with old pods serving is READY and Available, not Ready', () => {
    const newer = {
      ...aRevision(record, undefined, 2),
      spec: { ...aRevision(record, undefined, 2).spec, deploymentGeneration: 2 },
    };
    const observed = anObserved(record, {
      revisions: [newer, deployed],
      children: [...stores, aWorkload('server', newer, { ready: 1, updated: 1, total: 2, conditions: [DEADLINE] })],
    });
    const status = judge(observed, newer);
    expect({
      state: status.state,
      active: status.activeRevisionId,
      latest: status.latestRevisionId,
      ...summary(status),
    }).toMatchObject({
      state: 'READY',
      active: deployed.spec.id,
      latest: newer.spec.id,
      Available: 'True Serving',
      Stalled: 'True ProgressDeadlineExceeded',
    });
    expect(latestStatus(newer, inputsOf(observed, newer).assessment.rollout, NOW).state).toBe('DEPLOY_FAILED');
  });

  it.each([
    ['Failed', 'BuildFailed', 'Line 6 of the Dockerfile failed.'],
    ['Building', 'Building', 'Line 2 of 7.'],
  ] as const)('a build that is %s does not hide why what should serve is down', (phase, reason, message) => {
    const second = aRevision(record, undefined, 2);
    const { image: _image, ...resolved } = second.spec.resolved;
    const unbuilt: AppRevision = {
      ...second,
      spec: { ...second.spec, resolved },
      status: { build: { phase, message } },
    };
    const full = { type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate', message: 'exceeded quota: pods' };
    const server = (ready: number): Workload =>
      aWorkload('server', deployed, { ready, total: ready, conditions: [full] });
    const see = (ready: number): ReturnType<typeof statusOf> =>
      judge(
        {
          ...anObserved(record, { revisions: [unbuilt, deployed], children: [...stores, server(ready)] }),
          canBuild: true,
        },
        unbuilt,
      );

    const down = see(0);
    expect(down.state).toBe('UNKNOWN');
    expect(summary(down)).toMatchObject({ Ready: `False ${reason}`, Available: 'False PodsRefused' });
    for (const type of ['Available', 'WorkloadsReady']) {
      expect(conditionOf(down.conditions, type)).toMatchObject({
        reason: 'PodsRefused',
        message: expect.stringContaining(
          `Revision ${deployed.spec.id} should be serving: The API server rejects the pods: exceeded quota: pods.`,
        ) as string,
      });
    }
    const ready = conditionOf(down.conditions, 'Ready')?.message;
    expect(ready).toContain(message);
    expect(ready).toContain('Nothing is serving meanwhile.');
    expect(ready).toContain('exceeded quota: pods');

    const up = see(1);
    expect([up.state, conditionOf(up.conditions, 'WorkloadsReady')?.reason]).toEqual(['READY', reason]);
    expect(conditionOf(up.conditions, 'Ready')?.message).toBe(message);
  });

  it('a volume that is being deleted under a PostgreSQL that answers takes nothing from what serves', () => {
    const store = aStore('postgres');
    const metadata = { ...store.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' };
    const claim = { ...store, kind: 'PersistentVolumeClaim', metadata };
    const see = (ready: number): ReturnType<typeof statusOf> =>
      judge(
        anObserved(record, {
          revisions: [deployed],
          children: [aStore('postgres', ready), aStore('redis'), claim, aWorkload('server', deployed)],
        }),
        deployed,
      );
    const stalled = { Ready: 'False VolumeTerminating', Stalled: 'True VolumeTerminating' };
    expect({ state: see(1).state, ...summary(see(1)) }).toMatchObject({
      state: 'READY',
      ...stalled,
      Available: 'True Serving',
    });
    expect(conditionOf(see(1).conditions, 'DatabaseReady')?.status).toBe('False');
    expect({ state: see(0).state, ...summary(see(0)) }).toMatchObject({
      state: 'AWAITING_DATABASE',
      ...stalled,
      Available: 'False VolumeTerminating',
    });
  });

  it.each(['own', 'external'])(
    'a new pod that waits for an %s PostgreSQL in vain takes nothing from what serves',
    (whose) => {
      const secretReferences = [{ name: 'POSTGRES_URI_CUSTOM', secretName: 'db', secretKey: 'uri' }];
      const theirs = aRecord(whose === 'own' ? {} : { secretReferences });
      const [older, newer] = [aRevision(theirs, 'DEPLOYED'), aRevision(theirs, undefined, 2)];
      const init = [{ name: 'wait-for-database', state: { running: { startedAt: '2026-02-02T02:00:00Z' } } }];
      const late: Pod = { ...aPod('server', newer, { init }), longHeld: true };
      const see = (ready: number, conditions: Workload['status'] = {}): ReturnType<typeof statusOf> => {
        const server = aWorkload('server', newer, { ready, updated: 1, total: 1 + ready });
        const rolled: Workload = { ...server, status: { ...server.status, ...conditions } };
        const children = [...(whose === 'own' ? [aStore('postgres')] : []), aStore('redis'), rolled];
        const secretKeys = { db: ['uri'] };
        return judge(anObserved(theirs, { revisions: [newer, older], children, pods: [late], secretKeys }), newer);
      };
      const serving = see(1);
      expect({ state: serving.state, ...summary(serving) }).toMatchObject({
        state: 'READY',
        Ready: 'False NotAnswering',
        Available: 'True Serving',
        Reconciling: 'True NotAnswering',
      });
      const said = conditionOf(serving.conditions, 'DatabaseReady');
      expect(said).toMatchObject({ status: 'False', reason: 'NotAnswering' });
      expect(said?.message).toContain('kubectl logs shop-server-0 -c wait-for-database -n team');
      for (const type of ['Ready', 'WorkloadsReady'])
        expect(conditionOf(serving.conditions, type)?.message).toContain(said?.message);
      expect(see(0).state).toBe('AWAITING_DATABASE');

      const over = see(1, { conditions: [DEADLINE] });
      expect({ state: over.state, ...summary(over) }).toMatchObject({
        state: 'READY',
        Stalled: 'True ProgressDeadlineExceeded',
        Available: 'True Serving',
      });
      const words = conditionOf(over.conditions, 'Ready')?.message;
      expect(words).toContain(said?.message);
      expect(words).not.toContain('container server');
    },
  );

  it('an address that was refused holds Ready back, not Available; one that is pending holds back neither', () => {
    const observed = anObserved(record, {
      revisions: [deployed],
      children: [...stores, aWorkload('server', deployed)],
    });
    const host = 'shop.example.com';
    const said = (address: AddressOutcome): Record<string, string> =>
      summary(statusOf(assessed(observed, deployed, { address }), NOW));
    expect(said({ is: 'taken', host })).toEqual({
      Ready: 'False HostTaken',
      Available: 'True Serving',
      Reconciling: 'False Settled',
      Stalled: 'True HostTaken',
    });
    const well = {
      Ready: 'True Serving',
      Available: 'True Serving',
      Reconciling: 'False Settled',
      Stalled: 'False Settled',
    };
    expect(said({ is: 'held', host })).toEqual(well);
    expect(said({ is: 'unconfigured', host })).toEqual(well);
  });

  it('a host is let go only when nothing leads there any more', () => {
    const status = { url: 'https://a.example', hostClaim: { host: 'a.example', since: '2026-01-01T00:00:00Z' } };
    const leaving = aRecord({}, { status, deletionTimestamp: '2026-01-01T00:00:00Z' });
    const ingress = { ...aStore('redis'), kind: 'Ingress', metadata: { ...aStore('redis').metadata, name: 'shop' } };
    expect(deletingStatus(anObserved(leaving, { children: [ingress] }), 'its address', NOW)).toMatchObject(status);
    const after = deletingStatus(anObserved(leaving), 'its workloads', NOW);
    expect([after.url, after.hostClaim]).toEqual([undefined, undefined]);
  });

  it('a second look at the same says the same, times included', () => {
    const observed = anObserved(record, { revisions: [latest], children: [...stores, aWorkload('server', latest)] });
    const first = judge(observed);
    const again: AppDeployment = { ...record, status: first };
    const later = statusOf(inputsOf({ ...observed, record: again }, latest), new Date('2027-01-01T00:00:00Z'));
    expect(later).toEqual(first);
  });

  it('an answer that was lost is told from one that never came', () => {
    const up = judge(
      anObserved(record, { revisions: [deployed], children: [...stores, aWorkload('server', deployed)] }),
      deployed,
    );
    const down = judge(
      anObserved(
        { ...record, status: up },
        { revisions: [deployed], children: [aStore('postgres', 0), aStore('redis'), aWorkload('server', deployed)] },
      ),
      deployed,
    );
    expect(conditionOf(down.conditions, 'DatabaseReady')?.reason).toBe('NotAnswering');
    const still = judge(
      anObserved(
        { ...record, status: down },
        { revisions: [deployed], children: [aStore('postgres', 0), aStore('redis'), aWorkload('server', deployed)] },
      ),
      deployed,
    );
    expect(conditionOf(still.conditions, 'DatabaseReady')?.reason).toBe('NotAnswering');
  });

  it('deletion shows what it waits for', () => {
    const status = deletingStatus(anObserved(record), 'Redis', NOW);
    expect(status.state).toBe('AWAITING_DELETE');
    expect(conditionOf(status.conditions, 'Ready')?.message).toBe('Being deleted: waiting for the deletion of Redis.');
  });

  it('deletion no longer names who wrote the spec', () => {
    const { uid } = record.metadata;
    const leaving: AppDeployment = {
      ...record,
      metadata: {
        ...record.metadata,
        generation: 8,
        deletionTimestamp: '2026-02-02T01:00:00Z',
        annotations: { 'davit.dev/requested-by': `${uid} 7 bert` },
      },
      status: { changedBy: 'bert' },
    };
    expect(deletingStatus(anObserved(leaving), 'Redis', NOW)).not.toHaveProperty('changedBy');
  });

  it('a pod of the database that its dead node does not let go is named, and what to do', () => {
    const pod = aPod('postgres', deployed, {});
    const stuck = {
      ...pod,
      metadata: { ...pod.metadata, deletionTimestamp: '2026-02-02T01:00:00Z' },
      spec: { nodeName: 'n1' },
    };
    const status = judge(
      anObserved(record, {
        revisions: [deployed],
        children: [aStore('postgres', 0), aStore('redis'), aWorkload('server', deployed)],
        pods: withOverdue([stuck], NOW),
      }),
      deployed,
    );
    expect(conditionOf(status.conditions, 'DatabaseReady')).toMatchObject({
      reason: 'PodStuckTerminating',
      message: expect.stringContaining('kubectl taint nodes n1'),
    });
    expect(summary(status)).toMatchObject({ Ready: 'False PodStuckTerminating', Stalled: 'True PodStuckTerminating' });
  });

  it('a copy of a pod that somebody debugs is no trouble of the deployment', () => {
    const crash = { name: 'server', state: { terminated: { exitCode: 1 } } };
    const copy = aPod('server', latest, { main: [crash] });
    const { ownerReferences: _owners, ...metadata } = copy.metadata;
    const children = [...stores, aWorkload('server', latest, { ready: 0 })];
    const of = (pod: typeof copy): string | undefined =>
      conditionOf(
        judge(anObserved(record, { revisions: [latest], children, pods: [pod] })).conditions,
        'WorkloadsReady',
      )?.reason;
    expect(of(copy)).toBe('ContainerCrashed');
    expect(of({ ...copy, metadata })).toBe('Progressing');
  });

  it('a rollout that somebody has paused is named, with how to go on; it has not failed', () => {
    const paused = aWorkload('server', latest, { updated: 0 });
    const server = { ...paused, spec: { ...paused.spec, paused: true } };
    const observed = anObserved(record, { revisions: [latest], children: [...stores, server] });
    const status = judge(observed);
    expect(summary(status)).toMatchObject({ Ready: 'False RolloutPaused', Stalled: 'True RolloutPaused' });
    expect(conditionOf(status.conditions, 'WorkloadsReady')?.message).toContain(
      'kubectl rollout resume deployment shop -n team',
    );
    expect(latestStatus(latest, inputsOf(observed, latest).assessment.rollout, NOW).state).toBe('DEPLOYING');
    const done = { ...aWorkload('server', latest), spec: server.spec };
    expect(summary(judge(anObserved(record, { revisions: [latest], children: [...stores, done] })))).toMatchObject({
      Ready: 'True Serving',
    });
  });

  it('a paused deletion waits for a person', () => {
    const status = deletingStatus(anObserved(record), 'Redis', NOW, 'It is paused.');
    expect(status.state).toBe('AWAITING_DELETE');
    expect(summary(status)).toMatchObject({ Reconciling: 'False Paused', Stalled: 'True Paused' });
    expect(conditionOf(status.conditions, 'Stalled')?.message).toBe('Being deleted: It is paused.');
  });
});

describe('messages', () => {
  it.each([
    {
      ended: { exitCode: 3, reason: 'Error', message: 'cannot read\n  config.json.' },
      says: 'Container server exited (Error, exit code 3): cannot read config.json. Read its log, and deploy a corrected revision.',
    },
    {
      ended: { exitCode: 137, reason: 'OOMKilled' },
      says: 'The server was killed: it used more than its memory limit. Raise memory_limit_mb in resource_spec, or reduce its memory use.',
    },
  ])('quote the container, the exit code and its own last words, or what helps: $ended.reason', ({ ended, says }) => {
    const crashed = aPod('server', latest, {
      main: [{ name: 'server', state: waiting('CrashLoopBackOff'), lastState: { terminated: ended } }],
    });
    const { workloads } = inputsOf(
      anObserved(record, {
        revisions: [latest],
        children: [...stores, aWorkload('server', latest, { ready: 0 })],
        pods: [crashed],
      }),
      latest,
    ).assessment;
    expect(workloads.message).toBe(says);
  });

  it('an external database answers as soon as one pod has passed its wait', () => {
    const external = aRecord({
      secretReferences: [{ name: 'POSTGRES_URI_CUSTOM', secretName: 'db', secretKey: 'uri' }],
    });
    const revision = aRevision(external);
    const passed = aPod('server', revision, {
      init: [{ name: 'wait-for-database', state: { terminated: { exitCode: 0 } } }],
    });
    const status = judge(
      anObserved(external, {
        revisions: [revision],
        children: [aStore('redis')],
        pods: [passed],
        secretKeys: { db: ['uri'] },
      }),
      revision,
    );
    expect(conditionOf(status.conditions, 'DatabaseReady')).toMatchObject({ status: 'True', reason: 'Answering' });
  });
});

describe('what is said first while PostgreSQL starts', () => {
  const starting = [aStore('postgres', 0), aStore('redis')];
  const source = { source: 'internal_source', sourceRevisionConfig: {} } as const;
  const built = (phase: 'Queued' | 'Building' | 'Failed', message: string): AppRevision => ({
    ...aRevision(aRecord(source)),
    status: { state: 'BUILDING', build: { phase, queuedAt: NOW.toISOString(), message } },
  });
  const server = (state: ContainerState, more: object = {}): Pod =>
    aPod('server', latest, { main: [{ name: 'server', image: 'x:1', state, ...more }] });
  const rolled = aWorkload('server', latest, { ready: 0 });

  it.each([
    ['how far a build is', built('Building', 'No node can run pod b.'), [], 'Building', 'No node can run pod b.'],
    ['that a build waits', built('Queued', 'Waits for its turn.'), [], 'BuildQueued', 'Waits for its turn.'],
    ['that a build has failed', built('Failed', 'Line 3 failed.'), [], 'BuildFailed', 'Line 3 failed.'],
    [
      'an image that cannot be pulled',
      latest,
      [server(waiting('ErrImagePull'))],
      'ImagePullFailed',
      'cannot be pulled',
    ],
  ] as const)('%s', (_what, of, pods, reason, message) => {
    const observed = anObserved(record, { revisions: [of], children: [...starting, rolled], pods: [...pods] });
    const status = judge({ ...observed, canBuild: true }, of);
    for (const type of ['Ready', 'Available'])
      expect(conditionOf(status.conditions, type)).toMatchObject({
        status: 'False',
        reason,
        message: expect.stringContaining(message) as string,
      });
    expect(conditionOf(status.conditions, 'DatabaseReady')?.reason).toBe('Starting');
  });

  it('PostgreSQL itself where a container exits, which may do so for want of it', () => {
    const exits = server({ terminated: { exitCode: 1 } }, { restartCount: 1 });
    const observed = anObserved(record, { revisions: [latest], children: [...starting, rolled], pods: [exits] });
    expect(conditionOf(judge(observed).conditions, 'Ready')?.reason).toBe('Starting');
  });

  it('PostgreSQL itself of what serves, where Available is asked for', () => {
    const failed = { ...built('Failed', 'Line 3 failed.'), spec: aRevision(aRecord(source), undefined, 2).spec };
    const revisions = [failed, deployed];
    const status = judge(
      anObserved(record, { revisions, children: [...starting, aWorkload('server', deployed)] }),
      failed,
    );
    expect(conditionOf(status.conditions, 'Ready')?.reason).toBe('BuildFailed');
    expect(conditionOf(status.conditions, 'Available')?.reason).toBe('Starting');
  });
});

describe('overtakenStatus', () => {
  it.each([
    ['DEPLOYED', 'DEPLOYED'],
    ['DEPLOY_FAILED', 'DEPLOY_FAILED'],
    ['DEPLOYING', 'SKIPPED'],
    [undefined, 'SKIPPED'],
  ] as const)('%s becomes %s', (state, want) => {
    expect(overtakenStatus(aRevision(record, state), () => false, NOW).state).toBe(want);
  });

  it.each([
    ['DEPLOYING', 'Pod shop-1 cannot pull image x:2.', ' Until then: Pod shop-1 cannot pull image x:2.'],
    ['CREATING', undefined, ''],
  ] as const)('keeps what was in the way of one that was %s, and says the same ever after', (state, message, kept) => {
    const made = aRevision(record, state);
    const failing = { ...made, status: { ...made.status, message } } as AppRevision;
    const status = overtakenStatus(failing, () => false, NOW);
    expect(status.message).toBe(`A newer revision replaced this one before it was deployed.${kept}`);
    const later = new Date(NOW.getTime() + 60_000);
    expect(overtakenStatus({ ...failing, status } as AppRevision, () => false, later)).toEqual(status);
  });

  it.each([
    ['Failed', 'BUILD_FAILED'],
    ['Interrupted', 'INTERRUPTED'],
    ['Skipped', 'SKIPPED'],
  ] as const)('one whose build is %s becomes %s, if nobody has reported that yet', (phase, state) => {
    const made = aRevision(record, 'BUILDING');
    const build = { phase, queuedAt: NOW.toISOString(), message: 'Why the build ended.' };
    const revision = { ...made, status: { ...made.status, build } } as AppRevision;
    expect(overtakenStatus(revision, () => false, NOW)).toMatchObject({ state, message: 'Why the build ended.' });
  });

  it.each([
    [
      'DEPLOY_FAILED',
      'The pods of revision 1 still serve.',
      'Until a newer revision replaced this one: The pods of revision 1 still serve.',
    ],
    ['DEPLOYED', 'Missing: Secret values.', 'The rollout of this revision has finished.'],
    ['BUILD_FAILED', 'The build failed.', 'The build failed.'],
  ] as const)('does not say of one that is %s how things are now', (state, message, want) => {
    const made = aRevision(record, state);
    const before = { ...made, status: { ...made.status, message } } as AppRevision;
    const status = overtakenStatus(before, () => false, NOW);
    expect(status).toEqual({ ...before.status, message: want });
    expect(overtakenStatus({ ...before, status } as AppRevision, () => false, NOW)).toEqual(status);
  });
});

it('the first report says the word that the facade has shown until then', () => {
  const LISTENER = '11111111-2222-4333-8444-555555555555';
  const someRecord = fc
    .record({
      source: fc.constantFrom('external_docker', 'internal_docker', 'internal_source', 'codehost' as const),
      maxScale: fc.constantFrom(undefined, 0, 3),
      imageUri: fc.constantFrom(undefined, 'a:1'),
      isElsewhere: fc.boolean(),
    })
    .map(({ source, maxScale, imageUri, isElsewhere }) =>
      aRecord({
        source: source as 'external_docker',
        sourceConfig: {
          ...(maxScale !== undefined && { resourceSpec: { maxScale } }),
          ...(isElsewhere && { listenerId: LISTENER, listenerConfig: { k8sNamespace: 'team' } }),
        },
        sourceRevisionConfig: imageUri === undefined ? {} : { imageUri },
      }),
    );
  const policy = pass('Accepted', '');
  fc.assert(
    fc.property(someRecord, fc.boolean(), (made, hasRevision) => {
      const runsHere = made.spec.sourceConfig.listenerId === undefined && !awaitsSource(made.spec);
      const of = hasRevision && runsHere ? aRevision(made) : null;
      const inputs = inputsOf(anObserved(made, { revisions: of ? [of] : [] }), of);
      const status = statusOf({ ...inputs, assessment: { ...inputs.assessment, policy } }, NOW);
      expect(status.state).toBe(apiStatus(made));
      expect(apiStatus({ ...made, status })).toBe(status.state);
      const leaving = { ...made, metadata: { ...made.metadata, deletionTimestamp: '2026-01-02T00:00:00Z' } };
      expect(apiStatus(leaving)).toBe(deletingStatus(anObserved(leaving), 'it', NOW).state);
    }),
  );
});

describe('the phase', () => {
  it.each([
    ['is the state of the newest revision as this pass reports it', 'BUILDING', 'BUILDING'],
    ['is CREATING before the first report', undefined, 'CREATING'],
  ] as const)('%s', (_name, state, want) => {
    const { status: _none, ...bare } = latest;
    const reported: AppRevision = state === undefined ? bare : { ...bare, status: { state } };
    expect(judge(anObserved(record, { revisions: [reported] }), bare).phase).toBe(want);
  });

  it('is absent without a revision', () => {
    expect(judge(anObserved(record), null).phase).toBeUndefined();
  });
});
