// `kubectl davit deploy --image` against the facade: what it creates and changes, and what it refuses.

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { CommonOptions } from '../../../src/cli/commands/deploy-folder.ts';
import { deployedImage } from '../../../src/cli/commands/deploy-image.ts';
import { type HttpApi, makeHttpApi } from '../../../src/cli/transport/http-api.ts';
import type { AppDeployment } from '../../../src/kinds/app-deployment.ts';
import { type Serving, serve } from '../../../src/main/server.ts';
import { Invalid } from '../../../src/runtime/errors.ts';
import { runCli } from '../../support/cli-world.ts';
import { aBody, type Facade, makeFacade, TENANT, TOKEN } from './facade.ts';

let facade: Facade;
let serving: Serving;
let api: HttpApi;
async function begin(): Promise<void> {
  facade = await makeFacade();
  serving = await serve(facade.app, { host: '127.0.0.1', port: 0 });
  const connection = { server: serving.url, token: TOKEN, namespace: TENANT.namespace };
  api = makeHttpApi(connection, { patienceMs: 200, everyMs: 5 });
}
async function end(): Promise<void> {
  await serving.close();
  await facade.app.close();
}
beforeEach(begin);
afterEach(end);

function record(): AppDeployment {
  const [found] = facade.records.list();
  if (found === undefined) throw new Error('there is no record');
  return found;
}

interface Given extends Partial<Omit<CommonOptions, 'file'>> {
  readonly image?: string;
  readonly file?: string;
}

/** The controller deploys what is asked for as soon as it is named. */
async function run({
  image = 'registry.example/app:1',
  file,
  ...options
}: Given = {}): Promise<{ readonly said: readonly string[]; readonly error: string | undefined }> {
  const said: string[] = [];
  const say = (line: string): void => {
    said.push(line);
    if (!line.startsWith('Revision ')) return;
    const { id } = facade.snapshot({ state: 'DEPLOYED', message: 'The rollout has finished.' }).spec;
    const { generation: observedGeneration } = record().metadata;
    const conditions = [{ type: 'Ready', status: 'True', reason: 'Serving', message: 'It serves.' }];
    const status = { state: 'READY', observedGeneration, activeRevisionId: id, latestRevisionId: id, conditions };
    facade.records.put({ ...record(), status } as unknown as AppDeployment);
  };
  const set = [{ flag: '--image', field: 'image_uri', value: image }];
  const text = file !== undefined && { file: { path: 'davit.yaml', text: file } };
  const given = { name: 'shop', set, ...text, timeoutMs: 10_000, suggested: '', everyMs: 5, say };
  try {
    await deployedImage(api, { ...given, ...options }, {});
    return { said, error: undefined };
  } catch (error) {
    return { said, error: (error as Error).message };
  }
}

it('creates a deployment that is not there, and waits until it is ready', async () => {
  const file = 'resource_spec: {cpu: 0.5}\nenv: [{name: A, value: file}]\n';
  const { said, error } = await run({ file, env: [{ name: 'B', value: 'flag' }] });
  expect(error).toBeUndefined();
  expect(said[0]).toBe('Created deployment shop.');
  expect(said[1]).toMatch(/^Revision shop--[0-9a-f]{8}\.$/);
  const { spec, metadata } = record();
  expect([spec.source, spec.sourceRevisionConfig]).toEqual(['external_docker', { imageUri: 'registry.example/app:1' }]);
  expect(spec.sourceConfig).toMatchObject({
    resourceSpec: { cpu: 0.5 },
    env: [
      { name: 'A', value: 'file' },
      { name: 'B', value: 'flag' },
    ],
  });
  expect(metadata.annotations).toMatchObject({ 'davit.dev/requested-by': 'new 1 somebody' });
});

it('changes one that is there, and keeps what it does not name', async () => {
  await run({ env: [{ name: 'A', value: '1' }] });
  const { said, error } = await run({ image: 'registry.example/app:2', env: [{ name: 'B', value: '2' }] });
  expect(error).toBeUndefined();
  expect(said[0]).toMatch(/^Changed env/);
  expect(record().spec).toMatchObject({
    sourceRevisionConfig: { imageUri: 'registry.example/app:2' },
    sourceConfig: {
      env: [
        { name: 'A', value: '1' },
        { name: 'B', value: '2' },
      ],
    },
  });
});

