// PATCH /v2/deployments/{id} over an in-memory API server: what it makes of a record, what it leaves alone, and who wins.

import { beforeEach, describe, expect, it } from 'vitest';
import { Deployment } from '../../../src/deploy/http/payloads.ts';
import { serialRevisionId } from '../../../src/deploy/record/revision-id.ts';
import { APP_DEPLOYMENTS, type AppDeployment, type AppDeploymentSpec } from '../../../src/kinds/app-deployment.ts';
import { defaultSettings, type Settings } from '../../../src/kinds/settings.ts';
import { Forbidden, Invalid, Unavailable } from '../../../src/runtime/errors.ts';
import { SECRETS } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { type Answer, aBody, anIntegration, type Facade, makeFacade, TENANT, TOKEN } from './facade.ts';

let facade: Facade;
beforeEach(async () => {
  facade = await makeFacade();
});

const MOUNT = { name: 'gone', mountPath: '/gone' };
const MISSING = '12345678-1234-4234-8234-123456789012';
const image = (imageUri: string): object => ({ source_revision_config: { image_uri: imageUri } });

async function made(more: object = {}): Promise<string> {
  const { status, body } = await facade.call('POST', '/v2/deployments', aBody(more));
  expect(status).toBe(201);
  facade.kube.writes.splice(0);
  return body.id;
}
function patch(id: string, body: unknown): Promise<Answer> {
  return facade.call('PATCH', `/v2/deployments/${id}`, body);
}
function stored(): AppDeployment {
  const [record] = facade.kube.objects<AppDeployment>(APP_DEPLOYMENTS);
  if (record === undefined) throw new Error('no record');
  return record;
}
/** Writes the record as somebody else would, without the facade's cache learning of it. */
function meddle(change: (spec: AppDeploymentSpec) => AppDeploymentSpec): void {
  const { metadata, spec, ...rest } = stored();
  facade.kube.seed(APP_DEPLOYMENTS, { ...rest, metadata, spec: change(spec) });
}
function written(): string[] {
  return said().filter((write) => !write.endsWith('dry run'));
}
function said(): string[] {
  return facade.writes().map(({ verb, kind, dryRun }) => `${verb} ${kind}${dryRun === true ? ' dry run' : ''}`);
}

