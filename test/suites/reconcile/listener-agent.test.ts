// A hub and a listener's cluster: a deployment's life, what is rejected, and what the agent does.

import { isDeepStrictEqual } from 'node:util';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { wakeWorks } from '../../../src/clusters/agent/works.ts';
import { APP_DEPLOYMENTS } from '../../../src/kinds/app-deployment.ts';
import { APP_REVISIONS, type AppRevision } from '../../../src/kinds/app-revision.ts';
import { conditionOf } from '../../../src/kinds/conditions.ts';
import { LISTENER_WORKS } from '../../../src/kinds/listener-work.ts';
import { makeWorkQueue } from '../../../src/runtime/controller/work-queue.ts';
import { Forbidden, Invalid, Unavailable } from '../../../src/runtime/errors.ts';
import { DEPLOYMENTS, LEASES, NAMESPACES, SECRETS, SERVICES } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { KEY, SHOP } from '../../kit/memory/controller.ts';
import { putRecord } from '../../kit/memory/record.ts';
import { makeFakeClock } from '../../support/fake-clock.ts';
import { type FakeKube, makeFakeKube } from '../../support/fake-kube/fake-kube.ts';
import { anAgent, aPair, EDGE, HUB, LISTENER, type Pair, THERE } from './listener-pair.ts';

let pair: Pair;
let hub: FakeKube;
let remote: FakeKube;
beforeEach(async () => {
  pair = await aPair();
  ({ hub, remote } = pair);
});
const onHub = (): ReturnType<Pair['onHub']> => pair.onHub();
const copy = (): ReturnType<Pair['copy']> => pair.copy();
const work = (): ReturnType<Pair['work']> => pair.work();
const told = (): string => pair.told();
const run = (): Promise<void> => pair.run();
const consent: Pair['consent'] = (labels) => pair.consent(labels);
const namespaceUid = (): string =>
  hub.objects(NAMESPACES).find(({ metadata }) => metadata.name === HUB)?.metadata.uid ?? '';
const remotePass = (): Promise<void> => pair.remotePass();

/** Until the hub has nothing of the record, or it should. */
async function untilGone(): Promise<void> {
  for (let pass = 0; pass < 12 && onHub() !== undefined; pass += 1) {
    await remotePass();
    remote.collectGarbage();
    await pair.agent.reconcile();
    await pair.hubController.reconcile(KEY);
  }
}

