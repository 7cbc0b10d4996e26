// What a platform's settings do not allow, over HTTP: 422 with every field, for newly requested values.

import { expect, it } from 'vitest';
import { Settings } from '../../../src/kinds/settings.ts';
import { type Answer, makeFacade } from './facade.ts';

function body(more: object = {}): object {
  return {
    name: 'shop',
    source: 'external_docker',
    source_config: {},
    source_revision_config: { image_uri: 'registry.example/shop:1' },
    secrets: [],
    ...more,
  };
}

function findings({ status, body: said }: Answer): string[] {
  const list = said.detail as { loc: string[]; msg: string }[];
  return [String(status), ...list.map(({ loc, msg }) => `${loc.join('.')}: ${msg}`)];
}

it("the platform's limits: each field, on POST and on PATCH", async () => {
  const facade = await makeFacade({ limits: Settings.parse({ limits: { cpu: 2, scale: 3 } }).limits });
  const sizes = (resource_spec: object): object => ({ source_config: { resource_spec } });
  const refused = await facade.call(
    'POST',
    '/v2/deployments',
    body(sizes({ cpu: 3, queue_max_scale: 4, memory_mb: 512 })),
  );
  expect(findings(refused)).toEqual([
    '422',
    'body.source_config.resource_spec.cpu: must be at most 2 on this platform',
    'body.source_config.resource_spec.queue_max_scale: must be at most 3 on this platform',
  ]);
  const made = await facade.call('POST', '/v2/deployments', body(sizes({ cpu: 2 })));
  expect(made.status).toBe(201);
  const patched = await facade.call('PATCH', `/v2/deployments/${made.body.id}`, sizes({ cpu: 2, db_cpu: 8 }));
  expect(findings(patched)).toEqual([
    '422',
    'body.source_config.resource_spec.db_cpu: must be at most 2 on this platform',
  ]);
});

it('placement: each value that the platform does not list, on POST and on PATCH, and what is there stays', async () => {
  const { placement, limits } = Settings.parse({
    placement: {
      allowed: { nodeSelector: { pool: ['gpu', 'cpu'] }, tolerations: ['dedicated'], runtimeClasses: ['gvisor'] },
    },
    limits: { resources: { 'nvidia.com/gpu': 2 } },
  });
  const facade = await makeFacade({ placement, limits });
  const placed = (server: object, workers: object = {}): object => ({
    source_config: { runtime: { server: { placement: server }, workers } },
  });
  const refused = await facade.call(
    'POST',
    '/v2/deployments',
    body(
      placed(
        { node_selector: { pool: 'big', zone: 'a' }, tolerations: [{ key: 'dedicated' }, { key: 'other' }] },
        { embed: { command: ['e'], placement: { runtime_class_name: 'kata', resources: { 'nvidia.com/gpu': 3 } } } },
      ),
    ),
  );
  const at = 'body.source_config.runtime';
  expect(findings(refused)).toEqual([
    '422',
    `${at}.server.placement.node_selector.pool: must be one of gpu, cpu on this platform (settings.placement.allowed)`,
    `${at}.server.placement.node_selector.zone: must be absent on this platform (settings.placement.allowed)`,
    `${at}.server.placement.tolerations.1: taint other may not be tolerated on this platform (settings.placement.allowed)`,
    `${at}.workers.embed.placement.runtime_class_name: kata is not a runtime class that this platform lists (settings.placement.allowed)`,
    `${at}.workers.embed.placement.resources.nvidia.com/gpu: must be at most 2 on this platform, sidecars included (settings.limits.resources)`,
  ]);
  const listed = {
    node_selector: { pool: 'gpu' },
    tolerations: [{ key: 'dedicated', toleration_seconds: 5 }],
    runtime_class_name: 'gvisor',
    host_users: false,
    resources: { 'nvidia.com/gpu': 2 },
  };
  const made = await facade.call('POST', '/v2/deployments', body(placed(listed)));
  expect(made.status).toBe(201);
  expect(made.body).toMatchObject({ source_config: { runtime: { server: { placement: listed } } } });
  const patched = await facade.call(
    'PATCH',
    `/v2/deployments/${made.body.id}`,
    placed({ ...listed, host_users: true }),
  );
  expect(patched.status).toBe(422);
});

