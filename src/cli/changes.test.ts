// The commands that change a deployment, and what they ask kubectl and the HTTP API for.

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type CliRan, runCli } from '../../test/support/cli-world.ts';
import { serialRevisionId } from '../deployments/record/revision-id.ts';
import type { AppDeployment } from '../schema/app-deployment.ts';
import { consequencesOf, untilGone } from './delete.ts';
import type { HttpApi } from './http-api.ts';
import { Failure, type Kubectl } from './kubectl.ts';
import { RECORDS } from './records.ts';

const uid = '8b5c0f3e-6f0e-4f7e-9f43-2f9d6d1c1a11';

function aRecord(spec: object = {}, status: object = {}, metadata: object = {}): AppDeployment {
  return {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'AppDeployment',
    metadata: { name: 'shop', namespace: 'team', uid, resourceVersion: '7', ...metadata },
    spec: {
      source: 'external_docker',
      sourceConfig: {},
      sourceRevisionConfig: { imageUri: 'app:1' },
      secrets: [],
      revisionSerial: 2,
      databaseDeletionPolicy: 'Delete',
      tracingProjectDeletionPolicy: 'Retain',
      ...spec,
    },
    status,
  } as AppDeployment;
}

const REVISION = { metadata: { name: 'shop--11111111' }, spec: { id: '1'.repeat(32), deploymentUid: uid, revisionSerial: 2 } };

/** Answers of `get` by resource; everything else is written to `written`. */
function answering(resources: Readonly<Record<string, unknown>>, written: [args: string, input: string][] = []): Kubectl {
  return async ([verb, resource = '', ...more], input = '') => {
    if (verb === 'get') return JSON.stringify(resources[resource] ?? { items: [] });
    written.push([[verb, resource, ...more].join(' '), input]);
    return verb === 'rollout' ? 'deployment.apps/shop restarted\n' : '';
  };
}

