// Archives of Clusters over the in-memory API server: made, reported on, begun with, and what of them outlives a record.

import { describe, expect, it } from 'vitest';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../../src/kinds/app-deployment.ts';
import { Settings } from '../../../src/kinds/settings.ts';
import { NotFound } from '../../../src/runtime/errors.ts';
import {
  BASE_BACKUPS,
  DEPLOYMENTS,
  OBJECT_STORES,
  PODS,
  POSTGRES_CLUSTERS,
  SCHEDULED_BACKUPS,
  SECRETS,
} from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject, Resource } from '../../../src/runtime/kube/client.ts';
import { restWithOperator, tornDown } from '../../kit/memory/cloudnative-pg.ts';
import { aController, KEY, type MemoryController } from '../../kit/memory/controller.ts';
import { ask } from '../../kit/memory/operations.ts';
import { aServer, conditionIn, deleteRecord, edit, putRecord, record, says } from '../../kit/memory/record.ts';
import type { FakeKube } from '../../support/fake-kube/fake-kube.ts';

const SETTINGS = Settings.parse({
  backups: {
    default: { enabled: false },
    store: { endpoint: 'https://s3.example', bucket: 'backups', ca: 'PEM' },
    image: 'registry.example/davit:1',
  },
});
const CLUSTER = { driver: 'cloudnative-pg', instances: 1 } as const;
const ARCHIVED: Partial<AppDeployment['spec']> = {
  sourceConfig: { database: { ...CLUSTER, archive: { keepDays: 3, schedule: '30 2 * * *' } } },
};
const BACKUP_AT = '2026-02-02T02:00:00Z';

type Any = KubeObject & { readonly spec?: Record<string, unknown>; readonly status?: Record<string, unknown> };

function one(kube: FakeKube, resource: Resource, name?: string): Any | undefined {
  return kube.objects<Any>(resource).find(({ metadata }) => name === undefined || metadata.name === name);
}
function names(kube: FakeKube, resource: Resource): string[] {
  return kube.objects(resource).map(({ metadata }) => metadata.name);
}

/** What CloudNativePG and its plugin say of the Cluster and of each archive. */
async function reported(kube: FakeKube, conditions: readonly object[], window: object): Promise<void> {
  for (const resource of [POSTGRES_CLUSTERS, OBJECT_STORES])
    for (const { metadata, status } of kube.objects<Any>(resource)) {
      const said =
        resource === OBJECT_STORES ? { serverRecoveryWindow: { 'shop--postgres': window } } : { ...status, conditions };
      await kube.mergePatch(
        resource,
        { namespace: metadata.namespace ?? '', name: metadata.name },
        { status: said },
        { fieldManager: 'cloudnative-pg', subresource: 'status' },
      );
    }
}

const rest = (controller: MemoryController, after?: () => Promise<void>): Promise<void> =>
  restWithOperator(controller, { after });

const TRUE = [{ type: 'ContinuousArchiving', status: 'True', message: 'Continuous archiving is working' }];
const WINDOW = { firstRecoverabilityPoint: BACKUP_AT, lastSuccessfulBackupTime: BACKUP_AT };

const KEYS = {
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'davit-backup-store', namespace: 'team' },
} as KubeObject;

function withStore(): FakeKube {
  const kube = aServer();
  kube.seed(SECRETS, KEYS);
  return kube;
}

async function archived(spec = ARCHIVED): Promise<MemoryController> {
  const kube = withStore();
  putRecord(kube, spec);
  const controller = await aController(kube, SETTINGS);
  await rest(controller);
  return controller;
}

