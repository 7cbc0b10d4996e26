// P13: what Davit adds to a build. From the accepted record to the digest that was pushed, beside the same buildctl in a
// pod without Davit, with and without the registry's cache; and twenty builds of five tenants at once.

import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiClient, ApiObject } from '../../../cluster/api-client.ts';
import { type Cluster, startCluster } from '../../../cluster/cluster.ts';
import { ensureBuildImages, ensureImages } from '../../../cluster/images/build.ts';
import { ensureBuilderImage } from '../../../cluster/images/builder.ts';
import { realPods } from '../../../cluster/machine.ts';
import { ensureDavitImage } from '../../../image/davit-image.ts';
import { buildJob, trustObject } from '../../../suites/builds/build-job.ts';
import { type Gitea, startGitea } from '../../../suites/builds/gitea.ts';
import { type Registry, startRegistry } from '../../../suites/builds/registry.ts';
import { authority } from '../../../suites/builds/servers.ts';
import { ORGANIZATION_NAMESPACE, type Platform, startPlatform } from '../../../support/platform.ts';
import { type Figure, type Goal, median, ratios } from '../figures.ts';
import type { Bench, Measure } from '../measure.ts';

const GOALS = {
  'P13.cold': { atMost: 1.25 },
  'P13.cached': { atMost: 2 },
  'P13.share': { atMost: 1.5 },
  'P13.disturbed': { atMost: 0 },
} as const satisfies Record<string, Goal>;

const TENANTS = ['team-1', 'team-2', 'team-3', 'team-4', 'team-5'];
const BUILDS_A_TENANT = 4;
/** Where the pods without Davit build. */
const BARE = 'bare';
const BUILDS = 'davit-builds';
/** Below it one credential is good for everything: no arm waits for another's. */
const PATH = 'davit';
const LOOK_MS = 50;
/** Twenty who look are not to be what the API server is busy with. */
const LOOK_AT_MANY_MS = 1000;
const LOOK_AT_SERVED_MS = 200;
const PATIENCE_MS = 300_000;

export const builds: Measure = { key: 'P13', goal: GOALS['P13.cold'], run };

async function run(bench: Bench): Promise<readonly Figure[]> {
  const machine = await realPods(bench.say);
  if (!machine.ok) return notTaken(`no real pods here: ${machine.reason}`);
  let images: Images;
  try {
    images = await ensureAll(bench.say);
  } catch (error) {
    return notTaken(`no builder here: ${error instanceof Error ? error.message : String(error)}`);
  }
  const { builder, registry, davit, postgres, redis } = images;
  const cluster = await startCluster({
    pods: 'on',
    userNamespaces: true,
    images: [builder, registry, davit, postgres, redis],
    progress: bench.say,
  });
  let site: Site | undefined;
  try {
    site = await openSite(cluster, images, bench.say);
    return [...(await besideBare(site, bench)), ...(await allAtOnce(site, bench))];
  } finally {
    await site?.close();
    await cluster.stop();
  }
}

function notTaken(why: string): readonly Figure[] {
  return Object.entries(GOALS).map(([key, goal]) => ({ key, goal, why }));
}

type Images = Awaited<ReturnType<typeof ensureAll>>;

async function ensureAll(say: (line: string) => void) {
  const { python, registry } = await ensureBuildImages(say);
  const { postgres, redis } = await ensureImages(say);
  return {
    python,
    registry,
    postgres,
    redis,
    builder: await ensureBuilderImage(say),
    davit: await ensureDavitImage(say),
  };
}

interface Site {
  readonly api: ApiClient;
  readonly cluster: Cluster;
  readonly gitea: Gitea;
  readonly registry: Registry;
  readonly builder: string;
  /** Image that applications are made from. */
  readonly base: string;
  readonly integration: string;
  close(): Promise<void>;
}

