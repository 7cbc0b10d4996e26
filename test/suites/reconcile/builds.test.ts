// Builds on the in-memory API server: runs the reconcilers of records and builds in turn, and simulates the Job
// controller and the kubelet.

import { describe, expect, it } from 'vitest';
import { DOCKER_CONFIG_KEY, dockerConfig } from '../../../src/build/registry/docker-config.ts';
import { registryGrant } from '../../../src/build/registry/registry-grant.ts';
import { presentRevisions } from '../../../src/deploy/http/revisions/presenter.ts';
import { rollingBack } from '../../../src/deploy/record/revision-request.ts';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../../src/kinds/app-deployment.ts';
import { APP_REVISIONS, type AppRevision } from '../../../src/kinds/app-revision.ts';
import { APP_TEMPLATES, type AppTemplate } from '../../../src/kinds/app-template.ts';
import { CODE_HOST_INTEGRATIONS, type CodeHostIntegration } from '../../../src/kinds/code-host-integration.ts';
import { conditionOf } from '../../../src/kinds/conditions.ts';
import { Settings } from '../../../src/kinds/settings.ts';
import { CodeHostFailed, Forbidden, Unavailable } from '../../../src/runtime/errors.ts';
import {
  DEPLOYMENTS,
  JOBS,
  NETWORK_POLICIES,
  NODES,
  PODS,
  SECRETS,
  SERVICES,
} from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { aController, KEY, type MemoryController, type Woken } from '../../kit/memory/controller.ts';
import { aServer, conditionIn, deleteRecord, edit, putRecord, putSecret, record } from '../../kit/memory/record.ts';
import { makeReady } from '../../kit/memory/workloads.ts';
import type { FakeKube } from '../../support/fake-kube/fake-kube.ts';
import { converge } from './harness.ts';

const INTEGRATION = '0a6bb1b2-6b0e-4f6e-8d3c-6f5d9a1a7c10';
const A = 'a'.repeat(40);
const B = 'b'.repeat(40);
const digestOf = (commit: string): string => `sha256:${commit.slice(0, 32).repeat(2)}`;

const DEFAULTS = Settings.parse({
  hosting: 'cloud',
  builds: {
    registry: { host: 'registry.example.com', tokens: true },
    images: { builder: 'registry.example.com/davit-builder:1', davit: 'registry.example.com/davit:1' },
  },
});

const PUSH_SECRET = Settings.parse({
  ...DEFAULTS,
  builds: { ...DEFAULTS.builds, registry: { host: 'registry.example.com', pushSecret: 'push' } },
});
const LOGIN = { username: 'davit', password: 'registry-canary' };

function putRegistrySecret(kube: FakeKube, config: string): void {
  const data = { [DOCKER_CONFIG_KEY]: Buffer.from(config).toString('base64') };
  kube.seed(SECRETS, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'push', namespace: DEFAULTS.builds.namespace },
    data,
  } as KubeObject);
}

interface Builds extends MemoryController {
  /** The fake code host: the commit or failure that it returns, and the number of requests. */
  readonly host: {
    commit: string;
    failure: CodeHostFailed | undefined;
    /** The next commit is found before this begins, and answered after it. */
    late: (() => Promise<void>) | undefined;
    asked: number;
    /** By commit: its davit.yaml. */
    files: Record<string, string | undefined>;
    /** Commits whose file was read, in order. */
    read: string[];
  };
  /** Reconciles the build of the newest revision or of revision `id` once. */
  build(id?: string): Promise<void>;
  /** Reconciles the pull Secret of namespace team once. */
  pullSecret(): Promise<void>;
  /** Checks the record's branch for a push once. */
  push(): Promise<void>;
  /**
   * Reconciles the record and its builds in turn until nothing changes. `run` simulates the build pods, which succeed
   * by default.
   */
  settle(run?: (kube: FakeKube) => void, passes?: number): Promise<void>;
  newest(): AppRevision;
}

function aPlatform(): FakeKube {
  const kube = aServer();
  kube.seed<CodeHostIntegration>(CODE_HOST_INTEGRATIONS, {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'CodeHostIntegration',
    metadata: { name: 'git', namespace: 'davit-org', uid: INTEGRATION },
    spec: { kind: 'gitea', apiUrl: 'https://git.example/api/v1', credentialsRef: { name: 'git' }, tenants: ['team'] },
  });
  const token = Buffer.from('source-token-canary').toString('base64');
  putSecret(kube, 'git', { token }, { namespace: 'davit-org' });
  kube.seed(NODES, {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'node' },
    status: { runtimeHandlers: [{ features: { userNamespaces: true } }] },
  } as KubeObject);
  return kube;
}

function fromRepository(
  more: Partial<AppDeployment['spec']> = {},
  sourceConfig: object = {},
): Partial<AppDeployment['spec']> {
  return {
    source: 'codehost',
    sourceConfig: { integrationId: INTEGRATION, repoUrl: 'https://git.example/team/shop', ...sourceConfig },
    sourceRevisionConfig: { repoRef: 'main', workflowConfigPath: 'davit.json' },
    ...more,
  };
}

async function builds(kube: FakeKube, settings: Settings = DEFAULTS, authorities?: string): Promise<Builds> {
  const host: Builds['host'] = { commit: A, failure: undefined, late: undefined, asked: 0, files: {}, read: [] };
  const answer = <Value>(value: Value): Promise<Value> => {
    host.asked += 1;
    return host.failure ? Promise.reject(host.failure) : Promise.resolve(value);
  };
  const harness = await aController(kube, settings, {
    authorities,
    codeHosts: {
      file: (_account, _url, { commit }) => {
        host.read.push(commit);
        const text = host.files[commit];
        return answer(text === undefined ? { problem: `is missing at commit ${commit}` } : { text });
      },
      commit: async () => {
        const { commit, late } = host;
        host.late = undefined;
        await late?.();
        return answer({ commit, commitAuthor: 'Ada', commitMessage: `Makes ${commit.slice(0, 1)}` });
      },
      token: ({ credential }) => answer(credential('token') ?? ''),
      status: () => Promise.resolve(),
    },
  });
  const build = async (id: string): Promise<void> => void (await harness.reconcile(`team/${id}`, 'builds'));
  const newest = (): AppRevision => {
    const [found] = kube
      .objects<AppRevision>(APP_REVISIONS)
      .toSorted((a, b) => ((b.metadata.resourceVersion ?? '') < (a.metadata.resourceVersion ?? '') ? -1 : 1))
      .toSorted(
        (a, b) =>
          b.spec.deploymentGeneration - a.spec.deploymentGeneration ||
          (b.spec.pushSerial ?? 0) - (a.spec.pushSerial ?? 0),
      );
    if (!found) throw new Error('There is no revision.');
    return found;
  };
  const built: Builds = {
    ...harness,
    host,
    build: (id = newest().spec.id) => build(id),
    pullSecret: async () => void (await harness.reconcile('team', 'pull-secrets')),
    push: async () => void (await harness.reconcile(KEY, 'pushes')),
    newest,
    settle: async (podRuns = succeed, passes = 9) => {
      let before: string | undefined;
      for (let pass = 0; pass < passes; pass += 1) {
        await harness.reconcile();
        await harness.reconcile(KEY, 'code-files');
        await makeReady(kube);
        for (const { spec } of kube.objects<AppRevision>(APP_REVISIONS)) await build(spec.id);
        podRuns(kube);
        const version = kube.resourceVersion();
        if (version === before) return;
        before = version;
      }
    },
  };
  return built;
}

type Ended = readonly (readonly [container: 'fetch' | 'plan' | 'build', exitCode: number, message: string])[];