describe('scale', () => {
  const scaled = (args: string[], spec: object = {}): Promise<CliRan & { readonly patch: unknown }> =>
    runCli(['scale', 'shop', ...args], { kubectl: answering({ [RECORDS]: aRecord(spec) }) }).then((ran) => ({
      ...ran,
      patch: ran.asked.filter((one) => one.startsWith('patch')).map((one) => resourceSpecIn(one)),
    }));
  const resourceSpecIn = (asked: string): unknown => {
    const patch = JSON.parse(asked.slice(asked.indexOf('{'))) as { spec: { sourceConfig: { resourceSpec: unknown } } };
    return patch.spec.sourceConfig.resourceSpec;
  };

  it.each<[string[], object, string]>([
    [['server=3'], { minScale: 3, maxScale: 3 }, 'scaled to 3 pods;'],
    [['--replicas', '1', '--max', '4'], { minScale: 1, maxScale: 4 }, '1 to 4 pods, as its load asks for;'],
    [['server=1', 'queue=0..5'], { minScale: 1, maxScale: 1, queueMinScale: 0, queueMaxScale: 5 }, '1 pod, 0 to 5 pods, as its load asks for of queue'],
    [['--replicas=2', 'orchestrator=2'], { minScale: 2, maxScale: 2, orchestratorMinScale: 2, orchestratorMaxScale: 2 }, '2 pods, 2 pods of orchestrator'],
    [['server=0'], { minScale: 0, maxScale: 0 }, 'shop runs no pods now'],
  ])('%j is one patch', async (args, patch, words) => {
    expect(await scaled(args)).toMatchObject({ code: 0, patch: [patch], out: expect.stringContaining(words) });
  });

  it('says where a part begins or ends, which takes a revision, and nothing where it stays', async () => {
    expect((await scaled(['queue=1'])).out).toMatch(/\nThis makes a new revision: it had no queue before\.$/);
    const queue = { sourceConfig: { resourceSpec: { queueMaxScale: 2 } } };
    expect((await scaled(['queue=0'], queue)).out).toMatch(/\nThis makes a new revision: its queue ends\.$/);
    expect((await scaled(['queue=3'], queue)).out).not.toContain('new revision');
  });

  it.each([
    [['3'], /^"3" is no scale\. Write PART=N or PART=N\.\.M/],
    [['server=x'], /^"server=x" is no scale\./],
    [['server=-1'], /^"server=-1" is no scale\./],
    [['server=1..'], /is no scale/],
    [['redis=2'], /^"redis" is no part with a scale\. These are server, queue, orchestrator\.$/],
    [['server=3..1'], /the maximum must be at least the minimum/],
    [['queue=1', 'queue=2'], /^queue is set twice\.$/],
    [['--max', '3'], /^--max needs --replicas/],
    [['--replicas', '3', '--max', '1'], /^--max must be at least --replicas, 3\.$/],
    [['--replicas', '3', 'server=2'], /set the same: leave one of them out/],
    [['server=2', '-o', 'json'], /^--output is for showing/],
  ])('%j is refused before anything is asked', async (args, words) => {
    expect(await scaled(args)).toMatchObject({ code: 2, err: expect.stringMatching(words), asked: [] });
  });

  it('shows what is asked for, what is in force, and how many pods are ready', async () => {
    const pod = (component: string, status: string, more: object = {}): object => ({
      metadata: { name: 'x', labels: { 'davit.dev/component': component }, ...more },
      status: { conditions: [{ type: 'Ready', status }] },
    });
    const record = aRecord(
      { sourceConfig: { resourceSpec: { maxScale: 4, queueCpu: 1 } } },
      { resourceSpec: { minScale: 2, maxScale: 2, queueMinScale: 1, queueMaxScale: 1 } },
    );
    const items = [pod('server', 'True'), pod('server', 'False'), pod('server', 'True', { deletionTimestamp: 'now' }), pod('redis', 'True')];
    const kubectl = answering({ [RECORDS]: record, pods: { items } });
    expect((await runCli(['scale', 'shop'], { kubectl })).out.split('\n')).toEqual([
      'PART    MIN  MAX  PODS',
      'server  2    4    1/2 ready',
      'queue   1    1    0/0 ready',
    ]);
    expect(JSON.parse((await runCli(['scale', 'shop', '-o', 'json'], { kubectl })).out)).toEqual({
      name: 'shop',
      parts: [
        { part: 'server', min: 2, max: 4, ready: 1, pods: 2 },
        { part: 'queue', min: 1, max: 1, ready: 0, pods: 0 },
      ],
    });
  });
});

describe('restart', () => {
  const PROMISED = `shop--${serialRevisionId(uid, 3).slice(0, 8)}`;
  async function restarted(spec: object, items: object[] = [REVISION]): Promise<CliRan & { readonly written: unknown[] }> {
    const written: [string, string][] = [];
    const kubectl = answering({ [RECORDS]: aRecord(spec), 'apprevisions.davit.dev': { items } }, written);
    return { ...(await runCli(['restart', 'shop'], { kubectl })), written };
  }
  const specOf = ([, input]: [string, string]): AppDeployment['spec'] => (JSON.parse(input) as AppDeployment).spec;

  it.each([
    ['an image', {}],
    ['an upload', { source: 'internal_source', sourceRevisionConfig: { sourceTarballPath: 'uploads/1' } }],
  ])('of %s asks for a revision and changes nothing else', async (_what, spec) => {
    const { code, out, written } = await restarted(spec);
    expect([code, out]).toEqual([0, expect.stringMatching(`^shop is being restarted as ${PROMISED}; `)]);
    const [one, ...more] = written as [string, string][];
    expect([one?.[0], more]).toEqual(['replace --field-manager=kubectl-davit -f -', []]);
    expect(one && specOf(one)).toEqual({ ...aRecord(spec).spec, revisionSerial: 3 });
  });

  it('ends an earlier rollback, and goes on with one that the controller has not seen', async () => {
    const rollbackTo = '1'.repeat(8);
    const seen = await restarted({ rollbackTo });
    expect(specOf(seen.written[0] as [string, string])).not.toHaveProperty('rollbackTo');
    const unseen = await restarted({ rollbackTo, revisionSerial: 5 });
    expect(specOf(unseen.written[0] as [string, string])).toMatchObject({ rollbackTo, revisionSerial: 6 });
  });

  it('of a repository keeps the commit that runs: its Deployments are restarted', async () => {
    const { out, written } = await restarted({ source: 'codehost', sourceRevisionConfig: { repoRef: 'main' } });
    expect(written).toEqual([
      ['rollout restart deployments.apps --selector davit.dev/deployment=shop --field-manager=kubectl-davit', ''],
    ]);
    expect(out).toContain('with the image that runs');
  });

  it('fails where nothing runs', async () => {
    expect(await restarted({}, [])).toMatchObject({ code: 1, written: [], err: expect.stringContaining('no revision yet') });
  });
});

