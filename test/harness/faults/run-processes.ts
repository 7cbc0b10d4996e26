// The processes of one run: one controller or two that compete, perhaps a facade, each with a port of the proxy's to
// itself, so that the trace can say who wrote.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { stringify } from 'yaml';
import type { Cluster } from '../../cluster/cluster.ts';
import { supervise } from '../../support/platform.ts';
import type { Actor } from './proxy/trace.ts';
import type { Proxy } from './proxy.ts';
import type { Keys } from './rotations.ts';

export interface CastOptions {
  readonly cluster: Cluster;
  readonly proxy: Proxy;
  readonly namespace: string;
  /** Davit's own, where the lease is. That of the run by default, so that the runs side by side don't compete. */
  readonly leaseNamespace?: string;
  /** More of Davit's settings. */
  readonly settings?: Readonly<Record<string, unknown>> | undefined;
  readonly directory: string;
  readonly keys: Keys;
  /** The same of the facade's own account. */
  readonly facadeKeys?: Keys;
  readonly leaseMs: number;
  /** The file to start, where it is not the source itself (bundle.ts): a seeded bug is put into that. */
  readonly main?: string;
  /** Modules that Node loads first, and the environment that they read. */
  readonly imports: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** More of it from the second start on: what an upgrade brings. */
  readonly laterEnv?: Readonly<Record<string, string>>;
  /** Node writes its compile cache at its end, which takes seconds: the first run's is enough. */
  readonly letItEnd: boolean;
}

export interface Cast {
  pid(actor: Actor): number | undefined;
  /** The port of the first one's metrics; undefined until it has said so. */
  healthPort(): number | undefined;
  /** How often processes were started in all. */
  starts(): number;
  /** How often one was ended, with or without a word. */
  kills(): number;
  /** False from when one was ended or frozen until one says that it reconciles. */
  isReconciling(): boolean;
  /** When one last said so, by the clock that never goes back. */
  reconcilingSince(): number;
  /** Ends the process; it is started again, as a Deployment's pod would be. */
  kill(actor: Actor, signal: 'SIGKILL' | 'SIGTERM'): void;
  /** Freezes the process for so long. */
  pause(actor: Actor, ms: number): void;
  /** Ends that at once. */
  wake(actor: Actor): void;
  /** The milliseconds that the slowest took to say that it has stopped. */
  stop(): Promise<number>;
  /** Where the facade serves, also after it was started again. */
  facadeUrl(): string;
  readonly logs: readonly string[];
}

const START_MS = 60_000;
const RECONCILES = '"msg":"Caches listed';
const SOURCE = join(import.meta.dirname, '../../../src/main.ts');

