// A controller's shell over the in-memory API server: caches, reconciler, and the writes of one pass. A new harness on
// the same server is a restarted controller.

import { isDeepStrictEqual } from 'node:util';
import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import { type ControllerCaches, makeControllerCaches } from '../../../src/app/caches.ts';
import type { ObservedCondition } from '../../../src/deployments/assess/observed.ts';
import { makeVanished } from '../../../src/deployments/bypassed-finalizers.ts';
import type { PodContracts } from '../../../src/deployments/children/contracts/contract.ts';
import { POD_CONTRACTS } from '../../../src/deployments/children/contracts.ts';
import type { Cluster } from '../../../src/deployments/cluster/cluster.ts';
import { makeDigestKey } from '../../../src/deployments/hmac-key.ts';
import { type HostRegistry, makeHostRegistry } from '../../../src/deployments/host-registry.ts';
import { makeReconciler } from '../../../src/deployments/reconcile.ts';
import { canBuild } from '../../../src/deployments/record/build-source.ts';
import { makeSecretFingerprints } from '../../../src/deployments/secret-fingerprints.ts';
import type { Reconcile, Result } from '../../../src/lib/controller/controller.ts';
import { keyOf } from '../../../src/lib/controller/keys.ts';
import { makeMetrics } from '../../../src/lib/controller/metrics.ts';
import { Unavailable } from '../../../src/lib/errors.ts';
import {
  BUILT_IN_RESOURCES,
  DEPLOYMENTS,
  JOBS,
  makeResourceRegistry,
  NAMESPACES,
  SECRETS,
  STATEFUL_SETS,
} from '../../../src/lib/kube/api-resources.ts';
import type { KubeObject, SecretObject } from '../../../src/lib/kube/client.ts';
import { makeHearing } from '../../../src/listeners/hub/hearing.ts';
import { makeListenerReconciler } from '../../../src/listeners/hub/listeners.ts';
import { makeRecordReconciler } from '../../../src/listeners/hub/records.ts';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../../src/schema/app-deployment.ts';
import { APP_REVISIONS, type AppRevision } from '../../../src/schema/app-revision.ts';
import { conditionOf } from '../../../src/schema/conditions.ts';
import { LISTENERS } from '../../../src/schema/listener.ts';
import { LISTENER_WORKS } from '../../../src/schema/listener-work.ts';
import type { Condition } from '../../../src/schema/primitives.ts';
import { defaultSettings, type Settings } from '../../../src/schema/settings.ts';
import { TRACING_PROJECTS } from '../../../src/schema/tracing-project.ts';
import { aSpec } from '../../support/builders.ts';
import { type FakeKube, makeFakeKube, type Write } from '../../support/fake-kube/fake-kube.ts';

const START = Date.parse('2026-02-02T02:02:02Z');
export const SHOP = { namespace: 'team', name: 'shop' } as const;
export const KEY = keyOf('team', 'shop');

export interface Harness {
  readonly kube: FakeKube;
  readonly caches: ControllerCaches;
  readonly hosts: HostRegistry;
  readonly events: string[];
  readonly clock: { ms: number };
  /** What the code host says that the record's branch has. */
  readonly pushed: { commit: string | undefined };
  readonly shell: Cluster;
  reconcile(key?: string): Promise<Result>;
  /** The same as a controller's workers call it. */
  readonly reconcileWith: Reconcile;
  /** A Listener, where settings enable them. */
  reconcileListener(key: string): Promise<Result>;
  /** Keys that were woken because a host became free, since the last call. */
  freed(): Promise<string[]>;
  /** The writes of the passes since the last call, as `apply Service shop` or `apply AppDeployment shop/status`. */
  writes(): string[];
  stop(): void;
}

/** A server with a tenant namespace `team` in it. */
export function aServer(): FakeKube {
  const kube = makeFakeKube();
  kube.seed(NAMESPACES, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'team', labels: { 'davit.dev/tenant': 'true' }, finalizers: ['kubernetes'] },
  });
  return kube;
}