describe('a deployment', () => {
  it('runs in the cluster, and the hub shows it as it is there', async () => {
    await run();
    expect(told()).toBe('READY Serving');
    const uid = onHub()?.metadata.uid;
    expect(copy()?.metadata).toMatchObject({
      ...THERE,
      labels: { 'davit.dev/listener': LISTENER },
      annotations: { 'davit.dev/origin-id': uid, 'davit.dev/origin-generation': '1', 'davit.dev/origin-hub': 'hub-1' },
    });
    // One revision on both sides, with the same id, and pods that know it and the deployment by the hub's ids.
    const ids = [hub, remote].map((kube) => kube.objects<AppRevision>(APP_REVISIONS).map(({ spec }) => spec.id));
    expect([ids[0]?.length, ids[0]]).toEqual([1, ids[1]]);
    expect(hub.objects<AppRevision>(APP_REVISIONS)[0]?.status?.state).toBe('DEPLOYED');
    const pods = JSON.stringify(remote.objects(DEPLOYMENTS));
    expect([pods.includes(`{"name":"DAVIT_DEPLOYMENT_ID","value":"${uid}"}`), hub.objects(DEPLOYMENTS)]).toEqual([
      true,
      [],
    ]);
    const tenant = hub.objects(NAMESPACES).find(({ metadata }) => metadata.name === 'team')?.metadata.uid;
    expect(pods).toContain(`{"name":"DAVIT_TENANT_ID","value":"${tenant}"}`);
  });

  it('its values cross, and a Secret that it references does not', async () => {
    await run();
    const there = remote.objects<KubeObject & { data?: object }>(SECRETS);
    expect(there.find(({ metadata }) => metadata.name === 'shop--vars-1')?.data).toEqual({ KEY: 'dmFsdWU=' });
    expect(JSON.stringify(hub.objects(SECRETS).map(({ metadata }) => metadata.name))).not.toContain('theirs');
  });

  it('at rest nothing is written on either side', async () => {
    await run();
    await pair.hubController.reconcile(EDGE, 'listeners');
    hub.clearWrites();
    remote.clearWrites();
    await run();
    await pair.hubController.reconcile(EDGE, 'listeners');
    expect([hub.writes, remote.writes]).toEqual([[], []]);
  });

  it('a change reaches it; a rotated value and a dropped Secret too', async () => {
    await run();
    hub.seed(SECRETS, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'shop--vars-2', namespace: 'team' },
      type: 'Opaque',
      immutable: true,
      data: { KEY: 'bmV3' },
    } as KubeObject);
    const secrets = [{ name: 'KEY', secretName: 'shop--vars-2', secretKey: 'KEY' }];
    const sourceRevisionConfig = { imageUri: 'registry.example/app:2' };
    await hub.mergePatch(APP_DEPLOYMENTS, SHOP, { spec: { secrets, sourceRevisionConfig, revisionSerial: 2 } });
    await pair.hubController.reconcile(KEY);
    expect(told()).toBe('READY ListenerPending');
    const copied = (): string[] =>
      remote
        .objects(SECRETS)
        .map(({ metadata }) => metadata.name)
        .filter((name) => name.startsWith('shop--vars-'));
    // The pods that serve name the first one, and so does the revision to which a rollback returns.
    await pair.agent.reconcile();
    expect(copied()).toEqual(['shop--vars-1', 'shop--vars-2']);
    await run();
    expect([told(), onHub()?.status?.image]).toEqual(['READY Serving', 'registry.example/app:2']);
    expect(copied()).toEqual(['shop--vars-1', 'shop--vars-2']);

    // The label of the copy is what the cache of copies selects by.
    await remote.mergePatch(APP_DEPLOYMENTS, THERE, { metadata: { labels: { 'davit.dev/listener': null } } });
    await run();
    expect(copied()).toEqual(['shop--vars-1', 'shop--vars-2']);

    const [first] = remote
      .objects<AppRevision>(APP_REVISIONS)
      .filter(({ spec }) => spec.requested.secrets[0]?.secretName === 'shop--vars-1');
    remote.erase(APP_REVISIONS, { namespace: 'shops', name: first?.metadata.name ?? '' });
    await run();
    expect(copied()).toEqual(['shop--vars-2']);
  });

  it('an immutable Secret that is created again under its name crosses again', async () => {
    await run();
    for (const kube of [hub, remote])
      kube.failOn(({ verb, kind, ref, body }) => {
        if (verb !== 'apply' || kind !== 'Secret') return undefined;
        const there = kube
          .objects<KubeObject & { data?: object; immutable?: boolean }>(SECRETS)
          .find(({ metadata }) => metadata.name === ref.name && metadata.namespace === ref.namespace);
        const { data } = body as { data?: object };
        const serverMessage = `Secret "${ref.name}" is invalid: data: Forbidden: field is immutable when \`immutable\` is set`;
        return there?.immutable === true && !isDeepStrictEqual(there.data, data)
          ? new Invalid('apply', [], { serverMessage })
          : undefined;
      });
    hub.erase(SECRETS, { namespace: 'team', name: 'shop--vars-1' });
    hub.seed(SECRETS, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'shop--vars-1', namespace: 'team' },
      type: 'Opaque',
      immutable: true,
      data: { KEY: 'bmV3' },
    } as KubeObject);
    await run();
    const there = remote.objects<KubeObject & { data?: object }>(SECRETS);
    expect([told(), there.find(({ metadata }) => metadata.name === 'shop--vars-1')?.data]).toEqual([
      'READY Serving',
      { KEY: 'bmV3' },
    ]);
  });

  it('a pause on the hub pauses the copy and hands over nothing else, until it ends', async () => {
    await run();
    const pause = (value: string | null): Promise<unknown> =>
      hub.mergePatch(APP_DEPLOYMENTS, SHOP, { metadata: { annotations: { 'davit.dev/paused': value } } });
    await pause('true');
    const sourceRevisionConfig = { imageUri: 'registry.example/app:2' };
    await hub.mergePatch(APP_DEPLOYMENTS, SHOP, { spec: { sourceRevisionConfig, revisionSerial: 2 } });
    await run();
    expect([told(), copy()?.metadata.annotations?.['davit.dev/paused']]).toEqual(['READY Paused', 'true']);
    expect(copy()?.spec.sourceRevisionConfig.imageUri).toBe('registry.example/shop:1');
    remote.erase(SERVICES, THERE);
    hub.clearWrites();
    await run();
    expect(remote.objects(SERVICES).some(({ metadata }) => metadata.name === 'shop')).toBe(false);
    expect([told(), new Set(hub.writes.map(({ subresource }) => subresource))]).toEqual([
      'UNKNOWN Paused',
      new Set(['status']),
    ]);

    await pause(null);
    await run();
    expect([told(), copy()?.metadata.annotations?.['davit.dev/paused']]).toEqual(['READY Serving', undefined]);
    expect(copy()?.spec.sourceRevisionConfig.imageUri).toBe('registry.example/app:2');
    expect(remote.objects(SERVICES).some(({ metadata }) => metadata.name === 'shop')).toBe(true);
  });

  it('a change by somebody in the cluster is undone', async () => {
    await run();
    await remote.mergePatch(APP_DEPLOYMENTS, THERE, {
      spec: { sourceRevisionConfig: { imageUri: 'registry.example/theirs:1' } },
    });
    await run();
    expect(copy()?.spec.sourceRevisionConfig.imageUri).toBe(onHub()?.spec.sourceRevisionConfig.imageUri);
  });

  it('a label that somebody took off in the cluster is set again', async () => {
    await run();
    await remote.mergePatch(APP_DEPLOYMENTS, THERE, { metadata: { labels: { 'davit.dev/listener': null } } });
    await run();
    expect([copy()?.metadata.labels?.['davit.dev/listener'], told()]).toEqual([LISTENER, 'READY Serving']);
  });

  it('a kubectl edit on the hub, without a serial, has the same id of its revision on both sides', async () => {
    await run();
    await hub.mergePatch(APP_DEPLOYMENTS, SHOP, { metadata: { labels: { a: 'b' } } });
    await hub.mergePatch(APP_DEPLOYMENTS, SHOP, {
      spec: { sourceRevisionConfig: { imageUri: 'registry.example/app:3' } },
    });
    await run();
    const ids = [hub, remote].map((kube) =>
      kube
        .objects<AppRevision>(APP_REVISIONS)
        .map(({ spec }) => spec.id)
        .toSorted(),
    );
    expect([ids[0]?.length, ids[0], told()]).toEqual([2, ids[1], 'READY Serving']);
  });
});