/** Creates the pod of every running Job, with the container statuses of `ended`. */
function run(kube: FakeKube, ended: (commit: string) => Ended): void {
  for (const job of kube.objects<
    KubeObject & {
      spec: { suspend: boolean; template: { spec: { initContainers: { env: { name: string; value: string }[] }[] } } };
    }
  >(JOBS)) {
    if (job.spec.suspend) continue;
    const { name, namespace = '', labels = {} } = job.metadata;
    if (kube.objects(PODS).some(({ metadata }) => metadata.name === `${name}-x`)) continue;
    const commit =
      job.spec.template.spec.initContainers[0]?.env.find((variable) => variable.name === 'REF')?.value ?? '';
    const statuses = ended(commit).map(([container, exitCode, message]) => ({
      name: container,
      state: { terminated: { exitCode, message } },
    }));
    kube.seed(PODS, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name: `${name}-x`,
        namespace,
        labels,
        ownerReferences: [{ apiVersion: 'batch/v1', kind: 'Job', name, uid: job.metadata.uid ?? '', controller: true }],
      },
      status: {
        phase: 'Running',
        initContainerStatuses: statuses.filter((status) => status.name !== 'build'),
        containerStatuses: statuses.filter((status) => status.name === 'build'),
      },
    } as KubeObject);
  }
}
const succeed = (kube: FakeKube): void =>
  run(kube, (commit) => [
    ['fetch', 0, commit],
    ['plan', 0, ''],
    ['build', 0, digestOf(commit)],
  ]);
const failAtStep = (kube: FakeKube): void =>
  run(kube, (commit) => [
    ['fetch', 0, commit],
    ['plan', 0, ''],
    [
      'build',
      1,
      `   3 | >>> RUN exit 7\nerror: failed to solve: process "/bin/sh -c exit 7" did not complete successfully: exit code: 7`,
    ],
  ]);
const nothingRuns = (): void => undefined;

function image(kube: FakeKube): string | undefined {
  const [deployment] = kube.objects<KubeObject & { spec: { template: { spec: { containers: { image: string }[] } } } }>(
    DEPLOYMENTS,
  );
  return deployment?.spec.template.spec.containers[0]?.image;
}
const builtImage = (kube: FakeKube, commit: string): string => {
  const [tenant] = kube.objects({
    group: '',
    version: 'v1',
    kind: 'Namespace',
    plural: 'namespaces',
    namespaced: false,
  });
  return `registry.example.com/team-${tenant?.metadata.uid?.slice(0, 8)}/shop@${digestOf(commit)}`;
};
const jobs = (kube: FakeKube): string[] => kube.objects(JOBS).map(({ metadata }) => metadata.name);
const states = (kube: FakeKube): (string | undefined)[] =>
  kube
    .objects<AppRevision>(APP_REVISIONS)
    .toSorted(
      (a, b) =>
        a.spec.deploymentGeneration - b.spec.deploymentGeneration ||
        (a.spec.pushSerial ?? 0) - (b.spec.pushSerial ?? 0),
    )
    .map(({ status }) => status?.state);
async function change(kube: FakeKube, patch: object): Promise<void> {
  const { spec } = record(kube);
  await edit(kube, {
    ...patch,
    spec: { revisionSerial: (spec.revisionSerial ?? 0) + 1, ...(patch as { spec?: object }).spec },
  });
}

it('builds, rolls out the built image, and then writes nothing', async () => {
  const kube = aPlatform();
  putRecord(kube, fromRepository());
  const here = await builds(kube);
  const seen: (string | undefined)[] = [];
  const look = (): void => {
    const [state] = states(kube);
    if (seen.at(-1) !== state) seen.push(state);
  };
  for (let pass = 0; pass < 10; pass += 1) {
    await here.reconcile();
    look();
    await here.build();
    await here.reconcile();
    look();
    if (pass === 3) run(kube, () => []);
    if (pass === 5) {
      for (const { metadata } of kube.objects(PODS))
        kube.erase(PODS, { namespace: metadata.namespace ?? '', name: metadata.name });
      succeed(kube);
    }
    await makeReady(kube);
  }
  expect(seen).toEqual(['QUEUED', 'AWAITING_BUILD', 'DEPLOYING', 'DEPLOYED']);
  expect(image(kube)).toBe(builtImage(kube, A));
  expect(here.newest().status?.build).toMatchObject({
    phase: 'Built',
    commit: A,
    digest: digestOf(A),
    reason: 'ImageBuilt',
  });
  expect(record(kube).status).toMatchObject({ state: 'READY', image: builtImage(kube, A) });
  expect(here.events).toContain('Normal BuildSucceeded');
  here.writes();
  await here.settle();
  expect(here.writes()).toEqual([]);
});

it('creates Secrets that the Job owns, and deletes them when the build has finished', async () => {
  const kube = aPlatform();
  putRecord(kube, fromRepository());
  const here = await builds(kube);
  await here.settle(nothingRuns);
  const [job] = kube.objects<KubeObject & { spec: { suspend: boolean } }>(JOBS);
  expect(job?.spec.suspend).toBe(false);
  const secrets = kube
    .objects<KubeObject & { data?: Record<string, string>; stringData?: Record<string, string> }>(SECRETS)
    .filter(({ metadata }) => metadata.namespace === 'davit-builds');
  expect(secrets.map(({ metadata }) => metadata.name).toSorted()).toEqual([
    `${job?.metadata.name}-push`,
    `${job?.metadata.name}-source`,
  ]);
  for (const { metadata } of secrets) expect(metadata.ownerReferences).toMatchObject([{ uid: job?.metadata.uid }]);
  // Each Secret contains one credential, and no other object contains any.
  const source = secrets.find(({ metadata }) => metadata.name.endsWith('source'));
  const token = source?.stringData?.['token'] ?? Buffer.from(source?.data?.['token'] ?? '', 'base64').toString();
  expect(token).toBe('source-token-canary');
  for (const object of [...kube.objects(JOBS), ...kube.objects(APP_REVISIONS), ...kube.objects(APP_DEPLOYMENTS)])
    expect(JSON.stringify(object)).not.toMatch(/source-token-canary|davit-registry-1/);
  expect(kube.objects(NETWORK_POLICIES).some(({ metadata }) => metadata.namespace === 'davit-builds')).toBe(true);
  await here.settle();
  expect(kube.objects(SECRETS).filter(({ metadata }) => metadata.namespace === 'davit-builds')).toEqual([]);
  expect(jobs(kube)).toHaveLength(1);
  here.clock.ms += 3_600_001;
  await here.settle();
  expect(jobs(kube)).toEqual([]);
  expect(states(kube)).toEqual(['DEPLOYED']);
});

it("fetches a template's repository without a token, by the authorities of its host", async () => {
  const kube = aPlatform();
  const repoUrl = 'https://git.example:8443/templates/chat';
  kube.seed<AppTemplate>(APP_TEMPLATES, {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'AppTemplate',
    metadata: { name: 'chat', namespace: 'davit-org' },
    spec: { repoUrl },
  });
  putRecord(kube, {
    source: 'internal_template',
    sourceConfig: { repoUrl },
    sourceRevisionConfig: { repoRef: A, workflowConfigPath: 'davit.json' },
  });
  const codeHosts = [{ host: 'git.example:8443', ca: 'authorities of the host' }];
  const here = await builds(kube, Settings.parse({ ...DEFAULTS, codeHosts }));
  await here.settle(nothingRuns);
  const source = kube
    .objects<KubeObject & { data?: Record<string, string> }>(SECRETS)
    .find(({ metadata }) => metadata.name.endsWith('-source'));
  const inSource = (key: string): string => Buffer.from(source?.data?.[key] ?? '', 'base64').toString();
  expect([inSource('token'), inSource('ca.crt')]).toEqual(['', 'authorities of the host']);
  await here.settle();
  expect([states(kube), here.host.asked]).toEqual([['DEPLOYED'], 0]);
});

