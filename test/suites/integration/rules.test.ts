// Rules that only the API server judges, as requests meet them: each answer names the field as the request does, and says all of them at
// once. bad-records.test.ts has the rules of pods, runtimes, variables, tasks, backups and restores.

import { beforeAll, describe, expect, inject, it } from 'vitest';
import { aPayload } from '../../support/builders.ts';
import type { Tenant } from '../../support/platform.ts';
import { type Attached, attach } from '../../support/running-davit.ts';

const davit: Attached = attach(inject('davit'));
let tenant: Tenant;

beforeAll(async () => {
  tenant = await davit.tenant('rules');
  const uri = '--from-literal=uri=redis://a';
  await davit.kubectl(['create', 'secret', 'generic', 'stores', '-n', tenant.namespace, uri]);
});

/** An error: `where` below the body, its words, and its type. */
type Row = readonly [where: string, msg: unknown, type?: string];

function errorsIn({ status, body }: Awaited<ReturnType<Attached['call']>>): readonly unknown[] {
  expect(status).toBe(422);
  const detail = body.detail as readonly { loc: unknown[]; msg: string; type: string }[];
  return detail.map(({ loc, msg, type }) => [loc.slice(1).join('.'), msg, type]).toSorted(asText);
}
function expected(rows: readonly Row[]): readonly unknown[] {
  return rows.map(([where, msg, type = 'value_error']) => [where, msg, type]).toSorted(asText);
}
function asText(one: readonly unknown[], other: readonly unknown[]): number {
  return String(one).localeCompare(String(other));
}
const containing = (words: string): unknown => expect.stringContaining(words);

const STORES = ['POSTGRES_URI_CUSTOM', 'REDIS_URI_CUSTOM'].map((name) => ({
  name,
  secret_name: 'stores',
  secret_key: 'uri',
}));
const uuid = '6ba7b810-9dad-11d1-80b4-00c04fd430c8';
const spec = 'source_config.resource_spec';
const database = 'source_config.database';
const config = (fields: object): object => ({ source_config: fields });

describe('a new deployment', () => {
  it.each<[name: string, more: object, rows: readonly Row[]]>([
    ['a name with --', { name: 'a--b' }, [['name', containing('a name must not contain --')]]],
    [
      'a name of which an encoded domain would be made',
      { name: 'xn' },
      [['name', containing('the name xn is reserved')]],
    ],
    [
      'no image',
      { source_revision_config: {} },
      [['source_revision_config.image_uri', 'source external_docker needs image_uri', 'missing']],
    ],
    [
      'an image of null',
      { source_revision_config: { image_uri: null } },
      [['source_revision_config.image_uri', 'source external_docker needs image_uri', 'missing']],
    ],
    [
      'fields of another source',
      {
        ...config({ repo_url: 'https://host/repo', install_command: 'make' }),
        source_revision_config: { image_uri: 'a/b:1', repo_ref: 'main' },
      },
      [
        ['source_config.repo_url', 'repo_url does not apply to source external_docker'],
        ['source_config.install_command', 'install_command does not apply to source external_docker'],
        ['source_revision_config.repo_ref', 'repo_ref does not apply to source external_docker'],
      ],
    ],
    [
      'an archive of a driver that has none',
      config({ database: { driver: 'pod', archive: {} } }),
      [[`${database}.archive`, containing('only driver cloudnative-pg has an archive')]],
    ],
    [
      'the archive of another deployment, for a driver that has none',
      config({ database: { driver: 'pod', restore: { from: 'old', archive: true } } }),
      [[`${database}.restore`, containing('only driver cloudnative-pg begins with an archive')]],
    ],
    [
      'an archive and a backup',
      config({ database: { restore: { from: 'old', archive: true, backup: '20260202T000000Z-0123abcd' } } }),
      [[`${database}.restore.archive`, containing('set archive or backup, not both')]],
    ],
    [
      'an archive of another namespace',
      config({ database: { restore: { from: 'old', namespace: 'prod', archive: true } } }),
      [[`${database}.restore.archive`, containing('an archive is restored only within its namespace')]],
    ],
    [
      'an archive too often',
      config({ database: { archive: { schedule: '* * * * *' } } }),
      [[`${database}.archive.schedule`, containing('would run more often than every 5 minutes')]],
    ],
    [
      'several instances of a driver that has one',
      config({ database: { driver: 'pod', instances: 2 } }),
      [[`${database}.instances`, containing('only driver cloudnative-pg has instances')]],
    ],
    [
      'rules of fields and of elements together, each once',
      {
        name: 'a--b',
        source_revision_config: {},
        ...config({
          env: [
            { name: 'A', value: '1' },
            { name: 'PORT', value: '1' },
          ],
          resource_spec: { cpu: 2, cpu_limit: 1, labels: { 'davit.dev/x': 'y' } },
          runtime: { workers: { server: { args: ['a'], health_path: '/ok', health_command: ['b'] } } },
        }),
      },
      [
        ['name', containing('a name must not contain --')],
        ['source_revision_config.image_uri', 'source external_docker needs image_uri', 'missing'],
        ['source_config.env.1.name', containing('these names are set by the platform')],
        [`${spec}.cpu_limit`, 'cpu_limit must not be below cpu'],
        [`${spec}.labels.davit.dev/x`, containing('keys with these prefixes are reserved')],
        ['source_config.runtime.workers.server', containing('worker')],
        ['source_config.runtime.workers.server.health_command', containing('health_path')],
      ],
    ],
  ])('%s', async (_name, more, rows) => {
    const body = aPayload('refused', { secret_references: STORES, ...more });
    expect(errorsIn(await davit.call(tenant, 'POST', '/v2/deployments', body))).toEqual(expected(rows));
  });

  it('with values leaves no Secret', async () => {
    const secrets = [{ name: 'KEY', value: 'v' }];
    const body = aPayload('refused', { secrets, ...config({ resource_spec: { cpu: 2, cpu_limit: 1 } }) });
    expect(errorsIn(await davit.call(tenant, 'POST', '/v2/deployments', body))).toEqual(
      expected([[`${spec}.cpu_limit`, 'cpu_limit must not be below cpu']]),
    );
    const { items } = await davit.kubectlJson<{ items: { metadata: { name: string } }[] }>([
      'get',
      'secrets',
      '-n',
      tenant.namespace,
    ]);
    expect(items.map(({ metadata }) => metadata.name).filter((name) => name.startsWith('refused'))).toEqual([]);
  });
});

