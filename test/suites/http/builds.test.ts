// What the API says of builds: revisions with their commit, their log while they run and afterwards, and their interruption.

import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Revision } from '../../../src/deploy/http/revisions/payloads.ts';
import type { BuildStatus } from '../../../src/kinds/build.ts';
import { defaultSettings } from '../../../src/kinds/settings.ts';
import { DeployLogs } from '../../../src/logs/payloads.ts';
import { Forbidden } from '../../../src/runtime/errors.ts';
import { PODS } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { type FacadeWithRegistry, makeFacadeWithRegistry } from '../../support/facade-registry.ts';
import type { FakeRegistry } from '../../support/fake-registry.ts';
import { type Answer, aBody, anIntegration, type Facade, TENANT } from './facade.ts';
import { type GrowingLogs, growLogs, type Writer } from './growing-logs.ts';

const INTEGRATION = '0a6bb1b2-6b0e-4f6e-8d3c-6f5d9a1a7c10';
const COMMIT = 'c0ffee'.repeat(7).slice(0, 40);
const repository = `${TENANT.namespace}-aaaaaaaa/shop`;

let setup: FacadeWithRegistry;
let facade: Facade;
let registry: FakeRegistry;
let id: string;
let rid: string;
beforeEach(async () => {
  setup = await makeFacadeWithRegistry();
  ({ facade, registry } = setup);
  anIntegration(facade, INTEGRATION);
  const made = await facade.call('POST', '/v2/deployments', {
    ...aBody(),
    source: 'github',
    source_config: {
      integration_id: INTEGRATION,
      repo_url: 'https://host.example/team/shop',
      build_on_push: true,
      deployment_type: 'dev_zero',
    },
    source_revision_config: { repo_ref: 'main', langgraph_config_path: 'langgraph.json' },
  });
  expect([made.status, made.body.detail]).toEqual([201, undefined]);
  expect(made.body).toMatchObject({
    source: 'codehost',
    source_config: { deployment_type: 'dev' },
    source_revision_config: { workflow_config_path: 'langgraph.json', repo_commit_sha: null },
  });
  id = made.body.id;
});
afterEach(() => setup.close());

/** The revision as the controller reports it. */
function reported(state: 'AWAITING_BUILD' | 'BUILDING' | 'BUILD_FAILED' | 'DEPLOYED', build?: BuildStatus): void {
  const settings = { ...defaultSettings(), hosting: 'both' as const };
  const revision = facade.snapshot(
    { state, message: build?.message ?? 'It builds.', ...(build && { build }) },
    settings,
  );
  rid = revision.spec.id;
}

const path = (more = ''): string => `/v2/deployments/${id}/revisions/${rid}${more}`;

describe('a revision', () => {
  it('shows its commit, as its deployment does', async () => {
    reported('BUILDING', { phase: 'Building', commit: COMMIT, commitAuthor: 'Ada', commitMessage: 'Adds a shop' });
    const { body } = await facade.call('GET', path());
    expect(Revision.parse(body)).toEqual(body);
    expect(body).toMatchObject({ commit_author: 'Ada', commit_message: 'Adds a shop' });
    expect([body.status, body.source_revision_config.repo_commit_sha]).toEqual(['BUILDING', COMMIT]);
    const deployment = (await facade.call('GET', `/v2/deployments/${id}`)).body;
    expect(deployment.source_revision_config).toMatchObject({ repo_ref: 'main', repo_commit_sha: COMMIT });
    const listed = (await facade.call('GET', '/v2/deployments')).body.resources[0];
    expect(listed.source_revision_config.repo_commit_sha).toBe(COMMIT);
  });

  it('that failed names the line, and what to do', async () => {
    const message = 'Line 4 of the Dockerfile failed: RUN make. Correct it, then create a new revision.';
    reported('BUILD_FAILED', { phase: 'Failed', reason: 'StepFailed', message, line: 4, instruction: 'RUN make' });
    expect((await facade.call('GET', path())).body).toMatchObject({ status: 'BUILD_FAILED', status_message: message });
  });
});

