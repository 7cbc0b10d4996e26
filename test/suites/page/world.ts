// A platform for the page: the facade over the in-memory API server, on a port, with deployments in the states that people see.

import { names } from '../../../src/deploy/record/names.ts';
import { requestedOf } from '../../../src/deploy/record/requested.ts';
import { resolve } from '../../../src/deploy/record/resolve.ts';
import { serialRevisionId } from '../../../src/deploy/record/revision-id.ts';
import {
  APP_DEPLOYMENTS,
  type AppDeployment,
  type AppDeploymentSpec,
  type State,
} from '../../../src/kinds/app-deployment.ts';
import { CONDITION_TYPES, type ConditionType, type Reason } from '../../../src/kinds/app-deployment-conditions.ts';
import { APP_REVISIONS, type AppRevision, type RevisionState } from '../../../src/kinds/app-revision.ts';
import { APP_TEMPLATES, type AppTemplate } from '../../../src/kinds/app-template.ts';
import { DEPLOYMENT_LABEL, JOB_NAME_LABEL, TASK_CONTAINER } from '../../../src/kinds/meta.ts';
import { defaultSettings, type Settings } from '../../../src/kinds/settings.ts';
import type { TaskStatus } from '../../../src/kinds/tasks.ts';
import { serve } from '../../../src/main/server.ts';
import { EVENTS, POD_METRICS, PODS, REPLICA_SETS, SECRETS } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { bundlePage } from '../../../src/tools/page.ts';
import { makeFacadeWithRegistry } from '../../support/facade-registry.ts';
import { anIntegration, type Facade, makeFacade, ORGANIZATION, TENANT } from '../http/facade.ts';
import { type GrowingLogs, growLogs, type Place } from '../http/growing-logs.ts';

const { builds } = defaultSettings();
const BUILDS = {
  ...builds,
  registry: { host: 'registry.example', insecure: false, tokens: true },
  images: { ...builds.images, builder: 'registry.example/builder:1', davit: 'registry.example/davit:1' },
};

/** Every other token is one that nobody knows. */
export const TOKEN = 'a-token-that-is-good-canary';

const page = bundlePage();

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

export interface World {
  readonly url: string;
  readonly facade: Facade;
  deploy(name: string, sample?: Sample): AppDeployment;
  /** A pod of the deployment writes these lines. */
  write(record: AppDeployment, lines: readonly string[]): void;
  /** The pod of a run of the deployment, `NAME-x` of Job NAME, writes these lines. */
  writeRun(record: AppDeployment, job: string, lines: readonly string[]): void;
  /** The pod of the deployment, which has written, was restarted so many times. */
  crash(record: AppDeployment, restarts: number): void;
  /** The cluster's metrics have the pod of the deployment, which has written. */
  measure(record: AppDeployment, usage: { readonly cpu: string; readonly memory: string }): void;
  /** The API server has an event about a pod of the deployment. */
  report(record: AppDeployment, event: { readonly type: string; readonly reason: string; readonly note: string }): void;
  /** The pod that builds the deployment's newest revision writes these lines. */
  writeBuild(record: AppDeployment, lines: readonly string[]): void;
  close(): Promise<void>;
}

/** What a pod writes, and how many lines it has written. */
type Writer = ReturnType<GrowingLogs['start']> & { lines: number };

type Verdict = readonly ['True' | 'False' | 'Unknown', Reason, string];

export interface Sample {
  readonly state?: State;
  readonly conditions?: Partial<Record<ConditionType, Verdict>>;
  readonly spec?: Partial<AppDeploymentSpec>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly url?: string;
  readonly ageMs?: number;
  /** Oldest first. */
  readonly revisions?: readonly {
    readonly state: RevisionState;
    readonly message: string;
    readonly image?: string;
    readonly spec?: Partial<AppRevision['spec']>;
  }[];
  readonly tasks?: readonly TaskStatus[];
  readonly isLeaving?: boolean;
}

