// One run: a namespace, a controller of its own behind a proxy of its own, one workload, one fault.

import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster } from '../../cluster/cluster.ts';
import { gather, type Run } from './evidence.ts';
import type { Plan } from './fault.ts';
import { Meddled } from './interference.ts';
import type { Census } from './object-history.ts';
import type { Trace } from './proxy/trace.ts';
import type { Cast } from './run-processes.ts';
import { LONGEST_AWAY_MS, type Patience, type Setup, setUp } from './run-setup.ts';
import { NotConverged } from './workloads/stage.ts';
import { perform } from './workloads.ts';

const QUIET_MS = 2000;
/** Longer than the 15 s after which the cluster's own autoscaler says that it has no metrics, which the record then says too. */
const LONGEST_UNREST_MS = 20_000;

export async function runPlan(plan: Plan, cluster: Cluster, census: Census, patience: Patience): Promise<Run> {
  const begin = performance.now();
  const setup = await setUp(plan, cluster, census, patience);
  const { cast, proxy, world, folder, broken, actors } = setup;
  const { namespace } = setup.scene;
  const outcome = await play(setup);
  const starts = cast.starts();
  const said = await gather(cluster.api, world ? [namespace, world.namespace] : [namespace], cast);
  const stopMs = await cast.stop();
  proxy.close();
  world?.close();
  const run: Run = {
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
    ...outcome,
    // A history that has been rewound is no accident: who has seen its future restarts.
    accidents: starts - actors.length - cast.kills() - (plan.fault.kind === 'etcd-restored' ? 1 : 0),
    kills: cast.kills(),
    said,
    stopMs,
    seconds: (performance.now() - begin) / 1000,
    log: cast.logs.join(' '),
  };
  await folder.remove();
  // What is left is nobody's business any more; only its quiet end matters to the runs beside it.
  await broken.mended();
  for (const used of world ? [namespace, world.namespace] : [namespace]) {
    await putToRest(cluster, used);
    census.forget(used);
  }
  return run;
}

/** Performs the workload and commits the fault; what came of it. */
async function play(setup: Setup): Promise<Pick<Run, 'stuck' | 'meddled' | 'restless'>> {
  const { fault } = setup.plan;
  let meddled: Meddled | undefined;
  try {
    await disturb(setup);
  } catch (error) {
    if (error instanceof NotConverged) return { stuck: error.message, meddled, restless: false };
    if (!(error instanceof Meddled)) throw error;
    meddled = error;
  }
  const quietMs = fault.kind === 'quiet' ? (fault.ms ?? QUIET_MS) : QUIET_MS;
  return { stuck: undefined, meddled, restless: !(await comesToRest(setup.proxy.trace, setup.cast, quietMs)) };
}

/** Throws NotConverged and Meddled. */
async function disturb({ plan, scene, stage, cast, proxy, broken, meddler }: Setup): Promise<void> {
  const { fault } = plan;
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
  } finally {
    over.abort();
    await meddler.cleanUp?.(scene);
  }
}

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
    await sleep(50);
  }
  return true;
}

const LONGEST_HANDOVER_MS = 8000;

/** After the last write nobody is missed: the run would be over before another holds the lease. */
async function handedOver({ kind }: Plan['fault'], trace: Trace): Promise<void> {
  if (kind !== 'leader-killed' && kind !== 'leader-stopped') return;
  const end = performance.now() + LONGEST_HANDOVER_MS;
  const { firedAt = Infinity } = trace;
  while (firedAt < Infinity && !trace.holders.some(({ at }) => at > firedAt) && performance.now() < end) {
    await sleep(50);
  }
}

async function crashLoop(every: number, times: number, cast: Cast, trace: Trace): Promise<void> {
  for (let count = 0; count < times; count += 1) {
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
  for (const path of WITH_WORK) await api.call('DELETE', path.replace('NS', namespace)).catch(() => undefined);
}
