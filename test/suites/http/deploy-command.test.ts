// `kubectl davit deploy` and `logs --build` against the facade: what is uploaded, what is followed, and how each failure is told.

import { execFileSync } from 'node:child_process';
import { createCipheriv } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type BuildLogOptions, printBuildLog } from '../../../src/cli/commands/build-log.ts';
import { addressOf, type DeployOptions, type DeployProgress, deploy } from '../../../src/cli/commands/deploy-folder.ts';
import { type HttpApi, makeHttpApi } from '../../../src/cli/transport/http-api.ts';
import type { Failure } from '../../../src/cli/transport/kubectl.ts';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../../src/kinds/app-deployment.ts';
import type { AppRevision, AppRevisionStatus } from '../../../src/kinds/app-revision.ts';
import { defaultSettings } from '../../../src/kinds/settings.ts';
import { type Serving, serve } from '../../../src/main/server.ts';
import { Forbidden } from '../../../src/runtime/errors.ts';
import { PODS } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { makeInstantClock, runCli } from '../../support/cli-world.ts';
import { type FacadeWithRegistry, makeFacadeWithRegistry } from '../../support/facade-registry.ts';
import type { FakeRegistry } from '../../support/fake-registry.ts';
import { aBody, type Facade, makeFacade, TENANT, TOKEN } from './facade.ts';

let setup: FacadeWithRegistry;
let facade: Facade;
let registry: FakeRegistry;
let serving: Serving;
let api: HttpApi;
let folder: string;
beforeEach(async () => {
  setup = await makeFacadeWithRegistry();
  ({ facade, registry } = setup);
  serving = await serve(facade.app, { host: '127.0.0.1', port: 0 });
  const connection = { server: serving.url, token: TOKEN, namespace: TENANT.namespace };
  api = makeHttpApi(connection, { patienceMs: 200, everyMs: 5 });
  folder = await mkdtemp(join(tmpdir(), 'davit-shop-'));
  await writeFile(join(folder, 'langgraph.json'), '{}');
  await writeFile(join(folder, 'app.py'), 'graph = 1\n');
  await writeFile(join(folder, '.env'), 'API_KEY=secret\n');
});
afterEach(async () => {
  await serving.close();
  await setup.close();
  await rm(folder, { recursive: true, force: true });
});

interface Deployed {
  readonly address: string | undefined;
  readonly said: readonly string[];
  readonly error: string | undefined;
  /** That the program would end with. */
  readonly code: number;
  readonly progress: DeployProgress;
}

interface Given extends Partial<Omit<DeployOptions, 'file'>> {
  /** As an object, which as JSON is YAML, or as text. */
  readonly file?: object | string;
}

/** `controller` is told each line, and does what the controller would. */
async function run(
  controller: (line: string) => void,
  { file, ...options }: Given = {},
  asking: HttpApi = api,
): Promise<Deployed> {
  const said: string[] = [];
  const progress: DeployProgress = {};
  const say = (line: string): void => {
    said.push(line);
    controller(line);
  };
  const text = typeof file === 'string' ? file : JSON.stringify(file);
  const given = {
    folder,
    name: 'shop',
    timeoutMs: 10_000,
    suggested: '',
    say,
    everyMs: 5,
    ...(file !== undefined && { file: { path: 'davit.yaml', text } }),
    ...options,
  };
  try {
    const deployment = await deploy(asking, given, progress);
    return { address: addressOf(deployment, given.suggested), said, error: undefined, code: 0, progress };
  } catch (error) {
    const { message, exitCode: code } = error as Failure;
    return { address: undefined, said, error: message, code, progress };
  }
}

let revision: AppRevision;
function record(): AppDeployment {
  const [found] = facade.records.list();
  if (found === undefined) throw new Error('there is no record');
  return found;
}
type Reported = Omit<AppRevisionStatus, 'observedGeneration'>;
const REASONS: Readonly<Partial<Record<string, string>>> = {
  QUEUED: 'BuildQueued',
  BUILDING: 'Building',
  BUILD_FAILED: 'BuildFailed',
  INTERRUPTED: 'BuildInterrupted',
  DEPLOY_FAILED: 'ContainerCrashed',
};
/** The record as the controller reports it. */
function put(state: 'READY' | 'UNUSED' | 'UNKNOWN', conditions: readonly object[], more: object = {}): void {
  const { id } = revision.spec;
  const { generation: observedGeneration } = record().metadata;
  const status = { state, observedGeneration, activeRevisionId: id, latestRevisionId: id, conditions, ...more };
  facade.records.put({ ...record(), status } as AppDeployment);
}
const condition = (type: string, status: string, reason: string, message = `${reason} it is.`): object => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: '2026-01-01T00:00:00Z',
});
/** The revision as the controller reports it, and what the record says of it. */
function report(status: Reported): void {
  revision = { ...revision, status };
  facade.revisions.put(revision);
  tell(status);
}
function made(status: Reported): void {
  revision = facade.snapshot(status, { ...defaultSettings(), hosting: 'both' });
  tell(status);
}
function tell({ state = 'CREATING', message }: Reported): void {
  const reason = REASONS[state] ?? 'Progressing';
  const isFailed = state === 'INTERRUPTED' || state.endsWith('FAILED');
  const types = isFailed ? [condition('Stalled', 'True', reason, message)] : [];
  put('UNKNOWN', [condition('Ready', 'False', reason, message), ...types]);
}
function ready(state: 'READY' | 'UNUSED', more: object = {}): void {
  put(state, [condition('Ready', 'True', state === 'READY' ? 'Serving' : 'ScaledToZero')], more);
}
function blocked(reason: string): void {
  put('UNKNOWN', [condition('Ready', 'False', reason), condition('Stalled', 'True', reason)]);
}