describe('an interruption', () => {
  it('is written for the controller with the caller’s token', async () => {
    reported('BUILDING', { phase: 'Building' });
    const answer = await facade.call('POST', path('/interrupt'));
    expect([answer.status, answer.body.id, answer.body.status]).toEqual([202, rid, 'BUILDING']);
    expect(facade.records.byUid(id)?.metadata.annotations).toMatchObject({
      'davit.dev/interrupt': rid,
      'davit.dev/interrupted-by': `${id} ${rid} somebody`,
    });
    expect(facade.writes().at(-1)).toMatchObject({ verb: 'patch', kind: 'AppDeployment', token: expect.any(String) });
    expect(facade.records.byUid(id)?.spec.revisionSerial).toBe(1);
  });

  it.each<[string, BuildStatus | undefined]>([
    ['a build that was made', { phase: 'Built' }],
    ['a build that failed', { phase: 'Failed' }],
    ['a build that was skipped', { phase: 'Skipped' }],
    ['a build that was interrupted', { phase: 'Interrupted' }],
    ['no build', undefined],
  ])('of %s is rejected', async (_name, build) => {
    reported('DEPLOYED', build);
    const before = facade.writes().length;
    expect(await facade.call('POST', path('/interrupt'))).toMatchObject({
      status: 409,
      body: { detail: `Revision ID ${rid} is DEPLOYED: it has no running or queued build to interrupt.` },
    });
    expect(facade.writes()).toHaveLength(before);
  });

  it.each([
    ['who asked for it', { interruptedBy: 'somebody' }, 'somebody'],
    ['nobody where the request did not say it', {}, null],
  ])('names %s', async (_what, more, shown) => {
    reported('BUILD_FAILED', { phase: 'Interrupted', ...more });
    expect((await facade.call('GET', path())).body.interrupted_by).toBe(shown);
  });

  it('of a missing revision is rejected', async () => {
    reported('BUILDING', { phase: 'Building' });
    rid = '99999999-0000-4000-8000-000000000009';
    expect((await facade.call('POST', path('/interrupt'))).status).toBe(404);
  });

  it('by a caller who may only read is rejected', async () => {
    reported('BUILDING', { phase: 'Building' });
    const forbidden = new Forbidden('patch shop', { serverMessage: 'no right' });
    facade.kube.failOn(({ verb }) => (verb === 'patch' ? forbidden : undefined));
    expect(await facade.call('POST', path('/interrupt'))).toMatchObject({ status: 403, body: { detail: 'no right' } });
  });
});

const logs = (body: object = {}): Promise<Answer> =>
  facade.call('POST', `/v1/projects/${id}/revisions/${rid}/build_logs`, body);
const messages = ({ body }: Answer): string[] => body.logs.map(({ message }: { message: string }) => message);
const at = (second: number): string => `2026-01-01T00:00:${String(second).padStart(2, '0')}.000000000Z`;

/** The pod that builds, and what its containers have written. */
function aBuildPod(containers: Readonly<Record<string, readonly string[]>>): void {
  const metadata = { name: 'build-1', namespace: 'davit-builds', labels: { 'davit.dev/build': rid } };
  const status = {
    initContainerStatuses: ['fetch', 'plan'].map((name) => ({ name, containerID: 'x' })),
    containerStatuses: [{ name: 'build', containerID: 'x' }],
  };
  facade.kube.seed(PODS, { apiVersion: 'v1', kind: 'Pod', metadata, status } as KubeObject);
  for (const [name, lines] of Object.entries(containers))
    facade.kube.texts.set(
      `/api/v1/namespaces/davit-builds/pods/build-1/log?container=${name}`,
      lines.map((line) => `${line}\n`).join(''),
    );
}

/** The log as the builder keeps it. */
function keepLog(
  lines: readonly string[],
  packed = gzipSync(lines.map((line) => `${line}\n`).join('')),
  manifest: object = {},
): void {
  const digest = `sha256:${'1'.repeat(64)}`;
  registry.blobs.set(`${repository}@${digest}`, packed);
  const layers = [{ mediaType: 'application/vnd.davit.log.v1+gzip', digest, size: packed.length }];
  const artifactType = 'application/vnd.davit.log.v1';
  registry.put(repository, `log-${rid}`, { schemaVersion: 2, artifactType, layers, ...manifest });
}
const kept = (second: number, m: string, c = 'build'): string => JSON.stringify({ t: at(second), c, m });