describe('a change', () => {
  it("of the image requests a revision in one write with a precondition and the caller's token", async () => {
    const id = await made();
    const { metadata } = stored();
    const { status, body } = await patch(id, image('registry.example/app:2'));
    expect([status, body.detail]).toEqual([200, undefined]);
    expect(Deployment.parse(body)).toEqual(body);
    expect(body).toMatchObject({
      latest_revision_id: serialRevisionId(id, 2),
      image_version: '2',
      source_revision_config: { image_uri: 'registry.example/app:2' },
    });
    expect(said()).toEqual(['patch AppDeployment']);
    for (const write of facade.writes()) {
      expect(write).toMatchObject({ token: TOKEN, fieldManager: 'davit-api' });
      expect(write.body).toEqual({
        metadata: {
          uid: metadata.uid,
          resourceVersion: metadata.resourceVersion,
          annotations: { 'davit.dev/requested-by': `${id} 2 somebody` },
        },
        spec: { sourceRevisionConfig: { imageUri: 'registry.example/app:2' }, revisionSerial: 2 },
      });
    }
    expect((await facade.call('GET', '/v2/deployments')).body.resources).toMatchObject([{ image_version: '2' }]);
  });

  it.each<[string, object, object, number]>([
    ['a size', { source_config: { resource_spec: { cpu: 2 } } }, { sourceConfig: { resourceSpec: { cpu: 2 } } }, 2],
    ['the type', { source_config: { deployment_type: 'dev' } }, { sourceConfig: { deploymentType: 'dev' } }, 2],
    [
      'the type, by its other name',
      { source_config: { deployment_type: 'dev_zero' } },
      { sourceConfig: { deploymentType: 'dev' } },
      2,
    ],
    ['the address', { source_config: { custom_url: 'a.example' } }, { sourceConfig: { customUrl: 'a.example' } }, 1],
    [
      'references',
      { secret_references: [{ name: 'T', secret_name: 'mine', secret_key: 't' }] },
      { secretReferences: [{ name: 'T', secretName: 'mine', secretKey: 't' }] },
      2,
    ],
  ])('of %s', async (_name, body, spec, serial) => {
    const id = await made();
    expect((await patch(id, body)).status).toBe(200);
    expect(stored().spec).toMatchObject({ ...spec, revisionSerial: serial });
  });

  it('of build_on_push needs no revision', async () => {
    facade = await makeFacade({ hosting: 'cloud' });
    anIntegration(facade, MISSING);
    const id = await made({
      source: 'codehost',
      source_config: { integration_id: MISSING, repo_url: 'https://host.example/a/b' },
      source_revision_config: { repo_ref: 'main', workflow_config_path: 'w.json' },
    });
    const answer = await patch(id, { source_config: { build_on_push: true, integration_id: MISSING } });
    expect([answer.status, answer.body.latest_revision_id]).toEqual([200, serialRevisionId(id, 1)]);
    expect(stored().spec).toMatchObject({ sourceConfig: { buildOnPush: true }, revisionSerial: 1 });
  });

  it('of the image of internal_docker is its first revision', async () => {
    facade = await makeFacade({ hosting: 'cloud' });
    const id = await made({ source: 'internal_docker', source_revision_config: {} });
    expect((await patch(id, { source_config: { resource_spec: { cpu: 2 } } })).body.latest_revision_id).toBeNull();
    const { body } = await patch(id, image('registry.example/pushed:1'));
    expect(body.latest_revision_id).toBe(serialRevisionId(id, 1));
  });

  describe('of resource_spec is merged field by field', () => {
    const before = { cpu: 2, memory_mb: 512, db_cpu: 0.2, labels: { a: '1' }, volumes: [{ name: 'v', emptyDir: {} }] };
    const kept = { cpu: 2, memoryMb: 512, dbCpu: 0.2, labels: { a: '1' }, volumes: [{ name: 'v', emptyDir: {} }] };

    it.each<[string, object, object | undefined]>([
      ['what is not sent stays', { cpu_limit: 5 }, { ...kept, cpuLimit: 5 }],
      ['{} changes nothing', {}, kept],
      ['null sets one back to its default', { cpu: null, db_cpu: null }, { ...kept, cpu: undefined, dbCpu: undefined }],
      ['null for what is unset', { redis_cpu: null, sidecars: null }, kept],
      ['a map is replaced', { labels: { b: '2' } }, { ...kept, labels: { b: '2' } }],
      [
        'a list is replaced',
        { volumes: [{ name: 'w', emptyDir: {} }] },
        { ...kept, volumes: [{ name: 'w', emptyDir: {} }] },
      ],
      ['empty is none', { labels: {}, volumes: [] }, { ...kept, labels: undefined, volumes: undefined }],
      [
        'a mount of a volume that there is',
        { volume_mounts: [{ name: 'v', mountPath: '/v' }] },
        { ...kept, volumeMounts: [{ name: 'v', mountPath: '/v' }] },
      ],
      ['nothing is left', { cpu: null, memory_mb: null, db_cpu: null, labels: null, volumes: null }, undefined],
    ])('%s', async (_name, resource_spec, after) => {
      const id = await made({ source_config: { resource_spec: before, custom_url: 'a.example' } });
      const { status, body } = await patch(id, { source_config: { resource_spec } });
      expect([status, body.detail]).toEqual([200, undefined]);
      const want = after && (JSON.parse(JSON.stringify(after)) as object);
      expect(stored().spec.sourceConfig).toEqual({ customUrl: 'a.example', ...(want && { resourceSpec: want }) });
      expect(stored().spec.revisionSerial).toBe(after === kept ? 1 : 2);
    });

    it('also with POST of a revision', async () => {
      const id = await made({ source_config: { resource_spec: before } });
      const path = `/v2/deployments/${id}/revisions`;
      const answer = await facade.call('POST', path, { source_config: { resource_spec: { max_scale: 3, cpu: null } } });
      expect(answer.status).toBe(201);
      const { cpu: _setBack, ...rest } = kept;
      expect(stored().spec.sourceConfig.resourceSpec).toEqual({ ...rest, maxScale: 3 });
    });

    it('a change of the scale alone asks for no revision', async () => {
      const id = await made({ source_config: { resource_spec: before } });
      const { body } = await patch(id, { source_config: { resource_spec: { min_scale: 2, max_scale: 4 } } });
      expect(body.source_config.resource_spec).toMatchObject({ min_scale: 2, max_scale: 4, cpu: 2 });
      expect(stored().spec).toMatchObject({
        revisionSerial: 1,
        sourceConfig: { resourceSpec: { ...kept, minScale: 2, maxScale: 4 } },
      });
    });

    it('a change of the scale changes no other effective value', async () => {
      const sizes = { db_cpu: 0.1, db_memory_mb: 256, db_storage_gi: 1, redis_cpu: 0.1, redis_memory_mb: 64, cpu: 0.2 };
      const id = await made({ source_config: { resource_spec: sizes } });
      const read = async (): Promise<object> =>
        (await facade.call('GET', `/v2/deployments/${id}`)).body.source_config.resource_spec;
      const inForce = await read();
      await patch(id, { source_config: { resource_spec: { min_scale: 2, max_scale: 2 } } });
      expect(await read()).toEqual({ ...inForce, min_scale: 2, max_scale: 2 });
    });

    it('a value in force is stored if another value of the patch would change it', async () => {
      const read = async (id: string): Promise<Record<string, unknown>> =>
        (await facade.call('GET', `/v2/deployments/${id}`)).body.source_config.resource_spec;
      const id = await made();
      expect(await read(id)).toMatchObject({ memory_mb: 512, memory_limit_mb: 1024 });
      await patch(id, { source_config: { resource_spec: { memory_mb: 1024, memory_limit_mb: 1024, cpu: 0.25 } } });
      expect(stored().spec.sourceConfig.resourceSpec).toEqual({ memoryMb: 1024, memoryLimitMb: 1024 });
      expect(await read(id)).toMatchObject({ memory_mb: 1024, memory_limit_mb: 1024 });
    });

    it('an existing volume is never shown as smaller, and sending its size back changes nothing', async () => {
      const id = await made({ source_config: { resource_spec: { db_storage_gi: 20 } } });
      const first = facade.snapshot();
      const storage = async (): Promise<number> =>
        (await facade.call('GET', `/v2/deployments/${id}`)).body.source_config.resource_spec.db_storage_gi;
      const report = (latestRevisionId: string): void => {
        const record = { ...stored(), status: { latestRevisionId, resourceSpec: { dbStorageGi: 20 } } };
        facade.records.put(record as never);
      };
      report(first.spec.id);
      const smaller = { source_config: { resource_spec: { db_storage_gi: 5 } } };
      await patch(id, smaller);
      report(first.spec.id);
      expect(await storage()).toBe(20);
      const second = facade.snapshot();
      expect(await storage()).toBe(20);
      report(second.spec.id);
      expect(await storage()).toBe(20);
    });

    it.each<[string, object, string, string]>([
      [
        'a volume that is mounted is taken away',
        { volumes: [] },
        'volume_mounts.0.name',
        'no volume has the name of this mount: add one to volumes',
      ],
    ])('%s', async (_name, resource_spec, where, msg) => {
      const id = await made({
        source_config: {
          resource_spec: {
            cpu: 2,
            cpu_limit: 2,
            volumes: [{ name: 'v', emptyDir: {} }],
            volume_mounts: [{ name: 'v', mountPath: '/v' }],
          },
        },
      });
      const { status, body } = await patch(id, { source_config: { resource_spec } });
      const told = body.detail.map((one: { loc: string[]; msg: string }) => [one.loc.join('.'), one.msg]);
      expect([status, told]).toEqual([422, [[`body.source_config.resource_spec.${where}`, msg]]]);
      expect(written()).toEqual([]);
    });

    it('existing values that are no longer allowed do not block other changes', async () => {
      const id = await made();
      meddle((spec) => ({ ...spec, sourceConfig: { resourceSpec: { cpu: 65, volumeMounts: [MOUNT] } } }));
      facade.records.fill();
      expect((await patch(id, { source_config: { resource_spec: { max_scale: 3 } } })).status).toBe(200);
      expect(stored().spec.sourceConfig.resourceSpec).toEqual({ cpu: 65, maxScale: 3, volumeMounts: [MOUNT] });
    });
  });

  it.each([
    ['custom_url', 'https://a.example'],
    ['install_command', 'make'],
    ['build_command', 'make'],
    ['deployment_type', 'prod'],
  ])('"" removes %s', async (field, value) => {
    facade = await makeFacade({ hosting: 'cloud' });
    const id = await made({
      source: 'internal_source',
      source_config: { [field]: value },
      source_revision_config: {},
    });
    const before = stored();
    expect((await patch(id, { source_config: { [field]: null } })).body.source_config[field]).toBe(value);
    expect(stored()).toEqual(before);
    const { status, body } = await patch(id, { source_config: { [field]: '' } });
    expect([status, body.source_config[field]]).toEqual([200, null]);
    expect(stored().spec.sourceConfig).toEqual({});
    const after = stored();
    expect((await patch(id, { source_config: { [field]: '' } })).status).toBe(200);
    expect(stored()).toEqual(after);
  });

  it('an empty command in a POST means none', async () => {
    facade = await makeFacade({ hosting: 'cloud' });
    await made({ source: 'internal_source', source_config: { install_command: '' }, source_revision_config: {} });
    expect(stored().spec.sourceConfig).toEqual({});
  });

  it('sent values in force stay unset beside values that change', async () => {
    const id = await made();
    const { body } = await facade.call('GET', `/v2/deployments/${id}`);
    const resource_spec = { ...body.source_config.resource_spec, memory_mb: 1024, memory_limit_mb: 1500 };
    await patch(id, { source_config: { resource_spec } });
    expect(stored().spec.sourceConfig).toEqual({ resourceSpec: { memoryMb: 1024, memoryLimitMb: 1500 } });
  });

  it('removes rollbackTo', async () => {
    const id = await made();
    meddle((spec) => ({ ...spec, rollbackTo: serialRevisionId(id, 1), revisionSerial: 5 }));
    await patch(id, image('registry.example/app:2'));
    expect(stored().spec.rollbackTo).toBeUndefined();
    expect(stored().spec.revisionSerial).toBe(6);
  });
});

