// A database on the shared server: made before the first pod, looked at without a write, dropped with its record, and never at the cost of
// other records.

import { describe, expect, it } from 'vitest';
import { type Found, sharedDatabaseName, sharedMark } from '../../../src/deployments/record/shared-database.ts';
import { SHARED_DATABASES, SURVEY } from '../../../src/deployments/shared-databases.ts';
import {
  CRON_JOBS,
  DEPLOYMENTS,
  PERSISTENT_VOLUME_CLAIMS,
  SECRETS,
  STATEFUL_SETS,
} from '../../../src/lib/kube/api-resources.ts';
import type { KubeObject, SecretObject } from '../../../src/lib/kube/client.ts';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../../src/schema/app-deployment.ts';
import { EMPTY_DATABASE_ANNOTATION } from '../../../src/schema/meta.ts';
import { Settings } from '../../../src/schema/settings.ts';
import { aController, KEY, type MemoryController, type Woken } from '../../kit/memory/controller.ts';
import {
  aServer,
  conditionIn,
  deleteNamespace,
  deleteRecord,
  edit,
  newestRevision,
  putRecord,
  putSecret,
  record,
  says,
} from '../../kit/memory/record.ts';
import { makeReady } from '../../kit/memory/workloads.ts';
import type { FakeKube } from '../../support/fake-kube/fake-kube.ts';
import { type FakeSharedServer, makeFakeSharedServer } from '../../support/fake-shared-server.ts';
import { gone, putStoreCredentials, takeDown } from './harness.ts';

const ADMIN_PASSWORD = 'the-password-of-the-administrator';
const SETTINGS = Settings.parse({
  database: { driver: 'shared', shared: { host: 'db.example', reservedConnections: 0 } },
});
const SHARED: Partial<AppDeployment['spec']> = { sourceConfig: { database: { driver: 'shared' } } };

interface World extends MemoryController {
  readonly server: FakeSharedServer;
  /** Reconciles whatever is woken, and lets workloads become ready, until nothing is woken any more. */
  settle(passes?: number): Promise<void>;
  /** One survey, and what it wakes. */
  survey(): Promise<void>;
}

function putAdministrator(kube: FakeKube, password = ADMIN_PASSWORD): void {
  const data = { username: encoded('davit_admin'), password: encoded(password) };
  putSecret(kube, 'davit-shared-database', data, { namespace: 'davit-system' });
}

function encoded(text: string): string {
  return Buffer.from(text).toString('base64');
}

async function aWorld(
  spec: Partial<AppDeployment['spec']> = SHARED,
  { kube = aServer(), server = makeFakeSharedServer(), settings = SETTINGS, isNew = true } = {},
): Promise<World> {
  if (isNew) {
    putAdministrator(kube);
    putRecord(kube, spec);
  }
  const controller = await aController(kube, settings, { makeServer: (address) => server.make(address) });
  const woken: readonly (readonly [string, Woken])[] = ['appdeployments', SHARED_DATABASES].map(
    (name) => [name, controller.wake(name)] as const,
  );
  const settle = async (passes = 30): Promise<void> => {
    for (let pass = 0; pass < passes; pass += 1) {
      let isQuiet = true;
      for (const [name, keys] of woken) {
        // oxlint-disable-next-line no-await-in-loop -- one after the other
        for (const key of await keys.take()) {
          isQuiet = false;
          // oxlint-disable-next-line no-await-in-loop -- as above
          await controller.reconcile(key, name).catch(() => undefined);
        }
      }
      if (isQuiet) return;
      // oxlint-disable-next-line no-await-in-loop -- as above
      await makeReady(kube);
      kube.collectGarbage();
    }
    throw new Error('it does not come to rest');
  };
  return {
    ...controller,
    server,
    settle,
    async survey() {
      await controller.reconcile(SURVEY, SHARED_DATABASES);
      await settle();
    },
  };
}

async function settled(...args: Parameters<typeof aWorld>): Promise<World> {
  const world = await aWorld(...args);
  await world.settle();
  return world;
}