describe('the log of a running build', () => {
  beforeEach(() => {
    reported('BUILDING', { phase: 'Building' });
    aBuildPod({
      fetch: [`${at(1)} Cloning`],
      plan: [`${at(2)} {"level":"warn","msg":"unknown key"}`],
      build: [`${at(3)} #1 FROM base`, `${at(4)} #2 RUN make`, `${at(5)} ERROR: no rule`],
    });
  });

  it('contains all steps, oldest or newest first', async () => {
    const answer = await logs({ order: 'asc' });
    expect(DeployLogs.parse(answer.body)).toEqual(answer.body);
    expect(messages(answer)).toEqual([
      'Cloning',
      '{"level":"warn","msg":"unknown key"}',
      '#1 FROM base',
      '#2 RUN make',
      'ERROR: no rule',
    ]);
    expect(messages(await logs({ order: 'desc', limit: 2 }))).toEqual(['ERROR: no rule', '#2 RUN make']);
    expect(messages(await logs({ level: 'ERROR' }))).toEqual(['ERROR: no rule']);
  });

  it('continues where it was read to, without repeated lines', async () => {
    const first = await logs({ order: 'asc', limit: 50 });
    expect(first.body.next_offset).toBeNull();
    const nothing = await logs({ limit: 50, position: first.body.position });
    expect([messages(nothing), nothing.body.position]).toEqual([[], first.body.position]);
    facade.kube.texts.set(
      '/api/v1/namespaces/davit-builds/pods/build-1/log?container=build',
      `${at(5)} ERROR: no rule\n${at(6)} more\n`,
    );
    expect(messages(await logs({ limit: 50, position: first.body.position }))).toEqual(['more']);
  });

  it('is read with the facade’s own account, after a check of the caller’s right to logs', async () => {
    facade.kube.allow(({ resource, subresource }) => !(resource === 'pods' && subresource === 'log'));
    facade.clock.ms += 11_000;
    expect(await logs()).toMatchObject({ status: 403, body: { detail: expect.stringContaining('get pods/log') } });
  });

  it('answers 500 where that account lacks the right', async () => {
    facade.kube.failOn(({ kind, ref }) =>
      kind === 'Pod' && ref.namespace === 'davit-builds' ? new Forbidden('list') : undefined,
    );
    expect((await logs()).status).toBe(500);
  });

  it('cannot be read by another tenant', async () => {
    const answer = await facade.call(
      'POST',
      `/v1/projects/${id}/revisions/${rid}/build_logs`,
      {},
      { 'x-tenant-id': 'team-b' },
    );
    expect(answer.status).toBe(404);
  });

  it('of a revision that is not there is a 404', async () => {
    rid = '99999999-0000-4000-8000-000000000009';
    expect(await logs()).toMatchObject({ status: 404, body: { detail: `Revision ID ${rid} not found.` } });
  });
});

it('the log of a revision that reuses an image is that of the build that made it', async () => {
  const builtBy = '99999999-0000-4000-8000-000000000009';
  const own = rid;
  rid = builtBy;
  keepLog([kept(1, 'made by another')]);
  rid = own;
  reported('DEPLOYED', { phase: 'Built', reason: 'ImageReused', builtBy });
  expect(messages(await logs())).toEqual(['made by another']);
});

describe('the log of a build that is read on', () => {
  let position: string | null | undefined;
  /** What was written since, and whether that is the end. */
  async function read(): Promise<unknown[]> {
    const answer = await logs({ order: 'asc', limit: 1000, position });
    if (answer.status !== 200) return [answer.status];
    ({ position } = answer.body);
    return [...messages(answer), ...(position === null ? ['the end'] : [])];
  }
  let pod: Writer;
  let growing: GrowingLogs;
  beforeEach(() => {
    position = undefined;
    growing = growLogs(facade);
    reported('AWAITING_BUILD', { phase: 'Queued' });
  });
  const begin = (): void => {
    const labels = { 'davit.dev/build': rid };
    pod = growing.start(id, 'build-1', { namespace: 'davit-builds', labels, container: 'build' });
  };
  const advance = (build: BuildStatus): void => {
    const [revision] = facade.revisions.list();
    if (revision !== undefined) facade.revisions.put({ ...revision, status: { state: 'BUILDING', build } });
  };

  it('has every line from the first one on, and ends when the build is over', async () => {
    expect(await read()).toEqual([]);
    begin();
    for (let n = 0; n < 1200; n += 1) pod.write(n, `line ${n}`);
    advance({ phase: 'Building' });
    expect(await read()).toEqual(Array.from({ length: 1000 }, (_, n) => `line ${n}`));
    expect(await read()).toEqual(Array.from({ length: 200 }, (_, n) => `line ${n + 1000}`));
    expect(growing.reads.at(-1)).toMatchObject({ token: undefined });
    pod.write(1200, 'last');
    pod.end();
    keepLog(
      Array.from({ length: 1201 }, (_, n) => {
        const t = new Date(Date.parse('2026-01-01T00:00:00Z') + n * 1000).toISOString();
        return JSON.stringify({ t, c: 'build', m: n === 1200 ? 'last' : `line ${n}` });
      }),
    );
    advance({ phase: 'Built' });
    expect(await read()).toEqual(['last', 'the end']);
  });

  it('is read on in what was kept, though the pod is gone', async () => {
    begin();
    pod.write(1, 'one');
    pod.write(2, 'two');
    advance({ phase: 'Building' });
    expect(await read()).toEqual(['one', 'two']);
    pod.remove();
    // Its pod is gone, and the controller has not said so yet.
    expect(await read()).toEqual([]);
    keepLog([kept(1, 'one'), kept(2, 'two'), kept(3, 'three')]);
    advance({ phase: 'Failed' });
    expect(await read()).toEqual(['three', 'the end']);
    position = undefined;
    expect(await read()).toEqual(['one', 'two', 'three', 'the end']);
  });

  it('of a kept log that does not fit goes on to its end', async () => {
    keepLog(Array.from({ length: 50 }, (_, n) => kept(n, `line ${n}`)));
    advance({ phase: 'Built' });
    const first = await logs({ order: 'asc', limit: 40 });
    const second = await logs({ limit: 40, position: first.body.position });
    expect([messages(first).length, messages(second).length, second.body.position]).toEqual([40, 10, null]);
  });

  it('is read by the right to logs', async () => {
    facade.kube.allow(({ subresource }) => subresource !== 'log');
    expect(await read()).toEqual([403]);
    expect(growing.reads).toEqual([]);
  });
});