const HEALTHY: Partial<Record<ConditionType, Verdict>> = {
  Ready: ['True', 'Serving', 'The latest revision is deployed and serving.'],
  Available: ['True', 'Serving', 'The active revision is serving.'],
  Reconciling: ['False', 'Settled', 'Nothing is left to do.'],
  Stalled: ['False', 'Settled', 'Nothing is left to do.'],
  DatabaseReady: ['True', 'Answering', 'PostgreSQL answers.'],
  RedisReady: ['True', 'Answering', 'Redis answers.'],
  WorkloadsReady: ['True', 'Serving', 'Every pod of every part runs the latest revision.'],
  AddressReady: ['True', 'NotNeeded', 'No address is requested.'],
  ReferencesResolved: ['True', 'AllResolved', 'All named objects exist.'],
  PolicyAccepted: ['True', 'Accepted', 'The record complies with the rules.'],
};

export interface WorldOptions {
  /** The platform has images alone; otherwise all sources. */
  readonly hosting?: 'both' | 'self-hosted';
  /** The platform's registry answers. */
  readonly hasRegistry?: boolean;
  readonly settings?: Partial<Settings>;
}

export async function makeWorld({
  hosting = 'both',
  hasRegistry = false,
  settings = {},
}: WorldOptions = {}): Promise<World> {
  const stopping = new AbortController();
  const limits = { signal: stopping.signal };
  const registered = hasRegistry
    ? await makeFacadeWithRegistry({ hosting }, {}, limits, { page: await page })
    : undefined;
  const facade =
    registered?.facade ?? (await makeFacade({ hosting, builds: BUILDS, ...settings }, limits, { page: await page }));
  const logs = growLogs(facade);
  const writers = new Map<string, Writer>();
  facade.kube.know((token) => (token === TOKEN ? 'somebody' : undefined));
  const now = Date.now();
  const iso = (ms: number): string => new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');
  facade.clock.ms = now;
  const server = await serve(facade.app, { host: '127.0.0.1', port: 0 });

  function deploy(name: string, sample: Sample = {}): AppDeployment {
    const { state = 'READY', conditions = {}, ageMs = 3 * DAY, url, isLeaving = false } = sample;
    const made = sample.revisions ?? [{ state: 'DEPLOYED', message: 'The rollout of this revision has finished.' }];
    const image = made.at(-1)?.image ?? `registry.example/team/${name}:1.4.0`;
    const record = facade.seed({
      metadata: {
        name,
        creationTimestamp: iso(now - ageMs),
        ...(sample.annotations && { annotations: sample.annotations }),
        ...(isLeaving && { deletionTimestamp: iso(now - MINUTE), finalizers: ['davit.dev/teardown'] }),
      },
      spec: {
        sourceRevisionConfig: { imageUri: image },
        revisionSerial: made.length,
        ...sample.spec,
      } as AppDeploymentSpec,
    });
    const verdicts = { ...HEALTHY, ...conditions };
    const id = (serial: number): string => serialRevisionId(record.metadata.uid ?? '', serial);
    const revisions = made.map((one, place) =>
      revisionOf(record, place + 1, iso(now - ageMs + place * DAY * 0.9), one),
    );
    const active = made.findLastIndex((one) => one.state === 'DEPLOYED');
    const withStatus: AppDeployment = {
      ...record,
      status: {
        observedGeneration: record.metadata.generation ?? 1,
        state,
        stateChangedAt: iso(now - 12 * MINUTE),
        ...(made.length > 0 && { image, latestRevisionId: id(made.length) }),
        ...(active >= 0 && { activeRevisionId: id(active + 1) }),
        ...(url !== undefined && { url }),
        ...(sample.tasks && { tasks: [...sample.tasks] }),
        conditions: (Object.keys(CONDITION_TYPES) as ConditionType[]).flatMap((type) => {
          const verdict = verdicts[type];
          if (verdict === undefined) return [];
          const [status, reason, message] = verdict;
          return [{ type, status, reason, message, lastTransitionTime: iso(now - 12 * MINUTE), observedGeneration: 1 }];
        }),
      },
    };
    for (const revision of revisions) facade.revisions.put(facade.kube.seed<AppRevision>(APP_REVISIONS, revision));
    const reported = facade.kube.seed<AppDeployment>(APP_DEPLOYMENTS, withStatus);
    facade.records.put(reported);
    return reported;
  }

  function revisionOf(
    record: AppDeployment,
    serial: number,
    createdAt: string,
    { state, message, image, spec: more }: NonNullable<Sample['revisions']>[number],
  ): AppRevision {
    const id = serialRevisionId(record.metadata.uid ?? '', serial);
    const { sourceRevisionConfig, ...rest } = record.spec;
    const spec = { ...rest, sourceRevisionConfig: image === undefined ? sourceRevisionConfig : { imageUri: image } };
    return {
      apiVersion: 'davit.dev/v1alpha1',
      kind: 'AppRevision',
      metadata: {
        name: names(record.metadata.name).revision(id),
        namespace: TENANT.namespace,
        creationTimestamp: createdAt,
        labels: { [DEPLOYMENT_LABEL]: record.metadata.name },
      },
      spec: {
        id,
        deploymentName: record.metadata.name,
        deploymentUid: record.metadata.uid ?? '',
        deploymentGeneration: serial,
        revisionSerial: serial,
        source: record.spec.source,
        requested: requestedOf(spec),
        resolved: resolve(spec, defaultSettings()),
        ...more,
      },
      status: {
        state,
        message,
        ...(state === 'BUILD_FAILED' && { build: { phase: 'Failed', message } }),
        ...(state === 'BUILDING' && { build: { phase: 'Building', message } }),
      },
    };
  }

  function writer(uid: string, pod: string, place: Place): Writer {
    const known = writers.get(pod) ?? { ...logs.start(uid, pod, place), lines: 0 };
    writers.set(pod, known);
    return known;
  }
  function writeTo(pod: Writer, lines: readonly string[]): void {
    for (const line of lines) pod.write((pod.lines += 1), line);
  }

  function write({ metadata: { name, uid = '' }, spec }: AppDeployment, lines: readonly string[]): void {
    const labels = {
      [DEPLOYMENT_LABEL]: name,
      'davit.dev/deployment-uid': uid,
      'davit.dev/component': 'server',
      'davit.dev/revision': serialRevisionId(uid, spec.revisionSerial ?? 1),
    };
    writeTo(writer(uid, `${name}-5f4d7c9b8-x2x7k`, { labels }), lines);
  }

  function writeRun(
    { metadata: { name, uid = '' }, spec }: AppDeployment,
    job: string,
    lines: readonly string[],
  ): void {
    const labels = {
      [DEPLOYMENT_LABEL]: name,
      [JOB_NAME_LABEL]: job,
      'davit.dev/deployment-uid': uid,
      'davit.dev/component': 'task',
      'davit.dev/revision': serialRevisionId(uid, spec.revisionSerial ?? 1),
    };
    writeTo(writer(uid, `${job}-x`, { labels, container: TASK_CONTAINER }), lines);
  }

  function podNamed(name: string): KubeObject {
    const found = facade.kube.objects(PODS).find(({ metadata }) => metadata.name === name);
    if (found === undefined) throw new Error(`there is no pod ${name}`);
    return found;
  }

  function crash({ metadata: { name } }: AppDeployment, restartCount: number): void {
    const pod = podNamed(`${name}-5f4d7c9b8-x2x7k`);
    const terminated = { exitCode: 1, reason: 'Error', finishedAt: iso(now - MINUTE) };
    const containerStatuses = [
      { name: 'server', containerID: 'x', restartCount, state: { running: {} }, lastState: { terminated } },
    ];
    facade.kube.seed(PODS, {
      ...pod,
      metadata: { ...pod.metadata, creationTimestamp: iso(now - 20 * MINUTE) },
      status: { phase: 'Running', containerStatuses },
    } as KubeObject);
  }

  function measure(
    { metadata: { name } }: AppDeployment,
    usage: { readonly cpu: string; readonly memory: string },
  ): void {
    const pod = podNamed(`${name}-5f4d7c9b8-x2x7k`);
    const resources = { limits: { cpu: '1', memory: '1Gi' } };
    facade.kube.seed(PODS, { ...pod, spec: { containers: [{ name: 'server', resources }] } } as KubeObject);
    facade.kube.seed(POD_METRICS, {
      apiVersion: 'metrics.k8s.io/v1',
      kind: 'PodMetrics',
      metadata: { name: pod.metadata.name, namespace: TENANT.namespace, labels: pod.metadata.labels },
      containers: [{ name: 'server', usage }],
    } as unknown as KubeObject);
  }

  let reported = 0;
  function report(
    { metadata: { name } }: AppDeployment,
    event: { readonly type: string; readonly reason: string; readonly note: string },
  ): void {
    reported += 1;
    const pod = `${name}-5f4d7c9b8-x2x7k`;
    const { metadata } = podNamed(pod);
    facade.kube.seed(EVENTS, {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { name: `report-${reported}`, namespace: TENANT.namespace },
      ...event,
      regarding: { kind: 'Pod', name: pod, uid: metadata?.uid },
      series: { count: 12, lastObservedTime: iso(now - reported * MINUTE) },
    } as KubeObject);
  }

  function writeBuild({ metadata: { name, uid = '' }, spec }: AppDeployment, lines: readonly string[]): void {
    const { namespace } = facade.settings.builds;
    const labels = { 'davit.dev/build': serialRevisionId(uid, spec.revisionSerial ?? 1) };
    writeTo(writer(uid, `build-${name}`, { namespace, labels, container: 'build' }), lines);
  }

  return {
    url: server.url,
    facade,
    deploy,
    write,
    writeRun,
    report,
    crash,
    measure,
    writeBuild,
    async close() {
      stopping.abort();
      await server.close();
      await registered?.close();
    },
  };
}

