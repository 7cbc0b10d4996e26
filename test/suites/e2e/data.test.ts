// What a deployment has stored, with a PostgreSQL that really runs: it outlives a restart with other settings, and its
// deployment, and is there for the next of the same name.

import { beforeAll, describe, expect, inject, it } from 'vitest';
import type { Tenant } from '../../support/platform.ts';
import { type Attached, attach, eventually } from '../../support/running-davit.ts';

const davit: Attached = attach(inject('davit'));
// Without a kubelet nothing is stored; `node` says so in the run's first lines.
const withPods = describe.skipIf(davit.node !== 'real');

let tenant: Tenant;
beforeAll(async () => {
  if (davit.node === 'real') tenant = await davit.tenant('kept');
});

function inTenant(...args: readonly string[]): Promise<string> {
  return davit.kubectl(['-n', tenant.namespace, ...args]);
}

async function apply(dbMaxConnections: number, annotations: object = {}): Promise<void> {
  await davit.kubectl(['apply', '-f', '-'], {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'AppDeployment',
    metadata: { name: 'keeper', namespace: tenant.namespace, annotations },
    spec: {
      source: 'external_docker',
      sourceRevisionConfig: { imageUri: davit.images.sample },
      databaseDeletionPolicy: 'Retain',
      sourceConfig: {
        database: { extensions: ['vector'] },
        resourceSpec: {
          cpu: 0.2,
          memoryMb: 256,
          dbCpu: 0.2,
          dbMemoryMb: 256,
          dbStorageGi: 1,
          dbMaxConnections,
          redisCpu: 0.1,
          redisMemoryMb: 64,
        },
      },
    },
  });
}

/** Ready, and said of the record as it stands. */
async function ready(): Promise<void> {
  await eventually(async () => {
    const { metadata, status } = await davit.kubectlJson<{
      metadata: { generation: number };
      status?: { observedGeneration: number; conditions: { type: string; status: string }[] };
    }>(['get', 'appd', 'keeper', '-n', tenant.namespace]);
    expect(status?.observedGeneration).toBe(metadata.generation);
    expect(status?.conditions.find(({ type }) => type === 'Ready')).toMatchObject({ status: 'True' });
  }, 120_000);
}

// oxlint-disable-next-line no-explicit-any -- a test looks wherever it likes into an answer
async function ask(path: string, body?: object): Promise<any> {
  const address = await inTenant('get', 'service', 'keeper', '-o', 'jsonpath={.spec.clusterIP}');
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(
    `http://${address}${path}`,
    body ? { method: 'POST', headers, body: JSON.stringify(body) } : {},
  );
  return response.json();
}

async function sql(statement: string, user = 'app'): Promise<string> {
  const psql = ['psql', '-U', user, '-d', 'app', '-Atc', statement];
  return (await inTenant('exec', 'keeper--postgres-0', '--', ...psql)).trim();
}

withPods('what a deployment has stored', () => {
  it('outlives a restart with other settings, and the deployment itself', async () => {
    await apply(40);
    await ready();
    const item = await ask('/items', { text: 'phoenix' });
    const about = `select pg_get_userbyid(datdba), rolsuper, pg_encoding_to_char(encoding), coalesce(to_jsonb(d) ->> 'datlocale', datcollate)
      from pg_database d join pg_roles r on r.oid = datdba where datname = current_database()`;
    expect(await sql(about)).toBe('app|f|UTF8|C.UTF-8');
    await expect(sql("copy (select 1) to program 'true'")).rejects.toThrow(/permission denied|must be superuser/);
    await expect(sql('create extension dblink')).rejects.toThrow(/Must be superuser to create this extension/);
    await sql('create extension if not exists vector; create table near (place vector(3))');
    expect(await sql('select rolsuper from pg_roles where rolname = current_user', 'postgres')).toBe('t');
    expect(await sql("select count(*) from items where text = 'phoenix'")).toBe('1');

    await apply(60);
    await ready();
    expect(await sql('show max_connections')).toBe('60');
    await eventually(async () => expect(await ask(`/items/${item.id}`)).toMatchObject({ text: 'phoenix' }), 60_000);

    await inTenant('delete', 'appd', 'keeper', '--timeout=120s');
    const label = 'jsonpath={.metadata.labels.davit\\.dev/deployment-uid}';
    const earlier = await inTenant('get', 'pvc', 'keeper--postgres', '-o', label);
    await apply(60, { 'davit.dev/adopt-database': earlier });
    await ready();
    await eventually(async () => expect(await ask(`/items/${item.id}`)).toMatchObject({ text: 'phoenix' }), 60_000);

    await inTenant('patch', 'appd', 'keeper', '--type=merge', '-p', '{"spec":{"databaseDeletionPolicy":"Delete"}}');
    await inTenant('delete', 'appd', 'keeper', '--timeout=120s');
    expect(await inTenant('get', 'pvc,secret', '-o', 'name', '-l', 'davit.dev/deployment=keeper')).toBe('');
  }, 400_000);
});
