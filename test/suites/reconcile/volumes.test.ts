// The PostgreSQL volume that is gone, going or too small, over the in-memory API server: no empty one takes its place
// unasked, no pod that uses it is replaced, and what is said is what is there.

import { describe, expect, it } from 'vitest';
import type { Workload } from '../../../src/deploy/assess/observed.ts';
import { Invalid } from '../../../src/runtime/errors.ts';
import {
  DEPLOYMENTS,
  PERSISTENT_VOLUME_CLAIMS,
  SECRETS,
  STATEFUL_SETS,
} from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { aController, type MemoryController } from '../../kit/memory/controller.ts';
import { aServer, conditionIn, edit, putRecord, putSecret, record, says } from '../../kit/memory/record.ts';
import { endJobs, makeReady } from '../../kit/memory/workloads.ts';
import type { FakeKube } from '../../support/fake-kube/fake-kube.ts';
import { aConverged, converge, crashed } from './harness.ts';

const DATABASE = { namespace: 'team', name: 'shop--postgres' };

function claims(kube: FakeKube): readonly KubeObject[] {
  return kube.objects(PERSISTENT_VOLUME_CLAIMS);
}

function workloads(kube: FakeKube): string {
  return JSON.stringify([kube.objects(DEPLOYMENTS), kube.objects(STATEFUL_SETS)]);
}

async function change(kube: FakeKube): Promise<void> {
  await edit(kube, {
    spec: {
      sourceRevisionConfig: { imageUri: 'registry.example/shop:2' },
      sourceConfig: { resourceSpec: { dbMaxConnections: 321 } },
    },
  });
}

async function giveUp(kube: FakeKube): Promise<void> {
  const message = conditionIn(kube, 'Stalled')?.message ?? '';
  const [, annotation = '', uid = ''] = /--overwrite (davit\.dev\/empty-database)=([\w-]+)/.exec(message) ?? [];
  await edit(kube, { metadata: { annotations: { [annotation]: uid } } });
}

it('deleted: nothing empty takes its place, nobody is told READY, a Warning says so; at rest nothing is written', async () => {
  const controller = await aConverged();
  const { kube, events } = controller;
  const before = workloads(kube);
  kube.erase(PERSISTENT_VOLUME_CLAIMS, DATABASE);
  await converge(controller);
  expect(claims(kube)).toEqual([]);
  expect(['Ready', 'Stalled', 'DatabaseReady'].map((type) => says(kube, type))).toEqual([
    'False VolumeMissing',
    'True VolumeMissing',
    'False VolumeMissing',
  ]);
  expect([record(kube).status?.state, events.at(-1)]).toEqual(['AWAITING_DATABASE', 'Warning VolumeMissing']);
  await change(kube);
  await converge(controller);
  expect(workloads(kube)).toBe(before);
  await controller.reconcile();
  expect(controller.writes()).toEqual([]);
});

it('deleted with its StatefulSet and its password: still no empty one, and no password that would not open a restored one', async () => {
  const controller = await aConverged();
  const { kube } = controller;
  kube.erase(PERSISTENT_VOLUME_CLAIMS, DATABASE);
  kube.erase(STATEFUL_SETS, DATABASE);
  kube.erase(SECRETS, DATABASE);
  await converge(controller);
  const left = [...claims(kube), ...kube.objects(SECRETS)].map(({ metadata }) => metadata.name);
  expect(left).not.toContain('shop--postgres');
  expect(says(kube, 'Stalled')).toMatch(/True (PasswordMissing|VolumeMissing)/);
});

it('restored with its labels: the deployment resumes', async () => {
  const controller = await aConverged();
  const { kube } = controller;
  const [claim] = claims(kube) as [KubeObject];
  kube.erase(PERSISTENT_VOLUME_CLAIMS, DATABASE);
  await converge(controller);
  const { name, namespace = '', labels = {} } = claim.metadata;
  kube.seed(PERSISTENT_VOLUME_CLAIMS, { ...claim, metadata: { name, namespace, labels } } as KubeObject);
  await converge(controller);
  expect([says(kube, 'Ready'), record(kube).status?.state]).toEqual(['True Serving', 'READY']);
});

