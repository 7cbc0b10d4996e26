// Changes over HTTP before a real API server and controller: PATCH, revisions, rollback, many at once.

import { beforeAll, describe, expect, inject, it } from 'vitest';
import { aPayload, NO_STORES } from '../../support/builders.ts';
import type { Tenant } from '../../support/platform.ts';
import { type Answer, type Attached, attach, eventually } from '../../support/running-davit.ts';

const davit: Attached = attach(inject('davit'));
let tenant: Tenant;
beforeAll(async () => {
  tenant = await davit.tenant('http-changes');
});

const image = (tag: string): object => ({ source_revision_config: { image_uri: `registry.example/app:${tag}` } });

async function created(name: string, more: object = {}): Promise<string> {
  const { status, body } = await davit.call(
    tenant,
    'POST',
    '/v2/deployments',
    aPayload(name, { ...image('1'), source_config: NO_STORES, ...more }),
  );
  expect([status, body.detail]).toEqual([201, undefined]);
  return body.id;
}
const get = (id: string): Promise<Answer> => davit.call(tenant, 'GET', `/v2/deployments/${id}`);
const patch = (id: string, body: unknown): Promise<Answer> =>
  davit.call(tenant, 'PATCH', `/v2/deployments/${id}`, body);

async function field(name: string, path: string): Promise<string> {
  return davit.kubectl(['get', 'appd', name, '-n', tenant.namespace, '-o', `jsonpath={${path}}`]);
}

/** Until this revision is the one that runs, and nothing is written any more. */
async function settled(id: string, revision: string): Promise<void> {
  await eventually(async () =>
    expect((await get(id)).body).toMatchObject({
      status: 'READY',
      latest_revision_id: revision,
      active_revision_id: revision,
    }),
  );
}

