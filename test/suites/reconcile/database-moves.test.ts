// A database that is moved to another driver: nothing writes meanwhile, the next one begins with the backup, the one before stays as it
// was, and no pod ever reaches it again until a person goes back.

import { describe, expect, it } from 'vitest';
import {
  CRON_JOBS,
  DEPLOYMENTS,
  JOBS,
  PERSISTENT_VOLUME_CLAIMS,
  PODS,
  POSTGRES_CLUSTERS,
  SECRETS,
  SERVICES,
  STATEFUL_SETS,
} from '../../../src/lib/kube/api-resources.ts';
import type { KubeObject, Resource } from '../../../src/lib/kube/client.ts';
import { APP_DEPLOYMENTS } from '../../../src/schema/app-deployment.ts';
import { APP_REVISIONS, type AppRevision } from '../../../src/schema/app-revision.ts';
import type { DatabaseDriver } from '../../../src/schema/database.ts';
import { MOVE_DATABASE_ANNOTATION, MOVE_DATABASE_BY_ANNOTATION } from '../../../src/schema/meta.ts';
import { Settings } from '../../../src/schema/settings.ts';
import { operate } from '../../kit/memory/cloudnative-pg.ts';
import { aController, KEY, type MemoryController } from '../../kit/memory/controller.ts';
import {
  aServer,
  conditionIn,
  deleteRecord,
  edit,
  newestRevision,
  putRecord,
  putSecret,
  record,
  says,
} from '../../kit/memory/record.ts';
import {
  endJobs,
  makeReady,
  makeWorkloadsReady,
  putPod,
  putRestorePod,
  removePod,
} from '../../kit/memory/workloads.ts';
import type { FakeKube } from '../../support/fake-kube/fake-kube.ts';
import { crashed, putStoreCredentials, takeDown } from './harness.ts';

const SETTINGS = Settings.parse({
  backups: { store: { endpoint: 'https://s3.example', bucket: 'backups' }, image: 'registry.example/davit:1' },
});
const BACKUP = '20260201T020000Z-0000000a';

function encoded(text: string): string {
  return Buffer.from(text).toString('base64');
}

/** Passes until nothing is written. `ready`: what happens between them. */
async function rest(world: MemoryController, ready = makeReady): Promise<void> {
  const { kube, writes } = world;
  for (let round = 0; round < 40; round += 1) {
    await world.reconcile();
    const written = writes().filter((write) => !write.startsWith('try '));
    await operate(kube);
    await ready(kube);
    kube.collectGarbage();
    writes();
    if (written.length === 0 && round > 1) return;
  }
  throw new Error('it does not come to rest');
}

async function rested(driver?: DatabaseDriver, settings = SETTINGS): Promise<MemoryController> {
  const kube = aServer();
  putStoreCredentials(kube);
  putRecord(kube, { sourceConfig: { database: { backup: {}, ...(driver && { driver }) } } });
  const world = await aController(kube, settings);
  await rest(world);
  return world;
}

const scaled = (kube: FakeKube, scale: number): Promise<void> =>
  edit(kube, { spec: { sourceConfig: { resourceSpec: { minScale: scale, maxScale: scale } } } });
/** What a person writes who asks for a move, or takes it back: his name, for the generation that the write makes. */
function askedBy(kube: FakeKube, move: string | null): Record<string, string | null> {
  const { uid, generation = 0 } = record(kube).metadata;
  const by = move === null ? null : `${uid} ${generation + 1} anna`;
  return { [MOVE_DATABASE_ANNOTATION]: move, [MOVE_DATABASE_BY_ANNOTATION]: by };
}
/** One write, as kubectl-davit makes it: without a minimum the scale of 0 stays, and the write makes a generation whatever else it changes. */
const asked = (kube: FakeKube, driver: DatabaseDriver | undefined, move: string | null): Promise<void> =>
  edit(kube, {
    metadata: { annotations: askedBy(kube, move) },
    spec: {
      sourceConfig: { database: driver === undefined ? {} : { driver }, resourceSpec: { minScale: null } },
    },
  });

/** Stopped, moved and started again. */
async function moved(world: MemoryController, driver: DatabaseDriver, move: string): Promise<void> {
  await scaled(world.kube, 0);
  await rest(world);
  await asked(world.kube, driver, move);
  await rest(world);
  await scaled(world.kube, 1);
  await rest(world);
}

/** Until the record is gone. */
async function gone(world: MemoryController): Promise<void> {
  const { kube } = world;
  for (let round = 0; round < 20 && kube.objects(APP_DEPLOYMENTS).length > 0; round += 1) {
    await world.reconcile();
    await operate(kube);
    await endJobs(kube, { type: 'Complete', status: 'True' });
    kube.collectGarbage();
  }
}

/** Returns its uid. */
async function deletedUnderRetain(world: MemoryController): Promise<string> {
  const { kube } = world;
  await edit(kube, { spec: { databaseDeletionPolicy: 'Retain' } });
  await rest(world, (one) => makeWorkloadsReady(one));
  const { uid = '' } = record(kube).metadata;
  await deleteRecord(kube);
  await gone(world);
  return uid;
}

const namesOf = (kube: FakeKube, resource: Resource): string[] =>
  kube.objects(resource).flatMap(({ metadata }) => (metadata.namespace === 'team' ? [metadata.name] : []));