it('is an ObjectStore, a plugin of the Cluster and a schedule, and rests', async () => {
  const { kube } = await archived();
  const life = record(kube).metadata.uid?.slice(0, 8);
  const store = one(kube, OBJECT_STORES);
  const secret = kube
    .objects<Any & { data?: Record<string, string> }>(SECRETS)
    .find(({ metadata }) => metadata.name.includes('---store-'));
  expect(store).toMatchObject({
    metadata: { name: `shop---archive-${life}` },
    spec: {
      retentionPolicy: '3d',
      configuration: {
        destinationPath: `s3://backups/davit/team/shop--archive/${record(kube).metadata.uid}`,
        endpointURL: 'https://s3.example',
        endpointCA: { name: secret?.metadata.name, key: 'ca.crt' },
        s3Credentials: { accessKeyId: { name: 'davit-backup-store', key: 'accessKeyId' } },
      },
    },
  });
  expect(store?.metadata.ownerReferences).toBeUndefined();
  expect(one(kube, POSTGRES_CLUSTERS)?.spec).toMatchObject({
    bootstrap: { initdb: { database: 'app' } },
    plugins: [
      {
        name: 'barman-cloud.cloudnative-pg.io',
        isWALArchiver: true,
        parameters: { barmanObjectName: store?.metadata.name, serverName: 'shop--postgres' },
      },
    ],
  });
  expect(one(kube, SCHEDULED_BACKUPS)).toMatchObject({
    metadata: { name: `shop--postgres-${life}` },
    spec: { schedule: '0 30 2 * * *', immediate: true, method: 'plugin', cluster: { name: 'shop--postgres' } },
  });
  expect([says(kube, 'ArchiveReady'), says(kube, 'Ready')]).toEqual(['Unknown ArchivePending', 'True Serving']);
});

it('says from when on the database can be restored, what fails, and when the last base backup is too old', async () => {
  const controller = await archived();
  const { kube } = controller;
  await rest(controller, () => reported(kube, TRUE, WINDOW));
  expect([says(kube, 'ArchiveReady'), record(kube).status?.databaseArchive]).toEqual([
    'True Archived',
    { firstRecoverableAt: BACKUP_AT, lastBackupAt: BACKUP_AT },
  ]);
  expect(conditionIn(kube, 'ArchiveReady')?.message).toContain(`from ${BACKUP_AT} on`);

  const failing = [{ type: 'ContinuousArchiving', status: 'False', message: 'exit status 4' }];
  await rest(controller, () => reported(kube, failing, WINDOW));
  expect([says(kube, 'ArchiveReady'), says(kube, 'Ready')]).toEqual(['False ArchiveFailing', 'True Serving']);
  expect(conditionIn(kube, 'ArchiveReady')?.message).toContain('CloudNativePG reports: exit status 4');

  const starting = { type: 'LastBackupSucceeded', status: 'False', reason: 'BackupStarted', message: 'starting up' };
  await rest(controller, () => reported(kube, [...TRUE, starting], WINDOW));
  expect(says(kube, 'ArchiveReady')).toBe('True Archived');

  const notBackedUp = [...TRUE, { type: 'LastBackupSucceeded', status: 'False', message: 'no room' }];
  await rest(controller, () =>
    reported(kube, notBackedUp, { ...WINDOW, lastFailedBackupTime: '2026-02-02T02:01:00Z' }),
  );
  expect(conditionIn(kube, 'ArchiveReady')).toMatchObject({
    reason: 'ArchiveFailing',
    message: expect.stringContaining('The last base backup failed. CloudNativePG reports: no room') as string,
  });

  const well = { ...WINDOW, lastFailedBackupTime: null };
  await rest(controller, () => reported(kube, TRUE, well));
  controller.clock.ms += 49 * 3_600_000;
  await rest(controller, () => reported(kube, TRUE, well));
  expect(says(kube, 'ArchiveReady')).toBe('False ArchiveStale');
});

