// Backups of the deployment's own PostgreSQL: one CronJob, and what the status claims of its runs.

import { describe, expect, it } from 'vitest';
import type { Pod } from '../../../src/deploy/assess/observed.ts';
import { APP_DEPLOYMENTS } from '../../../src/kinds/app-deployment.ts';
import { APP_REVISIONS } from '../../../src/kinds/app-revision.ts';
import type { DatabaseBackup, DatabaseBackupStatus } from '../../../src/kinds/database.ts';
import { Settings } from '../../../src/kinds/settings.ts';
import {
  CRON_JOBS,
  JOBS,
  NETWORK_POLICIES,
  PERSISTENT_VOLUME_CLAIMS,
  PODS,
  STATEFUL_SETS,
} from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { aController, KEY, type MemoryController } from '../../kit/memory/controller.ts';
import { aServer, conditionIn, edit, newestRevision, putRecord, record, says } from '../../kit/memory/record.ts';
import { crashing, makeWorkloadsReady, putPod } from '../../kit/memory/workloads.ts';
import type { FakeKube } from '../../support/fake-kube/fake-kube.ts';
import { aConverged, converge, gone, putStoreCredentials, takeDown } from './harness.ts';

const SETTINGS = Settings.parse({
  backups: {
    default: { enabled: false },
    store: { endpoint: 'https://s3.example', bucket: 'backups', ca: '$(CA)' },
    image: 'registry.example/davit:1',
  },
});
const NAME = 'shop---backup';
const withBackup = (backup: DatabaseBackup = {}): object => ({ sourceConfig: { database: { backup } } });

/** When each container has ended. */
const ENDED = '2026-03-01T00:00:00Z';

interface CronJob extends KubeObject {
  readonly spec: {
    readonly schedule: string;
    readonly timeZone?: string;
    readonly suspend: boolean;
    readonly jobTemplate: {
      readonly metadata: { readonly labels: Record<string, string> };
      readonly spec: {
        readonly activeDeadlineSeconds: number;
        readonly template: {
          readonly spec: {
            readonly initContainers: readonly { readonly image: string; readonly env: readonly object[] }[];
            readonly containers: readonly {
              readonly image: string;
              readonly args: readonly string[];
              readonly workingDir?: string;
            }[];
            readonly volumes: readonly object[];
          };
        };
      };
    };
  };
}
const cronJobs = (kube: FakeKube): CronJob[] => kube.objects<CronJob>(CRON_JOBS);
const reported = (kube: FakeKube): DatabaseBackupStatus | undefined => record(kube).status?.databaseBackup;
const message = (kube: FakeKube): string => conditionIn(kube, 'BackupReady')?.message ?? '';

async function backedUp(backup: DatabaseBackup = {}): Promise<MemoryController> {
  const kube = aServer();
  putStoreCredentials(kube);
  return aConverged(withBackup(backup), kube, SETTINGS);
}

interface Run {
  readonly name: string;
  /** When it failed; absent for one that did not. */
  readonly failedAt?: string;
  readonly phase?: string;
  readonly exitCode?: number;
  /** What its last container says. */
  readonly words: string;
  readonly uid?: string;
  /** When its last container ended. */
  readonly endedAt?: string;
  /** Somebody has given a Job of his own the labels. */
  readonly isForeign?: true;
}

