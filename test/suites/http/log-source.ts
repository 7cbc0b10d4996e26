// Pods that have written much, as an API server serves their logs: for tests of what reading them costs. Nothing is made
// for a request but the pieces that it takes.

import { monitorEventLoopDelay } from 'node:perf_hooks';
import { PODS } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { LINE_BYTES } from '../../support/log-lines.ts';
import { type Facade, TENANT } from './facade.ts';

const PIECE = 64 * 1024;

export interface LogSource {
  /** Streams that have begun, are open, were open at most at once, and were left before their end. */
  readonly seen: { begun: number; open: number; mostOpen: number; left: number; bytes: number };
  /** Awaited before each piece. */
  hold: (() => Promise<unknown>) | undefined;
}

/** Gives the facade's deployment so many pods of so many containers, each of which wrote `log`. */
export function serveLogs(facade: Facade, id: string, pods: number, containers: number, log: Buffer): LogSource {
  for (let pod = 0; pod < pods; pod += 1) facade.kube.seed(PODS, aPod(id, pod, containers));
  const seen = { begun: 0, open: 0, mostOpen: 0, left: 0, bytes: 0 };
  const source: LogSource = { seen, hold: undefined };

  async function* stream(path: string, { signal }: { readonly signal?: AbortSignal } = {}): AsyncGenerator<Uint8Array> {
    const { searchParams } = new URL(path, 'https://kube.example');
    const since = Date.parse(searchParams.get('sinceTime') ?? '1970-01-01T00:00:00Z');
    const last = Date.parse('2026-01-02T00:00:00Z');
    const lines = Math.min(Number(searchParams.get('tailLines')), (last - since) / 1000 + 1);
    const begin = Math.max(0, log.length - Math.max(0, lines) * LINE_BYTES);
    const end = Math.min(log.length, begin + Number(searchParams.get('limitBytes')));
    seen.begun += 1;
    seen.open += 1;
    seen.mostOpen = Math.max(seen.mostOpen, seen.open);
    let isWhole = false;
    try {
      for (let at = begin; at < end; at += PIECE) {
        await (source.hold?.() ?? new Promise((resolve) => setImmediate(resolve)));
        signal?.throwIfAborted();
        const piece = Buffer.from(log.subarray(at, Math.min(at + PIECE, end)));
        seen.bytes += piece.length;
        yield piece;
      }
      isWhole = true;
    } finally {
      seen.open -= 1;
      if (!isWhole) seen.left += 1;
    }
  }

  const { withToken } = facade.kube;
  facade.kube.withToken = (token) => ({ ...withToken(token), stream });
  return source;
}

function aPod(uid: string, n: number, containers: number): KubeObject {
  const status = {
    containerStatuses: Array.from({ length: containers }, (_, c) => ({ name: `c${c}`, containerID: 'x' })),
  };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `shop-${n}`,
      namespace: TENANT.namespace,
      labels: {
        'davit.dev/deployment': 'shop',
        'davit.dev/deployment-uid': uid,
        'davit.dev/component': 'server',
        'davit.dev/revision': uid,
      },
    },
    status,
  } as KubeObject;
}

export interface Cost {
  readonly mebibytes: number;
  readonly lagMs: number;
  /** As lagMs, in processor time of this thread, which other programs on the machine do not lengthen. */
  readonly busyMs: number;
}

/** What `work` costs this process: memory that it grew by at most, and how long the event loop stood still at most. */
export async function costOf(work: () => Promise<unknown>): Promise<Cost> {
  const before = process.memoryUsage.rss();
  let peak = before;
  const sample = setInterval(() => (peak = Math.max(peak, process.memoryUsage.rss())), 5);
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  let busyMs = 0;
  let last = process.threadCpuUsage();
  const tick = setInterval(() => {
    const now = process.threadCpuUsage();
    busyMs = Math.max(busyMs, (now.user + now.system - last.user - last.system) / 1000);
    last = now;
  }, 1);
  await work();
  // The last standstill is told by the tick after it.
  await new Promise((resolve) => setTimeout(resolve, 20));
  delay.disable();
  clearInterval(sample);
  clearInterval(tick);
  peak = Math.max(peak, process.memoryUsage.rss());
  return { mebibytes: (peak - before) / 1024 / 1024, lagMs: delay.max / 1e6, busyMs };
}
