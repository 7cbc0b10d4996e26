// POST /v2/deployments/file: what a davit.yaml makes of a deployment, and what is wrong with one, at this door and through the plugin.

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makeHttpApi } from '../../../src/cli/transport/http-api.ts';
import type { AppDeployment } from '../../../src/kinds/app-deployment.ts';
import { fileLine } from '../../../src/kinds/file-finding.ts';
import { defaultSettings, type Settings } from '../../../src/kinds/settings.ts';
import { Invalid } from '../../../src/runtime/errors.ts';
import type { FieldError } from '../../../src/runtime/http/http-error.ts';
import { runCli } from '../../support/cli-world.ts';
import { type Answer, aBody, type Facade, listen, makeFacade, TENANT, TOKEN } from './facade.ts';

let facade: Facade;
beforeEach(async () => {
  facade = await makeFacade({ hosting: 'both' });
});
afterEach(() => facade.app.close());

function apply(body: object, query = ''): Promise<Answer> {
  return facade.call('POST', `/v2/deployments/file${query}`, body);
}
function record(): AppDeployment {
  const [found] = facade.records.list();
  if (found === undefined) throw new Error('there is no record');
  return found;
}
const IMAGE = 'source: external_docker\nimage_uri: registry.example/app:1\n';

describe('a file', () => {
  it('creates the deployment that it describes, with the values of its secrets', async () => {
    const file = `name: shop\n${IMAGE}resource_spec: {cpu: 0.5}\nenv: [{name: A, value: file}]\nsecrets: [API_KEY]\n`;
    const body = { file, env: [{ name: 'B', value: 'sent' }], secrets: [{ name: 'API_KEY', value: 'canary' }] };
    const made = await apply(body);
    expect(made).toMatchObject({
      status: 201,
      body: {
        name: 'shop',
        created: true,
        changes: [],
        missing_secrets: [],
        file: { name: 'shop', resource_spec: { cpu: 0.5 } },
        deployment: { name: 'shop', source: 'external_docker', secrets: [{ name: 'API_KEY', value: 'canary' }] },
      },
    });
    expect(record().spec).toMatchObject({
      sourceRevisionConfig: { imageUri: 'registry.example/app:1' },
      sourceConfig: {
        resourceSpec: { cpu: 0.5 },
        env: [
          { name: 'A', value: 'file' },
          { name: 'B', value: 'sent' },
        ],
      },
      revisionSerial: 1,
    });
    // As JSON, which is YAML.
    const again = await apply({ ...body, file: JSON.stringify(made.body.file), env: [] });
    expect(again).toMatchObject({ status: 200, body: { created: false } });
  });

  it('changes what it names, says so, and leaves the rest', async () => {
    await facade.call('POST', '/v2/deployments', aBody({ source_config: { runtime: { port: 3000 } } }));
    const changed = await apply({
      file: 'name: shop\nresource_spec: {cpu: 2, cpu_limit: 4}\nimage_uri: registry.example/app:2\n',
    });
    expect(changed).toMatchObject({
      status: 200,
      body: {
        created: false,
        changes: [
          { field: 'image_uri', kind: 'changed', from: 'registry.example/app:1', to: 'registry.example/app:2' },
          { field: 'resource_spec.cpu', kind: 'changed', to: '2' },
          { field: 'resource_spec.cpu_limit' },
        ],
      },
    });
    expect(changed.headers['etag']).toBeDefined();
    expect(record().spec).toMatchObject({
      sourceConfig: { runtime: { port: 3000 }, resourceSpec: { cpu: 2 } },
      sourceRevisionConfig: { imageUri: 'registry.example/app:2' },
    });
    const back = await apply({ name: 'shop', set: [{ field: 'runtime.port', value: null }] });
    expect(back.body.changes).toEqual([{ field: 'runtime.port', kind: 'removed', from: '3000', to: null }]);
    expect(record().spec.sourceConfig.runtime).toBeUndefined();
  });

  it('is of the deployment that the request names, then the file, then the default', async () => {
    const named = async (body: object): Promise<unknown> =>
      (await apply({ source: 'external_docker', ...body }, '?dry_run=true')).body.name;
    expect(await named({ file: 'name: b\n', name: 'a', default_name: 'c' })).toBe('a');
    expect(await named({ file: 'name: b\n', default_name: 'c' })).toBe('b');
    expect(await named({ file: 'image_uri: x:1\n', default_name: 'c' })).toBe('c');
  });

  it('is only checked in a dry run, which also says which secrets have no value', async () => {
    const file = `name: shop\n${IMAGE}secrets: [API_KEY]\n`;
    const dry = { status: 200, body: { created: true, missing_secrets: ['API_KEY'], deployment: null } };
    expect(await apply({ file }, '?dry_run=true')).toMatchObject(dry);
    expect(facade.kept()).toEqual([]);
    expect(facade.records.list()).toEqual([]);
    await facade.call('POST', '/v2/deployments', aBody());
    const before = record();
    expect(await apply({ file: 'name: shop\nresource_spec: {cpu: 2}\n' }, '?dry_run=true')).toMatchObject({
      status: 200,
      body: {
        created: false,
        changes: [{ field: 'resource_spec.cpu', to: '2' }, { field: 'resource_spec.cpu_limit' }],
        deployment: { name: 'shop' },
      },
    });
    expect(record()).toEqual(before);
  });

  it('is checked as if its secrets had values', async () => {
    const own = await makeFacade({ database: { ...defaultSettings().database, own: false } });
    const file = `name: shop\n${IMAGE}secrets: [POSTGRES_URI_CUSTOM, REDIS_URI_CUSTOM]\n`;
    const checked = await own.call('POST', '/v2/deployments/file?dry_run=1', { file });
    expect(checked).toMatchObject({
      status: 200,
      body: { missing_secrets: ['POSTGRES_URI_CUSTOM', 'REDIS_URI_CUSTOM'] },
    });
    await own.app.close();
  });

  it('is applied to what the deployment has by now', async () => {
    await facade.call('POST', '/v2/deployments', aBody({ source_config: { env: [{ name: 'A', value: '1' }] } }));
    const [stale] = facade.records.list();
    const { uid } = record().metadata;
    const env = [{ name: 'OTHER', value: '1' }];
    await facade.call('PATCH', `/v2/deployments/${uid}`, { source_config: { env } });
    // What the watch has not brought yet.
    if (stale) facade.records.put(stale);
    expect((await apply({ name: 'shop', env: [{ name: 'B', value: '2' }] })).status).toBe(200);
    expect(record().spec.sourceConfig.env).toEqual([...env, { name: 'B', value: '2' }]);
  });
});