it('lists the base backups that are complete, and is woken by each', async () => {
  const controller = await archived();
  const { kube } = controller;
  const woken = controller.wake();
  await woken.take();
  const put = (name: string, cluster: string, status: object): KubeObject =>
    kube.seed(BASE_BACKUPS, {
      apiVersion: 'postgresql.cnpg.io/v1',
      kind: 'Backup',
      metadata: { name, namespace: 'team' },
      spec: { cluster: { name: cluster } },
      status,
    } as KubeObject);
  put('first', 'shop--postgres', { phase: 'completed', stoppedAt: BACKUP_AT });
  expect(await woken.take()).toContain(KEY);
  woken.stop();
  put('second', 'shop--postgres', { phase: 'completed', stoppedAt: '2026-02-03T02:00:00Z' });
  put('failed', 'shop--postgres', { phase: 'failed', stoppedAt: BACKUP_AT });
  put('running', 'shop--postgres', { phase: 'running' });
  put('another', 'mine', { phase: 'completed', stoppedAt: BACKUP_AT });
  await rest(controller, () => reported(kube, TRUE, WINDOW));
  expect(record(kube).status?.databaseArchive?.baseBackups).toEqual({
    count: 2,
    newest: [
      { name: 'second', takenAt: '2026-02-03T02:00:00Z', number: 0 },
      { name: 'first', takenAt: BACKUP_AT, number: 0 },
    ],
  });
  kube.erase(BASE_BACKUPS, { namespace: 'team', name: 'first' });
  await rest(controller);
  expect(record(kube).status?.databaseArchive?.baseBackups?.count).toBe(1);
});

it('a base backup that is asked for is woken by the schedule', async () => {
  const { kube, wake } = await archived();
  ask(kube, 'now', { backup: { archive: true } });
  const woken = wake('operations');
  await woken.take();
  kube.erase(SCHEDULED_BACKUPS, { namespace: 'team', name: names(kube, SCHEDULED_BACKUPS)[0] ?? '' });
  expect(await woken.take()).toContain('team/now');
  woken.stop();
});

it('without the plugin the Cluster is as it was, and it goes on when the kind is there; the same where it is taken away', async () => {
  const kube = withStore();
  let isThere = false;
  kube.failOn(({ kind }) =>
    kind === 'ObjectStore' && !isThere ? new NotFound('the server could not find the requested resource') : undefined,
  );
  putRecord(kube, ARCHIVED);
  for (const there of [false, true, false]) {
    isThere = there;
    const controller = await aController(kube, SETTINGS);
    await rest(controller);
    expect([says(kube, 'ArchiveReady'), says(kube, 'Ready')]).toEqual([
      there ? 'Unknown ArchivePending' : 'False ArchivePluginMissing',
      'True Serving',
    ]);
    expect(one(kube, POSTGRES_CLUSTERS)?.spec?.['plugins'] !== undefined, `there: ${there}`).toBe(there);
    expect(names(kube, SCHEDULED_BACKUPS)).toHaveLength(there ? 1 : 0);
    controller.stop();
  }
});

it.each([
  ['the platform has no store', ARCHIVED, Settings.parse({}), 'BackupStoreMissing'],
  ['the database is one pod', { sourceConfig: { database: { archive: {} } } }, SETTINGS, 'ArchiveNotPossible'],
])('is not made where %s, which the record says', async (_what, spec, settings, reason) => {
  const kube = withStore();
  putRecord(kube, spec);
  await rest(await aController(kube, settings));
  expect([says(kube, 'ArchiveReady'), says(kube, 'Ready'), names(kube, OBJECT_STORES)]).toEqual([
    `False ${reason}`,
    'True Serving',
    [],
  ]);
});

it('begins when there are keys for the store, and goes on when they are gone', async () => {
  const kube = aServer();
  putRecord(kube, ARCHIVED);
  const controller = await aController(kube, SETTINGS);
  const plugins = (): unknown => one(kube, POSTGRES_CLUSTERS)?.spec?.['plugins'];
  await rest(controller);
  expect([says(kube, 'ArchiveReady'), says(kube, 'Ready'), plugins(), names(kube, OBJECT_STORES)]).toEqual([
    'False BackupCredentialsMissing',
    'True Serving',
    undefined,
    [],
  ]);
  kube.seed(SECRETS, KEYS);
  await rest(controller);
  expect([says(kube, 'ArchiveReady'), plugins() === undefined]).toEqual(['Unknown ArchivePending', false]);
  kube.erase(SECRETS, { namespace: 'team', name: 'davit-backup-store' });
  await rest(controller);
  expect([says(kube, 'ArchiveReady'), plugins() === undefined]).toEqual(['False BackupCredentialsMissing', false]);
});