const uidOf = (kube: FakeKube): string => record(kube).metadata.uid ?? '';
const nameOf = (kube: FakeKube): string => sharedDatabaseName('davit', uidOf(kube));
const secretOf = (kube: FakeKube): SecretObject | undefined =>
  kube.objects<SecretObject>(SECRETS).find(({ metadata }) => metadata.name === 'shop--postgres');
function valuesOf(kube: FakeKube): { readonly password: string; readonly uri: string } {
  const { data = {} } = secretOf(kube) ?? {};
  const decoded = (key: string): string => Buffer.from(data[key] ?? '', 'base64').toString('utf8');
  return { password: decoded('password'), uri: decoded('uri') };
}
const readyMessage = (kube: FakeKube): string => conditionIn(kube, 'DatabaseReady')?.message ?? '';

describe('a database on the shared server', () => {
  it('is made with a role of its own, and the record has neither pod nor volume of PostgreSQL', async () => {
    const { kube, server } = await settled();
    const name = nameOf(kube);
    expect(server.steps()).toEqual(
      ['create role', 'create database', 'close to others', 'open'].map((step) => `${step} ${name}`),
    );
    expect(server.found.get(name)).toEqual({
      role: { mark: sharedMark(uidOf(kube)), canLogin: true, connections: 10, elevated: [] },
      database: { owner: name, publicConnects: false, isOpen: true },
    });
    expect(says(kube, 'DatabaseReady')).toBe('True Answering');
    expect(says(kube, 'Ready')).toBe('True Serving');
    expect(record(kube).status).toMatchObject({
      databaseDriver: 'shared',
      sharedDatabase: { host: 'db.example', port: 5432, name },
    });
    expect(kube.objects(PERSISTENT_VOLUME_CLAIMS)).toEqual([]);
    expect(kube.objects(STATEFUL_SETS).map(({ metadata }) => metadata.name)).toEqual(['shop--redis']);
    const { password, uri } = valuesOf(kube);
    expect(uri).toBe(`postgresql://${name}:${password}@db.example:5432/${name}?sslmode=require`);
    expect(server.passwords.get(name)).toBe(password);
  });

  it('is left alone at rest: nothing is written, and a survey is all that is asked', async () => {
    const { kube, server, reconcile, survey, writes } = await settled();
    server.steps();
    writes();
    server.asked();
    await reconcile();
    expect([writes(), server.asked()]).toEqual([[], 0]);
    await survey();
    expect([writes(), server.steps(), server.asked()]).toEqual([[], [], 1]);
    expect(says(kube, 'Ready')).toBe('True Serving');
  });

  it('has the password nowhere but in its Secret, and the administrator nowhere but in Davit', async () => {
    const { kube, events, server } = await settled();
    server.down = { code: '28P01', message: `password authentication failed for user "davit_admin" ${ADMIN_PASSWORD}` };
    const all = (): string =>
      JSON.stringify(
        [APP_DEPLOYMENTS, DEPLOYMENTS, SECRETS].map((kind) =>
          kube.objects(kind).filter(({ metadata }) => metadata.namespace === 'team'),
        ),
      );
    const { password } = valuesOf(kube);
    expect(password.length).toBeGreaterThan(20);
    const others = JSON.stringify([record(kube), kube.objects(DEPLOYMENTS), events]);
    expect(others).not.toContain(password);
    for (const secret of [ADMIN_PASSWORD, encoded(ADMIN_PASSWORD), 'davit_admin']) expect(all()).not.toContain(secret);
  });

  it('goes on after a crash at any step', async () => {
    for (let at = 0; at < 5; at += 1) {
      const server = makeFakeSharedServer();
      const kube = aServer();
      putAdministrator(kube);
      putRecord(kube, SHARED);
      const dying = await aWorld(SHARED, { kube, server, isNew: false });
      let steps = 0;
      server.before = () => {
        if (steps >= at) throw new Error('the process dies');
        steps += 1;
      };
      await dying.settle();
      dying.stop();
      server.before = () => undefined;
      const after = await settled(SHARED, { kube, server, isNew: false });
      expect(says(after.kube, 'Ready')).toBe('True Serving');
      expect(server.found.get(nameOf(kube))?.database).toEqual({
        owner: nameOf(kube),
        publicConnects: false,
        isOpen: true,
      });
    }
  });

  it('makes no password while nobody could look: the database may be there', async () => {
    const server = makeFakeSharedServer();
    server.down = { code: undefined, message: 'connect ECONNREFUSED' };
    const { kube, settle } = await settled(SHARED, { server });
    expect(secretOf(kube)).toBeUndefined();
    expect(says(kube, 'DatabaseReady')).toBe('False SharedServerUnreachable');
    expect(kube.objects(DEPLOYMENTS)).toEqual([]);
    server.down = undefined;
    await settle();
  });

  it('never makes a lost password again over data', async () => {
    const { kube, server, settle, reconcile, survey } = await settled();
    const password = server.passwords.get(nameOf(kube));
    await gone(kube, SECRETS, 'shop--postgres');
    await reconcile();
    await settle();
    await survey();
    expect(secretOf(kube)).toBeUndefined();
    expect(readyMessage(kube)).toMatch(
      /Secret shop--postgres is missing.*password of the data in database davit_.*Restore it from a backup/,
    );
    expect(server.passwords.get(nameOf(kube))).toBe(password);
  });

  it.each([
    { what: 'its database', left: ({ role }: Found): Found => (role ? { role } : {}) },
    { what: 'its database and its role', left: (): Found => ({}) },
  ])('makes no empty one in its place when $what is gone, until a person says so', async ({ left }) => {
    const { kube, server, survey, settle } = await settled();
    const name = nameOf(kube);
    const before = valuesOf(kube);
    server.steps();
    const lost = left(server.found.get(name) ?? {});
    server.found.delete(name);
    if (lost.role) server.found.set(name, lost);
    await survey();
    expect([says(kube, 'DatabaseReady'), server.steps()]).toEqual(['False VolumeMissing', []]);
    expect(says(kube, 'Stalled')).toBe('True VolumeMissing');
    expect(readyMessage(kube)).toContain(`${name} is missing`);
    // Nor when the record changes, or its scale.
    await edit(kube, { spec: { sourceConfig: { resourceSpec: { cpu: 1 } } } });
    await settle();
    await edit(kube, { metadata: { annotations: { [EMPTY_DATABASE_ANNOTATION]: 'another' } } });
    await settle();
    expect([server.steps(), valuesOf(kube)]).toEqual([[], before]);
    const [, value] = new RegExp(`${EMPTY_DATABASE_ANNOTATION}=(\\S+?)\\.`).exec(readyMessage(kube)) ?? [];
    await edit(kube, { metadata: { annotations: { [EMPTY_DATABASE_ANNOTATION]: value } } });
    await settle();
    await survey();
    expect(server.steps()).toContain(`create database ${name}`);
    expect([says(kube, 'DatabaseReady'), valuesOf(kube)]).toEqual(['True Answering', before]);
  });

  it('is given up once: the annotation that stays in the record says nothing of the next loss', async () => {
    const { kube, server, survey, settle, events } = await settled();
    const name = nameOf(kube);
    const asked = (): string =>
      new RegExp(`${EMPTY_DATABASE_ANNOTATION}=(\\S+?)\\.`).exec(readyMessage(kube))?.[1] ?? '';
    const lose = async (): Promise<void> => {
      server.found.delete(name);
      await survey();
    };
    const giveUp = async (value: string): Promise<void> => {
      await edit(kube, { metadata: { annotations: { [EMPTY_DATABASE_ANNOTATION]: value } } });
      await settle();
      await survey();
    };
    await lose();
    const first = asked();
    await giveUp(first);
    expect(says(kube, 'DatabaseReady')).toBe('True Answering');
    const given = (): number => events.filter((event) => event === 'Warning DatabaseGivenUp').length;
    expect([given(), record(kube).status?.sharedDatabase?.givenUp]).toEqual([1, 1]);
    server.steps();
    await lose();
    expect([says(kube, 'DatabaseReady'), says(kube, 'Stalled'), server.steps()]).toEqual([
      'False VolumeMissing',
      'True VolumeMissing',
      [],
    ]);
    expect(asked()).not.toBe(first);
    await giveUp(asked());
    expect([says(kube, 'DatabaseReady'), server.steps().includes(`create database ${name}`)]).toEqual([
      'True Answering',
      true,
    ]);
    expect(given()).toBe(2);
    await lose();
    expect(says(kube, 'DatabaseReady')).toBe('False VolumeMissing');
  });

  it('is not given up in advance, where no policy hinders it', async () => {
    const { kube, server, survey, settle } = await settled();
    const name = nameOf(kube);
    await edit(kube, { metadata: { annotations: { [EMPTY_DATABASE_ANNOTATION]: `${uidOf(kube)}-shared-0` } } });
    await settle();
    server.steps();
    server.found.delete(name);
    await survey();
    expect([says(kube, 'DatabaseReady'), server.steps()]).toEqual(['False VolumeMissing', []]);
  });

  it('takes the connections that the record asks for, and keeps the earlier limit where there is no room', async () => {
    const { kube, server, settle, survey } = await settled();
    await edit(kube, {
      spec: { sourceConfig: { resourceSpec: { dbMaxConnections: 40 } } },
      metadata: { generation: 2 },
    });
    await settle();
    expect(server.found.get(nameOf(kube))?.role?.connections).toBe(40);
    expect(record(kube).status?.resourceSpec?.['dbMaxConnections']).toBe(40);
    await edit(kube, {
      spec: { sourceConfig: { resourceSpec: { dbMaxConnections: 400 } } },
      metadata: { generation: 3 },
    });
    await settle();
    expect(says(kube, 'DatabaseReady')).toBe('True SharedServerFull');
    expect(readyMessage(kube)).toMatch(/keeps its limit of 40 connections/);
    server.facts = { ...server.facts, connections: 1000 };
    await survey();
    expect(says(kube, 'DatabaseReady')).toBe('True Answering');
    expect(server.found.get(nameOf(kube))?.role?.connections).toBe(400);
  });

  it('says which sizes have no effect', async () => {
    const { kube } = await settled({
      sourceConfig: { resourceSpec: { dbCpu: 1, dbMaxConnections: 20, dbStorageGi: 2 } },
    });
    expect(says(kube, 'ResourceSpecHonored')).toBe('False StoreIsExternal');
    expect(conditionIn(kube, 'ResourceSpecHonored')?.message).toMatch(/no effect: dbCpu\. /);
  });

  it('is refused on a full server, and made when there is room', async () => {
    const server = makeFakeSharedServer();
    server.facts = { ...server.facts, given: 95 };
    const { kube, survey } = await settled(SHARED, { server });
    expect(says(kube, 'DatabaseReady')).toBe('False SharedServerFull');
    expect(readyMessage(kube)).toMatch(/no room for 10 connections: 5 of 100 are left/);
    expect(server.found.size).toBe(0);
    server.facts = { ...server.facts, given: 0 };
    await survey();
    expect(says(kube, 'Ready')).toBe('True Serving');
  });

  it('takes over nothing that was not made for it', async () => {
    const server = makeFakeSharedServer();
    const kube = aServer();
    putAdministrator(kube);
    putRecord(kube, SHARED, { uid: '00000000-0000-4000-8000-000000000001' });
    const name = nameOf(kube);
    const foreign = { role: { mark: undefined, canLogin: true, connections: -1, elevated: [] } };
    server.found.set(name, foreign);
    const { settle } = await settled(SHARED, { kube, server, isNew: false });
    expect(says(kube, 'DatabaseReady')).toBe('False NameConflict');
    await deleteRecord(kube);
    await settle();
    expect(kube.objects(APP_DEPLOYMENTS)).toEqual([]);
    expect(server.found.get(name)).toEqual(foreign);
    expect(server.steps()).toEqual([]);
  });

  it('is mended where somebody has opened it, without a word from the record', async () => {
    const { kube, server, survey } = await settled();
    const name = nameOf(kube);
    const { role, database } = server.found.get(name) ?? {};
    if (!role || !database) throw new Error('nothing was made');
    server.steps();
    server.found.set(name, {
      role: { ...role, elevated: ['SUPERUSER'] },
      database: { ...database, publicConnects: true },
    });
    await survey();
    expect(server.steps()).toEqual([`restrict role ${name}`, `close to others ${name}`]);
  });

  it('shows a server that is down, says that pods may serve, and hears when it is back', async () => {
    const { kube, server, survey } = await settled();
    server.down = { code: undefined, message: 'connect ECONNREFUSED 10.0.0.1:5432' };
    await survey();
    expect(says(kube, 'DatabaseReady')).toBe('False SharedServerUnreachable');
    expect(readyMessage(kube)).toMatch(/does not answer: connect ECONNREFUSED/);
    // The pods that serve have connected.
    expect(record(kube).status?.state).toBe('READY');
    server.down = undefined;
    await survey();
    expect(says(kube, 'DatabaseReady')).toBe('True Answering');
  });

  it('asks a server that is down with the survey alone, later each time', async () => {
    const { server, reconcile, survey } = await settled();
    server.down = { code: '57P03', message: 'the database system is starting up' };
    await survey();
    server.asked();
    const delays: unknown[] = [];
    for (let times = 0; times < 5; times += 1)
      // oxlint-disable-next-line no-await-in-loop -- one survey after the other
      delays.push((await reconcile(SURVEY, SHARED_DATABASES)).requeueAfterMs);
    await reconcile();
    expect(server.asked()).toBe(5);
    expect(delays.at(-1)).toBe(60_000);
    expect(delays[0]).toBeLessThan(60_000);
  });

  it('takes new credentials of the administrator without a restart', async () => {
    const { kube, server, survey } = await settled();
    putAdministrator(kube, 'rotated');
    await survey();
    expect(server.logins).toEqual([`davit_admin:${ADMIN_PASSWORD}`, 'davit_admin:rotated']);
    const administrator = kube.objects(SECRETS).find(({ metadata }) => metadata.name === 'davit-shared-database');
    await kube.remove(
      SECRETS,
      { namespace: 'davit-system', name: 'davit-shared-database' },
      { uid: administrator?.metadata.uid ?? '' },
    );
    await survey();
    expect(says(kube, 'DatabaseReady')).toBe('False SharedServerUnusable');
    expect(readyMessage(kube)).toMatch(/settings.database.shared.adminSecret/);
  });

  it('is said to be impossible on a platform without a server', async () => {
    const kube = aServer();
    putRecord(kube, SHARED);
    const controller = await aController(kube, Settings.parse({}));
    await controller.reconcile();
    expect(says(kube, 'PolicyAccepted')).toBe('False SharedServerUnusable');
    expect(kube.objects(DEPLOYMENTS)).toEqual([]);
  });

  it('stays on its server when settings change, and with its driver', async () => {
    const { kube, server, stop } = await settled();
    stop();
    const moved = Settings.parse({ database: { shared: { host: 'other.example', installation: 'other' } } });
    const after = await settled(SHARED, { kube, server, settings: moved, isNew: false });
    await edit(kube, { spec: { sourceConfig: { resourceSpec: { cpu: 1 } } }, metadata: { generation: 2 } });
    await after.settle();
    expect(newestRevision(kube).spec.resolved.sharedDatabase).toMatchObject({
      host: 'db.example',
      installation: 'davit',
    });
    await edit(kube, { spec: { sourceConfig: { database: { driver: 'pod' } } }, metadata: { generation: 3 } });
    await after.settle();
    expect(says(kube, 'PolicyAccepted')).toBe('False DatabaseDriverFixed');
    expect(kube.objects(PERSISTENT_VOLUME_CLAIMS)).toEqual([]);
  });
});

