// The reconciler as a whole, over the in-memory API server: given cluster and key, these are all the writes.

import { describe, expect, it, vi } from 'vitest';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../../src/kinds/app-deployment.ts';
import { APP_REVISIONS, type AppRevision } from '../../../src/kinds/app-revision.ts';
import { TRACING_PROJECTS } from '../../../src/kinds/tracing-project.ts';
import { Conflict, Forbidden, NotFound, Unavailable } from '../../../src/runtime/errors.ts';
import {
  BUILT_IN_RESOURCES,
  DEPLOYMENTS,
  PERSISTENT_VOLUME_CLAIMS,
  PODS,
  SECRETS,
  SERVICES,
  STATEFUL_SETS,
} from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { aController } from '../../kit/memory/controller.ts';
import {
  aServer,
  conditionIn,
  deleteNamespace,
  deleteRecord,
  edit,
  OF_VALUES,
  putRecord,
  putSecret,
  record,
} from '../../kit/memory/record.ts';
import type { FakeKube } from '../../support/fake-kube/fake-kube.ts';
import { aConverged, converge, crashed, takeDown } from './harness.ts';

/** Everything that Davit made, without what is random or a matter of order. */
function picture(kube: FakeKube): string[] {
  const resources = [...BUILT_IN_RESOURCES, APP_DEPLOYMENTS, APP_REVISIONS, TRACING_PROJECTS];
  return resources.flatMap((resource) =>
    kube.objects<KubeObject & { spec?: unknown }>(resource).map(({ kind, metadata, spec }) =>
      JSON.stringify([kind, metadata.name, metadata.labels, Object.keys(metadata.annotations ?? {}), spec])
        .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'ID')
        .replaceAll(/--[0-9a-f]{8}\b/g, '--REV'),
    ),
  );
}