describe('a file that is the whole of its deployment', () => {
  const OWN = {
    runtime: {
      port: 3000,
      server: { command: ['serve'], args: ['-v'] },
      workers: { jobs: { command: ['work'], cpu: 1 }, mail: { command: ['mail'] } },
      env_names: { DB: 'postgres_uri' },
    },
    resource_spec: { cpu: 0.5, memory_mb: 512, min_scale: 2, max_scale: 4 },
    env: [{ name: 'A', value: '1' }],
    tasks: [{ name: 'clean', command: ['clean'] }],
    custom_url: 'https://shop.example.com',
  };

  it('changes nothing as it was read', async () => {
    const { id } = (await facade.call('POST', '/v2/deployments', aBody({ source_config: OWN }))).body;
    const before = record();
    const { body } = await facade.call('GET', `/v2/deployments/${id}/file`);
    const same = await apply({ file: JSON.stringify(body), whole: true });
    expect(same).toMatchObject({ status: 200, body: { changes: [] } });
    expect(record()).toEqual(before);
  });

  it('sets back what it leaves out, except secrets and what its source needs', async () => {
    await facade.call(
      'POST',
      '/v2/deployments',
      aBody({
        source_config: OWN,
        secrets: [{ name: 'API_KEY', value: 'canary' }],
        secret_references: [{ name: 'TOKEN', secret_name: 'tokens', secret_key: 'token' }],
      }),
    );
    const { sourceRevisionConfig } = record().spec;
    const runtime = { server: { command: ['serve'] }, workers: { jobs: { command: ['work'] } } };
    const file = JSON.stringify({ resource_spec: { cpu: 0.5 }, runtime });
    const changed = await apply({ file, whole: true, name: 'shop' });
    expect(changed.status).toBe(200);
    expect(changed.body.changes.map(({ field }: { field: string }) => field)).toEqual(
      expect.arrayContaining(['custom_url', 'env[A].value', 'runtime.port', 'secret_references[TOKEN].secret_key']),
    );
    expect(record().spec).toMatchObject({ sourceRevisionConfig, revisionSerial: 2, secrets: [{ name: 'API_KEY' }] });
    expect(record().spec.sourceConfig).toEqual({ resourceSpec: { cpu: 0.5 }, runtime });
    expect(record().spec.secretReferences).toBeUndefined();
    // Otherwise it stays.
    await apply({ file: 'runtime: {port: 1}\n', name: 'shop' });
    expect(record().spec.sourceConfig.runtime?.workers).toBeDefined();
    await apply({ file: 'name: shop\n', whole: true });
    expect(record().spec.sourceConfig).toEqual({});
  });
});

