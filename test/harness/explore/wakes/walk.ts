// Random sequences of events, each by its seed, and the shortest part of one that still breaks the property.

import type { Bound } from '../bound.ts';
import type { Broken } from '../pass-seen.ts';
import type { Violation } from '../search.ts';
import { DAY, REST } from './labels.ts';
import { BEHIND, CRASH, type LiveWorld, makeLiveWorld } from './world.ts';

export interface Walked {
  readonly violations: readonly Violation[];
  readonly walks: number;
  readonly passes: number;
}

export interface WalkOptions {
  readonly from?: number;
  readonly walks: number;
  /** Whether the first violation ends it. */
  readonly first?: boolean;
  readonly isOver?: () => boolean;
}

/** As many acts of people and troubles as a walk has at most. */
const MOST_ACTS = 7;
const MOST_BETWEEN = 8;

/** The same numbers from 0 to 1 for the same seed (mulberry32). */
function numbersFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** The labels of the walk with this seed, as far as it came, and what was broken at its end. */
async function walk(bound: Bound, seed: number, count: (world: LiveWorld) => void): Promise<[string[], Broken[]]> {
  const random = numbersFrom(seed);
  const pick = <One>(of: readonly One[]): One | undefined => of[Math.floor(random() * of.length)];
  const world = await makeLiveWorld(bound);
  const taken: string[] = [];
  const take = async (label: string | undefined): Promise<void> => {
    if (label !== undefined && world.broken.length === 0 && (await world.take(label))) taken.push(label);
  };
  await take(REST);
  const acts = 1 + Math.floor(random() * MOST_ACTS);
  for (let act = 0; act < acts && world.broken.length === 0; act += 1) {
    const before = await world.labels();
    await take(pick(before.acts));
    const how = random();
    if (how < 0.15) await take(before.woken.length > 0 ? `${pick(before.woken)}${BEHIND}` : undefined);
    else if (how < 0.5) await take(REST);
    for (let left = how < 0.5 ? 0 : random() * MOST_BETWEEN; left > 0; left -= 1) {
      const { woken, calm } = await world.labels();
      const next = pick([...woken, ...calm]);
      const isCrash = next !== undefined && woken.includes(next) && random() < 0.05;
      await take(isCrash ? `${next}${CRASH}` : next);
    }
  }
  await take(REST);
  await take(DAY);
  world.stop();
  count(world);
  return [taken, [...world.broken]];
}

/** What is broken after these labels; those that are not possible are left out. */
export async function rerun(
  bound: Bound,
  labels: readonly string[],
  say: (line: string) => void = () => undefined,
): Promise<{ readonly broken: readonly Broken[]; readonly taken: readonly string[] }> {
  const world = await makeLiveWorld(bound, say);
  const taken: string[] = [];
  for (const label of labels) {
    if (world.broken.length > 0) break;
    say(`> ${label}`);
    if (!(await world.take(label))) continue;
    taken.push(label);
  }
  world.stop();
  return { broken: [...world.broken], taken };
}

/** Without each part, from half of it to single labels, that the violation does not need. */
async function shrink(bound: Bound, labels: readonly string[], property: string): Promise<readonly string[]> {
  let shortest = labels;
  for (let size = Math.ceil(labels.length / 2); size > 0; size = size === 1 ? 0 : Math.ceil(size / 2))
    for (let from = 0; from < shortest.length; ) {
      const tried = shortest.filter((_label, at) => at < from || at >= from + size);
      const { broken, taken } = await rerun(bound, tried.length === shortest.length ? [] : tried);
      if (broken[0]?.property === property) shortest = taken;
      else from += size;
    }
  return shortest;
}

/** The events of violations once more, with what each pass wrote. Whether nothing is broken. */
export async function replayWakes(
  violations: readonly Violation[],
  bounds: readonly Bound[],
  say: (line: string) => void,
): Promise<boolean> {
  let holds = true;
  for (const { bound: name, property, events } of violations) {
    const bound = bounds.find((one) => one.name === name);
    if (!bound) throw new Error(`no bound is called ${name}`);
    say(`${name}: ${property}`);
    const { broken } = await rerun(bound, events, say);
    for (const one of broken) say(`    BROKEN ${one.property}: ${one.message}`);
    if (broken.length > 0) holds = false;
  }
  say(holds ? 'No property is broken.' : 'At least one property is broken.');
  return holds;
}

/** Each kind of violation is kept once, with the shortest sequence found. */
export async function walkAll(
  bound: Bound,
  { from = 0, walks, first = false, isOver = () => false }: WalkOptions,
  say: (line: string) => void = () => undefined,
): Promise<Walked> {
  const found = new Map<string, Violation>();
  let passes = 0;
  let seed = from;
  const count = (world: LiveWorld): void => void (passes += world.passes());
  for (; seed < from + walks && !isOver() && !(first && found.size > 0); seed += 1) {
    const [labels, [broken]] = await walk(bound, seed, count);
    if (!broken) continue;
    const { property, message } = broken;
    const what = `${property}: ${message.replaceAll(/[0-9a-f]{6,}/g, '#')}`;
    if (found.has(what)) continue;
    say(`VIOLATION ${bound.name} (seed ${seed}) ${property}: ${message}`);
    const events = first ? labels : await shrink(bound, labels, property);
    found.set(what, { property, message, bound: bound.name, events, afterwards: [] });
  }
  return { violations: [...found.values()], walks: seed - from, passes };
}
