// PostgreSQL and Redis that are patched: only the datastore restarts, a rollback keeps the patch, and a server that does not come up gets its
// image back.

import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';
import { APP_REVISIONS } from '../../../src/kinds/app-revision.ts';
import { DATASTORE_OPERATIONS, type DatastoreOperation } from '../../../src/kinds/datastore-operation.ts';
import { Settings } from '../../../src/kinds/settings.ts';
import { Forbidden, Unavailable } from '../../../src/runtime/errors.ts';
import { DEPLOYMENTS, PERSISTENT_VOLUME_CLAIMS, PODS, STATEFUL_SETS } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { aController, type MemoryController } from '../../kit/memory/controller.ts';
import { ask, operationIn, state } from '../../kit/memory/operations.ts';
import { aServer, conditionIn, edit, newestRevision, putRecord, record } from '../../kit/memory/record.ts';
import { endJobs, makeWorkloadsReady } from '../../kit/memory/workloads.ts';
import type { FakeKube } from '../../support/fake-kube/fake-kube.ts';
import { crashPoints, gone } from './harness.ts';

const OLD = { postgres: 'postgres:17.5-trixie', redis: 'valkey:8.1.9-trixie' } as const;
const NEW = { postgres: 'postgres:17.6-trixie', redis: 'valkey:8.1.10-trixie' } as const;
/** The same versions, built again. */
const BUILDS = { postgres: `${OLD.postgres}@sha256:${'b'.repeat(64)}`, redis: `${OLD.redis}@sha256:${'c'.repeat(64)}` };
const settings = (images: object): Settings => Settings.parse({ images });

type Part = keyof typeof OLD;
const PATCH = {
  postgres: { action: 'Patch', patch: { datastore: 'postgres' }, accept: ['NoBackup'] },
  redis: { action: 'Patch', patch: { datastore: 'redis' }, accept: ['QueueLost'] },
} as const satisfies Record<Part, unknown>;

interface StatefulSet extends KubeObject {
  readonly spec: {
    readonly template: {
      readonly metadata: { readonly labels?: Readonly<Record<string, string>> };
      readonly spec: { readonly containers: readonly { readonly name: Part; readonly image: string }[] };
    };
  };
}

const setsIn = (kube: FakeKube): readonly StatefulSet[] => kube.objects<StatefulSet>(STATEFUL_SETS);

/** Images of the pods of datastores, as their StatefulSets have them. */
function imagesIn(kube: FakeKube): Partial<Record<Part, string>> {
  const all = setsIn(kube).flatMap(({ spec }) => spec.template.spec.containers);
  return Object.fromEntries(all.filter(({ name }) => name in OLD).map(({ name, image }) => [name, image]));
}

/** What is not to restart: the Deployments with their generations. */
const applications = (kube: FakeKube): unknown[] =>
  kube.objects(DEPLOYMENTS).map(({ metadata: { name, generation } }) => [name, generation]);

