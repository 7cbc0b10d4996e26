// A password Secret that a person has deleted or stripped of its labels, over the in-memory API server: nothing is made
// that would not open the data, what runs goes on, and the password that comes back heals it.

import { describe, expect, it } from 'vitest';
import { Forbidden } from '../../../src/runtime/errors.ts';
import {
  DEPLOYMENTS,
  PERSISTENT_VOLUME_CLAIMS,
  PODS,
  SECRETS,
  STATEFUL_SETS,
} from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { aController, KEY } from '../../kit/memory/controller.ts';
import { aServer, conditionIn, edit, newestRevision, putRecord, record, says } from '../../kit/memory/record.ts';
import { makeReady } from '../../kit/memory/workloads.ts';
import { aPod } from '../../support/builders.ts';
import type { FakeKube } from '../../support/fake-kube/fake-kube.ts';
import { aConverged, converge, crashed } from './harness.ts';

const POSTGRES = { namespace: 'team', name: 'shop--postgres' };
const REDIS = { namespace: 'team', name: 'shop--redis' };

type Secret = KubeObject & { readonly data?: object; readonly stringData?: object };

function secretOf(kube: FakeKube, { name }: { name: string }): Secret | undefined {
  return kube.objects<Secret>(SECRETS).find(({ metadata }) => metadata.name === name);
}

/** As a person restores it: what it held and its labels; uid and version are new. */
function restore(kube: FakeKube, secret: Secret | undefined, labels = secret?.metadata.labels): void {
  const { name = '', namespace = '' } = secret?.metadata ?? {};
  const metadata = { name, namespace, ...(labels && { labels }) };
  const { data, stringData } = secret ?? {};
  kube.seed(SECRETS, { apiVersion: 'v1', kind: 'Secret', metadata, ...(data ?? stringData) } as KubeObject);
}

describe.each([
  { store: 'PostgreSQL', ref: POSTGRES },
  { store: 'Redis', ref: REDIS },
])('the password of $store', ({ ref }) => {
  it('deleted: said, none is regenerated, and what runs goes on; nothing is written at rest', async () => {
    const controller = await aConverged();
    const { kube } = controller;
    kube.erase(SECRETS, ref);
    await converge(controller);
    expect([says(kube, 'Stalled'), says(kube, 'Ready'), says(kube, 'Available')]).toEqual([
      'True PasswordMissing',
      'False PasswordMissing',
      'True Serving',
    ]);
    expect(secretOf(kube, ref)).toBeUndefined();
    await controller.reconcile();
    expect(controller.writes()).toEqual([]);
  });

  it('stripped of its labels: its record is woken, though nothing on it says whose it was', async () => {
    const controller = await aConverged();
    const { kube } = controller;
    const woken = controller.wake();
    await woken.take();
    await kube.mergePatch(SECRETS, ref, { metadata: { labels: null } });
    expect(await woken.take()).toEqual([KEY]);
  });

  it('deleted: no pod is rolled, for it would wait for the Secret', async () => {
    const controller = await aConverged();
    const { kube } = controller;
    kube.erase(SECRETS, ref);
    const before = JSON.stringify([kube.objects(DEPLOYMENTS), kube.objects(STATEFUL_SETS)]);
    await edit(kube, {
      spec: {
        sourceRevisionConfig: { imageUri: 'registry.example/shop:2' },
        sourceConfig: { resourceSpec: { dbMaxConnections: 321 } },
      },
    });
    await converge(controller);
    expect(JSON.stringify([kube.objects(DEPLOYMENTS), kube.objects(STATEFUL_SETS)])).toBe(before);
    expect(says(kube, 'Stalled')).toBe('True PasswordMissing');
  });

  it('restored with its labels: the deployment goes on automatically', async () => {
    const controller = await aConverged();
    const { kube } = controller;
    const secret = secretOf(kube, ref);
    kube.erase(SECRETS, ref);
    await converge(controller);
    restore(kube, secret);
    await converge(controller);
    expect([says(kube, 'Ready'), record(kube).status?.state]).toEqual(['True Serving', 'READY']);
  });

  it('restored without its labels, or stripped of them: the message says which, and they heal it', async () => {
    const controller = await aConverged();
    const { kube } = controller;
    const secret = secretOf(kube, ref);
    kube.erase(SECRETS, ref);
    restore(kube, secret, {});
    await converge(controller);
    const message = conditionIn(kube, 'Stalled')?.message ?? '';
    const labels = [...message.matchAll(/(davit\.dev\/[a-z-]+)=([\w-]+)/g)].map(([, name, value]) => [name, value]);
    expect([message, labels.length]).toEqual([expect.stringContaining(`kubectl label secret ${ref.name} -n team`), 3]);
    await kube.mergePatch(SECRETS, ref, { metadata: { labels: Object.fromEntries(labels) as object } });
    await converge(controller);
    expect(says(kube, 'Ready')).toBe('True Serving');
  });

  it('a cache that has not seen it yet is not believed', async () => {
    const controller = await aConverged();
    const { kube } = controller;
    const secret = secretOf(kube, ref);
    kube.erase(SECRETS, ref);
    await controller.reconcile();
    // The watch tells of the restored one only after this pass has begun.
    let restored = false;
    kube.failOn(({ verb, kind }) => {
      if (verb === 'get' && kind === 'Secret' && !restored) {
        restored = true;
        restore(kube, secret);
      }
      return undefined;
    });
    await controller.reconcile();
    expect([restored, says(kube, 'Ready')]).toEqual([true, 'True Serving']);
  });
});