describe('backups of such a database', () => {
  const BACKUPS = Settings.parse({
    ...SETTINGS,
    images: { registry: 'mirror.example', postgres: 'docker.io/library/postgres:16' },
    backups: {
      store: { endpoint: 'https://s3.example', bucket: 'backups' },
      image: 'registry.example/davit:1',
      prove: true,
    },
  });
  const asked = (database: object): Partial<AppDeployment['spec']> => ({
    sourceConfig: { database: { driver: 'shared', ...database } },
  });

  async function backedUpWorld(database: object): Promise<World> {
    const kube = aServer();
    putAdministrator(kube);
    putStoreCredentials(kube);
    putRecord(kube, asked(database));
    return settled(SHARED, { kube, settings: BACKUPS, isNew: false });
  }

  it('dump its own database through its own role', async () => {
    const { kube } = await backedUpWorld({ backup: {} });
    const name = nameOf(kube);
    const jobs = kube.objects<CronJob>(CRON_JOBS);
    expect(jobs.map(({ metadata }) => metadata.name).toSorted()).toEqual(['shop---backup', 'shop---prove']);
    const [dump] = podOf(jobs, 'shop---backup')?.initContainers ?? [];
    expect(dump?.image).toBe('mirror.example/library/postgres:16');
    expect(dump?.env).toEqual([
      { name: 'PGHOST', value: 'db.example' },
      { name: 'PGPORT', value: '5432' },
      { name: 'PGSSLMODE', value: 'require' },
      { name: 'PGUSER', value: name },
      { name: 'PGDATABASE', value: name },
      { name: 'PGCONNECT_TIMEOUT', value: '10' },
      { name: 'PGPASSWORD', valueFrom: { secretKeyRef: { name: 'shop--postgres', key: 'password' } } },
    ]);
    // A proof reaches no database but that of its own pod.
    expect(JSON.stringify(podOf(jobs, 'shop---prove'))).not.toMatch(/db\.example|shop--postgres/);
    expect(says(kube, 'BackupReady')).toBe('Unknown BackupPending');
  });

  it('are loaded into a new one, once the server has it and before the first pod', async () => {
    const server = makeFakeSharedServer();
    server.facts = { ...server.facts, given: 95 };
    const kube = aServer();
    putAdministrator(kube);
    putStoreCredentials(kube);
    putRecord(kube, asked({ restore: { from: 'old' } }));
    const world = await settled(SHARED, { kube, server, settings: BACKUPS, isNew: false });
    expect(world.writes()).not.toContain('create Job shop---restore');
    server.facts = { ...server.facts, given: 0 };
    await world.survey();
    const writes = world.writes();
    // The stand-in for the Job's pod says at once that the backup is loaded.
    expect(writes.indexOf('create Job shop---restore')).toBeGreaterThanOrEqual(0);
    expect(writes.indexOf('create Job shop---restore')).toBeLessThan(writes.indexOf('apply Deployment shop'));
    expect(says(kube, 'DatabaseRestored')).toBe('True Restored');
  });
});

