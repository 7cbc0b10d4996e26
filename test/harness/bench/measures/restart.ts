// P6: memory with many records and their children cached; P7: how long a restart takes until it is ready to act. Both from
// one run: each arm fills a server, ends, and is started again on what it has made.

import { setTimeout as sleep } from 'node:timers/promises';
import { countsOf } from '../children.ts';
import { davit } from '../contenders/davit.ts';
import { type Figure, type Goal, ratios, rounded } from '../figures.ts';
import { atRest, type Filled, requestsOf } from '../fill.ts';
import { createRecords } from '../load.ts';
import type { Arm, Bench, BenchServer, Measure, Running, ServerOptions } from '../measure.ts';
import { oncePerBench } from '../once.ts';
import { checkPeer } from '../peers/check.ts';
import { controllerRuntime } from '../peers/controller-runtime.ts';
import { cpuMs, rssMiB } from '../processes.ts';
import { recordsOf, tenantsOf } from '../records.ts';
import { since, total } from '../server-counts.ts';
import { watchChildren } from '../watched-children.ts';

const goal: Goal = { atMost: 1 };
/** Of what was asked for: 10,000 in a whole run. */
const MANY_TIMES = 10;
/** A process counts as idle when it takes less than this share of one processor, twice in a row. */
const IDLE_SHARE = 0.05;
const LOOKS_EVERY_MS = 2000;
const IDLE_WITHIN_MS = 600_000;

export const memory: Measure = { key: 'P6', goal, run: measureMemory };
export const restart: Measure = { key: 'P7', goal, run: measureRestart };

export interface Restarted {
  /** Records and children, each once. */
  readonly objects: number;
  /** Of the first process, which made everything. */
  readonly filled: Pick<Filled, 'wallMs' | 'rssMiB'>;
  /** From the start of the second process. */
  readonly readyMs: number;
  readonly readyCpuMs: number;
  /** Of the second process until it was at rest. */
  readonly writes: number;
  /** Of the second process, at rest. */
  readonly rssMiB: number;
}

interface Both {
  readonly records: number;
  readonly ours: Restarted;
  readonly theirs: Restarted;
}

/** Both measures come from what takes the better part of an hour. */
export const bothOf = oncePerBench(take);

/** As many records as there are in both measures. */
export function manyOf({ records, quick }: Bench): number {
  return records * (quick ? 1 : MANY_TIMES);
}

async function take(bench: Bench): Promise<Both> {
  const { workers } = bench;
  const records = manyOf(bench);
  const [us, peer] = [davit(bench), controllerRuntime({ workers })];
  await checkPeer(bench, peer);
  const ours = await restarted(bench, us, records, { manyServices: true });
  const theirs = await restarted(bench, peer, records, { manyServices: true });
  return { records, ours, theirs };
}

/** Fills a fresh server with `arm`, ends it, and starts it again on what it has made. */
export async function restarted(
  bench: Bench,
  arm: Arm,
  records: number,
  on: Omit<ServerOptions, 'tenants'> = {},
): Promise<Restarted> {
  await arm.prepare?.(bench.say);
  return bench.onFreshServer({ tenants: tenantsOf(records), ...on }, async (server) => {
    await createRecords(server.cluster, recordsOf(records));
    const filled = await filledBy(bench, arm, server, records);
    bench.say(`  ${arm.name}: ${records} records made; starting it again`);
    const before = await requestsOf(server);
    const running = await arm.start(server);
    try {
      const readyCpuMs = await cpuMs(running.pid);
      // A look at every record takes it a while, and a write would come at the end of one.
      await untilIdle(running);
      const writes = total(since(before, await atRest(bench, server)).writes);
      const rss = await rssMiB(running.pid);
      const objects = records * (1 + total(countsOf(server.rendering)));
      bench.say(
        `  ${arm.name}: ready after ${(running.readyMs / 1000).toFixed(2)} s, ${writes} writes, ` +
          `${Math.round(rss)} MiB, ${((rss * 1024) / objects).toFixed(1)} kB an object`,
      );
      return { objects, filled, readyMs: running.readyMs, readyCpuMs, writes, rssMiB: rss };
    } finally {
      await running.stop();
    }
  });
}

async function untilIdle({ pid }: Running): Promise<void> {
  const end = performance.now() + IDLE_WITHIN_MS;
  let before = await cpuMs(pid);
  for (let idle = 0; idle < 2; ) {
    if (performance.now() > end) throw new Error(`it is not idle ${IDLE_WITHIN_MS / 60_000} minutes after its restart`);
    await sleep(LOOKS_EVERY_MS);
    const now = await cpuMs(pid);
    idle = now - before < LOOKS_EVERY_MS * IDLE_SHARE ? idle + 1 : 0;
    before = now;
  }
}

async function filledBy(bench: Bench, arm: Arm, server: BenchServer, records: number): Promise<Restarted['filled']> {
  const perRecord = countsOf(server.rendering);
  const children = await watchChildren(server.cluster, perRecord.keys());
  const running = await arm.start(server);
  try {
    const { first, last } = await children.until(
      new Map([...perRecord].map(([kind, count]) => [kind, count * records])),
    );
    await atRest(bench, server);
    return { wallMs: last - first, rssMiB: await rssMiB(running.pid) };
  } finally {
    children.close();
    await running.stop();
  }
}

async function measureMemory(bench: Bench): Promise<readonly Figure[]> {
  const { records, ours, theirs } = await bothOf(bench);
  const of = (arm: string, { rssMiB: rss, filled, objects }: Restarted): Record<string, number> => ({
    [`${arm}RssMiB`]: rounded(rss),
    [`${arm}KBPerObject`]: rounded((rss * 1024) / objects),
    [`${arm}RssMiBAfterFilling`]: rounded(filled.rssMiB),
  });
  return [
    {
      key: 'P6',
      goal,
      samples: ratios([ours.rssMiB], [theirs.rssMiB]),
      absolutes: { records, ...of('davit', ours), ...of('controller-runtime', theirs) },
    },
  ];
}

async function measureRestart(bench: Bench): Promise<readonly Figure[]> {
  const { records, ours, theirs } = await bothOf(bench);
  const of = (arm: string, { readyMs, readyCpuMs, writes }: Restarted): Record<string, number> => ({
    [`${arm}ReadyS`]: rounded(readyMs / 1000),
    [`${arm}ReadyCpuS`]: rounded(readyCpuMs / 1000),
    [`${arm}Writes`]: writes,
  });
  const absolutes = { records, ...of('davit', ours), ...of('controller-runtime', theirs) };
  if (ours.writes > 0)
    return [{ key: 'P7', goal, why: `Davit wrote ${ours.writes} times where nothing had changed`, absolutes }];
  return [{ key: 'P7', goal, samples: ratios([ours.readyMs], [theirs.readyMs]), absolutes }];
}