async function openSite(cluster: Cluster, images: Images, say: (line: string) => void): Promise<Site> {
  const { api } = cluster;
  const registry = await startRegistry(cluster, images.registry);
  let platform: Platform | undefined;
  const close = async (): Promise<void> => {
    await platform?.stop();
    await registry.close();
  };
  try {
    const base = await registry.publish(images.python);
    const gitea = await startGitea(cluster, say);
    platform = await startPlatform(cluster, {
      parts: ['controller'],
      progress: say,
      values: {
        'settings.hosting': 'both',
        'settings.images.postgres': images.postgres.name,
        'settings.images.redis': images.redis.name,
        'settings.codeHosts': [
          { host: new URL(gitea.url).host, addresses: [cluster.hostAddress], ca: authority.certificate },
        ],
        'settings.builds.registry': {
          host: registry.host,
          repository: PATH,
          ca: registry.ca,
          pushSecret: 'registry-push',
          pullSecret: 'registry-pull',
        },
        'settings.builds.images': { builder: images.builder.name, davit: images.davit.name },
        'settings.builds.pollSeconds': 0,
        'settings.builds.egress': ['10.0.0.0/8', `${cluster.hostAddress}/32`],
        'settings.builds.resources.storageGi': 4,
      },
    });
    const everything = registry.allow(`${PATH}/*`, ['pull', 'push'], 12 * 3600);
    await makeSecret(api, BUILDS, 'registry-push', { '.dockerconfigjson': everything });
    await makeSecret(api, BUILDS, 'registry-pull', { '.dockerconfigjson': everything });
    for (const tenant of ['served', ...TENANTS]) {
      await platform.makeTenant(tenant);
      // Without stores of their own: what is measured is what builds, not sixty pods that start.
      await makeSecret(api, tenant, 'outside', { postgres: 'postgres://x@db.example/x', redis: 'redis://db.example' });
    }
    const { token } = await gitea.makeToken();
    await api.call('POST', '/api/v1/namespaces', { metadata: { name: BARE } });
    await makeSecret(api, BARE, 'git', { token });
    await makeSecret(api, BARE, 'push', { '.dockerconfigjson': everything });
    await api.call('POST', `/api/v1/namespaces/${BARE}/configmaps`, trustObject(registry));
    await makeSecret(api, ORGANIZATION_NAMESPACE, 'gitea', { token });
    const integrations = `/apis/davit.dev/v1alpha1/namespaces/${ORGANIZATION_NAMESPACE}/codehostintegrations`;
    const { metadata } = await api.call<ApiObject>('POST', integrations, {
      apiVersion: 'davit.dev/v1alpha1',
      kind: 'CodeHostIntegration',
      metadata: { name: 'gitea' },
      spec: {
        kind: 'gitea',
        apiUrl: `${gitea.url}/api/v1`,
        credentialsRef: { name: 'gitea' },
        tenants: ['served', ...TENANTS],
      },
    });
    const integration = metadata.uid ?? '';
    return { api, cluster, gitea, registry, builder: images.builder.name, base, integration, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function makeSecret(
  api: ApiClient,
  namespace: string,
  name: string,
  stringData: Readonly<Record<string, string>>,
): Promise<void> {
  const type = '.dockerconfigjson' in stringData ? 'kubernetes.io/dockerconfigjson' : 'Opaque';
  await api.call('POST', `/api/v1/namespaces/${namespace}/secrets`, { metadata: { name }, type, stringData });
}

function application({ base }: Site): Readonly<Record<string, string>> {
  return {
    'app.py': `import http.server

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()

http.server.HTTPServer(("", 8000), Handler).serve_forever()
`,
    Dockerfile: `FROM ${base}\nWORKDIR /app\nCOPY app.py .\nRUN python -m py_compile app.py\nUSER 65532:65532\nCMD ["python", "app.py"]\n`,
  };
}

/** Cold and cached, each repeat in repositories of its own, the arms in turn. */
async function besideBare(site: Site, { repeats, say }: Bench): Promise<readonly Figure[]> {
  const ours = { cold: [] as number[], cached: [] as number[] };
  const bare = { cold: [] as number[], cached: [] as number[] };
  for (let repeat = 0; repeat < repeats; repeat += 1) {
    const name = `shop-${repeat}`;
    const url = (await site.gitea.makeRepository(name)).replace(/\.git$/, '');
    for (const how of ['cold', 'cached'] as const) {
      // The second changes nothing that the image is made of: every step is in the cache.
      const commit = await site.gitea.commit(name, how === 'cold' ? application(site) : { 'README.md': `${repeat}\n` });
      const byDavit = async (): Promise<void> => {
        const asked = how === 'cold' ? await create(site, 'team-1', name, url) : await again(site, 'team-1', name);
        ours[how].push(await secondsUntilBuilt(site, asked));
      };
      const byHand = async (): Promise<void> => {
        bare[how].push(await secondsInBarePod(site, { name: `${name}-${how}`, repository: name, url, commit }));
      };
      for (const arm of repeat % 2 === 0 ? [byDavit, byHand] : [byHand, byDavit]) await arm();
      say(`  ${how}: ${ours[how].at(-1)?.toFixed(2)} s, in a bare pod ${bare[how].at(-1)?.toFixed(2)} s`);
    }
  }
  const over = ours.cached.map((seconds, index) => seconds - (bare.cached[index] ?? 0));
  return [
    {
      key: 'P13.cold',
      goal: GOALS['P13.cold'],
      samples: ratios(ours.cold, bare.cold),
      absolutes: { davitS: median(ours.cold), bareS: median(bare.cold) },
    },
    {
      key: 'P13.cached',
      goal: GOALS['P13.cached'],
      samples: over,
      absolutes: { unit: 's', davitS: median(ours.cached), bareS: median(bare.cached) },
    },
  ];
}

/** How evenly the tenants wait, and whether what serves meanwhile is disturbed. */
async function allAtOnce(site: Site, { say }: Bench): Promise<readonly Figure[]> {
  const url = (await site.gitea.makeRepository('many')).replace(/\.git$/, '');
  await site.gitea.commit('many', application(site));
  await secondsUntilBuilt(site, await create(site, 'served', 'served', url, { ownStores: true }));
  const address = await untilServed(site);
  const names = Array.from({ length: BUILDS_A_TENANT }, (_, index) => `many-${index}`);
  const waits = new Map<string, readonly number[]>();
  const done = new AbortController();
  const disturbed = countFailures(site, address, done.signal);
  // Where a build fails, that is the error to tell.
  disturbed.catch(() => undefined);
  try {
    await Promise.all(
      TENANTS.map(async (tenant) => {
        const seconds = names.map(async (name) =>
          secondsUntilBuilt(site, await create(site, tenant, name, url), LOOK_AT_MANY_MS),
        );
        waits.set(tenant, await Promise.all(seconds));
      }),
    );
  } finally {
    done.abort();
  }
  const failures = await disturbed;
  const means = [...waits.values()].map(mean);
  const share = Math.max(...means) / mean(means);
  const last = Math.max(...[...waits.values()].flat());
  say(
    `  ${TENANTS.length * BUILDS_A_TENANT} builds in ${last.toFixed(1)} s; the slowest tenant at ${share.toFixed(2)}`,
  );
  const absolutes = { builds: TENANTS.length * BUILDS_A_TENANT, tenants: TENANTS.length, lastS: last };
  return [
    { key: 'P13.share', goal: GOALS['P13.share'], samples: [share], absolutes },
    {
      key: 'P13.disturbed',
      goal: GOALS['P13.disturbed'],
      samples: [failures.failed],
      absolutes: { unit: 'requests that failed, and restarts', requests: failures.requests },
    },
  ];
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

const records = (namespace: string): string => `/apis/davit.dev/v1alpha1/namespaces/${namespace}/appdeployments`;

/** Answered: from now on Davit is measured. */
interface Accepted {
  readonly namespace: string;
  readonly name: string;
  readonly generation: number;
  readonly at: number;
}

interface AcceptedRecord extends ApiObject {
  readonly metadata: ApiObject['metadata'] & { readonly generation?: number };
}

function accepted({ metadata }: AcceptedRecord): Accepted {
  const { namespace = '', name, generation = 0 } = metadata;
  return { namespace, name, generation, at: performance.now() };
}

async function create(
  { api, integration }: Site,
  namespace: string,
  name: string,
  repoUrl: string,
  { ownStores = false } = {},
): Promise<Accepted> {
  const small = { cpu: 0.1, memoryMb: 128 };
  const stores = { dbCpu: 0.1, dbMemoryMb: 256, dbStorageGi: 1, redisCpu: 0.05, redisMemoryMb: 64 };
  return accepted(
    await api.call<AcceptedRecord>('POST', records(namespace), {
      apiVersion: 'davit.dev/v1alpha1',
      kind: 'AppDeployment',
      metadata: { name, namespace },
      spec: {
        source: 'codehost',
        sourceConfig: {
          integrationId: integration,
          repoUrl,
          // What is measured ends with the push: no pods take the node's processors from the builds that follow.
          resourceSpec: ownStores ? { ...small, ...stores } : { ...small, minScale: 0, maxScale: 0 },
        },
        sourceRevisionConfig: { repoRef: 'main', workflowConfigPath: 'Dockerfile' },
        ...(!ownStores && {
          secrets: [
            { name: 'POSTGRES_URI_CUSTOM', secretName: 'outside', secretKey: 'postgres' },
            { name: 'REDIS_URI_CUSTOM', secretName: 'outside', secretKey: 'redis' },
          ],
        }),
      },
    }),
  );
}

async function again({ api }: Site, namespace: string, name: string): Promise<Accepted> {
  const patch = { spec: { revisionSerial: 1 } };
  return accepted(
    await api.call<AcceptedRecord>('PATCH', `${records(namespace)}/${name}`, patch, 'application/merge-patch+json'),
  );
}

interface Revision extends ApiObject {
  readonly spec: { readonly deploymentName: string; readonly deploymentGeneration: number };
  readonly status?: {
    readonly build?: { readonly phase: string; readonly message?: string; readonly digest?: string };
  };
}

/** Until the revision says which digest was pushed. */
async function secondsUntilBuilt(
  { api }: Site,
  { namespace, name, generation, at }: Accepted,
  lookMs = LOOK_MS,
): Promise<number> {
  const path = `/apis/davit.dev/v1alpha1/namespaces/${namespace}/apprevisions`;
  const holds = async (): Promise<boolean> => {
    const { items } = await api.call<{ items: readonly Revision[] }>('GET', path);
    const found = items.find(({ spec }) => spec.deploymentName === name && spec.deploymentGeneration === generation);
    const build = found?.status?.build;
    if (build?.phase === 'Failed') throw new Error(`${namespace}/${name}: ${build.message}`);
    return build?.phase === 'Built' && build.digest !== undefined;
  };
  return secondsUntil(at, `${namespace}/${name} to be built`, holds, lookMs);
}

interface Pod extends ApiObject {
  readonly status: {
    readonly podIP?: string;
    readonly initContainerStatuses?: readonly ContainerStatus[];
    readonly containerStatuses?: readonly ContainerStatus[];
  };
}

interface ContainerStatus {
  readonly ready?: boolean;
  readonly restartCount?: number;
  readonly state?: { readonly terminated?: { readonly exitCode: number; readonly message?: string } };
}

/** The Job's pod without a Job. */
async function secondsInBarePod(
  { api, registry, builder }: Site,
  build: { readonly name: string; readonly repository: string; readonly url: string; readonly commit: string },
): Promise<number> {
  const { name, repository, url, commit } = build;
  const job = buildJob(
    {
      name,
      kind: 'userNamespace',
      image: builder,
      source: { url: `${url}.git`, commit, tokenSecret: 'git' },
      target: `${registry.host}/${PATH}/${BARE}/${repository}`,
      pushSecret: 'push',
      buildArgs: {},
    },
    registry.host,
  ) as { spec: { template: { spec: object } } };
  const pods = `/api/v1/namespaces/${BARE}/pods`;
  await api.call('POST', pods, { metadata: { name }, spec: job.spec.template.spec });
  const at = performance.now();
  return secondsUntil(at, `pod ${name} to be done`, async () => {
    const { status } = await api.call<Pod>('GET', `${pods}/${name}`);
    const ended = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
    const failed = ended.find(({ state }) => (state?.terminated?.exitCode ?? 0) !== 0);
    if (failed) throw new Error(`pod ${name} failed: ${failed.state?.terminated?.message}`);
    return status.containerStatuses?.[0]?.state?.terminated !== undefined;
  });
}

async function secondsUntil(
  from: number,
  what: string,
  holds: () => Promise<boolean>,
  lookMs = LOOK_MS,
): Promise<number> {
  for (;;) {
    if (await holds()) return (performance.now() - from) / 1000;
    if (performance.now() - from > PATIENCE_MS) throw new Error(`waited ${PATIENCE_MS / 1000} s for ${what}`);
    await sleep(lookMs);
  }
}

async function servedPods({ api }: Site): Promise<readonly Pod[]> {
  const selector = encodeURIComponent('davit.dev/deployment=served');
  const { items } = await api.call<{ items: readonly Pod[] }>(
    'GET',
    `/api/v1/namespaces/served/pods?labelSelector=${selector}`,
  );
  return items;
}

/** Where the main service answers. */
async function untilServed(site: Site): Promise<string> {
  let address = '';
  await secondsUntil(performance.now(), 'the record that serves', async () => {
    const pod = (await servedPods(site)).find(({ metadata }) => metadata.labels?.['davit.dev/component'] === 'server');
    if (pod?.status.podIP === undefined || pod.status.containerStatuses?.some(({ ready }) => ready !== true) !== false)
      return false;
    address = `http://${pod.status.podIP}:8000/ok`;
    return true;
  });
  return address;
}

/** Requests that were not answered with 200 until `signal`, and restarts of any pod of that record. */
async function countFailures(
  site: Site,
  address: string,
  signal: AbortSignal,
): Promise<{ readonly failed: number; readonly requests: number }> {
  const before = restartsOf(await servedPods(site));
  let requests = 0;
  let failed = 0;
  while (!signal.aborted) {
    requests += 1;
    const answer = await fetch(address, { signal: AbortSignal.timeout(5000) }).catch(() => undefined);
    if (answer?.status !== 200) failed += 1;
    await sleep(LOOK_AT_SERVED_MS);
  }
  return { requests, failed: failed + Math.abs(restartsOf(await servedPods(site)) - before) };
}

function restartsOf(pods: readonly Pod[]): number {
  const statuses = pods.flatMap(({ status }) => status.containerStatuses ?? []);
  return statuses.reduce((sum, { restartCount = 0 }) => sum + restartCount, 0);
}