describe('a change that follows a rollback', () => {
  const to = '11111111-1111-5111-8111-111111111111';

  async function rolledBack(): Promise<string> {
    const id = await made();
    meddle((spec) => ({ ...spec, rollbackTo: to, revisionSerial: 5 }));
    return id;
  }

  it('keeps rollbackTo as long as no revision was made for it', async () => {
    const id = await rolledBack();
    expect((await patch(id, { source_config: { resource_spec: { memory_mb: 1024 } } })).status).toBe(200);
    expect(stored().spec).toMatchObject({ rollbackTo: to, revisionSerial: 6 });
  });

  it('removes it where a new revision is asked for whatever changes', async () => {
    const id = await rolledBack();
    expect((await facade.call('POST', `/v2/deployments/${id}/revisions`, {})).status).toBe(201);
    expect(stored().spec).not.toHaveProperty('rollbackTo');
  });
});

describe('a change before a revision was made for the last one', () => {
  const memory = (memory_mb: number): object => ({ source_config: { resource_spec: { memory_mb } } });

  it('keeps the request to rebuild', async () => {
    const id = await made(memory(512));
    facade.snapshot({ state: 'DEPLOYED' });
    expect((await facade.call('POST', `/v2/deployments/${id}/revisions`, {})).status).toBe(201);
    expect(stored().spec).toMatchObject({ revisionSerial: 2, rebuildSerial: 2 });
    expect((await patch(id, memory(1024))).status).toBe(200);
    expect(stored().spec).toMatchObject({ revisionSerial: 3, rebuildSerial: 2 });
  });

  it('takes it back by a rollback to the newest revision', async () => {
    const id = await made(memory(512));
    const { spec } = facade.snapshot({ state: 'DEPLOYED' });
    await patch(id, memory(1024));
    expect(stored().spec).not.toHaveProperty('rollbackTo');
    await patch(id, memory(512));
    expect(stored().spec).toMatchObject({ revisionSerial: 3, rollbackTo: spec.id });
    expect(stored().spec).not.toHaveProperty('rebuildSerial');
  });
});

