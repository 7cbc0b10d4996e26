// --output json at every command: one JSON document on standard output, and what is for people on standard error.

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aRevision, aRecord as aWhole } from '../../../test/support/builders.ts';
import { answering, aRecord, type CliRan, type CliWorld, REVISION, runCli } from '../../../test/support/cli-world.ts';
import { makeOwnCli } from '../../../test/support/own-cli.ts';
import { presentPlatform } from '../../deploy/http/platform/presenter.ts';
import { defaultSettings } from '../../kinds/settings.ts';
import { OUTPUT } from '../line/command.ts';
import type { HttpApi } from '../transport/http-api.ts';
import { Failure, type Kubectl } from '../transport/kubectl.ts';
import { RECORDS } from '../transport/records.ts';
import { COMMANDS } from './commands.ts';

const SHOWN = COMMANDS.filter(({ isHidden }) => !isHidden);
const WITH_JSON = SHOWN.filter(({ flags }) => flags.includes(OUTPUT)).map(({ name }) => name);

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'davit-output-'));
  await writeFile(join(folder, 'langgraph.json'), '{}');
});
afterAll(() => rm(folder, { recursive: true }));

const READY = { type: 'Ready', status: 'True', reason: 'Serving', message: 'It serves.', lastTransitionTime: '' };
const record = aRecord(
  {
    sourceConfig: { env: [{ name: 'A', value: '1' }], resourceSpec: { queueMaxScale: 2 } },
    secrets: [{ name: 'KEY', secretName: 'shop-secrets', secretKey: 'KEY' }],
  },
  {
    state: 'READY',
    latestRevisionId: REVISION.spec.id,
    activeRevisionId: REVISION.spec.id,
    url: 'https://shop.example',
    databaseBackup: { name: '20260202T000000Z-0123abcd' },
    conditions: [READY],
  },
);
const revision = {
  ...REVISION,
  spec: {
    ...REVISION.spec,
    requested: { sourceRevisionConfig: { imageUri: 'app:1' }, secrets: [], secretReferences: [] },
    resolved: { image: 'app:1' },
  },
  status: { state: 'DEPLOYED' },
};
const older = {
  ...revision,
  metadata: { name: 'shop--22222222' },
  spec: {
    ...revision.spec,
    id: '2'.repeat(32),
    revisionSerial: 1,
    requested: { sourceRevisionConfig: { imageUri: 'app:0' }, secrets: [], secretReferences: [] },
    resolved: { image: 'app:0' },
  },
};
const listener = {
  metadata: { name: 'edge', namespace: 'org', uid: 'u' },
  spec: { namespaces: ['team'] },
  status: { namespace: 'davit-edge' },
};

