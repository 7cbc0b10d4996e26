// What no single record can show: whether one record's trouble is another's (I10), and whether anything grows (I12).

import { readdir, readFile, readlink } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster } from '../../cluster/cluster.ts';
import { meddlerOf } from './interference.ts';
import type { Violation } from './invariants.ts';
import type { Census, Seen } from './object-history.ts';
import { namesOf, openStation, type Station } from './steady-controller.ts';
import { childIn, RECORD, type Scene, until } from './workloads/stage.ts';

export interface Trial {
  readonly name: string;
  /** Whether it measures times, which other runs would disturb. */
  readonly alone: boolean;
  run(
    cluster: Cluster,
    census: Census,
  ): Promise<{ readonly figures: string; readonly violations: readonly Violation[] }>;
}

const MERGE = 'application/merge-patch+json';

export function trialsOf(quick: boolean): readonly Trial[] {
  return [isolation(quick ? 12 : 40, quick ? 500 : 250), churn(quick ? 3 : 9, quick ? 6 : 15)];
}

const POISONED = 5;
const WARM_UP = 5;

/**
 * Reactions in a calm, beside neighbours that are refused, changed without pause, or almost a megabyte, and beside as many
 * changes of objects as large that are none of Davit's: those take a share of the API server too, and it is no record's
 * trouble that they do. Below `floorMs` a difference is the machine's.
 */
function isolation(reactions: number, floorMs: number): Trial {
  return {
    name: 'isolation',
    alone: true,
    async run(cluster, census) {
      const station = await openStation(cluster, census, `isolation-${process.pid}`);
      const { scene } = station;
      try {
        await station.make([RECORD, 'loud']);
        const calm: Reaction[] = [];
        const poisoned: Reaction[] = [];
        const beside: Reaction[] = [];
        const monster = meddlerOf({ kind: 'monster' });
        await monster.before?.(scene);
        await makeBad(scene);
        // The first ones are slow in any arm: nothing is compiled yet.
        for (let index = 0; index < WARM_UP; index += 1) await react(station);
        for (const arm of [calm, beside, poisoned, calm, poisoned, beside]) {
          const isOver = new AbortController();
          const poison = arm === calm ? Promise.resolve() : changeWithoutPause(scene, isOver.signal, arm === poisoned);
          if (arm !== calm) await sleep(500);
          for (let index = 0; index < reactions / 2; index += 1) arm.push(await react(station));
          isOver.abort();
          await poison;
          await sleep(500);
        }
        await monster.cleanUp?.(scene);
        const [slow = 0, loud = 0, slowest = 0] = [calm, beside, poisoned].map((arm) => p99(arm.map(({ ms }) => ms)));
        const figures = [
          `p99 of ${reactions} reactions each: calm ${slow} ms, beside changes that are none of Davit's ${loud} ms, beside poisoned records ${slowest} ms`,
          `calm: ${parts(calm)}`,
          `none of Davit's: ${parts(beside)}`,
          `poisoned: ${parts(poisoned)}`,
        ].join('\n  ');
        const broken = slowest > Math.max(floorMs, 2 * slow, 2 * loud);
        return { figures, violations: broken ? [{ invariant: 'I10 isolation', what: figures }] : [] };
      } finally {
        await station.close();
      }
    },
  };
}

interface Reaction {
  readonly ms: number;
  /** Until the deletion was told, from then until the controller asked for the child, from then until it was back. */
  readonly parts: readonly [told: number, asked: number, back: number];
}

/** A child is deleted: how long until it is back. */
async function react({ scene, proxy }: Station): Promise<Reaction> {
  const name = `${RECORD}--redis`;
  const before = childIn(scene, 'NetworkPolicy', name);
  const from = performance.now();
  const path = `/apis/networking.k8s.io/v1/namespaces/${scene.namespace}/networkpolicies/${name}`;
  await scene.api.call('DELETE', path);
  const uid = before?.metadata.uid;
  let now: Seen | undefined;
  await until(scene, 'the policy is back', () => {
    now = childIn(scene, 'NetworkPolicy', name);
    return now !== undefined && now.metadata.uid !== uid;
  });
  const history = scene.census.history(scene.namespace);
  const back = history.find(({ object }) => object.metadata.uid === now?.metadata.uid)?.at ?? performance.now();
  const told = history.find(({ object, gone }) => gone && object.metadata.uid === uid)?.at ?? from;
  const asked =
    proxy.trace.writes.findLast(({ label }) => label.includes(`apply networkpolicies ${name}#`))?.at ?? told;
  return { ms: back - from, parts: [told - from, asked - told, back - asked] };
}

/** In words, the median and the worst of each part. */
function parts(reactions: readonly Reaction[]): string {
  const [told, asked, back] = ([0, 1, 2] as const).map((index) => {
    const sorted = reactions.map((one) => one.parts[index]).toSorted((a, b) => a - b);
    const median = sorted[Math.floor(sorted.length / 2)] ?? 0;
    return `${Math.round(median)} to ${Math.round(sorted.at(-1) ?? 0)} ms`;
  });
  return `told ${told}, asked for ${asked}, back ${back}`;
}