export function putRecord(
  kube: FakeKube,
  spec: Partial<AppDeployment['spec']> = {},
  metadata: Partial<KubeObject['metadata']> = {},
): void {
  const record: AppDeployment = {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'AppDeployment',
    metadata: { name: 'shop', namespace: 'team', generation: 1, ...metadata },
    spec: aSpec(spec),
  };
  kube.seed(APP_DEPLOYMENTS, record);
}

export function record(kube: FakeKube, namespace = 'team', name = 'shop'): AppDeployment {
  const found = kube
    .objects<AppDeployment>(APP_DEPLOYMENTS)
    .find(({ metadata }) => metadata.namespace === namespace && metadata.name === name);
  if (!found) throw new Error(`${namespace}/${name} is gone.`);
  return found;
}

/** The record's condition of this type. */
export function conditionIn(kube: FakeKube, type: string, namespace = 'team', name = 'shop'): Condition | undefined {
  return conditionOf(record(kube, namespace, name).status?.conditions, type);
}

/** Status and reason of the record's condition of this type. */
export function says(kube: FakeKube, type: string, namespace = 'team', name = 'shop'): string {
  const condition = conditionIn(kube, type, namespace, name);
  return `${condition?.status} ${condition?.reason}`;
}

/** The newest revision in the server. */
export function newestRevision(kube: FakeKube): AppRevision {
  const [found] = kube
    .objects<AppRevision>(APP_REVISIONS)
    .toSorted((a, b) => b.spec.deploymentGeneration - a.spec.deploymentGeneration);
  if (!found) throw new Error('There is no revision.');
  return found;
}

/** Patches the record as an editor does. */
export async function edit(kube: FakeKube, patch: object): Promise<void> {
  await kube.mergePatch(APP_DEPLOYMENTS, SHOP, patch, { fieldManager: 'person' });
}

/** Requests the deletion of the record. */
export async function deleteRecord(kube: FakeKube): Promise<void> {
  await kube.remove(APP_DEPLOYMENTS, SHOP, { uid: record(kube).metadata.uid ?? '' });
}

/** Requests the deletion of the record's namespace. */
export async function deleteNamespace(kube: FakeKube): Promise<void> {
  await kube.remove(NAMESPACES, { name: 'team' }, { uid: kube.objects(NAMESPACES)[0]?.metadata.uid ?? '' });
}

/** Reconciles until no record is left, at most this often. Returns the requested delays. */
export async function takeDown({ kube, reconcile }: Harness, passes = 15): Promise<Result['requeueAfterMs'][]> {
  const delays: Result['requeueAfterMs'][] = [];
  for (let pass = 0; pass < passes && kube.objects(APP_DEPLOYMENTS).length > 0; pass += 1) {
    // oxlint-disable-next-line no-await-in-loop -- the teardown goes step by step
    delays.push((await reconcile()).requeueAfterMs);
    kube.collectGarbage();
  }
  return delays;
}

/** Puts a Secret into the record's namespace. */
export function putSecret(
  kube: FakeKube,
  name: string,
  data?: Readonly<Record<string, string>>,
  { namespace = 'team', labels }: Partial<KubeObject['metadata']> = {},
): void {
  const metadata = { name, namespace, ...(labels && { labels }) };
  kube.seed<SecretObject>(SECRETS, { apiVersion: 'v1', kind: 'Secret', metadata, ...(data && { data }) });
}

/** Labels of a Secret of values. */
export const OF_VALUES = { 'davit.dev/deployment': 'shop', 'davit.dev/variables': '' };