it("gives a build the platform's authorities and proxies, and lets it reach them", async () => {
  const kube = aPlatform();
  putRecord(kube, fromRepository());
  const proxy = { httpsProxy: 'http://10.9.8.7:3128', noProxy: ['.svc'] };
  const here = await builds(kube, Settings.parse({ ...DEFAULTS, proxy }), 'authorities of the platform');
  await here.settle(nothingRuns);
  const secrets = kube.objects<KubeObject & { data?: Record<string, string> }>(SECRETS);
  for (const part of ['-source', '-push']) {
    const secret = secrets.find(({ metadata }) => metadata.name.endsWith(part));
    expect(Buffer.from(secret?.data?.['authorities.crt'] ?? '', 'base64').toString()).toBe(
      'authorities of the platform',
    );
  }
  const [job] = kube.objects(JOBS);
  expect(JSON.stringify(job)).toContain('"--opt=build-arg:HTTPS_PROXY=http://10.9.8.7:3128"');
  expect(JSON.stringify(kube.objects(NETWORK_POLICIES))).toContain('"cidr":"10.9.8.7/32"');
});

it('reports the line that failed, and keeps the previous revision running', async () => {
  const kube = aPlatform();
  putRecord(kube, fromRepository());
  const here = await builds(kube);
  await here.settle();
  here.host.commit = B;
  await change(kube, {});
  await here.settle(failAtStep);
  expect(states(kube)).toEqual(['DEPLOYED', 'BUILD_FAILED']);
  expect(here.newest().status?.build).toMatchObject({
    phase: 'Failed',
    reason: 'StepFailed',
    line: 3,
    instruction: 'RUN exit 7',
    commit: B,
  });
  expect(here.newest().status?.message).toContain('Line 3 of the Dockerfile failed: RUN exit 7');
  expect(image(kube)).toBe(builtImage(kube, A));
  const { state, conditions, activeRevisionId, latestRevisionId } = record(kube).status ?? {};
  expect(state).toBe('READY');
  expect(conditionOf(conditions, 'Ready')).toMatchObject({ status: 'False', reason: 'BuildFailed' });
  expect(conditionOf(conditions, 'Available')).toMatchObject({ status: 'True' });
  expect(conditionOf(conditions, 'Stalled')).toMatchObject({ status: 'True', reason: 'BuildFailed' });
  expect(activeRevisionId).not.toBe(latestRevisionId);
  here.writes();
  await here.settle(failAtStep);
  expect(here.writes()).toEqual([]);
});

const BASE = 'registry.example.com/base/python:3.12';
const solving = (line: number, instruction: string, error: string): string =>
  `   ${line} | >>> ${instruction}\nerror: failed to solve: ${error}`;

/** What goes wrong, how the pod or the code host tells of it, and what then stands in the revision. */
it.each<
  [what: string, happen: (here: Builds, kube: FakeKube) => ((kube: FakeKube) => void) | undefined, string, RegExp]
>([
  ['a repository that is not there', refusedBy('missing', 'repository'), 'RepositoryNotFound', /Check repo_url/],
  ['a repository that is not allowed', refusedBy('forbidden'), 'CodeHostRefused', /Renew the credentials/],
  ['an empty repository, or a ref that is not there', refusedBy('missing', 'ref'), 'RefNotFound', /Set repo_ref/],
  [
    'a source that is gone',
    ends('fetch', 'SourceGone: The uploaded source is no longer in the registry: upload it again.'),
    'SourceGone',
    /upload it again/,
  ],
  [
    'an archive with a path out of the source',
    ends('fetch', "SourceInvalid: The uploaded source cannot be unpacked: tar: ../x: Member name contains '..'"),
    'SourceInvalid',
    /Member name contains/,
  ],
  [
    'an archive that is a bomb',
    ends(
      'fetch',
      'SourceTooLarge: The uploaded source has more than 2048 MiB once it is unpacked: leave out what is generated.',
    ),
    'SourceTooLarge',
    /2048 MiB/,
  ],
  [
    'a configuration file that is not there',
    ends('plan', 'ConfigurationMissing: There is no such file; workflow_config_path is "davit.json".'),
    'ConfigurationMissing',
    /workflow_config_path/,
  ],
  [
    'a dependency out of the workspace',
    ends('plan', 'PathOutsideWorkspace: dependencies[0] "../../x" is outside the workspace.'),
    'PathOutsideWorkspace',
    /dependencies\[0\]/,
  ],
  [
    'a configuration file of 10 MB',
    ends('plan', 'ConfigurationTooLarge: davit.json has 10485760 bytes.'),
    'ConfigurationTooLarge',
    /10485760/,
  ],
  [
    'a RUN that fails',
    ends('build', solving(3, 'RUN exit 7', 'process "/bin/sh -c exit 7" did not complete successfully: exit code: 7')),
    'StepFailed',
    /Line 3 of the Dockerfile failed: RUN exit 7/,
  ],
  [
    'a base image that is not there',
    ends('build', solving(1, `FROM ${BASE}`, `${BASE}: failed to resolve source metadata for ${BASE}: not found`)),
    'BaseImageNotFound',
    /Line 1 .*Correct the image in this FROM/,
  ],
  [
    'a registry that is down',
    ends(
      'build',
      solving(
        1,
        `FROM ${BASE}`,
        'failed to push registry.example.com/x: dial tcp 10.0.0.1:443: connect: connection refused',
      ),
    ),
    'PushFailed',
    /Ask the platform team to check the registry and the push credential/,
  ],
  [
    'a registry that is down when the base image is asked for',
    ends(
      'build',
      solving(
        1,
        `FROM ${BASE}`,
        `${BASE}: failed to resolve source metadata for ${BASE}: failed to do request: dial tcp 10.0.0.1:443: connect: connection refused`,
      ),
    ),
    'BaseImageUnreachable',
    /The builder cannot reach the registry for .*: .*connection refused/,
  ],
  [
    'a registry that is full',
    ends(
      'build',
      'error: failed to solve: failed to push registry.example.com/x: unexpected status from PUT request: 500 Internal Server Error: write /var/lib/registry/x: no space left on device',
    ),
    'PushFailed',
    /Ask the platform team to check the registry and the push credential/,
  ],
  [
    'a registry that refuses',
    ends(
      'build',
      'error: failed to solve: failed to push registry.example.com/x: server message: insufficient_scope: authorization failed',
    ),
    'PushFailed',
    /Ask the platform team to check the registry and the push credential/,
  ],
  [
    'a RUN that fills the disk of the container',
    ends('build', 'error: failed to solve: write /x: no space left on device'),
    'OutOfDisk',
    /storageGi/,
  ],
  [
    'a RUN that fills the disk of the pod',
    evictedFor('Usage of EmptyDir volume "state" exceeds the limit "10Gi".'),
    'OutOfDisk',
    /storageGi/,
  ],
  [
    'a RUN that forks without end',
    ends('build', solving(3, 'RUN bomb', 'process "/bin/sh -c bomb" did not complete successfully: exit code: 137')),
    'OutOfMemory',
    /memoryLimitMb/,
  ],
  ['a RUN that never ends', exceedsDeadline, 'TimedOut', /timeoutSeconds/],
])('%s: the revision says so, over HTTP too, and what served goes on serving', async (_what, happen, reason, words) => {
  const kube = aPlatform();
  putRecord(kube, fromRepository());
  const here = await builds(kube);
  await here.settle();
  here.host.commit = B;
  await change(kube, {});
  const pods = happen(here, kube);
  await here.settle(pods ?? nothingRuns, 20);
  here.clock.ms += 15_000;
  await here.settle(pods ?? nothingRuns, 20);
  expect(states(kube)).toEqual(['DEPLOYED', 'BUILD_FAILED']);
  expect(here.newest().status?.build).toMatchObject({ phase: 'Failed', reason, message: expect.stringMatching(words) });
  expect(image(kube)).toBe(builtImage(kube, A));
  const { state, conditions } = record(kube).status ?? {};
  expect([state, conditionOf(conditions, 'Available')?.status, conditionOf(conditions, 'Stalled')?.reason]).toEqual([
    'READY',
    'True',
    'BuildFailed',
  ]);
  const [newest] = presentRevisions(record(kube), kube.objects<AppRevision>(APP_REVISIONS));
  expect(newest).toMatchObject({ status: 'BUILD_FAILED', status_message: expect.stringMatching(words) });
  here.writes();
  await here.settle(pods ?? nothingRuns);
  expect(here.writes()).toEqual([]);
});