it('restored without its labels: the message says which', async () => {
  const controller = await aConverged();
  const { kube } = controller;
  const [claim] = claims(kube) as [KubeObject];
  kube.erase(PERSISTENT_VOLUME_CLAIMS, DATABASE);
  const { name, namespace = '' } = claim.metadata;
  kube.seed(PERSISTENT_VOLUME_CLAIMS, { ...claim, metadata: { name, namespace } } as KubeObject);
  await converge(controller);
  const message = conditionIn(kube, 'Stalled')?.message ?? '';
  expect(message).toContain('kubectl label pvc shop--postgres -n team --overwrite');
  const labels = [...message.matchAll(/(davit\.dev\/(?:deployment|component|deployment-uid))=([\w-]+)/g)];
  await kube.mergePatch(PERSISTENT_VOLUME_CLAIMS, DATABASE, {
    metadata: { labels: Object.fromEntries(labels.map(([, label, value]) => [label, value])) as object },
  });
  await converge(controller);
  expect(says(kube, 'Ready')).toBe('True Serving');
});

it('given up by an explicit word: an empty one is made, and the word is none when that is lost too', async () => {
  const controller = await aConverged();
  const { kube, events } = controller;
  const saidGivenUp = (): number => events.filter((event) => event === 'Warning DatabaseGivenUp').length;
  kube.erase(PERSISTENT_VOLUME_CLAIMS, DATABASE);
  await converge(controller);
  expect(saidGivenUp()).toBe(0);
  await giveUp(kube);
  await converge(controller);
  expect([says(kube, 'Ready'), claims(kube).length, saidGivenUp()]).toEqual(['True Serving', 1, 1]);
  kube.erase(PERSISTENT_VOLUME_CLAIMS, DATABASE);
  await converge(controller);
  expect(saidGivenUp()).toBe(1);
  expect([says(kube, 'Stalled'), claims(kube)]).toEqual(['True VolumeMissing', []]);
});

it('a crash at any write of the pass that makes the empty one still ends with one', async () => {
  for (let at = 1; at <= 4; at += 1) {
    const controller = await aConverged();
    const { kube } = controller;
    kube.erase(PERSISTENT_VOLUME_CLAIMS, DATABASE);
    await converge(controller);
    await giveUp(kube);
    await crashed(controller, { when: 'failAfter', at });
    await converge(await aController(kube));
    expect([says(kube, 'Ready'), claims(kube).length], `crash at write ${at}`).toEqual(['True Serving', 1]);
  }
});

it('a crash at any write of the first pass is no loss', async () => {
  for (let at = 1; at <= 14; at += 1) {
    const kube = aServer();
    putRecord(kube);
    await crashed(await aController(kube), { when: at % 2 === 0 ? 'failAfter' : 'failOn', at });
    await converge(await aController(kube));
    expect([says(kube, 'Ready'), claims(kube).length], `crash at write ${at}`).toEqual(['True Serving', 1]);
  }
});

it('being deleted: READY while it answers, Stalled, and no pod that uses it is replaced', async () => {
  const controller = await aConverged();
  const { kube } = controller;
  const before = workloads(kube);
  await kube.mergePatch(PERSISTENT_VOLUME_CLAIMS, DATABASE, {
    metadata: { finalizers: ['kubernetes.io/pvc-protection'] },
  });
  const uid = claims(kube)[0]?.metadata.uid ?? '';
  await kube.remove(PERSISTENT_VOLUME_CLAIMS, DATABASE, { uid });
  await change(kube);
  await converge(controller);
  expect([record(kube).status?.state, says(kube, 'DatabaseReady'), says(kube, 'Stalled')]).toEqual([
    'READY',
    'False VolumeTerminating',
    'True VolumeTerminating',
  ]);
  expect(workloads(kube)).toBe(before);
});