describe('a PATCH without a change', () => {
  const everything = {
    source_config: {
      custom_url: 'https://shop.example',
      resource_spec: {
        cpu: 64,
        queue_max_scale: 3,
        executor_memory_mb: 64,
        volumes: [
          { name: 'b', emptyDir: {} },
          { name: 'a', configMap: { name: 'c' } },
        ],
        init_containers: [{ name: 'i', image: 'x', env: [{ name: 'A', value: '' }] }],
        labels: { a: '1' },
        image_pull_secrets: [{ name: 'p' }],
      },
    },
    secrets: [
      { name: 'B', value: 'canary-of-a-value' },
      { name: 'A', value: '' },
    ],
    secret_references: [{ name: 'T', secret_name: 'mine', secret_key: 't' }],
  };

  it.each<[string, object, Partial<Settings>]>([
    ['the smallest', {}, {}],
    ['the largest', everything, {}],
    ['a preset', { source_config: { deployment_type: 'prod' } }, {}],
    [
      'a repository',
      {
        source: 'codehost',
        source_config: { integration_id: MISSING, repo_url: 'https://host.example/a/b', build_on_push: false },
        source_revision_config: { repo_ref: 'main', workflow_config_path: 'w.json' },
      },
      { hosting: 'cloud' },
    ],
    ['an image still to be pushed', { source: 'internal_docker', source_revision_config: {} }, { hosting: 'cloud' }],
  ])('sends back an answer: %s', async (_name, body, settings) => {
    facade = await makeFacade(settings);
    anIntegration(facade, MISSING);
    const id = await made(body);
    const before = stored();
    const { body: read } = await facade.call('GET', `/v2/deployments/${id}`);
    const { status, body: answer } = await patch(id, read);
    expect([status, answer]).toEqual([200, read]);
    const [inList] = (await facade.call('GET', '/v2/deployments')).body.resources;
    expect((await patch(id, inList)).status).toBe(200);
    expect(stored()).toEqual(before);
    expect(new Set(said())).toEqual(new Set(['patch AppDeployment dry run']));
  });

  it.each<[string, unknown]>([
    ['nothing', {}],
    ['nulls', { source_config: null, source_revision_config: { image_uri: null }, secrets: null, name: null }],
    ['no secrets', { secrets: [] }],
    ['unknown fields', { color: 'red', id: MISSING, source_config: { fog: 1 } }],
    [
      'an order that means nothing',
      {
        secrets: [
          { name: 'A', value: '' },
          { name: 'B', value: 'canary-of-a-value' },
        ],
      },
    ],
    ['the bare host', { source_config: { custom_url: 'shop.example' } }],
  ])('is %s', async (_name, body) => {
    const id = await made(everything);
    const before = stored();
    expect((await patch(id, body)).status).toBe(200);
    expect(stored()).toEqual(before);
    expect(said()).toEqual(['patch AppDeployment dry run']);
  });

  it('pins no default of the newest revision after the settings changed', async () => {
    const id = await made();
    facade.snapshot(undefined, { ...defaultSettings(), pods: { ...defaultSettings().pods, port: 9000 } });
    const before = stored();
    await patch(id, (await facade.call('GET', `/v2/deployments/${id}`)).body);
    expect(stored()).toEqual(before);
  });

  it('leaves empty maps of kubectl unchanged', async () => {
    const id = await made();
    meddle((spec) => ({ ...spec, sourceConfig: { resourceSpec: { labels: {}, volumes: [] } } }));
    facade.records.fill();
    const before = stored();
    await patch(id, (await facade.call('GET', `/v2/deployments/${id}`)).body);
    expect(stored()).toEqual(before);
  });

  it('is rejected for a caller without the right to change it', async () => {
    const id = await made();
    facade.kube.failOn(({ verb }) =>
      verb === 'patch' ? new Forbidden('x', { serverMessage: 'User "u" cannot patch' }) : undefined,
    );
    const { status, body } = await patch(id, {});
    expect([status, body]).toEqual([403, { detail: 'User "u" cannot patch' }]);
  });
});