/** Starts the controllers of the run; resolves when the first leads and the second is there to follow. */
export async function startCast(actors: readonly Actor[], options: CastOptions): Promise<Cast> {
  const { cluster, namespace } = options;
  const stoppedAt: number[] = [];
  let kills = 0;
  let goneAt = -Infinity;
  let backAt = -Infinity;
  let isStopping = false;
  let facadeUrl = '';
  let healthPort: number | undefined;
  const logOf = (actor: Actor): string => join(cluster.logsDir, `${namespace}${actor === 'a' ? '' : `-${actor}`}.log`);

  async function startOne(actor: Actor): Promise<ReturnType<typeof supervise>> {
    const env = await environmentOf(actor, options);
    const awaited = actor === 'a' ? RECONCILES : '"msg":"Started"';
    let isThere: (value?: unknown) => void = () => undefined;
    const there = new Promise((resolve) => {
      isThere = resolve;
    });
    const supervised = supervise({
      args: [
        ...options.imports.flatMap((file) => ['--import', file]),
        options.main ?? SOURCE,
        actor === 'facade' ? 'api' : 'controller',
      ],
      env,
      log: logOf(actor),
      onLine: (line) => {
        const port = /"health":(\d+)/.exec(line)?.[1];
        if (port !== undefined && actor === 'a') healthPort = Number(port);
        if (line.includes(awaited)) isThere();
        if (line.includes(RECONCILES)) backAt = performance.now();
        if (isStopping && line.includes('"msg":"Stopped"')) {
          stoppedAt.push(performance.now());
          if (!options.letItEnd) supervised.kill('SIGKILL');
        }
        facadeUrl = /"url":"(http:[^"]*)"/.exec(line)?.[1] ?? facadeUrl;
        // Whoever calls it knows its address: it has to come back there.
        return { ...options.laterEnv, ...(facadeUrl !== '' && { DAVIT_HTTP_PORT: new URL(facadeUrl).port }) };
      },
    });
    await Promise.race([there, sleep(START_MS, undefined, { ref: false })]);
    return supervised;
  }

  const processes = new Map<Actor, ReturnType<typeof supervise>>();
  for (const actor of actors) {
    processes.set(actor, await startOne(actor));
  }

  const freezer = makeFreezer(processes);
  return {
    pid: (actor) => processes.get(actor)?.pid(),
    healthPort: () => healthPort,
    starts: () => [...processes.values()].reduce((sum, one) => sum + one.starts(), 0),
    kills: () => kills,
    isReconciling: () => backAt > goneAt,
    reconcilingSince: () => backAt,
    kill(actor, signal) {
      kills += 1;
      goneAt = performance.now();
      processes.get(actor)?.kill(signal);
    },
    pause(actor, ms) {
      goneAt = performance.now();
      freezer.freeze(actor, ms);
    },
    wake: freezer.wake,
    async stop() {
      // One that is frozen would never hear of its end.
      freezer.wakeAll();
      isStopping = true;
      const from = performance.now();
      await Promise.all([...processes.values()].map((one) => one.stop()));
      return Math.max(...(stoppedAt.length > 0 ? stoppedAt : [performance.now()])) - from;
    },
    facadeUrl: () => facadeUrl,
    logs: actors.map(logOf),
  };
}

type Processes = ReadonlyMap<Actor, Pick<ReturnType<typeof supervise>, 'kill'>>;

interface Freezer {
  /** Until it is woken, at the latest after `ms`. */
  freeze(actor: Actor, ms: number): void;
  wake(actor: Actor): void;
  wakeAll(): void;
}

function makeFreezer(processes: Processes): Freezer {
  const frozen = new Map<Actor, () => void>();
  return {
    freeze(actor, ms) {
      const process = processes.get(actor);
      process?.kill('SIGSTOP');
      const timer = setTimeout(() => wake(), ms);
      const wake = (): void => {
        clearTimeout(timer);
        frozen.delete(actor);
        process?.kill('SIGCONT');
      };
      frozen.set(actor, wake);
    },
    wake: (actor) => frozen.get(actor)?.(),
    wakeAll() {
      for (const wake of frozen.values()) wake();
    },
  };
}

async function environmentOf(actor: Actor, options: CastOptions): Promise<Record<string, string>> {
  const { cluster, proxy, namespace, directory } = options;
  const keys = actor === 'facade' ? (options.facadeKeys ?? options.keys) : options.keys;
  const kubeconfig = join(directory, `${actor}.kubeconfig`);
  await writeFile(kubeconfig, kubeconfigOf(proxy.urlFor(actor), keys), { mode: 0o600 });
  const settings = join(directory, 'settings.yaml');
  await writeFile(settings, stringify({ namespaces: [namespace], ...options.settings }));
  return {
    DAVIT_KUBECONFIG: kubeconfig,
    DAVIT_SETTINGS: settings,
    DAVIT_NAMESPACE: options.leaseNamespace ?? namespace,
    DAVIT_HEALTH_PORT: '0',
    DAVIT_HTTP_PORT: '0',
    DAVIT_LEASE_MS: String(options.leaseMs),
    DAVIT_BACKOFF_MS: '20',
    DAVIT_LOG_LEVEL: 'debug',
    // Most of a short run would otherwise be the reading of its own source.
    NODE_COMPILE_CACHE: join(cluster.runDir, 'compile-cache'),
    ...options.env,
  };
}

/** Token and authority are files, as a pod has them, so that they can be rotated. */
function kubeconfigOf(server: string, { tokenFile, caFile }: Keys): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'c', cluster: { server, 'certificate-authority': caFile } }],
    users: [{ name: 'u', user: { tokenFile } }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'c',
  });
}