describe('delete', () => {
  const mine = { databaseVolumeUid: 'x' };

  it('says what happens to the data, asks for the name, and deletes', async () => {
    const kubectl = answering({ [RECORDS]: aRecord({}, mine) });
    const ran = await runCli(['delete', 'shop'], { kubectl, answers: ['shop'] });
    expect(ran).toMatchObject({ code: 0, questions: ['Delete shop in namespace team? Type its name to delete it: '] });
    expect(ran.err).toMatch(/^Its PostgreSQL volume shop--postgres is deleted with all data/);
    expect(ran.asked.at(-1)).toBe(`delete ${RECORDS} shop --wait=false`);
  });

  it.each([
    ['another answer', ['shopping'], [], 1, /Nothing was deleted\.$/],
    ['nobody to ask', undefined, [], 2, /^[^]*Nobody can be asked here: kubectl davit delete shop --yes$/],
    ['a timeout without --wait', undefined, ['--yes', '--timeout', '3'], 2, /^--timeout is for --wait\.$/],
  ])('deletes nothing with %s', async (_what, answers, flags, code, words) => {
    const kubectl = answering({ [RECORDS]: aRecord() });
    const ran = await runCli(['delete', 'shop', ...flags], { kubectl, ...(answers && { answers }) });
    expect(ran).toMatchObject({ code, err: expect.stringMatching(words) });
    expect(ran.asked.filter((one) => one.startsWith('delete'))).toEqual([]);
  });

  it.each([
    [{}, {}, /^Its pods/],
    [{}, mine, /volume shop--postgres is deleted with all data/],
    [{ databaseDeletionPolicy: 'Retain' }, mine, /volume shop--postgres and its password stay/],
    [{ tracingProjectDeletionPolicy: 'Delete' }, {}, /tracing project is deleted/],
  ])('says of %j %j: %s', (spec, status, words) => {
    expect(consequencesOf(aRecord(spec, status)).join('\n')).toMatch(words);
  });

  it('waits until the record is gone, and not for another of its name', async () => {
    const answers = [JSON.stringify(aRecord()), JSON.stringify(aRecord()), ''];
    const options = { timeoutMs: 5000, everyMs: 1 };
    await untilGone(async () => answers.shift() ?? '', { name: 'shop', uid }, options);
    expect(answers).toEqual([]);
    await untilGone(async () => JSON.stringify(aRecord({}, {}, { uid: 'other' })), { name: 'shop', uid }, options);
    const stuck = untilGone(async () => JSON.stringify(aRecord()), { name: 'shop', uid }, { timeoutMs: 0 });
    await expect(stuck).rejects.toThrow('shop is not gone after 0 s: its teardown goes on.');
  });

  it('only waits for one that is being deleted', async () => {
    let left = 2;
    const kubectl: Kubectl = async ([verb]) => {
      if (verb !== 'get') return expect.unreachable('it is deleted already');
      left -= 1;
      return left < 0 ? '' : JSON.stringify(aRecord({}, {}, { deletionTimestamp: '2026-01-01T00:00:00Z' }));
    };
    expect(await runCli(['delete', 'shop', '--wait'], { kubectl })).toMatchObject({ code: 0, out: 'shop is gone.' });
  });
});