describe('rows that every reconciler has', () => {
  it('unknown key: nothing', async () => {
    const controller = await aController(aServer());
    await controller.reconcile();
    expect(controller.writes()).toEqual([]);
  });

  it('deleted before its finalizer came, and the cache does not know yet: nothing is made that nobody would collect', async () => {
    const kube = aServer();
    putRecord(kube);
    const controller = await aController(kube);
    kube.failOn(({ kind, subresource }) =>
      kind === 'AppDeployment' && subresource === undefined
        ? new NotFound('appdeployments "shop" not found')
        : undefined,
    );
    expect(await controller.reconcile()).toEqual({});
    expect(kube.objects(SECRETS)).toEqual([]);
    expect(controller.writes().filter((write) => !write.includes('AppDeployment'))).toEqual([]);
  });

  it('first reconcile: finalizer; tracing project, revision and the try of its pods; passwords; volume; children; status', async () => {
    const kube = aServer();
    putRecord(kube);
    const controller = await aController(kube);
    await controller.reconcile();
    const writes = controller.writes();
    expect(writes[0]).toBe('patch AppDeployment shop');
    expect(writes.slice(1, 4).toSorted()).toEqual([
      expect.stringMatching(/^create AppRevision shop--[0-9a-f]{8}$/),
      'create TracingProject shop',
      'try Pod shop',
    ]);
    // A volume without a password would be one whose password was lost; the pods need all of them.
    expect(writes.slice(4, 6).toSorted()).toEqual(['create Secret shop--postgres', 'create Secret shop--redis']);
    expect(writes[6]).toBe('apply PersistentVolumeClaim shop--postgres');
    expect(writes.slice(7, -3).toSorted()).toEqual([
      'apply Deployment shop',
      'apply NetworkPolicy shop--postgres',
      'apply NetworkPolicy shop--redis',
      'apply Service shop',
      'apply Service shop--postgres',
      'apply Service shop--redis',
      'apply StatefulSet shop--postgres',
      'apply StatefulSet shop--redis',
    ]);
    expect(writes.slice(-3)).toEqual([
      expect.stringMatching(/^apply AppRevision shop--.*\/status$/),
      'apply TracingProject shop/status',
      'apply AppDeployment shop/status',
    ]);
  });

  it('as the HTTP API makes it the finalizer is there already: one write fewer', async () => {
    const kube = aServer();
    putRecord(kube, {}, { finalizers: ['davit.dev/teardown'] });
    const controller = await aController(kube);
    await controller.reconcile();
    expect(controller.writes()[0]).toBe('create TracingProject shop');
  });

  it('events tell what changes: not that a new record is not ready yet, but that it is, or cannot be', async () => {
    const controller = await aConverged();
    expect(controller.events).toEqual(['Normal RevisionDeployed', 'Normal Serving']);
    const kube = aServer();
    kube.seed(SERVICES, { apiVersion: 'v1', kind: 'Service', metadata: { name: 'shop', namespace: 'team' } });
    putRecord(kube);
    const other = await aController(kube);
    await other.reconcile();
    expect(other.events).toEqual(['Warning NameConflict']);
  });

  it('steady state: a second pass writes nothing, nor does a restarted controller', async () => {
    const controller = await aConverged();
    expect(record(controller.kube).status?.state).toBe('READY');
    await controller.reconcile();
    expect(controller.writes()).toEqual([]);
    const again = await aController(controller.kube);
    await again.reconcile();
    expect(again.writes()).toEqual([]);
  });

  it('drift is corrected, and what others added stays', async () => {
    const controller = await aConverged();
    const ref = { namespace: 'team', name: 'shop' };
    await controller.kube.mergePatch(
      SERVICES,
      ref,
      { metadata: { labels: { theirs: 'yes' } }, spec: { ports: [{ name: 'http', port: 81, targetPort: 'http' }] } },
      { fieldManager: 'person' },
    );
    controller.writes();
    await controller.reconcile();
    expect(controller.writes()).toEqual(['apply Service shop']);
    const service = await controller.kube.get<KubeObject & { spec: { ports: { port: number }[] } }>(SERVICES, ref);
    expect(service.metadata.labels).toMatchObject({ theirs: 'yes' });
    expect(service.spec.ports.map((port) => port.port)).toContain(80);
  });

  it('a child deleted by a person comes back', async () => {
    const controller = await aConverged();
    controller.kube.erase(STATEFUL_SETS, { namespace: 'team', name: 'shop--redis' });
    await controller.reconcile();
    expect(controller.writes()[0]).toBe('apply StatefulSet shop--redis');
  });

  it('a password is observed, never regenerated', async () => {
    const controller = await aConverged();
    const secret = (): string =>
      JSON.stringify(controller.kube.objects(SECRETS).map((object) => [object.metadata.uid, object]));
    const before = secret();
    controller.kube.erase(STATEFUL_SETS, { namespace: 'team', name: 'shop--postgres' });
    await converge(controller);
    expect(secret()).toBe(before);
  });

  it('owned by someone else: left alone, said, and the rest is made', async () => {
    const kube = aServer();
    kube.seed(SERVICES, { apiVersion: 'v1', kind: 'Service', metadata: { name: 'shop', namespace: 'team' } });
    putRecord(kube);
    const controller = await aController(kube);
    await converge(controller);
    expect(kube.objects(SERVICES).find((service) => service.metadata.name === 'shop')?.metadata.labels).toBeUndefined();
    expect(conditionIn(kube, 'Stalled')).toMatchObject({
      status: 'True',
      reason: 'NameConflict',
    });
    expect(kube.objects(DEPLOYMENTS)).toHaveLength(1);
    // Waiting is no reason to try what would be refused again.
    const tried: string[] = [];
    kube.failOn(({ verb, kind }) => {
      tried.push(`${verb} ${kind}`);
      return undefined;
    });
    await controller.reconcile();
    expect(tried).toEqual(['get Service']);
    kube.erase(SERVICES, { namespace: 'team', name: 'shop' });
    await converge(controller);
    expect(record(kube).status?.state).toBe('READY');
  });

  it.each<{ reason: string; secret: object; place: Partial<AppDeployment['spec']> }>([
    {
      reason: "a service account's token",
      secret: { type: 'kubernetes.io/service-account-token', immutable: true },
      place: { secrets: [{ name: 'TOKEN', secretName: 'shop--vars-x', secretKey: 'token' }] },
    },
    {
      reason: 'values that somebody else may have filled',
      secret: { type: 'Opaque' },
      place: { secretReferences: [{ name: 'TOKEN', secretName: 'shop--vars-x', secretKey: 'token' }] },
    },
    {
      reason: 'the same, in a sidecar',
      secret: { type: 'Opaque' },
      place: {
        sourceConfig: {
          resourceSpec: {
            sidecars: [
              {
                name: 'c',
                image: 'c:1',
                env: [{ name: 'T', valueFrom: { secretKeyRef: { name: 'shop--vars-x', key: 'token' } } }],
              },
            ],
          },
        },
      },
    },
  ])('$reason, by the name of values of its own, reaches no pod', async ({ secret, place }) => {
    const kube = aServer();
    const put = (parts: object): void =>
      void kube.seed(SECRETS, {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 'shop--vars-x', namespace: 'team' },
        data: { token: 'dA==' },
        ...parts,
      } as KubeObject);
    put(secret);
    putRecord(kube, place);
    const controller = await aController(kube);
    await converge(controller);
    expect(kube.objects(DEPLOYMENTS)).toEqual([]);
    const condition = (type: string): unknown => conditionIn(kube, type);
    expect(condition('Stalled')).toMatchObject({ status: 'True', reason: 'SecretNotFixed' });
    expect(condition('ReferencesResolved')).toMatchObject({
      status: 'False',
      message: expect.stringContaining('Secret shop--vars-x') as string,
    });
    put({ type: 'Opaque', immutable: true });
    await converge(controller);
    expect(record(kube).status?.state).toBe('READY');
  });

  it('that a container gets whole has at most a thousand keys', async () => {
    const kube = aServer();
    const put = (keys: number): void =>
      void kube.seed(SECRETS, {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 'large', namespace: 'team' },
        data: Object.fromEntries(Array.from({ length: keys }, (_, n) => [`K${n}`, ''])),
      } as KubeObject);
    put(1001);
    const sidecars = [{ name: 'side', image: 'registry.example/side:1', envFrom: [{ secretRef: { name: 'large' } }] }];
    putRecord(kube, { sourceConfig: { resourceSpec: { sidecars } } });
    const controller = await aController(kube);
    await converge(controller);
    expect(kube.objects(DEPLOYMENTS)).toEqual([]);
    expect(conditionIn(kube, 'Stalled')).toMatchObject({ status: 'True', reason: 'SecretTooLarge' });
    put(1000);
    await converge(controller);
    expect(record(kube).status?.state).toBe('READY');
  });

  it.each([false, true])(
    'made by someone else in the very moment: not merged into, taken before: %s',
    async (taken) => {
      const kube = aServer();
      const theirs = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'shop', namespace: 'team' } };
      if (taken) kube.seed(SERVICES, theirs);
      putRecord(kube);
      const controller = await aController(kube);
      if (taken) await converge(controller);
      if (taken) kube.erase(SERVICES, theirs.metadata);
      let moments = 0;
      kube.failOn(({ verb, kind }) => {
        if (verb !== 'apply' || kind !== 'Service') return undefined;
        moments += 1;
        if (kube.objects(SERVICES).every(({ metadata }) => metadata.name !== 'shop')) kube.seed(SERVICES, theirs);
        return undefined;
      });
      await controller.reconcile().catch(() => undefined);
      expect(moments).toBeGreaterThan(0);
      await converge(controller);
      expect(
        kube.objects(SERVICES).find((service) => service.metadata.name === 'shop')?.metadata.labels,
      ).toBeUndefined();
      expect(conditionIn(kube, 'Stalled')).toMatchObject({
        reason: 'NameConflict',
      });
    },
  );

  it('refused by the API server: its words become the condition', async () => {
    const kube = aServer();
    putRecord(kube);
    kube.failOn(({ verb, kind }) =>
      verb === 'apply' && kind === 'PersistentVolumeClaim'
        ? new Forbidden('apply claim: exceeded quota', { serverMessage: 'exceeded quota: storage' })
        : undefined,
    );
    const controller = await aController(kube);
    await converge(controller).catch(() => undefined);
    // No watch tells when a quota or a policy is lifted.
    expect(await controller.reconcile()).toEqual({ requeueAfterMs: 1000 });
    expect(conditionIn(kube, 'Stalled')).toMatchObject({
      status: 'True',
      reason: 'ApplyRefused',
      message: expect.stringContaining('exceeded quota: storage. Correct the cause; the deployment then continues'),
    });
    kube.failOn(undefined);
    await converge(controller);
    expect(record(kube).status?.state).toBe('READY');
    expect(await controller.reconcile()).toEqual({});
  });

  it.each([
    { resource: PERSISTENT_VOLUME_CLAIMS, kind: 'PersistentVolumeClaim', name: 'shop--postgres' },
    { resource: SECRETS, kind: 'Secret', name: 'shop--redis' },
  ])("no pod is started on somebody else's $kind", async ({ resource, kind, name }) => {
    const kube = aServer();
    kube.seed(resource, { apiVersion: 'v1', kind, metadata: { name, namespace: 'team' } });
    putRecord(kube);
    const controller = await aController(kube);
    await converge(controller).catch(() => undefined);
    expect([...kube.objects(STATEFUL_SETS), ...kube.objects(DEPLOYMENTS)]).toEqual([]);
    expect(conditionIn(kube, 'Stalled')).toMatchObject({
      reason: 'NameConflict',
      message: expect.stringContaining(`${kind} ${name}`),
    });
    kube.erase(resource, { namespace: 'team', name });
    await converge(controller);
    expect(record(kube).status?.state).toBe('READY');
  });

  it.each([{ kind: 'AppRevision' }, { kind: 'TracingProject' }])(
    'a $kind refused by the API server is told, and tried again',
    async ({ kind }) => {
      const kube = aServer();
      putRecord(kube);
      kube.failOn((request) =>
        request.verb === 'create' && request.kind === kind
          ? new Forbidden('create: no', { serverMessage: 'not today' })
          : undefined,
      );
      const controller = await aController(kube);
      await converge(controller).catch(() => undefined);
      expect(await controller.reconcile()).toEqual({ requeueAfterMs: 1000 });
      expect(conditionIn(kube, 'Stalled')).toMatchObject({
        reason: 'ApplyRefused',
        message: expect.stringContaining('not today'),
      });
      kube.failOn(undefined);
      await converge(controller);
      expect(record(kube).status?.state).toBe('READY');
    },
  );

  it.each([
    { stripped: { labels: null }, what: 'labels', resource: SERVICES, name: 'shop' },
    { stripped: { labels: null }, what: 'labels', resource: PERSISTENT_VOLUME_CLAIMS, name: 'shop--postgres' },
    { stripped: { ownerReferences: null }, what: 'owner', resource: DEPLOYMENTS, name: 'shop' },
    { stripped: { annotations: null }, what: 'digest', resource: STATEFUL_SETS, name: 'shop--redis' },
  ])(
    'a child stripped of its $what by a person gets it back: $resource.plural',
    async ({ stripped, resource, name }) => {
      const controller = await aConverged();
      const before = picture(controller.kube);
      await controller.kube.mergePatch(resource, { namespace: 'team', name }, { metadata: stripped } as object, {
        fieldManager: 'person',
      });
      await converge(controller);
      expect(picture(controller.kube)).toEqual(before);
      expect(record(controller.kube).status?.state).toBe('READY');
    },
  );

  it('a Deployment that a person recreated with another selector is replaced', async () => {
    const controller = await aConverged();
    const { kube } = controller;
    const before = picture(kube);
    const made = kube.objects<KubeObject & { spec: object }>(DEPLOYMENTS)[0];
    if (!made) throw new Error('there is no Deployment');
    kube.erase(DEPLOYMENTS, made.metadata);
    const { uid: _, resourceVersion: __, ...metadata } = made.metadata;
    kube.seed(DEPLOYMENTS, {
      ...made,
      metadata,
      spec: { ...made.spec, selector: { matchLabels: { app: 'shop' } } },
    } as KubeObject);
    await converge(controller);
    expect(picture(kube)).toEqual(before);
  });
});

