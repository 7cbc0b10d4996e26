// P5: how long a change takes to reach its child while changes come at a steady rate.

import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiObject } from '../../../cluster/api-client.ts';
import type { Cluster } from '../../../cluster/cluster.ts';
import { countsOf } from '../children.ts';
import { davit } from '../contenders/davit.ts';
import { type Figure, type Goal, median, quantile, ratios } from '../figures.ts';
import { atRest } from '../fill.ts';
import { createRecords, recordsPath } from '../load.ts';
import type { Arm, Bench, Measure } from '../measure.ts';
import { checkPeer } from '../peers/check.ts';
import { controllerRuntime } from '../peers/controller-runtime.ts';
import { cpuMs } from '../processes.ts';
import { type BareRecord, recordsOf, tenantsOf } from '../records.ts';
import { watchChildren } from '../watched-children.ts';

const goal: Goal = { atMost: 1 };
const RECORDS = 200;
/** Well below what any arm can do: waiting in a queue is not what is measured. */
const CHANGES_PER_S = 5;
const SECONDS = 60;
const QUICK_SECONDS = 10;
const MOST_REPEATS = 3;
const ARRIVED_WITHIN_MS = 60_000;

export const changes: Measure = { key: 'P5', goal, run };

interface Latencies {
  /** From the moment in which the change is sent until the changed child is seen; in ms, one for each change. */
  readonly samples: readonly number[];
  readonly cpuMsPerChange: number;
}

async function run(bench: Bench): Promise<readonly Figure[]> {
  const { workers } = bench;
  const peer = controllerRuntime({ workers });
  await checkPeer(bench, peer);
  await davit({ workers }).prepare?.(bench.say);
  const ours: Latencies[] = [];
  const theirs: Latencies[] = [];
  for (let repeat = 0; repeat < repeatsOf(bench); repeat += 1) {
    const pairs = [[davit({ workers }), ours] as const, [peer, theirs] as const];
    for (const [arm, into] of repeat % 2 === 0 ? pairs : pairs.toReversed()) {
      const taken = await latenciesOf(bench, arm, Math.min(RECORDS, bench.records), secondsOf(bench));
      into.push(taken);
    }
  }
  const at = (share: number, all: readonly Latencies[]): number[] => all.map(({ samples }) => quantile(samples, share));
  return [
    {
      key: 'P5',
      goal,
      samples: ratios(at(0.99, ours), at(0.99, theirs)),
      absolutes: {
        records: Math.min(RECORDS, bench.records),
        changesPerS: CHANGES_PER_S,
        seconds: secondsOf(bench),
        p50Ratio: median(ratios(at(0.5, ours), at(0.5, theirs))),
        ...absolutesOf('davit', ours),
        ...absolutesOf(peer.name, theirs),
      },
    },
  ];
}

function absolutesOf(arm: string, all: readonly Latencies[]): Record<string, number> {
  const of = (share: number): number => Math.round(median(all.map(({ samples }) => quantile(samples, share))));
  return {
    [`${arm}P50Ms`]: of(0.5),
    [`${arm}P99Ms`]: of(0.99),
    [`${arm}CpuMsPerChange`]: Math.round(median(all.map(({ cpuMsPerChange }) => cpuMsPerChange))),
  };
}

function repeatsOf({ repeats }: Bench): number {
  return Math.min(MOST_REPEATS, repeats);
}

function secondsOf({ quick }: Bench): number {
  return quick ? QUICK_SECONDS : SECONDS;
}

