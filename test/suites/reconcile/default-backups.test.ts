// Backups of databases whose records do not ask for any.

import { describe, expect, it } from 'vitest';
import type { AppDeployment } from '../../../src/kinds/app-deployment.ts';
import { defaultSettings, Settings } from '../../../src/kinds/settings.ts';
import { CRON_JOBS } from '../../../src/runtime/kube/api-resources.ts';
import { aController, KEY, type MemoryController } from '../../kit/memory/controller.ts';
import { aServer, conditionIn, edit, says } from '../../kit/memory/record.ts';
import type { FakeKube } from '../../support/fake-kube/fake-kube.ts';
import { aConverged, converge, putStoreCredentials } from './harness.ts';

type Spec = Partial<AppDeployment['spec']>;

const withStore = (wanted: object = {}): Settings =>
  Settings.parse({
    backups: {
      store: { endpoint: 'https://s3.example', bucket: 'backups' },
      image: 'registry.example/davit:1',
      default: wanted,
    },
  });

function started(spec: Spec = {}, settings = withStore()): Promise<MemoryController> {
  const kube = aServer();
  putStoreCredentials(kube);
  return aConverged(spec, kube, settings);
}

const cronJobs = (kube: FakeKube): string[] =>
  kube
    .objects(CRON_JOBS)
    .map(({ metadata }) => metadata.name)
    .toSorted();

it('where there is a store, a database is backed up and the backups are verified', async () => {
  const { kube } = await started();
  expect(cronJobs(kube)).toEqual(['shop---backup', 'shop---verify']);
  expect([says(kube, 'BackupReady'), says(kube, 'BackupVerified')]).toEqual([
    'Unknown BackupPending',
    'Unknown VerificationPending',
  ]);
});

it('a record that relies on them goes on when the credentials of the store come', async () => {
  const controller = await aConverged({}, aServer(), withStore());
  const { kube } = controller;
  expect(says(kube, 'BackupReady')).toBe('False BackupCredentialsMissing');
  const woken = controller.wake();
  await woken.take();
  putStoreCredentials(kube);
  expect(await woken.take()).toContain(KEY);
});

it('the platform may leave the verifications out', async () => {
  const { kube } = await started({}, withStore({ verify: false }));
  expect(cronJobs(kube)).toEqual(['shop---backup']);
  expect(conditionIn(kube, 'BackupVerified')).toBeUndefined();
});

it.each<[string, Spec, Settings, RegExp]>([
  ['the platform has no store', {}, defaultSettings(), /has no backup store \(settings\.backups\.store\)/],
  [
    'the platform makes none by default',
    {},
    withStore({ enabled: false }),
    /kubectl patch appd shop -n team --type=merge/,
  ],
  [
    'the record refuses them',
    { sourceConfig: { database: { backup: { enabled: false } } } },
    withStore(),
    /Backups are off\. To make one every day: kubectl patch appd shop -n team /,
  ],
])('where %s, nothing protects the database, and Ready is True', async (_what, spec, settings, words) => {
  const { kube } = await started(spec, settings);
  expect(cronJobs(kube)).toEqual([]);
  expect([says(kube, 'BackupReady'), says(kube, 'Ready')]).toEqual(['False NotConfigured', 'True Serving']);
  expect(conditionIn(kube, 'BackupReady')?.message).toMatch(words);
});

it('a record that asks for backups itself has what it asks for', async () => {
  const { kube } = await started({ sourceConfig: { database: { backup: { schedule: '0 4 * * *' } } } });
  expect(cronJobs(kube)).toEqual(['shop---backup']);
});

describe('a record without an own database', () => {
  it.each<[string, Spec]>([
    ['has none', { sourceConfig: { runtime: { database: 'none' } } }],
    [
      'uses an external one',
      {
        secretReferences: [
          { name: 'POSTGRES_URI_CUSTOM', secretName: 'uri', secretKey: 'uri' },
          { name: 'REDIS_URI_CUSTOM', secretName: 'uri', secretKey: 'uri' },
        ],
      },
    ],
  ])('%s: there is nothing to say of backups', async (_what, spec) => {
    const { kube } = await started(spec);
    expect(cronJobs(kube)).toEqual([]);
    expect([conditionIn(kube, 'BackupReady'), conditionIn(kube, 'BackupVerified')]).toEqual([undefined, undefined]);
  });
});

it('what is turned on and off later restarts nothing, and steady state writes nothing', async () => {
  const before = await started({}, withStore({ enabled: false }));
  const { kube } = before;
  before.stop();
  const after = await aController(kube, withStore());
  await converge(after);
  expect(cronJobs(kube)).toEqual(['shop---backup', 'shop---verify']);
  expect(kube.writes.filter(({ kind }) => kind === 'Deployment' || kind === 'StatefulSet')).toEqual([]);
  after.writes();
  await after.reconcile();
  expect(after.writes()).toEqual([]);
  await edit(kube, { spec: { sourceConfig: { database: { backup: { enabled: false } } } } });
  await converge(after);
  expect([cronJobs(kube), says(kube, 'BackupReady')]).toEqual([[], 'False NotConfigured']);
});