describe('a crash at any write', () => {
  it('before it is sent, or with its answer lost: the same end', async () => {
    const reference = picture((await aConverged({ secrets: [] })).kube);
    const kube = aServer();
    putRecord(kube);
    const first = await aController(kube);
    await first.reconcile();
    const writes = kube.writes.length;
    expect(writes).toBeGreaterThan(15);
    for (const when of ['failOn', 'failAfter'] as const) {
      for (let crash = 1; crash <= writes; crash += 1) {
        const server = aServer();
        putRecord(server);
        await crashed(await aController(server), { when, at: crash });
        const next = await aController(server);
        await converge(next);
        expect(picture(server), `${when} at write ${crash}`).toEqual(reference);
        next.stop();
      }
    }
  });

  it('a conflict is thrown, so that the key comes again', async () => {
    const kube = aServer();
    putRecord(kube);
    const controller = await aController(kube);
    kube.failOn(({ verb, kind }) =>
      verb === 'patch' && kind === 'AppDeployment' ? new Conflict('changed') : undefined,
    );
    await expect(controller.reconcile()).rejects.toThrow(Conflict);
  });
});

describe('revisions', () => {
  it('a changed image makes one revision, and the children follow', async () => {
    const controller = await aConverged();
    await edit(controller.kube, { spec: { sourceRevisionConfig: { imageUri: 'registry.example/shop:2' } } });
    controller.writes();
    await converge(controller);
    const { status } = record(controller.kube);
    expect(controller.kube.objects(APP_REVISIONS)).toHaveLength(2);
    expect([status?.state, status?.image, status?.activeRevisionId === status?.latestRevisionId]).toEqual([
      'READY',
      'registry.example/shop:2',
      true,
    ]);
  });

  it('a change that comes while a pass is under way is not reported as seen by it', async () => {
    const controller = await aConverged();
    const { kube } = controller;
    const change = (imageUri: string): Promise<void> => edit(kube, { spec: { sourceRevisionConfig: { imageUri } } });
    await change('registry.example/shop:2');
    const apply = kube.apply;
    vi.spyOn(kube, 'apply').mockImplementation(async (resource, object, options) => {
      const applied = await apply(resource, object, options);
      if (object.kind === 'Deployment') {
        await change('registry.example/shop:3');
        for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      }
      return applied as never;
    });
    await controller.reconcile();
    const { metadata, spec, status } = record(kube);
    expect(spec.sourceRevisionConfig.imageUri).toBe('registry.example/shop:3');
    expect(status?.observedGeneration).toBeLessThan(metadata.generation ?? 0);
    vi.restoreAllMocks();
    await converge(controller);
    expect(record(kube).status).toMatchObject({ state: 'READY', image: 'registry.example/shop:3' });
  });

  it('a changed default restarts nothing', async () => {
    const controller = await aConverged();
    const before = controller.kube.objects(DEPLOYMENTS);
    await edit(controller.kube, { metadata: { labels: { any: 'label' } } });
    controller.writes();
    await converge(controller);
    expect(controller.kube.objects(DEPLOYMENTS)).toEqual(before);
  });
});