function refusedBy(why: CodeHostFailed['why'], missing?: 'repository' | 'ref') {
  return (here: Builds): undefined => {
    here.host.failure = new CodeHostFailed(why, 'The code host says no.', missing === undefined ? {} : { missing });
  };
}
/** The container ends with this termination message. */
function ends(container: 'fetch' | 'plan' | 'build', message: string) {
  const before = { fetch: [], plan: ['fetch'], build: ['fetch', 'plan'] } as const;
  return () => (kube: FakeKube) =>
    run(kube, (commit) => [
      ...before[container].map((name) => [name, 0, name === 'fetch' ? commit : ''] as const),
      [container, 1, message],
    ]);
}
function evictedFor(message: string) {
  return () => (kube: FakeKube) => {
    run(kube, (commit) => [['fetch', 0, commit]]);
    const pod = kube
      .objects(PODS)
      .find(({ metadata }) => metadata.namespace === DEFAULTS.builds.namespace && isNewest(kube, metadata.name));
    if (pod) kube.seed(PODS, { ...pod, status: { phase: 'Failed', reason: 'Evicted', message } } as KubeObject);
  };
}
function exceedsDeadline() {
  return (kube: FakeKube): void => {
    run(kube, (commit) => [['fetch', 0, commit]]);
    const job = kube.objects(JOBS).find(({ metadata }) => isNewest(kube, metadata.name));
    const conditions = [{ type: 'Failed', status: 'True', reason: 'DeadlineExceeded' }];
    if (job) kube.seed(JOBS, { ...job, status: { conditions } } as KubeObject);
  };
}
/** Whether the name is of the Job or the pod that builds commit B. */
function isNewest(kube: FakeKube, name: string): boolean {
  return kube
    .objects<AppRevision>(APP_REVISIONS)
    .some(({ spec, status }) => status?.build?.commit === B && name.includes(spec.id));
}

/** Every write of a build, and one more. */
const WRITES = Array.from({ length: 13 }, (_, index) => index + 1);

it.each(WRITES)('builds once if write %i fails and the process restarts', async (at) => {
  for (const when of ['failOn', 'failAfter'] as const) {
    const kube = aPlatform();
    putRecord(kube, fromRepository());
    const first = await builds(kube);
    let writes = 0;
    kube[when](({ verb, ref }) => {
      if (['get', 'list', 'watch', 'text'].includes(verb) || isOfDeployment(ref.name)) return undefined;
      writes += 1;
      return writes === at ? new Unavailable('gone') : undefined;
    });
    for (let pass = 0; pass < 4 && writes < at; pass += 1) await first.settle(succeed, 1).catch(() => undefined);
    first.stop();
    kube[when](undefined);
    const uids = kube.objects(JOBS).map(({ metadata }) => metadata.uid);
    const second = await builds(kube);
    await second.settle(succeed, 8);
    expect([at, when, states(kube), jobs(kube).length]).toEqual([at, when, ['DEPLOYED'], 1]);
    for (const uid of uids) expect(kube.objects(JOBS)[0]?.metadata.uid).toBe(uid);
    expect(image(kube)).toBe(builtImage(kube, A));
    second.stop();
  }
});

/** Whether the object belongs to the deployment, not to a build, whose writes alone are counted. */
function isOfDeployment(name: string): boolean {
  return !name.startsWith('build-') && !name.startsWith('shop--') && name !== 'davit-builds';
}

/** Names of the Deployments and the Service that a record's pods answer at, in order. */
function served(kube: FakeKube): string[] {
  const ports = kube.objects(SERVICES).filter(({ metadata }) => metadata.name === 'shop');
  return [...kube.objects(DEPLOYMENTS), ...ports].map(({ kind, metadata }) => `${kind} ${metadata.name}`).toSorted();
}

/** What happens to a newest revision before it has an image. */
const WITHOUT_IMAGE = [
  ['is building', nothingRuns],
  ['failed', failAtStep],
] as const;

it.each(WITHOUT_IMAGE)(
  'deletes nothing that serves while the newest build %s, and makes again what a person deletes',
  async (_how, podRuns) => {
    const kube = aPlatform();
    const spec = { sourceConfig: { resourceSpec: { queueMaxScale: 1 } } };
    putRecord(kube, fromRepository({}, spec.sourceConfig));
    const here = await builds(kube);
    await here.settle();
    const before = served(kube);
    expect(before).toHaveLength(3);
    here.host.commit = B;
    await change(kube, {});
    for (const gone of ['shop', 'shop--queue']) {
      await here.settle(podRuns);
      kube.erase(DEPLOYMENTS, { namespace: 'team', name: gone });
      await here.settle(podRuns);
      expect(served(kube), `without ${gone}`).toEqual(before);
      expect(image(kube)).toBe(builtImage(kube, A));
    }
  },
);

it('deletes nothing that serves when its revision is deleted, which only loses the history', async () => {
  for (const more of [{}, { revisionSerial: undefined }]) {
    const kube = aPlatform();
    putRecord(kube, fromRepository(more, { resourceSpec: { queueMaxScale: 1 } }));
    const here = await builds(kube);
    await here.settle();
    const before = kube.objects(DEPLOYMENTS).map(({ metadata }) => metadata.uid);
    const [revision] = kube.objects(APP_REVISIONS);
    // A change that does not need a revision: the next one has another id.
    await edit(kube, { spec: { sourceConfig: { customUrl: null } }, metadata: { generation: 7 } });
    kube.erase(APP_REVISIONS, { namespace: 'team', name: revision?.metadata.name ?? '' });
    await here.settle(nothingRuns);
    expect(kube.objects(DEPLOYMENTS).map(({ metadata }) => metadata.uid)).toEqual(before);
    expect(served(kube)).toHaveLength(3);
    await here.settle();
    expect([conditionIn(kube, 'Ready')?.reason, kube.objects(DEPLOYMENTS).map(({ metadata }) => metadata.uid)]).toEqual(
      ['Serving', before],
    );
  }
});

it('does not take the pod of an earlier Job of the same name for that of a revision that is made again', async () => {
  const kube = aPlatform();
  putRecord(kube, fromRepository());
  const here = await builds(kube);
  await here.settle();
  const { metadata, spec } = here.newest();
  kube.erase(APP_REVISIONS, { namespace: 'team', name: metadata.name });
  // The Job goes, and the garbage collector is slow.
  await here.build(spec.id);
  await here.settle(nothingRuns);
  const { build } = here.newest().status ?? {};
  expect([here.newest().spec.id, kube.objects(PODS).length, build?.phase]).toEqual([spec.id, 1, 'AwaitingBuild']);
});