describe('PATCH', () => {
  it('a new image is a new revision, and READY again', async () => {
    const id = await created('patched', { secrets: [{ name: 'KEY', value: 'one' }] });
    await settled(id, (await get(id)).body.latest_revision_id);
    const { status, body } = await patch(id, { ...image('2'), secrets: [{ name: 'KEY', value: 'two' }] });
    expect([status, body.image_version, body.secrets]).toEqual([200, '2', [{ name: 'KEY', value: 'two' }]]);
    await settled(id, body.latest_revision_id);
    expect(await field('patched', '.spec.revisionSerial')).toBe('2');
    expect(
      await davit.kubectl([
        'get',
        'deployment',
        'patched',
        '-n',
        tenant.namespace,
        '-o',
        'jsonpath={.spec.template.spec.containers[0].image}',
      ]),
    ).toBe('registry.example/app:2');
  });

  it('one variable is set, merged and removed, also the last one, and the others stay in their Secret', async () => {
    const secrets = [
      { name: 'KEY', value: 'one' },
      { name: 'OTHER', value: 'two' },
    ];
    const id = await created('variables', { secrets });
    const path = `/v2/deployments/${id}/secrets`;
    const secretOf = (name: string): Promise<string> =>
      field('variables', `.spec.secrets[?(@.name=="${name}")].secretName`);
    const before = await secretOf('OTHER');
    const put = await davit.call(tenant, 'PUT', `${path}/KEY?secrets=names`, { value: '' });
    expect([put.status, put.body.secrets]).toEqual([200, secrets.map(({ name }) => ({ name, value: '' }))]);
    const merged = await patch(id, {
      secrets: [
        { name: 'KEY', value: null },
        { name: 'THIRD', value: 'three' },
      ],
      secrets_mode: 'merge',
    });
    expect(merged.body.secrets).toEqual([secrets[1], { name: 'THIRD', value: 'three' }]);
    expect(await secretOf('OTHER')).toBe(before);
    for (const name of ['OTHER', 'THIRD'])
      expect((await davit.call(tenant, 'DELETE', `${path}/${name}`)).status).toBe(200);
    expect([await field('variables', '.spec.secrets'), await field('variables', '.spec.revisionSerial')]).toEqual([
      '[]',
      '5',
    ]);
  });

  it('a change of the scale changes neither PostgreSQL, Redis nor the volume', async () => {
    const sizes = { db_cpu: 0.1, db_memory_mb: 256, db_storage_gi: 1, redis_cpu: 0.1, redis_memory_mb: 64, cpu: 0.2 };
    const id = await created('scaled', { source_config: { resource_spec: sizes } });
    await settled(id, (await get(id)).body.latest_revision_id);
    const before = (await get(id)).body.source_config.resource_spec;
    const stores = ['get', 'statefulsets,pvc', '-n', tenant.namespace, '-l', 'davit.dev/deployment=scaled'];
    const generations = (): Promise<string> =>
      davit.kubectl([
        ...stores,
        '-o',
        'jsonpath={range .items[*]}{.metadata.name} {.metadata.generation} {.spec} {end}',
      ]);
    const was = await generations();
    expect(was).toContain('scaled--postgres');
    const { status, body } = await patch(id, { source_config: { resource_spec: { min_scale: 2, max_scale: 2 } } });
    expect([status, body.source_config.resource_spec]).toEqual([200, { ...before, min_scale: 2, max_scale: 2 }]);
    await settled(id, body.latest_revision_id);
    expect(await generations()).toBe(was);
    expect(await field('scaled', '.spec.sourceConfig.resourceSpec.maxScale')).toBe('2');
    const same = await patch(id, (await get(id)).body);
    expect(same.body.latest_revision_id).toBe(body.latest_revision_id);
  });

  it('sending back an answer changes nothing', async () => {
    const id = await created('same', {
      source_config: {
        custom_url: 'same.example.com',
        resource_spec: {
          cpu: 40,
          queue_max_scale: 2,
          labels: { team: 'a' },
          volumes: [
            { name: 'b', emptyDir: {} },
            { name: 'a', emptyDir: { medium: 'Memory' } },
          ],
          sidecars: [{ name: 's', image: 'x', resources: { limits: { cpu: 1, memory: '64Mi' } } }],
        },
      },
      secrets: [
        { name: 'B', value: 'b\n' },
        { name: 'A', value: '' },
      ],
    });
    await settled(id, (await get(id)).body.latest_revision_id);
    const { body: read } = await get(id);
    let before = '';
    await eventually(async () => {
      const now = await field('same', '.metadata.resourceVersion');
      const still = now === before;
      before = now;
      expect(still).toBe(true);
    });
    const { status, body } = await patch(id, read);
    expect([status, body]).toEqual([200, read]);
    const { resources } = (await davit.call(tenant, 'GET', '/v2/deployments?name=same')).body;
    expect((await patch(id, resources[0])).status).toBe(200);
    expect(await field('same', '.metadata.resourceVersion')).toBe(before);
  });

  it('an address needs no revision', async () => {
    const id = await created('addressed');
    const { body: before } = await get(id);
    const { body } = await patch(id, { source_config: { custom_url: 'addressed.example.com' } });
    expect([body.source_config.custom_url, body.latest_revision_id]).toEqual([
      'https://addressed.example.com',
      before.latest_revision_id,
    ]);
    expect(await field('addressed', '.spec.revisionSerial')).toBe('1');
  });

  it("the CRD's errors have the request's field names", async () => {
    const id = await created('refused');
    const { status, body } = await patch(id, {
      source_config: { resource_spec: { labels: { 'not a key': '1' } } },
    });
    expect([status, body.detail]).toMatchObject([
      422,
      [{ loc: ['body', 'source_config', 'resource_spec', 'labels'], msg: expect.stringContaining('a key is a name') }],
    ]);
  });

  it('twenty at once: none is lost', async () => {
    const id = await created('crowded');
    const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => patch(id, image(`p${n}`))));
    const applied = answers.filter(({ status }) => status === 200);
    expect(
      [...new Set(answers.map(({ status }) => status))].filter((status) => status !== 200 && status !== 409),
    ).toEqual([]);
    expect(applied.length).toBeGreaterThan(0);
    expect(new Set(applied.map(({ body }) => body.latest_revision_id)).size).toBe(applied.length);
    expect(await field('crowded', '.spec.revisionSerial')).toBe(String(1 + applied.length));
  });
});