describe('references', () => {
  it('a missing Secret holds the workloads back and is named; they follow when it is there', async () => {
    const kube = aServer();
    putRecord(kube, { secretReferences: [{ name: 'TOKEN', secretName: 'mine', secretKey: 'token' }] });
    const controller = await aController(kube);
    await converge(controller);
    expect(kube.objects(DEPLOYMENTS)).toEqual([]);
    expect(kube.objects(STATEFUL_SETS)).toHaveLength(2);
    expect(conditionIn(kube, 'Ready')).toMatchObject({
      reason: 'SecretMissing',
    });
    putSecret(kube, 'mine', { token: 'dA==' });
    await converge(controller);
    expect(record(kube).status?.state).toBe('READY');
  });
});

describe('deletion', () => {
  it('nothing is left but the tracing project', async () => {
    const controller = await aConverged({ secrets: [] });
    const { kube } = controller;
    putSecret(kube, 'shop--vars-1', { A: '' }, { labels: OF_VALUES });
    await change(kube, { secrets: [{ name: 'A', secretName: 'shop--vars-1', secretKey: 'A' }] });
    await deleteRecord(kube);
    await takeDown(controller);
    expect(
      [APP_DEPLOYMENTS, APP_REVISIONS, DEPLOYMENTS, STATEFUL_SETS, SERVICES, SECRETS, PERSISTENT_VOLUME_CLAIMS, PODS]
        .flatMap((resource) => kube.objects(resource))
        .filter(({ metadata }) => metadata.namespace === 'team'),
    ).toEqual([]);
    expect(kube.objects(TRACING_PROJECTS)).toHaveLength(1);
  });

  it('values that the watch has not brought yet go too', async () => {
    const controller = await aConverged();
    const { kube } = controller;
    await change(kube, { secrets: [{ name: 'A', secretName: 'shop--vars-late', secretKey: 'A' }] });
    await deleteRecord(kube);
    const list = kube.listAll.bind(kube);
    let isThere = false;
    const asked = vi.spyOn(kube, 'listAll').mockImplementation((resource, options) => {
      if (resource === SECRETS && !isThere) putSecret(kube, 'shop--vars-late', undefined, { labels: OF_VALUES });
      isThere ||= resource === SECRETS;
      return list(resource, options);
    });
    await takeDown(controller);
    // Once to find it, and once more to see that it has gone.
    expect(asked.mock.calls.filter(([resource]) => resource === SECRETS)).toHaveLength(2);
    expect(kube.objects(SECRETS)).toEqual([]);
    expect(kube.objects(APP_DEPLOYMENTS)).toEqual([]);
  });

  it('only what has pods is deleted with its dependents first: the rest waits for no garbage collector', async () => {
    const controller = await aConverged();
    const { kube } = controller;
    const remove = vi.spyOn(kube, 'remove');
    await deleteRecord(kube);
    remove.mockClear();
    await takeDown(controller);
    const policies = new Map(remove.mock.calls.map(([{ kind }, , options]) => [kind, options.propagationPolicy]));
    expect(policies.size).toBeGreaterThan(5);
    for (const [kind, policy] of policies)
      expect([kind, policy]).toEqual([
        kind,
        ['Deployment', 'StatefulSet'].includes(kind) ? 'Foreground' : 'Background',
      ]);
  });

  it('in a namespace that is being deleted the finalizer is released at once', async () => {
    const controller = await aConverged();
    const { kube } = controller;
    await deleteRecord(kube);
    await deleteNamespace(kube);
    controller.writes();
    await controller.reconcile();
    expect(controller.writes()).toEqual(['patch AppDeployment shop']);
    expect(kube.objects(APP_DEPLOYMENTS)).toEqual([]);
  });

  it('paused: nothing is changed', async () => {
    const controller = await aConverged();
    await edit(controller.kube, {
      metadata: { annotations: { 'davit.dev/paused': 'true' } },
      spec: { sourceRevisionConfig: { imageUri: 'registry.example/shop:3' } },
    });
    controller.writes();
    await controller.reconcile();
    expect(controller.writes()).toEqual([
      expect.stringMatching(/^apply AppRevision shop--\w+\/status$/),
      'apply AppDeployment shop/status',
    ]);
  });
});