describe('exec', () => {
  const pod = (name: string, more: object = {}, status = 'True'): object => ({
    metadata: { name, creationTimestamp: '2026-01-01T00:00:00Z', ...more },
    status: { conditions: [{ type: 'Ready', status }] },
  });
  const items = [
    pod('old'),
    pod('starts', { creationTimestamp: '2026-01-03T00:00:00Z' }, 'False'),
    pod('ends', { creationTimestamp: '2026-01-03T00:00:00Z', deletionTimestamp: 'now' }),
    pod('new', { creationTimestamp: '2026-01-02T00:00:00Z' }),
  ];
  const kubectl = answering({ pods: { items } });

  it('runs in the newest ready pod, with its exit code', async () => {
    const ran = await runCli(['exec', 'shop', '-n', 'team', '--', 'ls', '-l', '--', 'x'], { kubectl, terminalCode: 7 });
    expect(ran.onTerminal).toEqual(['--namespace=team exec new --container=server --stdin -- ls -l -- x']);
    expect(ran.code).toBe(7);
    expect(ran.asked[0]).toContain('davit.dev/deployment=shop,davit.dev/component=server');
  });

  it('has a terminal where there is one, and another part if asked', async () => {
    const ran = await runCli(['exec', 'shop', '-c', 'postgres', '--', 'psql'], { kubectl, answers: [] });
    expect(ran.onTerminal).toEqual(['exec new --container=postgres --stdin --tty -- psql']);
  });

  it.each([
    ['no command', ['exec', 'shop'], 2, /^Which command\? It follows --: kubectl davit exec shop -- sh$/],
    ['a command without --', ['exec', 'shop', 'ls'], 2, /^Name only one deployment\. Unexpected: "ls"\.$/],
    ['an unknown part', ['exec', 'shop', '-c', 'migrate', '--', 'ls'], 2, /^--component must be one of server, /],
  ])('is refused for %s', async (_what, args, code, words) => {
    expect(await runCli(args, { kubectl })).toMatchObject({ code, err: expect.stringMatching(words), onTerminal: [] });
  });

  it.each([
    [[], 'shop has no pod of server. See: kubectl davit status shop'],
    [[pod('x', {}, 'False')], 'No pod of server of shop is ready. See: kubectl davit status shop'],
  ])('fails without a ready pod', async (pods, err) => {
    const ran = await runCli(['exec', 'shop', '--', 'ls'], { kubectl: answering({ pods: { items: pods } }) });
    expect(ran).toMatchObject({ code: 1, err });
  });
});

