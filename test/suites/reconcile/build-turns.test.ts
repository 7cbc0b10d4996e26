// Who builds next, on a platform with several tenants. Builds are reconciled only when the watches wake them: nothing here looks
// at a build without a cause.

import { expect, it } from 'vitest';
import { requestedOf } from '../../../src/deploy/record/requested.ts';
import { APP_DEPLOYMENTS } from '../../../src/kinds/app-deployment.ts';
import { APP_REVISIONS, type AppRevision } from '../../../src/kinds/app-revision.ts';
import type { BuildStatus } from '../../../src/kinds/build.ts';
import { CODE_HOST_INTEGRATIONS, type CodeHostIntegration } from '../../../src/kinds/code-host-integration.ts';
import { Settings } from '../../../src/kinds/settings.ts';
import { CodeHostFailed, Forbidden } from '../../../src/runtime/errors.ts';
import { JOBS, NAMESPACES, SECRETS } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { aController, type MemoryController } from '../../kit/memory/controller.ts';
import { aServer, putRecord, record } from '../../kit/memory/record.ts';
import { aRevision } from '../../support/builders.ts';
import type { FakeKube } from '../../support/fake-kube/fake-kube.ts';

const INTEGRATION = '0a6bb1b2-6b0e-4f6e-8d3c-6f5d9a1a7c10';
const TENANTS = ['one', 'two', 'three'] as const;
const SETTINGS = Settings.parse({
  hosting: 'cloud',
  builds: {
    registry: { host: 'registry.example.com', tokens: true },
    images: { builder: 'builder:1', davit: 'davit:1' },
    concurrency: { perTenant: 1, total: 2 },
    mode: 'rootless',
  },
});

interface Turns extends MemoryController {
  /** Whether the code host answers, and whether it hands out tokens. */
  readonly host: { commits: boolean; tokens: boolean };
  /** Reconciles what is woken until nothing is. */
  settle(): Promise<void>;
  /** Reconciles those that asked to be tried again. */
  later(): Promise<void>;
  /** `namespace/name phase` of the newest revision of each deployment, in order. */
  phases(): string[];
}

const HEX = (serial: number): string => serial.toString(16).padStart(12, '0');
let serial = 0;

/** A record with a revision that is to be built: of an upload, or of a repository. */
function put(
  kube: FakeKube,
  namespace: string,
  name: string,
  source: 'internal_source' | 'codehost' = 'internal_source',
): void {
  const isThere = kube
    .objects(APP_DEPLOYMENTS)
    .some(({ metadata }) => metadata.namespace === namespace && metadata.name === name);
  serial += 1;
  if (!isThere)
    putRecord(
      kube,
      source === 'codehost'
        ? {
            source,
            sourceConfig: { integrationId: INTEGRATION, repoUrl: 'https://git.example/team/shop' },
            sourceRevisionConfig: { repoRef: 'main' },
          }
        : { source, sourceConfig: {}, sourceRevisionConfig: {} },
      { namespace, name },
    );
  const of = record(kube, namespace, name);
  const { spec, ...made } = aRevision(of, undefined, serial);
  const { image: _none, ...resolved } = spec.resolved;
  const requested = requestedOf({
    ...of.spec,
    ...(source !== 'codehost' && { sourceRevisionConfig: { sourceTarballPath: `uploads/${HEX(serial)}` } }),
  });
  kube.seed<AppRevision>(APP_REVISIONS, {
    ...made,
    metadata: { name: `${name}--${serial}`, namespace, labels: { 'davit.dev/deployment': name } },
    spec: {
      ...spec,
      id: `00000000-0000-4000-8000-${HEX(serial)}`,
      deploymentName: name,
      deploymentUid: of.metadata.uid ?? '',
      source,
      requested,
      resolved,
    },
  } as AppRevision);
}