it('does not build for a change of resources, a rollback or an unchanged commit', async () => {
  const kube = aPlatform();
  putRecord(kube, fromRepository());
  const here = await builds(kube);
  await here.settle();
  const first = here.newest();

  here.host.commit = B;
  await change(kube, { spec: { sourceConfig: { resourceSpec: { cpu: 0.3 } } } });
  await here.settle(nothingRuns);
  expect(states(kube)).toEqual(['DEPLOYED', 'DEPLOYED']);
  expect(image(kube)).toBe(builtImage(kube, A));
  expect(here.newest().spec).toMatchObject({ commit: A, resolved: { image: builtImage(kube, A) } });

  await change(kube, {});
  await here.settle();
  expect([image(kube), jobs(kube).length]).toEqual([builtImage(kube, B), 2]);

  await change(kube, { spec: { rollbackTo: first.spec.id, sourceConfig: { resourceSpec: null } } });
  await here.settle(nothingRuns);
  expect([image(kube), jobs(kube).length, states(kube).at(-1)]).toEqual([builtImage(kube, A), 2, 'DEPLOYED']);

  // The branch is still at commit B, which was built before.
  await change(kube, { spec: { rollbackTo: null } });
  await here.settle(nothingRuns);
  expect([image(kube), jobs(kube).length, states(kube).at(-1)]).toEqual([builtImage(kube, B), 2, 'DEPLOYED']);
  expect(here.newest().status?.build).toMatchObject({ reason: 'ImageReused', commit: B });
});

it('builds each new commit of the branch with build_on_push, and keeps a rollback until the next commit', async () => {
  const kube = aPlatform();
  putRecord(kube, fromRepository({}, { buildOnPush: true }));
  const here = await builds(kube);
  await here.push();
  await here.settle();
  const first = here.newest();
  here.clock.ms += 30_000;
  here.host.commit = B;
  await here.push();
  await here.settle();
  expect(states(kube)).toEqual(['DEPLOYED']);
  here.clock.ms += 31_000;
  await here.push();
  await here.settle();
  expect(states(kube)).toEqual(['DEPLOYED', 'DEPLOYED']);
  expect(first.status?.build).toMatchObject({ commit: A, commitAuthor: 'Ada', commitMessage: 'Makes a' });
  expect(here.newest().status?.build).toMatchObject({ commit: B, commitMessage: 'Makes b' });
  expect(here.newest().spec).toMatchObject({
    commit: B,
    commitAuthor: 'Ada',
    pushSerial: 1,
    deploymentGeneration: first.spec.deploymentGeneration,
  });
  expect(image(kube)).toBe(builtImage(kube, B));

  await change(kube, { spec: { rollbackTo: first.spec.id } });
  await here.settle(nothingRuns);
  expect(here.newest().spec).toMatchObject({ commit: A, commitAuthor: 'Ada', commitMessage: 'Makes a' });
  here.clock.ms += 61_000;
  await here.push();
  await here.settle(nothingRuns);
  expect(image(kube)).toBe(builtImage(kube, A));

  // A webhook causes a request to the code host before the poll interval ends.
  here.host.commit = 'c'.repeat(40);
  const asked = here.host.asked;
  await here.push();
  expect(here.host.asked).toBe(asked);
  const status = { pushes: [{ repository: 'team/shop', at: '2026-02-02T03:00:00Z' }] };
  await kube.mergePatch(
    CODE_HOST_INTEGRATIONS,
    { namespace: 'davit-org', name: 'git' },
    { status },
    { subresource: 'status' },
  );
  await here.push();
  await here.settle();
  expect(image(kube)).toBe(builtImage(kube, 'c'.repeat(40)));
});

it('with build_on_push does not take an older answer of the code host for a push after a new revision', async () => {
  const kube = aPlatform();
  putRecord(kube, fromRepository({}, { buildOnPush: true }));
  const here = await builds(kube);
  await here.push();
  await here.settle();
  here.host.commit = B;
  await change(kube, {});
  await here.push();
  await here.settle();
  expect([states(kube), image(kube)]).toEqual([['DEPLOYED', 'DEPLOYED'], builtImage(kube, B)]);
  here.host.commit = A;
  here.clock.ms += 61_000;
  await here.push();
  await here.settle();
  expect([states(kube).length, image(kube)]).toEqual([3, builtImage(kube, A)]);
});

it('with build_on_push does not take an answer that comes late for a push', async () => {
  const kube = aPlatform();
  putRecord(kube, fromRepository({}, { buildOnPush: true }));
  const here = await builds(kube);
  await here.settle();
  const late = Promise.withResolvers<void>();
  let asked: Promise<void> | undefined;
  await new Promise<void>((begun) => {
    here.host.late = () => {
      begun();
      return late.promise;
    };
    asked = here.push();
  });
  here.host.commit = B;
  here.clock.ms += 1;
  await change(kube, {});
  await here.settle();
  late.resolve();
  await asked;
  await here.settle();
  expect([states(kube), image(kube)]).toEqual([['DEPLOYED', 'DEPLOYED'], builtImage(kube, B)]);
});

describe('build_on_push without polling', () => {
  const UNPOLLED = Settings.parse({ ...DEFAULTS, builds: { ...DEFAULTS.builds, pollSeconds: 0 } });
  const webhook = (kube: FakeKube, at: string): Promise<unknown> =>
    kube.mergePatch(
      CODE_HOST_INTEGRATIONS,
      { namespace: 'davit-org', name: 'git' },
      { status: { pushes: [{ repository: 'team/shop', at }] } },
      { subresource: 'status' },
    );

  async function pushed(): Promise<{ kube: FakeKube; here: Builds; woken: Woken }> {
    const kube = aPlatform();
    putRecord(kube, fromRepository({}, { buildOnPush: true }));
    const here = await builds(kube, UNPOLLED);
    const woken = here.wake('pushes');
    await woken.take();
    await here.push();
    await here.settle();
    expect(image(kube)).toBe(builtImage(kube, A));
    here.host.commit = B;
    return { kube, here, woken };
  }

  it('finds a commit of the time of a pause when the pause ends', async () => {
    const { kube, here, woken } = await pushed();
    const pause = (value: string | null): Promise<unknown> =>
      edit(kube, { metadata: { annotations: { 'davit.dev/paused': value } } });
    await pause('true');
    for (const key of await woken.take()) await here.reconcile(key, 'pushes');
    await webhook(kube, '2026-02-02T03:00:00Z');
    for (const key of await woken.take()) await here.reconcile(key, 'pushes');
    await here.settle();
    expect(image(kube)).toBe(builtImage(kube, A));

    await pause(null);
    const keys = await woken.take();
    expect(keys).toEqual([KEY]);
    for (const key of keys) await here.reconcile(key, 'pushes');
    await here.settle();
    expect(image(kube)).toBe(builtImage(kube, B));
  });

  it('finds a commit of the time without build_on_push when that is set again', async () => {
    const { kube, here, woken } = await pushed();
    for (const buildOnPush of [false, true]) {
      await edit(kube, { spec: { sourceConfig: { buildOnPush } } });
      for (const key of await woken.take()) await here.reconcile(key, 'pushes');
      await here.settle();
    }
    expect(image(kube)).toBe(builtImage(kube, B));
  });

  it('asks again for a push of which the code host gave no commit, and not after an answer', async () => {
    const { kube, here } = await pushed();
    await webhook(kube, '2026-02-02T03:00:00Z');
    here.host.failure = new CodeHostFailed('limited', 'Later.', { retryAfterSeconds: 90 });
    expect(await here.reconcile(KEY, 'pushes')).toEqual({ requeueAfterMs: 90_000 });
    here.host.failure = new CodeHostFailed('unreachable', 'The code host does not answer.');
    here.clock.ms += 90_000;
    const { requeueAfterMs = Infinity } = await here.reconcile(KEY, 'pushes');
    expect(requeueAfterMs).toBeLessThanOrEqual(60_000);
    here.host.failure = undefined;
    here.clock.ms += requeueAfterMs;
    expect(await here.reconcile(KEY, 'pushes')).toEqual({});
    await here.settle();
    expect(image(kube)).toBe(builtImage(kube, B));
    const { asked } = here.host;
    here.clock.ms += 3_600_000;
    expect([await here.reconcile(KEY, 'pushes'), here.host.asked]).toEqual([{}, asked]);
  });
});