/** The Secret of the URI that the pods have. */
function uriIn(kube: FakeKube): string | undefined {
  const [server] = kube.objects<
    KubeObject & { spec: { template: { spec: { containers: readonly { env: readonly Variable[] }[] } } } }
  >(DEPLOYMENTS);
  const found = server?.spec.template.spec.containers[0]?.env.find(({ name }) => name === 'POSTGRES_URI');
  return found?.valueFrom?.secretKeyRef.name;
}
interface Variable {
  readonly name: string;
  readonly valueFrom?: { readonly secretKeyRef: { readonly name: string } };
}
/** The data of the first database: nothing of it is touched. */
function firstData(kube: FakeKube): unknown[] {
  return [SECRETS, PERSISTENT_VOLUME_CLAIMS, POSTGRES_CLUSTERS].flatMap((resource) =>
    kube
      .objects(resource)
      .filter(({ metadata }) => metadata.name === 'shop--postgres')
      .map(({ kind, metadata: { uid, deletionTimestamp } }) => [kind, uid, deletionTimestamp]),
  );
}

describe('a database that is moved', () => {
  it('to a Cluster: the new one begins with the backup, and the old volume and password stay', async () => {
    const world = await rested();
    const { kube, writes } = world;
    const before = firstData(kube);
    expect([uriIn(kube), before.length]).toEqual(['shop--postgres', 2]);
    await scaled(kube, 0);
    await rest(world);
    await asked(kube, 'cloudnative-pg', `pod/0 to cloudnative-pg/1 with ${BACKUP}`);
    // What is loaded is not loaded yet.
    await rest(world, (one) => makeWorkloadsReady(one));
    const job = kube.objects<KubeObject>(JOBS).find(({ metadata }) => metadata.name === 'shop---pg1-restore');
    expect(JSON.stringify(job)).toContain(`--backup=${BACKUP}`);
    expect(JSON.stringify(job)).toContain('--deployment=shop');
    // None of an earlier deployment of the name, for which the caller may have no right.
    expect(JSON.stringify(job)).toContain(`--uid=${record(kube).metadata.uid}`);
    expect(says(kube, 'Ready')).toBe('False Restoring');
    // Not even a person who scales it starts a pod meanwhile.
    await scaled(kube, 2);
    await rest(world, (one) => makeWorkloadsReady(one));
    const replicas = kube
      .objects<KubeObject & { spec: { replicas: number } }>(DEPLOYMENTS)
      .map(({ spec }) => spec.replicas);
    expect([replicas, uriIn(kube)]).toEqual([[0], 'shop--postgres']);
    await scaled(kube, 1);
    await rest(world);
    expect([says(kube, 'Ready'), says(kube, 'DatabaseRestored'), uriIn(kube)]).toEqual([
      'True Serving',
      'True Restored',
      'shop---pg1',
    ]);
    expect(record(kube).status).toMatchObject({ databaseNumber: 1, databaseDriver: 'cloudnative-pg' });
    expect(namesOf(kube, STATEFUL_SETS)).toEqual(['shop--redis']);
    expect(firstData(kube)).toEqual(before);
    expect(JSON.stringify(kube.objects(CRON_JOBS))).toContain('"shop---pg1"');
    writes();
    await world.reconcile();
    expect(writes().filter((write) => !write.startsWith('try '))).toEqual([]);
  });

  it('to a Cluster: it has objects and an image of its own, and no way down', async () => {
    const world = await rested();
    const { kube } = world;
    await moved(world, 'cloudnative-pg', `pod/0 to cloudnative-pg/1 with ${BACKUP}`);
    expect([says(kube, 'Ready'), namesOf(kube, POSTGRES_CLUSTERS), uriIn(kube)]).toEqual([
      'True Serving',
      ['shop---pg1'],
      'shop---pg1',
    ]);
    const secret = kube
      .objects<KubeObject & { type: string }>(SECRETS)
      .find(({ metadata }) => metadata.name === 'shop---pg1');
    expect(secret?.type).toBe('kubernetes.io/basic-auth');
    expect(namesOf(kube, STATEFUL_SETS)).toEqual(['shop--redis']);
    expect(newestRevision(kube).spec.resolved.postgres?.image).toBe(SETTINGS.images.cloudNativePg);
    await scaled(kube, 0);
    await rest(world);
    await asked(kube, 'pod', `cloudnative-pg/1 to pod/2 with ${BACKUP}`);
    await rest(world);
    expect([says(kube, 'Ready'), namesOf(kube, STATEFUL_SETS)]).toEqual(['False DatabaseMoveRefused', ['shop--redis']]);
    expect(conditionIn(kube, 'Ready')?.message).toContain('A Cluster is not moved to a pod.');
    await asked(kube, 'cloudnative-pg', null);
    await rest(world);
    await scaled(kube, 1);
    await rest(world);
    expect([says(kube, 'Ready'), uriIn(kube)]).toEqual(['True Serving', 'shop---pg1']);
  });

  it.each([undefined, 'pod'] as const)(
    'to a newer PostgreSQL of the same driver (%s), and back: each has its image, and a volume of its own',
    async (driver) => {
      const world = await rested(driver);
      const { kube } = world;
      const before = firstData(kube);
      const { image } = newestRevision(kube).spec.resolved.postgres ?? {};
      world.stop();
      const newer = Settings.parse({ ...SETTINGS, images: { ...SETTINGS.images, postgres: 'postgres:99' } });
      const next = await aController(kube, newer);
      await rest(next);
      expect(newestRevision(kube).spec.resolved.postgres?.image).toBe(image);
      expect(record(kube).status?.databaseDrivers).toEqual([
        { driver: 'pod', postgresVersion: 99 },
        { driver: 'cloudnative-pg', postgresVersion: 17 },
      ]);
      await moved(next, 'pod', `pod/0 to pod/1 with ${BACKUP}`);
      expect([says(kube, 'Ready'), namesOf(kube, STATEFUL_SETS), uriIn(kube), firstData(kube)]).toEqual([
        'True Serving',
        ['shop---pg1', 'shop--redis'],
        'shop---pg1',
        before,
      ]);
      expect(newestRevision(kube).spec.resolved.postgres?.image).toBe('postgres:99');
      // A pod of a Cluster may have the same labels.
      const service = kube
        .objects<KubeObject & { spec: { selector: object } }>(SERVICES)
        .find(({ metadata }) => metadata.name === 'shop---pg1');
      expect(service?.spec.selector).toMatchObject({ 'statefulset.kubernetes.io/pod-name': 'shop---pg1-0' });
      expect(conditionIn(kube, 'DatabaseRestored')?.status).toBe('True');
      await moved(next, 'pod', 'pod/1 to pod/0');
      expect([says(kube, 'Ready'), namesOf(kube, STATEFUL_SETS), uriIn(kube), firstData(kube)]).toEqual([
        'True Serving',
        ['shop--postgres', 'shop--redis'],
        'shop--postgres',
        before,
      ]);
      expect(newestRevision(kube).spec.resolved.postgres?.image).toBe(image);
      expect(namesOf(kube, PERSISTENT_VOLUME_CLAIMS)).toContain('shop---pg1');
    },
  );

  it('of the same driver needs a write that changes something, as every request does', async () => {
    const kube = aServer();
    putStoreCredentials(kube);
    putRecord(kube, {
      sourceConfig: { database: { backup: {}, driver: 'pod' }, resourceSpec: { minScale: 0, maxScale: 0 } },
    });
    const world = await aController(kube, Settings.parse({ backups: SETTINGS.backups }));
    await rest(world);
    const move = `pod/0 to pod/1 with ${BACKUP}`;
    await edit(kube, { metadata: { annotations: askedBy(kube, move) } });
    await rest(world);
    expect([says(kube, 'Ready'), says(kube, 'PolicyAccepted')]).toEqual([
      'True ScaledToZero',
      'True DatabaseMoveRefused',
    ]);
    expect(conditionIn(kube, 'PolicyAccepted')?.message).toContain('davit.dev/move-database-by is of generation 2');
    await edit(kube, { metadata: { annotations: askedBy(kube, move) }, spec: { revisionSerial: 2 } });
    await rest(world);
    expect([newestRevision(kube).spec.resolved.movedDatabase, says(kube, 'DatabaseRestored')]).toEqual([
      { number: 1, backup: BACKUP },
      'True Restored',
    ]);
  });

  it.each([
    ['of the same driver, of an earlier generation', 'pod', 'earlier', 'True'],
    ['of the same driver, by nobody', 'pod', 'nobody', 'True'],
    ['to another driver, of an earlier generation', 'cloudnative-pg', 'earlier', 'False'],
    ['to another driver, by nobody', 'cloudnative-pg', 'nobody', 'False'],
  ] as const)(
    "that somebody has left in the record moves nothing with another's change: %s",
    async (_what, driver, by, accepted) => {
      const world = await rested('pod');
      const { kube } = world;
      const before = firstData(kube);
      await scaled(kube, 0);
      await rest(world);
      // No generation is made. The policy takes no later one.
      const move = `pod/0 to ${driver}/1 with ${BACKUP}`;
      const { uid, generation = 0 } = record(kube).metadata;
      const claim = by === 'earlier' ? `${uid} ${generation - 1} mallory` : null;
      const planted = { [MOVE_DATABASE_ANNOTATION]: move, [MOVE_DATABASE_BY_ANNOTATION]: claim };
      await edit(kube, { metadata: { annotations: planted } });
      await rest(world);
      await edit(kube, { spec: { sourceConfig: { database: { driver }, env: [{ name: 'A', value: 'b' }] } } });
      await rest(world);
      const { resolved } = newestRevision(kube).spec;
      expect([resolved.movedDatabase, firstData(kube), says(kube, 'PolicyAccepted')]).toEqual([
        undefined,
        before,
        `${accepted} DatabaseMoveRefused`,
      ]);
      const message = conditionIn(kube, 'PolicyAccepted')?.message ?? '';
      expect(message).toContain('davit.dev/move-database-by');
      expect(message).toContain('Whoever wants the move asks for it in one write of his own');
      // Whoever wants it now asks himself.
      await edit(kube, {
        metadata: { annotations: askedBy(kube, move) },
        spec: { revisionSerial: 7 },
      });
      await rest(world);
      expect(newestRevision(kube).spec.resolved.movedDatabase).toEqual({ number: 1, backup: BACKUP });
    },
  );

  it('goes back to the database that was kept, and loads nothing', async () => {
    const world = await rested();
    const { kube } = world;
    const before = firstData(kube);
    await moved(world, 'cloudnative-pg', `pod/0 to cloudnative-pg/1 with ${BACKUP}`);
    await moved(world, 'pod', 'cloudnative-pg/1 to pod/0');
    expect([says(kube, 'Ready'), uriIn(kube), namesOf(kube, STATEFUL_SETS)]).toEqual([
      'True Serving',
      'shop--postgres',
      ['shop--postgres', 'shop--redis'],
    ]);
    expect(firstData(kube)).toEqual(before);
    expect(conditionIn(kube, 'DatabaseRestored')).toBeUndefined();
    expect(record(kube).status?.databaseNumber).toBeUndefined();
    // And again to the other one, which is kept too.
    await moved(world, 'cloudnative-pg', 'pod/0 to cloudnative-pg/1');
    expect([says(kube, 'Ready'), uriIn(kube), record(kube).status?.databaseNumber]).toEqual([
      'True Serving',
      'shop---pg1',
      1,
    ]);
  });

  it('keeps its database in a rollback to a revision of before the move', async () => {
    const world = await rested();
    const { kube } = world;
    const old = newestRevision(kube);
    await moved(world, 'cloudnative-pg', `pod/0 to cloudnative-pg/1 with ${BACKUP}`);
    await edit(kube, {
      spec: { rollbackTo: old.spec.id, revisionSerial: 1, sourceConfig: { database: { driver: null } } },
    });
    await rest(world);
    const { resolved, rollbackTo } = newestRevision(kube).spec;
    expect(rollbackTo).toBe(old.spec.id);
    expect([resolved.postgres?.driver, resolved.movedDatabase?.number]).toEqual(['cloudnative-pg', 1]);
    expect([says(kube, 'Ready'), uriIn(kube)]).toEqual(['True Serving', 'shop---pg1']);
  });

  it('survives a controller that dies at any of its writes', async () => {
    for (let at = 1; at <= 60; at += 1) {
      for (const when of ['failOn', 'failAfter'] as const) {
        const world = await rested();
        const { kube } = world;
        const before = firstData(kube);
        await scaled(kube, 0);
        await rest(world);
        await asked(kube, 'cloudnative-pg', `pod/0 to cloudnative-pg/1 with ${BACKUP}`);
        const keys = [KEY, KEY, KEY, KEY];
        const writes = await crashed(world, { when, at, keys });
        const next = await aController(kube, SETTINGS);
        await rest(next);
        await scaled(kube, 1);
        await rest(next);
        expect([says(kube, 'Ready'), says(kube, 'DatabaseRestored'), uriIn(kube)]).toEqual([
          'True Serving',
          'True Restored',
          'shop---pg1',
        ]);
        expect(firstData(kube)).toEqual(before);
        if (writes < at && when === 'failAfter') return;
      }
    }
    throw new Error('more writes than the test counts to');
  });

  it('is deleted with all that it was moved from, or kept as a whole', async () => {
    for (const databaseDeletionPolicy of ['Delete', 'Retain'] as const) {
      const world = await rested();
      const { kube } = world;
      await moved(world, 'cloudnative-pg', `pod/0 to cloudnative-pg/1 with ${BACKUP}`);
      await edit(kube, { spec: { databaseDeletionPolicy } });
      await deleteRecord(kube);
      for (let round = 0; round < 20 && kube.objects(APP_DEPLOYMENTS).length > 0; round += 1) {
        await world.reconcile();
        await operate(kube);
        kube.collectGarbage();
      }
      const left = [SECRETS, PERSISTENT_VOLUME_CLAIMS, POSTGRES_CLUSTERS]
        .flatMap((resource) => namesOf(kube, resource))
        .filter((name) => /^shop--(?:postgres|-pg1)$/.test(name));
      expect(left.toSorted()).toEqual(
        databaseDeletionPolicy === 'Delete' ? [] : ['shop---pg1', 'shop---pg1', 'shop--postgres', 'shop--postgres'],
      );
    }
  });

  it('leaves to the next deployment of the name what it used last, not what it was moved from', async () => {
    const world = await rested();
    const { kube } = world;
    await moved(world, 'cloudnative-pg', `pod/0 to cloudnative-pg/1 with ${BACKUP}`);
    await edit(kube, { spec: { databaseDeletionPolicy: 'Retain' } });
    const uid = record(kube).metadata.uid ?? '';
    await deleteRecord(kube);
    for (let round = 0; round < 20 && kube.objects(APP_DEPLOYMENTS).length > 0; round += 1) {
      await world.reconcile();
      await operate(kube);
      kube.collectGarbage();
    }
    putRecord(
      kube,
      { sourceConfig: { database: { driver: 'cloudnative-pg' } } },
      { annotations: { 'davit.dev/adopt-database': uid } },
    );
    await rest(world);
    expect([says(kube, 'Ready'), uriIn(kube), namesOf(kube, POSTGRES_CLUSTERS)]).toEqual([
      'True Serving',
      'shop---pg1',
      ['shop---pg1'],
    ]);
  });

  it.each([
    {
      what: 'to which it went back',
      until: async (world: MemoryController): Promise<void> => {
        await moved(world, 'pod', `pod/0 to pod/1 with ${BACKUP}`);
        await moved(world, 'pod', 'pod/1 to pod/0');
      },
    },
    {
      what: 'whose next one was never loaded, as the deletion cut the move short',
      until: async (world: MemoryController): Promise<void> => {
        await scaled(world.kube, 0);
        await rest(world);
        await asked(world.kube, 'pod', `pod/0 to pod/1 with ${BACKUP}`);
        await rest(world, (one) => makeWorkloadsReady(one));
      },
    },
    {
      what: 'whose next one was never loaded, many changes ago',
      until: async (world: MemoryController): Promise<void> => {
        await scaled(world.kube, 0);
        await rest(world);
        await asked(world.kube, 'pod', `pod/0 to pod/1 with ${BACKUP}`);
        await rest(world, (one) => makeWorkloadsReady(one));
        for (let change = 0; change < 12; change += 1) {
          await edit(world.kube, { spec: { sourceConfig: { env: [{ name: 'CHANGE', value: `${change}` }] } } });
          await rest(world, (one) => makeWorkloadsReady(one));
        }
      },
    },
  ])('leaves to the next deployment of the name the database $what', async ({ until }) => {
    const world = await rested();
    const { kube } = world;
    const before = firstData(kube);
    await until(world);
    const uid = await deletedUnderRetain(world);
    putRecord(kube, {}, { annotations: { 'davit.dev/adopt-database': uid } });
    await rest(world);
    expect([says(kube, 'Ready'), uriIn(kube), firstData(kube)]).toEqual(['True Serving', 'shop--postgres', before]);
    expect(newestRevision(kube).spec.resolved.movedDatabase).toBeUndefined();
  });

  it.each([
    ['failOn', 1],
    ['failOn', 2],
    ['failAfter', 1],
    ['failAfter', 2],
  ] as const)(
    'leaves the choice of what it used last also where the controller dies at a write of the deletion: %s, every other one from %d',
    async (when, first) => {
      for (let at: number = first; at <= 60; at += 2) {
        const world = await rested();
        const { kube } = world;
        await moved(world, 'pod', `pod/0 to pod/1 with ${BACKUP}`);
        await moved(world, 'pod', 'pod/1 to pod/0');
        await edit(kube, { spec: { databaseDeletionPolicy: 'Retain' } });
        const uid = record(kube).metadata.uid ?? '';
        await deleteRecord(kube);
        const writes = await crashed(world, { when, at, keys: [KEY, KEY, KEY, KEY] });
        const next = await aController(kube, SETTINGS);
        await gone(next);
        putRecord(kube, {}, { annotations: { 'davit.dev/adopt-database': uid } });
        await rest(next);
        expect([says(kube, 'Ready'), uriIn(kube)]).toEqual(['True Serving', 'shop--postgres']);
        if (writes < at) return;
      }
      throw new Error('more writes than the test counts to');
    },
  );

  it('is not begun twice with the mark of an earlier move', async () => {
    const world = await rested();
    const { kube } = world;
    await moved(world, 'cloudnative-pg', `pod/0 to cloudnative-pg/1 with ${BACKUP}`);
    const { uid } = record(kube).metadata;
    const [revision] = kube
      .objects<AppRevision>(APP_REVISIONS)
      .filter(({ spec }) => spec.resolved.movedDatabase !== undefined);
    expect(revision?.spec.resolved.movedDatabase).toEqual({ number: 1, backup: BACKUP });
    await scaled(kube, 0);
    await rest(world);
    await asked(kube, 'cloudnative-pg', `cloudnative-pg/1 to cloudnative-pg/2 with ${BACKUP.replace('a', 'b')}`);
    await rest(world, (one) => makeWorkloadsReady(one));
    const job = kube.objects<KubeObject>(JOBS).find(({ metadata }) => metadata.name === 'shop---pg2-restore');
    expect(JSON.stringify(job)).toContain(`"${uid}/2/${BACKUP.replace('a', 'b')}"`);
  });
});