/** A run of the CronJob: its Job, and the pod of it. */
function putRun(
  kube: FakeKube,
  { name, failedAt, phase, exitCode = 0, words, uid, endedAt = ENDED, isForeign }: Run,
): void {
  const [cronJob] = cronJobs(kube);
  const labels = {
    ...cronJob?.spec.jobTemplate.metadata.labels,
    ...(uid !== undefined && { 'davit.dev/deployment-uid': uid }),
  };
  const { name: of, uid: ofUid } = cronJob?.metadata ?? {};
  const ownerReferences = [{ apiVersion: 'batch/v1', kind: 'CronJob', name: of, uid: ofUid, controller: true }];
  const job = {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name, namespace: 'team', uid: `job-${name}`, labels, ...(isForeign ? {} : { ownerReferences }) },
    ...(failedAt !== undefined && {
      status: {
        conditions: [
          { type: 'Failed', status: 'True', lastTransitionTime: failedAt, message: 'Job has reached its limit' },
        ],
      },
    }),
  };
  kube.seed(JOBS, job as KubeObject);
  const owner = { apiVersion: 'batch/v1', kind: 'Job', name, uid: `job-${name}`, controller: true };
  kube.seed(PODS, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `${name}-x`, namespace: 'team', labels, ownerReferences: [owner] },
    status: {
      phase: phase ?? (failedAt === undefined ? 'Succeeded' : 'Failed'),
      containerStatuses: [
        {
          name: 'davit-upload',
          state: {
            terminated: {
              exitCode,
              reason: exitCode === 0 ? 'Completed' : 'Error',
              message: words,
              finishedAt: endedAt,
            },
          },
        },
      ],
    },
  } as Pod);
}

const sent = (day: string, sizeBytes = 5_000_000): string =>
  JSON.stringify({ name: `202602${day}T020000Z-0000000a`, takenAt: `2026-02-${day}T02:00:00Z`, sizeBytes });

describe('a record that asks for backups', () => {
  it('has a CronJob, in whose pods only one container has the password and only the other the credentials', async () => {
    const { kube, ...controller } = await backedUp();
    const [job, ...more] = cronJobs(kube);
    expect(more).toEqual([]);
    expect(job?.metadata).toMatchObject({ name: NAME, labels: { 'davit.dev/component': 'backup' } });
    expect(job?.spec).toMatchObject({
      schedule: expect.stringMatching(/^\d+ [0-5] \* \* \*$/) as string,
      concurrencyPolicy: 'Forbid',
      jobTemplate: { spec: { backoffLimit: 0, activeDeadlineSeconds: 21_600 } },
    });
    const pod = job?.spec.jobTemplate.spec.template.spec;
    const [dump] = pod?.initContainers ?? [];
    const [upload] = pod?.containers ?? [];
    expect(dump?.image).toBe('docker.io/pgvector/pgvector:0.8.6-pg17-trixie');
    expect(JSON.stringify(dump?.env)).toContain('"secretKeyRef":{"name":"shop--postgres"');
    expect(JSON.stringify(dump)).not.toContain('"store"');
    expect(upload?.image).toBe('registry.example/davit:1');
    expect(JSON.stringify(upload)).not.toContain('shop--postgres');
    // Davit's image names its program by a path from its own working directory.
    expect(upload?.workingDir).toBeUndefined();
    const uid = record(kube).metadata.uid ?? '';
    expect(upload?.args).toEqual(
      expect.arrayContaining(['--namespace=team', '--deployment=shop', `--uid=${uid}`, '--number=0', '--keep=7']),
    );
    // The kubelet makes one $ of it.
    expect(upload?.args.find((one) => one.startsWith('--store='))).toContain('"ca":"$$(CA)"');
    const policies = JSON.stringify(kube.objects(NETWORK_POLICIES));
    expect(policies).toContain('"backup"');
    expect([says(kube, 'BackupReady'), says(kube, 'Ready')]).toEqual(['Unknown BackupPending', 'True Serving']);
    await converge({ kube, ...controller });
    expect(controller.writes()).toEqual([]);
  });

  it('changes its schedule without a revision, and ends them', async () => {
    const controller = await backedUp();
    const { kube } = controller;
    await edit(kube, { spec: withBackup({ schedule: '0 3 * * *', timeZone: 'Europe/Berlin', keep: 3, keepDays: 30 }) });
    await converge(controller);
    expect(cronJobs(kube)[0]?.spec).toMatchObject({ schedule: '0 3 * * *', timeZone: 'Europe/Berlin' });
    expect(JSON.stringify(cronJobs(kube))).toContain('"--keep=3","--keep-days=30"');
    await edit(kube, { spec: withBackup({ schedule: '@every 6h' }) });
    await converge(controller);
    // An hour alone would leave no run due.
    expect(cronJobs(kube)[0]?.spec).toMatchObject({ startingDeadlineSeconds: 25_200 });
    expect(kube.objects(APP_REVISIONS)).toHaveLength(1);
    for (const backup of [{ enabled: false }, { enabled: true }, null]) {
      await edit(kube, { spec: { sourceConfig: { database: { backup } } } });
      await converge(controller);
      const isOn = backup?.enabled === true;
      const reason = conditionIn(kube, 'BackupReady')?.reason;
      expect([cronJobs(kube).length, reason]).toEqual(isOn ? [1, 'BackupPending'] : [0, 'NotConfigured']);
      expect(JSON.stringify(kube.objects(NETWORK_POLICIES)).includes('"backup"')).toBe(isOn);
    }
  });

  it('has them beside its tasks, and neither removes the other', async () => {
    const kube = aServer();
    putStoreCredentials(kube);
    const tasks = [{ name: 'backup', schedule: '@hourly', command: ['x'] }];
    const controller = await aConverged({ sourceConfig: { tasks, database: { backup: {} } } }, kube, SETTINGS);
    expect(cronJobs(kube).map(({ metadata }) => metadata.name)).toEqual([NAME, 'shop--backup']);
    await edit(kube, { spec: { sourceConfig: { tasks: null }, revisionSerial: 2 } });
    await converge(controller);
    expect(cronJobs(kube).map(({ metadata }) => metadata.name)).toEqual([NAME]);
  });

  it('takes CronJob and runs with it when it is deleted', async () => {
    const controller = await backedUp();
    const { kube } = controller;
    putRun(kube, { name: 'run-1', words: sent('02') });
    await gone(kube, APP_DEPLOYMENTS, 'shop');
    await takeDown(controller);
    expect([kube.objects(APP_DEPLOYMENTS), cronJobs(kube)]).toEqual([[], []]);
  });
});

