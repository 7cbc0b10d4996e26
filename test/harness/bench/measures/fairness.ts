// P10: how long one tenant waits for one deployment while another makes thousands.

import { setTimeout as sleep } from 'node:timers/promises';
import { countsOf } from '../children.ts';
import { davit } from '../contenders/davit.ts';
import { type Figure, type Goal, median, ratios, rounded } from '../figures.ts';
import { createRecords } from '../load.ts';
import type { Bench, BenchServer, Measure } from '../measure.ts';
import { recordIn } from '../records.ts';
import { watchChildren } from '../watched-children.ts';

const goal: Goal = { atMost: 2 };
const BUSY = 'bench-busy';
const CALM = 'bench-calm';
/** To the records of other measures as 5,000 to 1,000. */
const TIMES_RECORDS = 5;
/** Creations of the calm tenant, before and meanwhile: one alone would be chance. */
const TRIES = 5;
const BETWEEN_MS = 500;
/** As a client with a loop or two makes them. More at once would keep the API server busy without any controller. */
const FLOOD_AT_ONCE = 4;

export const fairness: Measure = { key: 'P10', goal, run };

async function run(bench: Bench): Promise<readonly Figure[]> {
  const records = bench.records * TIMES_RECORDS;
  const arm = davit(bench);
  await arm.prepare?.(bench.say);
  return bench.onFreshServer({ tenants: [BUSY, CALM] }, async (server) => {
    const running = await arm.start(server);
    try {
      const calm = await waits(server, 0);
      const flood = Array.from({ length: records }, (_, index) => recordIn(BUSY, index));
      let flooding = true;
      const flooded = createRecords(server.cluster, flood, FLOOD_AT_ONCE).finally(() => {
        flooding = false;
      });
      flooded.catch(() => undefined);
      await sleep(BETWEEN_MS);
      const busy = await waits(server, TRIES);
      bench.say(
        `  calm ${calm.map(Math.round).join(', ')} ms; while ${records} are made ${busy.map(Math.round).join(', ')} ms`,
      );
      const stillBusy = flooding ? 'yes' : 'its backlog alone';
      await flooded;
      return [
        {
          key: 'P10',
          goal,
          samples: ratios(
            busy,
            busy.map(() => median(calm)),
          ),
          absolutes: { records, calmMs: rounded(median(calm)), busyMs: rounded(median(busy)), stillMade: stillBusy },
        },
      ];
    } finally {
      await running.stop();
    }
  });
}

/** From before the POST of one record until all of its children were there, some times. */
async function waits(server: BenchServer, from: number): Promise<number[]> {
  const each: number[] = [];
  for (let index = from; index < from + TRIES; index += 1) {
    each.push(await waitForOne(server, index));
    await sleep(BETWEEN_MS);
  }
  return each;
}

async function waitForOne(server: BenchServer, index: number): Promise<number> {
  const expected = countsOf(server.rendering);
  const record = recordIn(CALM, index);
  const children = await watchChildren(server.cluster, expected.keys(), {
    namespace: CALM,
    deployment: record.metadata.name,
  });
  try {
    const begin = performance.now();
    await createRecords(server.cluster, [record]);
    const { last } = await children.until(expected);
    return last - begin;
  } finally {
    children.close();
  }
}