describe('secrets', () => {
  const VALUE = 'canary value\n';
  const DEPLOYMENT = { id: uid, name: 'shop', latest_revision_id: '1'.repeat(32) };

  interface Sent {
    readonly method: string;
    readonly path: string;
    readonly body: object | undefined;
  }

  function fakeApi(sent: Sent[], after = '2'.repeat(32)): HttpApi {
    const call = async (method: string, path: string, body?: object): Promise<unknown> => {
      if (method === 'GET' && path.includes('/revisions')) return { resources: [{ id: after }] };
      if (method === 'GET') return { resources: path.endsWith('=shop') ? [DEPLOYMENT] : [] };
      sent.push({ method, path, body });
      return { ...DEPLOYMENT, latest_revision_id: after };
    };
    return { call, patiently: call, upload: () => expect.unreachable('nothing is uploaded') } as HttpApi;
  }
  const PATH = `/v2/deployments/${uid}/secrets/API_KEY?secrets=names`;

  it.each([
    ['a prompt', ['API_KEY'], { answers: ['typed'] }, 'typed'],
    ['standard input, without one line end', ['API_KEY'], { input: VALUE }, 'canary value'],
    ['standard input beside a terminal', ['API_KEY=-'], { answers: [], input: 'a\n\n' }, 'a\n'],
  ])('set reads the value from %s, and prints none', async (_what, args, world, value) => {
    const sent: Sent[] = [];
    const ran = await runCli(['secrets', 'shop', 'set', ...args], { ...world, api: fakeApi(sent) });
    expect(sent).toEqual([{ method: 'PUT', path: PATH, body: { value } }]);
    expect(ran).toMatchObject({
      code: 0,
      out: 'API_KEY of shop is set; revision shop--22222222 takes it. To follow it: kubectl davit wait shop',
      err: '',
    });
    expect(ran.questions).toEqual(args[0] === 'API_KEY' && 'answers' in world ? ['Value of API_KEY: (hidden)'] : []);
  });

  it('set reads a file as it is', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'davit-secret-'));
    const sent: Sent[] = [];
    await writeFile(join(folder, 'key'), VALUE);
    await writeFile(join(folder, 'binary'), Buffer.from([0xff, 0xfe]));
    const setFrom = (file: string): Promise<CliRan> =>
      runCli(['secrets', 'shop', 'set', 'API_KEY', '--from-file', join(folder, file)], { api: fakeApi(sent) });
    expect((await setFrom('key')).code).toBe(0);
    expect(sent).toEqual([{ method: 'PUT', path: PATH, body: { value: VALUE } }]);
    expect(await setFrom('binary')).toMatchObject({ code: 1, err: expect.stringContaining('is not text in UTF-8') });
    expect(await setFrom('none')).toMatchObject({ code: 1, err: expect.stringContaining('cannot be read') });
    await rm(folder, { recursive: true });
  });

  it('says where nothing has changed', async () => {
    const ran = await runCli(['secrets', 'shop', 'set', 'API_KEY'], { input: 'x', api: fakeApi([], DEPLOYMENT.latest_revision_id) });
    expect(ran.out).toBe('API_KEY of shop is set, as it was before: no new revision.');
  });

  it('unset removes one', async () => {
    const sent: Sent[] = [];
    const ran = await runCli(['secrets', 'shop', 'unset', 'API_KEY'], { api: fakeApi(sent) });
    expect(sent).toEqual([{ method: 'DELETE', path: PATH, body: undefined }]);
    expect(ran.out).toMatch(/^API_KEY of shop is removed; revision shop--22222222 takes it\./);
  });

  it.each([
    ['a value as an argument', ['set', 'API_KEY=canary'], {}, 2, /^The value of API_KEY must not be an argument/],
    ['no key', ['set'], {}, 2, /^Which variable\? kubectl davit secrets shop set KEY$/],
    ['two sources', ['set', 'A=-', '--from-file', 'x'], {}, 2, /leave one of them out/],
    ['a file for unset', ['unset', 'A', '--from-file', 'x'], {}, 2, /^--from-file is for set\.$/],
    ['a value for unset', ['unset', 'A=-'], {}, 2, /^unset takes the name alone/],
    ['a key for list', ['list', 'A'], {}, 2, /^list takes no KEY/],
    ['a format for set', ['set', 'A', '-o', 'json'], {}, 2, /^--output is for list\.$/],
    ['an empty value', ['set', 'A'], { input: '\n' }, 1, /^The value of A is empty: nothing was changed\.$/],
  ])('is refused for %s', async (_what, args, world, code, words) => {
    const sent: Sent[] = [];
    const ran = await runCli(['secrets', 'shop', ...args], { ...world, api: fakeApi(sent) });
    expect(ran).toMatchObject({ code, err: expect.stringMatching(words) });
    expect(`${ran.out}${ran.err}`).not.toContain('canary');
    expect(sent).toEqual([]);
  });

  it('fails where there is no such deployment', async () => {
    const ran = await runCli(['secrets', 'nope', 'set', 'A'], { input: 'x', api: fakeApi([]) });
    expect(ran).toMatchObject({ code: 1, err: 'There is no deployment nope.' });
  });

  it('list shows names and where their values are', async () => {
    const secrets = [{ name: 'B', secretName: 'shop--vars-1', secretKey: 'B' }];
    const secretReferences = [{ name: 'A', secretName: 'keys', secretKey: 'a' }];
    const kubectl = answering({ [RECORDS]: aRecord({ secrets, secretReferences }) });
    const ran = await runCli(['secrets', 'shop', 'list'], { kubectl });
    expect(ran.out.split('\n')).toEqual(['NAME  VALUE IS IN', 'A     Secret keys, key a', 'B     Davit']);
    expect(JSON.parse((await runCli(['secrets', 'shop', 'list', '-o', 'json'], { kubectl })).out)).toEqual([
      { ...secretReferences[0], managed: false },
      { ...secrets[0], managed: true },
    ]);
    const none = await runCli(['secrets', 'shop', 'list'], { kubectl: answering({ [RECORDS]: aRecord() }) });
    expect(none.out).toMatch(/^shop has no secret variables\./);
  });
});