describe('while no revision has served yet', () => {
  /** Makes the stores answer, and no pod of the application. */
  async function answering(spec: object): Promise<MemoryController> {
    const kube = aServer();
    putStoreCredentials(kube);
    putRecord(kube, spec);
    const controller = await aController(kube, SETTINGS);
    await controller.reconcile();
    await makeWorkloadsReady(kube, [STATEFUL_SETS]);
    await rest(controller);
    expect(newestRevision(kube).status?.state).not.toBe('DEPLOYED');
    return controller;
  }
  const rest = async ({ reconcile }: MemoryController): Promise<void> => {
    for (let pass = 0; pass < 4; pass += 1) {
      await reconcile();
    }
  };

  it('a database that answers has its CronJob, because a server that crashes may have written', async () => {
    const controller = await answering(withBackup());
    const { kube } = controller;
    expect(cronJobs(kube).map(({ metadata }) => metadata.name)).toEqual([NAME]);
    putPod(kube, 'server', newestRevision(kube).spec.id, crashing(9));
    await rest(controller);
    controller.writes();
    await controller.reconcile();
    expect([controller.writes(), cronJobs(kube).length]).toEqual([[], 1]);
    await edit(kube, { spec: { sourceConfig: { database: null } } });
    await rest(controller);
    expect(cronJobs(kube)).toEqual([]);
  });

  it('a database that does not answer has none, and keeps one while it is away', async () => {
    const kube = aServer();
    putStoreCredentials(kube);
    putRecord(kube, withBackup());
    const early = await aController(kube, SETTINGS);
    await rest(early);
    expect(cronJobs(kube)).toEqual([]);
    const controller = await answering(withBackup());
    for (const { metadata } of controller.kube.objects(STATEFUL_SETS)) {
      const writing = { fieldManager: 'kube-controller-manager', subresource: 'status' } as const;
      await controller.kube.mergePatch(
        STATEFUL_SETS,
        { namespace: 'team', name: metadata.name },
        { status: { readyReplicas: 0 } },
        writing,
      );
    }
    await rest(controller);
    expect(cronJobs(controller.kube)).toHaveLength(1);
  });

  it('a database that waits for its restore has none yet: an empty dump would be the newest backup', async () => {
    const { kube } = await answering({ sourceConfig: { database: { backup: {}, restore: { from: 'old' } } } });
    expect(kube.objects(JOBS)).toHaveLength(1);
    expect(cronJobs(kube)).toEqual([]);
  });

  it('its tasks do not run; where the status of what served was lost, they are left alone', async () => {
    const task = { name: 'tidy', command: ['tidy'], schedule: '@daily' };
    const spec = { sourceConfig: { database: { backup: {} }, tasks: [task] } };
    const { kube } = await answering(spec);
    expect(cronJobs(kube).map(({ metadata }) => metadata.name)).toEqual([NAME]);
    await makeWorkloadsReady(kube);
    const served = await aController(kube, SETTINGS);
    await rest(served);
    const all = cronJobs(kube).map(({ metadata }) => metadata.name);
    expect(all).toHaveLength(2);
    await kube.mergePatch(
      APP_REVISIONS,
      { namespace: 'team', name: newestRevision(kube).metadata.name },
      { status: null },
      { fieldManager: 'restore', subresource: 'status' },
    );
    await gone(kube, STATEFUL_SETS, 'shop--postgres');
    await served.reconcile();
    expect(cronJobs(kube).map(({ metadata }) => metadata.name)).toEqual(all);
  });
});