describe('what a database was moved from', () => {
  const sleeps = (kube: FakeKube): unknown =>
    kube.objects(POSTGRES_CLUSTERS).map(({ metadata }) => metadata.annotations?.['cnpg.io/hibernation']);
  const instances = (kube: FakeKube): string[] => namesOf(kube, PODS).filter((name) => /---pg1-\d$/.test(name));

  it('is a Cluster that rests, with its volumes, until somebody goes back to it', async () => {
    const world = await rested();
    const { kube, writes } = world;
    await moved(world, 'cloudnative-pg', `pod/0 to cloudnative-pg/1 with ${BACKUP}`);
    expect([sleeps(kube), instances(kube).length]).toEqual([['off'], 2]);
    // Stopped for the next move it still runs: the move may be given up.
    await scaled(kube, 0);
    await rest(world);
    expect([sleeps(kube), instances(kube).length]).toEqual([['off'], 2]);
    await asked(kube, 'pod', 'cloudnative-pg/1 to pod/0');
    await rest(world);
    expect(sleeps(kube)).toEqual(['off']);
    await scaled(kube, 1);
    await rest(world);
    expect([says(kube, 'Ready'), uriIn(kube), sleeps(kube), instances(kube)]).toEqual([
      'True Serving',
      'shop--postgres',
      ['on'],
      [],
    ]);
    expect(namesOf(kube, PERSISTENT_VOLUME_CLAIMS)).toEqual(expect.arrayContaining(['shop---pg1-1', 'shop---pg1-2']));
    writes();
    await world.reconcile();
    expect(writes().filter((write) => !write.startsWith('try '))).toEqual([]);
    await moved(world, 'cloudnative-pg', 'pod/0 to cloudnative-pg/1');
    expect([says(kube, 'Ready'), uriIn(kube), sleeps(kube), instances(kube).length]).toEqual([
      'True Serving',
      'shop---pg1',
      ['off'],
      2,
    ]);
  });
});