const TASKS: readonly TaskStatus[] = [
  {
    name: 'clean',
    state: 'Scheduled',
    schedule: '0 3 * * *',
    timeZone: 'Europe/Berlin',
    runs: [
      {
        job: 'shop--clean-29701620',
        state: 'Failed',
        startedAt: '2026-07-02T01:00:00Z',
        finishedAt: '2026-07-02T01:00:09Z',
        exitCode: 3,
        reason: 'ContainerCrashed',
        message: 'The command failed (Error, exit code 3): no such table: <b>sessions</b>.',
      },
      {
        job: 'shop--clean-29700180',
        state: 'Succeeded',
        startedAt: '2026-07-01T01:00:00Z',
        finishedAt: '2026-07-01T01:02:08Z',
        exitCode: 0,
      },
    ],
  },
  {
    name: 'prices',
    state: 'Suspended',
    schedule: '@hourly',
    message: 'The deployment is scaled to zero.',
    runs: [],
  },
  { name: 'reindex', state: 'OnDemand', runs: [{ job: 'shop--run-x7x2k', state: 'Running' }] },
];

/** Lets the tenant deploy repositories of a code host, and templates. */
export function offerSources({ facade }: Pick<World, 'facade'>): void {
  anIntegration(facade, '0a6bb1b2-6b0e-4f6e-8d3c-6f5d9a1a7c10');
  facade.kube.seed(SECRETS, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'git', namespace: ORGANIZATION.namespace },
    data: { token: Buffer.from('canary').toString('base64') },
  } as KubeObject);
  const repository = (id: number, owner: string, name: string, defaultBranch: string) => ({
    id,
    owner,
    name,
    url: `https://host.example/${owner}/${name}`,
    defaultBranch,
  });
  facade.repositories = () =>
    Promise.resolve([
      repository(1, 'a', 'blog', 'main'),
      repository(2, 'a', 'shop', 'main'),
      repository(3, 'b', 'shop', 'trunk'),
    ]);
  const templates: Readonly<Record<string, AppTemplate['spec']>> = {
    chat: { imageUri: 'templates/chat:2' },
    site: { repoUrl: 'https://host.example/templates/site', repoRef: 'v2' },
  };
  for (const [name, spec] of Object.entries(templates))
    facade.kube.seed<AppTemplate>(APP_TEMPLATES, {
      apiVersion: 'davit.dev/v1alpha1',
      kind: 'AppTemplate',
      metadata: { name, namespace: ORGANIZATION.namespace },
      spec,
    });
  facade.templates.fill();
}