describe('the status claims', () => {
  it('a backup when the pod that sent it says so, and keeps it when pod and Job are gone', async () => {
    const controller = await backedUp();
    const { kube } = controller;
    putRun(kube, { name: 'run-1', words: sent('02') });
    await converge(controller);
    const expected = { name: '20260202T020000Z-0000000a', lastSuccessAt: '2026-02-02T02:00:00Z', sizeBytes: 5_000_000 };
    expect(reported(kube)).toEqual(expected);
    expect([says(kube, 'BackupReady'), message(kube)]).toEqual([
      'True BackedUp',
      'The last backup, 20260202T020000Z-0000000a, has the state of 2026-02-02T02:00:00Z (4.8 MiB).',
    ]);
    await gone(kube, PODS, 'run-1-x');
    await gone(kube, JOBS, 'run-1');
    await converge(controller);
    expect(reported(kube)).toEqual(expected);
  });

  it.each([
    ['of a pod that failed', { exitCode: 1, words: sent('02') }],
    ['of a pod of another life', { uid: 'other', words: sent('02') }],
    ['without its own words', { words: '' }],
    ['with other words', { words: '{"name": 1, "takenAt": "2026-02-02T02:00:00Z", "sizeBytes": 1}' }],
    [
      'with a name that is none',
      { words: '{"name": "\\u001b[2Ja\\nREADY", "takenAt": "2026-02-02T02:00:00Z", "sizeBytes": 1}' },
    ],
    [
      'with a time that is none',
      { words: '{"name": "20260202T020000Z-0000000a", "takenAt": "yesterday", "sizeBytes": 1}' },
    ],
    [
      'of a time after its end, which would outlive all later ones',
      { words: '{"name": "20991231T000000Z-deadbeef", "takenAt": "2099-12-31T00:00:00Z", "sizeBytes": 1}' },
    ],
    ['null', { words: 'null' }],
  ])('none %s', async (_what, run) => {
    const controller = await backedUp();
    putRun(controller.kube, { name: 'run-1', ...run });
    await converge(controller);
    expect(reported(controller.kube)).toBeUndefined();
    expect(says(controller.kube, 'BackupReady')).toBe('Unknown BackupPending');
  });

  it('a failure with its last words and the backup before it, and forgets it after a success', async () => {
    const controller = await backedUp();
    const { kube } = controller;
    putRun(kube, { name: 'run-1', words: sent('02') });
    await converge(controller);
    putRun(kube, { name: 'run-2', failedAt: '2026-02-03T02:01:00Z', exitCode: 1, words: 'The store is full.' });
    await converge(controller);
    expect(says(kube, 'BackupReady')).toBe('False BackupFailing');
    expect(message(kube)).toBe(
      'The last run failed at 2026-02-03T02:01:00Z. The upload of the backup failed (Error, exit code 1): The store is full. The last backup is 20260202T020000Z-0000000a. To try again: kubectl davit backup shop -n team.',
    );
    expect(says(kube, 'Ready')).toBe('True Serving');
    await gone(kube, PODS, 'run-2-x');
    await converge(controller);
    expect(message(kube)).toContain('The store is full');
    putRun(kube, { name: 'run-3', words: sent('04') });
    await converge(controller);
    expect([says(kube, 'BackupReady'), reported(kube)?.name]).toEqual(['True BackedUp', '20260204T020000Z-0000000a']);
    expect(controller.writes()).toEqual([]);
  });

  it('no failure of a Job that only has the labels of its own', async () => {
    const controller = await backedUp();
    const { kube } = controller;
    putRun(kube, { name: 'mine', failedAt: '2026-02-03T02:01:00Z', exitCode: 1, words: 'no', isForeign: true });
    await converge(controller);
    expect([reported(kube), says(kube, 'BackupReady')]).toEqual([undefined, 'Unknown BackupPending']);
  });

  it('no failure before the words of its pod are there', async () => {
    const controller = await backedUp();
    const { kube } = controller;
    putRun(kube, { name: 'run-1', failedAt: '2026-02-03T02:01:00Z', phase: 'Running', exitCode: 1, words: 'late' });
    await converge(controller);
    expect(reported(kube)).toBeUndefined();
    await kube.mergePatch(
      PODS,
      { namespace: 'team', name: 'run-1-x' },
      { status: { phase: 'Failed' } },
      { fieldManager: 'kubelet', subresource: 'status' },
    );
    await converge(controller);
    expect(reported(kube)?.lastFailure).toContain('late');
  });

  it('an older backup is too old, of which no watch informs', async () => {
    const controller = await backedUp({ staleAfterHours: 24 });
    const { kube, clock } = controller;
    putRun(kube, { name: 'run-1', words: sent('02') });
    await converge(controller);
    const { requeueAfterMs = 0 } = await controller.reconcile();
    clock.ms += requeueAfterMs;
    await converge(controller);
    expect(says(kube, 'BackupReady')).toBe('False BackupStale');
    expect(message(kube)).toContain('is from 2026-02-02T02:00:00Z');
  });

  it('the same where there never was one', async () => {
    const controller = await backedUp({ staleAfterHours: 24 });
    const { kube, clock } = controller;
    clock.ms += 24 * 3_600_000;
    await converge(controller);
    await converge(controller);
    expect([says(kube, 'BackupReady'), message(kube)]).toEqual([
      'False BackupStale',
      'No backup was made within stale_after_hours. Check the schedule and its CronJob.',
    ]);
    clock.ms += 1000;
    await converge(controller);
    expect(controller.writes()).toEqual([]);
  });
});