/** Stopped, unless the test does that itself, when the test is over. */
export async function aController(
  kube: FakeKube,
  settings: Settings = defaultSettings(),
  contracts: PodContracts = POD_CONTRACTS,
): Promise<Harness> {
  const stopping = new AbortController();
  const log = pino({ level: 'silent' });
  const caches = makeControllerCaches({
    client: kube,
    namespaces: [],
    organizationNamespace: 'davit-org',
    addressKind: settings.address.kind,
    keda: settings.keda.enabled,
    buildsNamespace: canBuild(settings) ? settings.builds.namespace : undefined,
    withListeners: settings.listeners.enabled,
    log,
    metrics: makeMetrics(),
  });
  for (const cache of caches.all) void cache.run(stopping.signal);
  await Promise.all(caches.all.map((cache) => cache.waitForSync()));
  const events: string[] = [];
  const clock = { ms: START };
  const now = (): Date => new Date(clock.ms);
  const registry = makeResourceRegistry([
    ...BUILT_IN_RESOURCES,
    APP_DEPLOYMENTS,
    APP_REVISIONS,
    TRACING_PROJECTS,
    LISTENERS,
    LISTENER_WORKS,
  ]);
  const recorder = {
    record: ({ type, reason }: { type: string; reason: string }) => void events.push(`${type} ${reason}`),
    flush: () => Promise.resolve(),
  };
  const home = { client: kube, caches, registry };
  const clusters = { home, target: home };
  const hosts = makeHostRegistry(caches, settings.address);
  const freed = new Set<string>();
  const pushed: Harness['pushed'] = { commit: undefined };
  hosts.onFreed((key) => freed.add(key));
  const vanished = makeVanished(clusters, () => clock.ms);
  const local: Reconcile = makeReconciler({
    ...clusters,
    vanished,
    contents: makeSecretFingerprints({
      client: kube,
      caches,
      digestKey: makeDigestKey(kube, 'davit-system'),
      elapsed: () => clock.ms,
    }),
    hosts,
    settings,
    events: recorder,
    now,
    contracts,
    pushedCommit: () => pushed.commit,
  });
  const { listening } = caches;
  const elapsed = (): number => clock.ms;
  const hearing = listening && makeHearing(listening.leases, elapsed);
  const account = { name: 'davit-controller', namespace: 'davit-system' };
  const listeners =
    listening && hearing
      ? makeListenerReconciler({ home, listening, settings, hearing, account, now, elapsed })
      : undefined;
  const reconcile: Reconcile = listening
    ? makeRecordReconciler({ ...clusters, listening, settings, events: recorder, now, local })
    : local;
  kube.clearWrites();
  const stop = (): void => {
    hearing?.close();
    hosts.close();
    vanished.close();
    stopping.abort();
  };
  onTestFinished(stop);
  return {
    kube,
    caches,
    hosts,
    events,
    clock,
    pushed,
    shell: home,
    reconcile: async (key = KEY) => {
      await settle(caches, kube);
      try {
        return await reconcile(key, stopping.signal, log);
      } finally {
        await settle(caches, kube);
      }
    },
    reconcileWith: reconcile,
    reconcileListener: async (key) => {
      await settle(caches, kube);
      try {
        return (await listeners?.(key, stopping.signal, log)) ?? {};
      } finally {
        await settle(caches, kube);
      }
    },
    freed: async () => {
      await settle(caches, kube);
      const keys = [...freed];
      freed.clear();
      return keys.toSorted();
    },
    writes: () => {
      const said = kube.writes.map(describeWrite);
      kube.clearWrites();
      return said;
    },
    stop,
  };
}

function describeWrite({ verb, kind, ref, subresource, error, dryRun }: Write): string {
  if (dryRun) return `try ${kind} ${ref.name}${error === undefined ? '' : ` (${error})`}`;
  return `${verb} ${kind} ${ref.name}${subresource === undefined ? '' : `/${subresource}`}${error === undefined ? '' : ` (${error})`}`;
}

/** Until the caches have seen what the server has: their watches deliver in turns of the event loop. */
async function settle(caches: ControllerCaches, kube: FakeKube): Promise<void> {
  kube.bookmark();
  const version = BigInt(kube.resourceVersion());
  for (let turn = 0; turn < 1000; turn += 1) {
    const there = caches.all.filter((cache) => cache.isInstalled());
    if (there.every((cache) => BigInt(cache.observedResourceVersion()) >= version)) return;
    // oxlint-disable-next-line no-await-in-loop -- one turn at a time
    await new Promise((resolve) => setImmediate(resolve));
  }
}

