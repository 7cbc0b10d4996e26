// A database that is moved to another driver: nothing writes meanwhile, the next one begins with the backup, the one before stays as it
// was, and no pod ever reaches it again until a person goes back.

import { describe, expect, it } from 'vitest';
import { APP_DEPLOYMENTS } from '../../../src/kinds/app-deployment.ts';
import { APP_REVISIONS, type AppRevision } from '../../../src/kinds/app-revision.ts';
import type { DatabaseDriver } from '../../../src/kinds/database.ts';
import { DATASTORE_OPERATIONS, type DatastoreOperation } from '../../../src/kinds/datastore-operation.ts';
import { Settings } from '../../../src/kinds/settings.ts';
import { Forbidden, Unavailable } from '../../../src/runtime/errors.ts';
import {
  CRON_JOBS,
  DEPLOYMENTS,
  JOBS,
  NAMESPACES,
  PERSISTENT_VOLUME_CLAIMS,
  PODS,
  POSTGRES_CLUSTERS,
  SECRETS,
  SERVICES,
  STATEFUL_SETS,
} from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject, Resource } from '../../../src/runtime/kube/client.ts';
import { operate } from '../../kit/memory/cloudnative-pg.ts';
import { aController, KEY, type MemoryController } from '../../kit/memory/controller.ts';
import { ask, backupJobs, endBackup, operationIn, SENT, state } from '../../kit/memory/operations.ts';
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
import { crashed, crashPoints, gone as goneObject, putStoreCredentials, takeDown } from './harness.ts';

