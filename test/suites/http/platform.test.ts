// GET /v2/platform: what the platform offers to a tenant, and nothing of another tenant's or of a secret.

import { expect, it } from 'vitest';
import { platformLines, readPlatform } from '../../../src/cli/commands/platform.ts';
import { makeHttpApi } from '../../../src/cli/transport/http-api.ts';
import { Platform } from '../../../src/deploy/http/platform/payloads.ts';
import { Settings } from '../../../src/kinds/settings.ts';
import { NAMESPACES } from '../../../src/runtime/kube/api-resources.ts';
import { anIntegration, listen, makeFacade, OTHER_TENANT, SOMEBODY, TENANT } from './facade.ts';

it('without any setting: the defaults, and nothing that is not there', async () => {
  const facade = await makeFacade();
  const { status, body } = await facade.call('GET', '/v2/platform');
  expect([status, Platform.parse(body)]).toEqual([200, body]);
  expect(body).toMatchObject({
    tenant: TENANT,
    hosting: 'self-hosted',
    sources: ['external_docker'],
    builds: { available: false, registry: null, package_indexes: { pip: null, npm: null } },
    hosts: { available: false, base_domain: null, claimable: [] },
    code_hosts: ['api.github.com'],
    integrations: [],
    listeners: [],
    templates: [],
    pods: { port: 8000, health_path: '/ok', policy: 'baseline' },
    placement: { node_selector: {}, tolerations: [], runtime_classes: [] },
    stores: { own: true, drivers: ['pod'], backups: false, archives: false },
    limits: { cpu: null, resources: null, requests_per_minute: 2400 },
    default_type: 'plain',
  });
  expect(body.sizes.plain.server).toEqual({
    cpu: 0.25,
    cpu_limit: 1,
    memory_mb: 512,
    memory_limit_mb: 1024,
    min_scale: 1,
    max_scale: 1,
  });
});

it('with settings: each part, the integrations and listeners of this tenant alone, and no credential', async () => {
  const settings = Settings.parse({
    hosting: 'both',
    deploymentType: 'dev',
    limits: { cpu: 2, memoryMb: 4096, scale: 4, storageGi: 20, resources: { 'nvidia.com/gpu': 1 } },
    address: { kind: 'ingress', baseDomain: 'apps.example.com' },
    placement: {
      allowed: { nodeSelector: { pool: ['gpu', 'spot'] }, tolerations: ['gpu'], runtimeClasses: ['gvisor'] },
    },
    listeners: { enabled: true },
    images: { pullSecrets: ['canary-pull'] },
    builds: {
      registry: { host: 'registry.example.com', pushSecret: 'canary-push', pullSecret: 'canary-pull', ca: 'canary-ca' },
      images: { builder: 'builder:1' },
      baseImages: { python: 'mirror.example/python:{version}' },
      packageIndex: { pip: 'https://user:canary-password@pypi.example/simple?token=canary-token' },
    },
  });
  const facade = await makeFacade(settings);
  facade.kube.seed(NAMESPACES, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: {
      name: TENANT.namespace,
      uid: TENANT.id,
      labels: { 'davit.dev/tenant': 'true' },
      annotations: { 'davit.dev/hosts': '*.shop.example, Www.example' },
    },
  });
  facade.tenants.fill();
  const ids = { ours: '11111111-0000-4000-8000-000000000001', theirs: '22222222-0000-4000-8000-000000000002' };
  for (const [name, tenant] of [
    ['ours', TENANT],
    ['theirs', OTHER_TENANT],
  ] as const) {
    const credentialsRef = { name: 'canary-credentials' };
    anIntegration(facade, ids[name], {
      apiUrl: 'https://git.example/api/v1',
      credentialsRef,
      tenants: [tenant.namespace],
    });
    facade.listeners.put({
      apiVersion: 'davit.dev/v1alpha1',
      kind: 'Listener',
      metadata: { name, namespace: tenant.namespace, uid: `${name}-listener` },
      spec: { namespaces: ['edge'] },
    });
  }
  facade.templates.put({
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'AppTemplate',
    metadata: { name: 'chat', uid: 'chat-id' },
    spec: { imageUri: 'templates/chat:2' },
  });
  const { status, body } = await facade.call('GET', '/v2/platform');
  expect([status, Platform.parse(body)]).toEqual([200, body]);
  expect(body).toMatchObject({
    sources: ['codehost', 'external_docker', 'internal_docker', 'internal_source', 'internal_template'],
    builds: {
      available: true,
      registry: 'registry.example.com',
      base_images: { python: 'mirror.example/python:{version}', node: null },
      agent_server: null,
      package_indexes: { pip: 'https://pypi.example/simple', npm: null },
    },
    hosts: {
      available: true,
      base_domain: 'apps.example.com',
      claimable: expect.arrayContaining(['NAME.apps.example.com', '*.shop.example', 'www.example']),
    },
    integrations: [{ id: ids.ours, name: 'git-11111111', kind: 'gitea', host: 'git.example' }],
    listeners: [{ id: 'ours-listener', name: 'ours', namespaces: ['edge'] }],
    templates: [
      { name: 'chat', image_uri: 'templates/chat:2', repo_url: null, repo_ref: null, workflow_config_path: null },
    ],
    placement: { node_selector: { pool: ['gpu', 'spot'] }, tolerations: ['gpu'], runtime_classes: ['gvisor'] },
    limits: { cpu: 2, memory_mb: 4096, scale: 4, storage_gi: 20, resources: { 'nvidia.com/gpu': 1 } },
    default_type: 'dev',
  });
  expect(platformLines(Platform.parse(body))).toContain('Placement      pool=gpu|spot, taint gpu, RuntimeClass gvisor');
  expect(JSON.stringify(body)).not.toMatch(/canary|theirs|22222222/);
});

