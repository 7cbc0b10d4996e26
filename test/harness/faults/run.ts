// One run: a namespace, a controller of its own behind a proxy of its own, one workload, one fault.

import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { patient } from '../../cluster/api-client.ts';
import type { Cluster } from '../../cluster/cluster.ts';
import { type BuildWorkload, isBuildWorkload, performBuilds, worldFor } from './build-workloads.ts';
import { type BuildWorld, startBuildWorld } from './build-world.ts';
import { bundledDavit } from './bundle.ts';
import { breaker, isExclusive } from './control-plane-faults.ts';
import { LEASE_MS, makeRunFolder, makeRunTenant } from './ground.ts';
import { Meddled, meddlerOf, race } from './interference.ts';
import type { Census, Sighting } from './object-history.ts';
import type { Plan } from './plans.ts';
import type { Trace } from './proxy/trace.ts';
import { startProxy } from './proxy.ts';
import { rotateAt } from './rotations.ts';
import { type Actor, type Cast, startCast } from './run-processes.ts';
import { gather, type Utterance } from './secret-leaks.ts';
import { NotConverged, type Scene, type Stage } from './workloads/stage.ts';
import { changeAndWait, perform } from './workloads.ts';

const QUIET_MS = 2000;
/** Longer than the 15 s after which the cluster's own autoscaler says that it has no metrics, which the record then says too. */
const LONGEST_UNREST_MS = 20_000;

export interface Run {
  readonly plan: Plan;
  readonly namespace: string;
  readonly trace: Trace;
  readonly history: readonly Sighting[];
  readonly current: readonly Sighting[];
  /** Of a workload of builds: what there was where they run, and what was really built. */
  readonly builds?: BuildsSeen | undefined;
  /** Why the workload did not come to its end. */
  readonly stuck: string | undefined;
  /** Writes that came after it should have been at rest. */
  readonly restless: boolean;
  /** How often a process ended that nobody had ended. */
  readonly accidents: number;
  /** What a meddler saw being broken. */
  readonly meddled: Meddled | undefined;
  readonly kills: number;
  /** Events, logs, metrics and ConfigMaps. */
  readonly said: readonly Utterance[];
  readonly stopMs: number;
  readonly seconds: number;
  readonly log: string;
}

export interface BuildsSeen extends Pick<BuildWorld, 'made' | 'wrong' | 'limits'> {
  readonly history: readonly Sighting[];
  readonly current: readonly Sighting[];
}

/** What has to be smaller in the controller for a fault to be seen at all, see mutants.ts. */
const TEST_TIMES: Readonly<Record<string, string>> = {
  'watch-half-open': 'SHORT_IDLE',
  'relist-410': 'SMALL_PAGES',
  'code-host': 'SHORT_BUILD_RETRY',
  'builds-overdue': 'SHORT_BUILD_TIME',
};

let serial = 0;

/** How long is waited for what never comes (workloads.ts, `Scene`). */
export type Patience = Pick<Scene, 'patienceMs' | 'quietMs'>;

/** Longer than the lease, so that it has to be acquired again. */
const SHORTEST_AWAY_MS = 2 * LEASE_MS;

