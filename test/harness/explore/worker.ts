// One bound in a process of its own, so that both cores are used, and a seeded bug is in one of them alone.

import type { Bound } from './bound.ts';
import { BOUNDS } from './bounds.ts';
import { type Found, search } from './search.ts';
import { WAKE_BOUNDS } from './wakes/bounds.ts';
import { rerun, walkAll } from './wakes/walk.ts';

export interface Task {
  readonly bound: string;
  readonly depth: number;
  readonly states: number;
  readonly seconds: number;
  /** Stop at the first violation. */
  readonly first?: boolean;
  /** Random sequences that are driven by wakes, `states` of them from this seed on, and not every interleaving. */
  readonly wakesFrom?: number;
  /** These labels alone, driven by wakes. */
  readonly way?: readonly string[];
}

function named(name: string, bounds: readonly Bound[]): Bound {
  const bound = bounds.find((one) => one.name === name);
  if (!bound) throw new Error(`no bound is called ${name}: ${bounds.map((one) => one.name).join(', ')}`);
  return bound;
}

async function wakes(
  { bound: name, states, seconds, first = false, wakesFrom }: Task,
  say: (line: string) => void,
): Promise<Found> {
  const bound = named(name, WAKE_BOUNDS);
  const deadline = Date.now() + seconds * 1000;
  const options = { walks: states, first, isOver: () => Date.now() > deadline, ...(wakesFrom && { from: wakesFrom }) };
  const { walks, passes, violations } = await walkAll(bound, options, say);
  return { states: walks, transitions: passes, depth: 0, sequences: 0, complete: false, violations, counts: {} };
}

async function oneWay({ bound: name }: Task, way: readonly string[]): Promise<Found> {
  const bound = named(name, WAKE_BOUNDS);
  const { broken, taken } = await rerun(bound, way);
  const violations = broken.map((one) => ({ ...one, bound: name, events: taken, afterwards: [] }));
  return { states: 1, transitions: taken.length, depth: 0, sequences: 0, complete: false, violations, counts: {} };
}

async function interleavings(task: Task, onProgress: (line: string) => void): Promise<Found> {
  return search(named(task.bound, BOUNDS), { ...task, deadline: Date.now() + task.seconds * 1000, onProgress });
}

process.once('message', async (task: Task) => {
  const say = (line: string): void => void process.send?.({ line });
  const { way, wakesFrom } = task;
  const found = way
    ? await oneWay(task, way)
    : await (wakesFrom === undefined ? interleavings(task, say) : wakes(task, say));
  const { user, system } = process.cpuUsage();
  const MiB = Math.round(process.resourceUsage().maxRSS / 1024);
  process.send?.({ found, MiB, cpuSeconds: Math.round((user + system) / 1e6) }, () => process.disconnect());
});