it('the plugin prints it, one line for each part', async () => {
  const facade = await makeFacade();
  anIntegration(facade, '11111111-0000-4000-8000-000000000001');
  const { origin: server } = new URL(await listen(facade));
  const api = makeHttpApi({ server, token: SOMEBODY['x-api-key'], namespace: TENANT.namespace });
  const lines = platformLines(await readPlatform(api));
  await facade.app.close();
  expect(lines).toEqual([
    `Tenant         team-a, id ${TENANT.id}`,
    'Sources        external_docker',
    'Image          listens on 8000, answers GET /ok; pods are baseline',
    'Databases      docker.io/pgvector/pgvector:0.8.6-pg17-trixie and docker.io/valkey/valkey:8.1.10-trixie, external ones, or none',
    '  drivers      pod',
    '  backups      no: the platform has no backup store',
    '  archives     no: the platform has no backup store',
    'Builds         none: deploy an image',
    'Hosts          none',
    'Integrations   git-11111111 at host.example, id 11111111-0000-4000-8000-000000000001',
    'Listeners      none',
    'Templates      none',
    "Placement      the platform's own",
    'Limits         requests_per_minute 2400',
    'Default sizes  deployment_type plain',
    '  server       cpu 0.25, cpu_limit 1, memory_mb 512, memory_limit_mb 1024, min_scale 1, max_scale 1',
    '  postgres     cpu 0.1, cpu_limit 1, memory_mb 256, memory_limit_mb 1024, storage_gi 10, max_connections 100',
    '  redis        cpu 0.05, cpu_limit 0.5, memory_mb 128, memory_limit_mb 128',
  ]);
});

it('lists drivers, backups and archives as the cluster and the settings have them', async () => {
  const storing = Settings.parse({
    backups: { store: { endpoint: 'https://s3.example', bucket: 'backups' } },
  });
  const facade = await makeFacade(storing);
  const stores = async (): Promise<unknown> => (await facade.call('GET', '/v2/platform')).body.stores;
  expect(await stores()).toMatchObject({ drivers: ['pod'], backups: true, archives: false });
  const serves = (path: string, name: string): void =>
    void facade.kube.texts.set(path, JSON.stringify({ resources: [{ name }] }));
  serves('/apis/postgresql.cnpg.io/v1', 'clusters');
  serves('/apis/barmancloud.cnpg.io/v1', 'objectstores');
  // What was not there a moment ago is asked for again later.
  expect(await stores()).toMatchObject({ drivers: ['pod'], archives: false });
  facade.clock.ms += 31_000;
  expect(await stores()).toMatchObject({ drivers: ['pod', 'cloudnative-pg'], backups: true, archives: true });

  const bare = await makeFacade(Settings.parse({ database: { own: false } }));
  const { body } = await bare.call('GET', '/v2/platform');
  expect(body.stores).toMatchObject({ own: false, drivers: [], backups: false, archives: false });
});

it('the plugin says why there are no archives', async () => {
  const facade = await makeFacade();
  const { origin: server } = new URL(await listen(facade));
  const api = makeHttpApi({ server, token: SOMEBODY['x-api-key'], namespace: TENANT.namespace });
  const platform = await readPlatform(api);
  await facade.app.close();
  const row = (stores: object): string | undefined =>
    platformLines({ ...platform, stores: { ...platform.stores, ...stores } }).find((line) => line.includes('archives'));
  const drivers = ['pod', 'cloudnative-pg'];
  expect(row({ drivers, backups: true, archives: true })).toContain('yes, with driver cloudnative-pg');
  expect(row({ drivers, backups: true })).toContain("no: CloudNativePG's Barman Cloud plugin is not installed");
  expect(row({ backups: true })).toContain('no: they need driver cloudnative-pg');
  expect(row({ drivers })).toContain('no: the platform has no backup store');
});

it('the plugin names no source that needs what there is not', async () => {
  const facade = await makeFacade();
  const { origin: server } = new URL(await listen(facade));
  const api = makeHttpApi({ server, token: SOMEBODY['x-api-key'], namespace: TENANT.namespace });
  const platform = await readPlatform(api);
  await facade.app.close();
  const all = ['codehost', 'external_docker', 'internal_docker', 'internal_source', 'internal_template'] as const;
  const rows = (builds: object): string[] =>
    platformLines({ ...platform, sources: [...all], builds: { ...platform.builds, ...builds } })
      .filter((line) => /^(Sources|Builds) /.test(line))
      .map((line) => line.replaceAll(/ +/g, ' '));
  expect(rows({ available: false, registry: null })).toEqual([
    'Sources external_docker, internal_template',
    'Builds none, so no deployment can have source codehost or internal_docker or internal_source: deploy an image',
  ]);
  expect(rows({ available: true, registry: 'registry.example' })[0]).toBe(`Sources ${all.join(', ')}`);
});

it('needs the right to list deployments in the tenant', async () => {
  const facade = await makeFacade();
  const asked: string[] = [];
  facade.kube.allow(({ verb, resource }) => {
    asked.push(`${verb} ${resource}`);
    return false;
  });
  const { statusCode } = await facade.app.inject({ url: '/v2/platform', headers: SOMEBODY });
  expect([statusCode, asked]).toEqual([403, ['list appdeployments']]);
});
