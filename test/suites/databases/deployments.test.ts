// Deployments on a real shared server, with the chart's rights and a real API server: made, closed to one another, moved by nobody, dropped.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Davit, startDavit } from '../../kit/davit.ts';
import { DAVIT_NAMESPACE, type Tenant } from '../../support/platform.ts';
import { eventually } from '../../support/running-davit.ts';
import { ADMIN, ADMIN_PASSWORD, connect, makeServerWorld, type ServerWorld } from './world.ts';

const found = await makeServerWorld(['max_connections=50']);
const skipped = found ? '' : ' (skipped: PostgreSQL is not installed)';

describe.skipIf(!found)(`deployments on a shared server${skipped}`, () => {
  let world: ServerWorld;
  let platform: Davit;
  let tenant: Tenant;

  beforeAll(async () => {
    if (!found) return;
    world = found;
    const shared = { host: '127.0.0.1', port: world.address.port, sslMode: 'disable', reservedConnections: 5 };
    platform = await startDavit('apiserver', {
      values: { settings: { database: { driver: 'shared', shared } } },
    });
    const create = ['create', 'secret', 'generic', 'davit-shared-database', '-n', DAVIT_NAMESPACE];
    await platform.cluster.kubectl([
      ...create,
      `--from-literal=username=${ADMIN}`,
      `--from-literal=password=${ADMIN_PASSWORD}`,
    ]);
    tenant = await platform.knownTenant('shared');
  });
  afterAll(async () => {
    await platform?.stop();
    await world?.stop();
  });

  const kubectl = (...args: string[]): Promise<string> => platform.cluster.kubectl(['-n', tenant.namespace, ...args]);

  async function apply(name: string, more: object = {}): Promise<void> {
    const spec = {
      source: 'external_docker',
      sourceConfig: {},
      sourceRevisionConfig: { imageUri: 'registry.example/app:1' },
      secrets: [],
      ...more,
    };
    const input = JSON.stringify({
      apiVersion: 'davit.dev/v1alpha1',
      kind: 'AppDeployment',
      metadata: { name, namespace: tenant.namespace },
      spec,
    });
    await platform.cluster.kubectl(['apply', '-f', '-'], { input });
  }

  async function databaseOf(name: string): Promise<{ readonly name: string; readonly password: string }> {
    await kubectl('wait', '--for=condition=Ready', `appd/${name}`, '--timeout=120s');
    const database = await kubectl('get', 'appd', name, '-o', 'jsonpath={.status.sharedDatabase.name}');
    const password = await kubectl('get', 'secret', `${name}--postgres`, '-o', 'jsonpath={.data.password}');
    return { name: database, password: Buffer.from(password, 'base64').toString('utf8') };
  }

  const databases = (): string[] =>
    world.sql(`select datname from pg_database where datname like 'davit\\_%' order by 1`);

  it('have a database each, which the other one cannot enter, and are dropped or kept', async () => {
    await apply('one');
    await apply('two', { databaseDeletionPolicy: 'Retain' });
    const [one, two] = [await databaseOf('one'), await databaseOf('two')];
    expect(databases()).toEqual([one.name, two.name].toSorted());
    const client = await connect(world, { ...one, mark: '' });
    await client.query('create table orders (id int)');
    await client.end();
    await expect(connect(world, { ...two, mark: '' }, one.name)).rejects.toThrow(/permission denied for database/);

    const seen = await Promise.all([
      kubectl('get', 'appd,appr,secrets,deploy,events', '-o', 'json'),
      platform.cluster.kubectl(['get', 'events.events.k8s.io', '-A', '-o', 'json']),
    ]);
    for (const secret of [ADMIN_PASSWORD, Buffer.from(ADMIN_PASSWORD).toString('base64'), ADMIN])
      expect(seen.join('\n')).not.toContain(secret);

    await kubectl('delete', 'appd', 'one', 'two', '--timeout=120s');
    expect(databases()).toEqual([two.name]);
    expect(world.sql(`select rolname from pg_roles where rolname = '${one.name}'`)).toEqual([]);
    expect(await kubectl('get', 'secrets', '-o', 'name')).toContain('two--postgres');
    // The name is free for another deployment, whose data nobody mixes with what was kept.
    await apply('two');
    await eventually(async () => {
      const condition = 'jsonpath={.status.conditions[?(@.type=="DatabaseReady")].reason}';
      expect(await kubectl('get', 'appd', 'two', '-o', condition)).toBe('DatabaseKept');
    });
    expect(databases()).toEqual([two.name]);
  });

  it('are told of a server that is down, and go on when it is back', async () => {
    await apply('down');
    const database = await databaseOf('down');
    world.sql(`alter role ${ADMIN} nologin`);
    world.sql(`select pg_terminate_backend(pid) from pg_stat_activity where usename = '${ADMIN}'`);
    await kubectl('delete', 'appd', 'down', '--wait=false');
    await eventually(async () => {
      const message = await kubectl(
        'get',
        'appd',
        'down',
        '-o',
        'jsonpath={.status.conditions[?(@.type=="Ready")].message}',
      );
      expect(message).toMatch(/shared server.*databaseDeletionPolicy/);
    }, 120_000);
    expect(databases()).toContain(database.name);
    world.sql(`alter role ${ADMIN} login`);
    await kubectl('wait', '--for=delete', 'appd/down', '--timeout=120s');
    expect(databases()).not.toContain(database.name);
  });
});