export async function runPlan(plan: Plan, cluster: Cluster, census: Census, patience: Patience): Promise<Run> {
  const begin = performance.now();
  const isFirst = serial === 0;
  serial += 1;
  const namespace = `run-${process.pid}-${serial}`;
  const { fault } = plan;
  // A lease that went with the namespace would end the lead before its last write.
  const leaseNamespace = plan.workload === 'doomed' ? `${namespace}-davit` : namespace;
  await makeRunTenant(cluster, namespace, leaseNamespace);
  const actors: readonly Actor[] = fault.kind.startsWith('leader-') ? ['a', 'b'] : ['a'];
  const { server, ca } = cluster;
  const proxy = await startProxy({
    server,
    ca,
    fault,
    leaseMs: LEASE_MS,
    actors,
    kill: (actor, signal) => cast.kill(actor, signal),
    pause: (actor, ms) => cast.pause(actor, ms),
    race: () => race(scene),
    atWrite: (actor) => broken.atWrite(actor),
    onWrite: (label, actor) => leave.at(label, actor),
  });
  const world = isBuildWorkload(plan.workload)
    ? await startBuildWorld(cluster, namespace, worldFor(plan.workload))
    : undefined;
  const folder = await makeRunFolder(cluster, { namespace, authority: proxy.ca });
  const keys = await folder.keysOf('davit-controller');
  const seeds = [plan.seed, TEST_TIMES[fault.kind], TEST_TIMES[plan.workload]].filter(Boolean);
  const seeded = seeds.length > 0 ? { SEEDED_BUGS: seeds.join(',') } : {};
  const cast = await startCast(actors, {
    cluster,
    proxy,
    namespace,
    leaseNamespace,
    settings: world?.settings,
    directory: folder.directory,
    keys,
    leaseMs: LEASE_MS,
    ...(seeds.length === 0 && { main: await bundledDavit(cluster) }),
    imports: [
      ...(seeds.length > 0 ? [join(import.meta.dirname, 'mutant.ts')] : []),
      ...(fault.kind === 'clock-skew' ? [join(import.meta.dirname, 'skew.ts')] : []),
    ],
    // The Davit that is upgraded has no bug; the one that comes brings it.
    laterEnv: seeded,
    env: {
      ...(plan.workload !== 'upgraded' && seeded),
      ...(fault.kind === 'clock-skew' && { SKEW_MS: String(fault.ms) }),
    },
    letItEnd: isFirst,
  });
  const api = isExclusive(fault) ? patient(cluster.api) : cluster.api;
  const broken = breaker(fault, {
    controlPlane: cluster.controlPlane,
    api: cluster.api,
    namespace,
    cast: () => cast,
    proxy: () => proxy,
    census,
    change: () => changeAndWait(stage),
  });
  const scene: Scene = { api, census, namespace, ...patience };
  const leave = leaver(() => cast);
  const meddler = meddlerOf(fault);
  const stage: Stage = {
    ...scene,
    prepare: async () => meddler.before?.(scene),
    enter(phase) {
      proxy.enter(phase);
      void rotateAt(phase, fault, proxy, keys, cluster);
      broken.enter(phase);
      void ail(phase, fault, world, proxy.trace);
    },
    interlude: () => broken.interlude(),
    upgrade: () => upgrade(cast),
    ...(world && { performBuilds: () => performBuilds(plan.workload as BuildWorkload, stage, world) }),
    leaveAt: leave.leaveAt,
  };
  let stuck: string | undefined;
  let restless = false;
  let meddled: Meddled | undefined;
  const over = new AbortController();
  try {
    if (fault.kind === 'crash-loop') void crashLoop(fault.every, fault.times, cast, proxy.trace);
    // What a person does happens in any case; a race waits for its write.
    if (fault.kind !== 'raced' && (meddler.before ?? meddler.during ?? meddler.after)) proxy.trace.fired = true;
    const during = (meddler.during?.(scene, over.signal) ?? Promise.resolve()).then(
      () => undefined,
      (error: unknown) => error,
    );
    await perform(plan.workload, stage);
    over.abort();
    const error = await during;
    if (error instanceof Error) throw error;
    await meddler.after?.(scene);
    await broken.mended();
    await handedOver(fault, proxy.trace);
  } catch (error) {
    if (error instanceof Meddled) meddled = error;
    else if (error instanceof NotConverged) stuck = error.message;
    else throw error;
  } finally {
    over.abort();
    await meddler.cleanUp?.(scene);
  }
  if (stuck === undefined)
    restless = !(await comesToRest(proxy.trace, cast, fault.kind === 'quiet' ? (fault.ms ?? QUIET_MS) : QUIET_MS));
  const starts = cast.starts();
  const said = await gather(cluster.api, world ? [namespace, world.namespace] : [namespace], cast);
  const stopMs = await cast.stop();
  proxy.close();
  world?.close();
  const run = {
    plan,
    namespace,
    trace: proxy.trace,
    history: census.history(namespace),
    current: census.current(namespace),
    builds: world && {
      made: world.made,
      wrong: world.wrong,
      limits: world.limits,
      history: census.history(world.namespace),
      current: census.current(world.namespace),
    },
    stuck,
    restless,
    // A history that has been rewound is no accident: who has seen its future restarts.
    accidents: starts - actors.length - cast.kills() - (fault.kind === 'etcd-restored' ? 1 : 0),
    kills: cast.kills(),
    meddled,
    said,
    stopMs,
    seconds: (performance.now() - begin) / 1000,
    log: cast.logs.join(' '),
  };
  await folder.remove();
  // What is left is nobody's business any more; only its quiet end matters to the runs beside it.
  await broken.mended();
  await putToRest(cluster, namespace);
  census.forget(namespace);
  if (world) {
    await putToRest(cluster, world.namespace);
    census.forget(world.namespace);
  }
  return run;
}

/** What the controller asks the code host is answered badly for a while. */
async function ail(phase: string, fault: Plan['fault'], world: BuildWorld | undefined, trace: Trace): Promise<void> {
  if (fault.kind !== 'code-host' || fault.phase !== phase || !world) return;
  const before = world.met();
  world.ails.api = fault.says;
  await sleep(fault.ms ?? 2500);
  world.ails.api = undefined;
  if (world.met() > before) trace.fired = true;
}

