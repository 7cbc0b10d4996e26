// Verifications of the backups of an own PostgreSQL: one CronJob, and what the status claims of its runs.

import { describe, expect, it } from 'vitest';
import type { Pod } from '../../../src/deploy/assess/observed.ts';
import { APP_DEPLOYMENTS } from '../../../src/kinds/app-deployment.ts';
import type { DatabaseBackup, DatabaseVerificationStatus } from '../../../src/kinds/database.ts';
import { Settings } from '../../../src/kinds/settings.ts';
import { CRON_JOBS, JOBS, NETWORK_POLICIES, PODS } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import type { MemoryController } from '../../kit/memory/controller.ts';
import { aServer, conditionIn, edit, record, says } from '../../kit/memory/record.ts';
import type { FakeKube } from '../../support/fake-kube/fake-kube.ts';
import { aConverged, converge, gone, putStoreCredentials } from './harness.ts';

const settingsWith = (backups: object = {}): Settings =>
  Settings.parse({
    backups: {
      default: { enabled: false },
      store: { endpoint: 'https://s3.example', bucket: 'backups' },
      image: 'registry.example/davit:1',
      ...backups,
    },
  });
const NAME = 'shop---verify';

/** When each container has ended. */
const ENDED = '2026-03-01T00:00:00Z';

interface Container {
  readonly name: string;
  readonly image: string;
  readonly args?: readonly string[];
  readonly env?: readonly { readonly name: string; readonly value?: string }[];
  readonly restartPolicy?: string;
}
interface CronJob extends KubeObject {
  readonly spec: {
    readonly schedule: string;
    readonly timeZone?: string;
    readonly jobTemplate: {
      readonly metadata: { readonly labels: Record<string, string> };
      readonly spec: {
        readonly template: {
          readonly spec: {
            readonly initContainers: readonly Container[];
            readonly containers: readonly Container[];
            readonly volumes: readonly object[];
          };
        };
      };
    };
  };
}
const jobOf = (kube: FakeKube, name = NAME): CronJob | undefined =>
  kube.objects<CronJob>(CRON_JOBS).find(({ metadata }) => metadata.name === name);
const scriptOfBackup = (kube: FakeKube): string => JSON.stringify(jobOf(kube, 'shop---backup')?.spec.jobTemplate ?? '');
const reported = (kube: FakeKube): DatabaseVerificationStatus | undefined => record(kube).status?.databaseVerification;
const message = (kube: FakeKube): string => conditionIn(kube, 'BackupVerified')?.message ?? '';

async function verified(
  backup: DatabaseBackup = { verify: true },
  settings = settingsWith(),
): Promise<MemoryController> {
  const kube = aServer();
  putStoreCredentials(kube);
  return aConverged({ sourceConfig: { database: { backup } } }, kube, settings);
}

interface Run {
  readonly name: string;
  readonly component?: string;
  readonly container?: string;
  /** When it failed; absent for one that did not. */
  readonly failedAt?: string;
  readonly exitCode?: number;
  readonly words: string;
}

/** A Job that has ended, with its pod. */
function putRun(
  kube: FakeKube,
  { name, component = 'verify', container = 'davit-compare', failedAt, exitCode, words }: Run,
): void {
  const labels = {
    ...jobOf(kube)?.spec.jobTemplate.metadata.labels,
    'davit.dev/component': component,
  };
  const ended = { type: failedAt === undefined ? 'Complete' : 'Failed', status: 'True', lastTransitionTime: failedAt };
  const { name: of, uid: ofUid } = jobOf(kube)?.metadata ?? {};
  const ownerReferences = [{ apiVersion: 'batch/v1', kind: 'CronJob', name: of, uid: ofUid, controller: true }];
  kube.seed(JOBS, {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name, namespace: 'team', labels, ownerReferences },
    status: { conditions: [ended] },
  } as KubeObject);
  const job = kube.objects(JOBS).find(({ metadata }) => metadata.name === name);
  const owner = { apiVersion: 'batch/v1', kind: 'Job', name, uid: job?.metadata.uid ?? '', controller: true };
  const code = exitCode ?? (failedAt === undefined ? 0 : 1);
  const reason = code === 0 ? 'Completed' : 'Error';
  const state = { terminated: { exitCode: code, reason, message: words, finishedAt: ENDED } };
  kube.seed(PODS, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `${name}-x`, namespace: 'team', labels, ownerReferences: [owner] },
    status: {
      phase: code === 0 ? 'Succeeded' : 'Failed',
      initContainerStatuses: [{ name: 'davit-server', state: { terminated: { exitCode: 137, message: 'shut down' } } }],
      containerStatuses: [{ name: container, state }],
    },
  } as Pod);
}

const BACKUP = '20260202T020000Z-0000000a';
const putBackup = (kube: FakeKube): void =>
  putRun(kube, {
    name: 'backup-1',
    component: 'backup',
    container: 'davit-upload',
    words: JSON.stringify({ name: BACKUP, takenAt: '2026-02-02T02:00:00Z', sizeBytes: 5_000_000 }),
  });