it('being deleted: at a scale of zero nothing writes any more, and until then it is not called unused', async () => {
  const controller = await aConverged();
  const { kube } = controller;
  await kube.mergePatch(PERSISTENT_VOLUME_CLAIMS, DATABASE, {
    metadata: { finalizers: ['kubernetes.io/pvc-protection'] },
  });
  await kube.remove(PERSISTENT_VOLUME_CLAIMS, DATABASE, { uid: claims(kube)[0]?.metadata.uid ?? '' });
  await edit(kube, { spec: { sourceConfig: { resourceSpec: { minScale: 0, maxScale: 0 } } } });
  await controller.reconcile();
  const replicas = (): unknown[] =>
    kube
      .objects<Workload & { readonly spec?: { readonly replicas?: number } }>(DEPLOYMENTS)
      .map(({ spec }) => spec?.replicas);
  expect([replicas(), record(kube).status?.state === 'UNUSED']).toEqual([[0], false]);
  await converge(controller);
  expect([replicas(), record(kube).status?.state]).toEqual([[0], 'UNUSED']);
});

it('too small: the size in force is the one that is there, until it has grown', async () => {
  const controller = await aConverged();
  const { kube } = controller;
  const setCapacity = async (storage: string): Promise<void> => {
    const status = { phase: 'Bound', capacity: { storage } };
    await kube.mergePatch(PERSISTENT_VOLUME_CLAIMS, DATABASE, { status }, { subresource: 'status' });
    await converge(controller);
  };
  await edit(kube, { spec: { sourceConfig: { resourceSpec: { dbStorageGi: 20 } } } });
  await setCapacity('10Gi');
  expect([record(kube).status?.resourceSpec?.['dbStorageGi'], says(kube, 'ResourceSpecHonored')]).toEqual([
    10,
    'False VolumeResizing',
  ]);
  await setCapacity('20Gi');
  expect([record(kube).status?.resourceSpec?.['dbStorageGi'], says(kube, 'ResourceSpecHonored')]).toEqual([
    20,
    'True AsAsked',
  ]);
});

/** The record names an external database: with a Secret that is there, or is not. */
async function nameExternal(kube: FakeKube, more: object = {}): Promise<void> {
  const secretReferences = [{ name: 'POSTGRES_URI_CUSTOM', secretName: 'outside', secretKey: 'uri' }];
  await edit(kube, { spec: { secretReferences, revisionSerial: 2, ...more } });
}

/** Why the pods of the running revision stay, with its own database, though the newest wants an external one. */
const HELD: readonly (readonly [why: string, hold: (kube: FakeKube) => Promise<void>])[] = [
  ['its Secret is missing', (kube) => nameExternal(kube)],
  [
    'its pods are refused',
    async (kube) => {
      putSecret(kube, 'outside', { uri: 'eA==' });
      kube.failOn(({ kind, dryRun }) => (kind === 'Pod' && dryRun ? new Invalid('no', []) : undefined));
      await nameExternal(kube);
    },
  ],
  [
    'its migration has failed',
    async (kube) => {
      putSecret(kube, 'outside', { uri: 'eA==' });
      await nameExternal(kube, { sourceConfig: { runtime: { migrate: { command: ['up'] } } } });
    },
  ],
];

/** Passes in which every Job fails. */
async function passes({ kube, reconcile }: MemoryController): Promise<void> {
  for (let pass = 0; pass < 6; pass += 1) {
    await reconcile();
    await endJobs(kube, { type: 'Failed', status: 'True', reason: 'DeadlineExceeded' });
    await makeReady(kube);
  }
}