interface CronJob extends KubeObject {
  readonly spec: {
    readonly jobTemplate: {
      readonly spec: {
        readonly template: {
          readonly spec: {
            readonly initContainers: readonly { readonly image: string; readonly env: readonly object[] }[];
          };
        };
      };
    };
  };
}

function podOf(jobs: readonly CronJob[], name: string) {
  return jobs.find(({ metadata }) => metadata.name === name)?.spec.jobTemplate.spec.template.spec;
}

/** Its record is being deleted, and the server does not answer. */
async function deletedWhileDown(): ReturnType<typeof settled> {
  const world = await settled();
  world.server.down = { code: undefined, message: 'connect ECONNREFUSED' };
  await world.survey();
  await deleteRecord(world.kube);
  await takeDown(world, 8);
  return world;
}

describe('the deletion of such a record', () => {
  it('drops database and role after the pods, and then its Secret', async () => {
    const world = await settled();
    const { kube, server } = world;
    const name = nameOf(kube);
    server.steps();
    server.before = () => {
      expect(kube.objects(DEPLOYMENTS)).toEqual([]);
      expect(secretOf(kube)).toBeDefined();
    };
    await deleteRecord(kube);
    await world.settle();
    expect(kube.objects(APP_DEPLOYMENTS)).toEqual([]);
    expect(server.steps()).toEqual(['lock role', 'drop database', 'drop role'].map((step) => `${step} ${name}`));
    expect([server.found.size, secretOf(kube)]).toEqual([0, undefined]);
  });

  it('keeps everything under Retain', async () => {
    const world = await settled({ ...SHARED, databaseDeletionPolicy: 'Retain' });
    const { kube, server } = world;
    server.steps();
    await deleteRecord(kube);
    await world.settle();
    expect(kube.objects(APP_DEPLOYMENTS)).toEqual([]);
    expect([server.steps(), server.found.size, secretOf(kube) !== undefined]).toEqual([[], 1, true]);
  });

  it('waits for a server that is down, says so, and lets go under Retain', async () => {
    const world = await deletedWhileDown();
    const { kube, server } = world;
    expect(conditionIn(kube, 'Ready')?.message).toMatch(
      /its database on the shared server.*does not answer.*kubectl patch appd shop -n team --type=merge -p '\{"spec":\{"databaseDeletionPolicy":"Retain"\}\}'/,
    );
    expect(secretOf(kube)).toBeDefined();
    await edit(kube, { spec: { databaseDeletionPolicy: 'Retain' } });
    await takeDown(world);
    expect(kube.objects(APP_DEPLOYMENTS)).toEqual([]);
    expect(server.found.size).toBe(1);
  });

  it('goes on when the server is back', async () => {
    const world = await deletedWhileDown();
    const { kube, server } = world;
    server.down = undefined;
    await world.survey();
    expect(kube.objects(APP_DEPLOYMENTS)).toEqual([]);
    expect(server.found.size).toBe(0);
  });

  it('drops it with its namespace, and holds no namespace up', async () => {
    for (const isDown of [false, true]) {
      const world = await settled();
      const { kube, server } = world;
      if (isDown) {
        server.down = { code: undefined, message: 'connect ECONNREFUSED' };
        await world.survey();
      }
      await deleteNamespace(kube);
      await deleteRecord(kube);
      await world.settle();
      expect(kube.objects(APP_DEPLOYMENTS)).toEqual([]);
      expect(server.found.size).toBe(isDown ? 1 : 0);
    }
  });
});