describe('a move that cannot be', () => {
  it('waits until nothing can write: at a scale, and for each pod that has not ended', async () => {
    const world = await rested();
    const { kube } = world;
    await asked(kube, 'cloudnative-pg', `pod/0 to cloudnative-pg/1 with ${BACKUP}`);
    await rest(world);
    expect([says(kube, 'Ready'), says(kube, 'Available'), uriIn(kube)]).toEqual([
      'False DatabaseMoveWaits',
      'True Serving',
      'shop--postgres',
    ]);
    expect(conditionIn(kube, 'Ready')?.message).toContain('kubectl davit database move shop');
    // What is asked for together with it is not in force, so the message says how to take the move back first.
    expect(conditionIn(kube, 'Ready')?.message).toContain('kubectl patch appdeployment shop');
    await scaled(kube, 0);
    await rest(world);
    expect(says(kube, 'Ready')).toBe('False DatabaseMoveRefused');
    expect(conditionIn(kube, 'Ready')?.message).toContain('the deployment was changed since');
    const takeBack = /kubectl patch appdeployment shop -n \S+ --type=merge -p '([^']+)'/;
    const [, patch = '{}'] = takeBack.exec(conditionIn(kube, 'Ready')?.message ?? '') ?? [];
    expect(JSON.parse(patch)).toEqual({
      metadata: { annotations: { 'davit.dev/move-database': null, 'davit.dev/move-database-by': null } },
      spec: { sourceConfig: { database: { driver: 'pod' } } },
    });
    await asked(kube, 'pod', null);
    await rest(world);
    expect(says(kube, 'Ready')).toBe('True ScaledToZero');
    putPod(kube, 'server', newestRevision(kube).spec.id, {}, true);
    await asked(kube, 'cloudnative-pg', `pod/0 to cloudnative-pg/1 with ${BACKUP}`);
    await world.reconcile();
    expect([says(kube, 'PolicyAccepted'), says(kube, 'Stalled')]).toEqual(['False DatabaseMoveWaits', 'False Settled']);
    expect(conditionIn(kube, 'Ready')?.message).toContain('has ended');
    removePod(kube, 'server');
    await rest(world);
    expect(newestRevision(kube).spec.resolved.movedDatabase?.number).toBe(1);
  });

  it.each([
    {
      why: 'names another database than the record has',
      move: `cloudnative-pg/0 to pod/1 with ${BACKUP}`,
      driver: 'cloudnative-pg',
    },
    {
      why: 'names another driver than the record asks for',
      move: `pod/0 to pod/1 with ${BACKUP}`,
      driver: 'cloudnative-pg',
    },
    { why: 'is no move', move: 'please', driver: 'cloudnative-pg' },
    { why: 'names no backup by its name', move: 'pod/0 to cloudnative-pg/1 with yesterday', driver: 'cloudnative-pg' },
  ] as const)('changes nothing when the annotation $why', async ({ move, driver }) => {
    const world = await rested();
    const { kube } = world;
    await scaled(kube, 0);
    await rest(world);
    await asked(kube, driver, move);
    await rest(world);
    expect(says(kube, 'Ready')).toBe('False DatabaseDriverFixed');
    expect(conditionIn(kube, 'Ready')?.message).toContain(move);
    expect(newestRevision(kube).spec.resolved.movedDatabase).toBeUndefined();
  });

  it.each([
    {
      why: 'the record names no driver',
      driver: undefined,
      move: `pod/0 to cloudnative-pg/1 with ${BACKUP}`,
      says: 'source_config.database.driver does not ask for cloudnative-pg',
    },
    {
      why: 'the record asks for the driver that it has',
      driver: 'pod',
      move: `pod/0 to cloudnative-pg/1 with ${BACKUP}`,
      says: 'source_config.database.driver does not ask for cloudnative-pg',
    },
    { why: 'it is no move', driver: undefined, move: 'please', says: 'It is no move: write it as pod/0 to' },
    {
      why: 'it names another database than the record has',
      driver: undefined,
      move: `cloudnative-pg/3 to pod/4 with ${BACKUP}`,
      says: 'The deployment has database pod/0, and not cloudnative-pg/3',
    },
    {
      why: 'it goes from a database to itself',
      driver: 'pod',
      move: 'pod/0 to pod/0',
      says: 'It names one database twice',
    },
  ] as const)(
    'says that an annotation has no effect, and holds nothing up: $why',
    async ({ driver, move, says: words }) => {
      const world = await rested();
      const { kube } = world;
      await asked(kube, driver, move);
      await rest(world);
      expect([says(kube, 'Ready'), says(kube, 'PolicyAccepted')]).toEqual(['True Serving', 'True DatabaseMoveRefused']);
      const message = conditionIn(kube, 'PolicyAccepted')?.message ?? '';
      expect(message).toContain(`davit.dev/move-database says ${move}, which has no effect. ${words}`);
      expect(message).toContain('kubectl annotate appdeployment shop -n team davit.dev/move-database-');
      await scaled(kube, 0);
      await rest(world);
      expect(says(kube, 'Ready')).toBe('True ScaledToZero');
      await asked(kube, driver, null);
      await rest(world);
      expect(says(kube, 'PolicyAccepted')).toBe('True Accepted');
    },
  );

  it.each([
    {
      why: 'nothing is kept there',
      driver: 'cloudnative-pg',
      move: 'pod/0 to cloudnative-pg/1',
      says: 'False DatabaseMoveRefused',
      in: 'shop---pg1',
    },
    {
      why: 'there is no volume',
      driver: 'cloudnative-pg',
      move: 'pod/0 to cloudnative-pg/7',
      says: 'False DatabaseMoveRefused',
      in: 'shop---pg7',
    },
    {
      why: 'nothing is kept there, of the driver that it has',
      driver: 'pod',
      move: 'pod/0 to pod/5',
      says: 'False DatabaseMoveRefused',
      in: 'shop---pg5',
    },
    {
      why: 'the platform has no CloudNativePG',
      driver: 'cloudnative-pg',
      move: `pod/0 to cloudnative-pg/1 with ${BACKUP}`,
      settings: Settings.parse({ backups: SETTINGS.backups, database: { cloudNativePg: { enabled: false } } }),
      says: 'False DatabaseMoveRefused',
      in: 'nothing is changed. This platform has no CloudNativePG',
    },
    {
      why: 'the platform has no store',
      driver: 'cloudnative-pg',
      move: `pod/0 to cloudnative-pg/1 with ${BACKUP}`,
      settings: Settings.parse({}),
      says: 'False BackupStoreMissing',
      in: 'store',
    },
    {
      why: 'its PostgreSQL is older',
      driver: 'cloudnative-pg',
      move: `pod/0 to cloudnative-pg/1 with ${BACKUP}`,
      settings: Settings.parse({
        ...SETTINGS,
        images: { ...SETTINGS.images, postgres: 'postgres:18', cloudNativePg: 'example/pg:16-x' },
      }),
      says: 'False DatabaseMoveRefused',
      in: 'PostgreSQL 16',
    },
  ] as const)('is refused, and what there is goes on: $why', async ({ driver, move, ...given }) => {
    const world = await rested(undefined, 'settings' in given ? given.settings : SETTINGS);
    const { kube } = world;
    const before = firstData(kube);
    await scaled(kube, 0);
    await rest(world);
    await asked(kube, driver, move);
    await rest(world);
    expect([says(kube, 'Ready'), firstData(kube)]).toEqual([given.says, before]);
    const message = conditionIn(kube, 'Ready')?.message;
    expect(message).toContain(given.in);
    // Nothing else of the record takes effect, so whoever has asked by hand needs a way out.
    expect(message).toMatch(
      /\. To take the request back: kubectl patch appdeployment shop -n team .*"driver":"pod"\}\}\}\}'$/,
    );
    await asked(kube, 'pod', null);
    await scaled(kube, 1);
    await rest(world);
    expect([says(kube, 'Ready'), uriIn(kube)]).toEqual(['True Serving', 'shop--postgres']);
  });

  it('goes back while the backup is being loaded, and leaves no Job that goes on with it', async () => {
    const world = await rested();
    const { kube } = world;
    const before = firstData(kube);
    await scaled(kube, 0);
    await rest(world);
    await asked(kube, 'cloudnative-pg', `pod/0 to cloudnative-pg/1 with ${BACKUP}`);
    await rest(world, (one) => makeWorkloadsReady(one));
    const job = kube.objects(JOBS).find(({ metadata }) => metadata.name === 'shop---pg1-restore');
    if (!job) throw new Error('no Job');
    putRestorePod(kube, job.metadata);
    await rest(world, (one) => makeWorkloadsReady(one));
    expect(says(kube, 'Ready')).toBe('False Restoring');
    await asked(kube, 'pod', 'cloudnative-pg/1 to pod/0');
    await rest(world, (one) => makeWorkloadsReady(one));
    await scaled(kube, 1);
    await rest(world, (one) => makeWorkloadsReady(one));
    expect([namesOf(kube, JOBS), says(kube, 'Ready'), uriIn(kube), firstData(kube)]).toEqual([
      [],
      'True Serving',
      'shop--postgres',
      before,
    ]);
  });

  it('says how to go back when the backup is not loaded', async () => {
    const world = await rested();
    const { kube } = world;
    await scaled(kube, 0);
    await rest(world);
    await asked(kube, 'cloudnative-pg', `pod/0 to cloudnative-pg/1 with ${BACKUP}`);
    await rest(world, (one) => makeWorkloadsReady(one));
    const job = kube.objects(JOBS).find(({ metadata }) => metadata.name === 'shop---pg1-restore');
    if (!job) throw new Error('no Job');
    putRestorePod(kube, job.metadata, { exitCode: 4, message: 'it is damaged' });
    await endJobs(kube, {
      type: 'Failed',
      status: 'True',
      lastTransitionTime: '2026-02-01T03:00:00Z',
      message: 'failed',
    });
    await rest(world, (one) => makeWorkloadsReady(one));
    expect(says(kube, 'Ready')).toBe('False RestoreFailed');
    expect(conditionIn(kube, 'Ready')?.message).toContain('kubectl davit database back shop -n team');
    await asked(kube, 'pod', 'cloudnative-pg/1 to pod/0');
    await rest(world);
    await scaled(kube, 1);
    await rest(world);
    expect([says(kube, 'Ready'), uriIn(kube)]).toEqual(['True Serving', 'shop--postgres']);

    // Nothing was ever in the other one: it would begin empty. Also many changes later, when no revision of it is kept.
    for (let change = 0; change < 12; change += 1) {
      await edit(kube, { spec: { sourceConfig: { env: [{ name: 'CHANGE', value: `${change}` }] } } });
      await rest(world);
    }
    await scaled(kube, 0);
    await rest(world);
    await asked(kube, 'cloudnative-pg', 'pod/0 to cloudnative-pg/1');
    await rest(world);
    expect([says(kube, 'Ready'), conditionIn(kube, 'Ready')?.message]).toEqual([
      'False DatabaseMoveRefused',
      expect.stringContaining('No backup was ever loaded into database cloudnative-pg/1'),
    ]);
    expect(newestRevision(kube).spec.resolved.movedDatabase).toMatchObject({ number: 0 });
    // Back to what has the data, and on with it.
    await asked(kube, 'pod', null);
    await scaled(kube, 1);
    await rest(world);
    expect([says(kube, 'Ready'), uriIn(kube)]).toEqual(['True Serving', 'shop--postgres']);
  });
});