describe('is rejected, and nothing is done', () => {
  it.each([
    ['without consent', {}],
    ['with consent for another listener', { 'davit.dev/tenant': 'true', 'davit.dev/listener': 'another' }],
  ])('%s, until it is given', async (_name, labels) => {
    consent(labels);
    await run();
    expect([told(), copy()]).toEqual(['UNKNOWN NamespaceNotAllowed', undefined]);
    consent();
    await run();
    expect(told()).toBe('READY Serving');
  });

  it.each([
    [
      'an AppDeployment',
      APP_DEPLOYMENTS,
      { kind: 'AppDeployment', metadata: THERE, spec: { source: 'external_docker' } },
    ],
    ['a Secret', SECRETS, { kind: 'Secret', metadata: { namespace: 'shops', name: 'shop--vars-1' } }],
  ])('where %s of somebody else has the name', async (_name, resource, object) => {
    remote.seed(resource, { apiVersion: 'v1', ...object } as KubeObject);
    const before = JSON.stringify(remote.objects(resource));
    await pair.hubController.reconcile(KEY);
    await pair.agent.reconcile();
    await pair.hubController.reconcile(KEY);
    expect([told(), JSON.stringify(remote.objects(resource))]).toEqual(['UNKNOWN NameConflict', before]);
  });

  it.each([
    'strict decoding error: unknown field "spec.new"',
    // What the API server says of a server-side apply.
    'failed to create typed patch object (shops/shop; davit.dev/v1alpha1, Kind=AppDeployment): .spec.new: field not declared in schema',
  ])('where the cluster does not know a field: %s', async (serverMessage) => {
    remote.failOn(({ verb, kind }) =>
      verb === 'apply' && kind === 'AppDeployment' ? new Invalid('apply', [], { serverMessage }) : undefined,
    );
    await pair.hubController.reconcile(KEY);
    await pair.agent.reconcile();
    await pair.hubController.reconcile(KEY);
    expect(told()).toBe('UNKNOWN ListenerTooOld');
  });

  it('where the cluster refuses it in other words each time, which are written once for each change', async () => {
    let requests = 0;
    remote.failOn(({ verb, kind }) =>
      verb === 'apply' && kind === 'AppDeployment'
        ? new Forbidden('apply', { serverMessage: `denied: request ${(requests += 1)}` })
        : undefined,
    );
    await pair.hubController.reconcile(KEY);
    await pair.agent.reconcile();
    expect(work()?.status?.rejection?.message).toContain('request 1');
    hub.clearWrites();
    await pair.agent.reconcile();
    expect([requests, hub.writes]).toEqual([2, []]);

    await hub.mergePatch(APP_DEPLOYMENTS, SHOP, {
      spec: { sourceRevisionConfig: { imageUri: 'registry.example/app:2' } },
    });
    await pair.hubController.reconcile(KEY);
    await pair.agent.reconcile();
    expect(work()?.status?.rejection?.message).toContain('request 3');
  });

  it('where the cluster does not let the agent read, until it does', async () => {
    await pair.hubController.reconcile(KEY);
    remote.failOn(({ verb, ref }) =>
      verb === 'get' && ref.namespace === 'shops' ? new Forbidden('no', { serverMessage: 'no Role' }) : undefined,
    );
    await pair.agent.reconcile();
    await pair.hubController.reconcile(KEY);
    expect([told(), work()?.status?.rejection?.message]).toEqual([
      'UNKNOWN ApplyRefused',
      expect.stringContaining('no Role'),
    ]);
    remote.failOn(undefined);
    await run();
    expect(told()).toBe('READY Serving');
  });

  it('where a webhook of the cluster is down: the agent says so and tries again', async () => {
    await pair.hubController.reconcile(KEY);
    remote.failOn(({ verb, kind }) =>
      verb === 'apply' && kind === 'AppDeployment'
        ? new Unavailable('apply', { serverMessage: 'failed calling webhook' })
        : undefined,
    );
    await expect(pair.agent.reconcile()).rejects.toThrow('apply');
    await pair.agent.settle();
    await pair.hubController.reconcile(KEY);
    expect([told(), work()?.status?.rejection?.message]).toEqual([
      'UNKNOWN ApplyRefused',
      expect.stringContaining('failed calling webhook'),
    ]);
    remote.failOn(undefined);
    await run();
    expect(told()).toBe('READY Serving');
  });

  it("where the hub's copy of a Secret was deleted: the command in the message brings it back", async () => {
    await pair.hubController.reconcile(KEY);
    const lost = hub.objects(SECRETS).find(({ metadata }) => metadata.namespace === HUB);
    hub.erase(SECRETS, { namespace: HUB, name: lost?.metadata.name ?? '' });
    await pair.agent.reconcile();
    await pair.hubController.reconcile(KEY);
    const { name = '', uid = '' } = work()?.metadata ?? {};
    expect([told(), work()?.status?.rejection?.message]).toEqual([
      'UNKNOWN ApplyRefused',
      expect.stringContaining(`kubectl delete lsnw ${name} -n ${HUB}`),
    ]);
    await hub.remove(LISTENER_WORKS, { namespace: HUB, name }, { uid });
    await pair.hubController.reconcile(EDGE, 'listeners');
    await run();
    expect(told()).toBe('READY Serving');
  });

  it('where the hub itself refuses the work in other words each time, which are written once', async () => {
    let requests = 0;
    hub.failOn(({ verb, kind }) =>
      verb === 'apply' && kind === 'ListenerWork'
        ? new Unavailable('apply', { serverMessage: `connection from port ${(requests += 1)} was reset` })
        : undefined,
    );
    await expect(pair.hubController.reconcile(KEY)).rejects.toThrow('apply');
    expect(told()).toBe('UNKNOWN RequestFailed');
    hub.clearWrites();
    await expect(pair.hubController.reconcile(KEY)).rejects.toThrow('apply');
    expect([requests, hub.writes.filter(({ kind }) => kind === 'AppDeployment')]).toEqual([2, []]);
  });

  describe('where it begins with the backup of', () => {
    const BOOKS = { namespace: 'shops', name: 'books' };
    const shopThere = (): KubeObject | undefined =>
      remote.objects(APP_DEPLOYMENTS).find(({ metadata }) => metadata.name === 'shop');
    beforeEach(async () => {
      const database = { restore: { from: 'books' } };
      await hub.mergePatch(APP_DEPLOYMENTS, SHOP, { spec: { sourceConfig: { database } } });
    });
    const books = (origin: object): KubeObject => ({
      apiVersion: 'davit.dev/v1alpha1',
      kind: 'AppDeployment',
      metadata: { ...BOOKS, labels: { 'davit.dev/listener': LISTENER }, ...origin },
    });
    const tenantOnHub = (): string => work()?.spec.tenantId ?? '';
    const pass = async (): Promise<void> => {
      await pair.hubController.reconcile(KEY);
      await pair.agent.reconcile();
      await pair.hubController.reconcile(KEY);
    };

    it.each<[string, () => KubeObject | undefined]>([
      ['a deployment that the cluster does not have', () => undefined],
      ['a deployment of the cluster itself', () => books({ labels: {} })],
      ['one that only has the label', () => books({})],
      [
        'one of another tenant of the hub',
        () => books({ annotations: { 'davit.dev/origin-id': 'books', 'davit.dev/origin-tenant': 'another' } }),
      ],
    ])('%s', async (_whose, made) => {
      const object = made();
      if (object) remote.seed(APP_DEPLOYMENTS, object);
      await pass();
      expect([told(), shopThere()]).toEqual(['UNKNOWN ApplyRefused', undefined]);
      expect(work()?.status?.rejection?.message).toContain('begins with a backup of books');
    });

    it('a deployment of another namespace', async () => {
      remote.seed(
        APP_DEPLOYMENTS,
        books({ annotations: { 'davit.dev/origin-id': 'books', 'davit.dev/origin-tenant': tenantOnHub() } }),
      );
      const database = { restore: { from: 'books', namespace: 'shops' } };
      await hub.mergePatch(APP_DEPLOYMENTS, SHOP, { spec: { sourceConfig: { database } } });
      await pass();
      expect([told(), shopThere()]).toEqual(['UNKNOWN ApplyRefused', undefined]);
      expect(work()?.status?.rejection?.message).toContain('begins with a backup of another namespace');
    });

    it('one of the same tenant, when that is there; and it stays when that is gone', async () => {
      await pass();
      const queue = makeWorkQueue({ name: 'works', clock: makeFakeClock() });
      onTestFinished(wakeWorks(pair.agent.caches, queue));
      queue.done((await queue.take()) ?? '');
      const annotations = { 'davit.dev/origin-id': 'books', 'davit.dev/origin-tenant': tenantOnHub() };
      remote.seed(APP_DEPLOYMENTS, books({ annotations }));
      await pair.agent.settle();
      expect(queue.length).toBe(1);
      await pass();
      expect(shopThere()).toBeDefined();
      remote.erase(APP_DEPLOYMENTS, BOOKS);
      await pass();
      expect(work()?.status?.rejection).toBeUndefined();
    });
  });

  it('for a clone of the cluster', async () => {
    const clone = makeFakeKube();
    clone.seed(NAMESPACES, {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'shops', labels: { 'davit.dev/tenant': 'true', 'davit.dev/listener': LISTENER } },
    });
    await run();
    const cloned = await anAgent(hub, clone, { clusterId: 'cluster-2' });
    hub.clearWrites();
    await cloned.reconcile();
    expect([clone.objects(APP_DEPLOYMENTS), hub.writes]).toEqual([[], []]);
  });

  it('where the hub was restored from a backup, or is another one', async () => {
    await run();
    await hub.mergePatch(APP_DEPLOYMENTS, SHOP, { spec: { revisionSerial: 2 } });
    await run();
    const before = JSON.stringify(copy()?.spec);
    const { namespace = '', name } = work()?.metadata ?? { name: '' };
    for (const spec of [{ generation: 1 }, { generation: 2, hubId: 'hub-2' }]) {
      await hub.mergePatch(
        LISTENER_WORKS,
        { namespace, name },
        { spec: { ...spec, deployment: { revisionSerial: 1 } } },
      );
      await pair.agent.reconcile();
      expect([work()?.status?.rejection?.reason, JSON.stringify(copy()?.spec)]).toEqual(['HubChanged', before]);
    }
    await hub.remove(LISTENER_WORKS, { namespace, name }, { uid: work()?.metadata.uid ?? '' });
    await pair.agent.reconcile();
    expect(copy()?.metadata.deletionTimestamp).toBeUndefined();
  });
});