/** The same before the change that is made next, whose answer has the status. */
async function blockedBefore(reason: string): Promise<void> {
  revision = { spec: { id: 'x' } } as AppRevision;
  blocked(reason);
  const ref = { namespace: TENANT.namespace, name: 'shop' };
  const writing = { fieldManager: 'controller', subresource: 'status' } as const;
  await facade.kube.mergePatch(APP_DEPLOYMENTS, ref, { status: record().status }, writing);
}

const at = (second: number): string => `2026-01-01T00:00:${String(second).padStart(2, '0')}.000000000Z`;
/** The pod that builds, and what it has written. */
function building(lines: readonly string[]): void {
  const metadata = { name: 'build-1', namespace: 'davit-builds', labels: { 'davit.dev/build': revision.spec.id } };
  const status = { containerStatuses: [{ name: 'build', containerID: 'x' }] };
  facade.kube.seed(PODS, { apiVersion: 'v1', kind: 'Pod', metadata, status } as KubeObject);
  const text = lines.map((line, i) => `${at(i)} ${line}\n`).join('');
  facade.kube.texts.set('/api/v1/namespaces/davit-builds/pods/build-1/log?container=build', text);
}
/** The log as the builder keeps it. */
function kept(lines: readonly string[]): void {
  const repository = `${TENANT.namespace}-aaaaaaaa/shop`;
  const packed = gzipSync(lines.map((m, i) => `${JSON.stringify({ t: at(i), c: 'build', m })}\n`).join(''));
  const digest = `sha256:${'1'.repeat(64)}`;
  registry.blobs.set(`${repository}@${digest}`, packed);
  const layer = { mediaType: 'application/vnd.davit.log.v1+gzip', digest, size: packed.length };
  const artifactType = 'application/vnd.davit.log.v1';
  registry.put(repository, `log-${revision.spec.id}`, { schemaVersion: 2, artifactType, layers: [layer] });
}