const kubectl: Kubectl = async (words, input = '') => {
  if (words[0] === 'config') return JSON.stringify({ clusters: [{ cluster: { server: 'https://hub.example' } }] });
  if (words.includes('--ignore-not-found')) return words[1] === 'secret' ? 'secret/there' : '';
  return answering({
    [RECORDS]: record,
    'apprevisions.davit.dev': { items: [revision, older] },
    'listeners.davit.dev': listener,
  })(words, input);
};
const { builds } = defaultSettings();
const PLATFORM = presentPlatform(
  {
    ...defaultSettings(),
    builds: {
      ...builds,
      registry: { host: 'registry.example', insecure: false, tokens: true },
      images: { ...builds.images, builder: 'builder:1' },
    },
  },
  {
    tenant: { id: 't', namespace: 'team' },
    namespace: undefined,
    integrations: [],
    listeners: [],
    templates: [],
    cloudNativePg: true,
    archives: false,
  },
);
const BACKUP = { name: '20260202T000000Z-0123abcd', taken_at: '2026-02-02T00:00:00Z', size_bytes: 2 };
const ID = '11111111-0000-4000-8000-000000000001';
const DEPLOYMENT = {
  id: ID,
  name: 'shop',
  source: 'internal_source',
  status: 'READY',
  phase: 'DEPLOYED',
  status_message: 'It serves.',
  processed: true,
  conditions: [READY],
  source_config: {
    custom_url: 'https://shop.example',
    env: [{ name: 'A', value: '1' }],
    resource_spec: { min_scale: 1, max_scale: 1, queue_max_scale: 2 },
  },
  source_revision_config: { workflow_config_path: 'langgraph.json' },
  secrets: [{ name: 'KEY' }],
  database_claim: null,
  databases_kept: [],
  database_backup: null,
  database_backups: { count: 1, newest: [BACKUP] },
  database_archive: null,
  internal_url: 'http://shop.team:8000',
  latest_revision_id: 'r',
  active_revision_id: 'r',
};
const REVISIONS = { resources: [{ id: 'r', name: 'shop--r', status: 'DEPLOYED', status_message: null }] };
const LOG = { logs: [{ id: '1', message: '#1 FROM base' }], next_offset: null, position: null };
const MOVE = {
  from: { driver: 'pod', number: 0 },
  to: { driver: 'cloudnative-pg', number: 1 },
  backup: '20260202T000000Z-0123abcd',
};
async function answer(method: string, path: string, body?: object): Promise<unknown> {
  if (method === 'PATCH' && JSON.stringify(body ?? {}).startsWith('{"source_config":{"env"'))
    return { ...DEPLOYMENT, latest_revision_id: 's' };
  if (method === 'PATCH' && JSON.stringify(body ?? {}).includes('queue_max_scale'))
    return { ...DEPLOYMENT, source_config: { ...DEPLOYMENT.source_config, resource_spec: { queue_max_scale: 0 } } };
  if (path.includes('/restart')) return { ...DEPLOYMENT, latest_revision_id: 's' };
  if (path === '/v2/platform') return PLATFORM;
  if (path.startsWith('/v2/deployments/file'))
    return { name: 'shop', created: false, changes: [], missing_secrets: [], file: {}, deployment: DEPLOYMENT };
  if (path.endsWith('/operations'))
    return { name: 'shop-1', phase: 'Succeeded', message: null, backup: BACKUP, move: MOVE, downtime_seconds: 71 };
  if (path.startsWith('/v2/deployments?')) return { resources: [DEPLOYMENT] };
  if (path.endsWith('/upload-url'))
    return { upload_url: 'http://u', object_path: 'uploads/1', upload_headers: {}, max_bytes: 1_000_000 };
  if (path.endsWith('_logs')) return LOG;
  if (path.includes('/revisions?')) return REVISIONS;
  const [, revision] = /\/revisions\/([a-z])/.exec(path) ?? [];
  if (revision === 'r') return REVISIONS.resources[0];
  if (revision !== undefined) return { ...REVISIONS.resources[0], id: revision, name: `shop--${revision}` };
  return method === 'DELETE' ? { ...DEPLOYMENT, latest_revision_id: 's' } : DEPLOYMENT;
}
const api = {
  namespace: 'team',
  call: answer,
  patiently: answer,
  tagged: async (path: string) => ({ body: await answer('GET', path), etag: 'e' }),
  upload: async () => undefined,
} as HttpApi;

/** The API in this process, of a deployment of two revisions. */
const own: CliWorld = {
  api: await makeOwnCli({
    record: aWhole({ revisionSerial: 2 }),
    revisions: [
      aRevision(aWhole(), 'DEPLOYED', 2),
      aRevision(aWhole({ sourceRevisionConfig: { imageUri: 'registry.example/shop:0' } }), 'DEPLOYED', 1),
    ],
  }).api(),
};