const report = (day: string, more: object = {}): string =>
  JSON.stringify({
    name: BACKUP,
    takenAt: '2026-02-02T02:00:00Z',
    comparedAt: `2026-02-${day}T07:00:00Z`,
    tables: 3,
    rows: 4200,
    ...more,
  });

async function backedUp(backup?: DatabaseBackup): Promise<MemoryController> {
  const controller = await verified(backup);
  putBackup(controller.kube);
  await converge(controller);
  return controller;
}

describe('a record that asks for verifications', () => {
  it('has a CronJob whose pods have no password, and no way to its database', async () => {
    const { kube, ...controller } = await verified();
    const job = jobOf(kube);
    expect(job?.spec.schedule).toMatch(/^\d+ ([6-9]|1[01]) \* \* [0-6]$/);
    const pod = job?.spec.jobTemplate.spec.template.spec;
    const all = [...(pod?.initContainers ?? []), ...(pod?.containers ?? [])];
    expect(all.map(({ name }) => name)).toEqual([
      'davit-server',
      'davit-check',
      'davit-fetch',
      'davit-restore',
      'davit-compare',
    ]);
    expect(JSON.stringify(job)).not.toContain('shop--postgres');
    expect(JSON.stringify(job)).not.toContain('persistentVolumeClaim');
    const [server, check, fetch, restore, compare] = all;
    expect([server?.restartPolicy, server?.image, check?.image, restore?.image]).toEqual([
      'Always',
      ...Array.from({ length: 3 }, () => 'docker.io/pgvector/pgvector:0.8.6-pg17-trixie'),
    ]);
    for (const one of [check, restore]) expect(one?.env).toContainEqual({ name: 'PGHOST', value: '127.0.0.1' });
    expect(fetch?.args).toContainEqual(
      expect.stringMatching(new RegExp(`^--tenant=[^/]+/${record(kube).metadata.uid}$`)),
    );
    expect(JSON.stringify([server, check, restore, compare])).not.toContain('"/store"');
    // Its own server is in its pod.
    expect(JSON.stringify(kube.objects(NETWORK_POLICIES))).not.toContain('"verify"');
    expect(scriptOfBackup(kube)).toContain('pg_export_snapshot');
    expect([says(kube, 'BackupVerified'), says(kube, 'Ready')]).toEqual([
      'Unknown VerificationPending',
      'True Serving',
    ]);
    await converge({ kube, ...controller });
    expect(controller.writes()).toEqual([]);
  });

  it('asks for the backup that its status names', async () => {
    const { kube, writes } = await backedUp();
    expect(JSON.stringify(jobOf(kube))).toContain(`"--known=${BACKUP}"`);
    expect(writes()).toEqual([]);
  });

  it('changes its schedule without a revision, and ends them with its backups', async () => {
    const controller = await verified({ verify: true, timeZone: 'Europe/Berlin', verifySchedule: '0 12 * * 6' });
    const { kube } = controller;
    expect(jobOf(kube)?.spec).toMatchObject({ schedule: '0 12 * * 6', timeZone: 'Europe/Berlin' });
    for (const [backup, isOn] of [
      [{ verify: false }, false],
      [{ verify: true }, true],
      [{ enabled: false }, false],
    ] as const) {
      await edit(kube, { spec: { sourceConfig: { database: { backup } } } });
      await converge(controller);
      expect([jobOf(kube) !== undefined, conditionIn(kube, 'BackupVerified') !== undefined]).toEqual([isOn, isOn]);
      expect(scriptOfBackup(kube).includes('pg_export_snapshot')).toBe(isOn);
    }
  });

  it.each([
    ['by the platform', {}, true],
    ['by nobody', { verify: false }, false],
  ])('%s', async (_who, backup, isOn) => {
    const { kube } = await verified(backup, settingsWith({ verify: true }));
    expect([jobOf(kube) !== undefined, conditionIn(kube, 'BackupVerified') !== undefined]).toEqual([isOn, isOn]);
  });
});