it('with build_on_push continues after a build that failed before its commit was known', async () => {
  const kube = aPlatform();
  putRecord(kube, fromRepository({}, { buildOnPush: true }));
  const here = await builds(kube);
  here.host.failure = new CodeHostFailed('refused', 'No.');
  await here.push();
  await here.settle();
  expect([states(kube), here.newest().status?.build?.commit]).toEqual([['BUILD_FAILED'], undefined]);
  here.host.failure = undefined;
  here.clock.ms += 61_000;
  await here.push();
  await here.settle();
  expect([states(kube), image(kube)]).toEqual([['BUILD_FAILED', 'DEPLOYED'], builtImage(kube, A)]);
});

it('with build_on_push does not repeat a failed build of the commit that serves', async () => {
  const kube = aPlatform();
  putRecord(kube, fromRepository({}, { buildOnPush: true }));
  const here = await builds(kube);
  await here.push();
  await here.settle();
  here.host.failure = new CodeHostFailed('refused', 'No.');
  await change(kube, { spec: { installCommand: 'make' } });
  await here.settle(nothingRuns);
  here.host.failure = undefined;
  here.clock.ms += 61_000;
  await here.push();
  await here.settle(nothingRuns);
  expect([states(kube), image(kube)]).toEqual([['DEPLOYED', 'BUILD_FAILED'], builtImage(kube, A)]);
  here.host.commit = B;
  here.clock.ms += 61_000;
  await here.push();
  await here.settle();
  expect(image(kube)).toBe(builtImage(kube, B));
});

it.each([
  ['missing', 'ref', 'RefNotFound'],
  ['missing', 'repository', 'RepositoryNotFound'],
  ['refused', undefined, 'CodeHostRefused'],
] as const)('fails without a Job if the code host answers %s %s', async (why, missing, reason) => {
  const kube = aPlatform();
  putRecord(kube, fromRepository());
  const here = await builds(kube);
  here.host.failure = new CodeHostFailed(why, 'No.', missing && { missing });
  await here.settle();
  // A branch may appear some seconds after its push.
  here.clock.ms += 15_000;
  await here.settle();
  expect([states(kube), here.newest().status?.build?.reason, jobs(kube)]).toEqual([['BUILD_FAILED'], reason, []]);
});

it('asks again for a branch that the code host does not list yet', async () => {
  const kube = aPlatform();
  putRecord(kube, fromRepository());
  const here = await builds(kube);
  here.host.failure = new CodeHostFailed('missing', 'There is no main.', { missing: 'ref' });
  await here.settle();
  expect([states(kube), here.newest().status?.build?.reason]).toEqual([['QUEUED'], 'RefNotFound']);
  here.host.failure = undefined;
  await here.settle();
  expect(states(kube)).toEqual(['DEPLOYED']);
});

it('waits for an unreachable code host, and continues automatically', async () => {
  const kube = aPlatform();
  putRecord(kube, fromRepository());
  const here = await builds(kube);
  here.host.failure = new CodeHostFailed('unreachable', 'The code host does not answer.');
  await here.settle();
  expect([states(kube), here.newest().status?.build?.reason]).toEqual([['QUEUED'], 'CodeHostUnreachable']);
  here.host.failure = undefined;
  await here.settle();
  expect(states(kube)).toEqual(['DEPLOYED']);
});

it.each([
  ['does not exist', undefined, 'does not exist'],
  ['is not valid', 'secret-canary', 'has no user name and password for registry.example.com'],
  ['is for another registry', dockerConfig('other.example.com', LOGIN), 'has no user name and password'],
])("waits if the registry's Secret %s", async (_what, config, message) => {
  const kube = aPlatform();
  if (config !== undefined) putRegistrySecret(kube, config);
  putRecord(kube, fromRepository());
  const here = await builds(kube, PUSH_SECRET);
  await here.settle();
  const { reason, message: told = '' } = here.newest().status?.build ?? {};
  expect([states(kube), reason, jobs(kube)]).toEqual([['QUEUED'], 'CredentialMissing', []]);
  expect(told).toContain(message);
  expect(told).not.toContain('canary');
  putRegistrySecret(kube, dockerConfig('registry.example.com', LOGIN));
  await here.settle();
  expect(states(kube)).toEqual(['DEPLOYED']);
});

it.each([
  ['a quota', JOBS, new Forbidden('create', { serverMessage: 'exceeded quota: builds' })],
  ['a webhook that fails', SECRETS, new Unavailable('apply', { serverMessage: 'failed calling webhook "policy"' })],
])(
  'reports the words of the API server where %s refuses, and continues automatically',
  async (_what, { kind }, error) => {
    const kube = aPlatform();
    putRecord(kube, fromRepository());
    const here = await builds(kube);
    kube.failOn(({ kind: of, verb, ref }) =>
      of === kind && ['create', 'apply'].includes(verb) && ref.namespace === 'davit-builds' ? error : undefined,
    );
    await expect(here.settle()).rejects.toBe(error);
    const told = here.newest().status?.build;
    expect(told).toMatchObject({ phase: 'AwaitingBuild', reason: 'PodRefused' });
    expect(told?.message).toContain(error.serverMessage);
    // What is said already is not written again.
    here.writes();
    await expect(here.build()).rejects.toBe(error);
    expect(here.writes().filter((write) => write.includes('AppRevision'))).toEqual([]);
    kube.failOn(undefined);
    await here.settle();
    expect(states(kube)).toEqual(['DEPLOYED']);
  },
);

it.each(['the API server', 'the code host'])('does not write again what %s says with another number', async (who) => {
  const kube = aPlatform();
  putRecord(kube, fromRepository());
  const here = await builds(kube);
  let requests = 0;
  if (who === 'the API server')
    kube.failOn(({ kind, ref }) =>
      kind === 'Job' && ref.namespace === 'davit-builds'
        ? new Forbidden('create', { serverMessage: `denied: request ${(requests += 1)}` })
        : undefined,
    );
  else
    Object.defineProperty(here.host, 'failure', {
      get: () => new CodeHostFailed('unreachable', `The code host reset connection ${(requests += 1)}.`),
    });
  await here.settle(nothingRuns, 3).catch(() => undefined);
  await here.build().catch(() => undefined);
  expect(here.newest().status?.build?.message).toMatch(/(denied: request|reset connection) [12]\b/);
  here.writes();
  const before = requests;
  await here.build().catch(() => undefined);
  expect([requests > before, here.writes().filter((write) => write.includes('AppRevision'))]).toEqual([true, []]);
});

it('does not build for a tenant that the integration no longer lists', async () => {
  const kube = aPlatform();
  putRecord(kube, fromRepository());
  const here = await builds(kube);
  await here.reconcile();
  await kube.mergePatch(CODE_HOST_INTEGRATIONS, { namespace: 'davit-org', name: 'git' }, { spec: { tenants: [] } });
  await here.settle();
  expect([states(kube), here.newest().status?.build?.reason, here.host.asked]).toEqual([
    ['BUILD_FAILED'],
    'IntegrationNotFound',
    0,
  ]);
});

