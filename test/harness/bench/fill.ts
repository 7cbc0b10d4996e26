// One arm fills one fresh server: the records are there, the arm is started, and every child comes into being.

import { setTimeout as sleep } from 'node:timers/promises';
import { countsOf } from './children.ts';
import { createRecords } from './load.ts';
import type { Arm, Bench, BenchServer, ServerOptions } from './measure.ts';
import { cpuMs, rssMiB } from './processes.ts';
import { type BareRecord, recordsOf, tenantsOf } from './records.ts';
import { type Requests, requestsIn, since, total } from './server-counts.ts';
import { watchChildren } from './watched-children.ts';

export interface Filled {
  /** That each record became. */
  readonly children: number;
  /** From the first child to the last one, over all records: the arm's start is not in it. */
  readonly wallMs: number;
  /** From the start of the process until it was ready to act. */
  readonly readyMs: number;
  /** Of the arm's process, from when it was ready until the last child was there. */
  readonly cpuMs: number;
  readonly rssMiB: number;
  /** Of the whole server, from the arm's start until it was at rest. */
  readonly requests: Requests;
  /** After that, for as long as it was left at rest. */
  readonly atRest: Requests;
}

/** So long nothing may be written until an arm counts as done, statuses and all. */
const AT_REST_MS = 3000;
const QUICK_AT_REST_MS = 1000;
const AT_REST_WITHIN_MS = 120_000;

interface Filling extends Omit<ServerOptions, 'tenants'> {
  /** By default what kubectl makes. */
  readonly records?: readonly BareRecord[];
  /** How long the arm is left at rest when it is done. */
  readonly restMs?: number;
}

export async function fill(bench: Bench, arm: Arm, count: number, filling: Filling = {}): Promise<Filled> {
  const { records = recordsOf(count), restMs = 0, ...server } = filling;
  await arm.prepare?.(bench.say);
  return bench.onFreshServer({ tenants: tenantsOf(count), ...server }, (fresh) =>
    fillServer(bench, fresh, arm, records, restMs),
  );
}

async function fillServer(
  bench: Bench,
  server: BenchServer,
  arm: Arm,
  records: readonly BareRecord[],
  restMs: number,
): Promise<Filled> {
  const perRecord = countsOf(server.rendering);
  const expected = new Map([...perRecord].map(([kind, count]) => [kind, count * records.length]));
  await createRecords(server.cluster, records);
  const children = await watchChildren(server.cluster, perRecord.keys());
  const before = await requestsOf(server);
  try {
    const running = await arm.start(server);
    try {
      const cpuAtStart = await cpuMs(running.pid);
      const { first, last } = await children.until(expected);
      const cpu = (await cpuMs(running.pid)) - cpuAtStart;
      const resting = await atRest(bench, server);
      const requests = since(before, resting);
      await sleep(restMs);
      const rest = since(resting, await requestsOf(server));
      return {
        children: total(perRecord),
        wallMs: last - first,
        readyMs: running.readyMs,
        cpuMs: cpu,
        rssMiB: await rssMiB(running.pid),
        requests,
        atRest: rest,
      };
    } finally {
      await running.stop();
    }
  } finally {
    children.close();
  }
}

export async function requestsOf({ cluster }: BenchServer): Promise<Requests> {
  return requestsIn(await cluster.api.read('/metrics'));
}

/** What was asked up to now, as soon as no write comes any more. */
export async function atRest({ quick }: Bench, server: BenchServer): Promise<Requests> {
  const end = performance.now() + AT_REST_WITHIN_MS;
  let seen = await requestsOf(server);
  for (;;) {
    await sleep(quick ? QUICK_AT_REST_MS : AT_REST_MS);
    const now = await requestsOf(server);
    if (since(seen, now).writes.size === 0) return now;
    if (performance.now() > end) throw new Error(`it still writes ${AT_REST_WITHIN_MS / 1000} s after the last child`);
    seen = now;
  }
}