describe('pods that the API server refuses', () => {
  const words = 'pods "shop" is forbidden: violates PodSecurity "restricted:latest": runAsNonRoot != true';
  function refuse(kube: FakeKube, name: string): void {
    kube.failOn(({ verb, kind, ref, dryRun }) =>
      verb === 'create' && kind === 'Pod' && dryRun && ref.name === name
        ? new Forbidden(`create pods: ${words}`, { serverMessage: words })
        : undefined,
    );
  }
  const next = { sourceRevisionConfig: { imageUri: 'registry.example/shop:2' }, revisionSerial: 2 };

  it('of a first revision: nothing is started, and it is said', async () => {
    const kube = aServer();
    putRecord(kube);
    refuse(kube, 'shop');
    const controller = await aController(kube);
    await converge(controller).catch(() => undefined);
    expect([...kube.objects(DEPLOYMENTS), ...kube.objects(STATEFUL_SETS)]).toEqual([]);
    expect(conditionIn(kube, 'Stalled')).toMatchObject({
      status: 'True',
      reason: 'PodsRefused',
      message: expect.stringContaining(words),
    });
    expect(kube.objects<AppRevision>(APP_REVISIONS)[0]?.status).toMatchObject({ state: 'DEPLOY_FAILED' });
    kube.failOn(undefined);
    await converge(controller);
    expect(record(kube).status?.state).toBe('READY');
    expect(kube.objects<AppRevision>(APP_REVISIONS)[0]?.status).toMatchObject({ state: 'DEPLOYED' });
  });

  it("a first revision's store that gets no pod is asked about when it should have one", async () => {
    const kube = aServer();
    putRecord(kube);
    refuse(kube, 'shop--postgres');
    const controller = await aController(kube);
    await controller.reconcile();
    const set = { namespace: 'team', name: 'shop--postgres' };
    await kube.mergePatch(STATEFUL_SETS, set, { status: { observedGeneration: 1 } }, { subresource: 'status' });
    await controller.reconcile();
    expect(record(kube).status?.conditions).toContainEqual(
      expect.objectContaining({
        type: 'Stalled',
        status: 'True',
        reason: 'PodsRefused',
        message: expect.stringMatching(/StatefulSet shop--postgres: pods "shop" is forbidden/),
      }),
    );
    expect(await controller.reconcile()).toEqual({ requeueAfterMs: 1000 });
    kube.failOn(undefined);
    await converge(controller);
    expect(record(kube).status?.state).toBe('READY');
  });

  it('of a new revision: what runs is untouched and still mended, and it is said; a corrected record goes on', async () => {
    const controller = await aConverged();
    const { kube } = controller;
    const before = workloads(kube);
    refuse(kube, 'shop');
    await change(kube, { ...next, sourceConfig: { resourceSpec: { dbMemoryMb: 4096, queueCpu: 1 } } });
    await controller.reconcile();
    expect(workloads(kube)).toEqual(before);
    expect(record(kube).status).toMatchObject({ state: 'READY' });
    expect(record(kube).status?.conditions).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ type: 'Ready', status: 'False', reason: 'PodsRefused' }),
        expect.objectContaining({ type: 'WorkloadsReady', status: 'False', reason: 'PodsRefused' }),
        expect.objectContaining({ type: 'Available', status: 'True' }),
      ]),
    );
    kube.erase(SERVICES, { namespace: 'team', name: 'shop' });
    controller.writes();
    await controller.reconcile();
    expect(controller.writes().filter((write) => !write.startsWith('try '))).toEqual(['apply Service shop']);
    await controller.reconcile();
    expect(controller.writes().filter((write) => !write.startsWith('try '))).toEqual([]);

    kube.failOn(undefined);
    await change(kube, { ...next, revisionSerial: 3 });
    await converge(controller);
    expect(conditionIn(kube, 'Ready')).toMatchObject({ status: 'True' });
  });

  it('are asked about while the revision is being made, and not once more', async () => {
    const controller = await aConverged();
    const { kube } = controller;
    const tried = Promise.withResolvers<undefined>();
    kube.failOn(({ verb, kind, dryRun }) => {
      if (kind === 'Pod' && dryRun) tried.resolve(undefined);
      return verb === 'create' && kind === 'AppRevision' ? tried.promise : undefined;
    });
    await change(kube, next);
    await controller.reconcile();
    const writes = controller.writes();
    expect(writes.filter((write) => write.startsWith('try '))).toEqual(['try Pod shop']);
    expect(writes).toContain('apply Deployment shop');
  });

  it('are asked about again where there was no answer', async () => {
    const controller = await aConverged();
    const { kube } = controller;
    let asked = 0;
    kube.failOn(({ kind, dryRun }) =>
      kind === 'Pod' && dryRun && asked++ === 0 ? new Unavailable('reset') : undefined,
    );
    await change(kube, next);
    await controller.reconcile();
    const writes = controller.writes();
    expect(writes.filter((write) => write.startsWith('try '))).toEqual(['try Pod shop (Unavailable)', 'try Pod shop']);
    expect(writes).toContain('apply Deployment shop');
  });

  it('are asked about once: neither at rest, nor for another scale', async () => {
    const controller = await aConverged();
    await change(controller.kube, { sourceConfig: { resourceSpec: { maxScale: 0 } }, revisionSerial: 2 });
    await converge(controller);
    await controller.reconcile();
    expect(controller.writes()).toEqual([]);
  });

  it('an own database stays for the pods that use it until those of an external one are ready', async () => {
    const controller = await aConverged();
    const { kube } = controller;
    putSecret(kube, 'mine', { uri: 'dA==' });
    const reference = { name: 'POSTGRES_URI_CUSTOM', secretName: 'mine', secretKey: 'uri' };
    await change(kube, { secretReferences: [{ ...reference, secretName: 'late' }], revisionSerial: 2 });
    await controller.reconcile();
    expect(kube.objects(STATEFUL_SETS).map(({ metadata }) => metadata.name)).toContain('shop--postgres');
    await change(kube, { secretReferences: [reference], revisionSerial: 3 });
    await controller.reconcile();
    expect(kube.objects(STATEFUL_SETS).map(({ metadata }) => metadata.name)).toContain('shop--postgres');
    await converge(controller);
    expect(kube.objects(STATEFUL_SETS).map(({ metadata }) => metadata.name)).toEqual(['shop--redis']);
    expect(kube.objects(PERSISTENT_VOLUME_CLAIMS)).toHaveLength(1);
  });
});

function workloads(kube: FakeKube): KubeObject[] {
  return [...kube.objects(DEPLOYMENTS), ...kube.objects(STATEFUL_SETS)];
}

async function change(kube: FakeKube, spec: Partial<AppDeployment['spec']>): Promise<void> {
  const before = record(kube);
  await kube.replace(APP_DEPLOYMENTS, { ...before, spec: { ...before.spec, ...spec } }, { fieldManager: 'person' });
}