describe('of a deployment that served and is not in the cluster any more, nothing is said to serve', () => {
  const lost = async (): Promise<void> => {
    await run();
    expect(told()).toBe('READY Serving');
    remote.erase(APP_DEPLOYMENTS, THERE);
    remote.collectGarbage();
  };
  const available = (): string | undefined => conditionOf(onHub()?.status?.conditions, 'Available')?.status;

  it('because another has its name', async () => {
    await lost();
    const foreign = { apiVersion: 'v1', kind: 'AppDeployment', metadata: THERE, spec: { source: 'external_docker' } };
    remote.seed(APP_DEPLOYMENTS, foreign as KubeObject);
    await pair.agent.reconcile();
    await pair.hubController.reconcile(KEY);
    expect([told(), available(), onHub()?.status?.replicas]).toEqual(['UNKNOWN NameConflict', 'False', undefined]);
    remote.erase(APP_DEPLOYMENTS, THERE);
    await run();
    expect([told(), available()]).toEqual(['READY Serving', 'True']);
  });

  it('because its namespace is gone there', async () => {
    await lost();
    remote.erase(NAMESPACES, { name: 'shops' });
    await pair.agent.reconcile();
    await pair.hubController.reconcile(KEY);
    expect([told(), available()]).toEqual(['UNKNOWN NamespaceNotAllowed', 'False']);
    consent();
    await run();
    expect([told(), available()]).toEqual(['READY Serving', 'True']);
  });

  it('because the cluster does not take it again; and where it still serves, it is said to', async () => {
    const refuse = ({ verb, kind }: { verb: string; kind: string }): Invalid | undefined =>
      verb === 'apply' && kind === 'AppDeployment'
        ? new Invalid('apply', [], { serverMessage: 'a policy' })
        : undefined;
    await run();
    remote.failOn(refuse);
    await hub.mergePatch(APP_DEPLOYMENTS, SHOP, { spec: { revisionSerial: 2 } });
    await run();
    expect([told(), available()]).toEqual(['READY ApplyRefused', 'True']);
    remote.erase(APP_DEPLOYMENTS, THERE);
    await run();
    expect([told(), available()]).toEqual(['UNKNOWN ApplyRefused', 'False']);
  });
});

