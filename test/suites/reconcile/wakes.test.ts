// What one event costs: not a look at every record there is. Counted, not timed.

import { expect, it, vi } from 'vitest';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../../src/kinds/app-deployment.ts';
import { APP_REVISIONS } from '../../../src/kinds/app-revision.ts';
import { LISTENERS } from '../../../src/kinds/listener.ts';
import { SENT_TO_ANNOTATION } from '../../../src/kinds/meta.ts';
import { OAUTH_PROVIDERS } from '../../../src/kinds/oauth-provider.ts';
import { SECRETS } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { aController, type MemoryController } from '../../kit/memory/controller.ts';
import { aServer, edit, putRecord } from '../../kit/memory/record.ts';

const LISTENER = '33333333-3333-4333-8333-333333333333';

/** As many records in one namespace, each with a Secret of its own, and one of them with a listener. */
async function withRecords(count: number): Promise<MemoryController> {
  const kube = aServer();
  for (let index = 0; index < count; index += 1)
    putRecord(
      kube,
      {
        secrets: [{ name: 'A', secretName: `app${index}--vars-1`, secretKey: 'A' }],
        sourceConfig: index === 7 ? { listenerId: LISTENER, listenerConfig: { k8sNamespace: 'x' } } : {},
      },
      { name: `app${index}` },
    );
  return aController(kube);
}

/** Counts whatever looks at a record's spec from now on. */
function looksAtRecords({ caches }: MemoryController): () => number {
  let looks = 0;
  for (const record of caches.records.list()) {
    const { spec } = record;
    // The cache keeps plain objects: this one tells.
    Object.defineProperty(record, 'spec', { get: () => ((looks += 1), spec) });
  }
  return () => looks;
}

function aSecret(name: string, namespace = 'team'): KubeObject {
  const labels = { 'davit.dev/deployment': name.split('--')[0] ?? '', 'davit.dev/variables': '' };
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace, labels } };
}

it.each([{ records: 20 }, { records: 200 }])(
  'a Secret wakes those who name it, of $records without a look at the others',
  async ({ records }) => {
    const controller = await withRecords(records);
    const looks = looksAtRecords(controller);
    const woken = controller.wake();
    await woken.take();
    controller.kube.seed(SECRETS, aSecret('app3--vars-1'));
    expect(await woken.take()).toEqual(['team/app3']);
    controller.kube.seed(LISTENERS, {
      apiVersion: 'davit.dev/v1alpha1',
      kind: 'Listener',
      metadata: { name: 'far', namespace: 'team', uid: LISTENER },
      spec: { namespaces: [] },
    } as KubeObject);
    await woken.take();
    expect(looks()).toBe(0);
  },
);

it.each([{ orphans: 2 }, { orphans: 100 }])(
  '$orphans Secrets that nobody names cost one live look',
  async ({ orphans }) => {
    const controller = await withRecords(10);
    const { kube } = controller;
    for (let index = 0; index < orphans; index += 1) kube.seed(SECRETS, aSecret(`gone--vars-${index}`));
    await controller.reconcile('team/none');
    const woken = controller.wake('secrets');
    const keys = await woken.take();
    woken.stop();
    const all = async (): Promise<void> => {
      for (const key of keys) await controller.pass(key, 'secrets');
    };
    await all();
    controller.clock.ms += 60_000;
    const lists = vi.spyOn(kube, 'listAll');
    const looks = looksAtRecords(controller);
    await all();
    expect(lists.mock.calls.map(([{ plural }]) => plural).toSorted()).toEqual(['appdeployments', 'apprevisions']);
    expect(looks()).toBe(0);
    expect(kube.objects(SECRETS)).toEqual([]);
  },
);

it('a Secret of values is looked at when a record or revision of another name names it no more', async () => {
  const kube = aServer();
  kube.seed(SECRETS, aSecret('gone--vars-1'));
  const secrets = [{ name: 'A', secretName: 'gone--vars-1', secretKey: 'A' }];
  putRecord(kube, { secrets });
  const controller = await aController(kube);
  await controller.reconcile();
  const woken = controller.wake('secrets');
  await woken.take();
  await edit(kube, { spec: { secrets: [] } });
  expect(await woken.take()).toEqual(['team/gone--vars-1']);
  const [revision] = kube.objects(APP_REVISIONS);
  kube.erase(APP_REVISIONS, { namespace: 'team', name: revision?.metadata.name ?? '' });
  expect(await woken.take()).toEqual(['team/gone--vars-1']);
});

it("those that become nobody's one after the other wait for the next look, ten seconds later", async () => {
  const controller = await withRecords(1);
  const { kube, clock } = controller;
  const start = clock.ms;
  const look = (index: number): Promise<unknown> => controller.pass(`team/gone--vars-${index}`, 'secrets');
  for (const index of [1, 2]) {
    kube.seed(SECRETS, aSecret(`gone--vars-${index}`));
    await controller.reconcile('team/none');
    await look(index);
    clock.ms += 1000;
  }
  clock.ms = start + 60_000;
  expect(await look(1)).toEqual({});
  clock.ms = start + 61_000;
  expect(await look(2)).toEqual({ requeueAfterMs: 9000 });
  clock.ms = start + 70_000;
  expect(await look(2)).toEqual({});
  expect(kube.objects(SECRETS)).toEqual([]);
});

it('a Secret of the organization wakes the providers that name it alone', async () => {
  const kube = aServer();
  for (const name of ['one', 'two'])
    kube.seed(OAUTH_PROVIDERS, {
      apiVersion: 'davit.dev/v1alpha1',
      kind: 'OAuthProvider',
      metadata: { name, namespace: 'davit-org' },
      spec: { clientSecretRef: { name: `${name}--client`, key: 'k' } },
    } as KubeObject);
  const controller = await aController(kube);
  const woken = controller.wake('organization');
  await woken.take();
  const place = { name: 'two--client', namespace: 'davit-org' };
  kube.seed(SECRETS, { apiVersion: 'v1', kind: 'Secret', metadata: place });
  expect(await woken.take()).toEqual(['OAuthProvider/two']);
  await kube.mergePatch(SECRETS, place, { metadata: { labels: { any: 'label' } } });
  expect(await woken.take()).toEqual([]);
  await kube.mergePatch(SECRETS, place, { metadata: { annotations: { [SENT_TO_ANNOTATION]: 'elsewhere' } } });
  expect(await woken.take()).toEqual(['OAuthProvider/two']);
});

it('a record that names another Secret is found by that one, and by the old one no more', async () => {
  const controller = await withRecords(2);
  const { kube } = controller;
  await kube.mergePatch<AppDeployment>(
    APP_DEPLOYMENTS,
    { namespace: 'team', name: 'app0' },
    { spec: { secrets: [{ name: 'A', secretName: 'new--vars-1', secretKey: 'A' }] } },
    { fieldManager: 'p' },
  );
  const woken = controller.wake();
  await woken.take();
  kube.seed(SECRETS, aSecret('app0--vars-1'));
  // Its label names app0; its name does not any more.
  expect(await woken.take()).toEqual(['team/app0']);
  kube.seed(SECRETS, { ...aSecret('new--vars-1'), metadata: { name: 'new--vars-1', namespace: 'team' } });
  expect(await woken.take()).toEqual(['team/app0']);
});