describe('secrets', () => {
  const first = { name: 'KEY', secretName: 'shop--vars-r4nd0m', secretKey: 'KEY' };
  const other = { name: 'OTHER', secretName: 'shop--vars-r4nd0m', secretKey: 'OTHER' };
  const inNewSecret = (name: string): object => ({ name, secretName: 'shop--vars-r4nd0m1', secretKey: name });
  const KEY = { name: 'KEY', value: 'one' };
  const OTHER = { name: 'OTHER', value: 'two' };
  let id: string;
  beforeEach(async () => {
    id = await made({ secrets: [KEY, OTHER] });
  });

  it.each<[string, object[], object[], Record<string, string>]>([
    ['one value', [{ ...KEY, value: 'new' }, OTHER], [inNewSecret('KEY'), other], { KEY: 'new' }],
    [
      'one value, the other kept by ""',
      [
        { ...KEY, value: 'new' },
        { ...OTHER, value: '' },
      ],
      [inNewSecret('KEY'), other],
      { KEY: 'new' },
    ],
    [
      'one more',
      [KEY, OTHER, { name: 'THIRD', value: 'three' }],
      [first, other, inNewSecret('THIRD')],
      { THIRD: 'three' },
    ],
    [
      'one more, empty',
      [KEY, OTHER, { name: 'THIRD', value: '' }],
      [first, other, inNewSecret('THIRD')],
      { THIRD: '' },
    ],
    ['one fewer', [KEY], [first], {}],
    ['all others', [{ name: 'THIRD', value: 'ü\n' }], [inNewSecret('THIRD')], { THIRD: 'ü\n' }],
  ])('%s', async (_name, secrets, want, values) => {
    const { status, body } = await patch(id, { secrets });
    expect([status, stored().spec.secrets, stored().spec.revisionSerial]).toEqual([200, want, 2]);
    const made = facade.kube
      .objects<AppDeployment & { data: Record<string, string>; immutable: boolean }>(SECRETS)
      .find(({ metadata }) => metadata.name === 'shop--vars-r4nd0m1');
    const data = Object.entries(made?.data ?? {}).map(([name, value]) => [
      name,
      Buffer.from(value, 'base64').toString(),
    ]);
    expect(Object.fromEntries(data)).toEqual(values);
    expect(made?.immutable ?? true).toBe(true);
    expect(body.secrets).toEqual((await facade.call('GET', `/v2/deployments/${id}`)).body.secrets);
    expect(said()).toEqual([
      ...(made === undefined ? [] : ['patch AppDeployment dry run', 'create Secret']),
      'patch AppDeployment',
    ]);
  });

  it('a value from a caller who may not read it counts as changed, "" does not', async () => {
    facade.kube.failOn(({ verb, kind }) => (kind === 'Secret' && verb === 'get' ? new Forbidden('no') : undefined));
    expect(
      (
        await patch(id, {
          secrets: [
            { ...KEY, value: '' },
            { ...OTHER, value: '' },
          ],
        })
      ).status,
    ).toBe(200);
    expect(stored().spec.revisionSerial).toBe(1);
    const { body } = await patch(id, { secrets: [KEY, { ...OTHER, value: '' }] });
    expect(stored().spec.secrets).toEqual([
      { ...inNewSecret('KEY'), secretName: expect.stringMatching(/^shop--vars-/) },
      other,
    ]);
    expect(stored().spec.revisionSerial).toBe(2);
    expect(body.secrets).toEqual([KEY, { name: 'OTHER', value: '' }]);
  });

  it('[] removes the references, and keeps the secrets', async () => {
    await patch(id, { secret_references: [{ name: 'T', secret_name: 'mine', secret_key: 't' }] });
    const { body } = await patch(id, { secret_references: [], secrets: [] });
    expect([body.secret_references, stored().spec.secretReferences, stored().spec.secrets]).toEqual([
      null,
      undefined,
      [first, other],
    ]);
    expect(stored().spec.revisionSerial).toBe(3);
  });

  it.each([
    ['refused', new Forbidden('x', { serverMessage: 'no' }), 403, 1],
    ['without an answer', new Unavailable('x'), 503, 2],
  ])('a write %s leaves no Secret that no record can name', async (_name, error, status, secrets) => {
    facade.kube.failOn(({ verb, dryRun }) => (verb === 'patch' && dryRun !== true ? error : undefined));
    expect((await patch(id, { secrets: [{ ...KEY, value: 'new' }] })).status).toBe(status);
    expect(facade.kube.objects(SECRETS).length).toBe(secrets);
  });

  it("the dry run's rejection has the request's field names, and nothing is created", async () => {
    facade.kube.failOn(({ dryRun }) =>
      dryRun === true
        ? new Invalid('x', [{ field: 'spec.sourceConfig.customUrl', message: 'taken', reason: 'FieldValueInvalid' }])
        : undefined,
    );
    const { status, body } = await patch(id, { secrets: [{ ...KEY, value: 'new' }] });
    expect([status, body.detail]).toEqual([
      422,
      [{ loc: ['body', 'source_config', 'custom_url'], msg: 'taken', type: 'value_error' }],
    ]);
    expect(facade.kube.objects(SECRETS).length).toBe(1);
  });
});

describe('concurrent changes', () => {
  it('a concurrent change is kept and considered', async () => {
    const id = await made();
    meddle((spec) => ({ ...spec, sourceConfig: { deploymentType: 'prod' }, revisionSerial: 2 }));
    const { status, body } = await patch(id, image('registry.example/app:2'));
    expect([status, body.latest_revision_id, body.source_config.deployment_type]).toEqual([
      200,
      serialRevisionId(id, 3),
      'prod',
    ]);
  });

  it('a change is written although an outdated cache hides it', async () => {
    const id = await made();
    meddle((spec) => ({ ...spec, sourceRevisionConfig: { imageUri: 'registry.example/app:2' }, revisionSerial: 2 }));
    await patch(id, image('registry.example/app:1'));
    expect(stored().spec).toMatchObject({
      sourceRevisionConfig: { imageUri: 'registry.example/app:1' },
      revisionSerial: 3,
    });
  });

  it('keeps its Secret between attempts, and deletes it if it is not needed', async () => {
    const id = await made({ secrets: [{ name: 'KEY', value: 'one' }] });
    let meddled = 0;
    facade.kube.failOn(({ verb, dryRun }) => {
      if (verb === 'patch' && dryRun !== true && meddled++ < 2)
        meddle((spec) => ({ ...spec, revisionSerial: 7 + meddled }));
      return undefined;
    });
    expect((await patch(id, { secrets: [{ name: 'KEY', value: 'new' }] })).status).toBe(200);
    expect(said().filter((write) => write === 'create Secret').length).toBe(1);
    expect(stored().spec).toMatchObject({ revisionSerial: 10, secrets: [{ secretName: 'shop--vars-r4nd0m1' }] });
  });

  it('twenty at once: none is lost', async () => {
    const id = await made();
    const numbers = Array.from({ length: 20 }, (_, n) => n);
    const answers = await Promise.all(numbers.map((n) => patch(id, image(`registry.example/app:p${n}`))));
    expect(answers.map(({ status }) => status)).toEqual(numbers.map(() => 200));
    expect(new Set(answers.map(({ body }) => body.latest_revision_id)).size).toBe(20);
    expect(stored().spec.revisionSerial).toBe(21);
  });

  it('a change that always conflicts gets 409', async () => {
    const id = await made();
    facade.kube.failOn(({ verb, dryRun }) => {
      if (verb === 'patch' && dryRun !== true)
        meddle((spec) => ({ ...spec, revisionSerial: (spec.revisionSerial ?? 0) + 1 }));
      return undefined;
    });
    const { status, body } = await patch(id, image('registry.example/app:2'));
    expect([status, body]).toEqual([
      409,
      { detail: 'Deployment "shop" was changed by another request meanwhile. Read it and try again.' },
    ]);
  });

  it.each([
    [
      'one that is being deleted',
      { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['davit.dev/teardown'] },
      409,
    ],
    ['none', undefined, 404],
  ])('the record became %s', async (_name, metadata, status) => {
    const id = await made();
    const record = stored();
    if (metadata === undefined) facade.kube.erase(APP_DEPLOYMENTS, { namespace: TENANT.namespace, name: 'shop' });
    else facade.kube.seed(APP_DEPLOYMENTS, { ...record, metadata: { ...record.metadata, ...metadata } });
    const answer = await patch(id, image('registry.example/app:2'));
    expect([answer.status, answer.body]).toEqual([
      status,
      {
        detail:
          status === 404
            ? `Deployment ID ${id} not found.`
            : 'Deployment "shop" is being deleted and can no longer be changed.',
      },
    ]);
  });
});

