// A deployment that a listener's cluster runs with real pods. The hub has none.

import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { type Cluster, startCluster } from '../../cluster/cluster.ts';
import { aPayload } from '../../support/builders.ts';
import { type ListenerCluster, startListenerCluster } from '../../support/listener-cluster.ts';
import { type Platform, startPlatform, type Tenant } from '../../support/platform.ts';
import { type Attached, callsTo, eventually } from '../../support/running-davit.ts';
import { startSampleCluster } from '../../support/sample-cluster.ts';

// Without a kubelet there is nothing that these tests could see; `node` says so in the run's first lines.
const withPods = describe.skipIf(inject('davit').node !== 'real');

const PLACE = 'shops';
const SMALL = { cpu: 0.1, memory_mb: 128, db_cpu: 0.1, db_memory_mb: 256, redis_cpu: 0.05, redis_memory_mb: 64 };

withPods('a deployment of a listener', () => {
  let hub: Cluster;
  let remote: Cluster;
  let hubDavit: Platform;
  let listening: ListenerCluster;
  let tenant: Tenant;
  let call: Attached['call'];
  let image: string;
  let id: string;

  beforeAll(async () => {
    hub = await startCluster({ pods: 'off' });
    const started = await startSampleCluster({ pods: 'auto', progress: () => undefined });
    remote = started.cluster;
    image = started.images.sample;
    hubDavit = await startPlatform(hub, { values: { 'settings.listeners.enabled': true } });
    call = callsTo(hubDavit.apiUrl);
    tenant = await hubDavit.makeTenant('team');
    const { images } = started;
    listening = await startListenerCluster({
      hub,
      tenant: 'team',
      name: 'edge',
      cluster: remote,
      images,
      place: PLACE,
    });
  }, 300_000);
  afterAll(async () => {
    await listening?.stop();
    await hubDavit?.stop();
    await remote?.stop();
    await hub?.stop();
  }, 60_000);

  const there = (...args: readonly string[]): Promise<string> => remote.kubectl(['-n', PLACE, ...args]);

  it('is READY on the hub when its pods serve in the cluster, with the values of the hub', async () => {
    const created = await eventually(async () => {
      const answer = await call(
        tenant,
        'POST',
        '/v2/deployments',
        aPayload('shop', {
          source_config: {
            listener_id: listening.id,
            listener_config: { k8s_namespace: PLACE },
            resource_spec: SMALL,
          },
          source_revision_config: { image_uri: image },
          secrets: [{ name: 'GREETING', value: 'hello from the hub' }],
        }),
      );
      expect([answer.status, answer.body.detail]).toEqual([201, undefined]);
      return answer.body;
    }, 30_000);
    ({ id } = created);
    await eventually(
      async () => expect((await call(tenant, 'GET', `/v2/deployments/${id}`)).body.status).toBe('READY'),
      150_000,
      500,
    );
    const address = (await there('get', 'service', 'shop', '-o', 'jsonpath={.spec.clusterIP}')).trim();
    const { environment } = (await (await fetch(`http://${address}/env`)).json()) as {
      environment: Readonly<Record<string, string>>;
    };
    expect(environment).toMatchObject({
      GREETING: 'hello from the hub',
      DAVIT_DEPLOYMENT_ID: id,
      DAVIT_TENANT_ID: tenant.id,
    });
    const stored = await fetch(`http://${address}/items`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ text: 'kept' }),
    });
    expect(stored.status).toBe(201);
    expect(await hub.kubectl(['get', 'pods', '-A', '-l', 'davit.dev/deployment', '-o', 'name'])).toBe('');
  }, 200_000);

  it('has its logs read over the hub by who may read logs there; nothing is kept of the request', async () => {
    const path = `/v1/projects/${id}/deploy_logs`;
    const { status, body } = await call(tenant, 'POST', path, { limit: 5, order: 'asc' });
    expect([status, body.detail]).toEqual([200, undefined]);
    expect(body.logs).toHaveLength(5);
    const pods = (await there('get', 'pods', '-o', 'jsonpath={.items[*].metadata.name}')).split(' ');
    for (const line of body.logs) expect(pods).toContain(line.pod);
    const next = await call(tenant, 'POST', path, { limit: 5, order: 'asc', offset: body.next_offset });
    expect(next.status).toBe(200);
    expect(next.body.logs.map((line: { id: string }) => line.id)).not.toContain(body.logs[4].id);
    expect(await hub.kubectl(['get', 'lsnl', '-A', '-o', 'name'])).toBe('');
  }, 60_000);

  it('leaves neither pods nor data nor values in the cluster when it is deleted on the hub', async () => {
    expect((await call(tenant, 'DELETE', `/v2/deployments/${id}`)).status).toBeLessThan(300);
    await eventually(
      async () => expect((await call(tenant, 'GET', `/v2/deployments/${id}`)).status).toBe(404),
      120_000,
      500,
    );
    const kinds = 'appd,appr,deployments,statefulsets,services,secrets,pvc,networkpolicies,hpa,pdb,ingresses,jobs,pods';
    await eventually(async () => expect(await there('get', kinds, '-o', 'name')).toBe(''), 60_000, 500);
    const volumes = ['get', 'pv', '-o', 'jsonpath={.items[*].spec.claimRef.name}'];
    await eventually(async () => expect(await remote.kubectl(volumes)).toBe(''), 60_000, 500);
  }, 200_000);
});