describe('the status lists', () => {
  const nameOf = (day: string): string => `202602${day}T020000Z-0000000a`;
  /** What the pod of the backup of a day says, which has listed the store. */
  const listing = (day: string, stored: readonly [day: string, marks: string][], count = stored.length): string =>
    JSON.stringify({
      ...(JSON.parse(sent(day)) as object),
      number: 0,
      postgresVersion: 17,
      databases: 3,
      roles: 4,
      stored: { count, newest: stored.map(([one, marks]) => [nameOf(one), 2048, marks]) },
    });
  const listed = (kube: FakeKube): unknown =>
    record(kube).status?.databaseBackups?.newest.map(({ name, takenAt: _at, ...one }) => [name.slice(6, 8), one]);
  const MADE = { sizeBytes: 2048, number: 0, postgresVersion: 17, databases: 3, roles: 4 };

  it('what the store had after the last run, with what earlier runs have said, and rests', async () => {
    const controller = await backedUp();
    const { kube } = controller;
    putRun(kube, {
      name: 'run-1',
      words: listing('02', [
        ['02', ''],
        ['01', 'e'],
      ]),
      endedAt: '2026-02-02T02:00:05Z',
    });
    await converge(controller);
    expect(record(kube).status?.databaseBackups).toMatchObject({ listedAt: '2026-02-02T02:00:05Z', count: 2 });
    expect(listed(kube)).toEqual([
      ['02', MADE],
      ['01', { sizeBytes: 2048, earlier: true }],
    ]);
    // Nobody saw the run of the 3rd, and somebody has deleted the one of the 1st.
    putRun(kube, {
      name: 'run-2',
      words: listing(
        '04',
        [
          ['04', 'h'],
          ['03', ''],
          ['02', ''],
        ],
        3,
      ),
      endedAt: '2026-02-04T02:00:05Z',
    });
    await converge(controller);
    const after = [
      ['04', { ...MADE, byHand: true }],
      ['03', { sizeBytes: 2048 }],
      ['02', MADE],
    ];
    expect(listed(kube)).toEqual(after);
    await gone(kube, PODS, 'run-2-x');
    await gone(kube, JOBS, 'run-2');
    await converge(controller);
    expect(listed(kube)).toEqual(after);
    controller.writes();
    await controller.reconcile();
    expect(controller.writes()).toEqual([]);
  });

  it('a backup whose run could not list the store, and one that the store does not list yet', async () => {
    const controller = await backedUp();
    const { kube } = controller;
    putRun(kube, { name: 'run-1', words: sent('02', 2048), endedAt: '2026-02-02T02:00:05Z' });
    await converge(controller);
    expect(listed(kube)).toEqual([['02', { sizeBytes: 2048 }]]);
    putRun(kube, { name: 'run-2', words: listing('03', [['02', '']]), endedAt: '2026-02-03T02:00:05Z' });
    await converge(controller);
    expect([record(kube).status?.databaseBackups?.count, listed(kube)]).toEqual([
      2,
      [
        ['03', { ...MADE, sizeBytes: 5_000_000 }],
        ['02', { sizeBytes: 2048 }],
      ],
    ]);
  });

  it('nothing of a run that began later and ended earlier', async () => {
    const controller = await backedUp();
    const { kube } = controller;
    putRun(kube, {
      name: 'late',
      words: listing('02', [
        ['03', ''],
        ['02', ''],
      ]),
      endedAt: '2026-02-03T02:09:00Z',
    });
    putRun(kube, { name: 'early', words: listing('03', [['03', '']]), endedAt: '2026-02-03T02:01:00Z' });
    await converge(controller);
    expect(record(kube).status?.databaseBackups?.count).toBe(2);
  });

  it('which one was verified, and its schedule keeps that one', async () => {
    const controller = await backedUp();
    const { kube } = controller;
    putRun(kube, { name: 'run-1', words: listing('02', [['02', '']]) });
    await kube.mergePatch(
      APP_DEPLOYMENTS,
      { namespace: 'team', name: 'shop' },
      { status: { databaseVerification: { name: nameOf('02') } } },
      { fieldManager: 'before', subresource: 'status' },
    );
    await converge(controller);
    expect(listed(kube)).toEqual([['02', { ...MADE, verified: true }]]);
    expect(JSON.stringify(cronJobs(kube))).toContain(`"--verified=${nameOf('02')}"`);
  });
});

