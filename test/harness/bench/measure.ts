// What the parts of the benchmark agree on: an arm is an operator (or none) that can be started on a fresh cluster; a
// measure runs arms and returns figures.

import type { Cluster } from '../../cluster/cluster.ts';
import type { Documents, Values } from '../../support/platform.ts';
import type { Rendering } from './children.ts';
import type { Figure, Goal } from './figures.ts';

/** A control plane of its own with the chart applied, tenants made, and nothing of Davit running. */
export interface BenchServer {
  readonly cluster: Cluster;
  /** What the chart gives to Davit's processes. */
  readonly documents: Documents;
  /** Namespace → its uid. */
  readonly tenants: ReadonlyMap<string, string>;
  /** Path of a kubeconfig of the ServiceAccount davit-controller: every arm has these rights and no other. */
  readonly kubeconfig: string;
  readonly rendering: Rendering;
  /** Path of the rendering as JSON (README.md), for arms that aren't TypeScript. */
  readonly childrenFile: string;
}

/** One contestant. */
export interface Arm {
  readonly name: string;
  /** Builds what it needs, once, however often it is called; in no measured time. Throws what the reader must know. */
  prepare?(say: (line: string) => void): Promise<void>;
  /** Starts its process; resolves when it is ready to act on records. Records may be there already. */
  start(server: BenchServer): Promise<Running>;
}

export interface Running {
  /** The process whose CPU time and memory count. */
  readonly pid: number;
  /** From the start of the process until it was ready to act: caches filled, lease held, workers waiting. */
  readonly readyMs: number;
  /** SIGTERM, and SIGKILL if it stays; resolves when it has gone. */
  stop(): Promise<void>;
}

export interface ServerOptions {
  /** Namespaces to make as tenants. */
  readonly tenants: readonly string[];
  /** Of the chart; its own by default. */
  readonly values?: Values;
  /** kube-controller-manager, kube-scheduler and the stand-in for a node; by default none of them. */
  readonly controllers?: boolean;
  /**
   * For some ten thousand Services: their addresses come from a bitmap, as they did up to Kubernetes 1.32, on the oldest Kubernetes that is supported. Since then the
   * API server recounts all addresses whenever it gives one away (`Used` in pkg/registry/core/service/ipallocator): the
   * 30,000 of 10,000 records take more than half an hour, whoever makes them.
   */
  readonly manyServices?: boolean;
}

/** What every measure is given. */
export interface Bench {
  /** Of the size that was asked for; a measure with a size of its own scales it. */
  readonly records: number;
  readonly repeats: number;
  readonly quick: boolean;
  /** Workers of every arm. */
  readonly workers: number;
  /** The keys of all measures that are taken: what two of them need is done once. */
  readonly taken: ReadonlySet<string>;
  /** Folder for CPU profiles of Davit's process. */
  readonly profileInto?: string;
  say(line: string): void;
  /** Starts a fresh control plane, and ends it after `use` whatever happens. */
  onFreshServer<T>(options: ServerOptions, use: (server: BenchServer) => Promise<T>): Promise<T>;
}

export interface Measure {
  /** As in `--only`; its figures are called the same, or `key.part`. */
  readonly key: string;
  readonly goal: Goal;
  run(bench: Bench): Promise<readonly Figure[]>;
}