describe('of two callers who change the same deployment by a file', () => {
  it('the second is refused, also in a dry run, with the ETag of now', async () => {
    const { id } = (await facade.call('POST', '/v2/deployments', aBody())).body;
    const read = await facade.call('GET', `/v2/deployments/${id}/file`);
    const withTag = (port: number, query = ''): Promise<Answer> =>
      facade.call(
        'POST',
        `/v2/deployments/file${query}`,
        { name: 'shop', set: [{ field: 'runtime.port', value: port }] },
        { 'if-match': String(read.headers['etag']) },
      );
    expect((await withTag(1)).status).toBe(200);
    for (const query of ['', '?dry_run=true']) {
      const second = await withTag(2, query);
      expect(second.status).toBe(412);
      expect(second.headers['etag']).toBe((await facade.call('GET', `/v2/deployments/${id}/file`)).headers['etag']);
    }
    expect(record().spec.sourceConfig.runtime?.port).toBe(1);
  });

  it('none creates what the other has created, nor changes what is not there', async () => {
    const file = `name: shop\n${IMAGE}`;
    const creating = (): Promise<Answer> =>
      facade.call('POST', '/v2/deployments/file', { file }, { 'if-none-match': '*' });
    expect((await creating()).status).toBe(201);
    expect(await creating()).toMatchObject({
      status: 412,
      body: { detail: 'A deployment named "shop" already exists. Choose another name.' },
    });
    const other = { file: `name: other\n${IMAGE}` };
    expect((await facade.call('POST', '/v2/deployments/file', other, { 'if-match': '*' })).status).toBe(412);
    expect(facade.records.list()).toHaveLength(1);
  });

  it('one that can only create needs no right to change, and any other needs it', async () => {
    facade.kube.allow(({ verb }) => verb === 'create');
    const send = (headers: Record<string, string>): Promise<Answer> =>
      facade.call('POST', '/v2/deployments/file', { file: `name: shop\n${IMAGE}` }, headers);
    expect((await send({})).status).toBe(403);
    expect((await send({ 'if-none-match': '*' })).status).toBe(201);
  });

  it.each([{}, { 'if-none-match': '*' }])('none is created with %j without the right to create', async (headers) => {
    facade.kube.allow(({ verb }) => verb === 'patch');
    const sent = { file: `name: shop\n${IMAGE}` };
    expect((await facade.call('POST', '/v2/deployments/file', sent, headers)).status).toBe(403);
    expect(facade.records.list()).toEqual([]);
  });
});