const name = 'shop';
const SERVES = { result: 'ready', reason: 'Serving', message: 'It serves.', hint: null, exitCode: 0 };
const made = expect.stringMatching(/^shop--[0-9a-f]{8}$/) as string;
/** Words after the command, and the document; `open` is in cli.test.ts, because it needs a process. */
const SAMPLES: Readonly<Record<string, readonly (readonly [readonly string[], unknown, CliWorld?])[]>> = {
  deploy: [
    [
      ['FOLDER', '--name', 'shop'],
      {
        name,
        id: ID,
        created: false,
        revision: 'shop--r',
        status: 'READY',
        url: 'https://shop.example',
        internalUrl: 'http://shop.team:8000',
        ...SERVES,
      },
    ],
  ],
  status: [
    [['shop'], expect.objectContaining({ name }), own],
    [[], [expect.objectContaining({ name, namespace: 'team' })], own],
  ],
  wait: [[['shop'], { name, state: 'READY', activeRevisionId: 'r', url: 'https://shop.example', ...SERVES }]],
  tasks: [[['shop'], [], own]],
  backups: [[['shop'], [expect.objectContaining({ name: BACKUP.name, sizeBytes: 2, made: 'on schedule' })]]],
  backup: [
    [
      ['shop'],
      {
        name,
        operation: 'shop-1',
        backup: { name: '20260202T000000Z-0123abcd', takenAt: '2026-02-02T00:00:00Z', sizeBytes: 2 },
      },
    ],
  ],
  clone: [
    [['shop', '--to', 'shop-2'], { name: 'shop-2', from: 'shop', archive: false, notes: expect.any(Array) as unknown }],
  ],
  database: [
    [
      ['move', 'shop', '--yes'],
      {
        name,
        operation: 'shop-1',
        database: 'cloudnative-pg/1',
        previousDatabase: 'pod/0',
        backup: '20260202T000000Z-0123abcd',
        downtimeSeconds: 71,
      },
    ],
  ],
  scale: [
    [['shop'], { name, parts: expect.arrayContaining([expect.objectContaining({ part: 'server' })]) as unknown }],
    [
      ['shop', 'queue=0', 'server=1..3'],
      {
        name,
        parts: [
          { part: 'server', min: 1, max: 3 },
          { part: 'queue', min: 0, max: 0 },
        ],
        begins: [],
        ends: ['queue'],
      },
    ],
  ],
  secrets: [
    [['shop', 'list'], [expect.objectContaining({ name: 'KEY', managed: true })]],
    [['shop', 'set', 'KEY'], { name, key: 'KEY', revision: null }, { input: 'canary' }],
    [['shop', 'unset', 'KEY'], { name, key: 'KEY', revision: 'shop--s' }],
  ],
  env: [
    [['shop', 'list'], [{ name: 'A', value: '1' }]],
    [['shop', 'set', 'A=2', 'B=3'], { name, changed: ['A', 'B'], revision: 'shop--s' }],
    [['shop', 'set', 'A=1'], { name, changed: [], revision: null }],
    [['shop', 'unset', 'A'], { name, changed: ['A'], revision: 'shop--s' }],
  ],
  restart: [[['shop'], { name, revision: 'shop--s' }]],
  revisions: [[['shop'], [expect.objectContaining({ name: made }), expect.objectContaining({ name: made })], own]],
  diff: [[['shop'], { from: made, to: made, changes: [expect.objectContaining({ kind: 'changed' })] }, own]],
  rollback: [
    [
      ['shop'],
      {
        name,
        revision: made,
        to: made,
        image: 'registry.example/shop:0',
        begins: [],
        ends: [],
        changes: [expect.objectContaining({ field: 'source_revision_config.image_uri', kind: 'changed' })],
      },
      own,
    ],
  ],
  export: [[['shop'], expect.objectContaining({ name, source: 'external_docker' }), own]],
  delete: [[['shop', '--yes'], { name, namespace: 'team', gone: false }]],
  datastores: [
    [[], [], own],
    [['patch', '--all'], { operations: [], leftOut: 0 }, own],
  ],
  platform: [[[], PLATFORM]],
  listener: [
    [['join', 'edge'], expect.objectContaining({ kind: 'Secret' })],
    [['revoke', 'edge'], { name: 'edge', revoked: true }],
  ],
};