describe('wait', () => {
  const stalled = (reason: string): AppDeployment =>
    aRecord({}, { conditions: [{ type: 'Stalled', status: 'True', reason, message: 'Why.' }] });
  const crashed = (state: object): object => ({
    metadata: { name: 'shop-1' },
    status: {
      containerStatuses: [{ name: 'server', ready: false, state, lastState: { terminated: { exitCode: 3 } } }],
    },
  });
  const withLogs = (kubectl: Kubectl): Kubectl => (args, input) =>
    args[0] === 'logs' ? Promise.resolve('no licence\nbye\n') : kubectl(args, input);

  it.each([
    ['that waits', { waiting: { reason: 'CrashLoopBackOff' } }, []],
    ['that runs again', { running: {} }, ['--previous']],
  ])('ends with the last lines of a container %s', async (_what, state, previous) => {
    const kubectl = withLogs(answering({ [RECORDS]: stalled('ContainerCrashed'), pods: { items: [crashed(state)] } }));
    const ran = await runCli(['wait', 'shop'], { kubectl });
    expect(ran).toMatchObject({ code: 1, out: 'Stalled: ContainerCrashed. Why.' });
    expect(ran.err.split('\n')).toEqual([
      'The last lines of container server of pod shop-1:',
      'no licence',
      'bye',
      'shop needs a change by a person. See: kubectl davit status shop',
    ]);
    expect(ran.asked.at(-1)).toBe(['logs shop-1 --container=server --tail=20', ...previous].join(' '));
  });

  const failedBuild = { ...REVISION, status: { state: 'BUILD_FAILED', build: { phase: 'Failed' } } };

  it('ends with the last lines of a build that failed', async () => {
    const kubectl = answering({ [RECORDS]: stalled('BuildFailed'), 'apprevisions.davit.dev': { items: [failedBuild] } });
    const call = async (_method: string, path: string): Promise<unknown> => {
      if (path.includes('build_logs')) return { logs: [{ id: '1', message: 'no rule' }], next_offset: null };
      const revision = { id: REVISION.spec.id, status: 'BUILD_FAILED', status_message: null };
      if (path.includes('/revisions/')) return revision;
      return { resources: path.includes('/revisions?') ? [revision] : [{ id: uid, name: 'shop' }] };
    };
    const api = { call, patiently: call } as unknown as HttpApi;
    expect((await runCli(['wait', 'shop'], { kubectl, api })).err.split('\n').slice(0, 2)).toEqual([
      'The last lines of the build:',
      'no rule',
    ]);
    expect((await runCli(['wait', 'shop', '-n', 'team'], { kubectl })).err).toMatch(
      /^To read the log of the build: kubectl davit logs shop --build --namespace=team\n/,
    );
  });

  it('fails as it did where the lines cannot be read', async () => {
    const kubectl: Kubectl = async (args) => {
      if (args[1] === RECORDS) return JSON.stringify(stalled('ContainerCrashed'));
      throw new Failure('pods is forbidden');
    };
    expect((await runCli(['wait', 'shop'], { kubectl })).err.split('\n')).toEqual([
      'The last lines of its log cannot be read: pods is forbidden',
      'shop needs a change by a person. See: kubectl davit status shop',
    ]);
  });
});