it('turned off, takes plugin and schedule away, leaves the archive, and restarts no pod of the application', async () => {
  const controller = await archived();
  const { kube } = controller;
  const template = (): unknown => (one(kube, DEPLOYMENTS)?.spec as { template?: unknown } | undefined)?.template;
  const before = [template(), names(kube, OBJECT_STORES)];
  await edit(kube, { spec: { sourceConfig: { database: { archive: { enabled: false } } } } });
  await rest(controller);
  expect([template(), names(kube, OBJECT_STORES)]).toEqual(before);
  expect([one(kube, POSTGRES_CLUSTERS)?.spec?.['plugins'], names(kube, SCHEDULED_BACKUPS)]).toEqual([undefined, []]);
  expect([conditionIn(kube, 'ArchiveReady'), says(kube, 'Ready')]).toEqual([undefined, 'True Serving']);
});

describe('a deletion', () => {
  it.each(['Delete', 'Retain'] as const)('under %s leaves the archive', async (databaseDeletionPolicy) => {
    const controller = await archived({ ...ARCHIVED, databaseDeletionPolicy });
    const { kube } = controller;
    const stores = names(kube, OBJECT_STORES);
    const ofStore = (): string[] => names(kube, SECRETS).filter((name) => name.includes('---store-'));
    await deleteRecord(kube);
    await tornDown(controller);
    expect([names(kube, OBJECT_STORES), kube.objects(APP_DEPLOYMENTS)]).toEqual([stores, []]);
    // A Cluster that is kept mounts it.
    expect(ofStore()).toHaveLength(databaseDeletionPolicy === 'Retain' ? 1 : 0);
  });
});