export interface Crash {
  /** The server is gone before a write is sent, or its answer is lost. */
  readonly when: 'failOn' | 'failAfter';
  /** The how-manieth write is the first that fails; none does before. */
  readonly at: number;
  /** What is reconciled, one after the other: the record, if not given. */
  readonly keys?: readonly string[];
  /** Before each write, or once it was done, as `when` says. */
  onWrite?(): void;
}

const READS: ReadonlySet<string> = new Set(['get', 'list', 'watch', 'text']);

/** A pass in which the server goes away and the controller dies of it; the server is back then. Returns how many writes it tried. */
export async function crashed(dying: Harness, { when, at, keys = [KEY], onWrite }: Crash): Promise<number> {
  let writes = 0;
  dying.kube[when](({ verb }) => {
    if (READS.has(verb)) return undefined;
    writes += 1;
    onWrite?.();
    return writes >= at ? new Unavailable('gone') : undefined;
  });
  for (const key of keys) {
    // oxlint-disable-next-line no-await-in-loop -- one record after the other
    await dying.reconcile(key).catch(() => undefined);
  }
  dying.stop();
  dying.kube[when](undefined);
  return writes;
}

/** Does what kubelet and the built-in controllers would: every workload becomes ready at its generation, every Job succeeds. */
export async function makeReady(kube: FakeKube): Promise<void> {
  await endJobs(kube, { type: 'Complete', status: 'True' });
  for (const resource of [DEPLOYMENTS, STATEFUL_SETS]) {
    for (const object of kube.objects<KubeObject & { spec?: { replicas?: number }; status?: object }>(resource)) {
      const replicas = object.spec?.replicas ?? 1;
      const status = {
        observedGeneration: object.metadata.generation ?? 1,
        replicas,
        updatedReplicas: replicas,
        readyReplicas: replicas,
        availableReplicas: replicas,
      };
      if (isDeepStrictEqual(object.status, status)) continue;
      const { namespace = '', name } = object.metadata;
      const writing = { fieldManager: 'kube-controller-manager', subresource: 'status' } as const;
      // oxlint-disable-next-line no-await-in-loop -- one object at a time
      await kube.mergePatch(resource, { namespace, name }, { status }, writing);
    }
  }
}

/** Every Job that has not ended yet ends with this condition. */
export async function endJobs(kube: FakeKube, condition: ObservedCondition): Promise<void> {
  for (const job of kube.objects<KubeObject & { status?: { conditions?: readonly unknown[] } }>(JOBS)) {
    if (job.status?.conditions !== undefined) continue;
    const { namespace = '', name } = job.metadata;
    const writing = { fieldManager: 'kube-controller-manager', subresource: 'status' } as const;
    // oxlint-disable-next-line no-await-in-loop -- one object at a time
    await kube.mergePatch(JOBS, { namespace, name }, { status: { conditions: [condition] } }, writing);
  }
}

/** Reconciles, with workloads becoming ready in between, until a pass writes nothing. */
export async function converge(controller: Harness): Promise<void> {
  let writes: string[] = [];
  for (let pass = 0; pass < 20; pass += 1) {
    // oxlint-disable-next-line no-await-in-loop -- passes follow one another
    await controller.reconcile();
    writes = controller.writes();
    // oxlint-disable-next-line no-await-in-loop -- as above
    await makeReady(controller.kube);
    controller.writes();
    if (writes.length === 0 && pass > 1) return;
  }
  throw new Error(`It does not come to rest: ${writes.join(', ')}`);
}

/** A controller that has brought a record to rest. */
export async function aConverged(
  spec: Partial<AppDeployment['spec']> = {},
  kube = aServer(),
  settings = defaultSettings(),
): Promise<Harness> {
  putRecord(kube, spec);
  const controller = await aController(kube, settings);
  await converge(controller);
  return controller;
}