describe('is refused', () => {
  it('for a deployment of another source, and for one that is being deleted', async () => {
    await facade.call('POST', '/v2/deployments', aBody());
    expect(await apply({ name: 'shop', source: 'internal_source' })).toMatchObject({
      status: 409,
      body: { detail: expect.stringMatching(/^Deployment "shop" has source external_docker, which cannot become /) },
    });
    const { metadata } = record();
    facade.records.put({ ...record(), metadata: { ...metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } });
    expect(await apply({ name: 'shop', set: [{ field: 'runtime.port', value: 1 }] }, '?dry_run=true')).toMatchObject({
      status: 409,
      body: { detail: 'Deployment "shop" is being deleted and can no longer be changed.' },
    });
  });

  it('without a value of a secret that it names', async () => {
    expect(await apply({ file: `name: shop\n${IMAGE}secrets:\n  - API_KEY\n` })).toMatchObject({
      status: 422,
      body: {
        detail: [
          {
            loc: ['body', 'file', 'secrets', 0],
            msg: 'names API_KEY, which the deployment lacks: set its value, for example with kubectl davit secrets',
            type: 'missing',
            line: 5,
            column: 5,
          },
        ],
      },
    });
  });

  it('at the variable that was sent, or that stands in the file', async () => {
    const env = [
      { name: 'A', value: '1' },
      { name: 'PORT', value: '1' },
    ];
    const sent = await apply({ name: 'shop', source: 'external_docker', env });
    expect(sent.body.detail[0].loc).toEqual(['body', 'env', 1, 'name']);
    const file = `name: shop\n${IMAGE}env:\n  - {name: PORT, value: "1"}\n`;
    const written = await apply({ file, env: [{ name: 'A', value: '1' }] });
    expect(written.body.detail[0]).toMatchObject({ loc: ['body', 'file', 'env', 0, 'name'], line: 5 });
  });

  it('for a secret that can be called by no variable, whose value is not repeated', async () => {
    const secrets = [{ name: 'a b', value: 'canary' }];
    const { status, body } = await apply({ name: 'shop', secrets });
    expect([status, body.detail.map(({ loc }: FieldError) => loc.join('.'))]).toEqual([422, ['body.secrets.0.name']]);
    expect(JSON.stringify(body)).not.toContain('canary');
  });
});

/** A body, and the same for the plugin. */
interface Bad {
  readonly is: string;
  readonly file: string;
  readonly says: string;
  readonly settings?: Partial<Settings>;
  /** What the API server would say. */
  readonly refused?: Invalid;
}

const limits = { ...defaultSettings().limits, cpu: 2 };
const bad: readonly Bad[] = [
  { is: 'an unknown field', file: 'nmae: shop\n', says: ':1:1: nmae is not a known field: did you mean name?' },
  {
    is: 'a wrong type',
    file: 'name: shop\nruntime:\n  port: "80"\n',
    says: ':3:9: runtime.port must be a number',
  },
  {
    is: 'a rule of the file',
    file: 'name: shop\nresource_spec:\n  cpu: 2\n  cpu_limit: 1\n',
    says: ':4:14: resource_spec.cpu_limit must not be below cpu',
  },
  {
    is: 'a rule of the API server',
    file: `name: shop\n${IMAGE}resource_spec: {cpu: 0.5}\n`,
    refused: new Invalid('x', [
      { field: 'spec.sourceConfig.resourceSpec.cpu', message: 'must not be odd', reason: 'FieldValueInvalid' },
    ]),
    says: ':4:22: resource_spec.cpu must not be odd',
  },
  {
    is: "a limit of the platform's",
    file: `name: shop\n${IMAGE}resource_spec: {cpu: 3}\n`,
    settings: { limits },
    says: ':4:22: resource_spec.cpu must be at most 2 on this platform',
  },
  {
    is: 'another source',
    file: 'name: shop\nsource: codehost\n',
    says: ':2:9: source is codehost, but this request deploys external_docker: remove source from the file, or deploy from the source in it',
  },
  {
    is: 'no field',
    file: '# Nothing yet.\n',
    says: ':1:1: The file is empty. Add a field such as "name: shop", or leave the file out.',
  },
  {
    is: 'a name that no deployment can have',
    file: 'name: Shop_1\n',
    says: ':1:7: name must be lower-case letters, digits and single hyphens, beginning with a letter and ending with a letter or digit',
  },
  {
    is: 'two documents',
    file: 'name: shop\n---\nname: other\n',
    says: ':2:1: A second document begins here. A file describes one deployment: put it into a file of its own.',
  },
  {
    is: 'a tab',
    file: 'runtime:\n\tport: 80\n',
    says: ':2:1: A tab indents this line. YAML is indented with spaces: replace the tab.',
  },
  {
    is: 'more than a file may have',
    file: `# ${'x'.repeat(65_536)}\n`,
    says: ' is larger than 64 KiB, the limit for a file that describes one deployment.',
  },
];

