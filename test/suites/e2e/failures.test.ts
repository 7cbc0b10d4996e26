// What cannot start in real pods says why, in the words of the kubelet and the scheduler, and the old pods serve on.

import { beforeAll, describe, expect, inject, it } from 'vitest';
import type { Tenant } from '../../support/platform.ts';
import { type Attached, attach, eventually } from '../../support/running-davit.ts';
import { makeShop, type Shop, SMALL, WORKERS, watchService } from './shop.ts';

const davit: Attached = attach(inject('davit'));
const withPods = describe.skipIf(davit.node !== 'real');
let tenant: Tenant;
let shop: Shop;
beforeAll(async () => {
  if (davit.node !== 'real') return;
  tenant = await davit.tenant('failures');
  shop = makeShop(davit, tenant);
});

withPods('a deployment that serves', () => {
  it('what its pods need is missing, or is more than any node has: in whose words, and the old pods serve on', async () => {
    const { body: made } = await davit.call(tenant, 'POST', '/v2/deployments', shop.payload('shop', {}, WORKERS));
    const { id } = made;
    await shop.ready('shop');
    const { failures, stop } = watchService(`${await shop.urlOf('shop')}/ok`);
    const roll = async (parts: object): Promise<void> => {
      // Fields are merged: what the roll before asked for is taken back.
      const before = { volumes: null, volume_mounts: null, init_containers: null, sidecars: null, cpu_limit: null };
      const body = { source_config: { resource_spec: { ...before, ...SMALL, ...WORKERS, ...parts } } };
      expect((await davit.call(tenant, 'PATCH', `/v2/deployments/${id}`, body)).status).toBe(200);
    };
    const says = (reason: string, words: RegExp): Promise<void> =>
      eventually(
        async () =>
          expect(await shop.condition('shop', 'WorkloadsReady')).toMatchObject({
            reason,
            message: expect.stringMatching(words),
          }),
        60_000,
      );
    const mounted = {
      volumes: [{ name: 'settings', configMap: { name: 'settings' } }],
      volume_mounts: [{ name: 'settings', mountPath: '/settings' }],
    };
    await roll(mounted);
    await says('VolumeNotMounted', /MountVolume.SetUp failed .*configmap "settings" not found/);
    await davit.kubectl(['create', 'configmap', 'settings', '-n', tenant.namespace, '--from-literal=a=b']);
    await shop.ready('shop');

    const variable = { name: 'MISSING', valueFrom: { configMapKeyRef: { name: 'settings', key: 'c' } } };
    await roll({ init_containers: [{ name: 'prepare', image: davit.images.sample, env: [variable] }] });
    await says('ContainerConfigInvalid', /Container prepare cannot be created: .*find key c in ConfigMap/);

    await roll({ cpu: 60 });
    await says('Unschedulable', /No node can run a pod of the server: .*Insufficient cpu/);
    expect((await davit.call(tenant, 'GET', `/v2/deployments/${id}`)).body.status).toBe('READY');
    await roll({});
    await shop.ready('shop');
    await stop();
    expect(failures).toEqual([]);
    await davit.kubectl(['delete', 'appd', 'shop', '-n', tenant.namespace, '--timeout=180s']);
  });
});

withPods('what cannot start says why', () => {
  it('an image that cannot be pulled', async () => {
    await davit.call(
      tenant,
      'POST',
      '/v2/deployments',
      shop.payload('no-image', { source_revision_config: { image_uri: 'registry.invalid/nothing:1' } }),
    );
    await eventually(
      async () =>
        expect(await shop.condition('no-image', 'WorkloadsReady')).toMatchObject({
          reason: 'ImagePullFailed',
          message: expect.stringContaining('registry.invalid/nothing:1'),
        }),
      90_000,
    );
    await davit.kubectl(['delete', 'appd', 'no-image', '-n', tenant.namespace, '--timeout=180s']);
  });

  it('a program that the image does not have: failed after three tries', async () => {
    const { body } = await davit.call(tenant, 'POST', '/v2/deployments?fieldValidation=Strict', {
      name: 'no-program',
      source: 'external_docker',
      source_config: {
        resource_spec: { cpu: 0.1, memory_mb: 128 },
        runtime: { server: { command: ['nodee'] }, database: 'none', redis: 'none' },
      },
      source_revision_config: { image_uri: davit.images.sample },
      secrets: [],
    });
    await eventually(
      async () =>
        expect(await shop.condition('no-program', 'Stalled')).toMatchObject({
          reason: 'ContainerCrashed',
          message: expect.stringMatching(
            /exited at least 3 times.*"nodee": executable file not found in \$PATH.*Correct the command/,
          ) as string,
        }),
      120_000,
    );
    await davit.call(tenant, 'DELETE', `/v2/deployments/${body.id}`);
  });

  it('a database of its own that never comes up: AWAITING_DATABASE, and why', async () => {
    const created = await davit.call(tenant, 'POST', '/v2/deployments', shop.payload('too-large', {}, { db_cpu: 60 }));
    await eventually(
      async () =>
        expect(await shop.condition('too-large', 'DatabaseReady')).toMatchObject({
          reason: 'Unschedulable',
          message: expect.stringContaining('Insufficient cpu') as string,
        }),
      60_000,
    );
    const { body } = await davit.call(tenant, 'GET', `/v2/deployments/${created.body.id}`);
    expect(body.status).toBe('AWAITING_DATABASE');
    await davit.kubectl(['delete', 'appd', 'too-large', '-n', tenant.namespace, '--timeout=180s']);
  });

  it('an external database that never answers: AWAITING_DATABASE, nothing of our own made', async () => {
    await davit.kubectl([
      'create',
      'secret',
      'generic',
      'elsewhere',
      '-n',
      tenant.namespace,
      '--from-literal=uri=postgresql://u:p@127.0.0.1:1/db',
    ]);
    const created = await davit.call(
      tenant,
      'POST',
      '/v2/deployments',
      shop.payload('external', {
        secret_references: [{ name: 'POSTGRES_URI_CUSTOM', secret_name: 'elsewhere', secret_key: 'uri' }],
      }),
    );
    expect(created.status).toBe(201);
    await eventually(
      async () => expect(await shop.condition('external', 'DatabaseReady')).toMatchObject({ reason: 'NotAnswering' }),
      90_000,
    );
    expect((await davit.call(tenant, 'GET', `/v2/deployments/${created.body.id}`)).body.status).toBe(
      'AWAITING_DATABASE',
    );
    await expect(davit.kubectl(['get', 'statefulset', 'external--postgres', '-n', tenant.namespace])).rejects.toThrow(
      /not found/,
    );
    await davit.kubectl(['delete', 'appd', 'external', '-n', tenant.namespace, '--timeout=180s']);
  });
});