/** What controllers and kubelets do: a pod of each StatefulSet, with its image, which these registries lack. */
async function kubelet(kube: FakeKube, lacking: readonly string[] = []): Promise<void> {
  await endJobs(kube, { type: 'Complete', status: 'True' });
  await makeWorkloadsReady(kube, [DEPLOYMENTS]);
  for (const set of setsIn(kube)) {
    const { name, namespace = '', uid = '', generation = 1 } = set.metadata;
    const [container] = set.spec.template.spec.containers;
    if (!container) continue;
    const { name: part, image } = container;
    const isUp = !lacking.includes(image);
    const [place, hash] = [{ namespace, name: `${name}-0` }, image];
    const found = kube.objects<KubeObject>(PODS).find(({ metadata }) => metadata.name === place.name);
    if (found?.metadata.labels?.['controller-revision-hash'] !== hash) {
      if (found) kube.erase(PODS, place);
      const waits = { waiting: { reason: 'ImagePullBackOff', message: `Back-off pulling image "${image}"` } };
      const state = isUp
        ? { running: { startedAt: `2026-02-02T00:00:${image.includes('10') ? '10' : '00'}Z` } }
        : waits;
      kube.seed(PODS, {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: {
          ...place,
          labels: { ...set.spec.template.metadata.labels, 'controller-revision-hash': hash },
          ownerReferences: [{ apiVersion: 'apps/v1', kind: 'StatefulSet', name, uid, controller: true }],
        },
        spec: { containers: [{ name: part, image }] },
        status: {
          phase: isUp ? 'Running' : 'Pending',
          conditions: [{ type: 'Ready', status: isUp ? 'True' : 'False' }],
          containerStatuses: [{ name: part, image, ready: isUp, restartCount: 0, state }],
        },
      } as KubeObject);
    }
    const [ready, revisions] = [isUp ? 1 : 0, { currentRevision: hash, updateRevision: hash }];
    const status = {
      observedGeneration: generation,
      replicas: 1,
      updatedReplicas: 1,
      readyReplicas: ready,
      ...revisions,
    };
    if (isDeepStrictEqual((set as { status?: object }).status, status)) continue;
    const writing = { fieldManager: 'kube-controller-manager', subresource: 'status' } as const;
    await kube.mergePatch(STATEFUL_SETS, { namespace, name }, { status }, writing);
  }
}

/** Passes until nothing is written. */
async function rest({ kube, reconcile, writes }: MemoryController, lacking: readonly string[] = []): Promise<void> {
  for (let round = 0; round < 30; round += 1) {
    writes();
    await reconcile();
    const written = writes().filter((write) => !write.startsWith('try '));
    await kubelet(kube, lacking);
    if (written.length === 0 && round > 1) return;
  }
  throw new Error('It does not come to rest.');
}

/** A deployment with the older images, on a platform with the newer ones. */
async function behind(images: Readonly<Record<Part, string>> = NEW): Promise<MemoryController> {
  const kube = aServer();
  putRecord(kube);
  const before = await aController(kube, settings(OLD));
  await rest(before);
  return on(before, images);
}

/** The same on a platform with these images. */
async function on(before: MemoryController, images: object): Promise<MemoryController> {
  before.stop();
  const world = await aController(before.kube, settings(images));
  await rest(world);
  return world;
}

/** Until the operation has ended, or is in this phase. */
async function until(
  world: MemoryController,
  name: string,
  phase = 'Succeeded',
  lacking: readonly string[] = [],
): Promise<string> {
  for (let round = 0; round < 60; round += 1) {
    const now = state(world.kube, name);
    if (now.startsWith(phase) || /^(?:Succeeded|Failed)/.test(now)) return now;
    await world.reconcile(`team/${name}`, 'operations');
    await world.reconcile();
    await kubelet(world.kube, lacking);
    world.clock.ms += 5000;
  }
  throw new Error(`${name} is ${state(world.kube, name)}`);
}

async function patched(world: MemoryController, part: Part = 'postgres', name = `patch-${part}`): Promise<string> {
  ask(world.kube, name, { ...PATCH[part], accept: [...PATCH[part].accept] } as Partial<DatastoreOperation['spec']>);
  const end = await until(world, name);
  await rest(world);
  return end;
}

describe('a platform with newer images', () => {
  it('restarts nothing, and the status has what a patch brings', async () => {
    const { kube } = await behind();
    expect(imagesIn(kube)).toEqual(OLD);
    expect(record(kube).status?.datastores).toEqual({
      postgres: { image: OLD.postgres, available: NEW.postgres, since: '2026-02-02T00:00:00Z' },
      redis: { image: OLD.redis, available: NEW.redis, since: '2026-02-02T00:00:00Z' },
    });
  });

  it('reads the version of a server from its log, once for each start', async () => {
    const kube = aServer();
    const log = '2026-02-02T00:00:00Z LOG:  starting PostgreSQL 17.5 (Debian 17.5-1.pgdg13+1) on x86_64\n';
    kube.texts.set('/api/v1/namespaces/team/pods/shop--postgres-0/log?container=postgres', log);
    putRecord(kube);
    const world = await aController(kube, settings(OLD));
    let reads = 0;
    kube.failOn(({ verb, ref }) => {
      if (verb === 'text' && ref.name.includes('postgres-0/log')) reads += 1;
      return undefined;
    });
    await rest(world);
    expect([record(kube).status?.datastores?.postgres?.version, reads]).toEqual(['17.5', 1]);
    await on(world, OLD);
    expect([record(kube).status?.datastores?.postgres?.version, reads]).toEqual(['17.5', 1]);
  });
});