const SETTINGS = Settings.parse({
  backups: {
    default: { enabled: false },
    store: { endpoint: 'https://s3.example', bucket: 'backups' },
    image: 'registry.example/davit:1',
  },
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
  // The first one shows that the store works.
  if (settings.backups.store) {
    ask(kube, 'first');
    await until(world, 'first', 'Succeeded');
    await rest(world);
  }
  return world;
}

const scaled = (kube: FakeKube, scale: number): Promise<void> =>
  edit(kube, { spec: { sourceConfig: { resourceSpec: { minScale: scale, maxScale: scale } } } });

const ACTIONS = {
  Restore: { action: 'Restore', restore: { backup: BACKUP } },
  Move: { action: 'Move' },
  Upgrade: { action: 'Upgrade' },
  Return: { action: 'Return' },
} as const satisfies Record<string, Partial<DatastoreOperation['spec']>>;
type Action = keyof typeof ACTIONS;

/** One pass of everything: what the controllers do, and what the cluster does of it. */
async function turn(world: MemoryController, name: string, ready = makeReady): Promise<void> {
  const { kube } = world;
  await world.reconcile(`team/${name}`, 'operations');
  await world.reconcile();
  await operate(kube);
  for (const job of backupJobs(kube))
    if (!('status' in job)) endBackup(kube, job, 0, JSON.stringify({ ...SENT, name: BACKUP }));
  await ready(kube);
  kube.collectGarbage();
}

/** Until the operation is in this phase, or has ended. */
async function until(world: MemoryController, name: string, phase: string, ready = makeReady): Promise<string> {
  for (let round = 0; round < 60; round += 1) {
    const now = state(world.kube, name);
    if (now.startsWith(phase) || /^(?:Succeeded|Failed)/.test(now)) return now;
    await turn(world, name, ready);
  }
  throw new Error(`${name} is ${state(world.kube, name)}`);
}

/** The operation is carried out until the controller dies at its `at`th write. Returns how many writes it tried. */
async function diesAt(
  world: MemoryController,
  name: string,
  { when, at }: { readonly when: 'failOn' | 'failAfter'; readonly at: number },
): Promise<number> {
  const { kube } = world;
  let writes = 0;
  const fail = ({ verb }: { readonly verb: string }): Error | undefined => {
    if (['get', 'list', 'watch', 'text'].includes(verb)) return undefined;
    writes += 1;
    return writes >= at ? new Unavailable('gone') : undefined;
  };
  for (let round = 0; round < 30 && writes < at; round += 1) {
    kube[when](fail);
    await world.reconcile(`team/${name}`, 'operations').catch(() => undefined);
    await world.reconcile().catch(() => undefined);
    kube[when](undefined);
    await operate(kube);
    for (const job of backupJobs(kube))
      if (!('status' in job)) endBackup(kube, job, 0, JSON.stringify({ ...SENT, name: BACKUP }));
    await makeReady(kube);
    kube.collectGarbage();
    if (state(kube, name).startsWith('Succeeded')) break;
  }
  world.stop();
  return writes;
}

const goneOperation = (kube: FakeKube, name: string): Promise<void> => goneObject(kube, DATASTORE_OPERATIONS, name);

let asked = 0;

/** From the creation of an operation to its end: its phase and reason. */
async function carried(world: MemoryController, action: Action): Promise<string> {
  asked += 1;
  const name = `op-${asked}`;
  ask(world.kube, name, ACTIONS[action]);
  const end = await until(world, name, 'Succeeded');
  await rest(world);
  return end;
}

/** The same, of which nothing else is expected. */
async function moved(world: MemoryController, action: Action): Promise<void> {
  const end = await carried(world, action);
  if (!end.startsWith('Succeeded')) throw new Error(end);
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

/** Names of what has, or opens, the data of the next database. */
const nextData = (kube: FakeKube): string[] =>
  [SECRETS, PERSISTENT_VOLUME_CLAIMS, POSTGRES_CLUSTERS]
    .flatMap((resource) => namesOf(kube, resource))
    .filter((name) => name.startsWith('shop---pg1'));

describe('a database that is moved', () => {
  it('to a Cluster: the new one begins with the backup, and the old volume and password stay', async () => {
    const world = await rested();
    const { kube, writes } = world;
    const before = firstData(kube);
    expect([uriIn(kube), before.length]).toEqual(['shop--postgres', 2]);
    ask(kube, 'up', { action: 'Move', requestedBy: 'anna' });
    expect(await until(world, 'up', 'Loading')).toBe('Loading Loading');
    // What is loaded is not loaded yet.
    await rest(world, (one) => makeWorkloadsReady(one));
    const job = kube.objects<KubeObject>(JOBS).find(({ metadata }) => metadata.name === 'shop---pg1-restore');
    expect(JSON.stringify(job)).toContain(`--backup=${BACKUP}`);
    expect(JSON.stringify(job)).toContain('--deployment=shop');
    // None of an earlier deployment of the name, for which the caller may have no right.
    expect(JSON.stringify(job)).toMatch(new RegExp(`--tenant=[^/]+/${record(kube).metadata.uid}`));
    expect([says(kube, 'Ready'), says(kube, 'DatabaseReady'), record(kube).status?.state]).toEqual([
      'False OperationRunning',
      'False OperationRunning',
      'AWAITING_DATABASE',
    ]);
    expect(newestRevision(kube).spec).toMatchObject({ requestedBy: 'anna', pushSerial: 1, deploymentGeneration: 1 });
    // Not even a person who scales it starts a pod meanwhile.
    await scaled(kube, 2);
    await rest(world, (one) => makeWorkloadsReady(one));
    const replicas = kube
      .objects<KubeObject & { spec: { replicas: number } }>(DEPLOYMENTS)
      .map(({ spec }) => spec.replicas);
    expect([replicas, uriIn(kube)]).toEqual([[0], 'shop--postgres']);
    await scaled(kube, 1);
    expect(await until(world, 'up', 'Succeeded')).toBe('Succeeded Moved');
    await rest(world);
    expect([says(kube, 'Ready'), says(kube, 'DatabaseRestored'), uriIn(kube)]).toEqual([
      'True Serving',
      'True Restored',
      'shop---pg1',
    ]);
    expect(record(kube).status).toMatchObject({
      databaseNumber: 1,
      databaseDriver: 'cloudnative-pg',
      databasesKept: [{ driver: 'pod', number: 0 }],
    });
    expect(record(kube).status?.databaseOperation).toBeUndefined();
    expect(operationIn(kube, 'up')?.status).toMatchObject({
      move: { from: { driver: 'pod', number: 0 }, to: { driver: 'cloudnative-pg', number: 1 }, backup: BACKUP },
      downtimeSeconds: expect.any(Number) as number,
    });
    expect(namesOf(kube, STATEFUL_SETS)).toEqual(['shop--redis']);
    expect(firstData(kube)).toEqual(before);
    expect(JSON.stringify(kube.objects(CRON_JOBS))).toContain('"shop---pg1"');
    await world.reconcile('team/up', 'operations');
    writes();
    await world.reconcile();
    await world.reconcile('team/up', 'operations');
    expect(writes().filter((write) => !write.startsWith('try '))).toEqual([]);
  });

  it('to a Cluster: it has objects and an image of its own, and no way down', async () => {
    const world = await rested();
    const { kube } = world;
    await moved(world, 'Move');
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
    expect(await carried(world, 'Move')).toBe('Failed NotPossible');
    expect([says(kube, 'Ready'), uriIn(kube)]).toEqual(['True Serving', 'shop---pg1']);
  });

  it('keeps its driver whatever a repository writes that nobody has changed', async () => {
    const world = await rested('pod');
    const { kube } = world;
    await moved(world, 'Move');
    expect([says(kube, 'Ready'), says(kube, 'PolicyAccepted')]).toEqual(['True Serving', 'True DatabaseDriverInUse']);
    await edit(kube, { spec: { sourceConfig: { env: [{ name: 'A', value: 'b' }] } } });
    await rest(world);
    expect([says(kube, 'Ready'), uriIn(kube), newestRevision(kube).spec.resolved.postgres?.driver]).toEqual([
      'True Serving',
      'shop---pg1',
      'cloudnative-pg',
    ]);
    await edit(kube, { spec: { sourceConfig: { database: { driver: 'cloudnative-pg' } } } });
    await rest(world);
    expect([says(kube, 'Ready'), says(kube, 'PolicyAccepted')]).toEqual(['True Serving', 'True Accepted']);
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
      await moved(next, 'Upgrade');
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
      await moved(next, 'Return');
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

  it('goes back to the database that was kept, and loads nothing', async () => {
    const world = await rested();
    const { kube } = world;
    const before = firstData(kube);
    await moved(world, 'Move');
    await moved(world, 'Return');
    expect([says(kube, 'Ready'), uriIn(kube), namesOf(kube, STATEFUL_SETS)]).toEqual([
      'True Serving',
      'shop--postgres',
      ['shop--postgres', 'shop--redis'],
    ]);
    expect(firstData(kube)).toEqual(before);
    expect(conditionIn(kube, 'DatabaseRestored')).toBeUndefined();
    expect(record(kube).status?.databaseNumber).toBeUndefined();
    // And again to the other one, which is kept too.
    await moved(world, 'Return');
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
    await moved(world, 'Move');
    await edit(kube, {
      spec: { rollbackTo: old.spec.id, revisionSerial: 2, sourceConfig: { database: { driver: null } } },
    });
    await rest(world);
    const { resolved, rollbackTo } = newestRevision(kube).spec;
    expect(rollbackTo).toBe(old.spec.id);
    expect([resolved.postgres?.driver, resolved.movedDatabase?.number]).toEqual(['cloudnative-pg', 1]);
    expect([says(kube, 'Ready'), uriIn(kube)]).toEqual(['True Serving', 'shop---pg1']);
  });

  it.each(['Stopping', 'Running', 'Loading'])(
    'is taken back where the namespace is a tenant no longer (%s), and serves when it is one again',
    async (phase) => {
      const world = await rested();
      const { kube } = world;
      ask(kube, 'up', { action: 'Move' });
      await until(world, 'up', phase);
      const tenant = (label: string | null): Promise<unknown> =>
        kube.mergePatch(
          NAMESPACES,
          { name: 'team' },
          { metadata: { labels: { 'davit.dev/tenant': label } } },
          { fieldManager: 'admin' },
        );
      await tenant(null);
      for (let round = 0; round < 20; round += 1) await turn(world, 'up');
      expect([says(kube, 'Ready'), conditionIn(kube, 'Stalled')?.status]).toEqual(['False NotATenant', 'True']);
      expect(conditionIn(kube, 'Ready')?.message).toContain('starts nothing in it. To make it one: kubectl label');
      await tenant('true');
      await until(world, 'up', 'Succeeded');
      await rest(world);
      expect([says(kube, 'Ready'), uriIn(kube), firstData(kube).length]).toEqual([
        'True Serving',
        state(kube, 'up') === 'Failed NotATenant' ? 'shop--postgres' : 'shop---pg1',
        2,
      ]);
    },
  );

  it.each(['failOn', 'failAfter'] as const)(
    'survives a controller that dies at any of its writes: %s',
    async (when) => {
      for (const at of crashPoints(80)) {
        const world = await rested();
        const { kube } = world;
        const before = firstData(kube);
        ask(kube, 'up', { action: 'Move' });
        const writes = await diesAt(world, 'up', { when, at });
        const next = await aController(kube, SETTINGS);
        expect(await until(next, 'up', 'Succeeded')).toBe('Succeeded Moved');
        await rest(next);
        expect([at, says(kube, 'Ready'), says(kube, 'DatabaseRestored'), uriIn(kube)]).toEqual([
          at,
          'True Serving',
          'True Restored',
          'shop---pg1',
        ]);
        expect(firstData(kube)).toEqual(before);
        if (writes < at) return;
      }
      throw new Error('more writes than the test counts to');
    },
  );

  it('is deleted with all that it was moved from, or kept as a whole', async () => {
    for (const databaseDeletionPolicy of ['Delete', 'Retain'] as const) {
      const world = await rested();
      const { kube } = world;
      await moved(world, 'Move');
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
    await moved(world, 'Move');
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
        await moved(world, 'Restore');
        await moved(world, 'Return');
      },
    },
    {
      what: 'whose next one was never loaded, as the deletion cut the move short',
      until: async (world: MemoryController): Promise<void> => {
        ask(world.kube, 'again', ACTIONS.Restore);
        await until(world, 'again', 'Loading');
        await rest(world, (one) => makeWorkloadsReady(one));
      },
    },
    {
      what: 'whose next one was never loaded, many changes ago',
      until: async (world: MemoryController): Promise<void> => {
        ask(world.kube, 'again', ACTIONS.Restore);
        await until(world, 'again', 'Loading');
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
    // And so does the next one, which was never moved itself: what the first one left is still older.
    putRecord(kube, {}, { annotations: { 'davit.dev/adopt-database': await deletedUnderRetain(world) } });
    await rest(world);
    expect([says(kube, 'Ready'), uriIn(kube), firstData(kube)]).toEqual(['True Serving', 'shop--postgres', before]);
  });

  it.each([
    ['failOn', 1],
    ['failOn', 2],
    ['failAfter', 1],
    ['failAfter', 2],
  ] as const)(
    'leaves the choice of what it used last also where the controller dies at a write of the deletion: %s, every other one from %d',
    async (when, first) => {
      for (const at of crashPoints(60, first, 2)) {
        const world = await rested();
        const { kube } = world;
        await moved(world, 'Restore');
        await moved(world, 'Return');
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

  it.each([
    ['of another deployment', 'older'],
    ['of every deployment that had the name', 'shop'],
  ])('may begin with a backup %s', async (_what, from) => {
    const world = await rested();
    const { kube } = world;
    ask(kube, 'again', { action: 'Restore', restore: { backup: BACKUP, from } });
    await until(world, 'again', 'Loading');
    await rest(world, (one) => makeWorkloadsReady(one));
    const job = JSON.stringify(kube.objects(JOBS).find(({ metadata }) => metadata.name === 'shop---pg1-restore'));
    expect([job.includes(`--deployment=${from}`), /--tenant=[^"]*\//.test(job)]).toEqual([true, false]);
    expect(await until(world, 'again', 'Succeeded')).toBe('Succeeded Restored');
  });

  describe('of another namespace', () => {
    const FROM = { action: 'Restore', restore: { backup: BACKUP, from: 'older', namespace: 'prod' } } as const;
    /** As `rested`, with deployment older in namespace prod. Returns how its consent is given. */
    async function withForeign(): Promise<{ world: MemoryController; consent: (uid: string) => Promise<unknown> }> {
      const world = await rested();
      const { kube } = world;
      const metadata = { name: 'prod', uid: 'prod-uid', labels: { 'davit.dev/tenant': 'true' } };
      kube.seed(NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata });
      putRecord(kube, {}, { namespace: 'prod', name: 'older', uid: 'older-uid' });
      return {
        world,
        consent: (uid) =>
          kube.mergePatch(
            APP_DEPLOYMENTS,
            { namespace: 'prod', name: 'older' },
            { metadata: { annotations: { 'davit.dev/backups-for': `team/${uid}` } } },
            { fieldManager: 'person' },
          ),
      };
    }
    const teamIn = (kube: FakeKube): string =>
      kube.objects(NAMESPACES).find(({ metadata }) => metadata.name === 'team')?.metadata.uid ?? '';

    it('stops nothing without consent, also where there is no such deployment', async () => {
      const { world, consent } = await withForeign();
      const { kube } = world;
      await consent('another-uid');
      const words: unknown[] = [];
      for (const [name, from] of [
        ['one', 'older'],
        ['two', 'nobody'],
      ] as const) {
        ask(kube, name, { ...FROM, restore: { ...FROM.restore, from } });
        expect(await until(world, name, 'Stopping')).toBe('Failed NotPossible');
        const { conditions } = operationIn(kube, name)?.status ?? {};
        words.push(conditions?.[0]?.message.replaceAll(from, 'X'));
      }
      expect(words).toEqual([words[0], words[0]]);
      expect(words[0]).toMatch(/^A backup of X in namespace prod cannot be loaded into namespace team: /);
      expect(says(kube, 'Ready')).toBe('True Serving');
    });

    it('loads the backup with consent', async () => {
      const { world, consent } = await withForeign();
      const { kube } = world;
      await consent(teamIn(kube));
      ask(kube, 'again', FROM);
      await until(world, 'again', 'Loading');
      await rest(world, (one) => makeWorkloadsReady(one));
      const job = JSON.stringify(kube.objects(JOBS).find(({ metadata }) => metadata.name === 'shop---pg1-restore'));
      for (const option of ['namespace=prod', 'deployment=older', 'tenant=prod-uid/older-uid'])
        expect(job).toContain(`"--${option}"`);
      expect(await until(world, 'again', 'Succeeded')).toBe('Succeeded Restored');
    });

    it('returns where the consent is taken back before the load has begun', async () => {
      const { world, consent } = await withForeign();
      const { kube } = world;
      await consent(teamIn(kube));
      ask(kube, 'again', FROM);
      await until(world, 'again', 'Stopping');
      await consent('another-uid');
      expect(await until(world, 'again', 'Succeeded')).toBe('Failed RestoreNotPossible');
      await rest(world);
      expect([says(kube, 'Ready'), uriIn(kube)]).toEqual(['True Serving', 'shop--postgres']);
      expect(kube.objects(JOBS).some(({ metadata }) => metadata.name === 'shop---pg1-restore')).toBe(false);
    });
  });

  it('is not begun twice with the mark of an earlier move', async () => {
    const world = await rested();
    const { kube } = world;
    await moved(world, 'Move');
    const { uid } = record(kube).metadata;
    const [revision] = kube
      .objects<AppRevision>(APP_REVISIONS)
      .filter(({ spec }) => spec.resolved.movedDatabase !== undefined);
    expect(revision?.spec.resolved.movedDatabase).toEqual({ number: 1, backup: BACKUP });
    const other = BACKUP.replace('a', 'b');
    ask(kube, 'missing', { action: 'Restore', restore: { backup: other } });
    expect(await until(world, 'missing', 'Failed')).toBe('Failed NotPossible');
    const newest = [{ name: other, takenAt: '2026-02-03T02:00:00Z', sizeBytes: 1 }];
    await kube.mergePatch(
      APP_DEPLOYMENTS,
      { namespace: 'team', name: 'shop' },
      { status: { databaseBackups: { listedAt: '2026-03-03T02:00:00Z', count: 1, newest } } },
      { fieldManager: 'before', subresource: 'status' },
    );
    ask(kube, 'again', { action: 'Restore', restore: { backup: other } });
    await until(world, 'again', 'Loading');
    await rest(world, (one) => makeWorkloadsReady(one));
    const job = kube.objects<KubeObject>(JOBS).find(({ metadata }) => metadata.name === 'shop---pg2-restore');
    expect(JSON.stringify(job)).toContain(`"${uid}/2/${other}"`);
  });
});

describe('what a database was moved from', () => {
  const sleeps = (kube: FakeKube): unknown =>
    kube.objects(POSTGRES_CLUSTERS).map(({ metadata }) => metadata.annotations?.['cnpg.io/hibernation']);
  const instances = (kube: FakeKube): string[] => namesOf(kube, PODS).filter((name) => /---pg1-\d$/.test(name));

  it('is a Cluster that rests, with its volumes, until somebody goes back to it', async () => {
    const world = await rested();
    const { kube, writes } = world;
    await moved(world, 'Move');
    expect([sleeps(kube), instances(kube).length]).toEqual([['off'], 2]);
    // It still runs while the deployment is stopped: the operation may fail, or be cancelled.
    ask(kube, 'back', ACTIONS.Return);
    await until(world, 'back', 'Loading');
    expect([sleeps(kube), instances(kube).length]).toEqual([['off'], 2]);
    await until(world, 'back', 'Starting');
    expect(sleeps(kube)).toEqual(['off']);
    await until(world, 'back', 'Succeeded');
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
    await moved(world, 'Return');
    expect([says(kube, 'Ready'), uriIn(kube), sleeps(kube), instances(kube).length]).toEqual([
      'True Serving',
      'shop---pg1',
      ['off'],
      2,
    ]);
  });
});

describe('an operation that cannot be carried out', () => {
  it('waits for each pod that has not ended', async () => {
    const world = await rested();
    const { kube } = world;
    const { id } = newestRevision(kube).spec;
    ask(kube, 'up', { action: 'Move' });
    for (let round = 0; round < 6; round += 1) {
      // No ReplicaSet owns it, so the garbage collector takes it.
      putPod(kube, 'server', id, {}, true);
      await turn(world, 'up');
    }
    expect([state(kube, 'up'), newestRevision(kube).spec.resolved.movedDatabase]).toEqual([
      'Stopping Stopping',
      undefined,
    ]);
    const stopping = operationIn(kube, 'up')?.status?.conditions?.[0]?.message;
    expect(stopping).toContain('pod shop-server-new has not ended yet');
    removePod(kube, 'server');
    expect(await until(world, 'up', 'Succeeded')).toBe('Succeeded Moved');
  });

  it('waits for a worker that runs once only, whose pod is to come', async () => {
    const world = await rested();
    const { kube } = world;
    const workers = { mail: { command: ['mail'], singleton: true } };
    await edit(kube, { spec: { sourceConfig: { runtime: { workers } } } });
    await rest(world);
    ask(kube, 'up', { action: 'Move' });
    const isStuck = (one: FakeKube): Promise<void> => makeWorkloadsReady(one, [DEPLOYMENTS]);
    for (let round = 0; round < 6; round += 1) await turn(world, 'up', isStuck);
    expect(state(kube, 'up')).toBe('Stopping Stopping');
    expect(operationIn(kube, 'up')?.status?.conditions?.[0]?.message).toContain('StatefulSet shop--mail');
    expect(await until(world, 'up', 'Succeeded')).toBe('Succeeded Moved');
  });

  it.each([
    ['Return', 'nothing is kept', SETTINGS, 'has no previous database to return to'],
    ['Upgrade', 'the platform has no newer PostgreSQL', SETTINGS, 'already is PostgreSQL 17'],
    [
      'Move',
      'the platform has no CloudNativePG',
      Settings.parse({ backups: SETTINGS.backups, database: { cloudNativePg: { enabled: false } } }),
      'This platform has no CloudNativePG',
    ],
    ['Move', 'the platform has no store', Settings.parse({}), 'store'],
    ['Restore', 'the platform has no store', Settings.parse({}), 'store'],
    [
      'Move',
      'its PostgreSQL is older',
      Settings.parse({
        ...SETTINGS,
        images: { ...SETTINGS.images, postgres: 'postgres:18', cloudNativePg: 'example/pg:16-x' },
      }),
      'PostgreSQL 16',
    ],
  ] as const)('%s is refused, and the deployment serves as before: %s', async (action, _why, settings, words) => {
    const world = await rested(undefined, settings);
    const { kube, writes } = world;
    const before = firstData(kube);
    writes();
    expect(await carried(world, action)).toBe('Failed NotPossible');
    const message = operationIn(kube, `op-${asked}`)?.status?.conditions?.[0]?.message;
    expect(message).toContain(words);
    expect([says(kube, 'Ready'), uriIn(kube), firstData(kube)]).toEqual(['True Serving', 'shop--postgres', before]);
  });

  it('of a paused deployment begins when the pause ends', async () => {
    const world = await rested();
    const { kube } = world;
    await edit(kube, { metadata: { annotations: { 'davit.dev/paused': 'true' } } });
    ask(kube, 'up', { action: 'Move' });
    for (let round = 0; round < 4; round += 1) await turn(world, 'up');
    expect(state(kube, 'up')).toBe('Pending Paused');
    await edit(kube, { metadata: { annotations: { 'davit.dev/paused': null } } });
    expect(await until(world, 'up', 'Succeeded')).toBe('Succeeded Moved');
  });

  it('is cancelled while the backup is being loaded, and leaves no Job of it', async () => {
    const world = await rested();
    const { kube } = world;
    const before = firstData(kube);
    ask(kube, 'up', { action: 'Move' });
    await until(world, 'up', 'Loading');
    await rest(world, (one) => makeWorkloadsReady(one));
    const job = kube.objects(JOBS).find(({ metadata }) => metadata.name === 'shop---pg1-restore');
    if (!job) throw new Error('no Job');
    putRestorePod(kube, job.metadata);
    await rest(world, (one) => makeWorkloadsReady(one));
    await goneOperation(kube, 'up');
    for (let round = 0; round < 12; round += 1) await turn(world, 'up', (one) => makeWorkloadsReady(one));
    const restores = namesOf(kube, JOBS).filter((name) => name.endsWith('restore'));
    expect([operationIn(kube, 'up'), restores, says(kube, 'Ready'), uriIn(kube), firstData(kube)]).toEqual([
      undefined,
      [],
      'True Serving',
      'shop--postgres',
      before,
    ]);
  });

  it.each(['Stopping', 'Running', 'Loading', 'Starting'])(
    'is cancelled in phase %s, and the deployment serves on one database',
    async (phase) => {
      const world = await rested();
      const { kube } = world;
      const before = firstData(kube);
      ask(kube, 'up', { action: 'Move' });
      await until(world, 'up', phase);
      await goneOperation(kube, 'up');
      for (let round = 0; round < 15; round += 1) await turn(world, 'up');
      await rest(world);
      expect([operationIn(kube, 'up'), says(kube, 'Ready'), uriIn(kube), firstData(kube)]).toEqual([
        undefined,
        'True Serving',
        phase === 'Starting' ? 'shop---pg1' : 'shop--postgres',
        before,
      ]);
      if (phase !== 'Starting') expect(nextData(kube)).toEqual([]);
    },
  );

  it.each(['is cancelled', 'fails'])(
    'that %s leaves a next database that may not be deleted, and serves',
    async (how) => {
      const world = await rested();
      const { kube } = world;
      ask(kube, 'back', ACTIONS.Restore);
      await until(world, 'back', 'Loading');
      await turn(world, 'back', () => makeWorkloadsReady(kube, [DEPLOYMENTS]));
      kube.failOn(({ verb, kind }) =>
        verb === 'delete' && kind === 'PersistentVolumeClaim'
          ? new Forbidden('delete', { serverMessage: 'policy' })
          : undefined,
      );
      if (how === 'is cancelled') await goneOperation(kube, 'back');
      for (let round = 0; round < 15; round += 1) {
        world.clock.ms += 100_000;
        await turn(world, 'back', () => makeWorkloadsReady(kube, [DEPLOYMENTS]));
      }
      kube.failOn(undefined);
      await rest(world);
      expect([says(kube, 'Ready'), uriIn(kube), namesOf(kube, PERSISTENT_VOLUME_CLAIMS)]).toEqual([
        'True Serving',
        'shop--postgres',
        ['shop---pg1', 'shop--postgres'],
      ]);
      const { status } = operationIn(kube, 'back') ?? {};
      if (how === 'fails') expect(status?.conditions?.[0]?.message).toContain('Database 1 was not deleted: policy');
      else expect(status).toBeUndefined();
    },
  );

  it('returns to the database before when the backup is not loaded', async () => {
    const world = await rested();
    const { kube } = world;
    ask(kube, 'up', { action: 'Move' });
    await until(world, 'up', 'Loading');
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
    expect(await until(world, 'up', 'Succeeded')).toBe('Failed RestoreFailed');
    const { message = '' } = operationIn(kube, 'up')?.status?.conditions?.[0] ?? {};
    expect(message).toContain('it is damaged');
    expect(message).toContain('returns to database pod/0, which has not changed');
    await rest(world);
    expect([says(kube, 'Ready'), uriIn(kube), nextData(kube)]).toEqual(['True Serving', 'shop--postgres', []]);

    // Nothing was ever in the other one. Also many changes later, when no revision of it is kept.
    for (let change = 0; change < 12; change += 1) {
      await edit(kube, { spec: { sourceConfig: { env: [{ name: 'CHANGE', value: `${change}` }] } } });
      await rest(world);
    }
    expect(await carried(world, 'Return')).toBe('Failed NotPossible');
    expect(newestRevision(kube).spec.resolved.movedDatabase).toMatchObject({ number: 0 });
    expect([says(kube, 'Ready'), uriIn(kube)]).toEqual(['True Serving', 'shop--postgres']);
  });

  it('does not wait for a deployment that does not serve on its next database', async () => {
    const world = await rested();
    const { kube } = world;
    ask(kube, 'up', { action: 'Move' });
    await until(world, 'up', 'Starting');
    await edit(kube, { spec: { secretReferences: [{ name: 'A', secretName: 'absent', secretKey: 'A' }] } });
    for (let round = 0; round < 3; round += 1) await turn(world, 'up');
    expect(state(kube, 'up')).toBe('Failed NotServing');
    expect(operationIn(kube, 'up')?.status?.conditions?.[0]?.message).toContain('kubectl davit database return shop');
  });
});

it('a move fails where backups are turned off before its backup begins, and the deployment serves', async () => {
  const world = await rested();
  const { kube } = world;
  ask(kube, 'up', ACTIONS.Move);
  await until(world, 'up', 'Stopping');
  await edit(kube, { spec: { sourceConfig: { database: { backup: { enabled: false } } } } });
  expect(await until(world, 'up', 'Succeeded')).toBe('Failed BackupFailed');
  await rest(world);
  expect([says(kube, 'Ready'), uriIn(kube)]).toEqual(['True Serving', 'shop--postgres']);
});

it('a move takes as long as its backup takes', async () => {
  const world = await rested();
  const { kube } = world;
  ask(kube, 'up', ACTIONS.Move);
  await until(world, 'up', 'Running');
  world.clock.ms += 700_000;
  expect(await until(world, 'up', 'Succeeded')).toMatch(/^Succeeded/);
});

it('an operation goes back where its next database does not answer in the time of a rollout', async () => {
  const world = await rested();
  const { kube } = world;
  ask(kube, 'back', ACTIONS.Restore);
  const nothingNew = (one: FakeKube): Promise<void> => makeWorkloadsReady(one, [DEPLOYMENTS]);
  await until(world, 'back', 'Loading', nothingNew);
  for (let round = 0; round < 8; round += 1) {
    world.clock.ms += 100_000;
    await turn(world, 'back', nothingNew);
  }
  expect(state(kube, 'back')).toMatch(/^(Returning|Failed) NotAnswering/);
});

describe('a restore', () => {
  it('is the way out of a lost volume', async () => {
    const world = await rested();
    const { kube } = world;
    kube.erase(PERSISTENT_VOLUME_CLAIMS, { namespace: 'team', name: 'shop--postgres' });
    await rest(world, (one) => makeWorkloadsReady(one, [DEPLOYMENTS]));
    expect(says(kube, 'Stalled')).toBe('True VolumeMissing');
    const way = `kubectl davit database restore shop -n team --backup ${BACKUP}.`;
    expect(conditionIn(kube, 'Ready')?.message).toContain(way);
    // However long it has been lost.
    world.clock.ms += 700_000;
    ask(kube, 'back', ACTIONS.Restore);
    expect(await until(world, 'back', 'Succeeded')).toBe('Succeeded Restored');
    await rest(world);
    expect([says(kube, 'Ready'), uriIn(kube)]).toEqual(['True Serving', 'shop---pg1']);
  });

  it('has succeeded only when the pass that starts the pods says that they serve', async () => {
    const world = await rested();
    const { kube } = world;
    ask(kube, 'back', ACTIONS.Restore);
    await until(world, 'back', 'Loading');
    while (record(kube).status?.databaseRestore?.restoredAt === undefined) {
      await world.reconcile();
      await makeReady(kube);
    }
    kube.erase(SERVICES, { namespace: 'team', name: 'shop' });
    // The operation goes on while a pass is under way, which has stopped the pods.
    kube.failAfter(({ verb, kind, ref }) => {
      if (verb === 'apply' && kind === 'Service' && ref.name === 'shop') {
        const operation = operationIn(kube, 'back');
        kube.seed(DATASTORE_OPERATIONS, {
          ...operation,
          status: { ...operation?.status, phase: 'Starting' },
        } as KubeObject);
      }
      return undefined;
    });
    await world.reconcile();
    await world.reconcile('team/back', 'operations');
    expect([says(kube, 'Ready'), operationIn(kube, 'back')?.status?.phase]).toEqual([
      'False OperationRunning',
      'Starting',
    ]);
    expect(await until(world, 'back', 'Succeeded')).toBe('Succeeded Restored');
  });

  it('leaves what an earlier deployment of the name has retained', async () => {
    const world = await rested();
    const { kube } = world;
    for (const resource of [PERSISTENT_VOLUME_CLAIMS, SECRETS]) {
      const own = kube.objects(resource).find(({ metadata }) => metadata.name === 'shop--postgres') as KubeObject;
      const labels = { ...own.metadata.labels, 'davit.dev/deployment-uid': '0-earlier' };
      kube.seed(resource, {
        ...own,
        metadata: { ...own.metadata, name: 'shop---pg1', uid: `${resource.kind}-1`, labels },
      });
    }
    // As it is where the record has adopted its present database from that deployment.
    await edit(kube, { metadata: { annotations: { 'davit.dev/adopt-database': '0-earlier' } } });
    await rest(world);
    ask(kube, 'back', ACTIONS.Restore);
    expect(await until(world, 'back', 'Succeeded')).toBe('Succeeded Restored');
    await rest(world);
    const kept = [PERSISTENT_VOLUME_CLAIMS, SECRETS].flatMap((resource) =>
      kube.objects(resource).filter(({ metadata }) => metadata.name === 'shop---pg1'),
    );
    expect(kept.map(({ metadata }) => metadata.labels?.['davit.dev/deployment-uid'])).toEqual([
      '0-earlier',
      '0-earlier',
    ]);
    expect([says(kube, 'Ready'), uriIn(kube)]).toEqual(['True Serving', 'shop---pg2']);
  });

  it('leaves the scale that the record has meanwhile', async () => {
    const world = await rested();
    const { kube } = world;
    ask(kube, 'back', ACTIONS.Restore);
    await until(world, 'back', 'Loading');
    // A GitOps tool writes the record back, again and again.
    for (const scale of [3, 2]) {
      await scaled(kube, scale);
      await turn(world, 'back');
    }
    expect(await until(world, 'back', 'Succeeded')).toBe('Succeeded Restored');
    await rest(world);
    expect(record(kube).status?.resourceSpec).toMatchObject({ minScale: 2, maxScale: 2 });
    expect(record(kube).spec.sourceConfig.resourceSpec).toMatchObject({ minScale: 2, maxScale: 2 });
  });

  it('leaves the scale to a rollback that is asked for meanwhile', async () => {
    const world = await rested();
    const { kube } = world;
    const old = newestRevision(kube);
    ask(kube, 'back', ACTIONS.Restore);
    await until(world, 'back', 'Loading');
    await edit(kube, { spec: { rollbackTo: old.spec.id, revisionSerial: 2 } });
    expect(await until(world, 'back', 'Succeeded')).toBe('Succeeded Restored');
    await rest(world);
    const { resolved, rollbackTo } = newestRevision(kube).spec;
    expect([rollbackTo, resolved.server]).toEqual([old.spec.id, old.spec.resolved.server]);
    expect([says(kube, 'Ready'), uriIn(kube)]).toEqual(['True Serving', 'shop---pg1']);
  });

  it.each(['scale', 'rollback'])('migrates the restored data, whatever has run before (%s)', async (what) => {
    const world = await rested();
    const { kube } = world;
    await edit(kube, { spec: { sourceConfig: { runtime: { migrate: { command: ['up'] } } } } });
    await rest(world);
    const old = newestRevision(kube).spec.id;
    await edit(kube, { spec: { sourceConfig: { env: [{ name: 'A', value: 'b' }] } } });
    await rest(world);
    if (what === 'scale') {
      await scaled(kube, 3);
      await rest(world);
    }
    ask(kube, 'back', ACTIONS.Restore);
    await until(world, 'back', 'Loading');
    if (what === 'rollback') {
      await world.reconcile();
      await edit(kube, { spec: { rollbackTo: old, revisionSerial: 2, sourceConfig: { env: null } } });
    }
    const made: string[] = [];
    kube.failAfter(({ verb, kind, ref }) => {
      if (verb === 'create' && kind === 'Job' && ref.name.includes('--migrate-')) made.push(ref.name);
      return undefined;
    });
    expect(await until(world, 'back', 'Succeeded')).toBe('Succeeded Restored');
    await rest(world);
    expect([uriIn(kube), newestRevision(kube).spec.resolved.migrated, made.length]).toEqual([
      'shop---pg1',
      undefined,
      1,
    ]);
  });

  it.each([
    ['Stopping', false],
    ['Loading', false],
    ['Loading', true],
  ] as const)('gives way to an external database that is named in %s (cancelled: %s)', async (phase, isCancelled) => {
    const world = await rested();
    const { kube } = world;
    putSecret(kube, 'hosted', { uri: encoded('postgresql://u:p@db.example/app') });
    ask(kube, 'back', ACTIONS.Restore);
    await until(world, 'back', phase);
    await world.reconcile();
    const secretReferences = [{ name: 'POSTGRES_URI_CUSTOM', secretName: 'hosted', secretKey: 'uri' }];
    await edit(kube, { spec: { secretReferences, sourceConfig: { database: { backup: { enabled: false } } } } });
    for (let round = 0; round < 3; round += 1) await turn(world, 'back');
    const { uid = '' } = operationIn(kube, 'back')?.metadata ?? {};
    if (isCancelled) await kube.remove(DATASTORE_OPERATIONS, { namespace: 'team', name: 'back' }, { uid });
    for (let round = 0; round < 20; round += 1) await turn(world, 'back');
    if (!isCancelled) expect(state(kube, 'back')).toBe('Failed Overtaken');
    expect([operationIn(kube, 'back') === undefined, record(kube).status?.databaseOperation]).toEqual([
      isCancelled,
      undefined,
    ]);
    expect([says(kube, 'Ready'), record(kube).status?.replicas]).toEqual(['True Serving', '1/1']);
  });

  it('lets what serves go on where the record asks for what the platform refuses', async () => {
    const world = await rested();
    const { kube } = world;
    ask(kube, 'back', ACTIONS.Restore);
    await until(world, 'back', 'Stopping');
    await edit(kube, { spec: { source: 'codehost' } });
    for (let round = 0; round < 20; round += 1) await turn(world, 'back');
    const [server] = kube.objects<KubeObject & { spec: { replicas: number } }>(DEPLOYMENTS);
    expect([state(kube, 'back').split(' ')[0], says(kube, 'Stalled').split(' ')[0], server?.spec.replicas]).toEqual([
      'Failed',
      'True',
      1,
    ]);
  });

  it('of a deployment that is scaled to zero leaves it so', async () => {
    const world = await rested();
    const { kube } = world;
    await scaled(kube, 0);
    await rest(world);
    ask(kube, 'back', ACTIONS.Restore);
    expect(await until(world, 'back', 'Succeeded')).toBe('Succeeded Restored');
    await rest(world);
    expect([says(kube, 'Ready'), record(kube).status?.databaseNumber]).toEqual(['True ScaledToZero', 1]);
  });
});

describe('a database that is not used any more', () => {
  it('is deleted by its number, and never the one in use', async () => {
    const world = await rested();
    const { kube } = world;
    await moved(world, 'Restore');
    ask(kube, 'wrong', { action: 'DeletePrevious', deletePrevious: { number: 1 } });
    expect(await until(world, 'wrong', 'Succeeded')).toBe('Failed NotPossible');
    ask(kube, 'none', { action: 'DeletePrevious', deletePrevious: { number: 7 } });
    expect(await until(world, 'none', 'Succeeded')).toBe('Failed NotPossible');
    expect(operationIn(kube, 'none')?.status?.conditions?.[0]?.message).toContain('It keeps: pod/0.');
    ask(kube, 'right', { action: 'DeletePrevious', deletePrevious: { number: 0 } });
    expect(await until(world, 'right', 'Succeeded')).toBe('Succeeded Deleted');
    await rest(world);
    expect([firstData(kube), uriIn(kube), record(kube).status?.databasesKept]).toEqual([[], 'shop---pg1', undefined]);
  });

  it('leaves its number to no other, also when nothing of it is left', async () => {
    const world = await rested();
    const { kube } = world;
    await moved(world, 'Restore');
    await moved(world, 'Return');
    for (let change = 0; change < 12; change += 1) {
      await edit(kube, { spec: { sourceConfig: { env: [{ name: 'A', value: `${change}` }] } } });
      await rest(world);
    }
    ask(kube, 'gone', { action: 'DeletePrevious', deletePrevious: { number: 1 } });
    expect(await until(world, 'gone', 'Succeeded')).toBe('Succeeded Deleted');
    await moved(world, 'Restore');
    expect(newestRevision(kube).spec.resolved.movedDatabase?.number).toBe(2);
  });

  it('is not deleted by an operation that was asked for before another one returned to it', async () => {
    const world = await rested();
    const { kube } = world;
    await moved(world, 'Restore');
    const before = firstData(kube);
    ask(kube, 'back', ACTIONS.Return);
    ask(kube, 'old', { action: 'DeletePrevious', deletePrevious: { number: 0 } });
    await until(world, 'back', 'Succeeded');
    expect(await until(world, 'old', 'Succeeded')).toBe('Failed NotPossible');
    expect([firstData(kube), uriIn(kube)]).toEqual([before, 'shop--postgres']);
  });
});

it('a teardown in the middle of a move leaves nothing', async () => {
  const world = await rested();
  const { kube } = world;
  ask(kube, 'up', { action: 'Move' });
  await until(world, 'up', 'Loading');
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

  it('leaves to the next deployment of the name an own one that is older, and that nobody adopts who has not chosen it', async () => {
    for (const driver of ['pod', 'cloudnative-pg'] as const) {
      const world = await switched(driver);
      const { kube } = world;
      const before = firstData(kube);
      const uid = await deletedUnderRetain(world);
      putRecord(kube, { sourceConfig: { database: { driver } } }, { annotations: { 'davit.dev/adopt-database': uid } });
      await rest(world);
      expect([says(kube, 'Ready'), firstData(kube)]).toEqual(['False DatabaseKept', before]);
      const message = conditionIn(kube, 'Ready')?.message ?? '';
      expect(message).toContain('That deployment last used an external database');
      const choice = `kubectl annotate secret shop--postgres -n team --overwrite "davit.dev/used-last=${uid} ${driver}"`;
      expect(message).toContain(choice);
      const place = { namespace: 'team', name: 'shop--postgres' };
      const chosen = { metadata: { annotations: { 'davit.dev/used-last': `${uid} ${driver}` } } };
      await kube.mergePatch(SECRETS, place, chosen, { fieldManager: 'person' });
      await rest(world);
      expect([says(kube, 'Ready'), uriIn(kube), firstData(kube)]).toEqual(['True Serving', 'shop--postgres', before]);
    }
  });
});
