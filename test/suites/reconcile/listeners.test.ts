// A record that another cluster runs: it must name a Listener of its tenant. Without the setting it is then left alone. With it, the
// Listener's cluster gets its work, and its report becomes the status.

import { describe, expect, it } from 'vitest';
import { wantedRevision } from '../../../src/deploy/record/wanted-revision.ts';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../../src/kinds/app-deployment.ts';
import { APP_REVISIONS, type AppRevision } from '../../../src/kinds/app-revision.ts';
import { LISTENERS, type Listener } from '../../../src/kinds/listener.ts';
import { LISTENER_WORKS, type ListenerWork } from '../../../src/kinds/listener-work.ts';
import {
  ABANDON_ANNOTATION,
  AGENT_VERSION_ANNOTATION,
  CLUSTER_ID_ANNOTATION,
  REMOTE_FINALIZER,
} from '../../../src/kinds/meta.ts';
import { defaultSettings, Settings } from '../../../src/kinds/settings.ts';
import { TRACING_PROJECTS } from '../../../src/kinds/tracing-project.ts';
import { Unavailable } from '../../../src/runtime/errors.ts';
import {
  DEPLOYMENTS,
  LEASES,
  NAMESPACES,
  ROLE_BINDINGS,
  SECRETS,
  SERVICE_ACCOUNTS,
} from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { aController, KEY, type MemoryController, SHOP } from '../../kit/memory/controller.ts';
import { aServer, putRecord } from '../../kit/memory/record.ts';
import type { FakeKube } from '../../support/fake-kube/fake-kube.ts';
import { converge, crashed } from './harness.ts';

const UID = '4f1c1a52-4d52-4b33-9d0c-0b3f7f1f6c11';
function listen(kube: FakeKube, namespaces: string[], namespace = 'team'): void {
  kube.seed<Listener>(LISTENERS, {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'Listener',
    metadata: { name: 'edge', namespace, uid: UID },
    spec: { namespaces },
  });
}
function said(kube: FakeKube): (string | undefined)[] {
  const [record] = kube.objects<AppDeployment>(APP_DEPLOYMENTS);
  const reason = (type: string): string | undefined =>
    record?.status?.conditions?.find((condition) => condition.type === type)?.reason;
  return [record?.status?.state, reason('PolicyAccepted'), reason('Stalled')];
}

it("is told of a Listener that is not there, not the tenant's, or does not list the namespace; then it is left alone", async () => {
  const kube = aServer();
  listen(kube, ['shops'], 'another-team');
  putRecord(kube, { sourceConfig: { listenerId: UID, listenerConfig: { k8sNamespace: 'shops' } } });
  const controller = await aController(kube);
  await converge(controller);
  expect(said(kube)).toEqual(['UNKNOWN', 'ListenerNotFound', 'ListenerNotFound']);
  kube.erase(LISTENERS, { namespace: 'another-team', name: 'edge' });

  const woken = controller.wake();
  await woken.take();
  listen(kube, ['tools']);
  expect(await woken.take()).toEqual([KEY]);
  woken.stop();
  await converge(controller);
  expect(said(kube)).toEqual(['UNKNOWN', 'ListenerNotFound', 'ListenerNotFound']);

  listen(kube, ['tools', 'shops']);
  await converge(controller);
  expect(said(kube)).toEqual(['UNKNOWN', 'Accepted', 'ListenerSilent']);
  expect([DEPLOYMENTS, APP_REVISIONS, TRACING_PROJECTS].flatMap((resource) => kube.objects(resource))).toEqual([]);
  await controller.reconcile();
  expect(controller.writes()).toEqual([]);
});