describe.each(HELD)('the newest revision names an external database, and %s', (_why, hold) => {
  it('a lost volume of the running one is not replaced, and is said', async () => {
    const controller = await aConverged();
    const { kube } = controller;
    const { databaseVolumeUid } = record(kube).status ?? {};
    await hold(kube);
    await passes(controller);
    kube.erase(PERSISTENT_VOLUME_CLAIMS, DATABASE);
    await passes(controller);
    expect(claims(kube)).toEqual([]);
    expect([record(kube).status?.state, says(kube, 'DatabaseReady'), says(kube, 'Stalled')]).toEqual([
      'AWAITING_DATABASE',
      'False VolumeMissing',
      expect.stringMatching(/^True /),
    ]);
    expect(record(kube).status?.databaseVolumeUid).toBe(databaseVolumeUid);
    controller.writes();
    await controller.reconcile();
    expect(controller.writes().filter((write) => !write.startsWith('try '))).toEqual([]);
  });

  it('a lost password of the running one is not replaced, and no pod of the database is', async () => {
    const controller = await aConverged();
    const { kube } = controller;
    await hold(kube);
    await passes(controller);
    kube.erase(SECRETS, DATABASE);
    await passes(controller);
    expect(kube.objects(SECRETS).map(({ metadata }) => metadata.name)).not.toContain('shop--postgres');
    expect(record(kube).status?.conditions?.map(({ reason }) => reason)).toContain('PasswordMissing');
  });

  it('a volume of the running one that is being deleted is said, and no pod that uses it is replaced', async () => {
    const controller = await aConverged();
    const { kube } = controller;
    await hold(kube);
    await passes(controller);
    const before = workloads(kube);
    await kube.mergePatch(PERSISTENT_VOLUME_CLAIMS, DATABASE, {
      metadata: { finalizers: ['kubernetes.io/pvc-protection'] },
    });
    await kube.remove(PERSISTENT_VOLUME_CLAIMS, DATABASE, { uid: claims(kube)[0]?.metadata.uid ?? '' });
    await passes(controller);
    expect([record(kube).status?.state, says(kube, 'DatabaseReady')]).toEqual(['READY', 'False VolumeTerminating']);
    expect(workloads(kube)).toBe(before);
  });
});

it('lost before the switch to an external database: it is said, and the rollout is not Stalled', async () => {
  const controller = await aConverged();
  const { kube, reconcile } = controller;
  kube.erase(PERSISTENT_VOLUME_CLAIMS, DATABASE);
  await reconcile();
  expect(says(kube, 'Stalled')).toBe('True VolumeMissing');
  await nameExternal(kube);
  putSecret(kube, 'outside', { uri: 'eA==' });
  await reconcile();
  await reconcile();
  expect([says(kube, 'DatabaseReady'), says(kube, 'Stalled')]).toEqual([
    'False VolumeMissing',
    expect.stringMatching(/^False /),
  ]);
});

it('lost after the switch to an external database: nothing needs it', async () => {
  const controller = await aConverged();
  const { kube } = controller;
  putSecret(kube, 'outside', { uri: 'eA==' });
  await nameExternal(kube);
  await converge(controller);
  kube.erase(PERSISTENT_VOLUME_CLAIMS, DATABASE);
  kube.erase(SECRETS, DATABASE);
  await edit(kube, { spec: { revisionSerial: 3 } });
  await converge(controller);
  expect([claims(kube), record(kube).status?.conditions?.find(({ type }) => type === 'Stalled')?.status]).toEqual([
    [],
    'False',
  ]);
});

it('grown outside of Davit: a record without db_storage_gi has nothing to correct', async () => {
  const controller = await aConverged();
  const { kube } = controller;
  await kube.mergePatch(PERSISTENT_VOLUME_CLAIMS, DATABASE, { spec: { resources: { requests: { storage: '44Gi' } } } });
  await converge(controller);
  expect([says(kube, 'Ready'), says(kube, 'Stalled')]).toEqual(['True Serving', 'False Settled']);
  expect(JSON.stringify(claims(kube)[0])).toContain('"storage":"44Gi"');
  await edit(kube, { spec: { sourceConfig: { resourceSpec: { dbStorageGi: 10 } } } });
  await converge(controller);
  expect(says(kube, 'Stalled')).toBe('True StorageCannotShrink');
});