async function turns(kube: FakeKube, settings = SETTINGS): Promise<Turns> {
  const host: Turns['host'] = { commits: true, tokens: true };
  const down = (): Promise<never> => Promise.reject(new CodeHostFailed('unreachable', 'It does not answer.'));
  const harness = await aController(kube, settings, {
    codeHosts: {
      file: () => Promise.reject(new Error('no file is read here')),
      commit: () => (host.commits ? Promise.resolve({ commit: 'c'.repeat(40) }) : down()),
      token: () => (host.tokens ? Promise.resolve('token') : down()),
      status: () => Promise.resolve(),
    },
  });
  const { clock } = harness;
  const watches = harness.wake('builds');
  const woken = new Set<string>();
  const again = new Set<string>();
  async function settle(): Promise<void> {
    for (let steps = 0; steps < 400; steps += 1) {
      if (woken.size === 0) for (const key of await watches.take()) woken.add(key);
      const [key] = woken;
      if (key === undefined) return;
      woken.delete(key);
      const { requeueAfterMs } = await harness.pass(key, 'builds');
      if (requeueAfterMs === 1) woken.add(key);
      else if (requeueAfterMs !== undefined) again.add(key);
    }
    throw new Error(`Builds do not come to rest: ${[...woken].join(', ')}`);
  }
  return {
    ...harness,
    host,
    settle,
    later: async () => {
      clock.ms += 15_000;
      for (const key of again) woken.add(key);
      again.clear();
      await settle();
    },
    phases: () =>
      [
        ...Map.groupBy(
          kube.objects<AppRevision>(APP_REVISIONS),
          ({ metadata, spec }) => `${metadata.namespace}/${spec.deploymentName}`,
        ),
      ]
        .map(([of, all]) => {
          const [newest] = all.toSorted((a, b) => b.spec.deploymentGeneration - a.spec.deploymentGeneration);
          return `${of} ${newest?.status?.build?.phase}`;
        })
        .toSorted(),
  };
}

function aPlatform(): FakeKube {
  const kube = aServer();
  for (const name of TENANTS)
    kube.seed(NAMESPACES, {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name, labels: { 'davit.dev/tenant': 'true' }, finalizers: ['kubernetes'] },
    });
  kube.seed<CodeHostIntegration>(CODE_HOST_INTEGRATIONS, {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'CodeHostIntegration',
    metadata: { name: 'git', namespace: 'davit-org', uid: INTEGRATION },
    spec: {
      kind: 'gitea',
      apiUrl: 'https://git.example/api/v1',
      credentialsRef: { name: 'git' },
      tenants: [...TENANTS],
    },
  });
  return kube;
}

const annotate = async (kube: FakeKube, namespace: string, name: string, annotations: object): Promise<void> =>
  void (await kube.mergePatch(APP_DEPLOYMENTS, { namespace, name }, { metadata: { annotations } }));
const pause = (kube: FakeKube, namespace: string, name: string): Promise<void> =>
  annotate(kube, namespace, name, { 'davit.dev/paused': 'true' });
const jobs = (kube: FakeKube): number => kube.objects(JOBS).length;

it('a paused build has no turn, and continues when it is not paused any more', async () => {
  const kube = aPlatform();
  const here = await turns(kube);
  for (const tenant of ['one', 'two'] as const) {
    put(kube, tenant, 'a');
    await pause(kube, tenant, 'a');
  }
  await here.settle();
  put(kube, 'three', 'a');
  await here.settle();
  expect(here.phases()).toEqual(['one/a undefined', 'three/a AwaitingBuild', 'two/a undefined']);
  await annotate(kube, 'one', 'a', { 'davit.dev/paused': null });
  await here.settle();
  expect(here.phases()).toEqual(['one/a AwaitingBuild', 'three/a AwaitingBuild', 'two/a undefined']);
});

it('builds that are paused while they wait let others pass, whoever paused them', async () => {
  const kube = aPlatform();
  const here = await turns(kube);
  for (const tenant of TENANTS) put(kube, tenant, 'a');
  await here.settle();
  expect(here.phases()).toEqual(['one/a AwaitingBuild', 'three/a Queued', 'two/a AwaitingBuild']);
  put(kube, 'one', 'b');
  put(kube, 'one', 'c');
  await here.settle();
  await pause(kube, 'one', 'b');
  // The build of one/a ends: its turn goes to `three`, none of whose builds runs, then to the unpaused build.
  await annotate(kube, 'one', 'a', { 'davit.dev/interrupt': kube.objects<AppRevision>(APP_REVISIONS)[0]?.spec.id });
  await annotate(kube, 'two', 'a', {
    'davit.dev/interrupt': kube.objects<AppRevision>(APP_REVISIONS).find(({ metadata }) => metadata.namespace === 'two')
      ?.spec.id,
  });
  await here.settle();
  expect(here.phases()).toEqual([
    'one/a Interrupted',
    'one/b Queued',
    'one/c AwaitingBuild',
    'three/a AwaitingBuild',
    'two/a Interrupted',
  ]);
});

