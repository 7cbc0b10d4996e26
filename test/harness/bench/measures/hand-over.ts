// P11: how long nobody leads. Two controllers; the one that leads is told to end, or is killed.

import { davit } from '../contenders/davit.ts';
import type { Figure, Goal } from '../figures.ts';
import type { Bench, BenchServer, Measure } from '../measure.ts';

/** The default (src/main/config.ts). */
const LEASE_S = 15;
const gracefulGoal: Goal = { atMost: 2 };
const killedGoal: Goal = { atMost: LEASE_S + 1 };
const LEADS_WITHIN_MS = 120_000;

export const handOver: Measure = { key: 'P11', goal: gracefulGoal, run };

async function run(bench: Bench): Promise<readonly Figure[]> {
  await davit(bench).prepare?.(bench.say);
  return bench.onFreshServer({ tenants: [] }, async (server) => {
    const graceful: number[] = [];
    const killed: number[] = [];
    for (let repeat = 0; repeat < bench.repeats; repeat += 1) {
      graceful.push(await secondsWithout(server, bench, 'SIGTERM'));
      killed.push(await secondsWithout(server, bench, 'SIGKILL'));
      bench.say(`  told to end: ${graceful.at(-1)?.toFixed(2)} s; killed: ${killed.at(-1)?.toFixed(2)} s`);
    }
    return [
      { key: 'P11.graceful', goal: gracefulGoal, samples: graceful, absolutes: { unit: 's' } },
      { key: 'P11.killed', goal: killedGoal, samples: killed, absolutes: { unit: 's', leaseS: LEASE_S } },
    ];
  });
}

/** From the signal to the first until the second acts. */
async function secondsWithout(server: BenchServer, bench: Bench, signal: 'SIGTERM' | 'SIGKILL'): Promise<number> {
  const first = await davit({ ...bench, env: { DAVIT_IDENTITY: 'first' } }).start(server);
  const { promise: leads, resolve } = Promise.withResolvers<number>();
  const second = await davit({
    ...bench,
    env: { DAVIT_IDENTITY: 'second' },
    onLeading: () => resolve(performance.now()),
  }).start(server);
  const patience = setTimeout(() => resolve(Number.NaN), LEADS_WITHIN_MS);
  try {
    const begin = performance.now();
    process.kill(first.pid, signal);
    const seconds = ((await leads) - begin) / 1000;
    if (Number.isNaN(seconds)) throw new Error(`nobody leads ${LEADS_WITHIN_MS / 1000} s after ${signal}`);
    return seconds;
  } finally {
    clearTimeout(patience);
    await second.stop();
    // It has ended as it was told, which `stop` takes for an accident.
    await first.stop().catch(() => undefined);
  }
}