describe('the status claims', () => {
  it('a verification when the container that compared says so, and keeps it when pod and Job are gone', async () => {
    const controller = await backedUp();
    const { kube } = controller;
    putRun(kube, { name: 'run-1', words: report('03') });
    await converge(controller);
    const expected = {
      name: BACKUP,
      takenAt: '2026-02-02T02:00:00Z',
      verifiedAt: '2026-02-03T07:00:00Z',
      tables: 3,
      rows: 4200,
    };
    expect([says(kube, 'BackupVerified'), reported(kube)]).toEqual(['True Verified', expected]);
    expect(message(kube)).toBe(
      `Backup ${BACKUP}, which has the state of 2026-02-02T02:00:00Z, was restored into a temporary server at 2026-02-03T07:00:00Z and had all of its 4200 rows in 3 tables.`,
    );
    await gone(kube, PODS, 'run-1-x');
    await gone(kube, JOBS, 'run-1');
    await converge(controller);
    expect([reported(kube), controller.writes()]).toEqual([expected, []]);
  });

  it.each([
    ['of a pod that failed', { words: report('03'), exitCode: 1 }],
    ['of another container', { words: report('03'), container: 'davit-restore' }],
    ['of a pod of a backup', { words: report('03'), component: 'backup' }],
    ['without words', { words: '' }],
    ['with other words', { words: '{"name": "x"}' }],
    ['with a time that is none', { words: report('03', { comparedAt: 'now' }) }],
    ['of a time after its end', { words: report('03', { comparedAt: '2099-12-31T00:00:00Z' }) }],
    ['of a Job that says nothing', { words: 'null' }],
  ])('none %s', async (_what, run) => {
    const controller = await backedUp();
    putRun(controller.kube, { name: 'run-1', ...run });
    await converge(controller);
    expect(reported(controller.kube)).toBeUndefined();
    expect(says(controller.kube, 'BackupVerified')).toBe('Unknown VerificationPending');
  });

  it('a failure with its last words, although it was verified before, and forgets it after a verification', async () => {
    const controller = await backedUp();
    const { kube } = controller;
    putRun(kube, { name: 'run-1', words: report('03') });
    await converge(controller);
    putRun(kube, { name: 'run-2', failedAt: '2026-02-04T07:01:00Z', words: `Backup ${BACKUP} is damaged.` });
    await converge(controller);
    expect([says(kube, 'BackupVerified'), says(kube, 'Ready')]).toEqual(['False VerificationFailing', 'True Serving']);
    expect(message(kube)).toBe(
      `The last verification failed at 2026-02-04T07:01:00Z. The comparison of the verification failed (Error, exit code 1): Backup ${BACKUP} is damaged. Backup ${BACKUP} was verified last, at 2026-02-03T07:00:00Z. To try again: kubectl create job --from=cronjob/${NAME} ${NAME}-$(date +%s) -n team.`,
    );
    putRun(kube, { name: 'run-3', words: report('05') });
    await converge(controller);
    expect([says(kube, 'BackupVerified'), controller.writes()]).toEqual(['True Verified', []]);
  });

  it('nothing of a backup without counts, although it could be restored', async () => {
    const controller = await backedUp();
    const { kube } = controller;
    const uncompared = `Backup ${BACKUP} has no counts in its manifest: verification was off when it was made`;
    putRun(kube, { name: 'run-1', words: report('03', { uncompared }) });
    await converge(controller);
    expect(says(kube, 'BackupVerified')).toBe('Unknown VerificationWithoutCounts');
    expect(message(kube)).toMatch(
      /^Backup .* verification was off when it was made\. It was restored at .* No backup has been/,
    );
    expect(reported(kube)).toEqual({ lastUncompared: uncompared, lastUncomparedAt: '2026-02-03T07:00:00Z' });
    putRun(kube, { name: 'run-2', words: report('04') });
    await converge(controller);
    expect(says(kube, 'BackupVerified')).toBe('True Verified');
  });

  it('nothing of a run that found no backup, while there is none', async () => {
    const controller = await verified();
    const { kube } = controller;
    putRun(kube, { name: 'run-1', failedAt: '2026-02-04T07:01:00Z', words: 'There is no complete backup.' });
    await converge(controller);
    expect(says(kube, 'BackupVerified')).toBe('Unknown VerificationPending');
    expect(message(kube)).toContain('There is no backup to verify yet');
  });

  it('that a verification is too old, of which no watch informs', async () => {
    const controller = await backedUp({ verify: true, verifyStaleAfterHours: 24, staleAfterHours: 8760 });
    const { kube, clock } = controller;
    putRun(kube, { name: 'run-1', words: report('03') });
    await converge(controller);
    clock.ms = Date.parse('2026-02-03T07:00:00Z');
    await converge(controller);
    expect(says(kube, 'BackupVerified')).toBe('True Verified');
    const { requeueAfterMs = Infinity } = await controller.reconcile();
    expect(requeueAfterMs).toBeLessThanOrEqual(24 * 3_600_000);
    clock.ms += 24 * 3_600_000;
    await converge(controller);
    expect(says(kube, 'BackupVerified')).toBe('False VerificationStale');
    expect(message(kube)).toMatch(
      /^No backup was verified within verify_stale_after_hours\. Backup .* was verified last, at 2026-02-03T07:00:00Z\./,
    );
  });

  it('the same where there never was one', async () => {
    const controller = await backedUp({ verify: true, verifyStaleAfterHours: 24, staleAfterHours: 8760 });
    const { kube, clock } = controller;
    clock.ms += 25 * 3_600_000;
    await converge(controller);
    expect(says(kube, 'BackupVerified')).toBe('False VerificationStale');
    clock.ms += 1000;
    await converge(controller);
    expect(controller.writes()).toEqual([]);
  });
});

it('nothing remains of them when the record is deleted', async () => {
  const controller = await verified();
  const { kube } = controller;
  await kube.remove(APP_DEPLOYMENTS, { namespace: 'team', name: 'shop' }, { uid: record(kube).metadata.uid ?? '' });
  for (let pass = 0; pass < 12; pass += 1) {
    await controller.reconcile();
  }
  expect(kube.objects(CRON_JOBS)).toEqual([]);
});