describe('a database that begins with an archive', () => {
  const begins = (restore: object): Partial<AppDeployment['spec']> => ({
    sourceConfig: { database: { ...CLUSTER, restore: { from: 'old', archive: true, ...restore } } },
  });
  function putArchive(kube: FakeKube): void {
    kube.seed(OBJECT_STORES, {
      apiVersion: 'barmancloud.cnpg.io/v1',
      kind: 'ObjectStore',
      metadata: { name: 'old---archive-00000000', namespace: 'team', labels: { 'davit.dev/deployment': 'old' } },
      spec: { configuration: { destinationPath: 's3://backups/davit/team/old--archive/00000000' } },
      status: { serverRecoveryWindow: { 'old--postgres': WINDOW } },
    } as KubeObject);
  }
  const AT = '2026-02-02T02:01:00Z';

  it('gets no Cluster before the archive is known, is woken by it, and begins with it', async () => {
    const kube = withStore();
    putRecord(kube, begins({ at: AT }));
    const controller = await aController(kube, SETTINGS);
    await rest(controller);
    expect([names(kube, POSTGRES_CLUSTERS), says(kube, 'DatabaseRestored'), names(kube, DEPLOYMENTS)]).toEqual([
      [],
      'False ArchiveMissing',
      [],
    ]);
    const woken = controller.wake();
    await woken.take();
    putArchive(kube);
    expect(await woken.take()).toContain('team/shop');
    woken.stop();
    await controller.reconcile();
    const life = record(kube).metadata.uid?.slice(0, 8);
    expect(one(kube, OBJECT_STORES, `shop---origin-${life}`)).toMatchObject({
      spec: { configuration: { destinationPath: 's3://backups/davit/team/old--archive/00000000' } },
    });
    expect(one(kube, POSTGRES_CLUSTERS)?.spec).toMatchObject({
      externalClusters: [
        {
          name: 'origin',
          plugin: { parameters: { barmanObjectName: `shop---origin-${life}`, serverName: 'old--postgres' } },
        },
      ],
      bootstrap: {
        recovery: { source: 'origin', database: 'app', owner: 'app', recoveryTarget: { targetTime: AT } },
      },
    });
    await controller.reconcile();
    expect([says(kube, 'DatabaseRestored'), says(kube, 'DatabaseReady'), names(kube, DEPLOYMENTS)]).toEqual([
      'False Restoring',
      'False Starting',
      [],
    ]);
    await rest(controller);
    expect([says(kube, 'DatabaseRestored'), says(kube, 'Ready')]).toEqual(['True Restored', 'True Serving']);
    expect(record(kube).status?.databaseRestore).toMatchObject({ from: 'old', archive: true, takenAt: AT });
    expect(conditionIn(kube, 'DatabaseRestored')?.message).toBe(
      `The database began with the archive of old, and has the state of ${AT}.`,
    );
  });

  it('stays as it is when the field changes or goes, and when the archive is gone', async () => {
    const kube = withStore();
    putArchive(kube);
    putRecord(kube, begins({}));
    const controller = await aController(kube, SETTINGS);
    await rest(controller);
    const before = one(kube, POSTGRES_CLUSTERS)?.spec;
    expect(before).toMatchObject({ bootstrap: { recovery: { source: 'origin' } } });
    kube.erase(OBJECT_STORES, { namespace: 'team', name: 'old---archive-00000000' });
    await edit(kube, { spec: { sourceConfig: { database: { restore: null } } } });
    await rest(controller);
    expect([one(kube, POSTGRES_CLUSTERS)?.spec, says(kube, 'Ready')]).toEqual([before, 'True Serving']);
  });

  it('says that it failed, and starts nothing', async () => {
    const kube = withStore();
    putArchive(kube);
    putRecord(kube, begins({ at: AT }));
    const controller = await aController(kube, SETTINGS);
    await controller.reconcile();
    await controller.reconcile();
    const cnpg = {
      'davit.dev/deployment': 'shop',
      'davit.dev/component': 'postgres',
      'cnpg.io/cluster': 'shop--postgres',
    };
    kube.seed(PODS, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name: 'shop--postgres-1-a',
        namespace: 'team',
        labels: { ...cnpg, 'cnpg.io/jobRole': 'full-recovery' },
      },
      status: { phase: 'Failed' },
    } as KubeObject);
    await controller.reconcile();
    expect(says(kube, 'DatabaseRestored')).toBe('False Restoring');
    expect(conditionIn(kube, 'DatabaseRestored')?.message).toContain(
      'was not restored after one attempt; CloudNativePG is trying',
    );
    kube.seed(controller.home.registry.resourceOf({ apiVersion: 'batch/v1', kind: 'Job' }), {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: {
        name: 'shop--postgres-1-full-recovery',
        namespace: 'team',
        labels: { 'davit.dev/deployment': 'shop', 'davit.dev/component': 'postgres' },
      },
      status: { conditions: [{ type: 'Failed', status: 'True' }] },
    } as KubeObject);
    for (let pass = 0; pass < 3; pass += 1) await controller.reconcile();
    expect([says(kube, 'DatabaseRestored'), says(kube, 'Ready'), names(kube, DEPLOYMENTS)]).toEqual([
      'False RestoreFailed',
      'False RestoreFailed',
      [],
    ]);
  });

  it.each([
    ['of one pod', { sourceConfig: { database: { restore: { from: 'old', archive: true } } } }, 'RestoreNotPossible'],
    ['without the plugin', begins({}), 'ArchivePluginMissing'],
    ['without keys of the store', begins({}), 'BackupCredentialsMissing'],
  ])('%s is not possible, and no pod starts', async (_what, spec, reason) => {
    const kube = withStore();
    if (reason === 'ArchivePluginMissing')
      kube.failOn(({ kind }) => (kind === 'ObjectStore' ? new NotFound('no such kind') : undefined));
    if (reason === 'BackupCredentialsMissing') {
      putArchive(kube);
      kube.erase(SECRETS, { namespace: 'team', name: 'davit-backup-store' });
    }
    putRecord(kube, spec);
    await rest(await aController(kube, SETTINGS));
    expect([says(kube, 'DatabaseRestored'), names(kube, DEPLOYMENTS), names(kube, POSTGRES_CLUSTERS)]).toEqual([
      `False ${reason}`,
      [],
      [],
    ]);
  });
});