describe('a patch', () => {
  it.each(['postgres', 'redis'] as const)('of %s restarts it, and nothing else', async (part) => {
    const world = await behind();
    const { kube, writes } = world;
    const [others, volumes] = [applications(kube), kube.objects(PERSISTENT_VOLUME_CLAIMS).length];
    expect(await patched(world, part)).toBe('Succeeded Patched');
    expect(imagesIn(kube)).toEqual({ ...OLD, [part]: NEW[part] });
    expect([applications(kube), kube.objects(APP_REVISIONS).length]).toEqual([others, 1]);
    expect(kube.objects(PERSISTENT_VOLUME_CLAIMS)).toHaveLength(volumes);
    expect(record(kube).status?.datastores?.[part]).toMatchObject({ image: NEW[part] });
    expect(record(kube).status?.datastores?.[part]?.available).toBeUndefined();
    expect(operationIn(kube, `patch-${part}`)?.status?.patch).toEqual({
      datastore: part,
      from: OLD[part],
      to: NEW[part],
    });
    expect(record(kube).status?.databaseOperation).toBeUndefined();
    await world.reconcile(`team/patch-${part}`, 'operations');
    writes();
    world.clock.ms += 3_600_000;
    await world.reconcile();
    await world.reconcile(`team/patch-${part}`, 'operations');
    expect(writes().filter((write) => !write.startsWith('try '))).toEqual([]);
  });

  it('outlives a controller, a rollback, and a platform that goes back', async () => {
    const first = await behind();
    const { kube } = first;
    const env = { sourceConfig: { env: [{ name: 'A', value: 'b' }] } };
    const { id } = newestRevision(kube).spec;
    await edit(kube, { spec: env });
    await rest(first);
    // A new revision takes the newer images without a patch.
    expect(imagesIn(kube)).toEqual(NEW);
    await edit(kube, { spec: { sourceConfig: { env: null }, revisionSerial: 2, rollbackTo: id } });
    await rest(first);
    expect([newestRevision(kube).spec.rollbackTo, imagesIn(kube)]).toEqual([id, NEW]);
    const second = await on(first, OLD);
    await edit(kube, { spec: env });
    await rest(second);
    expect(imagesIn(kube)).toEqual(NEW);
  });

  it.each([
    ['of a newer version', NEW],
    ['of another build of the same version', BUILDS],
  ])('%s is kept by a rollback to a revision from before it', async (_what, images) => {
    const world = await behind(images);
    const { kube } = world;
    await patched(world, 'postgres');
    await patched(world, 'redis');
    const { id } = newestRevision(kube).spec;
    await edit(kube, { spec: { sourceConfig: { env: [{ name: 'A', value: 'b' }] } } });
    await rest(world);
    await edit(kube, { spec: { sourceConfig: { env: null }, revisionSerial: 2, rollbackTo: id } });
    await rest(world);
    expect([newestRevision(kube).spec.rollbackTo, imagesIn(kube)]).toEqual([id, images]);
    expect(newestRevision(kube).spec.resolved.postgres?.image).toBe(images.postgres);
  });

  it('of an image that no registry has leads back to the image before', async () => {
    const world = await behind();
    const { kube } = world;
    ask(kube, 'now', { ...PATCH.postgres, accept: ['NoBackup'] });
    expect(await until(world, 'now', 'Succeeded', [NEW.postgres])).toBe('Failed ImagePullFailed');
    await rest(world, [NEW.postgres]);
    expect([imagesIn(kube), conditionIn(kube, 'DatabaseReady')?.status]).toEqual([OLD, 'True']);
    expect(record(kube).status?.datastores?.postgres).toMatchObject({ image: OLD.postgres, available: NEW.postgres });
  });

  it('that is cancelled leads back', async () => {
    const world = await behind();
    const { kube } = world;
    ask(kube, 'now', { ...PATCH.postgres, accept: ['NoBackup'] });
    await until(world, 'now', 'Running', [NEW.postgres]);
    await world.reconcile();
    expect(imagesIn(kube)).toEqual({ ...OLD, postgres: NEW.postgres });
    await gone(kube, DATASTORE_OPERATIONS, 'now');
    for (let round = 0; round < 5; round += 1) {
      await world.reconcile('team/now', 'operations');
      await world.reconcile();
    }
    await rest(world);
    expect([operationIn(kube, 'now'), imagesIn(kube)]).toEqual([undefined, OLD]);
  });

  it.each([
    ['without a verified backup', { ...PATCH.postgres, accept: [] }, 'Failed NotAccepted'],
    ['that loses a queue', { ...PATCH.redis, accept: [] }, 'Failed NotAccepted'],
  ] as const)('%s is refused, and nothing restarts', async (_what, spec, wanted) => {
    const world = await behind();
    ask(world.kube, 'now', { ...spec, accept: [] });
    expect(await until(world, 'now')).toBe(wanted);
    await rest(world);
    expect(imagesIn(world.kube)).toEqual(OLD);
  });

  it('that has happened already is refused', async () => {
    const world = await behind();
    await patched(world);
    expect(await patched(world, 'postgres', 'again')).toBe('Failed NotPossible');
  });

  it('waits where as many operations work at once as may', async () => {
    const kube = aServer();
    putRecord(kube);
    await rest(await aController(kube, settings(OLD)));
    const world = await aController(kube, Settings.parse({ images: NEW, datastores: { atOnce: 1 } }));
    await rest(world);
    kube.seed(DATASTORE_OPERATIONS, {
      apiVersion: 'davit.dev/v1alpha1',
      kind: 'DatastoreOperation',
      metadata: { name: 'other', namespace: 'other', uid: 'other', creationTimestamp: '2026-02-02T00:00:00Z' },
      spec: { deployment: 'other', action: 'Patch', patch: { datastore: 'postgres' } },
      status: { phase: 'Running', patch: { datastore: 'postgres', from: OLD.postgres, to: NEW.postgres } },
    } as DatastoreOperation);
    ask(kube, 'now', { ...PATCH.postgres, accept: ['NoBackup'] });
    expect(await until(world, 'now', 'Pending AtOnce')).toBe('Pending AtOnce');
    expect(imagesIn(kube)).toEqual(OLD);
    const woken = world.wake('operations');
    await woken.take();
    kube.erase(DATASTORE_OPERATIONS, { namespace: 'other', name: 'other' });
    expect(await woken.take()).toContain('team/now');
    woken.stop();
    expect(await until(world, 'now')).toBe('Succeeded Patched');
  });
});