describe('every command', () => {
  it.each(SHOWN.map(({ name: command, flags, noJson }) => ({ command, flags, noJson })))(
    '$command takes --output json, or says why not',
    async ({ command, flags, noJson }) => {
      expect([command, flags.includes(OUTPUT)]).toEqual([command, noJson === undefined]);
      const { code, out } = await runCli([command, '--help']);
      expect(code).toBe(0);
      expect(out.replaceAll(/\s+/g, ' ')).toContain(noJson === undefined ? '--output json' : `json: ${noJson}.`);
    },
  );

  it('that has it is tried here', () => {
    expect(Object.keys(SAMPLES).toSorted()).toEqual(WITH_JSON.filter((one) => one !== 'open').toSorted());
  });

  it.each([
    ['an unknown flag', ['status', 'shop', '--bogus', '--output', 'json'], '--bogus'],
    ['a missing name', ['wait', '-o', 'json'], 'deployment'],
    ['an unknown command', ['statos', '--output=json'], 'Unknown command "statos"'],
  ])('is told of wrong use in a document too: %s', async (_name, args, word) => {
    const { code, out } = await runCli(args);
    expect([code, JSON.parse(out)]).toEqual([2, { error: expect.stringContaining(word), exitCode: 2 }]);
  });

  it('that has none says why, where it is asked for', async () => {
    const { code, err, out } = await runCli(['logs', 'shop', '-o', 'json']);
    expect([code, err, out]).toEqual([
      2,
      'kubectl davit logs has no flag -o: it prints the output of containers and builds unchanged.',
      '',
    ]);
  });
});

const run = (args: readonly string[], world: CliWorld = {}): Promise<CliRan> =>
  runCli(
    args.map((arg) => (arg === 'FOLDER' ? folder : arg)),
    { kubectl, api, ...world },
  );

describe('a list without a row', () => {
  const bare = answering({ [RECORDS]: aRecord() });

  it.each([
    [['tasks', 'shop'], /^The active revision of shop has no tasks\. To add one, /],
    [['env', 'shop', 'list'], /To set one: kubectl davit env --namespace=staging shop set KEY=VALUE$/],
    [['secrets', 'shop', 'list'], /To set one: kubectl davit secrets --namespace=staging shop set KEY$/],
    [['revisions', 'shop'], /^shop has no revision yet\. See: kubectl davit status --namespace=staging shop$/],
  ])('tells people what to do next, and programs nothing: %j', async (args, hint) => {
    const api = await makeOwnCli({ record: aRecord() }).api();
    const text = await runCli([...args, '-n', 'staging'], { kubectl: bare, api });
    expect(text).toMatchObject({ code: 0, out: '', err: expect.stringMatching(hint) });
    const json = await runCli([...args, '-n', 'staging', '-o', 'json'], { kubectl: bare, api });
    expect(json).toMatchObject({ code: 0, out: '[]', err: '' });
  });

  it('of deployments does so too', async () => {
    const api = await makeOwnCli().api();
    const none = await runCli(['status', '-n', 'team'], { api });
    expect(none).toMatchObject({ code: 0, out: '' });
    expect(none.err.split('\n')).toEqual([
      'No deployments in namespace team yet.',
      'To deploy a folder: kubectl davit deploy --namespace=team FOLDER',
      'To deploy an image: kubectl davit deploy --namespace=team --image IMAGE --name NAME',
    ]);
  });
});