describe('a database that begins empty because a person gave up the one before', () => {
  async function begunEmpty(): Promise<MemoryController> {
    const controller = await backedUp();
    const { kube } = controller;
    putRun(kube, { name: 'run-1', words: sent('02') });
    await converge(controller);
    const place = { namespace: 'team', name: 'shop--postgres' };
    kube.erase(PERSISTENT_VOLUME_CLAIMS, place);
    await converge(controller);
    expect(cronJobs(kube)[0]?.spec.suspend).toBe(false);
    const uid = record(kube).status?.databaseVolumeUid ?? '';
    await edit(kube, { metadata: { annotations: { 'davit.dev/empty-database': uid } } });
    await converge(controller);
    expect(says(kube, 'Ready')).toBe('True Serving');
    return controller;
  }

  it('is not backed up on schedule over the good ones, which the condition says with both ways on', async () => {
    const controller = await begunEmpty();
    const { kube } = controller;
    expect([cronJobs(kube)[0]?.spec.suspend, says(kube, 'BackupReady')]).toEqual([true, 'False BackupsHeld']);
    expect(message(kube)).toContain(
      'kubectl davit database restore shop -n team --backup 20260202T020000Z-0000000a. To back up the current database from now on: kubectl davit backup shop -n team.',
    );
    // Nor when the annotation is taken off again, or a run that had begun before ends.
    await edit(kube, { metadata: { annotations: { 'davit.dev/empty-database': null } } });
    putRun(kube, { name: 'run-2', words: sent('03') });
    await converge(controller);
    expect([cronJobs(kube)[0]?.spec.suspend, says(kube, 'BackupReady')]).toEqual([true, 'False BackupsHeld']);
    controller.writes();
    await controller.reconcile();
    expect(controller.writes()).toEqual([]);
  });

  it('is backed up again after a backup that somebody asked for', async () => {
    const controller = await begunEmpty();
    const { kube } = controller;
    putRun(kube, { name: 'asked', words: JSON.stringify({ ...(JSON.parse(sent('04')) as object), byHand: true }) });
    await converge(controller);
    expect([cronJobs(kube)[0]?.spec.suspend, says(kube, 'BackupReady')]).toEqual([false, 'True BackedUp']);
    await gone(kube, PODS, 'asked-x');
    await converge(controller);
    expect(cronJobs(kube)[0]?.spec.suspend).toBe(false);
  });
});

