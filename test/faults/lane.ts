// One run: a namespace, a controller of its own behind a proxy of its own, one workload, one fault.

import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster } from '../cluster/cluster.ts';
import { DAVIT_NAMESPACE, makeTenant } from '../platform.ts';
import { type Actor, type Cast, startCast } from './cast.ts';
import type { Census, Sighting } from './census.ts';
import { breaker, isExclusive, patient } from './exclusive.ts';
import type { Plan } from './plans.ts';
import { startProxy, type Trace } from './proxy.ts';
import { rotateAt } from './rotations.ts';
import { changeAndWait, NotConverged, perform, RECORD, type Stage } from './workloads.ts';

const LEASE_MS = 1500;
const QUIET_MS = 2000;
const LONGEST_UNREST_MS = 12_000;

export interface Run {
  readonly plan: Plan;
  readonly namespace: string;
  readonly trace: Trace;
  readonly history: readonly Sighting[];
  readonly current: readonly Sighting[];
  /** Why the workload did not come to its end. */
  readonly stuck: string | undefined;
  /** Writes that came after it should have been at rest. */
  readonly restless: boolean;
  /** How often a process ended that nobody had ended. */
  readonly accidents: number;
  readonly kills: number;
  readonly stopMs: number;
  readonly seconds: number;
  readonly log: string;
}

let serial = 0;

export async function runPlan(plan: Plan, cluster: Cluster, census: Census, patienceMs: number): Promise<Run> {
  const begin = performance.now();
  const isFirst = serial === 0;
  serial += 1;
  const namespace = `run-${process.pid}-${serial}`;
  const { fault } = plan;
  await makeTenant(cluster, namespace);
  await allowLease(cluster, namespace);
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
    atWrite: (actor) => broken.atWrite(actor),
  });
  const directory = join(cluster.runDir, 'faults', namespace);
  await mkdir(directory, { recursive: true });
  const keys = { tokenFile: join(directory, 'token'), caFile: join(directory, 'ca.crt') };
  await writeFile(keys.tokenFile, await cluster.tokenFor(DAVIT_NAMESPACE, 'davit-controller'), { mode: 0o600 });
  await writeFile(keys.caFile, proxy.ca);
  const seeds = [plan.seed, fault.kind === 'watch-half-open' ? 'SHORT_IDLE' : undefined].filter(Boolean);
  const cast = await startCast(actors, {
    cluster,
    proxy,
    namespace,
    directory,
    keys,
    leaseMs: LEASE_MS,
    imports: [
      ...(seeds.length > 0 ? [join(import.meta.dirname, 'seed.ts')] : []),
      ...(fault.kind === 'clock-skew' ? [join(import.meta.dirname, 'skew.ts')] : []),
    ],
    env: {
      ...(seeds.length > 0 && { SEEDED_BUGS: seeds.join(',') }),
      ...(fault.kind === 'clock-skew' && { SKEW_MS: String(fault.ms) }),
    },
    letItEnd: isFirst,
  });
  const api = isExclusive(fault) ? patient(cluster.api) : cluster.api;
  const broken = breaker(fault, {
    controlPlane: cluster.controlPlane,
    cast: () => cast,
    proxy: () => proxy,
    census,
    change: () => changeAndWait(stage),
  });
  const stage: Stage = {
    api,
    census,
    namespace,
    patienceMs,
    enter(phase) {
      proxy.enter(phase);
      void rotateAt(phase, fault, proxy, keys, cluster);
      broken.enter(phase);
    },
    interlude: () => broken.interlude(),
  };
  let stuck: string | undefined;
  let restless = false;
  try {
    if (fault.kind === 'conflict-storm') void storm(cluster, namespace, fault.ms ?? 2000, proxy.trace);
    if (fault.kind === 'crash-loop') void crashLoop(fault.every, fault.times, cast, proxy.trace);
    await perform(plan.workload, stage);
    await broken.mended();
  } catch (error) {
    if (!(error instanceof NotConverged)) throw error;
    stuck = error.message;
  }
  if (stuck === undefined) restless = !(await comesToRest(proxy.trace));
  const starts = cast.starts();
  const stopMs = await cast.stop();
  proxy.close();
  const run = {
    plan,
    namespace,
    trace: proxy.trace,
    history: census.history(namespace),
    current: census.current(namespace),
    stuck,
    restless,
    // A history that has been rewound is no accident: who has seen its future starts anew.
    accidents: starts - actors.length - cast.kills() - (fault.kind === 'etcd-restored' ? 1 : 0),
    kills: cast.kills(),
    stopMs,
    seconds: (performance.now() - begin) / 1000,
    log: cast.logs,
  };
  await rm(directory, { recursive: true, force: true });
  // What is left is nobody's business any more; only its quiet end matters to the runs beside it.
  await broken.mended();
  await cluster.api.call('DELETE', `/api/v1/namespaces/${namespace}`).catch(() => undefined);
  await release(cluster, namespace).catch(() => undefined);
  census.forget(namespace);
  return run;
}

/** The chart's rule for leases, in the run's namespace. */
async function allowLease(cluster: Cluster, namespace: string): Promise<void> {
  const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`;
  const rules = [{ apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'create', 'update'] }];
  await cluster.api.call('POST', `${rbac}/roles`, { metadata: { name: 'lease' }, rules });
  await cluster.api.call('POST', `${rbac}/rolebindings`, {
    metadata: { name: 'lease' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'lease' },
    subjects: [{ kind: 'ServiceAccount', name: 'davit-controller', namespace: DAVIT_NAMESPACE }],
  });
}

async function comesToRest(trace: Trace): Promise<boolean> {
  const end = performance.now() + LONGEST_UNREST_MS;
  const from = performance.now();
  while (performance.now() - Math.max(trace.lastWriteAt, from) < QUIET_MS) {
    if (performance.now() > end) return false;
    // oxlint-disable-next-line no-await-in-loop -- it needs time
    await sleep(50);
  }
  return true;
}

async function crashLoop(every: number, times: number, cast: Cast, trace: Trace): Promise<void> {
  for (let count = 0; count < times; count += 1) {
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    await sleep(count === 0 ? 100 : every);
    cast.kill('a', 'SIGKILL');
    trace.fired = true;
  }
}

async function storm(cluster: Cluster, namespace: string, ms: number, trace: Trace): Promise<void> {
  const path = `/apis/davit.dev/v1alpha1/namespaces/${namespace}/appdeployments/${RECORD}`;
  const end = performance.now() + ms;
  for (let count = 0; performance.now() < end; count += 1) {
    const patch = { metadata: { annotations: { 'example.com/storm': String(count) } } };
    // oxlint-disable-next-line no-await-in-loop -- fifty a second
    await cluster.api.call('PATCH', path, patch, 'application/merge-patch+json').then(
      () => {
        trace.fired = true;
      },
      () => undefined,
    );
    // oxlint-disable-next-line no-await-in-loop -- as above
    await sleep(20);
  }
}

/** No controller is left to take the finalizer off. */
async function release(cluster: Cluster, namespace: string): Promise<void> {
  const path = `/apis/davit.dev/v1alpha1/namespaces/${namespace}/appdeployments/${RECORD}`;
  await cluster.api.call('PATCH', path, { metadata: { finalizers: [] } }, 'application/merge-patch+json');
}