describe('refused', () => {
  const frozen = 'cannot be changed after creation';
  it.each<[string, unknown, [string, string, string][]]>([
    ['no body', undefined, [['body', 'is required', 'missing']]],
    ['a list', [], [['body', 'must be an object', 'dict_type']]],
    ['another name', { name: 'shop2' }, [['body.name', frozen, 'frozen_field']]],
    ['another source', { source: 'internal_docker' }, [['body.source', frozen, 'frozen_field']]],
    [
      'a source that is none',
      { source: 'x' },
      [
        [
          'body.source',
          'must be one of codehost, external_docker, internal_docker, internal_source, internal_template',
          'enum',
        ],
      ],
    ],
    [
      'an image that is none',
      image('no image'),
      [
        [
          'body.source_revision_config.image_uri',
          'must be an image reference such as registry.example.com/team/app:1.2, with the path in lower case',
          'string_pattern_mismatch',
        ],
      ],
    ],
    [
      'a limit above the largest',
      { source_config: { resource_spec: { cpu_limit: 65, memory_limit_mb: 9_000_000 } } },
      [
        ['body.source_config.resource_spec.cpu_limit', 'must be at most 64', 'less_than_equal'],
        ['body.source_config.resource_spec.memory_limit_mb', 'must be at most 4194304', 'less_than_equal'],
      ],
    ],
    [
      'a size as text',
      { source_config: { resource_spec: { cpu_limit: '1', memory_limit_mb: 64.5 } } },
      [
        ['body.source_config.resource_spec.cpu_limit', 'must be a number', 'float_type'],
        ['body.source_config.resource_spec.memory_limit_mb', 'must be an integer', 'int_type'],
      ],
    ],
    ['a secret without a value', { secrets: [{ name: 'A' }] }, [['body.secrets.0.value', 'is required', 'missing']]],
    [
      'a name twice',
      {
        secrets: [
          { name: 'A', value: '1' },
          { name: 'A', value: '2' },
        ],
      },
      [['body.secrets.1.name', 'this name is a duplicate', 'value_error']],
    ],
    [
      'a secret that is a reference already',
      { secrets: [{ name: 'REFERENCE', value: '1' }] },
      [['body.secrets.0.name', 'a name may be in secrets or in secret_references, not in both', 'value_error']],
    ],
    [
      'a reference that is a secret already',
      { secret_references: [{ name: 'SECRET', secret_name: 'mine', secret_key: 'x' }] },
      [
        [
          'body.secret_references.0.name',
          'a name may be in secrets or in secret_references, not in both',
          'value_error',
        ],
      ],
    ],
  ])('%s', async (_name, body, findings) => {
    const id = await made({
      secrets: [{ name: 'SECRET', value: '1' }],
      secret_references: [{ name: 'REFERENCE', secret_name: 'mine', secret_key: 'x' }],
    });
    const answer = await patch(id, body);
    const told = answer.body.detail.map(({ loc, msg, type }: { loc: string[]; msg: string; type: string }) => [
      loc.join('.'),
      msg,
      type,
    ]);
    expect([answer.status, told]).toEqual([422, findings]);
    expect(written()).toEqual([]);
  });

  it.each([
    ['a deployment that is not there', MISSING, 404],
    ['an id that is none', 'x', 422],
  ])('%s', async (_name, id, status) => {
    expect((await patch(id, {})).status).toBe(status);
  });
});

it('the log contains no value', async () => {
  const id = await made({ secrets: [{ name: 'KEY', value: 'canary' }] });
  await patch(id, { secrets: [{ name: 'KEY', value: 'canary-two' }] });
  expect(facade.log()).toContain('PATCH');
  expect(facade.log()).not.toMatch(/canary|Y2FuYXJ5/);
});

describe('tasks', () => {
  const TASKS = [{ name: 'clean', schedule: '@hourly', time_zone: 'Etc/UTC', command: ['clean'] }];
  const tasks = (list: unknown): object => ({ source_config: { tasks: list } });

  it('are shown with null where unset, and sending the answer back changes nothing', async () => {
    const id = await made(tasks(TASKS));
    const { body } = await facade.call('GET', `/v2/deployments/${id}`);
    expect(body.source_config.tasks).toEqual([{ ...TASKS[0], concurrency: null, timeout_seconds: null }]);
    expect(stored().spec.sourceConfig.tasks).toEqual([
      { name: 'clean', schedule: '@hourly', timeZone: 'Etc/UTC', command: ['clean'] },
    ]);
    expect((await patch(id, body)).status).toBe(200);
    expect((await patch(id, tasks(null))).status).toBe(200);
    expect(written()).toEqual([]);
  });

  it('a list replaces the previous one and asks for a revision, and an empty one removes all', async () => {
    const id = await made(tasks(TASKS));
    const { body } = await patch(id, tasks([{ name: 'ask', command: ['ask'], timeout_seconds: 60 }]));
    expect(body).toMatchObject({
      source_config: { tasks: [{ name: 'ask', schedule: null, timeout_seconds: 60 }] },
      latest_revision_id: serialRevisionId(id, 2),
    });
    expect((await patch(id, tasks([]))).body.source_config.tasks).toBeNull();
    expect(stored().spec.sourceConfig).not.toHaveProperty('tasks');
  });
});