it('a teardown in the middle of a move leaves nothing', async () => {
  const world = await rested();
  const { kube } = world;
  await scaled(kube, 0);
  await rest(world);
  await asked(kube, 'cloudnative-pg', `pod/0 to cloudnative-pg/1 with ${BACKUP}`);
  await rest(world, (one) => makeWorkloadsReady(one));
  await deleteRecord(kube);
  for (let round = 0; round < 20 && kube.objects(APP_DEPLOYMENTS).length > 0; round += 1) {
    await world.reconcile();
    await endJobs(kube, { type: 'Complete', status: 'True' });
    kube.collectGarbage();
  }
  await takeDown(world);
  expect([kube.objects(APP_DEPLOYMENTS), namesOf(kube, PERSISTENT_VOLUME_CLAIMS)]).toEqual([[], []]);
});

describe('an external database', () => {
  const REFERENCE = { name: 'POSTGRES_URI_CUSTOM', secretName: 'hosted', secretKey: 'uri' };
  // No pod of the test says that an external one has answered it.
  const serves = (kube: FakeKube): unknown => says(kube, 'WorkloadsReady');
  const uriKey = (kube: FakeKube): unknown => [uriIn(kube), record(kube).status?.databaseNumber];
  const named = (kube: FakeKube): Promise<void> =>
    edit(kube, { spec: { secretReferences: [REFERENCE], sourceConfig: { database: { backup: { enabled: false } } } } });
  async function switched(driver?: DatabaseDriver): Promise<MemoryController> {
    const world = await rested(driver);
    putSecret(world.kube, 'hosted', { uri: encoded('postgresql://u:p@db.example/app') });
    await named(world.kube);
    await rest(world);
    return world;
  }

  it('is used without a move, and the own one is returned to by the field alone', async () => {
    const world = await switched();
    const { kube } = world;
    expect([serves(kube), uriKey(kube)]).toEqual(['True Serving', ['hosted', undefined]]);
    await edit(kube, { spec: { secretReferences: [] } });
    await rest(world);
    expect([serves(kube), uriKey(kube)]).toEqual(['True Serving', ['shop--postgres', undefined]]);
  });

  it('to which an earlier version moved the record goes on being used, whatever is changed', async () => {
    const world = await switched();
    const { kube } = world;
    const before = firstData(kube);
    const { spec, ...revision } = newestRevision(kube);
    const movedDatabase = { number: 1, backup: BACKUP };
    kube.seed(APP_REVISIONS, { ...revision, spec: { ...spec, resolved: { ...spec.resolved, movedDatabase } } });
    const move = `pod/0 to external/1 with ${BACKUP}`;
    await edit(kube, { metadata: { annotations: { [MOVE_DATABASE_ANNOTATION]: move } } });
    await rest(world);
    expect([serves(kube), uriKey(kube), says(kube, 'PolicyAccepted')]).toEqual([
      'True Serving',
      ['hosted', 1],
      'True DatabaseMoveRefused',
    ]);
    expect(conditionIn(kube, 'PolicyAccepted')?.message).toContain('To remove it: kubectl annotate appdeployment shop');
    await edit(kube, { spec: { sourceConfig: { env: [{ name: 'A', value: 'b' }] } } });
    await rest(world);
    expect([serves(kube), uriKey(kube), firstData(kube)]).toEqual(['True Serving', ['hosted', 1], before]);
    expect([namesOf(kube, STATEFUL_SETS), namesOf(kube, JOBS)]).toEqual([['shop--redis'], []]);
  });

  it('leaves to the next deployment of the name an own one that is older, and that nobody adopts who has not chosen it', async () => {
    for (const driver of ['pod', 'cloudnative-pg'] as const) {
      // oxlint-disable no-await-in-loop -- one world after the other
      const world = await switched(driver);
      const { kube } = world;
      const before = firstData(kube);
      const uid = await deletedUnderRetain(world);
      putRecord(kube, { sourceConfig: { database: { driver } } }, { annotations: { 'davit.dev/adopt-database': uid } });
      await rest(world);
      expect([says(kube, 'Ready'), firstData(kube)]).toEqual(['False DatabaseKept', before]);
      const message = conditionIn(kube, 'Ready')?.message ?? '';
      expect(message).toContain('That deployment used an external database last, so this one has the data of before');
      const choice = `kubectl annotate secret shop--postgres -n team --overwrite "davit.dev/used-last=${uid} ${driver}"`;
      expect(message).toContain(choice);
      const place = { namespace: 'team', name: 'shop--postgres' };
      const chosen = { metadata: { annotations: { 'davit.dev/used-last': `${uid} ${driver}` } } };
      await kube.mergePatch(SECRETS, place, chosen, { fieldManager: 'person' });
      await rest(world);
      // oxlint-enable no-await-in-loop
      expect([says(kube, 'Ready'), uriIn(kube), firstData(kube)]).toEqual(['True Serving', 'shop--postgres', before]);
    }
  });
});