it('deletes the Job of an interrupted build, and skips a queued build for a newer revision', async () => {
  const kube = aPlatform();
  putRecord(kube, fromRepository());
  const here = await builds(kube);
  await here.settle(nothingRuns);
  expect(jobs(kube)).toHaveLength(1);
  const annotations = { 'davit.dev/interrupt': here.newest().spec.id };
  await edit(kube, { metadata: { annotations } });
  await here.settle(nothingRuns);
  expect([states(kube), jobs(kube)]).toEqual([['INTERRUPTED'], []]);
  expect(conditionIn(kube, 'Ready')?.reason).toBe('BuildInterrupted');

  here.host.failure = new CodeHostFailed('unreachable', 'No answer.');
  await change(kube, {});
  await here.settle(nothingRuns);
  await change(kube, {});
  await here.settle(nothingRuns);
  expect(states(kube)).toEqual(['INTERRUPTED', 'SKIPPED', 'QUEUED']);
  const [, skipped] = kube
    .objects<AppRevision>(APP_REVISIONS)
    .toSorted((a, b) => a.spec.deploymentGeneration - b.spec.deploymentGeneration);
  expect(skipped?.status?.build?.phase).toBe('Skipped');
});

it('deletes the Job if the record is deleted during a build', async () => {
  const kube = aPlatform();
  putRecord(kube, fromRepository());
  const here = await builds(kube);
  await here.settle(nothingRuns);
  const { spec } = here.newest();
  expect(jobs(kube)).toHaveLength(1);
  await deleteRecord(kube);
  await here.build(spec.id);
  expect(jobs(kube)).toEqual([]);
});

it('creates the pull Secret of a tenant, renews it, and deletes it with the last record that needs it', async () => {
  const kube = aPlatform();
  putRecord(kube, fromRepository());
  const here = await builds(kube);
  const secret = (): (KubeObject & { data: Record<string, string> }) | undefined =>
    kube
      .objects<KubeObject & { data: Record<string, string> }>(SECRETS)
      .find(({ metadata }) => metadata.name === 'davit-registry-pull');
  await here.pullSecret();
  const made = secret();
  const config = JSON.parse(Buffer.from(made?.data['.dockerconfigjson'] ?? '', 'base64').toString()) as {
    auths: Record<string, { password: string }>;
  };
  const key = kube
    .objects<KubeObject & { data: Record<string, string> }>(SECRETS)
    .find(({ metadata }) => metadata.name === 'davit-registry-key');
  const grant = registryGrant(
    Buffer.from(key?.data['key'] ?? '', 'base64'),
    config.auths['registry.example.com']?.password ?? '',
    new Date(here.clock.ms),
  );
  expect(grant).toMatchObject({ actions: ['pull'], repository: expect.stringMatching(/^team-[0-9a-f]{8}\/\*$/) });
  here.writes();
  await here.pullSecret();
  expect(here.writes()).toEqual([]);
  here.clock.ms += 24 * 3600 * 1000 + 1;
  await here.pullSecret();
  expect(here.writes()).toEqual(['apply Secret davit-registry-pull']);
  expect(secret()?.data).not.toEqual(made?.data);
  kube.erase(APP_DEPLOYMENTS, { namespace: 'team', name: 'shop' });
  await here.pullSecret();
  expect(secret()).toBeUndefined();
});

it('replaces a pull Secret that an editor made before with a far expiry', async () => {
  const kube = aPlatform();
  putRecord(kube, fromRepository());
  const here = await builds(kube);
  await here.pullSecret();
  const made = kube.objects(SECRETS).find(({ metadata: { name } }) => name === 'davit-registry-pull');
  const [label] = Object.keys(made?.metadata.labels ?? {}).filter((key) => key.startsWith('davit.dev/'));
  const [annotation] = Object.keys(made?.metadata.annotations ?? {}).filter((key) => key.includes('expires'));
  expect([label, annotation]).not.toContain(undefined);
  await kube.mergePatch(
    SECRETS,
    { namespace: 'team', name: 'davit-registry-pull' },
    { metadata: { annotations: { [annotation ?? '']: '2036-01-01T00:00:00Z' } } },
  );
  here.clock.ms += 1000;
  here.writes();
  await here.pullSecret();
  expect(here.writes()).toEqual(['apply Secret davit-registry-pull']);
});

it('does not change a foreign Secret with the name of the pull Secret', async () => {
  const kube = aPlatform();
  putSecret(kube, 'davit-registry-pull');
  putRecord(kube, fromRepository());
  const here = await builds(kube);
  here.writes();
  await here.pullSecret();
  expect(here.writes()).toEqual([]);
});

it('creates the pull Secret for a record that names an image of the registry itself, also before its first revision', async () => {
  const kube = aPlatform();
  putRecord(kube, { sourceRevisionConfig: { imageUri: 'registry.example.com/base/python:3.11' } });
  const here = await builds(kube);
  await here.pullSecret();
  expect(here.writes()).toContain('apply Secret davit-registry-pull');
  putRecord(kube);
  await here.pullSecret();
  expect(here.writes()).toEqual(['delete Secret davit-registry-pull']);
});

it('keeps the pull Secret for a kept revision of which only a sidecar is in the registry', async () => {
  const kube = aPlatform();
  const sidecars = [{ name: 'proxy', image: 'registry.example.com/base/proxy:1' }];
  putRecord(kube, { sourceConfig: { resourceSpec: { sidecars } } });
  const here = await builds(kube, Settings.parse({ ...DEFAULTS, hosting: 'self-hosted' }));
  await here.settle();
  await here.pullSecret();
  expect(here.writes()).toContain('apply Secret davit-registry-pull');
  await change(kube, { spec: { sourceConfig: { resourceSpec: { sidecars: null } } } });
  await here.settle();
  here.writes();
  await here.pullSecret();
  expect(here.writes()).toEqual([]);
});

it('references the pull Secret in pods', async () => {
  const kube = aPlatform();
  putRecord(kube, fromRepository());
  const here = await builds(kube);
  await here.settle();
  await converge(here);
  expect(JSON.stringify(kube.objects(DEPLOYMENTS)[0])).toContain('"imagePullSecrets":[{"name":"davit-registry-pull"}]');
});

interface DeploymentObject extends KubeObject {
  readonly spec: {
    readonly replicas?: number;
    readonly template: {
      readonly spec: {
        readonly containers: readonly { readonly resources?: { readonly requests?: Record<string, string> } }[];
      };
    };
  };
}