/** So long a controller that was ended or frozen, and whoever follows it, may take to be back. */
const LONGEST_AWAY_MS = 10_000;

/** While nobody reconciles, that nothing is written says nothing; also when the crash comes with one of the last writes. */
async function comesToRest(trace: Trace, cast: Cast, quietMs: number): Promise<boolean> {
  const from = performance.now();
  const end = from + LONGEST_AWAY_MS + LONGEST_UNREST_MS + quietMs;
  let lastSeenAt = from;
  // Over a minute of it a lease of a second and a half may be lost on a busy machine; that somebody leads at its end is enough.
  const isAtRest = (): boolean => {
    const now = performance.now();
    if (cast.isReconciling()) lastSeenAt = now;
    else if (now < lastSeenAt + LONGEST_AWAY_MS) return false;
    return now - Math.max(trace.lastWriteAt, from) >= quietMs && now - cast.reconcilingSince() >= QUIET_MS;
  };
  while (!isAtRest()) {
    if (performance.now() > end) return false;
    // oxlint-disable-next-line no-await-in-loop -- it needs time
    await sleep(50);
  }
  return true;
}

/** Another Davit takes the place of the one that runs, as a Deployment's new pod does. */
async function upgrade(cast: Cast): Promise<void> {
  cast.kill('a', 'SIGKILL');
  const end = performance.now() + LONGEST_AWAY_MS;
  // oxlint-disable-next-line no-await-in-loop -- it needs time
  while (!cast.isReconciling() && performance.now() < end) await sleep(50);
}

interface Leaver {
  readonly leaveAt: NonNullable<Stage['leaveAt']>;
  /** A write has arrived. */
  at(label: string, actor: Actor): void;
}

/** Freezes whoever asks for a write, until it is to come back. */
function leaver(cast: () => Cast): Leaver {
  let awaited: string | undefined;
  let gone: { readonly actor: Actor; readonly since: number } | undefined;
  return {
    leaveAt(write) {
      awaited = write;
      return {
        isAway: () => gone !== undefined,
        async back() {
          if (!gone) return;
          await sleep(Math.max(0, gone.since + SHORTEST_AWAY_MS - performance.now()));
          cast().wake(gone.actor);
        },
      };
    },
    at(label, actor) {
      if (awaited === undefined || !label.includes(`/${awaited}#`)) return;
      awaited = undefined;
      gone = { actor, since: performance.now() };
      cast().pause(actor, LONGEST_ABSENCE_MS);
    },
  };
}

/** Whatever becomes of the run. */
const LONGEST_ABSENCE_MS = 60_000;

const LONGEST_HANDOVER_MS = 8000;

/** After the last write nobody is missed: the run would be over before another holds the lease. */
async function handedOver({ kind }: Plan['fault'], trace: Trace): Promise<void> {
  if (kind !== 'leader-killed' && kind !== 'leader-stopped') return;
  const end = performance.now() + LONGEST_HANDOVER_MS;
  const { firedAt = Infinity } = trace;
  while (firedAt < Infinity && !trace.holders.some(({ at }) => at > firedAt) && performance.now() < end) {
    // oxlint-disable-next-line no-await-in-loop -- it needs time
    await sleep(50);
  }
}

async function crashLoop(every: number, times: number, cast: Cast, trace: Trace): Promise<void> {
  for (let count = 0; count < times; count += 1) {
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    await sleep(count === 0 ? 100 : every);
    cast.kill('a', 'SIGKILL');
    trace.fired = true;
  }
}

/** What others than Davit have work with, in an order that recreates nothing. */
const WITH_WORK = [
  '/apis/batch/v1/namespaces/NS/cronjobs',
  '/apis/batch/v1/namespaces/NS/jobs',
  '/apis/autoscaling/v2/namespaces/NS/horizontalpodautoscalers',
  '/apis/apps/v1/namespaces/NS/deployments',
  '/apis/apps/v1/namespaces/NS/statefulsets',
  '/apis/apps/v1/namespaces/NS/replicasets',
  '/api/v1/namespaces/NS/pods',
  '/api/v1/namespaces/NS/persistentvolumeclaims',
];

/**
 * Leaves nothing that anybody would look at again. To delete the namespace is a fifth of what a run costs, since its
 * controller asks for every kind there is; the cluster is taken down with all that lies in it.
 */
async function putToRest({ api }: Cluster, namespace: string): Promise<void> {
  // oxlint-disable-next-line no-await-in-loop -- in order
  for (const path of WITH_WORK) await api.call('DELETE', path.replace('NS', namespace)).catch(() => undefined);
}