describe('the file of export', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'davit-export-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('is deployed as it is, and creates what it was exported from', async () => {
    const secret_references = [{ name: 'LICENSE', secret_name: 'shop-license', secret_key: 'key' }];
    await facade.call('POST', '/v2/deployments', {
      name: 'shop',
      source: 'external_docker',
      source_config: { resource_spec: { cpu: 0.5 }, env: [{ name: 'A', value: '1' }] },
      source_revision_config: { image_uri: 'registry.example/app:7' },
      secrets: [],
      secret_references,
    });
    const before = record();
    const { out } = await runCli(['export', 'shop'], { api });
    const path = join(folder, 'exported.yaml');
    await writeFile(path, out);
    await end();
    await begin();
    // Until nobody waits for a rollout that no controller makes.
    await runCli(['deploy', '--file', path, '--timeout', '0'], { api, kubectl: async () => '{}' });
    expect(record().spec).toEqual(before.spec);
  });

  it.each(['', '# Nothing yet.\n'])('that is empty is said to be empty: %j', async (text) => {
    const path = join(folder, 'empty.yaml');
    await writeFile(path, text);
    expect(await runCli(['deploy', '--file', path], { api })).toMatchObject({
      code: 2,
      err: expect.stringMatching(/^\S+empty\.yaml:1:1: The file is empty\. Add a field such as "name: shop"/),
    });
  });

  it('of a deployment without an image says what is missing', async () => {
    const path = join(folder, 'folder.yaml');
    await writeFile(path, 'name: shop\n');
    // As the API server says it.
    const field = 'spec.sourceRevisionConfig.imageUri';
    const message = 'source external_docker needs imageUri';
    const refused = new Invalid('x', [{ field, message, reason: 'FieldValueRequired' }]);
    facade.kube.failOn(({ kind }) => (kind === 'AppDeployment' ? refused : undefined));
    expect(await runCli(['deploy', '--file', path], { api })).toMatchObject({
      code: 2,
      err: expect.stringMatching(
        /^\S+folder\.yaml:1:1: image_uri source external_docker needs image_uri\nWhich image, or which folder\? kubectl davit deploy --image IMAGE/,
      ),
    });
  });
});

describe('secrets that the file names', () => {
  const file = 'secrets: [API_KEY]\n';

  it('are asked for, and are there from the first revision on', async () => {
    const terminal = { isInteractive: true, ask: () => Promise.resolve('canary') };
    const { said, error } = await run({ file, terminal });
    expect([error, said.join('\n').includes('canary')]).toEqual([undefined, false]);
    expect(record().spec.secrets).toMatchObject([{ name: 'API_KEY' }]);
  });

  it('are missing where nobody can be asked: nothing is created', async () => {
    const { error } = await run({ file });
    expect(error).toMatch(/^shop lacks secrets that its file names: API_KEY\. Nothing was changed\. /);
    expect(error).toContain('--secret API_KEY');
    expect(facade.kept()).toEqual([]);
  });
});

describe('secrets whose values the command line names', () => {
  const file = 'secrets: [API_KEY]\n';
  const secrets = [{ name: 'API_KEY', value: 'canary' }];

  it('are there from the first revision on, with no terminal', async () => {
    const { said, error } = await run({ file, secrets });
    expect([error, said.join('\n').includes('canary')]).toEqual([undefined, false]);
    expect(record().spec).toMatchObject({ secrets: [{ name: 'API_KEY' }], revisionSerial: 1 });
  });

  it('replace those of one that is there, and the others stay', async () => {
    await run({ secrets: [...secrets, { name: 'OTHER', value: 'stays' }] });
    expect((await run({ image: 'registry.example/app:2', secrets: [{ name: 'API_KEY', value: 'new' }] })).error).toBe(
      undefined,
    );
    const { body } = await facade.call('GET', `/v2/deployments/${record().metadata.uid}`);
    expect(body.secrets).toEqual([
      { name: 'API_KEY', value: 'new' },
      { name: 'OTHER', value: 'stays' },
    ]);
  });

  it('are not asked for on a terminal', async () => {
    const ask = (): Promise<string> => Promise.reject(new Error('asked'));
    expect((await run({ file, secrets, terminal: { isInteractive: true, ask } })).error).toBeUndefined();
  });
});

describe('is refused', () => {
  it('for a deployment of another source', async () => {
    facade = await makeFacade({ hosting: 'both' });
    const other = await serve(facade.app, { host: '127.0.0.1', port: 0 });
    api = makeHttpApi({ server: other.url, token: TOKEN, namespace: TENANT.namespace });
    await facade.call('POST', '/v2/deployments', aBody({ source: 'internal_source', source_revision_config: {} }));
    expect((await run()).error).toMatch(
      /^Deployment "shop" has source internal_source, which cannot become external_docker\./,
    );
    await other.close();
  });

  it('for one that is being deleted', async () => {
    await run();
    const { metadata } = record();
    facade.records.put({ ...record(), metadata: { ...metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } });
    expect((await run()).error).toBe('Deployment "shop" is being deleted and can no longer be changed.');
  });

  it('for an image that is none', async () => {
    expect((await run({ image: 'no image' })).error).toMatch(/image_uri/);
  });

  it.each([
    ['a folder beside it', ['.', '--image', 'a:1', '--name', 'shop'], /Use either FOLDER or --image, not both/],
    ['no name', ['--image', 'a:1'], /^Which deployment\? kubectl davit deploy --image a:1 --name NAME$/],
    [
      'a flag of builds',
      ['--image', 'a:1', '--name', 'shop', '--config', 'Dockerfile'],
      /^--config is for a build, but --image is already built\.$/,
    ],
    [
      'neither folder nor image',
      [],
      /^Which folder\? kubectl davit deploy FOLDER, or --image IMAGE --name NAME, or --file FILE that names an image_uri$/,
    ],
  ])('with %s', async (_what, args, words) => {
    expect(await runCli(['deploy', ...args])).toMatchObject({ code: 2, err: expect.stringMatching(words), asked: [] });
  });
});
