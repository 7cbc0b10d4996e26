// The way to rest of one group: nobody else is on it, so it is walked once from each of its states.

import { type Groups, isConfined, keyOf } from './groups.ts';
import type { Broken } from './pass-seen.ts';
import type { State } from './world.ts';

export interface Resting {
  readonly content: number;
  readonly broken: readonly Broken[];
}

export interface Ways {
  /** Where it comes to rest, if it was walked before. */
  known(group: number, state: State): Resting | undefined;
  /** Undefined where it depends on another namespace on the way, or changes what all share. */
  walk(group: number, state: State): Promise<Resting | undefined>;
}

/** More steps than any way to rest has. */
const LONGEST_WAY = 400;

export function makeWays(groups: Groups): Ways {
  const rests = Array.from({ length: groups.count }, () => new Map<number, Resting | undefined>());
  const onwards = Array.from({ length: groups.count }, () => new Map<number, number>());

  /** The next state on the way to rest; undefined at rest, null where another namespace is read or what all share is changed. */
  async function onward(group: number, state: State, broken: Broken[]): Promise<State | null | undefined> {
    groups.touched();
    const labels = groups.calm(group, state);
    if (!isConfined(groups, group)) return null;
    for (const label of labels) {
      groups.touched();
      const [done] = await groups.step(state, label);
      if (!isConfined(groups, group)) return null;
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

  async function walk(group: number, from: State): Promise<Resting | undefined> {
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

  return { known: (group, state) => rests[group]?.get(keyOf(group, state)), walk };
}