it('what is given up is made again: volume and StatefulSet deleted and the record annotated, an empty database has a new password', async () => {
  const controller = await aConverged();
  const { kube } = controller;
  const before = secretOf(kube, POSTGRES)?.metadata.uid;
  kube.erase(SECRETS, POSTGRES);
  await converge(controller);
  kube.erase(STATEFUL_SETS, POSTGRES);
  await converge(controller);
  // Not while the volume is there: its data would be locked.
  expect(kube.objects(STATEFUL_SETS).map(({ metadata }) => metadata.name)).toEqual(['shop--redis']);
  kube.erase(PERSISTENT_VOLUME_CLAIMS, POSTGRES);
  await converge(controller);
  // Nor while the volume may come back from a backup.
  expect(secretOf(kube, POSTGRES)).toBeUndefined();
  const [, annotation = '', uid = ''] =
    /--overwrite (davit\.dev\/[a-z-]+)=([\w-]+)/.exec(
      conditionIn(kube, 'Stalled')?.message.split('annotate')[1] ?? '',
    ) ?? [];
  await edit(kube, { metadata: { annotations: { [annotation]: uid } } });
  await converge(controller);
  expect([says(kube, 'Ready'), secretOf(kube, POSTGRES)?.metadata.uid === before]).toEqual(['True Serving', false]);
});

it('a Redis that is given up is recreated with a new password', async () => {
  const controller = await aConverged();
  const { kube } = controller;
  kube.erase(SECRETS, REDIS);
  await converge(controller);
  kube.erase(STATEFUL_SETS, REDIS);
  await converge(controller);
  expect([says(kube, 'Ready'), secretOf(kube, REDIS)?.metadata.name]).toEqual(['True Serving', 'shop--redis']);
});

it('a Redis whose Secret and StatefulSet are deleted together: its old pods are replaced one by one, and no others', async () => {
  let hour = 0;
  const kube = aServer({ now: () => Date.UTC(2026, 0, 1, hour) });
  const controller = await aConverged({ sourceConfig: { resourceSpec: { minScale: 2, maxScale: 2 } } }, kube);
  const puts = (name: string, isReady = true): void => {
    const pod = aPod('server', newestRevision(kube), {
      conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }],
    });
    kube.seed(PODS, { ...pod, metadata: { ...pod.metadata, name, uid: name } });
  };
  const pods = async (): Promise<string[]> => {
    await controller.reconcile();
    return kube.objects(PODS).map(({ metadata }) => metadata.name);
  };
  puts('old-a');
  puts('old-b');
  expect(await pods()).toEqual(['old-a', 'old-b']);
  hour = 1;
  const secret = secretOf(kube, REDIS);
  kube.erase(SECRETS, REDIS);
  restore(kube, secret);
  expect(await pods()).toEqual(['old-a', 'old-b']);
  kube.erase(SECRETS, REDIS);
  kube.erase(STATEFUL_SETS, REDIS);
  await controller.reconcile();
  await makeReady(kube);
  expect(await pods()).toEqual(['old-b']);
  puts('new-a', false);
  expect(await pods()).toEqual(['new-a', 'old-b']);
  kube.erase(PODS, { namespace: 'team', name: 'new-a' });
  puts('new-a');
  expect(await pods()).toEqual(['new-a']);
  puts('new-b');
  await converge(controller);
  expect([await pods(), says(kube, 'Ready')]).toEqual([['new-a', 'new-b'], 'True Serving']);
});

it('no volume is made before its password: a refused one is no lost one', async () => {
  const kube = aServer();
  putRecord(kube);
  const controller = await aController(kube);
  kube.failOn(({ verb, kind }) =>
    verb === 'create' && kind === 'Secret' ? new Forbidden('exceeded quota: full') : undefined,
  );
  for (let pass = 0; pass < 3; pass += 1) {
    await controller.reconcile();
  }
  expect([says(kube, 'Stalled'), kube.objects(PERSISTENT_VOLUME_CLAIMS)]).toEqual(['True ApplyRefused', []]);
  kube.failOn(undefined);
  await converge(controller);
  expect(says(kube, 'Ready')).toBe('True Serving');
});

it('a crash at any write of the first pass leaves no volume without a password', async () => {
  for (let crash = 1; crash <= 12; crash += 1) {
    const kube = aServer();
    putRecord(kube);
    await crashed(await aController(kube), { when: 'failAfter', at: crash });
    await converge(await aController(kube));
    expect(says(kube, 'Ready'), `crash at write ${crash}`).toBe('True Serving');
  }
});
