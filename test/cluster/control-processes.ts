// The processes of a control plane, for who wants to see what becomes of others when they break: each can be ended and
// started again as it was, etcd's data can be put aside and brought back, and a second API server can lag behind.
import { cp, rm } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import type { Keeper, ProcessSpec } from './keeper-client.ts';

export type ControlProcess = 'etcd' | 'kube-apiserver' | 'kube-controller-manager' | 'kube-scheduler';

export interface ControlProcesses {
  /** Ends them without a word, for `ms`, then starts them as they were; resolves when the API server is ready again. */
  restartApiServer(ms: number): Promise<void>;
  /** Puts what etcd holds aside; a later call replaces it. */
  snapshot(): Promise<void>;
  /**
   * Ends the whole control plane and starts it on the snapshot, as a restore of a backup goes: resourceVersions are
   * those of then, and will be given a second time.
   */
  restore(): Promise<void>;
  /** A second API server on the same etcd, started when it is first asked for. */
  laggingServer(): Promise<LaggingServer>;
}

export interface LaggingServer {
  readonly server: string;
  /** From now on it hears nothing new; what it remembers it still tells. */
  hold(): void;
  release(): void;
}

export interface ControlProcessesOptions {
  readonly keeper: Keeper;
  readonly etcdData: string;
  readonly etcdPort: number;
  /** The specs as they were started, in that order. */
  readonly specs: ReadonlyMap<string, ProcessSpec>;
  /** The first API server's, but for these. */
  readonly secondServer: { readonly server: string; readonly args: (etcdUrl: string) => readonly string[] };
  readonly ready: (server?: string) => Promise<void>;
}

const ALL = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler'] as const;

export function controlProcesses(options: ControlProcessesOptions): ControlProcesses {
  const { keeper, etcdData, specs, ready } = options;
  const aside = `${etcdData}-snapshot`;
  let second: Promise<LaggingServer> | undefined;

  async function start(name: ControlProcess): Promise<void> {
    const spec = specs.get(name);
    if (spec === undefined) throw new Error(`${name} was never started`);
    await keeper.start(spec);
  }

  async function startSecond(): Promise<LaggingServer> {
    const relay = await startRelay(options.etcdPort);
    const spec = specs.get('kube-apiserver');
    if (spec === undefined) throw new Error('kube-apiserver was never started');
    const { server, args } = options.secondServer;
    await keeper.start({ ...spec, name: 'kube-apiserver-2', args: args(`http://127.0.0.1:${relay.port}`) });
    await keeper.whileAlive('kube-apiserver-2', ready(server));
    return { server, hold: relay.hold, release: relay.release };
  }

  return {
    async restartApiServer(ms) {
      await keeper.stop('kube-apiserver');
      await new Promise((resolve) => setTimeout(resolve, ms));
      await start('kube-apiserver');
      await ready();
      // Restarted with it: they retry requests that a server rejected before it knew its bindings only after up to 30 s
      // only, and the scheduler ends itself when what it lists does not fit what it remembers.
      for (const name of ['kube-controller-manager', 'kube-scheduler'] as const) {
        await keeper.stop(name);
        await start(name);
      }
    },
    async snapshot() {
      // A copy of a file that is being written would be of no moment at all; a process that was killed leaves one.
      await keeper.stop('etcd');
      await rm(aside, { recursive: true, force: true });
      await cp(etcdData, aside, { recursive: true });
      await start('etcd');
      await ready();
    },
    async restore() {
      for (const name of ALL.toReversed()) {
        await keeper.stop(name);
      }
      await rm(etcdData, { recursive: true });
      await cp(aside, etcdData, { recursive: true });
      await start('etcd');
      await start('kube-apiserver');
      await ready();
      await start('kube-controller-manager');
      await start('kube-scheduler');
    },
    laggingServer() {
      second ??= startSecond();
      return second;
    },
  };
}

/** A TCP relay before etcd that can keep back what etcd says. */
async function startRelay(etcdPort: number): Promise<{ readonly port: number; hold(): void; release(): void }> {
  const upstreams = new Set<Socket>();
  let held = false;
  const server = createServer((socket) => {
    const upstream = connect(etcdPort, '127.0.0.1');
    upstreams.add(upstream);
    upstream.on('data', (chunk: Buffer) => void socket.write(chunk));
    if (held) upstream.pause();
    socket.pipe(upstream);
    const end = (): void => {
      upstreams.delete(upstream);
      upstream.destroy();
      socket.destroy();
    };
    for (const one of [socket, upstream]) {
      one.on('error', end);
      one.on('close', end);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  server.unref();
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the relay has no port');
  return {
    port: address.port,
    hold() {
      held = true;
      for (const upstream of upstreams) upstream.pause();
    },
    release() {
      held = false;
      for (const upstream of upstreams) upstream.resume();
    },
  };
}