describe('deploy', () => {
  it('creates, uploads, follows the build while it runs, and ends when it is ready', async () => {
    const { said, error, progress } = await run((line) => {
      if (line.startsWith('Revision')) {
        made({ state: 'BUILDING', message: 'The image is being built and pushed.', build: { phase: 'Building' } });
        building(['#1 FROM base']);
      }
      if (line === '#1 FROM base') building(['#1 FROM base', '#2 RUN make']);
      if (line === '#2 RUN make') report({ state: 'DEPLOYING', message: '0 of 1 pods.', build: { phase: 'Built' } });
      if (line.startsWith('Progressing')) ready('READY');
    });
    expect(error).toBeUndefined();
    expect(said).toEqual([
      'Created deployment shop.',
      expect.stringMatching(/^Uploading 2 files of .*, \d+ B packed\.$/),
      `Revision shop--${revision.spec.id.slice(0, 8)}.`,
      'Building. The image is being built and pushed.',
      '#1 FROM base',
      '#2 RUN make',
      'Progressing. 0 of 1 pods.',
      'Ready: Serving it is.',
    ]);
    expect(progress).toEqual({
      created: 'shop',
      name: 'shop',
      revision: revision.spec.id,
      called: `shop--${revision.spec.id.slice(0, 8)}`,
    });
    const { spec } = record();
    expect([spec.source, spec.sourceRevisionConfig]).toEqual([
      'internal_source',
      { sourceTarballPath: expect.stringMatching(/^uploads\/[0-9a-f]{32}$/), workflowConfigPath: 'langgraph.json' },
    ]);
    const archive = [...registry.blobs.values()].find((blob) => blob[0] === 0x1f && blob.length > 100);
    const listed = execFileSync('tar', ['-tzf', '-'], { input: archive, encoding: 'utf8' });
    expect(listed).toBe('app.py\nlanggraph.json\n');
  });

  it('prints the log of a build that begins only after the change was seen', async () => {
    const { said, error } = await run((line) => {
      // Each after some looks: first nobody has made the revision, then nobody has begun its build.
      const later = (act: () => void): void => void setTimeout(act, 50);
      if (line.startsWith('Davit has not processed')) later(() => made({ state: 'CREATING', message: 'Made.' }));
      if (line === 'Progressing. Made.')
        later(() => report({ state: 'BUILDING', message: 'It builds.', build: { phase: 'Building' } }));
      if (line === 'Building. It builds.') later(() => building(['#1 FROM base', '#2 RUN make']));
      if (line === '#2 RUN make') report({ state: 'DEPLOYING', message: '0 of 1 pods.', build: { phase: 'Built' } });
      if (line === 'Progressing. 0 of 1 pods.') ready('READY');
    });
    expect(error).toBeUndefined();
    expect(said.slice(2)).toEqual([
      expect.stringMatching(/^Revision shop--/),
      expect.stringMatching(/^Davit has not processed/),
      'Progressing. Made.',
      'Building. It builds.',
      '#1 FROM base',
      '#2 RUN make',
      'Progressing. 0 of 1 pods.',
      'Ready: Serving it is.',
    ]);
  });

  it('says once what a deployed revision waits for', async () => {
    let asked = 0;
    const asking: HttpApi = {
      ...api,
      patiently(method, path, body) {
        if (path.endsWith('?secrets=names') && ++asked === 5) ready('READY');
        return api.patiently(method, path, body);
      },
    };
    const { said, error } = await run(
      (line) => {
        if (line.startsWith('Revision')) made({ state: 'DEPLOYED', message: '1 of 2 pods.' });
      },
      {},
      asking,
    );
    expect([error, asked]).toEqual([undefined, 5]);
    expect(said.slice(-2)).toEqual(['Progressing. 1 of 2 pods.', 'Ready: Serving it is.']);
  });

  it.each<{ name: string; state?: 'READY' | 'UNUSED'; status: object; want: string }>([
    {
      name: 'inside the cluster',
      status: { image: 'registry.example/shop:1' },
      want: `In the cluster: http://shop.${TENANT.namespace}.svc   From here: kubectl davit open shop --context=a`,
    },
    {
      name: 'outside',
      status: { image: 'registry.example/shop:1', url: 'https://shop.example' },
      want: 'https://shop.example',
    },
    { name: 'nowhere', status: {}, want: 'It has no address. See: kubectl davit status shop --context=a' },
    {
      name: 'scaled to zero',
      state: 'UNUSED',
      status: { image: 'registry.example/shop:1', url: 'https://shop.example' },
      want: 'It is scaled to zero, so no pod runs. To start it: kubectl davit scale shop server=1 --context=a',
    },
  ])('says where it is reached: $name', async ({ state = 'READY', status, want }) => {
    const { address } = await run(
      (line) => {
        if (!line.startsWith('Revision')) return;
        made({ state: 'DEPLOYED', message: 'The rollout of this revision has finished.' });
        ready(state, status);
      },
      { suggested: ' --context=a' },
    );
    expect(address).toBe(want);
  });

  it('updates a deployment that there is', async () => {
    const body = aBody({ source: 'internal_source', source_revision_config: {} });
    expect((await facade.call('POST', '/v2/deployments', body)).status).toBe(201);
    const { said, error } = await run(
      (line) => {
        if (line.startsWith('Revision')) {
          made({ state: 'DEPLOYED', message: 'The rollout of this revision has finished.' });
          ready('READY');
        }
      },
      {
        set: [
          { flag: '--install-command', field: 'install_command', value: 'pip install .' },
          { flag: '--build-command', field: 'build_command', value: 'make' },
        ],
        env: [{ name: 'LOG', value: 'debug' }],
      },
    );
    expect([error, said[0]]).toEqual([undefined, expect.stringMatching(/^Uploading 2 files/)]);
    expect(facade.records.list()).toHaveLength(1);
    expect(record().spec.sourceConfig).toMatchObject({ installCommand: 'pip install .', buildCommand: 'make' });
    expect(record().spec.sourceConfig.env).toEqual([{ name: 'LOG', value: 'debug' }]);
  });

  it('keeps the variables that somebody else sets while it uploads', async () => {
    const body = aBody({
      source: 'internal_source',
      source_config: { env: [{ name: 'B', value: '1' }] },
      source_revision_config: {},
    });
    const { id } = (await facade.call('POST', '/v2/deployments', body)).body as { id: string };
    const asking: HttpApi = {
      ...api,
      async upload(...upload) {
        const env = [
          { name: 'B', value: '1' },
          { name: 'A', value: '2' },
        ];
        await facade.call('PATCH', `/v2/deployments/${id}`, { source_config: { env } });
        return api.upload(...upload);
      },
    };
    const { error } = await run(
      (line) => {
        if (!line.startsWith('Revision')) return;
        made({ state: 'DEPLOYED', message: 'The rollout of this revision has finished.' });
        ready('READY');
      },
      { env: [{ name: 'LOG', value: 'debug' }] },
      asking,
    );
    expect(error).toBeUndefined();
    expect(record().spec.sourceConfig.env).toEqual([
      { name: 'B', value: '1' },
      { name: 'A', value: '2' },
      { name: 'LOG', value: 'debug' },
    ]);
  });

  describe('with a davit.yaml', () => {
    const file = {
      install_command: 'pip install .',
      resource_spec: { cpu: 0.5, max_scale: 3 },
      runtime: { port: 3000, health_path: '/healthz' },
    };
    const finish = (line: string): void => {
      if (!line.startsWith('Revision')) return;
      made({ state: 'DEPLOYED', message: 'The rollout of this revision has finished.' });
      ready('READY');
    };
    const changes = ({ said }: Deployed): string[] => said.filter((line) => line.startsWith('Changed '));

    it('creates what it describes, and a second deploy changes nothing but the code', async () => {
      const first = await run(finish, {
        file,
        set: [{ flag: '--build-command', field: 'build_command', value: 'make' }],
      });
      expect([first.error, changes(first)]).toEqual([undefined, []]);
      const { sourceConfig } = record().spec;
      expect(sourceConfig).toEqual({
        installCommand: 'pip install .',
        buildCommand: 'make',
        resourceSpec: { cpu: 0.5, maxScale: 3 },
        runtime: { port: 3000, healthPath: '/healthz' },
      });
      const second = await run(finish, { file });
      expect([second.error, changes(second)]).toEqual([undefined, []]);
      expect(record().spec.sourceConfig).toEqual(sourceConfig);
    });

    it('changes what it says, lists that, and leaves the rest; options win', async () => {
      await run(finish, { file });
      const again = { install_command: 'uv sync', resource_spec: { max_scale: 5 }, runtime: { health_path: null } };
      const set = [{ flag: '--install-command', field: 'install_command', value: 'make deps' }];
      const ran = await run(finish, { file: again, set });
      expect([ran.error, changes(ran)]).toEqual([
        undefined,
        [
          'Changed install_command: pip install . -> make deps',
          'Changed resource_spec.max_scale: 3 -> 5',
          'Changed runtime.health_path: removed: /healthz',
        ],
      ]);
      expect(record().spec.sourceConfig.runtime).toEqual({ port: 3000 });
    });

    it('wins over a scale that was set since, for what it names', async () => {
      const bounds = { min_scale: 3, max_scale: 3 };
      const file = {
        resource_spec: { max_scale: 2 },
        runtime: { workers: { jobs: { command: ['jobs'], max_scale: 2 } } },
      };
      expect((await run(finish, { file })).error).toBeUndefined();
      const scaled = await facade.call('PATCH', `/v2/deployments/${record().metadata.uid}`, {
        source_config: { resource_spec: bounds, runtime: { workers: { jobs: bounds } } },
      });
      expect(scaled.status).toBe(200);
      const again = await run(finish, { file });
      expect([again.error, changes(again)]).toEqual([
        undefined,
        [
          'Changed resource_spec.max_scale: 3 -> 2',
          'Changed resource_spec.min_scale: 3 -> 1',
          'Changed runtime.workers.jobs.max_scale: 3 -> 2',
          'Changed runtime.workers.jobs.min_scale: removed: 3',
        ],
      ]);
      const { resourceSpec, runtime } = record().spec.sourceConfig;
      expect([resourceSpec, runtime?.workers]).toEqual([{ maxScale: 2 }, { jobs: { command: ['jobs'], maxScale: 2 } }]);
    });

    it('lists what is asked for without a value', async () => {
      await run(finish, { file });
      const asked = { database: { backup: {} }, resource_spec: { volumes: [{ name: 'data', emptyDir: {} }] } };
      expect(changes(await run(finish, { file: asked }))).toEqual([
        'Changed database.backup: added: {}',
        'Changed resource_spec.volumes[data].emptyDir: added: {}',
      ]);
      const filled = { database: { backup: { schedule: '0 3 * * *' } }, runtime: { workers: {} } };
      expect(changes(await run(finish, { file: filled }))).toEqual([
        'Changed database.backup.schedule: added: 0 3 * * *',
      ]);
    });

    it('that was exported changes nothing', async () => {
      await run(finish, { file });
      const before = record().spec;
      const text = (await runCli(['export', 'shop'], { api })).out;
      const ran = await run(finish, { file: text });
      expect([ran.error, changes(ran)]).toEqual([undefined, []]);
      expect(record().spec.sourceConfig).toEqual(before.sourceConfig);
    });

    it('that names missing secrets creates and uploads nothing, and says how to give them', async () => {
      const missing = { file: { secrets: ['API_KEY', 'TOKEN'] } };
      const flags = `Give the values in this command:
  --secret API_KEY --secret TOKEN, each from the environment variable of its name
  --secrets-file FILE, from lines such as KEY=VALUE; - reads standard input`;
      const first = await run(finish, missing);
      expect([first.error, first.said, facade.records.list()]).toEqual([
        `shop lacks secrets that its file names: API_KEY, TOKEN. Nothing was changed. ${flags}`,
        [],
        [],
      ]);
      const secrets = [
        { name: 'API_KEY', value: 'canary-one' },
        { name: 'OTHER', value: 'canary-two' },
      ];
      const given = await run(finish, { file: { secrets: ['API_KEY'] }, secrets });
      expect([given.error, given.said.join().includes('canary')]).toEqual([undefined, false]);
      expect(record().spec).toMatchObject({ secrets: [{ name: 'API_KEY' }, { name: 'OTHER' }], revisionSerial: 1 });
      const second = await run(finish, missing);
      expect([second.error, second.said]).toEqual([
        `shop lacks secrets that its file names: TOKEN. Nothing was changed. ${flags.replace('--secret API_KEY ', '')}`,
        [],
      ]);
      const { uid: id } = record().metadata;
      const path = `/v2/deployments/${id}/secrets/TOKEN`;
      expect((await facade.call('PUT', path, { value: 'x' })).status).toBe(200);
      expect((await run(finish, missing)).error).toBeUndefined();
    });

    /** Somebody who types these, one after the other. */
    function typing(...values: string[]): { terminal: Required<DeployOptions>['terminal']; questions: string[] } {
      const questions: string[] = [];
      const ask = async (question: string, hidden?: boolean): Promise<string> => {
        questions.push(`${question}${hidden === true ? '(hidden)' : '(shown)'}`);
        return values.shift() ?? '';
      };
      return { terminal: { isInteractive: true, ask }, questions };
    }
    const asks = (key: string): string => `shop lacks the secret ${key}. Its value, which is not shown: (hidden)`;

    it('that names missing secrets asks for them, and sends them with the upload', async () => {
      const first = typing('canary-one', ' canary two ');
      const ran = await run(finish, { file: { secrets: ['API_KEY', 'TOKEN'] }, terminal: first.terminal });
      expect([ran.error, first.questions]).toEqual([undefined, [asks('API_KEY'), asks('TOKEN')]]);
      const { body } = await facade.call('GET', `/v2/deployments/${record().metadata.uid}`);
      expect(body.secrets).toEqual([
        { name: 'API_KEY', value: 'canary-one' },
        { name: 'TOKEN', value: ' canary two ' },
      ]);
      expect(record().spec.revisionSerial).toBe(1);
      const second = typing('canary-three');
      const again = await run(finish, { file: { secrets: ['TOKEN', 'NEW'] }, terminal: second.terminal });
      expect([again.error, second.questions]).toEqual([undefined, [asks('NEW')]]);
      expect(record().spec.secrets.map(({ name }) => name)).toEqual(['API_KEY', 'TOKEN', 'NEW']);
      expect([...ran.said, ...again.said].join()).not.toContain('canary');
    });

    it('creates and changes nothing if a value is empty', async () => {
      const { terminal, questions } = typing('canary-one', '');
      const ran = await run(finish, { file: { secrets: ['API_KEY', 'TOKEN', 'NEVER_ASKED'] }, terminal });
      expect([ran.error, ran.said]).toEqual(['The value of TOKEN is empty: nothing was changed.', []]);
      expect([questions.length, facade.records.list()]).toEqual([2, []]);
    });

    it('asks on the terminal of the command', async () => {
      await writeFile(join(folder, 'davit.yaml'), 'name: shop\nsecrets: [API_KEY]\n');
      const ran = await runCli(['deploy', folder], { api, answers: [''] });
      expect(ran).toMatchObject({ code: 2, questions: [asks('API_KEY')], err: expect.stringContaining('is empty') });
    });

    it('that names no missing secret asks nothing', async () => {
      const { terminal, questions } = typing();
      expect((await run(finish, { file, terminal })).error).toBeUndefined();
      expect(questions).toEqual([]);
    });

    it.each([
      ['an error in it', 'nmae: a\n', [], /davit\.yaml:1:1: nmae is not a known field: did you mean name\?$/],
      [
        'a --set that is wrong',
        'name: shop\n',
        ['--set', 'resource_spec.cpu=lots'],
        /^--set: resource_spec\.cpu must be /,
      ],
      [
        'another source by --set',
        'name: shop\n',
        ['--set', 'source=codehost'],
        /^--set: source is codehost, but this request deploys internal_source: /,
      ],
      [
        'another source',
        'source: external_docker\n',
        [],
        /davit\.yaml:1:9: source is external_docker, but this request deploys internal_source: /,
      ],
      ['an empty one', '', [], /davit\.yaml:1:1: The file is empty\. Add a field such as "name: shop"/],
    ] as const)('changes nothing for %s', async (_what, text, flags, words) => {
      await writeFile(join(folder, 'davit.yaml'), text);
      const ran = await runCli(['deploy', folder, ...flags], { api });
      expect(ran).toMatchObject({ code: 2, err: expect.stringMatching(words) });
      expect(facade.writes()).toEqual([]);
    });

    it.each([
      ['--file and --no-file', ['--file', 'x', '--no-file'], 2, /Use either --file or --no-file/],
      ['a --file that is not there', ['--file', '/nowhere.yaml'], 2, /^File \/nowhere\.yaml does not exist\.$/],
      ['nothing, by --no-file', ['--no-file'], 1, /has no HTTP API/],
    ] as const)('sends nothing for %s', async (_what, flags, code, words) => {
      await writeFile(join(folder, 'davit.yaml'), 'nmae: a\n');
      const ran = await runCli(['deploy', folder, ...flags]);
      expect(ran).toMatchObject({ code, err: expect.stringMatching(words) });
    });
  });

  it('shows the steps of the build, without the plan and the look for a cache', async () => {
    const lines = [
      '#1 importing cache manifest from r.example/shop:cache',
      '#2 RUN make',
      '#1 ERROR: not found',
      'done',
    ];
    const { said } = await run((line) => {
      if (line.startsWith('Revision')) {
        made({ state: 'BUILDING', message: 'It builds.', build: { phase: 'Building' } });
        building(lines);
      }
      if (line === 'done') report({ state: 'BUILD_FAILED', message: 'No.', build: { phase: 'Failed' } });
    });
    expect(said.filter((line) => line.startsWith('#') || line === 'done')).toEqual(['#2 RUN make', 'done']);
  });

  it('ends with the failed step when the build fails; the log is whole', async () => {
    const message = 'Line 4 of the Dockerfile failed: RUN make. It printed: no rule.';
    const { said, error } = await run((line) => {
      if (line.startsWith('Revision')) {
        made({ state: 'BUILDING', message: 'It builds.', build: { phase: 'Building' } });
        building(['#1 FROM base']);
      }
      if (line !== '#1 FROM base') return;
      kept(['#1 FROM base', '#2 RUN make', 'no rule']);
      report({ state: 'BUILD_FAILED', message, build: { phase: 'Failed', reason: 'StepFailed', message } });
    });
    expect(said.slice(-4)).toEqual(['#1 FROM base', `Stalled: BuildFailed. ${message}`, '#2 RUN make', 'no rule']);
    expect(error).toBe(`shop will not become ready on its own: ${message} See: kubectl davit status shop`);
  });

  it.each(['DEPLOY_FAILED', 'INTERRUPTED'] as const)('ends at %s', async (state) => {
    const { error, code } = await run((line) => {
      if (line.startsWith('Revision')) made({ state, message: 'Because.' });
    });
    expect([error, code]).toEqual([
      'shop will not become ready on its own: Because. See: kubectl davit status shop',
      1,
    ]);
  });

  it.each([
    ['SKIPPED', 'was replaced by a newer one'],
    ['BUILD_FAILED', 'failed, and a newer one has taken its place'],
  ] as const)('ends at %s where a newer revision, which is ready, took its place', async (state, what) => {
    const { error, code } = await run((line) => {
      if (!line.startsWith('Revision')) return;
      made({ state: 'QUEUED', message: 'It waits.' });
      const { metadata, spec } = record();
      const revisionSerial = (spec.revisionSerial ?? 0) + 1;
      facade.records.put({ ...record(), metadata: { ...metadata, generation: 9 }, spec: { ...spec, revisionSerial } });
      put('READY', [condition('Ready', 'True', 'Serving')]);
      revision = { ...revision, status: { state, message: 'Somebody was faster.' } };
      facade.revisions.put(revision);
    });
    expect([error, code]).toEqual([
      `Revision shop--${revision.spec.id.slice(0, 8)} of shop ${what}. Somebody was faster.`,
      1,
    ]);
  });

  it('prints the last lines of the pods of a revision that could not be deployed', async () => {
    const { said, error } = await run((line) => {
      if (!line.startsWith('Revision')) return;
      made({ state: 'DEPLOY_FAILED', message: 'Container server exited.' });
      const labels = {
        'davit.dev/deployment': 'shop',
        'davit.dev/deployment-uid': record().metadata.uid ?? '',
        'davit.dev/component': 'server',
        'davit.dev/revision': revision.spec.id,
      };
      const metadata = { name: 'shop-1', namespace: TENANT.namespace, labels };
      const status = { containerStatuses: [{ name: 'server', containerID: 'x' }] };
      facade.kube.seed(PODS, { apiVersion: 'v1', kind: 'Pod', metadata, status } as KubeObject);
      const path = `/api/v1/namespaces/${TENANT.namespace}/pods/shop-1/log?container=server`;
      facade.kube.texts.set(path, `${at(1)} starting\n${at(2)} no licence\n`);
      // Another part is in order, and writes more.
      const other = {
        name: 'shop-jobs',
        namespace: TENANT.namespace,
        labels: { ...labels, 'davit.dev/component': 'queue' },
      };
      const inOrder = {
        conditions: [{ type: 'Ready', status: 'True' }],
        containerStatuses: [{ name: 'queue', containerID: 'x', ready: true }],
      };
      const owner = {
        ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'r', uid: 'r', controller: true }],
      };
      facade.kube.seed(PODS, {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { ...other, ...owner },
        status: inOrder,
      } as KubeObject);
      const chatter = Array.from({ length: 30 }, (_, n) => `${at(n + 3)} polling\n`).join('');
      facade.kube.texts.set(path.replace('shop-1', 'shop-jobs').replace('=server', '=queue'), chatter);
    });
    expect(said.slice(-3)).toEqual([
      'Stalled: ContainerCrashed. Container server exited.',
      '[shop-1] starting',
      '[shop-1] no licence',
    ]);
    expect(error).toMatch(/^shop will not become ready on its own: Container server exited\. See: /);
  });

  it('does not take what was ready before a change for what is ready after it', async () => {
    let asked = 0;
    const asking: HttpApi = {
      ...api,
      patiently(method, path, body) {
        if (path.endsWith('?secrets=names') && ++asked === 3) ready('READY');
        return api.patiently(method, path, body);
      },
    };
    const { error } = await run(
      (line) => {
        if (!line.startsWith('Revision')) return;
        made({ state: 'DEPLOYED', message: 'The rollout of this revision has finished.' });
        ready('UNUSED', { observedGeneration: (record().metadata.generation ?? 1) - 1 });
      },
      {},
      asking,
    );
    expect([error, asked]).toEqual([undefined, 3]);
  });

  it('ends at zero, where the revision is accepted and no pod of it has started', async () => {
    const { address, error } = await run((line) => {
      if (!line.startsWith('Revision')) return;
      made({ state: 'AWAITING_DEPLOY', message: 'Scaled to zero. No pod of this revision has started yet.' });
      ready('UNUSED');
    });
    expect([error, address]).toEqual([undefined, expect.stringContaining('It is scaled to zero, so no pod runs.')]);
  });

  it.each([
    ['that is new at once', undefined, 0],
    ['that was there before after ten seconds', 'SecretMissing', 10],
  ])('ends with a block %s', async (_what, before, seconds) => {
    const body = aBody({ source: 'internal_source', source_revision_config: {} });
    await facade.call('POST', '/v2/deployments', body);
    if (before !== undefined) await blockedBefore(before);
    const clock = makeInstantClock();
    const { error, code } = await run(
      (line) => {
        if (!line.startsWith('Revision')) return;
        made({ state: 'QUEUED' });
        blocked('SecretMissing');
      },
      { clock, everyMs: 1000 },
    );
    expect([error, code, clock.now() / 1000]).toEqual([
      'shop will not become ready on its own: SecretMissing it is. See: kubectl davit status shop',
      1,
      seconds,
    ]);
  });

  it('does not take a block from before the change for one of now', async () => {
    const body = aBody({ source: 'internal_source', source_revision_config: {} });
    await facade.call('POST', '/v2/deployments', body);
    await blockedBefore('BuildFailed');
    const clock = makeInstantClock();
    const { error } = await run(
      () => undefined,
      { clock, everyMs: 1000, timeoutMs: 60_000 },
      {
        ...api,
        patiently(method, path, sent) {
          if (path.endsWith('?secrets=names') && clock.now() === 30_000) {
            made({ state: 'QUEUED', message: 'It waits.' });
            ready('READY');
          }
          return api.patiently(method, path, sent);
        },
      },
    );
    expect([error, clock.now()]).toEqual([undefined, 30_000]);
  });

  it('ends when its time is over, and says how to wait', async () => {
    const { error, code } = await run(
      (line) => {
        if (line.startsWith('Revision')) made({ state: 'QUEUED', message: 'Two builds are before it.' });
      },
      { timeoutMs: 50 },
    );
    expect(code).toBe(124);
    expect(error).toBe(
      'shop is not ready after 0.05 s. BuildQueued. Two builds are before it. To wait longer: kubectl davit wait shop',
    );
  });

  it('goes on without the log for who may not read it', async () => {
    facade.kube.allow(({ resource, subresource }) => !(resource === 'pods' && subresource === 'log'));
    const { said, error } = await run((line) => {
      if (line.startsWith('Revision')) made({ state: 'BUILDING', message: 'It builds.', build: { phase: 'Building' } });
      if (!line.startsWith('The log of the build cannot be read')) return;
      report({ state: 'DEPLOYED', message: 'The rollout of this revision has finished.', build: { phase: 'Built' } });
      ready('READY');
    });
    expect(error).toBeUndefined();
    expect(said.filter((line) => line.startsWith('The log of the build'))).toEqual([
      expect.stringContaining('get pods/log'),
    ]);
  });

  it('waits for an outage that passes', async () => {
    let requests = 0;
    facade.app.server.on('request', (request) => {
      if (request.method === 'GET' && request.url?.endsWith('?secrets=names') && requests++ < 2)
        request.socket.destroy();
    });
    const { error } = await run((line) => {
      if (!line.startsWith('Revision')) return;
      made({ state: 'DEPLOYED', message: 'The rollout of this revision has finished.' });
      ready('READY');
    });
    expect(error).toBeUndefined();
  });

  it('says that the server has gone', async () => {
    const { error } = await run((line) => {
      if (line.startsWith('Revision')) void serving.close();
    });
    expect(error).toMatch(/^http:\/\/127\.0\.0\.1:\d+ (cannot be reached: .*ECONNREFUSED|broke the connection)/);
  });

  describe('is refused', () => {
    it('for a deployment of another source', async () => {
      await facade.call('POST', '/v2/deployments', aBody());
      expect((await run(() => undefined)).error).toBe(
        'Deployment "shop" has source external_docker, which cannot become internal_source. To change it, deploy an image. For another deployment, choose another name.',
      );
    });

    it('for a deployment that is being deleted', async () => {
      const body = aBody({ source: 'internal_source', source_revision_config: {} });
      await facade.call('POST', '/v2/deployments', body);
      const { metadata } = record();
      facade.records.put({ ...record(), metadata: { ...metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } });
      expect((await run(() => undefined)).error).toBe(
        'Deployment "shop" is being deleted and can no longer be changed.',
      );
    });

    it('for a name that is none', async () => {
      expect((await run(() => undefined, { name: 'Shop_1' })).error).toMatch(/^name /);
    });

    it('for a folder whose name gives none', async () => {
      expect((await run(() => undefined, { folder: '/tmp/42', name: undefined })).error).toMatch(
        /Choose one with --name\.$/,
      );
    });

    it('for a token that is none', async () => {
      api = makeHttpApi({ server: serving.url, token: '' });
      expect((await run(() => undefined)).error).toMatch(/kubectl davit takes it from --token, DAVIT_TOKEN or the/);
    });

    it('without the right to change it', async () => {
      const forbidden = new Forbidden('create shop', { serverMessage: 'no right to create' });
      facade.kube.failOn(({ verb }) => (verb === 'create' ? forbidden : undefined));
      expect((await run(() => undefined)).error).toBe('no right to create');
    });

    it('for more than the platform takes, before it is sent', async () => {
      await serving.close();
      await setup.close();
      const { builds: usual } = defaultSettings();
      const images = { ...usual.images, builder: 'registry.example/builder:1' };
      const builds = { ...usual, images, uploadMaxMb: 1 };
      setup = await makeFacadeWithRegistry();
      const small = await makeFacade(
        {
          hosting: 'both',
          builds: { ...builds, registry: { host: setup.registry.host, insecure: true, tokens: true } },
        },
        {},
        { withRegistry: true },
      );
      serving = await serve(small.app, { host: '127.0.0.1', port: 0 });
      api = makeHttpApi({ server: serving.url, token: TOKEN, namespace: TENANT.namespace });
      const noise = createCipheriv('aes-256-ctr', Buffer.alloc(32), Buffer.alloc(16)).update(Buffer.alloc(2 << 20));
      await writeFile(join(folder, 'model.bin'), noise);
      const { error } = await run(() => undefined);
      expect(error).toMatch(/ has more than 1\.0 MiB when packed, .* Largest: model\.bin \(/);
      expect(setup.registry.blobs.size).toBe(0);
      await small.registry?.close();
    });

    it.each([
      ['registry', { images: { builder: 'registry.example/builder:1' } }],
      ['image of a builder', { registry: { host: 'registry.example', tokens: true } }],
    ])('where the platform has no %s, before a deployment is created', async (what, has) => {
      await serving.close();
      const { builds } = defaultSettings();
      const images = { ...builds.images, ...('images' in has && has.images) };
      const given = { ...builds, ...has, images } as typeof builds;
      const without = await makeFacade({ hosting: 'cloud', builds: given });
      serving = await serve(without.app, { host: '127.0.0.1', port: 0 });
      api = makeHttpApi({ server: serving.url, token: TOKEN, namespace: TENANT.namespace });
      const { error, progress } = await run(() => undefined);
      expect(error).toMatch(`This platform builds no images: it has no ${what} (setting builds.`);
      expect(error).toMatch(/: kubectl davit deploy --image IMAGE --name shop$/);
      expect(progress).toEqual({});
      expect(without.records.list()).toEqual([]);
    });

    it('when the registry fails during the upload', async () => {
      registry.fault = (_request, response) => {
        response.writeHead(507).end();
        return true;
      };
      const { error, progress } = await run(() => undefined);
      expect(error).toMatch(/^The upload failed\. .*no free storage/);
      expect(progress).toEqual({ created: 'shop' });
    });
  });
});