it('a platform without databases: a deployment must name both stores, and keep them', async () => {
  const facade = await makeFacade({ database: { ...Settings.parse({}).database, own: false } });
  const external = (...names: string[]): object => ({
    secret_references: names.map((name) => ({ name, secret_name: 'outside', secret_key: 'uri' })),
  });
  const refused = await facade.call('POST', '/v2/deployments', body(external('POSTGRES_URI_CUSTOM')));
  expect(findings(refused)).toEqual([
    '422',
    'body.secrets: this platform provides no databases: set REDIS_URI_CUSTOM, or redis of runtime to none',
  ]);
  const made = await facade.call('POST', '/v2/deployments', body(external('POSTGRES_URI_CUSTOM', 'REDIS_URI_CUSTOM')));
  expect(made.status).toBe(201);
  const patched = await facade.call('PATCH', `/v2/deployments/${made.body.id}`, { secret_references: [] });
  expect(findings(patched)).toEqual([
    '422',
    'body.secrets: this platform provides no databases: set POSTGRES_URI_CUSTOM, or database of runtime to none',
    'body.secrets: this platform provides no databases: set REDIS_URI_CUSTOM, or redis of runtime to none',
  ]);
});

it('a token for the API only where pods can get and use one', async () => {
  const wants = (listener: object = {}): object => ({ source_config: { runtime: { api_token: true }, ...listener } });
  const why = (refused: Answer): string[] => findings(refused).filter((line) => line.includes('api_token'));
  const at = 'body.source_config.runtime.api_token: ';
  const without = await makeFacade();
  expect(why(await without.call('POST', '/v2/deployments', body(wants())))).toEqual([
    `${at}this platform issues no people's tokens: ask the platform team to add a host to settings.oauth.hosts, or remove api_token`,
  ]);
  const made = await without.call('POST', '/v2/deployments', body({}));
  expect(why(await without.call('PATCH', `/v2/deployments/${made.body.id}`, wants()))).toHaveLength(1);

  const { http, oauth } = Settings.parse({ oauth: { hosts: [{ host: 'idp.example' }] } });
  const noAddress = await makeFacade({ oauth, http });
  expect(why(await noAddress.call('POST', '/v2/deployments', body(wants())))).toEqual([
    `${at}this platform has no address at which pods reach its HTTP API: ask the platform team to set settings.http.podUrl, or remove api_token`,
  ]);

  const facade = await makeFacade({ oauth, http: { ...http, podUrl: 'https://davit-api.davit-system.svc' } });
  const remote = { listener_id: 'aaaaaaaa-0000-4000-8000-000000000009', listener_config: { k8s_namespace: 'a' } };
  expect(why(await facade.call('POST', '/v2/deployments', body(wants(remote))))).toEqual([
    `${at}pods in the cluster of a listener cannot reach this platform's HTTP API: remove api_token`,
  ]);
  const good = await facade.call('POST', '/v2/deployments', body(wants()));
  expect([good.status, good.body.source_config.runtime.api_token]).toEqual([201, true]);
});

it('keys with an effect beyond the pods: each on POST, and added ones on PATCH', async () => {
  const pods = (resource_spec: object): object => ({ source_config: { resource_spec } });
  const facade = await makeFacade();
  const refused = await facade.call(
    'POST',
    '/v2/deployments',
    body(
      pods({
        labels: { app: 'shop', team: 'blue' },
        annotations: { 'sidecar.istio.io/inject': 'true' },
        volumes: [{ name: 'v', csi: { driver: 'd', volumeAttributes: { secretNamespace: 'other' } } }],
      }),
    ),
  );
  expect(findings(refused)).toEqual([
    '422',
    'body.source_config.resource_spec.labels.app: these labels have an effect beyond this deployment; settings.pods.allowed.labels can allow them',
    'body.source_config.resource_spec.annotations.sidecar.istio.io/inject: these annotations have an effect beyond this deployment; settings.pods.allowed.annotations can allow them',
    'body.source_config.resource_spec.volumes.0.csi.volumeAttributes.secretNamespace: an attribute that names a namespace is refused: a record may use only its own namespace',
  ]);
  const allowing = await makeFacade({
    pods: Settings.parse({ pods: { allowed: { labels: ['app'], annotations: ['*.istio.io/'] } } }).pods,
  });
  const made = await allowing.call(
    'POST',
    '/v2/deployments',
    body(pods({ labels: { app: 'shop' }, annotations: { 'sidecar.istio.io/inject': 'true' } })),
  );
  expect(made.status).toBe(201);
  const patched = await allowing.call(
    'PATCH',
    `/v2/deployments/${made.body.id}`,
    pods({ labels: { app: 'shop', role: 'db' }, annotations: { 'sidecar.istio.io/inject': 'true' } }),
  );
  expect(findings(patched)).toEqual([
    '422',
    'body.source_config.resource_spec.labels.role: these labels have an effect beyond this deployment; settings.pods.allowed.labels can allow them',
  ]);
});