describe('backups', () => {
  const backup = (fields: unknown): object => ({ source_config: { database: { backup: fields } } });

  it('are shown with null where unset, and sending the answer back changes nothing', async () => {
    const id = await made(backup({ schedule: '@daily', stale_after_hours: 30 }));
    const { body } = await facade.call('GET', `/v2/deployments/${id}`);
    expect(body.source_config.database.backup).toEqual({
      enabled: null,
      schedule: '@daily',
      time_zone: null,
      keep: null,
      keep_days: null,
      stale_after_hours: 30,
      verify: null,
      verify_schedule: null,
      verify_stale_after_hours: null,
    });
    const { database_backup, database_verification, database_restore } = body;
    expect([body.source_config.database.restore, database_backup, database_verification, database_restore]).toEqual([
      null,
      null,
      null,
      null,
    ]);
    expect(stored().spec.sourceConfig.database).toEqual({ backup: { schedule: '@daily', staleAfterHours: 30 } });
    expect((await patch(id, body)).status).toBe(200);
    expect((await patch(id, { source_config: { database: null } })).status).toBe(200);
    expect((await patch(id, { source_config: { database: {} } })).status).toBe(200);
    expect(written()).toEqual([]);
  });

  it('are merged field by field without a revision, and null takes them away', async () => {
    const id = await made(backup({ schedule: '@daily', keep: 3 }));
    const before = stored().spec.revisionSerial;
    await patch(id, backup({ keep: 5 }));
    expect(stored().spec.sourceConfig.database).toEqual({ backup: { schedule: '@daily', keep: 5 } });
    await patch(id, backup({ schedule: null }));
    expect(stored().spec.sourceConfig.database).toEqual({ backup: { keep: 5 } });
    await patch(id, backup(null));
    expect(stored().spec.sourceConfig).not.toHaveProperty('database');
    await patch(id, backup({}));
    expect(stored().spec.sourceConfig.database).toEqual({ backup: {} });
    expect(stored().spec.revisionSerial).toBe(before);
  });
});

describe('the driver of the database', () => {
  const driver = (database: unknown): object => ({ source_config: { database } });

  it('is set with its instances, each with a revision, and null takes one away', async () => {
    const id = await made(driver({ driver: 'cloudnative-pg', instances: 3 }));
    expect(stored().spec.sourceConfig.database).toEqual({ driver: 'cloudnative-pg', instances: 3 });
    const before = stored().spec.revisionSerial ?? 0;
    await patch(id, driver({ instances: 2, backup: {} }));
    expect(stored().spec).toMatchObject({
      sourceConfig: { database: { driver: 'cloudnative-pg', instances: 2, backup: {} } },
      revisionSerial: before + 1,
    });
    await patch(id, driver({ instances: null, backup: null }));
    expect(stored().spec.sourceConfig.database).toEqual({ driver: 'cloudnative-pg' });
    expect(stored().spec.revisionSerial).toBe(before + 2);
  });

  it('is refused where it has no instances, or is none', async () => {
    const id = await made();
    const refused = async (database: object): Promise<string> =>
      JSON.stringify((await patch(id, driver(database))).body);
    expect(await refused({ driver: 'cloudnative-pg', instances: 0 })).toContain('instances');
    expect(await refused({ driver: 'shared' })).toContain('driver');
    expect(stored().spec.sourceConfig).not.toHaveProperty('database');
  });

  it('does not change once there is data, and the answer says the way', async () => {
    const id = await made();
    const { name } = stored().metadata;
    facade.kube.seed(APP_DEPLOYMENTS, { ...stored(), status: { databaseVolumeUid: 'u' } } as KubeObject);
    const answer = await patch(id, driver({ driver: 'cloudnative-pg' }));
    expect(answer.status).toBe(422);
    expect(JSON.stringify(answer.body)).toContain(`To move it: kubectl davit database move ${name}.`);
    expect((await patch(id, driver({ driver: 'pod' }))).status).toBe(200);
  });
});

describe('what becomes of the database', () => {
  it('is shown, is set at the creation, and changes without a revision', async () => {
    const id = await made();
    const answer = (await facade.call('GET', `/v2/deployments/${id}`)).body;
    expect(answer).toMatchObject({ database_deletion_policy: 'Retain' });
    expect((await patch(id, answer)).status).toBe(200);
    expect(said()).toEqual(['patch AppDeployment dry run']);
    facade.kube.writes.splice(0);
    const { body } = await patch(id, { database_deletion_policy: 'Delete' });
    expect(body).toMatchObject({ database_deletion_policy: 'Delete', latest_revision_id: answer.latest_revision_id });
    expect(facade.writes().map((write) => (write.body as { spec: object }).spec)).toEqual([
      { databaseDeletionPolicy: 'Delete' },
    ]);
    expect((await patch(id, { database_deletion_policy: 'Keep' })).status).toBe(422);
    await patch(id, { database_deletion_policy: null });
    expect(stored().spec.databaseDeletionPolicy).toBe('Delete');
  });

  it('may be asked for with the creation', async () => {
    await made({ database_deletion_policy: 'Retain' });
    expect(stored().spec.databaseDeletionPolicy).toBe('Retain');
  });
});