describe('a maintenance window', () => {
  const WINDOW = { schedule: '0 2 * * *', hours: 4, accept: ['NoBackup', 'QueueLost'] };

  async function withWindow(window: object): Promise<MemoryController> {
    const kube = aServer();
    putRecord(kube);
    await rest(await aController(kube, settings(OLD)));
    const world = await aController(kube, Settings.parse({ images: NEW, datastores: { window } }));
    await rest(world);
    return world;
  }
  const patches = (kube: FakeKube): readonly DatastoreOperation[] =>
    kube.objects<DatastoreOperation>(DATASTORE_OPERATIONS);

  it('patches one datastore after the other, and writes nothing afterwards', async () => {
    const world = await withWindow(WINDOW);
    const { kube } = world;
    const others = applications(kube);
    for (const part of ['postgres', 'redis'] as const) {
      await world.reconcile('platform', 'patch-window');
      await world.reconcile('platform', 'patch-window');
      const open = patches(kube).filter(({ status }) => status?.phase !== 'Succeeded');
      expect(open.map(({ spec }) => spec.patch?.datastore)).toEqual([part]);
      expect(await until(world, open[0]?.metadata.name ?? '')).toBe('Succeeded Patched');
      await rest(world);
    }
    expect([imagesIn(kube), applications(kube)]).toEqual([NEW, others]);
    world.writes();
    expect(await world.reconcile('platform', 'patch-window')).toEqual({ requeueAfterMs: 60_000 });
    expect(world.writes()).toEqual([]);
  });

  it('that is closed patches nothing, and says when it opens', async () => {
    const world = await withWindow({ ...WINDOW, schedule: '0 3 * * *', hours: 1 });
    const { requeueAfterMs = 0 } = await world.reconcile('platform', 'patch-window');
    expect(requeueAfterMs).toBeGreaterThan(0);
    expect(requeueAfterMs).toBeLessThanOrEqual(3_600_000);
    expect([patches(world.kube), imagesIn(world.kube)]).toEqual([[], OLD]);
  });

  it('leaves a paused deployment as it is', async () => {
    const world = await withWindow(WINDOW);
    await edit(world.kube, { metadata: { annotations: { 'davit.dev/paused': 'true' } } });
    await world.reconcile('platform', 'patch-window');
    expect(patches(world.kube)).toEqual([]);
  });

  it('skips a deployment whose patch the API server refuses', async () => {
    const world = await withWindow(WINDOW);
    world.kube.failOn(({ verb, kind, ref }) =>
      verb === 'create' && kind === 'DatastoreOperation' && ref.name.includes('-postgres-')
        ? new Forbidden('create', { serverMessage: 'policy' })
        : undefined,
    );
    await expect(world.reconcile('platform', 'patch-window')).rejects.toThrow(Forbidden);
    expect(patches(world.kube)).toEqual([]);
    await world.reconcile('platform', 'patch-window');
    expect(patches(world.kube).map(({ spec }) => spec.patch?.datastore)).toEqual(['redis']);
  });

  it('is looked at when an operation ends', async () => {
    const world = await withWindow(WINDOW);
    const woken = world.wake('patch-window');
    expect(await woken.take()).toEqual(['platform']);
    await world.reconcile('platform', 'patch-window');
    expect(await woken.take()).toEqual([]);
    const [patch] = patches(world.kube);
    await until(world, patch?.metadata.name ?? '');
    expect(await woken.take()).toEqual(['platform']);
    woken.stop();
  });
});