/** Deployments as a team has them, some of them in trouble. */
export function deployTeam(world: World): Readonly<Record<'shop' | 'agent' | 'checkout', AppDeployment>> {
  const shop = world.deploy('shop', {
    url: 'https://shop.apps.example.com',
    spec: {
      sourceConfig: {
        customUrl: 'https://shop.apps.example.com',
        resourceSpec: { minScale: 2, maxScale: 6, cpu: 0.5 },
        env: [{ name: 'LOG_LEVEL', value: 'info' }],
        runtime: {
          workers: {
            mail: { command: ['worker', 'mail'], maxScale: 3, heartbeatFile: '/tmp/alive' },
            beat: { command: ['beat'], singleton: true },
          },
        },
        tasks: TASKS.map(({ name, schedule, timeZone }) => ({
          name,
          command: ['task', name],
          ...(schedule && { schedule }),
          ...(timeZone && { timeZone }),
        })),
      },
      secretReferences: [{ name: 'LICENSE', secretName: 'shop-license', secretKey: 'key' }],
    },
    conditions: {
      AddressReady: ['True', 'Routed', 'https://shop.apps.example.com leads to the server.'],
      AutoscalingReady: ['True', 'Autoscaled', 'Autoscalers set the number of pods.'],
      TasksReady: ['False', 'TaskFailed', 'The last run of task clean failed.'],
    },
    tasks: TASKS,
    revisions: [
      { state: 'DEPLOYED', message: 'Every pod ran this revision.', image: 'registry.example/team/shop:1.3.0' },
      {
        state: 'DEPLOY_FAILED',
        message: 'Container server exits with code 1: "KeyError: DATABASE". Correct the image and deploy it again.',
        image: 'registry.example/team/shop:1.3.1',
      },
      {
        state: 'DEPLOYED',
        message: 'The rollout of this revision has finished.',
        image: 'registry.example/team/shop:1.4.0',
        spec: {
          requestedBy: 'anna@example.com',
          commitAuthor: 'Berta',
          commitMessage: 'Carts <b>keep</b> their order',
          file: { path: 'deploy/davit.yaml', notTaken: ['env.LOG_LEVEL'] },
        },
      },
    ],
  });
  world.write(shop, [
    'Listening on 8000',
    '\u001B[32mINFO\u001B[0m migrated 3 tables in 0.4 s',
    'GET /ok 200 1 ms',
    'GET /cart?id=<script>alert(1)</script> 404 2 ms',
    'WARNING the cache is cold',
    '{"level":50,"msg":"order 1887: the payment service answered 502, tried again in 2 s"}',
    'GET /ok 200 1 ms',
  ]);
  const crash =
    'Container server of shop exits with code 1 again and again: "redis.exceptions.ConnectionError: name or service not known". Read its log, and deploy a corrected revision.';
  const checkout = world.deploy('checkout', {
    state: 'UNKNOWN',
    ageMs: 25 * MINUTE,
    conditions: {
      Ready: ['False', 'ContainerCrashed', crash.replace('of shop', 'of checkout')],
      Available: ['False', 'ContainerCrashed', 'No pod serves.'],
      Stalled: ['True', 'ContainerCrashed', crash.replace('of shop', 'of checkout')],
      WorkloadsReady: ['False', 'ContainerCrashed', crash.replace('of shop', 'of checkout')],
    },
    revisions: [{ state: 'DEPLOY_FAILED', message: crash, image: 'registry.example/team/checkout:2.0.0-rc1' }],
  });
  world.write(checkout, [
    'Starting',
    'Traceback (most recent call last):',
    'redis.exceptions.ConnectionError: name or service not known',
  ]);
  world.crash(checkout, 7);
  world.measure(checkout, { cpu: '12345678n', memory: '49152Ki' });
  world.report(checkout, {
    type: 'Warning',
    reason: 'BackOff',
    note: 'Back-off restarting failed container <b>server</b>',
  });
  world.deploy('search', {
    state: 'AWAITING_DATABASE',
    ageMs: 2 * MINUTE,
    conditions: {
      Ready: ['False', 'Starting', 'Waits for PostgreSQL, whose pod search--postgres-0 is starting.'],
      Reconciling: ['True', 'Progressing', 'Waits for PostgreSQL.'],
      DatabaseReady: ['False', 'Starting', 'The pod search--postgres-0 is starting.'],
      WorkloadsReady: ['False', 'Progressing', '0 of 1 pods are ready.'],
    },
    revisions: [{ state: 'DEPLOYING', message: 'Waits for PostgreSQL.' }],
  });
  const failed =
    'Line 4 of the Dockerfile failed: RUN pip install -r requirements.txt. Correct it, then create a new revision.';
  const agent = world.deploy('agent', {
    spec: {
      source: 'internal_source',
      sourceRevisionConfig: { sourceTarballPath: 'uploads/1', repoRef: undefined } as never,
    },
    conditions: {
      Ready: ['False', 'BuildFailed', failed],
      Stalled: ['True', 'BuildFailed', failed],
      WorkloadsReady: ['False', 'BuildFailed', failed],
    },
    revisions: [
      { state: 'DEPLOYED', message: 'The rollout of this revision has finished.' },
      { state: 'BUILD_FAILED', message: failed },
    ],
  });
  world.writeBuild(agent, [
    '#7 [4/6] RUN pip install -r requirements.txt',
    '#7 1.204 ERROR: Could not find a version that satisfies the requirement langgraf',
    '#7 1.205 ERROR: No matching distribution found for langgraf',
    'Line 4 of the Dockerfile failed: exit code 1',
  ]);
  world.deploy('nightly-report', {
    state: 'UNUSED',
    ageMs: 40 * DAY,
    spec: { sourceConfig: { resourceSpec: { maxScale: 0 } } },
    conditions: {
      Ready: ['True', 'ScaledToZero', 'max_scale is 0, so no pod runs. Raise it to run the deployment again.'],
      WorkloadsReady: ['True', 'ScaledToZero', 'max_scale is 0.'],
    },
  });
  world.deploy('old-shop', {
    state: 'AWAITING_DELETE',
    ageMs: 200 * DAY,
    isLeaving: true,
    conditions: { Ready: ['False', 'Deleting', 'Waits until its pods have ended.'] },
  });
  return { shop, agent, checkout };
}

/** The pod template of the active revision, as the Deployment controller keeps it. */
export function seedServer(world: World, { metadata: { name, uid = '' }, spec }: AppDeployment): void {
  const labels = {
    'davit.dev/deployment': name,
    'davit.dev/component': 'server',
    'davit.dev/revision': serialRevisionId(uid, spec.revisionSerial ?? 0),
  };
  const metadata = { name: `${name}-5f4d7c9b8`, namespace: TENANT.namespace, labels };
  const template = { metadata: { labels }, spec: { containers: [{ name: 'server', image: 'app:1' }] } };
  world.facade.kube.seed(REPLICA_SETS, {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata,
    spec: { template },
  } as KubeObject);
}