describe('an archive', () => {
  const database = (fields: unknown): object => ({ source_config: { database: fields } });

  it('is merged field by field without a revision, and null sets a field back', async () => {
    const id = await made(database({ driver: 'cloudnative-pg', archive: { keep_days: 3 } }));
    const before = stored().spec.revisionSerial;
    await patch(id, database({ archive: { schedule: '@daily' } }));
    await patch(id, database({ archive: { keep_days: null } }));
    expect([stored().spec.sourceConfig.database, stored().spec.revisionSerial]).toEqual([
      { driver: 'cloudnative-pg', archive: { schedule: '@daily' } },
      before,
    ]);
  });

  it('that is turned off is no hindrance to another driver', async () => {
    await made(database({ driver: 'pod', archive: { enabled: false } }));
    expect(stored().spec.sourceConfig.database).toEqual({ driver: 'pod', archive: { enabled: false } });
  });
});

describe('extensions', () => {
  const database = (fields: unknown): object => ({ source_config: { database: fields } });

  it('are made with the database', async () => {
    const id = await made(database({ extensions: ['vector'] }));
    expect(stored().spec.sourceConfig.database).toEqual({ extensions: ['vector'] });
    const same = await facade.call('PATCH', `/v2/deployments/${id}`, database({ extensions: ['vector'] }));
    expect(same.status).toBe(200);
    expect((await facade.call('PATCH', `/v2/deployments/${id}`, database({ extensions: null }))).status).toBe(200);
  });

  it('of other names are refused', async () => {
    const { status, body } = await facade.call('POST', '/v2/deployments', aBody(database({ extensions: ['dblink'] })));
    expect([status, JSON.stringify(body.detail)]).toEqual([422, expect.stringMatching(/vector/)]);
  });
});

describe('a restore', () => {
  const restore = (fields: unknown): object => ({ source_config: { database: { restore: fields } } });

  it('is shown as it was asked for, and sending the answer back changes nothing', async () => {
    const id = await made(restore({ from: 'old', at: '2026-02-01T00:00:00Z' }));
    const { body } = await facade.call('GET', `/v2/deployments/${id}`);
    expect(body.source_config.database).toEqual({
      driver: null,
      instances: null,
      extensions: null,
      backup: null,
      archive: null,
      restore: { from: 'old', namespace: null, at: '2026-02-01T00:00:00Z', backup: null, archive: null },
    });
    expect(stored().spec.sourceConfig.database).toEqual({ restore: { from: 'old', at: '2026-02-01T00:00:00Z' } });
    expect((await patch(id, body)).status).toBe(200);
    expect(written()).toEqual([]);
  });

  it('is replaced as a whole without a revision, and null takes it away', async () => {
    const id = await made(restore({ from: 'old', at: '2026-02-01T00:00:00Z' }));
    const before = stored().spec.revisionSerial;
    await patch(id, restore({ from: 'older' }));
    expect(stored().spec.sourceConfig.database).toEqual({ restore: { from: 'older' } });
    await patch(id, { source_config: { database: { backup: {} } } });
    expect(stored().spec.sourceConfig.database).toEqual({ backup: {}, restore: { from: 'older' } });
    await patch(id, restore(null));
    expect(stored().spec.sourceConfig.database).toEqual({ backup: {} });
    expect(stored().spec.revisionSerial).toBe(before);
  });
});

describe('plain variables', () => {
  const ENV = [
    { name: 'LOG_LEVEL', value: 'info' },
    { name: 'REGION', value: 'eu' },
  ];
  const env = (list: unknown): object => ({ source_config: { env: list } });

  it('are shown as they are, and sending the answer back changes nothing', async () => {
    const id = await made(env(ENV));
    const { body } = await facade.call('GET', `/v2/deployments/${id}`);
    expect(body.source_config.env).toEqual(ENV);
    expect((await patch(id, body)).status).toBe(200);
    expect((await patch(id, env(null))).status).toBe(200);
    expect(written()).toEqual([]);
  });

  it('a list replaces the previous one, and an empty one removes all', async () => {
    const id = await made(env(ENV));
    const after = [{ name: 'REGION', value: '' }];
    expect((await patch(id, env(after))).body).toMatchObject({
      source_config: { env: after },
      latest_revision_id: serialRevisionId(id, 2),
    });
    const { body } = await patch(id, env([]));
    expect([body.source_config.env, body.latest_revision_id]).toEqual([null, serialRevisionId(id, 3)]);
    expect(stored().spec.sourceConfig).not.toHaveProperty('env');
  });

  it('share no name with the secrets that the record has, nor those with them', async () => {
    const id = await made({ secrets: [{ name: 'KEY', value: 'x' }], ...env(ENV) });
    const msg = 'this name is in env and also in secrets or in secret references: remove it from one of them';
    const own = { loc: ['body', 'source_config', 'env', 0, 'name'], msg, type: 'value_error' };
    const refused = await patch(id, env([{ name: 'KEY', value: 'y' }]));
    expect([refused.status, refused.body.detail]).toEqual([422, [own]]);
    const secret = await patch(id, { secrets: [{ name: 'LOG_LEVEL', value: 'y' }] });
    expect([secret.status, secret.body.detail]).toEqual([422, [own]]);
    const one = await facade.call('PUT', `/v2/deployments/${id}/secrets/REGION`, { value: 'y' });
    expect([one.status, one.body.detail]).toEqual([422, [{ ...own, loc: ['path', 'secret_name'] }]]);
    expect(written()).toEqual([]);
    const moved = await patch(id, { secrets: [{ name: 'LOG_LEVEL', value: 'y' }], ...env(ENV.slice(1)) });
    expect(moved.status).toBe(200);
  });
});