describe('a controller that dies at a write of a patch', () => {
  /** Returns how many writes it tried. */
  async function diesAt(world: MemoryController, when: 'failOn' | 'failAfter', at: number): Promise<number> {
    const { kube } = world;
    let writes = 0;
    for (let round = 0; round < 20 && writes < at; round += 1) {
      kube[when](({ verb }) => {
        if (['get', 'list', 'watch', 'text'].includes(verb)) return undefined;
        writes += 1;
        return writes >= at ? new Unavailable('gone') : undefined;
      });
      await world.reconcile('team/now', 'operations').catch(() => undefined);
      await world.reconcile().catch(() => undefined);
      kube[when](undefined);
      await kubelet(kube);
      if (state(kube, 'now').startsWith('Succeeded')) break;
    }
    world.stop();
    return writes;
  }

  it.each(['failOn', 'failAfter'] as const)('is followed by one that ends it: %s', async (when) => {
    for (const at of crashPoints(40)) {
      const world = await behind();
      const { kube } = world;
      ask(kube, 'now', { ...PATCH.postgres, accept: ['NoBackup'] });
      const writes = await diesAt(world, when, at);
      const next = await aController(kube, settings(NEW));
      expect([at, await until(next, 'now')]).toEqual([at, 'Succeeded Patched']);
      await rest(next);
      expect([imagesIn(kube), kube.objects(APP_REVISIONS).length]).toEqual([{ ...OLD, postgres: NEW.postgres }, 1]);
      if (writes < at) return;
    }
    throw new Error('It writes more than expected.');
  });
});
