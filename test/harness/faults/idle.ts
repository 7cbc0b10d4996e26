// `npm run faults -- --idle [--minutes 10] [--records 200]`: what a controller with nothing to do asks of the API server.

import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster } from '../../cluster/cluster.ts';
import type { Census } from './object-history.ts';
import type { Trace } from './proxy/trace.ts';
import { namesOf, openStation } from './steady-controller.ts';

/** After the last record is ready, until its last status has been written. */
const SETTLING_MS = 15_000;

export interface Idle {
  readonly records: number;
  readonly minutes: number;
  /** Of anything but the lease. */
  readonly writes: number;
  readonly reads: number;
  readonly lists: number;
  /** Watches that were reopened: the API server ends each after five to ten minutes. */
  readonly watches: number;
  readonly leaseRequests: number;
  readonly what: readonly string[];
}

export async function measureIdle(
  cluster: Cluster,
  census: Census,
  { records, minutes, say }: { records: number; minutes: number; say: (line: string) => void },
): Promise<Idle> {
  const station = await openStation(cluster, census, `idle-${process.pid}`);
  try {
    const begin = performance.now();
    await station.make(namesOf('shop', records));
    say(`${records} records are ready after ${Math.round((performance.now() - begin) / 1000)} s`);
    await sleep(SETTLING_MS);
    const { trace } = station.proxy;
    const before = countsOf(trace);
    for (let minute = 1; minute <= minutes; minute += 1) {
      await sleep(60_000);
      say(`minute ${minute}: ${JSON.stringify(difference(before, countsOf(trace)))}`);
    }
    const counted = difference(before, countsOf(trace));
    const what = trace.writes.slice(before.named).map(({ label }) => label);
    return { records, minutes, ...counted, what };
  } finally {
    await station.close();
  }
}

interface Counts extends Pick<Idle, 'writes' | 'reads' | 'lists' | 'watches' | 'leaseRequests'> {
  readonly named: number;
}

function countsOf({ writes, events, requests, lists, watches, leases }: Trace): Counts {
  const written = writes.length + events;
  return {
    writes: written,
    reads: requests - written,
    lists,
    watches,
    leaseRequests: leases,
    named: writes.length,
  };
}

function difference(before: Counts, { writes, reads, lists, watches, leaseRequests }: Counts): Omit<Counts, 'named'> {
  return {
    writes: writes - before.writes,
    reads: reads - before.reads,
    lists: lists - before.lists,
    watches: watches - before.watches,
    leaseRequests: leaseRequests - before.leaseRequests,
  };
}