const BAD = namesOf('bad', POISONED);

/** Records whose Service is somebody else's, and ConfigMaps as large as they. */
async function makeBad({ api, namespace }: Scene): Promise<void> {
  const records = `/apis/davit.dev/v1alpha1/namespaces/${namespace}/appdeployments`;
  for (const name of [...BAD, 'loud', 'monster']) {
    const text = 'x'.repeat(name === 'monster' ? 800_000 : 8000);
    await api.ensure(`/api/v1/namespaces/${namespace}/configmaps`, { metadata: { name }, data: { text } });
  }
  for (const name of BAD) {
    await api.ensure(`/api/v1/namespaces/${namespace}/services`, {
      metadata: { name },
      spec: { ports: [{ port: 1 }] },
    });
    await api.ensure(records, {
      apiVersion: 'davit.dev/v1alpha1',
      kind: 'AppDeployment',
      metadata: { name },
      spec: { source: 'external_docker', sourceRevisionConfig: { imageUri: 'registry.example/bad:1' } },
    });
  }
}

/** The bad records, one that is well and a monster, or as many ConfigMaps, are changed without pause. */
async function changeWithoutPause({ api, namespace }: Scene, signal: AbortSignal, areRecords: boolean): Promise<void> {
  const collection = areRecords
    ? `/apis/davit.dev/v1alpha1/namespaces/${namespace}/appdeployments`
    : `/api/v1/namespaces/${namespace}/configmaps`;
  for (let count = 0; !signal.aborted; count += 1) {
    const storm = { metadata: { annotations: { 'example.com/storm': String(count) } } };
    // The large one seldom: it is the controller that is measured here, not the API server.
    const names = [...BAD, 'loud', ...(count % 10 === 0 ? ['monster'] : [])];
    const paths = names.map((name) => `${collection}/${name}`);
    await Promise.all(paths.map((path) => api.call('PATCH', path, storm, MERGE).catch(() => undefined)));
    await sleep(100);
  }
}

function p99(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return Math.round(sorted[Math.ceil(sorted.length * 0.99) - 1] ?? 0);
}

interface Held {
  readonly megabytes: number;
  readonly descriptors: number;
  readonly sockets: number;
}

/** What a heap that is collected when it likes may differ by, in megabytes. */
const HEAP_NOISE_MB = 40;
/** Connections that are kept open for a while after a burst. */
const KEPT_ALIVE = 34;

/** Records come and go; what the process holds after each round is what it held after the first third. */
function churn(rounds: number, records: number): Trial {
  return {
    name: 'churn',
    alone: false,
    async run(cluster, census) {
      const station = await openStation(cluster, census, `churn-${process.pid}`);
      try {
        const held: Held[] = [];
        for (let round = 0; round < rounds; round += 1) {
          const names = namesOf(`round-${round}`, records);
          await station.make(names);
          await station.remove(names);
          held.push(await heldBy(station));
        }
        const early = held.slice(0, Math.ceil(rounds / 3));
        const late = held.slice(-Math.ceil(rounds / 3));
        const figures = `after ${rounds} × ${records} records: ${say(early.at(-1))}, then ${say(late.at(-1))}`;
        return { figures, violations: growth(early, late).map((what) => ({ invariant: 'I12 bounded', what })) };
      } finally {
        await station.close();
      }
    },
  };
}

function growth(early: readonly Held[], late: readonly Held[]): string[] {
  const most = (held: readonly Held[], of: keyof Held): number => Math.max(...held.map((one) => one[of]));
  const allowed: Readonly<Record<keyof Held, number>> = {
    megabytes: most(early, 'megabytes') * 1.25 + HEAP_NOISE_MB,
    descriptors: most(early, 'descriptors') + KEPT_ALIVE,
    sockets: most(early, 'sockets') + KEPT_ALIVE,
  };
  return (['megabytes', 'descriptors', 'sockets'] as const)
    .filter((of) => most(late, of) > allowed[of])
    .map((of) => `${of}: ${most(early, of)} early on, ${most(late, of)} at the end`);
}

function say(held: Held | undefined): string {
  return held ? `${held.megabytes} MB, ${held.descriptors} descriptors, ${held.sockets} sockets` : 'nothing';
}

/** From /proc: this is measured on Linux alone. */
async function heldBy({ cast }: Station): Promise<Held> {
  const pid = cast.pid('a') ?? 0;
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  const kilobytes = Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0);
  const descriptors = await readdir(`/proc/${pid}/fd`).catch(() => []);
  const targets = await Promise.all(descriptors.map((fd) => readlink(`/proc/${pid}/fd/${fd}`).catch(() => '')));
  return {
    megabytes: Math.round(kilobytes / 1024),
    descriptors: descriptors.length,
    sockets: targets.filter((target) => target.startsWith('socket:')).length,
  };
}
