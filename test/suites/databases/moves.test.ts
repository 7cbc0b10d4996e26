// A database that is moved to a real shared server and back, by kubectl-davit with a tenant's rights, against a real API server with the
// chart's policies. Pods are those of a stand-in, so the backup has no rows: what is tried is who may do what, and in which order.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Davit, startDavit } from '../../kit/davit.ts';
import { DAVIT_NAMESPACE, type Tenant } from '../../support/platform.ts';
import { runPlugin } from '../../support/run-plugin.ts';
import { backedUpRecord, grantRights, secretOfUri } from './movers.ts';
import { ADMIN, ADMIN_PASSWORD, makeServerWorld, type ServerWorld } from './world.ts';

const found = await makeServerWorld(['max_connections=50']);
const skipped = found ? '' : ' (skipped: PostgreSQL is not installed)';

describe.skipIf(!found)(`a move to a shared server${skipped}`, () => {
  let world: ServerWorld;
  let platform: Davit;
  let tenant: Tenant;

  beforeAll(async () => {
    if (!found) return;
    world = found;
    const shared = { host: '127.0.0.1', port: world.address.port, sslMode: 'disable', reservedConnections: 5 };
    const store = { endpoint: 'https://s3.example', bucket: 'backups' };
    platform = await startDavit('apiserver', {
      values: { settings: { database: { shared }, backups: { store, image: 'registry.example/davit:1' } } },
    });
    const create = (namespace: string, name: string, ...literals: string[]): Promise<string> =>
      platform.cluster.kubectl([
        'create',
        'secret',
        'generic',
        name,
        `--namespace=${namespace}`,
        ...literals.map((literal) => `--from-literal=${literal}`),
      ]);
    await create(DAVIT_NAMESPACE, 'davit-shared-database', `username=${ADMIN}`, `password=${ADMIN_PASSWORD}`);
    tenant = await platform.knownTenant('moves');
    await create(tenant.namespace, 'davit-backup-store', 'accessKeyId=a', 'secretAccessKey=b');
    await grantRights(kubectl);
  }, 900_000);
  afterAll(async () => {
    await platform?.stop();
    await world?.stop();
  });

  const kubectl = (...args: string[]): Promise<string> => platform.cluster.kubectl(['-n', tenant.namespace, ...args]);

  const davit = (user: string, ...args: string[]): ReturnType<typeof runPlugin> =>
    runPlugin(platform.cluster, [...args, `--namespace=${tenant.namespace}`, `--as=${user}`]);

  const uriOf = (): Promise<string> => secretOfUri(kubectl);
  const heldOf = async (): Promise<string[]> =>
    (await kubectl('get', 'secrets,pvc', '-l', 'davit.dev/component=postgres', '-o', 'name'))
      .split('\n')
      .filter((line) => line !== '')
      .toSorted();

  it('is made by who may, keeps what it was moved from until a person says so, and goes back', async () => {
    const input = backedUpRecord('shop', tenant.namespace);
    await platform.cluster.kubectl(['apply', '-f', '-'], { input });
    await kubectl('wait', '--for=condition=Ready', 'appd/shop', '--timeout=120s');
    await kubectl('wait', '--for=create', 'cronjob/shop---backup', '--timeout=120s');
    const report = {
      name: '20260202T020000Z-0000000a',
      takenAt: new Date(Date.now() - 1000).toISOString().replace(/\.\d+Z$/, 'Z'),
      sizeBytes: 1024,
    };
    const annotations = { 'stand-in/says': JSON.stringify(report) };
    const template = { spec: { jobTemplate: { spec: { template: { metadata: { annotations } } } } } };
    await kubectl('patch', 'cronjob', 'shop---backup', '--type=merge', '-p', JSON.stringify(template));
    // Nothing is stopped without a backup that works.
    await expect(davit('anna', 'database', 'move', 'shop', '--driver', 'shared', '--yes')).rejects.toThrow(
      /A database is moved by a backup/,
    );
    await kubectl('create', 'job', '--from=cronjob/shop---backup', 'first');
    await kubectl('wait', '--for=condition=BackupReady', 'appd/shop', '--timeout=120s');
    // Who may only edit deployments may not.
    await expect(davit('bert', 'database', 'move', 'shop', '--driver', 'shared', '--yes')).rejects.toThrow(/orbidden/);
    const first = await heldOf();
    expect([await uriOf(), first]).toEqual([
      'shop--postgres',
      ['persistentvolumeclaim/shop--postgres', 'secret/shop--postgres'],
    ]);

    const moved = await davit('anna', 'database', 'move', 'shop', '--driver', 'shared', '--yes');
    expect(moved.stdout).toMatch(/^shop is on database shared\/1\. Nothing served for \d+ (?:s|min)\.$/m);
    expect(await uriOf()).toBe('shop---pg1');
    expect(await heldOf()).toEqual([...first, 'secret/shop---pg1'].toSorted());
    const database = await kubectl('get', 'appd', 'shop', '-o', 'jsonpath={.status.sharedDatabase.name}');
    expect(world.sql(`select datname from pg_database where datname = '${database}'`)).toEqual([database]);
    expect(await kubectl('get', 'statefulsets', '-o', 'name')).not.toContain('shop--postgres');
    expect(await kubectl('get', 'appd', 'shop', '-o', 'jsonpath={.status.changedBy}')).toBe('anna');

    const back = await davit('anna', 'database', 'back', 'shop', '--yes');
    expect(back.stdout).toMatch(/^shop is on database pod\/0, with PostgreSQL \d+\./m);
    expect([await uriOf(), await heldOf()]).toEqual(['shop--postgres', [...first, 'secret/shop---pg1'].toSorted()]);
    await davit('anna', 'database', 'back', 'shop', '--yes');
    expect(await uriOf()).toBe('shop---pg1');

    const forgotten = await davit('anna', 'database', 'forget-old', 'shop', '--yes');
    expect(forgotten.stdout).toContain('secret/shop--postgres');
    await kubectl('wait', '--for=delete', 'pvc/shop--postgres', '--timeout=60s');
    expect(await heldOf()).toEqual(['secret/shop---pg1']);
    await kubectl('wait', '--for=condition=Ready', 'appd/shop', '--timeout=60s');
    // What was deleted is no place to go back to: the deployment goes on as it is.
    await expect(davit('anna', 'database', 'back', 'shop', '--yes')).rejects.toThrow(/is not there any more/);
    await kubectl('wait', '--for=condition=Ready', 'appd/shop', '--timeout=120s');
    expect(await uriOf()).toBe('shop---pg1');

    // A tenant cannot read the platform's settings, and hears of them before anything is stopped.
    const generation = (): Promise<string> => kubectl('get', 'appd', 'shop', '-o', 'jsonpath={.metadata.generation}');
    const before = await generation();
    await expect(davit('anna', 'database', 'move', 'shop', '--driver', 'cloudnative-pg', '--yes')).rejects.toThrow(
      /cannot be moved\. This platform has no CloudNativePG/,
    );
    await expect(davit('anna', 'database', 'upgrade', 'shop', '--yes')).rejects.toThrow(/its administrator upgrades/);
    // What somebody else has planted is not gone on with.
    const planted = { move: 'shared/1 to pod/7', maxScale: 50, stoppedAt: '2026-02-01T00:00:00Z' };
    const plant = ['annotate', 'appd', 'shop', `davit.dev/moving-database=${JSON.stringify(planted)}`, '--as=bert'];
    await kubectl(...plant);
    await expect(davit('anna', 'database', 'move', 'shop', '--driver', 'pod', '--yes')).rejects.toThrow(
      /nothing proves by whom: shared\/1 to pod\/7.*a scale of the default to 50/,
    );
    await kubectl('annotate', 'appd', 'shop', 'davit.dev/moving-database-', '--as=bert');
    // Nor is a request left for the next change of somebody else.
    const request = 'davit.dev/move-database=shared/1 to pod/7';
    await expect(kubectl('annotate', 'appd', 'shop', '--overwrite', request, '--as=bert')).rejects.toThrow(
      /davit-move-requested-by.*is set in one write with what else of the record the move changes/s,
    );
    expect(await generation()).toBe(before);

    const onward = await davit('anna', 'database', 'move', 'shop', '--driver', 'pod', '--yes');
    expect(onward.stdout).toMatch(/^shop is on database pod\/2, with PostgreSQL \d+\./m);
    expect(world.sql(`select datname from pg_database where datname = '${database}'`)).toEqual([database]);
    const dropped = await davit('anna', 'database', 'forget-old', 'shop', '--yes');
    expect(dropped.stdout).toContain(`database ${database} of the shared server`);
    expect(world.sql(`select datname from pg_database where datname = '${database}'`)).toEqual([]);
    expect(world.sql(`select rolname from pg_roles where rolname = '${database}'`)).toEqual([]);
    expect(await kubectl('get', 'appd', 'shop', '-o', 'jsonpath={.status.sharedDatabase}')).toBe('');
    expect(await heldOf()).toEqual(['persistentvolumeclaim/shop---pg2', 'secret/shop---pg2']);
    await expect(davit('anna', 'database', 'upgrade', 'shop', '--yes')).rejects.toThrow(/is PostgreSQL \d+ already/);
    await kubectl('wait', '--for=condition=Ready', 'appd/shop', '--timeout=120s');
  }, 600_000);
});