describe('nothing is deleted', () => {
  it.each([
    ['refuses', new Forbidden('appd is forbidden', { serverMessage: 'forbidden' })],
    ['has an admission policy that refuses', new Invalid('denied', [], { serverMessage: 'forbidden' })],
    ['has a webhook that is down', new Unavailable('remove', { serverMessage: 'forbidden' })],
  ])(
    'because the cluster %s: the record says so, and how it is let go, and goes on when the cluster allows it',
    async (_what, error) => {
      await run();
      remote.failOn(({ verb, kind }) => (verb === 'delete' && kind === 'AppDeployment' ? error : undefined));
      await hub.remove(APP_DEPLOYMENTS, SHOP, { uid: onHub()?.metadata.uid ?? '' });
      await run();
      expect([told(), copy()?.metadata.deletionTimestamp]).toEqual(['AWAITING_DELETE NamespaceNotAllowed', undefined]);
      const message = conditionOf(onHub()?.status?.conditions, 'Ready')?.message;
      expect(message).toContain(
        'does not allow the agent to delete objects in namespace shops of the cluster (forbidden)',
      );
      expect(message).toContain('kubectl annotate appd shop --overwrite davit.dev/abandon-remote=');
      remote.failOn(undefined);
      await untilGone();
      expect([onHub(), work(), copy()]).toEqual([undefined, undefined, undefined]);
    },
  );

  it('because the hub itself refuses: the record says so, and goes on when the hub allows it', async () => {
    await run();
    let requests = 0;
    hub.failOn(({ verb, kind }) =>
      verb !== 'get' && kind === 'ListenerWork'
        ? new Forbidden('no', { serverMessage: `held by a policy: request ${(requests += 1)}` })
        : undefined,
    );
    await hub.remove(APP_DEPLOYMENTS, SHOP, { uid: onHub()?.metadata.uid ?? '' });
    await expect(pair.hubController.reconcile(KEY)).rejects.toThrow('no');
    expect(told()).toBe('AWAITING_DELETE RequestFailed');
    expect(conditionOf(onHub()?.status?.conditions, 'Ready')?.message).toContain('held by a policy: request 1');
    hub.clearWrites();
    await expect(pair.hubController.reconcile(KEY)).rejects.toThrow('no');
    expect([requests, hub.writes.map(({ kind }) => kind)]).toEqual([2, ['ListenerWork']]);
    hub.failOn(undefined);
    await pair.hubController.reconcile(KEY);
    await untilGone();
    expect([onHub(), work(), copy()]).toEqual([undefined, undefined, undefined]);
  });

  it('any more where the namespace is gone with its Role: the record goes', async () => {
    await run();
    remote.erase(APP_DEPLOYMENTS, THERE);
    for (const { metadata } of remote.objects(SECRETS))
      remote.erase(SECRETS, { namespace: metadata.namespace ?? '', name: metadata.name });
    remote.erase(NAMESPACES, { name: 'shops' });
    remote.failOn(({ ref }) => (ref.namespace === 'shops' ? new Forbidden('no Role') : undefined));
    await hub.remove(APP_DEPLOYMENTS, SHOP, { uid: onHub()?.metadata.uid ?? '' });
    await run();
    expect([onHub(), work()]).toEqual([undefined, undefined]);
  });

  it('by its label alone: a copy without it goes too', async () => {
    await run();
    await remote.mergePatch(APP_DEPLOYMENTS, THERE, { metadata: { labels: { 'davit.dev/listener': null } } });
    await pair.agent.settle();
    await hub.remove(APP_DEPLOYMENTS, SHOP, { uid: onHub()?.metadata.uid ?? '' });
    await pair.hubController.reconcile(KEY);
    await untilGone();
    expect([onHub(), work(), copy()]).toEqual([undefined, undefined, undefined]);
  });

  it('because the hub has no works', async () => {
    await run();
    hub.erase(LISTENER_WORKS, { namespace: HUB, name: work()?.metadata.name ?? '' });
    pair.agent.stop();
    pair.agent = await anAgent(hub, remote);
    await pair.agent.reconcile();
    expect(copy()?.metadata.deletionTimestamp).toBeUndefined();
  });

  it.each([
    ['the work', false],
    ["the Listener's namespace", true],
  ])(
    'because somebody deletes %s on the hub: nobody deleted the record, and it is handed over again',
    async (_what, whole) => {
      await run();
      const before = copy()?.metadata.uid;
      const first = work()?.metadata;
      // The API server keeps the namespace until the work is gone.
      if (whole) await hub.mergePatch(NAMESPACES, { name: HUB }, { metadata: { finalizers: ['kubernetes'] } });
      if (whole) await hub.remove(NAMESPACES, { name: HUB }, { uid: namespaceUid() });
      await hub.remove(LISTENER_WORKS, { namespace: HUB, name: first?.name ?? '' }, { uid: first?.uid ?? '' });
      await pair.agent.reconcile();
      expect([work()?.metadata.deletionTimestamp !== undefined, copy()?.metadata.deletionTimestamp]).toEqual([
        true,
        undefined,
      ]);
      await pair.hubController.reconcile(EDGE, 'listeners');
      expect(work()).toBeUndefined();
      if (whole) {
        hub.erase(LEASES, { namespace: HUB, name: 'davit-listener' });
        await hub.mergePatch(NAMESPACES, { name: HUB }, { metadata: { finalizers: null } });
        pair.agent.stop();
        await pair.hubController.reconcile(EDGE, 'listeners');
        pair.agent = await anAgent(hub, remote);
        await pair.hubController.reconcile(EDGE, 'listeners');
      }
      await run();
      expect([told(), copy()?.metadata.uid, work()?.metadata.uid === first?.uid]).toEqual([
        'READY Serving',
        before,
        false,
      ]);
    },
  );

  it('a record whose work somebody deleted before goes after its copy all the same', async () => {
    await run();
    const { name = '', uid = '' } = work()?.metadata ?? {};
    await hub.remove(LISTENER_WORKS, { namespace: HUB, name }, { uid });
    await pair.hubController.reconcile(EDGE, 'listeners');
    expect(work()).toBeUndefined();
    await hub.remove(APP_DEPLOYMENTS, SHOP, { uid: onHub()?.metadata.uid ?? '' });
    await pair.hubController.reconcile(KEY);
    await pair.agent.reconcile();
    expect([told(), copy()?.metadata.deletionTimestamp !== undefined]).toEqual(['AWAITING_DELETE Deleting', true]);
    await untilGone();
    expect([onHub(), work(), copy()]).toEqual([undefined, undefined, undefined]);
  });

  it('before the cluster has deleted it, and then everything is', async () => {
    await run();
    await hub.remove(APP_DEPLOYMENTS, SHOP, { uid: onHub()?.metadata.uid ?? '' });
    await pair.hubController.reconcile(KEY);
    await pair.agent.reconcile();
    expect([copy()?.metadata.deletionTimestamp !== undefined, work()?.status?.gone]).toEqual([true, undefined]);
    await pair.hubController.reconcile(KEY);
    expect(told()).toBe('AWAITING_DELETE Deleting');
    await untilGone();
    expect([onHub(), work(), copy()]).toEqual([undefined, undefined, undefined]);
    expect(remote.objects(SECRETS).map(({ metadata }) => metadata.name)).not.toContain('shop--vars-1');
  });
});