describe('the log of an ended build', () => {
  beforeEach(() => reported('BUILD_FAILED', { phase: 'Failed', message: 'It failed.' }));

  it('is the stored log, also when the pod is gone', async () => {
    keepLog([kept(1, 'Cloning', 'fetch'), kept(3, '#1 FROM base'), kept(4, 'ERROR: no rule')]);
    const answer = await logs({ order: 'asc' });
    expect(messages(answer)).toEqual(['Cloning', '#1 FROM base', 'ERROR: no rule']);
    expect([answer.body.next_offset, answer.body.truncated]).toEqual([null, false]);
    expect(messages(await logs({ order: 'desc', limit: 1 }))).toEqual(['ERROR: no rule']);
  });

  it('has pages of the stored log', async () => {
    keepLog(Array.from({ length: 60 }, (_, n) => kept(n, `line ${n}`)));
    const first = await logs({ order: 'asc', limit: 40 });
    const second = await logs({ order: 'asc', limit: 40, offset: first.body.next_offset });
    expect([...messages(first), ...messages(second)]).toEqual(Array.from({ length: 60 }, (_, n) => `line ${n}`));
  });

  it('is the pod’s if none was stored', async () => {
    aBuildPod({ fetch: [`${at(1)} fatal: repository not found`] });
    expect(messages(await logs())).toEqual(['fatal: repository not found']);
  });

  it('is empty without both', async () => {
    expect((await logs()).body).toEqual({ logs: [], next_offset: null, position: null, truncated: false });
  });

  it('skips invalid lines, and lines of writers that no build has', async () => {
    const invalid = ['no JSON', '{}', '[]', 'null', '{"t":7,"m":"x"}', '', kept(1, 'x', 'server'), kept(1, 'x', '')];
    const times = [`${at(1)} x\n${at(1)}`, '2026-13-01T00:00:00Z', 'x'.repeat(50)];
    const timeless = times.map((t) => JSON.stringify({ t, c: 'build', m: 'x' }));
    keepLog([kept(1, 'one\ntwo'), ...invalid, ...timeless, kept(2, 'three')]);
    expect(messages(await logs({ order: 'asc' }))).toEqual(['one two', 'three']);
  });

  it('of 100 MiB ends at a limit', async () => {
    keepLog([], gzipSync(`${kept(1, 'x'.repeat(60_000))}\n`.repeat(1700)));
    const answer = await logs({ order: 'asc', limit: 1 });
    expect([answer.body.logs.length, answer.body.truncated]).toEqual([1, true]);
  });

  it.each<[string, object]>([
    ['has another type', { artifactType: 'application/vnd.example' }],
    ['has none', { artifactType: undefined }],
    ['has no layer', { layers: [] }],
  ])('is not read from a manifest that %s', async (_name, manifest) => {
    keepLog([kept(1, 'x')], undefined, manifest);
    aBuildPod({ build: [`${at(1)} of the pod`] });
    expect(messages(await logs())).toEqual(['of the pod']);
  });

  it('that cannot be read is an error', async () => {
    keepLog([], Buffer.from('no gzip'));
    expect(await logs()).toMatchObject({ status: 502, body: { detail: expect.stringContaining('cannot be read') } });
  });

  it('is an error if the registry is down', async () => {
    await registry.close();
    expect(await logs()).toMatchObject({
      status: 502,
      body: { detail: 'The registry cannot be reached. Try again later.' },
    });
  });
});

it('a revision without a build has no log, whatever its repository has', async () => {
  reported('DEPLOYED');
  keepLog([kept(1, 'x')]);
  const { length } = registry.seen;
  expect((await logs()).body).toEqual({ logs: [], next_offset: null, position: expect.any(String), truncated: false });
  expect(registry.seen.slice(length)).toEqual([]);
});