const ORPHANED: readonly [string, (kube: FakeKube) => Promise<unknown>][] = [
  [
    'the tenant loses its label',
    (kube) => kube.mergePatch(NAMESPACES, { name: 'one' }, { metadata: { labels: { 'davit.dev/tenant': null } } }),
  ],
  [
    'the deletion of the record is held',
    async (kube) => {
      const { metadata } = record(kube, 'one', 'a');
      await kube.mergePatch(APP_DEPLOYMENTS, { namespace: 'one', name: 'a' }, { metadata: { finalizers: ['a/b'] } });
      await kube.remove(APP_DEPLOYMENTS, { namespace: 'one', name: 'a' }, { uid: metadata.uid ?? '' });
    },
  ],
];

it.each(ORPHANED)('a turn is free when %s', async (_what, happens) => {
  const kube = aPlatform();
  const here = await turns(kube);
  for (const tenant of TENANTS) put(kube, tenant, 'a');
  await here.settle();
  expect(here.phases()).toContain('three/a Queued');
  await happens(kube);
  await here.settle();
  expect(here.phases()).toContain('three/a AwaitingBuild');
  // Of those that build, and of none that is gone.
  expect(jobs(kube)).toBe(2);
});

it.each(ORPHANED)('the kept Job of a build that has failed is deleted when %s', async (_what, happens) => {
  const kube = aPlatform();
  const here = await turns(kube);
  put(kube, 'one', 'a');
  await here.settle();
  const [job] = kube.objects(JOBS);
  const failed = [{ type: 'Failed', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' }];
  kube.seed(JOBS, { ...job, status: { conditions: failed } } as unknown as KubeObject);
  await here.settle();
  expect([here.phases(), jobs(kube)]).toEqual([['one/a Failed'], 1]);
  await happens(kube);
  await here.settle();
  expect(jobs(kube)).toBe(0);
});

it.each(['commits', 'tokens'] as const)('a code host that gives no %s holds no other tenant up', async (what) => {
  const kube = aPlatform();
  const here = await turns(
    kube,
    Settings.parse({ ...SETTINGS, builds: { ...SETTINGS.builds, concurrency: { perTenant: 1, total: 1 } } }),
  );
  here.host[what] = false;
  put(kube, 'one', 'a', 'codehost');
  put(kube, 'two', 'a', 'codehost');
  await here.settle();
  put(kube, 'three', 'a');
  await here.settle();
  expect(here.phases()).toEqual(['one/a Queued', 'three/a AwaitingBuild', 'two/a Queued']);
  // Not by its retries either.
  await here.later();
  expect(here.phases()).toEqual(['one/a Queued', 'three/a AwaitingBuild', 'two/a Queued']);
  const [job] = kube.objects<KubeObject>(JOBS);
  kube.seed(JOBS, {
    ...job,
    status: { conditions: [{ type: 'Failed', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' }] },
  } as KubeObject);
  here.host[what] = true;
  await here.settle();
  await here.later();
  expect(here.phases()).toEqual(['one/a AwaitingBuild', 'three/a Failed', 'two/a Queued']);
});

it('a signing key that is malformed costs no turn, is said, and ends the build in time', async () => {
  const kube = aPlatform();
  kube.seed<KubeObject>(SECRETS, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'davit-registry-key', namespace: 'davit-system' },
    data: { key: '' },
  } as KubeObject);
  const here = await turns(
    kube,
    Settings.parse({ ...SETTINGS, builds: { ...SETTINGS.builds, concurrency: { perTenant: 1, total: 1 } } }),
  );
  put(kube, 'one', 'a');
  await here.settle();
  const build = (): BuildStatus | undefined => kube.objects<AppRevision>(APP_REVISIONS)[0]?.status?.build;
  expect(build()).toMatchObject({
    phase: 'Queued',
    reason: 'CredentialMissing',
    message: expect.stringMatching(/^Davit cannot read .*Secret davit-registry-key in davit-system/),
  });
  here.clock.ms += 3_600_000;
  await here.later();
  expect(build()).toMatchObject({ phase: 'Failed', reason: 'CredentialMissing' });
});

it('a turn that is held for a build that ends before it begins goes to the next', async () => {
  const kube = aPlatform();
  const here = await turns(
    kube,
    Settings.parse({ ...SETTINGS, builds: { ...SETTINGS.builds, concurrency: { perTenant: 1, total: 1 } } }),
  );
  for (const tenant of ['one', 'two', 'three'] as const) {
    put(kube, tenant, 'a');
    await here.settle();
  }
  expect(here.phases()).toEqual(['one/a AwaitingBuild', 'three/a Queued', 'two/a Queued']);
  const revisions = kube.objects<AppRevision>(APP_REVISIONS);
  await annotate(kube, 'one', 'a', { 'davit.dev/interrupt': revisions[0]?.spec.id });
  await here.pass(`one/${revisions[0]?.spec.id}`, 'builds');
  // It has the turn now, and a newer revision replaces it before it is reconciled.
  put(kube, 'two', 'a');
  await here.settle();
  expect(here.phases().filter((one) => one.endsWith('AwaitingBuild'))).toHaveLength(1);
});

it.each([
  ['its own tenant', { perTenant: 1, total: 9 }, /1 build of this namespace runs.*perTenant/],
  ['the platform', { perTenant: 9, total: 1 }, /All turns of the platform are taken.*total/],
])('a build says that it waits for the limit of %s', async (_whose, concurrency, says) => {
  const kube = aPlatform();
  const here = await turns(kube, Settings.parse({ ...SETTINGS, builds: { ...SETTINGS.builds, concurrency } }));
  put(kube, 'one', 'a');
  await here.settle();
  put(kube, 'one', 'b');
  await here.settle();
  const [, waiting] = kube.objects<AppRevision>(APP_REVISIONS);
  expect(waiting?.status?.build).toMatchObject({ reason: 'WaitingForTurn', message: expect.stringMatching(says) });
});

it('an API server that does not give the credentials of a code host is said', async () => {
  const kube = aPlatform();
  const here = await turns(kube);
  kube.failOn((request) =>
    request.verb === 'get' && request.kind === 'Secret' && request.ref?.namespace === 'davit-org'
      ? new Forbidden('read Secret git', { serverMessage: 'secrets "git" is forbidden' })
      : undefined,
  );
  put(kube, 'one', 'a', 'codehost');
  await here.settle().catch(() => undefined);
  expect(kube.objects<AppRevision>(APP_REVISIONS)[0]?.status?.build).toMatchObject({
    phase: 'Queued',
    reason: 'PodRefused',
    message: expect.stringContaining('secrets "git" is forbidden'),
  });
});

it('a newer revision has the turn of an older one that nobody wants any more', async () => {
  const kube = aPlatform();
  const here = await turns(kube);
  put(kube, 'one', 'a');
  await here.settle();
  for (let newer = 0; newer < 3; newer += 1) {
    put(kube, 'one', 'a');
    await here.settle();
    expect(here.phases()).toEqual(['one/a AwaitingBuild']);
    expect(jobs(kube)).toBe(1);
  }
  const phases = kube.objects<AppRevision>(APP_REVISIONS).map(({ status }) => `${status?.build?.phase}`);
  expect(phases.toSorted((a, b) => a.localeCompare(b))).toEqual(['AwaitingBuild', 'Skipped', 'Skipped', 'Skipped']);
});

it.each([10, 60])('a build that waits behind %i others looks at none of their records', async (waiting) => {
  const kube = aPlatform();
  for (let count = 0; count < waiting; count += 1) put(kube, 'one', `a${count}`);
  const here = await turns(kube);
  await here.settle();
  put(kube, 'two', 'a');
  put(kube, 'three', 'a');
  await here.settle();
  let looks = 0;
  for (const one of here.caches.records.list()) {
    const { spec } = one;
    Object.defineProperty(one, 'spec', { get: () => ((looks += 1), spec) });
  }
  put(kube, 'three', 'b');
  await here.settle();
  expect(here.phases()).toContain('three/b Queued');
  expect(looks).toBeLessThan(10);
});
