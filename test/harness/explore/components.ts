// What one namespace does on its own. A step that reads one namespace and what all namespaces share is the same in every state
// that agrees in these two, so that the interleavings of independent records cost a look-up of a list.

import type { Broken } from './machine.ts';
import type { State } from './world.ts';

/** What an event uses up. */
export type Cost = 'nothing' | 'people' | 'trouble';

export interface Single {
  readonly state: State;
  readonly label: string;
  readonly broken: readonly Broken[];
}

/** Groups of steps: 0 are those of what all share, the others those of one namespace. A group has the number of its place. */
export interface Groups {
  readonly count: number;
  /** Steps of a group that are possible, whatever is left of people and troubles. */
  labels(group: number, state: State): readonly string[];
  /** Those of them that bring the state to rest, in order. */
  calm(group: number, state: State): readonly string[];
  step(state: State, label: string): Promise<readonly Single[]>;
  cost(label: string): Cost;
  /** Places that were read since this was last asked, as bits. */
  touched(): number;
  /** What is broken on the whole way to rest, beside what its steps break. */
  judgeWay(group: number, way: readonly State[]): readonly Broken[];
}

interface Known {
  readonly label: string;
  readonly cost: Cost;
  /** Undefined: it reads more, and is to be run in each state. */
  readonly changes: readonly (readonly [place: number, content: number])[] | undefined;
  readonly broken: readonly Broken[];
}

export interface Resting {
  readonly content: number;
  readonly broken: readonly Broken[];
}

export interface Components {
  /** The steps of a group; undefined where even what is possible depends on more. */
  steps(group: number, state: State): readonly Known[] | undefined | Promise<readonly Known[] | undefined>;
  /** Where a state comes to rest; undefined where its namespaces depend on each other on the way. */
  rest(state: State): Promise<{ readonly state: State; readonly broken: readonly Broken[] } | undefined>;
}

/** More steps than any way to rest has. */
const LONGEST_WAY = 400;

export function makeComponents(groups: Groups): Components {
  const known = Array.from({ length: groups.count }, () => new Map<number, readonly Known[] | undefined>());
  const rests = Array.from({ length: groups.count }, () => new Map<number, Resting | undefined>());
  const onwards = Array.from({ length: groups.count }, () => new Map<number, number>());
  const keyOf = (group: number, state: State): number => (state[group] ?? 0) * 0x400_0000 + (state[0] ?? 0);
  const isConfined = (group: number): boolean => (groups.touched() & ~(1 | (1 << group))) === 0;

  async function learn(group: number, state: State): Promise<readonly Known[] | undefined> {
    groups.touched();
    const labels = groups.labels(group, state);
    if (!isConfined(group)) return undefined;
    const learned: Known[] = [];
    for (const label of labels) {
      groups.touched();
      // oxlint-disable-next-line no-await-in-loop -- one step after the other
      const [done, ...more] = await groups.step(state, label);
      const cost = groups.cost(label);
      if (!done || more.length > 0 || !isConfined(group)) {
        learned.push({ label, cost, changes: undefined, broken: [] });
        continue;
      }
      const changes = [...new Set([0, group])]
        .filter((place) => done.state[place] !== state[place])
        .map((place) => [place, done.state[place] ?? 0] as const);
      learned.push({ label, cost, changes, broken: done.broken });
    }
    return learned;
  }

  /** The next state on the way to rest; undefined at rest, null where another namespace is read or what all share is changed. */
  async function onward(group: number, state: State, broken: Broken[]): Promise<State | null | undefined> {
    groups.touched();
    const labels = groups.calm(group, state);
    if (!isConfined(group)) return null;
    for (const label of labels) {
      groups.touched();
      // oxlint-disable-next-line no-await-in-loop -- one step after the other
      const [done] = await groups.step(state, label);
      if (!isConfined(group)) return null;
      if (!done) continue;
      broken.push(...done.broken);
      if (done.state[0] !== state[0]) return null;
      if (done.state[group] !== state[group]) return done.state;
    }
    return undefined;
  }
  /** All states up to rest, also where another way has led through them. */
  function wayFrom(group: number, from: State, { content }: Resting): State[] {
    const way = [from];
    for (let state = from; state[group] !== content && way.length < LONGEST_WAY; way.push(state)) {
      const next = onwards[group]?.get(keyOf(group, state));
      if (next === undefined) break;
      state = state.with(group, next);
    }
    return way;
  }
  async function restOf(group: number, from: State): Promise<Resting | undefined> {
    const key = keyOf(group, from);
    if (rests[group]?.has(key)) return rests[group].get(key);
    const path: number[] = [];
    const way: State[] = [];
    const broken: Broken[] = [];
    let state: State | null | undefined = from;
    let found: Resting | undefined;
    for (let steps = 0; state && steps < LONGEST_WAY; steps += 1) {
      const at = keyOf(group, state);
      if (rests[group]?.has(at)) {
        const known_ = rests[group].get(at);
        found = known_ && { content: known_.content, broken: [...broken, ...known_.broken] };
        break;
      }
      if (path.includes(at)) break;
      path.push(at);
      way.push(state);
      // oxlint-disable-next-line no-await-in-loop -- one step after the other
      const next: State | null | undefined = await onward(group, state, broken);
      if (next === undefined) found = { content: state[group] ?? 0, broken };
      state = next;
    }
    for (const [index, at] of path.entries()) {
      rests[group]?.set(at, found);
      onwards[group]?.set(at, way[index + 1]?.[group] ?? state?.[group] ?? found?.content ?? 0);
    }
    if (found) found = { ...found, broken: [...found.broken, ...groups.judgeWay(group, wayFrom(group, from, found))] };
    rests[group]?.set(key, found);
    return found;
  }

  return {
    steps(group, state) {
      const key = keyOf(group, state);
      const found = known[group]?.get(key);
      if (found !== undefined || known[group]?.has(key) === true) return found;
      return learn(group, state).then((learned) => {
        known[group]?.set(key, learned);
        return learned;
      });
    },
    async rest(state) {
      const next = [...state];
      const broken: Broken[] = [];
      for (let group = 0; group < groups.count; group += 1) {
        const key = keyOf(group, state);
        // oxlint-disable-next-line no-await-in-loop -- one group after the other
        const resting = rests[group]?.get(key) ?? (await restOf(group, state));
        if (resting === undefined || (group === 0 && resting.content !== state[0])) return undefined;
        next[group] = resting.content;
        if (resting.broken.length > 0) broken.push(...resting.broken);
      }
      return { state: next, broken };
    },
  };
}