describe('a change', () => {
  /** A deployment of its own; with stores of others where none of its own matter, for which less is made. */
  let made = 0;
  async function makeOne(more: object): Promise<string> {
    made += 1;
    const references = JSON.stringify(more).includes('"database"') ? [] : STORES;
    const payload = aPayload(`changed-${made}`, { secret_references: references, ...more });
    const { status, body } = await davit.call(tenant, 'POST', '/v2/deployments', payload);
    expect([status, body.detail]).toEqual([201, undefined]);
    return `/v2/deployments/${body.id}`;
  }
  const RUNTIME = { server: { termination_grace_period_seconds: 30 } };

  it.each<[name: string, before: object, change: object, rows: readonly Row[]]>([
    [
      'a request above the limit that there is',
      config({ resource_spec: { cpu: 2, cpu_limit: 2 } }),
      config({ resource_spec: { cpu: 3 } }),
      [[`${spec}.cpu_limit`, 'cpu_limit must not be below cpu']],
    ],
    [
      'a volume that is mounted is taken away, and a limit below its request',
      config({
        resource_spec: {
          cpu: 2,
          volumes: [{ name: 'v', emptyDir: {} }],
          volume_mounts: [{ name: 'v', mountPath: '/v' }],
        },
      }),
      config({ resource_spec: { volumes: [], cpu_limit: 1 } }),
      [
        [`${spec}.volume_mounts.0.name`, 'no volume has the name of this mount: add one to volumes'],
        [`${spec}.cpu_limit`, 'cpu_limit must not be below cpu'],
      ],
    ],
    [
      'fields of another source, and one that never changes',
      {},
      {
        ...config({ repo_url: 'https://a.example/b', build_on_push: true }),
        source_revision_config: { repo_ref: 'main' },
        name: 'x',
      },
      [
        ['name', 'cannot be changed after creation', 'frozen_field'],
        ['source_config.repo_url', 'repo_url does not apply to source external_docker'],
        ['source_config.repo_url', 'repo_url cannot be changed after creation'],
        ['source_config.build_on_push', 'build_on_push does not apply to source external_docker'],
        ['source_revision_config.repo_ref', 'repo_ref does not apply to source external_docker'],
      ],
    ],
    [
      'a listener',
      {},
      config({ listener_id: uuid, listener_config: { k8s_namespace: 'x' } }),
      [
        ['source_config.listener_id', 'listener_id cannot be changed after creation'],
        ['source_config.listener_config', 'listener_config cannot be changed after creation'],
      ],
    ],
    [
      'a restore',
      config({ database: {} }),
      config({ database: { restore: { from: 'old' } } }),
      [[`${database}.restore`, containing('only when the deployment is created')]],
    ],
    [
      'extensions',
      config({ database: {} }),
      config({ database: { extensions: ['vector'] } }),
      [[`${database}.extensions`, containing('in an existing database')]],
    ],
    [
      'a wait that takes all the time that there is',
      config({ runtime: RUNTIME }),
      config({ runtime: { server: { pre_stop: { sleep: { seconds: 60 } } } } }),
      [
        [
          'source_config.runtime.server.pre_stop',
          'the sleep of pre_stop must be shorter than termination_grace_period_seconds',
        ],
      ],
    ],
    [
      'a query of nothing',
      { secret_references: [], ...config({ runtime: { queue_depth: { query: 'SELECT 1' } } }) },
      config({ runtime: { queue_depth: { query: null, per_pod: 7 } } }),
      [['source_config.runtime.queue_depth.query', 'is required', 'missing']],
    ],
    [
      'a migration of nothing',
      config({ runtime: { migrate: { command: ['up'], timeout_seconds: 60 } } }),
      config({ runtime: { migrate: { command: null } } }),
      [['source_config.runtime.migrate', containing('command')]],
    ],
  ])('%s', async (_name, before, change, rows) => {
    const answer = await davit.call(tenant, 'PATCH', await makeOne(before), change);
    expect(errorsIn(answer)).toEqual(expected(rows));
  });

  it('one variable is refused under its name', async () => {
    const runtime = { postgres_uri_scheme: 'postgres' };
    const path = await makeOne({ secret_references: [], ...config({ runtime }) });
    const uri = { value: 'postgres://a' };
    const { status, body } = await davit.call(tenant, 'PUT', `${path}/secrets/POSTGRES_URI_CUSTOM`, uri);
    const msg = containing('write the scheme into it, and remove postgres_uri_scheme');
    expect([status, body.detail]).toEqual([422, [{ loc: ['path', 'secret_name'], msg, type: 'value_error' }]]);
  });

  it('a clone is refused under its name', async () => {
    const clone = { name: 'a--b', backup: '20260202T000000Z-0123abcd' };
    const answer = await davit.call(tenant, 'POST', `${await makeOne({ secret_references: [] })}/clone`, clone);
    expect(errorsIn(answer)).toEqual(expected([['name', containing('a name must not contain --')]]));
  });
});