/** Of an arm that has filled a fresh server with `records`, for so many seconds of changes. */
export async function latenciesOf(bench: Bench, arm: Arm, records: number, seconds: number): Promise<Latencies> {
  return bench.onFreshServer({ tenants: tenantsOf(records) }, async (server) => {
    await createRecords(server.cluster, recordsOf(records));
    const perRecord = countsOf(server.rendering);
    const children = await watchChildren(server.cluster, perRecord.keys());
    const running = await arm.start(server);
    try {
      await children.until(new Map([...perRecord].map(([kind, count]) => [kind, count * records])));
      await atRest(bench, server);
      const before = await cpuMs(running.pid);
      const [samples = []] = await steadily({
        cluster: server.cluster,
        records: recordsOf(records),
        perS: CHANGES_PER_S,
        seconds,
        sights: [childrenOn(server.cluster)],
      });
      const cpuMsPerChange = ((await cpuMs(running.pid)) - before) / samples.length;
      const [p50, p99] = [quantile(samples, 0.5), quantile(samples, 0.99)].map(Math.round);
      bench.say(`  ${arm.name}: p50 ${p50} ms, p99 ${p99} ms of ${samples.length} changes`);
      return { samples, cpuMsPerChange };
    } finally {
      children.close();
      await running.stop();
    }
  });
}

interface Workload extends ApiObject {
  readonly spec: {
    readonly template: { readonly spec: { readonly containers: readonly { readonly image: string }[] } };
  };
}

/** Where a change is seen. */
export interface Sight {
  readonly cluster: Cluster;
  readonly path: string;
  readonly imageOf: (object: never) => string | undefined;
}

export function childrenOn(cluster: Cluster): Sight {
  const imageOf = ({ spec }: Workload): string | undefined => spec.template.spec.containers[0]?.image;
  return { cluster, path: '/apis/apps/v1/deployments', imageOf };
}

export interface Changing {
  /** Where the records are. */
  readonly cluster: Cluster;
  readonly records: readonly BareRecord[];
  readonly perS: number;
  readonly seconds: number;
  /** How many changes these records have had. */
  readonly had?: number;
  /** Where each change is looked for; at the last one all must arrive. */
  readonly sights: readonly Sight[];
}

/**
 * One change after the other of one record after the other, on the beat whatever becomes of those before. Returns for each
 * sight how many ms after it was sent each change was seen there.
 */
export async function steadily({
  cluster,
  records,
  perS,
  seconds,
  had = 0,
  sights,
}: Changing): Promise<readonly (readonly number[])[]> {
  const over = new AbortController();
  const looks = sights.map((sight) => ({ ...sight, sent: new Map<string, number>(), samples: [] as number[] }));
  await Promise.all(
    looks.map(({ cluster: where, path, imageOf, sent, samples }) =>
      where.api.follow(path, over.signal, (object) => {
        const image = imageOf(object as never) ?? '';
        const since = sent.get(image);
        if (since === undefined) return;
        sent.delete(image);
        samples.push(performance.now() - since);
      }),
    ),
  );
  const count = seconds * perS;
  const begin = performance.now();
  // Of one record a change is written after the one before: a serial may only be raised.
  const writes = new Map<string, Promise<unknown>>();
  let failed: Error | undefined;
  try {
    for (let index = 0; index < count; index += 1) {
      await sleep(Math.max(0, begin + (index * 1000) / perS - performance.now()));
      const nth = had + index;
      const { namespace, name } = records[nth % records.length]?.metadata ?? { namespace: '', name: '' };
      const imageUri = `registry.example/${name}:${nth}-changed`;
      const spec = { sourceRevisionConfig: { imageUri }, revisionSerial: 2 + Math.floor(nth / records.length) };
      const now = performance.now();
      for (const { sent } of looks) sent.set(imageUri, now);
      const path = `${recordsPath(namespace)}/${name}`;
      const change = (): Promise<unknown> => cluster.api.call('PATCH', path, { spec }, 'application/merge-patch+json');
      const fail = (error: unknown): void => {
        failed ??= error instanceof Error ? error : new Error(String(error));
      };
      writes.set(path, (writes.get(path) ?? Promise.resolve()).then(change).catch(fail));
    }
    await Promise.all(writes.values());
    if (failed !== undefined) throw failed;
    const end = performance.now() + ARRIVED_WITHIN_MS;
    const left = (): number => looks.at(-1)?.sent.size ?? 0;
    while (left() > 0 && performance.now() < end) await sleep(20);
    if (left() > 0) throw new Error(`${left()} of ${count} changes had not reached their child after a minute`);
    return looks.map(({ samples }) => samples);
  } finally {
    over.abort();
  }
}