describe('the agent', () => {
  it('acts on a change of the hub at once, and once on what the cluster writes within a moment', async () => {
    await run();
    const clock = makeFakeClock();
    const queue = makeWorkQueue({ name: 'works', clock });
    onTestFinished(wakeWorks(pair.agent.caches, queue));
    const reconciled = async (): Promise<void> => queue.done((await queue.take()) ?? '');
    await reconciled();
    const [revision] = remote.objects<AppRevision>(APP_REVISIONS);
    for (const value of ['1', '2']) {
      await remote.mergePatch(APP_DEPLOYMENTS, THERE, { metadata: { annotations: { theirs: value } } });
      await remote.mergePatch(
        APP_REVISIONS,
        { namespace: 'shops', name: revision?.metadata.name ?? '' },
        { metadata: { annotations: { theirs: value } } },
      );
      await pair.agent.settle();
      expect(queue.length).toBe(0);
      clock.advanceSync(50);
    }
    clock.advanceSync(150);
    expect(queue.length).toBe(1);
    await reconciled();
    clock.advanceSync(10_000);
    expect(queue.length).toBe(0);
    await hub.mergePatch(
      LISTENER_WORKS,
      { namespace: HUB, name: work()?.metadata.name ?? '' },
      { spec: { paused: true } },
    );
    await pair.agent.settle();
    expect(queue.length).toBe(1);
  });

  it('of an earlier epoch writes no report over one of a later', async () => {
    await run();
    const earlier = pair.agent;
    pair.agent = await anAgent(hub, remote);
    expect(pair.agent.lease.epoch()).toBe(earlier.lease.epoch() + 1);
    await hub.mergePatch(APP_DEPLOYMENTS, SHOP, {
      spec: { sourceRevisionConfig: { imageUri: 'registry.example/app:4' } },
    });
    await run();
    const { status } = work() ?? {};
    expect(status?.epoch).toBe(pair.agent.lease.epoch());
    remote.erase(APP_DEPLOYMENTS, THERE);
    await earlier.reconcile();
    expect(work()?.status).toEqual(status);
  });

  it('away while the record is deleted and made again: the old one goes, then the new one comes', async () => {
    await run();
    const first = onHub()?.metadata.uid;
    await hub.remove(APP_DEPLOYMENTS, SHOP, { uid: first ?? '' });
    await hub.mergePatch(APP_DEPLOYMENTS, SHOP, { metadata: { annotations: { 'davit.dev/abandon-remote': first } } });
    await pair.hubController.reconcile(KEY);
    expect(onHub()).toBeUndefined();
    putRecord(hub, {
      sourceConfig: { listenerId: LISTENER, listenerConfig: { k8sNamespace: 'shops' } },
      revisionSerial: 1,
    });
    await pair.hubController.reconcile(KEY);
    expect(hub.objects(LISTENER_WORKS)).toHaveLength(2);
    for (let pass = 0; pass < 12; pass += 1) {
      await pair.agent.reconcile();
      await remotePass();
      remote.collectGarbage();
      await pair.hubController.reconcile(KEY);
      await pair.hubController.reconcile(EDGE, 'listeners');
    }
    expect([told(), copy()?.metadata.annotations?.['davit.dev/origin-id'], hub.objects(LISTENER_WORKS).length]).toEqual(
      ['READY Serving', onHub()?.metadata.uid, 1],
    );
  });

  it('that dies at any write leaves nothing that its successor cannot finish', async () => {
    for (const server of ['hub', 'remote'] as const) {
      for (const when of ['failOn', 'failAfter'] as const) {
        for (let at = 1; at <= 3; at += 1) {
          const kube = server === 'hub' ? hub : remote;
          await hub.mergePatch(APP_DEPLOYMENTS, SHOP, {
            spec: { sourceRevisionConfig: { imageUri: `registry.example/app:${server}-${when}-${at}` } },
          });
          await pair.hubController.reconcile(KEY);
          let writes = 0;
          kube[when](({ verb }) => {
            if (['get', 'list', 'watch', 'text'].includes(verb)) return undefined;
            writes += 1;
            return writes >= at ? new Unavailable('gone') : undefined;
          });
          await pair.agent.reconcile().catch(() => undefined);
          pair.agent.stop();
          kube[when](undefined);
          pair.agent = await anAgent(hub, remote);
          await run();
          expect([told(), onHub()?.status?.image]).toEqual([
            'READY Serving',
            `registry.example/app:${server}-${when}-${at}`,
          ]);
        }
      }
    }
  });
});