describe('revisions', () => {
  const revisions = (id: string, rest = ''): Promise<Answer> =>
    davit.call(tenant, 'GET', `/v2/deployments/${id}/revisions${rest}`);
  const post = (id: string, rest = '', body?: unknown): Promise<Answer> =>
    davit.call(tenant, 'POST', `/v2/deployments/${id}/revisions${rest}`, body);

  it('a new revision, then a rollback to the first with its secrets: READY each time, newest first', async () => {
    const id = await created('rolled', {
      source_config: { resource_spec: { cpu: 2 }, deployment_type: 'prod' },
      secrets: [{ name: 'KEY', value: 'one' }],
      secret_references: [],
    });
    const first = (await get(id)).body.latest_revision_id;
    await settled(id, first);
    const { body: second } = await patch(id, {
      ...image('2'),
      source_config: { resource_spec: { labels: { a: '1' } }, custom_url: 'rolled.example.com' },
      secrets: [
        { name: 'KEY', value: 'two' },
        { name: 'MORE', value: 'x' },
      ],
    });
    await settled(id, second.latest_revision_id);

    const third = await post(id, '', {});
    expect([third.status, third.body]).toMatchObject([
      201,
      { source_revision_config: { image_uri: 'registry.example/app:2' } },
    ]);
    await settled(id, third.body.id);

    const back = await post(id, `/${first}/redeploy`);
    expect([back.status, back.body]).toMatchObject([
      200,
      {
        image_version: '1',
        secrets: [{ name: 'KEY', value: 'one' }],
        source_config: { custom_url: 'https://rolled.example.com', deployment_type: 'prod' },
      },
    ]);
    const fourth = back.body.latest_revision_id;
    await settled(id, fourth);
    expect((await get(id)).body.source_config.resource_spec).toMatchObject({ cpu: 2, labels: null });

    const { body } = await revisions(id);
    expect(body.resources.map((one: { id: string; status: string }) => [one.id, one.status])).toEqual(
      [fourth, third.body.id, second.latest_revision_id, first].map((one) => [one, 'DEPLOYED']),
    );
    expect((await revisions(id, `/${first}`)).body).toEqual(body.resources[3]);
    expect((await revisions(id, '?limit=1&offset=1&status=DEPLOYED,SKIPPED')).body).toEqual({
      resources: [body.resources[1]],
      offset: 2,
    });
    expect(await field('rolled', '.spec.revisionSerial')).toBe('4');
  });

  it('every revision that was answered exists or is SKIPPED', async () => {
    const id = await created('hurried');
    // With the first no more than are kept, should the controller be quick enough to make every one of them.
    const promised = await Promise.all(Array.from({ length: 9 }, () => post(id)));
    expect(promised.map(({ status }) => status)).toEqual(promised.map(() => 201));
    await settled(id, (await get(id)).body.latest_revision_id);
    const { body } = await revisions(id, '?limit=100');
    const states = new Map(body.resources.map((one: { id: string; status: string }) => [one.id, one.status]));
    expect(states.size).toBe(10);
    for (const one of promised) expect(['DEPLOYED', 'SKIPPED']).toContain(states.get(one.body.id));
    expect(body.resources[0].status).toBe('DEPLOYED');
  });
});

describe('a clone', () => {
  it('is READY with the Secret of its origin, which outlives the origin', async () => {
    const more = { secrets: [{ name: 'KEY', value: 'one' }], source_config: { runtime: { database: 'none' } } };
    const id = await created('origin', more);
    await settled(id, (await get(id)).body.latest_revision_id);
    const clone = (body: object): Promise<Answer> => davit.call(tenant, 'POST', `/v2/deployments/${id}/clone`, body);
    const { status, body } = await clone({ name: 'cloned' });
    expect([status, body.secrets]).toEqual([201, more.secrets]);
    await settled(body.id, body.latest_revision_id);
    expect((await clone({ name: 'cloned' })).status).toBe(409);
    const secretName = await field('cloned', '.spec.secrets[0].secretName');
    expect(await field('origin', '.spec.secrets[0].secretName')).toBe(secretName);
    await davit.call(tenant, 'DELETE', `/v2/deployments/${id}`);
    await eventually(async () => expect((await get(id)).status).toBe(404));
    expect(await davit.kubectl(['get', 'secret', secretName, '-n', tenant.namespace, '-o', 'name'])).toContain(
      secretName,
    );
    expect((await get(body.id)).body).toMatchObject({ status: 'READY', secrets: more.secrets });
  });
});