describe('says what is missing', () => {
  it('without a store', async () => {
    const { kube } = await aConverged(withBackup());
    expect([says(kube, 'BackupReady'), cronJobs(kube)]).toEqual(['False BackupStoreMissing', []]);
    expect(says(kube, 'Ready')).toBe('True Serving');
  });

  it('without credentials, and goes on when they come', async () => {
    const controller = await aConverged(withBackup(), aServer(), SETTINGS);
    const { kube } = controller;
    expect(says(kube, 'BackupReady')).toBe('False BackupCredentialsMissing');
    expect(message(kube)).toContain('Secret davit-backup-store is missing in namespace team');
    const woken = controller.wake();
    await woken.take();
    putStoreCredentials(kube);
    expect(await woken.take()).toContain(KEY);
    woken.stop();
    await converge(controller);
    expect(says(kube, 'BackupReady')).toBe('Unknown BackupPending');
  });

  it('of a database that is not its own', async () => {
    const kube = aServer();
    putStoreCredentials(kube);
    const runtime = { database: 'none' as const };
    await aConverged({ sourceConfig: { runtime, database: { backup: {} } } }, kube, SETTINGS);
    expect([says(kube, 'BackupReady'), cronJobs(kube)]).toEqual(['False BackupNotPossible', []]);
  });

  it('of a pod that cannot begin', async () => {
    const controller = await backedUp();
    const { kube } = controller;
    const [cronJob] = cronJobs(kube);
    const owner = { apiVersion: 'batch/v1', kind: 'Job', name: 'run-1', uid: 'j', controller: true };
    kube.seed(PODS, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name: 'run-1-x',
        namespace: 'team',
        labels: { ...cronJob?.spec.jobTemplate.metadata.labels },
        ownerReferences: [owner],
      },
      status: {
        phase: 'Pending',
        containerStatuses: [
          {
            name: 'davit-upload',
            image: 'registry.example/davit:1',
            state: { waiting: { reason: 'ImagePullBackOff', message: 'no' } },
          },
        ],
      },
    } as Pod);
    await converge(controller);
    expect(says(kube, 'BackupReady')).toBe('False BackupFailing');
    expect(message(kube)).toMatch(/^A backup cannot begin\. Image registry\.example\/davit:1/);
  });
});
