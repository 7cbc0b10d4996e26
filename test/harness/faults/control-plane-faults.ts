// Faults of the control plane itself, and of a whole namespace. The former everybody on the cluster feels, so these plans have
// a cluster to themselves, one after the other.

import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiClient } from '../../cluster/api-client.ts';
import type { ControlProcesses } from '../../cluster/control-processes.ts';
import type { Fault, Plan, WorkloadName } from './fault.ts';
import { removeNamespace } from './namespace-deletion.ts';
import type { Census } from './object-history.ts';
import type { Actor } from './proxy/trace.ts';
import type { Proxy } from './proxy.ts';
import type { Cast } from './run-processes.ts';

type ControlFault = Extract<Fault, { readonly kind: 'api-restart' | 'stale-server' | 'etcd-restored' }>;

/** A lagging server is believed for so long; less than makes a controller think that time has gone back for good. */
const STALE_MS = 4000;
const DOWN_MS = 5000;
/** So that the phase has begun when the server goes, and the controller has something to lose. */
const LATE_MS = 300;

export function isExclusive(fault: Fault): fault is ControlFault {
  return fault.kind === 'api-restart' || fault.kind === 'stale-server' || fault.kind === 'etcd-restored';
}

/** The plans of a workload, given the labels of its own writes. */
export function exclusivePlans(workload: WorkloadName, phase: string, labels: readonly string[]): Plan[] {
  if (workload === 'taken' || workload === 'hasty') return [];
  const faults: Fault[] = [{ kind: 'api-restart', phase }];
  if (workload !== 'create') faults.push({ kind: 'etcd-restored' });
  for (const [count, at] of labels.filter((_, index) => index % 12 === 3).entries())
    faults.push({ kind: 'stale-server', at, crash: count % 2 === 0 });
  return faults.map((fault) => ({ workload, fault }));
}

export interface Backstage {
  readonly controlPlane: ControlProcesses;
  readonly api: ApiClient;
  readonly namespace: string;
  readonly cast: () => Cast;
  readonly proxy: () => Proxy;
  readonly census: Census;
  /** Any change that a restore will undo. */
  readonly change: () => Promise<void>;
}

export interface ControlBreaker {
  /** When a phase begins. */
  enter(phase: string): void;
  /** When the write that the fault names has arrived. */
  atWrite(actor: Actor): Promise<void>;
  /** Between the making of the record and what the workload does with it. */
  interlude(): Promise<void>;
  /** Resolves when everything is as it was. */
  mended(): Promise<void>;
}

export function breaker(fault: Fault, backstage: Backstage): ControlBreaker {
  const { controlPlane, cast, proxy, census } = backstage;
  let work: Promise<void> = Promise.resolve();

  async function restartApiServer(ms: number): Promise<void> {
    await sleep(LATE_MS);
    proxy().trace.fired = true;
    await controlPlane.restartApiServer(ms);
  }

  async function lookAtThePast(actor: Actor, crash: boolean, ms: number): Promise<void> {
    const lagging = await controlPlane.laggingServer();
    proxy().turnTo(lagging.server);
    await sleep(LATE_MS);
    if (crash) cast().kill(actor, 'SIGKILL');
    await sleep(ms);
    lagging.release();
    proxy().turnTo(undefined);
  }

  return {
    enter(phase) {
      if (fault.kind === 'api-restart' && fault.phase === phase) work = restartApiServer(fault.ms ?? DOWN_MS);
    },
    async atWrite(actor) {
      if (fault.kind === 'namespace-deleted') return removeNamespace(backstage.api, backstage.namespace);
      if (fault.kind !== 'stale-server') return;
      (await controlPlane.laggingServer()).hold();
      work = lookAtThePast(actor, fault.crash, fault.ms ?? STALE_MS);
    },
    async interlude() {
      if (fault.kind === 'roles-first') proxy().takeRoleBinding();
      // Started before it is needed: it takes seconds.
      if (fault.kind === 'stale-server') await controlPlane.laggingServer();
      if (fault.kind !== 'etcd-restored') return;
      await controlPlane.snapshot();
      await backstage.change();
      await controlPlane.restore();
      proxy().trace.fired = true;
      // What it has seen since has never happened. Nothing goes on before it has seen what there is.
      await census.restart();
    },
    mended: () => work,
  };
}
