// What a run is played with: a namespace, a controller of its own behind a proxy of its own, and what disturbs them.

import { setTimeout as sleep } from 'node:timers/promises';
import { patient } from '../../cluster/api-client.ts';
import type { Cluster } from '../../cluster/cluster.ts';
import { leaver } from './absence.ts';
import { isBuildWorkload, performBuilds, worldFor } from './build-workloads.ts';
import { type BuildWorld, startBuildWorld } from './build-world.ts';
import { breaker, type ControlBreaker, isExclusive } from './control-plane-faults.ts';
import type { Plan } from './fault.ts';
import { LEASE_MS, makeEditor, makeRunFolder, makeRunTenant, type RunFolder } from './ground.ts';
import { type Meddler, meddlerOf, race } from './interference.ts';
import type { Census } from './object-history.ts';
import type { Actor, Trace } from './proxy/trace.ts';
import { type Proxy, startProxy } from './proxy.ts';
import { rotateAt } from './rotations.ts';
import { type Cast, type CastOptions, startCast } from './run-processes.ts';
import { mainFor, startWith } from './seeded-start.ts';
import { BACKUP_SETTINGS } from './workloads/backups.ts';
import type { Scene, Stage } from './workloads/stage.ts';
import { changeAndWait } from './workloads.ts';

/** What has to be smaller in the controller for a fault to be seen at all, see mutants.ts. */
const TEST_TIMES: Readonly<Record<string, string>> = {
  'watch-half-open': 'SHORT_IDLE',
  'relist-410': 'SMALL_PAGES',
  'code-host': 'SHORT_BUILD_RETRY',
  'builds-overdue': 'SHORT_BUILD_TIME',
  'builds-file': 'SHORT_FILE_RETRY',
  'builds-notices': 'SHORT_NOTICE_RETRY',
};

/** Workloads whose platform has a store of backups. */
const HAVE_BACKUPS: ReadonlySet<string> = new Set(['backups', 'moves', 'moves-kept', 'moves-deleted']);

/** How long is waited for what never comes (workloads.ts, `Scene`). */
export type Patience = Pick<Scene, 'patienceMs' | 'quietMs'>;

export interface Setup {
  readonly plan: Plan;
  readonly scene: Scene;
  readonly stage: Stage;
  readonly actors: readonly Actor[];
  readonly cast: Cast;
  readonly proxy: Proxy;
  readonly world: BuildWorld | undefined;
  readonly folder: RunFolder;
  readonly broken: ControlBreaker;
  readonly meddler: Meddler;
}

let serial = 0;

export async function setUp(plan: Plan, cluster: Cluster, census: Census, patience: Patience): Promise<Setup> {
  const isFirst = serial === 0;
  serial += 1;
  const number = serial;
  const namespace = `run-${process.pid}-${number}`;
  const { fault, workload } = plan;
  // A lease that went with the namespace would end the lead before its last write.
  const leaseNamespace = workload === 'doomed' ? `${namespace}-davit` : namespace;
  await makeRunTenant(cluster, namespace, leaseNamespace);
  const api = isExclusive(fault) ? patient(cluster.api) : cluster.api;
  const scene: Scene = { api, census, namespace, ...patience };
  const started = Promise.withResolvers<Cast>();
  const leave = leaver(() => cast);
  const broken = breaker(fault, {
    controlPlane: cluster.controlPlane,
    api: cluster.api,
    namespace,
    cast: () => cast,
    proxy: () => proxy,
    census,
    change: () => changeAndWait(stage),
  });
  const actors: readonly Actor[] = fault.kind.startsWith('leader-') ? ['a', 'b'] : ['a'];
  const { server, ca } = cluster;
  const proxy = await startProxy({
    server,
    ca,
    fault,
    leaseMs: LEASE_MS,
    actors,
    // The controller writes before its log has said that it reconciles.
    kill: (actor, signal) => void started.promise.then((there) => there.kill(actor, signal)),
    pause: (actor, ms) => void started.promise.then((there) => there.pause(actor, ms)),
    race: () => race(scene),
    atWrite: broken.atWrite,
    onWrite: leave.at,
  });
  const world = isBuildWorkload(workload) ? await startBuildWorld(cluster, namespace, worldFor(workload)) : undefined;
  const folder = await makeRunFolder(cluster, { namespace, authority: proxy.ca });
  const keys = await folder.keysOf('davit-controller');
  const cast = await startCast(actors, {
    cluster,
    proxy,
    namespace,
    leaseNamespace,
    settings: world?.settings ?? (HAVE_BACKUPS.has(workload) ? BACKUP_SETTINGS : undefined),
    directory: folder.directory,
    keys,
    leaseMs: LEASE_MS,
    ...(await oddities(plan, cluster)),
    letItEnd: isFirst,
  });
  started.resolve(cast);
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
    ...(world && isBuildWorkload(workload) && { performBuilds: () => performBuilds(workload, stage, world) }),
    leaveAt: leave.leaveAt,
    person: (name) => makeEditor(cluster, namespace, name),
  };
  return { plan, scene, stage, actors, cast, proxy, world, folder, broken, meddler };
}

/** The bugs and the clock of a plan's controller. */
async function oddities(
  { fault, workload, seed }: Plan,
  cluster: Cluster,
): Promise<Pick<CastOptions, 'main' | 'imports' | 'env' | 'laterEnv'>> {
  const seeds = [seed, TEST_TIMES[fault.kind], TEST_TIMES[workload]].filter((one) => one !== undefined);
  const skewMs = fault.kind === 'clock-skew' ? fault.ms : undefined;
  const { imports, env } = startWith({ seeds, skewMs });
  return {
    ...(await mainFor(cluster, seeds)),
    imports,
    // The Davit that is upgraded has no bug; the one that comes brings it.
    env: workload === 'upgraded' ? startWith({ skewMs }).env : env,
    laterEnv: env,
  };
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
export const LONGEST_AWAY_MS = 10_000;

/** Another Davit takes the place of the one that runs, as a Deployment's new pod does. */
async function upgrade(cast: Cast): Promise<void> {
  cast.kill('a', 'SIGKILL');
  const end = performance.now() + LONGEST_AWAY_MS;
  while (!cast.isReconciling() && performance.now() < end) await sleep(50);
}