describe('a davit.yaml of the repository', () => {
  const PATH = 'deploy/davit.yaml';
  const withFile = (sourceConfig: object = {}, more: object = {}): Partial<AppDeployment['spec']> =>
    fromRepository(
      { sourceRevisionConfig: { repoRef: 'main', workflowConfigPath: 'davit.json', davitFile: PATH }, ...more },
      sourceConfig,
    );
  const FILE = 'resource_spec: {cpu: 2}\nenv: [{name: LEVEL, value: info}]\nruntime: {port: 9000}\n';

  const deploymentOf = (kube: FakeKube): DeploymentObject =>
    kube.objects<DeploymentObject>(DEPLOYMENTS)[0] ?? expect.fail('there is no Deployment');
  const container = (kube: FakeKube): Record<string, unknown> => ({
    ...deploymentOf(kube).spec.template.spec.containers[0],
  });
  const conditionsOf = (kube: FakeKube): Record<string, unknown> =>
    Object.fromEntries((record(kube).status?.conditions ?? []).map(({ type, reason }) => [type, reason]));

  it('is read once at the commit of a revision, before the revision is made', async () => {
    const kube = aPlatform();
    putRecord(kube, withFile({ env: [{ name: 'OWN', value: 'record' }] }));
    const here = await builds(kube);
    here.host.files[A] = FILE;
    await here.reconcile();
    expect([states(kube), conditionsOf(kube)['Ready']]).toEqual([[], 'FileUnread']);
    await here.settle();
    expect(states(kube)).toEqual(['DEPLOYED']);
    expect(here.newest().spec).toMatchObject({
      commit: A,
      commitAuthor: 'Ada',
      file: { path: PATH, fields: ['resourceSpec.cpu', 'runtime.port', 'env.LEVEL'] },
      requested: { resourceSpec: { cpu: 2 }, env: [{ name: 'LEVEL' }, { name: 'OWN' }] },
      resolved: { port: 9000, server: { cpu: 2 } },
    });
    expect(container(kube)).toMatchObject({
      env: expect.arrayContaining([
        { name: 'LEVEL', value: 'info' },
        { name: 'OWN', value: 'record' },
      ]),
      ports: [expect.objectContaining({ containerPort: 9000 })],
    });
    expect(here.host.read).toEqual([A]);
  });

  it('is read for each push, and the record wins field by field', async () => {
    const kube = aPlatform();
    putRecord(kube, withFile({ buildOnPush: true, resourceSpec: { cpu: 1 } }));
    const here = await builds(kube);
    here.host.files = { [A]: FILE, [B]: 'resource_spec: {cpu: 3, memory_mb: 4096}\n' };
    await here.push();
    await here.settle();
    here.host.commit = B;
    here.clock.ms += 61_000;
    await here.push();
    await here.settle();
    expect(here.newest().spec).toMatchObject({
      commit: B,
      pushSerial: 1,
      file: { fields: ['resourceSpec.memoryMb'] },
      resolved: { server: { cpu: 1, memoryMb: 4096 } },
    });
    expect([states(kube), here.host.read]).toEqual([
      ['DEPLOYED', 'DEPLOYED'],
      [A, B],
    ]);
  });

  it('fails the revision where it is not valid, with line and column, and what served goes on serving', async () => {
    const kube = aPlatform();
    putRecord(kube, withFile({ buildOnPush: true }));
    const here = await builds(kube);
    here.host.files = { [A]: FILE, [B]: 'env: []\nresource_spec:\n  cpu: many\n' };
    await here.push();
    await here.settle();
    here.host.commit = B;
    here.clock.ms += 61_000;
    await here.push();
    await here.settle();
    expect(states(kube)).toEqual(['DEPLOYED', 'BUILD_FAILED']);
    expect(here.newest().status?.build).toMatchObject({
      phase: 'Failed',
      reason: 'FileInvalid',
      message: expect.stringContaining(`${PATH}:3:8: resource_spec.cpu `),
      commit: B,
    });
    expect(conditionsOf(kube)).toMatchObject({ Ready: 'BuildFailed', Available: 'Serving' });
    expect([image(kube), jobs(kube).length]).toEqual([builtImage(kube, A), 1]);

    // The correction is the next commit.
    here.host.commit = 'c'.repeat(40);
    here.host.files[here.host.commit] = 'resource_spec: {cpu: 0.5}\n';
    here.clock.ms += 61_000;
    await here.push();
    await here.settle();
    expect(states(kube)).toEqual(['DEPLOYED', 'BUILD_FAILED', 'DEPLOYED']);
  });

  it('that is missing fails the revision', async () => {
    const kube = aPlatform();
    putRecord(kube, withFile());
    const here = await builds(kube);
    await here.settle();
    expect(here.newest().status?.build).toMatchObject({
      reason: 'FileInvalid',
      message: `${PATH}, the file in davit_file, is missing at commit ${A}. Add or correct it and push, or remove davit_file.`,
    });
    expect(jobs(kube)).toEqual([]);
  });

  it('of a code host that is down delays the revision, and only that', async () => {
    const kube = aPlatform();
    putSecret(kube, 'mine', { A: 'eA==' });
    const secretReferences = [{ name: 'A', secretName: 'mine', secretKey: 'A' }];
    putRecord(kube, withFile({}, { secretReferences }));
    const here = await builds(kube);
    here.host.files[A] = FILE;
    await here.settle();
    here.host.failure = new CodeHostFailed('unreachable', 'It is down.');
    const template = JSON.stringify(deploymentOf(kube).spec.template);
    // Only the revision that is delayed reads it.
    putSecret(kube, 'other', { B: 'eA==' });
    const more = [...secretReferences, { name: 'B', secretName: 'other', secretKey: 'B' }];
    const sourceRevisionConfig = { repoRef: 'next' };
    await change(kube, { spec: { revisionSerial: 2, secretReferences: more, sourceRevisionConfig } });
    await here.settle(nothingRuns);
    here.clock.ms += 3000;
    await here.settle(nothingRuns);
    expect(deploymentOf(kube).spec.template).toEqual(JSON.parse(template));
    expect([states(kube), conditionsOf(kube)]).toMatchObject([
      ['DEPLOYED'],
      { Ready: 'FileUnread', Available: 'Serving', Stalled: 'Settled' },
    ]);
    // The scale needs no revision, and takes effect.
    await edit(kube, { spec: { sourceConfig: { resourceSpec: { minScale: 2, maxScale: 2 } } } });
    await here.settle(nothingRuns);
    expect(deploymentOf(kube).spec.replicas).toBe(2);
    here.writes();
    await here.settle(nothingRuns);
    expect(here.writes()).toEqual([]);
    here.host.failure = undefined;
    here.clock.ms += 15_000;
    await here.settle();
    expect(states(kube)).toEqual(['DEPLOYED', 'DEPLOYED']);
  });

  it('is not read again for a change of sizes, a rollback, or by another controller', async () => {
    const kube = aPlatform();
    putRecord(kube, withFile({ buildOnPush: true }));
    const here = await builds(kube);
    here.host.files = { [A]: FILE, [B]: 'env: [{name: LEVEL, value: debug}]\n' };
    await here.push();
    await here.settle();
    const first = here.newest();
    here.host.commit = B;
    here.clock.ms += 61_000;
    await here.push();
    await here.settle();
    expect(here.host.read).toEqual([A, B]);
    here.host.failure = new CodeHostFailed('unreachable', 'It is down.');
    await change(kube, { spec: { sourceConfig: { resourceSpec: { memoryMb: 1024 } } } });
    await here.settle(nothingRuns);
    expect(here.newest().spec).toMatchObject({
      commit: B,
      requested: { env: [{ name: 'LEVEL', value: 'debug' }], resourceSpec: { memoryMb: 1024 } },
    });
    const back = rollingBack(record(kube).spec, first.spec);
    expect(back.sourceConfig).not.toHaveProperty('env');
    expect(back.sourceConfig).not.toHaveProperty('runtime');
    await edit(kube, { spec: { ...back, sourceConfig: { ...back.sourceConfig, resourceSpec: null } } });
    await here.settle(nothingRuns);
    expect(here.newest().spec).toMatchObject({ requested: first.spec.requested, resolved: { port: 9000 } });
    expect(here.newest().spec.file).toEqual(first.spec.file);
    expect([image(kube), here.host.read]).toEqual([builtImage(kube, A), [A, B]]);
  });

  it('that does not fit the record fails the next revision and leaves the built image alone', async () => {
    const kube = aPlatform();
    putRecord(kube, withFile());
    const here = await builds(kube);
    here.host.files[A] = 'env: []\nresource_spec:\n  cpu: 2\n';
    await here.settle();
    await change(kube, { spec: { sourceConfig: { resourceSpec: { cpuLimit: 1 } } } });
    await here.settle(nothingRuns);
    expect(states(kube)).toEqual(['DEPLOYED', 'BUILD_FAILED']);
    expect(here.newest().spec.resolved.image).toBeUndefined();
    expect(here.newest().status?.build?.message).toContain(
      `${PATH}:2:1: resource_spec.cpu_limit must not be below cpu. Correct it`,
    );
    expect(deploymentOf(kube).spec.template.spec.containers[0]?.resources?.requests?.['cpu']).toBe('2');
  });
});