describe('one document is printed', () => {
  const all = Object.entries(SAMPLES).flatMap(([command, samples]) =>
    samples.map(([words, document, world = {}]) => ({ command, words: words.join(' '), document, world })),
  );

  it.each(all)('by $command $words', async ({ command, words, document, world }) => {
    const args = [command, ...words.split(' ').filter((word) => word !== '')];
    const { code, out, err } = await run([...args, '-o', 'json'], world);
    expect([code, JSON.parse(out)], err).toEqual([0, document]);
    const text = await run(args, world);
    // The document of a listener is its manifest.
    expect([text.code, text.out.startsWith('{')]).toEqual([0, args[1] === 'join']);
    expect(`${out}${err}${text.out}${text.err}`).not.toContain('canary');
  });

  it.each(all.filter(({ command }) => command !== 'listener'))(
    'and the exit code is 1 where what it needs fails: $command $words',
    async ({ command, words, world: { api: _served, ...world } }) => {
      const failing: CliWorld = { ...world, kubectl: () => Promise.reject(new Failure('It is down.')) };
      const args = [command, ...words.split(' ').filter((word) => word !== ''), '-o', 'json'];
      const { code, out } = await runCli(
        args.map((word) => (word === 'FOLDER' ? folder : word)),
        failing,
      );
      expect([code, JSON.parse(out)]).toMatchObject([1, { exitCode: 1 }]);
    },
  );

  it('with what goes on on standard error', async () => {
    const { out, err } = await run(['deploy', folder, '--name', 'shop', '-o', 'json']);
    expect(err).toContain('#1 FROM base');
    expect(out).not.toContain('#1 FROM base');
  });

  it('of a deploy that fails says why', async () => {
    const why = 'Container server exited (Error, exit code 3).';
    const crashed = { reason: 'ContainerCrashed', message: why };
    const failing = async (method: string, path: string): Promise<unknown> => {
      const answered = await answer(method, path);
      if (answered !== DEPLOYMENT) return answered;
      const conditions = [
        { ...READY, status: 'False', ...crashed },
        { ...READY, ...crashed, type: 'Stalled' },
      ];
      return { ...DEPLOYMENT, phase: 'DEPLOY_FAILED', conditions };
    };
    const world = { api: { ...api, call: failing, patiently: failing } as HttpApi };
    const { code, out } = await run(['deploy', folder, '--name', 'shop', '-n', 'staging', '-o', 'json'], world);
    expect([code, JSON.parse(out)]).toEqual([
      1,
      {
        error: `shop will not become ready on its own: ${why} See: kubectl davit status --namespace=staging shop`,
        result: 'failed',
        reason: 'ContainerCrashed',
        message: why,
        hint: 'kubectl davit status --namespace=staging shop',
        exitCode: 1,
      },
    ]);
    const slow = async (method: string, path: string): Promise<unknown> => {
      const answered = await answer(method, path);
      if (answered !== DEPLOYMENT) return answered;
      return { ...DEPLOYMENT, conditions: [{ ...READY, status: 'False', reason: 'Progressing', message: '1 of 2.' }] };
    };
    const late = await run(['deploy', folder, '--name', 'shop', '--timeout', '0', '-o', 'json'], {
      api: { ...api, patiently: slow } as HttpApi,
    });
    expect([late.code, JSON.parse(late.out)]).toEqual([
      124,
      expect.objectContaining({
        result: 'undecided',
        reason: 'Progressing',
        hint: 'kubectl davit wait shop',
        exitCode: 124,
      }),
    ]);
  });

  it('with the failure and its exit code, whatever was said before', async () => {
    const down = (): Promise<never> => Promise.reject(new Failure('It is down.'));
    const { code, out, err } = await run(['delete', 'shop', '-o', 'json'], { api: { ...api, call: down } });
    expect([code, JSON.parse(out), err]).toEqual([1, { error: 'It is down.', exitCode: 1 }, 'It is down.']);
    const misused = await run(['clone', 'shop', '-o', 'json']);
    expect([misused.code, JSON.parse(misused.out)]).toEqual([2, { error: misused.err, exitCode: 2 }]);
  });
});