describe('what is wrong with a file has the same sentence at each door:', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'davit-doors-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it.each(bad)('$is', async ({ file, says, settings, refused }) => {
    const own = await makeFacade({ hosting: 'both', ...settings });
    if (refused) own.kube.failOn(({ kind }) => (kind === 'AppDeployment' ? refused : undefined));
    const path = join(folder, 'davit.yaml');
    await writeFile(path, file);
    const { status, body } = await own.call('POST', '/v2/deployments/file', { file, source: 'external_docker' });
    expect(status).toBe(422);
    const [finding] = body.detail as FieldError[];
    expect(finding?.loc.slice(0, 2)).toEqual(['body', 'file']);
    expect(fileLine('davit.yaml', { ...(finding as FieldError), loc: finding?.loc.slice(2) ?? [] })).toBe(
      `davit.yaml${says}`,
    );
    const api = makeHttpApi({ server: await listen(own), token: TOKEN, namespace: TENANT.namespace });
    const ran = await runCli(['deploy', '--file', path], { api });
    expect([ran.code, ran.err.split('\n')[0]]).toEqual([2, `${path}${says}`]);
    expect(own.kept().filter(({ error }) => error === undefined)).toEqual([]);
    await own.app.close();
  });

  it('names references to Secrets that come, change and go among its changes', async () => {
    const withReferences = async (...names: string[]): Promise<unknown> => {
      const references = names.map((one) => ({ name: 'S', secret_name: one, secret_key: 'key' }));
      const file = JSON.stringify({ name: 'shop', secret_references: references });
      const { changes } = (await apply({ file }, '?dry_run=true')).body;
      expect((await apply({ file })).body.changes).toEqual(changes);
      return changes;
    };
    await apply({ file: `name: shop\n${IMAGE}` });
    const field = 'secret_references[S].secret_name';
    expect(await withReferences('one')).toContainEqual({ field, kind: 'added', from: null, to: 'one' });
    expect(await withReferences('other')).toContainEqual({ field, kind: 'changed', from: 'one', to: 'other' });
    expect(await withReferences()).toContainEqual({ field, kind: 'removed', from: 'other', to: null });
  });

  it('a file that somebody sends who may only read', async () => {
    facade.kube.know((token) => token);
    facade.kube.allow(({ verb }, token) => token !== 'viewer' || verb === 'list' || verb === 'get');
    const words =
      'You cannot patch resource "appdeployments" in API group "davit.dev" in the namespace "team-a". Ask for a role that allows it.';
    const path = join(folder, 'davit.yaml');
    await writeFile(path, `name: shop\n${IMAGE}`);
    const answer = await facade.call(
      'POST',
      '/v2/deployments/file',
      { file: 'name: shop\n' },
      { 'x-api-key': 'viewer' },
    );
    expect([answer.status, answer.body.detail]).toEqual([403, words]);
    const api = makeHttpApi({ server: await listen(facade), token: 'viewer', namespace: TENANT.namespace });
    expect(await runCli(['deploy', '--file', path], { api })).toMatchObject({ code: 1, err: words });
    expect(facade.kept()).toEqual([]);
  });
});