describe('where settings enable listeners', () => {
  const HUB = 'davit-lsn-4f1c1a52';
  const EDGE = 'team/edge';
  const ENABLED = Settings.parse({ listeners: { enabled: true } });
  const LEASE = { namespace: HUB, name: 'davit-listener' };
  const SPEC = {
    sourceConfig: { listenerId: UID, listenerConfig: { k8sNamespace: 'shops' } },
    secrets: [{ name: 'KEY', secretName: 'shop--vars-1', secretKey: 'KEY' }],
    secretReferences: [{ name: 'OTHER', secretName: 'theirs', secretKey: 'a' }],
    revisionSerial: 1,
  };

  function aHub(): FakeKube {
    const kube = aServer();
    kube.seed(NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'kube-system', uid: 'hub' } });
    listen(kube, ['shops']);
    for (const name of ['shop--vars-1', 'theirs'])
      kube.seed(SECRETS, {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name, namespace: 'team' },
        type: 'Opaque',
        immutable: true,
        data: { KEY: 'dmFsdWU=' },
      } as KubeObject);
    return kube;
  }
  const listener = (kube: FakeKube): Listener | undefined => kube.objects<Listener>(LISTENERS)[0];
  const work = (kube: FakeKube): ListenerWork | undefined => kube.objects<ListenerWork>(LISTENER_WORKS)[0];
  const connected = (kube: FakeKube): string | undefined => listener(kube)?.status?.conditions?.[0]?.reason;
  const copies = (kube: FakeKube): string[] =>
    kube
      .objects(SECRETS)
      .filter(({ metadata }) => metadata.namespace === HUB)
      .map(({ metadata }) => metadata.name);
  let renewals = 0;
  /** What the agent writes into its Lease. */
  async function renew(kube: FakeKube, clusterId = 'cluster-1', leaseTransitions = 1): Promise<void> {
    renewals += 1;
    const annotations = { [CLUSTER_ID_ANNOTATION]: clusterId, [AGENT_VERSION_ANNOTATION]: '1.2.3' };
    await kube.mergePatch(LEASES, LEASE, {
      metadata: { annotations },
      spec: { holderIdentity: 'agent', renewTime: `${renewals}`, leaseTransitions },
    });
  }
  function says(kube: FakeKube, status: object): Promise<unknown> {
    const { namespace = '', name } = work(kube)?.metadata ?? { name: '' };
    return kube.mergePatch(
      LISTENER_WORKS,
      { namespace, name },
      { status: { clusterId: 'cluster-1', epoch: 1, generation: 1, ...status } },
      { subresource: 'status' },
    );
  }
  async function enrolled(): Promise<MemoryController> {
    const kube = aHub();
    const controller = await aController(kube, ENABLED);
    await controller.reconcile(EDGE, 'listeners');
    await renew(kube);
    await controller.reconcile(EDGE, 'listeners');
    putRecord(kube, SPEC);
    await controller.reconcile();
    controller.writes();
    return controller;
  }

  it('only so many Listeners of a tenant get a namespace; one more waits until another is gone', async () => {
    const kube = aHub();
    const two = Settings.parse({ listeners: { enabled: true, perTenant: 2 } });
    const more = (name: string, uid: string, creationTimestamp: string): void =>
      void kube.seed<Listener>(LISTENERS, {
        apiVersion: 'davit.dev/v1alpha1',
        kind: 'Listener',
        metadata: { name, namespace: 'team', uid, creationTimestamp },
        spec: {},
      });
    more('second', '5f1c1a52-4d52-4b33-9d0c-0b3f7f1f6c11', '2030-01-01T00:00:00Z');
    more('third', '6f1c1a52-4d52-4b33-9d0c-0b3f7f1f6c11', '2031-01-01T00:00:00Z');
    more('fourth', '7f1c1a52-4d52-4b33-9d0c-0b3f7f1f6c11', '2032-01-01T00:00:00Z');
    const controller = await aController(kube, two);
    const hubs = (): string[] =>
      kube.objects(NAMESPACES).flatMap(({ metadata: { name } }) => (name.startsWith('davit-lsn-') ? [name] : []));
    const reasonOf = (name: string): string | undefined =>
      kube.objects<Listener>(LISTENERS).find(({ metadata }) => metadata.name === name)?.status?.conditions?.[0]?.reason;
    // The last one asks first.
    expect((await controller.reconcile('team/third', 'listeners')).requeueAfterMs).toBe(60_000);
    for (const name of ['edge', 'second', 'third']) await controller.reconcile(`team/${name}`, 'listeners');
    expect(hubs()).toEqual([HUB, 'davit-lsn-5f1c1a52']);
    expect([reasonOf('second'), reasonOf('third')]).toEqual(['NeverConnected', 'TooManyListeners']);
    controller.writes();
    await controller.reconcile('team/third', 'listeners');
    expect(controller.writes()).toEqual([]);
    kube.erase(LISTENERS, { namespace: 'team', name: 'second' });
    await controller.reconcile('team/third', 'listeners');
    expect(hubs()).toContain('davit-lsn-6f1c1a52');
    expect(reasonOf('third')).toBe('NeverConnected');
  });

  it('a Listener gets a namespace with an account, its rights and a Lease, once', async () => {
    const kube = aHub();
    const controller = await aController(kube, ENABLED);
    await controller.reconcile(EDGE, 'listeners');
    expect(controller.writes()).toEqual([
      'patch Listener edge',
      `apply Namespace ${HUB}`,
      'apply RoleBinding davit-controller',
      'apply ServiceAccount davit-listener',
      'apply RoleBinding davit-listener',
      'apply Lease davit-listener',
      'apply Listener edge/status',
    ]);
    expect([connected(kube), listener(kube)?.status?.namespace]).toEqual(['NeverConnected', HUB]);
    await controller.reconcile(EDGE, 'listeners');
    controller.clock.ms += 3_600_000;
    await controller.reconcile(EDGE, 'listeners');
    expect(controller.writes()).toEqual([]);

    const subjects = [{ kind: 'User', name: 'mallory' }];
    await kube.mergePatch(ROLE_BINDINGS, LEASE, { subjects });
    controller.writes();
    controller.clock.ms += 3_600_000;
    await controller.reconcile(EDGE, 'listeners');
    expect(controller.writes()).toEqual(['apply RoleBinding davit-listener']);
    expect(kube.objects(ROLE_BINDINGS).map((binding) => Object(binding).subjects[0].name)).toEqual([
      'davit-controller',
      'davit-listener',
    ]);
  });

  it('no crash at any write of that leaves anything undone', async () => {
    for (const when of ['failOn', 'failAfter'] as const) {
      for (let at = 1; at <= 8; at += 1) {
        const kube = aHub();
        const dying = await aController(kube, ENABLED);
        let writes = 0;
        kube[when](({ verb }) => {
          if (['get', 'list', 'watch', 'text'].includes(verb)) return undefined;
          writes += 1;
          return writes >= at ? new Unavailable('gone') : undefined;
        });
        await dying.reconcile(EDGE, 'listeners').catch(() => undefined);
        dying.stop();
        kube[when](undefined);
        const next = await aController(kube, ENABLED);
        await next.reconcile(EDGE, 'listeners');
        expect(
          kube.objects(ROLE_BINDINGS).length + kube.objects(SERVICE_ACCOUNTS).length + kube.objects(LEASES).length,
        ).toBe(4);
        expect(connected(kube)).toBe('NeverConnected');
        next.stop();
      }
    }
  });

  it("a namespace of that name that is not the Listener's is left alone", async () => {
    const kube = aHub();
    kube.seed(NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: HUB } });
    const controller = await aController(kube, ENABLED);
    await controller.reconcile(EDGE, 'listeners');
    expect([connected(kube), kube.objects(LEASES).length]).toEqual(['NameConflict', 0]);
  });

  it('nothing is handed over before a cluster has enrolled', async () => {
    const kube = aHub();
    putRecord(kube, SPEC);
    const controller = await aController(kube, ENABLED);
    await controller.reconcile(EDGE, 'listeners');
    await controller.reconcile();
    expect([work(kube), copies(kube), said(kube)]).toEqual([undefined, [], ['UNKNOWN', undefined, 'ListenerSilent']]);
    expect(kube.objects(APP_DEPLOYMENTS)[0]?.metadata.finalizers ?? []).toEqual([]);
    controller.writes();
    await controller.reconcile();
    expect(controller.writes()).toEqual([]);
  });

  it('then the record, its values and no references of it are; a second pass writes nothing', async () => {
    const { kube, reconcile, writes } = await enrolled();
    const uid = kube.objects(APP_DEPLOYMENTS)[0]?.metadata.uid ?? '';
    expect(work(kube)).toMatchObject({
      metadata: { name: uid, namespace: HUB, finalizers: ['davit.dev/remote-teardown'] },
      spec: {
        clusterId: 'cluster-1',
        hubId: 'hub',
        name: 'shop',
        namespace: 'shops',
        generation: 1,
        deployment: { secretReferences: SPEC.secretReferences, revisionSerial: 1 },
        secrets: [{ name: 'shop--vars-1', copy: `${uid}.shop--vars-1` }],
      },
    });
    expect(copies(kube)).toEqual([`${uid}.shop--vars-1`]);
    expect(said(kube)[0]).toBe('UNKNOWN');
    await reconcile();
    expect(writes()).toEqual([]);
  });

  it('changed values are copied before the work names them, and copies that are not needed are deleted', async () => {
    const controller = await enrolled();
    const { kube } = controller;
    kube.seed(SECRETS, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'shop--vars-2', namespace: 'team' },
      type: 'Opaque',
      immutable: true,
      data: { KEY: 'bmV3' },
    } as KubeObject);
    const secrets = [{ name: 'KEY', secretName: 'shop--vars-2', secretKey: 'KEY' }];
    await kube.mergePatch(APP_DEPLOYMENTS, SHOP, { spec: { secrets, revisionSerial: 2 } });
    controller.writes();
    await controller.reconcile();
    const uid = kube.objects(APP_DEPLOYMENTS)[0]?.metadata.uid ?? '';
    expect(controller.writes()).toEqual([
      `apply Secret ${uid}.shop--vars-2`,
      `apply ListenerWork ${uid}`,
      `delete Secret ${uid}.shop--vars-1`,
      'apply AppDeployment shop/status',
    ]);
    expect(work(kube)?.spec.generation).toBe(2);
  });

  it('a Secret that is no Secret of values does not cross', async () => {
    const kube = aHub();
    kube.seed(SECRETS, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'shop--vars-1', namespace: 'team' },
      type: 'kubernetes.io/service-account-token',
      data: { token: 'c2VjcmV0' },
    } as KubeObject);
    const controller = await aController(kube, ENABLED);
    await controller.reconcile(EDGE, 'listeners');
    await renew(kube);
    await controller.reconcile(EDGE, 'listeners');
    putRecord(kube, SPEC);
    await expect(controller.reconcile()).rejects.toThrow('is Opaque');
    expect([copies(kube), work(kube)]).toEqual([[], undefined]);
  });

  it('what the cluster reports becomes the status, and a revision with the values that it resolved', async () => {
    const { kube, reconcile, writes } = await enrolled();
    const record = kube.objects<AppDeployment>(APP_DEPLOYMENTS)[0] as AppDeployment;
    const wanted = wantedRevision(record, [], defaultSettings());
    const draft = 'create' in wanted ? wanted.create : undefined;
    const conditions = ['Ready', 'Available'].map((type) => ({
      type,
      status: 'True',
      reason: 'Serving',
      message: '',
      lastTransitionTime: '2031-01-01T00:00:00Z',
    }));
    await says(kube, {
      deployment: { state: 'READY', conditions, latestRevisionId: draft?.id, activeRevisionId: draft?.id },
      revisions: [{ id: draft?.id, state: 'DEPLOYED', resolved: { ...draft?.resolved, port: 9000 } }],
    });
    await reconcile();
    await reconcile();
    expect(said(kube)[0]).toBe('READY');
    const [revision] = kube.objects<AppRevision>(APP_REVISIONS);
    expect([revision?.spec.id, revision?.spec.resolved.port, revision?.status?.state]).toEqual([
      draft?.id,
      9000,
      'DEPLOYED',
    ]);
    writes();
    await reconcile();
    expect(writes()).toEqual([]);
  });

  it('silence: UNKNOWN after its time by this clock, and back at the next renewal', async () => {
    const controller = await enrolled();
    const { kube, clock } = controller;
    const conditions = [
      { type: 'Ready', status: 'True', reason: 'Serving', message: '', lastTransitionTime: '2031-01-01T00:00:00Z' },
    ];
    await says(kube, { deployment: { state: 'READY', conditions } });
    await controller.reconcile();
    clock.ms += 59_000;
    expect((await controller.reconcile(EDGE, 'listeners')).requeueAfterMs).toBe(1000);
    expect(connected(kube)).toBe('Reporting');
    clock.ms += 1000;
    await controller.reconcile(EDGE, 'listeners');
    await controller.reconcile();
    expect([connected(kube), ...said(kube)]).toEqual(['Silent', 'UNKNOWN', undefined, 'ListenerSilent']);
    await renew(kube);
    await controller.reconcile(EDGE, 'listeners');
    await controller.reconcile();
    expect([connected(kube), said(kube)[0]]).toEqual(['Reporting', 'READY']);
  });

  it('a restarted controller believes what was said before, for as long as silence lasts', async () => {
    const { kube, stop } = await enrolled();
    stop();
    const next = await aController(kube, ENABLED);
    await next.reconcile(EDGE, 'listeners');
    expect(connected(kube)).toBe('Reporting');
    next.clock.ms += 60_000;
    await next.reconcile(EDGE, 'listeners');
    expect(connected(kube)).toBe('Silent');
  });

  it('a clone is rejected, and its report is not used', async () => {
    const controller = await enrolled();
    const { kube } = controller;
    await renew(kube, 'cluster-2');
    await controller.reconcile(EDGE, 'listeners');
    expect([connected(kube), listener(kube)?.status?.clusterId]).toEqual(['AnotherCluster', 'cluster-1']);
  });

  it('agents that take the Lease from each other are reported while they do, and one that is restarted is not', async () => {
    const controller = await enrolled();
    const { kube, clock } = controller;
    let epoch = 1;
    const take = async (everyMs: number, times: number): Promise<string[]> => {
      const seen: string[] = [];
      for (let time = 0; time < times; time += 1) {
        clock.ms += everyMs;
        epoch += 1;
        await renew(kube, 'cluster-1', epoch);
        await controller.reconcile(EDGE, 'listeners');
        seen.push(connected(kube) ?? '');
      }
      return seen;
    };
    expect(new Set(await take(10_000, 8))).toEqual(new Set(['Reporting']));
    expect((await take(5000, 8)).slice(-4)).toEqual(Array(4).fill('SeveralAgents'));
    await controller.reconcile();
    expect(said(kube)).toEqual(['UNKNOWN', undefined, 'ListenerSilent']);
    for (let time = 0; time < 3; time += 1) {
      clock.ms += 10_000;
      await renew(kube, 'cluster-1', epoch);
      await controller.reconcile(EDGE, 'listeners');
    }
    expect(connected(kube)).toBe('Reporting');
  });

  describe('a deletion', () => {
    const remove = (kube: FakeKube): Promise<unknown> =>
      kube.remove(APP_DEPLOYMENTS, SHOP, { uid: kube.objects(APP_DEPLOYMENTS)[0]?.metadata.uid ?? '' });

    it('waits until the cluster has reported that nothing is left, then the copies go too', async () => {
      const controller = await enrolled();
      const { kube } = controller;
      await remove(kube);
      await controller.reconcile();
      expect([said(kube)[0], work(kube)?.metadata.deletionTimestamp]).toEqual(['AWAITING_DELETE', expect.any(String)]);
      controller.writes();
      await controller.reconcile();
      expect(controller.writes()).toEqual([]);
      // Of another cluster: not believed.
      await says(kube, { gone: true, clusterId: 'cluster-2' });
      await controller.reconcile();
      expect(kube.objects(APP_DEPLOYMENTS)).toHaveLength(1);
      await says(kube, { gone: true });
      await controller.reconcile();
      expect([kube.objects(APP_DEPLOYMENTS), work(kube), copies(kube)]).toEqual([[], undefined, []]);
    });

    it('while the cluster is silent waits, and says why', async () => {
      const controller = await enrolled();
      const { kube, clock } = controller;
      clock.ms += 60_000;
      await controller.reconcile(EDGE, 'listeners');
      await remove(kube);
      await controller.reconcile();
      expect(said(kube)).toEqual(['AWAITING_DELETE', undefined, 'ListenerSilent']);
    });

    it('that a person gave up frees the name and leaves a tombstone, which keeps the Listener', async () => {
      const controller = await enrolled();
      const { kube } = controller;
      const uid = kube.objects(APP_DEPLOYMENTS)[0]?.metadata.uid ?? '';
      await remove(kube);
      await kube.mergePatch(APP_DEPLOYMENTS, SHOP, { metadata: { annotations: { [ABANDON_ANNOTATION]: 'another' } } });
      await controller.reconcile();
      expect(kube.objects(APP_DEPLOYMENTS)).toHaveLength(1);
      await kube.mergePatch(APP_DEPLOYMENTS, SHOP, { metadata: { annotations: { [ABANDON_ANNOTATION]: uid } } });
      await controller.reconcile();
      expect([kube.objects(APP_DEPLOYMENTS), work(kube)?.metadata.name]).toEqual([[], uid]);

      await kube.remove(LISTENERS, { namespace: 'team', name: 'edge' }, { uid: UID });
      await controller.reconcile(EDGE, 'listeners');
      expect([listener(kube) !== undefined, work(kube)?.metadata.name]).toEqual([true, uid]);
      await says(kube, { gone: true });
      await controller.reconcile(EDGE, 'listeners');
      expect([work(kube), copies(kube)]).toEqual([undefined, []]);
      await controller.reconcile(EDGE, 'listeners');
      await controller.reconcile(EDGE, 'listeners');
      expect([listener(kube), kube.objects(NAMESPACES).some(({ metadata }) => metadata.name === HUB)]).toEqual([
        undefined,
        false,
      ]);
    });

    it('of the Listener, whose namespace does not go: a cluster that cannot report is not said to', async () => {
      const kube = aHub();
      const controller = await aController(kube, ENABLED);
      await controller.reconcile(EDGE, 'listeners');
      await renew(kube);
      await controller.reconcile(EDGE, 'listeners');
      expect(connected(kube)).toBe('Reporting');
      await kube.mergePatch(NAMESPACES, { name: HUB }, { metadata: { finalizers: ['example.com/held'] } });
      await kube.remove(LISTENERS, { namespace: 'team', name: 'edge' }, { uid: UID });
      await controller.reconcile(EDGE, 'listeners');
      kube.erase(LEASES, LEASE);
      await controller.reconcile(EDGE, 'listeners');
      expect([connected(kube), kube.objects(NAMESPACES).some(({ metadata }) => metadata.name === HUB)]).toEqual([
        'Deleting',
        true,
      ]);
      controller.writes();
      await controller.reconcile(EDGE, 'listeners');
      expect(controller.writes()).toEqual([]);
      await kube.mergePatch(NAMESPACES, { name: HUB }, { metadata: { finalizers: [] } });
      await controller.reconcile(EDGE, 'listeners');
      expect(listener(kube)).toBeUndefined();
    });

    it("writes nothing for the Listener of another tenant, whose finalizer the record's author has set", async () => {
      const controller = await enrolled();
      const { kube } = controller;
      const finalizers = [REMOTE_FINALIZER];
      const metadata = {
        name: 'theirs',
        namespace: 'another-team',
        uid: '0d0c4f1c-4d52-4b33-9d0c-0b3f7f1f6c11',
        finalizers,
      };
      putRecord(kube, SPEC, metadata);
      const place = { namespace: 'another-team', name: 'theirs' };
      await kube.remove(APP_DEPLOYMENTS, place, { uid: metadata.uid });
      await controller.reconcile('another-team/theirs');
      expect(kube.objects(APP_DEPLOYMENTS).map(({ metadata: { name } }) => name)).toEqual(['shop']);
      expect(kube.objects(LISTENER_WORKS)).toHaveLength(1);
    });

    it('no crash at any write drops a record whose cluster has not answered, or keeps one whose cluster has', async () => {
      for (const when of ['failOn', 'failAfter'] as const) {
        for (let at = 1; at <= 5; at += 1) {
          const dying = await enrolled();
          const { kube } = dying;
          await remove(kube);
          await crashed(dying, { when, at });
          expect(work(kube)).toBeDefined();
          expect(kube.objects(APP_DEPLOYMENTS)).toHaveLength(1);
          let next = await aController(kube, ENABLED);
          await next.reconcile();
          await says(kube, { gone: true });
          await crashed(next, { when, at });
          next = await aController(kube, ENABLED);
          await next.reconcile();
          await next.reconcile(EDGE, 'listeners');
          expect([kube.objects(APP_DEPLOYMENTS), work(kube), copies(kube)]).toEqual([[], undefined, []]);
          next.stop();
        }
      }
    });
  });
});