describe('logs --build', () => {
  async function logs(options: Partial<BuildLogOptions> = {}): Promise<string[]> {
    const said: string[] = [];
    await printBuildLog(api, 'shop', { follow: false, say: (line) => said.push(line), everyMs: 5, ...options });
    return said;
  }
  const LINES = ['#1 FROM base', '#2 RUN make', 'done'];

  beforeEach(async () => {
    const body = aBody({ source: 'internal_source', source_revision_config: {} });
    await facade.call('POST', '/v2/deployments', body);
  });
  async function deployed(): Promise<void> {
    await run((line) => {
      if (line.startsWith('Revision')) {
        made({ state: 'DEPLOYED', message: 'The rollout of this revision has finished.', build: { phase: 'Built' } });
        ready('READY');
      }
    });
  }

  it('prints what was kept of the newest one, or its end', async () => {
    await deployed();
    kept(LINES);
    expect(await logs()).toEqual(LINES);
    expect(await logs({ tail: 2, follow: true })).toEqual(LINES.slice(1));
    expect(await logs({ tail: 0 })).toEqual([]);
  });

  it('pages through what is long', async () => {
    await deployed();
    const many = Array.from({ length: 2500 }, (_, i) => `line ${i}`);
    const repository = `${TENANT.namespace}-aaaaaaaa/shop`;
    kept([]);
    const time = (i: number): string => new Date(Date.parse('2026-01-01T00:00:00Z') + i).toISOString();
    const packed = gzipSync(many.map((m, i) => `${JSON.stringify({ t: time(i), c: 'build', m })}\n`).join(''));
    registry.blobs.set(`${repository}@sha256:${'1'.repeat(64)}`, packed);
    expect(await logs()).toEqual(many);
  });

  it('takes a revision by name or by the beginning of its id', async () => {
    await deployed();
    kept(LINES);
    const { id } = revision.spec;
    expect(await logs({ revision: `shop--${id.slice(0, 8)}` })).toEqual(LINES);
    expect(await logs({ revision: id.slice(0, 4).toUpperCase() })).toEqual(LINES);
    await expect(logs({ revision: 'nope' })).rejects.toThrow(
      `No revision matches "nope". Revisions: shop--${id.slice(0, 8)} DEPLOYED.`,
    );
  });

  it('follows a build until it has ended', async () => {
    await run(
      (line) => {
        if (line.startsWith('Revision'))
          made({ state: 'BUILDING', message: 'It builds.', build: { phase: 'Building' } });
      },
      { timeoutMs: 0 },
    );
    building(LINES.slice(0, 1));
    const say = (line: string): void => {
      if (line !== LINES[0]) return;
      kept(LINES);
      report({ state: 'DEPLOYING', message: '', build: { phase: 'Built' } });
    };
    const said: string[] = [];
    await logs({
      follow: true,
      say: (line) => {
        said.push(line);
        say(line);
      },
    });
    expect(said).toEqual(LINES);
  });

  it('says that there is no log, no revision or no deployment', async () => {
    await expect(logs()).rejects.toThrow('shop has no revision yet.');
    await deployed();
    await expect(logs()).rejects.toThrow(
      /^Revision shop--[0-9a-f]{8} of shop has no build log\. It is DEPLOYED\. The rollout of this revision has finished\.$/,
    );
    const call = async (method: string, path: string): Promise<unknown> => {
      const answer = await api.call<{ readonly resources?: readonly object[] }>(method, path);
      const resources = answer.resources?.map((one) => ({ ...one, source: 'external_docker' }));
      return resources && path.includes('name=') ? { resources } : answer;
    };
    await expect(
      printBuildLog({ ...api, call } as HttpApi, 'shop', { follow: false, say: () => undefined }),
    ).rejects.toThrow(
      'shop has no build: it runs an image that is built elsewhere (source external_docker). The logs of its pods: kubectl davit logs shop',
    );
    await expect(printBuildLog(api, 'nope', { follow: false, say: () => undefined })).rejects.toThrow(
      'There is no deployment nope in namespace team-a.',
    );
  });
});