it('a server that is stuck holds up no other record', async () => {
  const server = makeFakeSharedServer();
  const kube = aServer();
  putAdministrator(kube);
  putRecord(kube, SHARED);
  putRecord(
    kube,
    { sourceConfig: { database: { driver: 'pod' } } },
    { name: 'other', uid: '00000000-0000-4000-8000-0000000000ff' },
  );
  const stuck = (): Promise<never> => new Promise(() => undefined);
  server.make = () => ({ survey: stuck, advance: stuck, close: () => Promise.resolve() });
  const controller = await aController(kube, SETTINGS, { makeServer: (address) => server.make(address) });
  void controller.reconcile(SURVEY, SHARED_DATABASES);
  for (let pass = 0; pass < 6; pass += 1) {
    // oxlint-disable-next-line no-await-in-loop -- passes follow one another
    for (const key of [KEY, 'team/other']) await controller.reconcile(key);
    // oxlint-disable-next-line no-await-in-loop -- as above
    await makeReady(kube);
  }
  expect(says(kube, 'Ready', 'team', 'other')).toBe('True Serving');
  expect(says(kube, 'DatabaseReady')).toBe('False Starting');
});

it('the platform can make it the default', async () => {
  const { kube } = await settled({});
  expect(newestRevision(kube).spec.resolved).toMatchObject({ sharedDatabase: { connections: 10 } });
  expect(kube.objects<KubeObject>(STATEFUL_SETS).length).toBe(1);
});
