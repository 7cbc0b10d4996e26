// What one namespace does on its own. A step that reads one namespace and what all namespaces share is the same in every state
// that agrees in these two, so that the interleavings of independent records cost a look-up of a list.

import { type Cost, type Groups, isConfined, keyOf } from './groups.ts';
import type { Broken } from './pass-seen.ts';
import { makeWays } from './ways.ts';
import type { State } from './world.ts';

interface Known {
  readonly label: string;
  readonly cost: Cost;
  /** Undefined: it reads more, and is to be run in each state. */
  readonly changes: readonly (readonly [place: number, content: number])[] | undefined;
  readonly broken: readonly Broken[];
}

export interface Components {
  /** The steps of a group; undefined where even what is possible depends on more. */
  steps(group: number, state: State): readonly Known[] | undefined | Promise<readonly Known[] | undefined>;
  /** Where a state comes to rest; undefined where its namespaces depend on each other on the way. */
  rest(state: State): Promise<{ readonly state: State; readonly broken: readonly Broken[] } | undefined>;
}

export function makeComponents(groups: Groups): Components {
  const known = Array.from({ length: groups.count }, () => new Map<number, readonly Known[] | undefined>());
  const ways = makeWays(groups);

  async function learn(group: number, state: State): Promise<readonly Known[] | undefined> {
    groups.touched();
    const labels = groups.labels(group, state);
    if (!isConfined(groups, group)) return undefined;
    const learned: Known[] = [];
    for (const label of labels) {
      groups.touched();
      const [done, ...more] = await groups.step(state, label);
      const cost = groups.cost(label);
      if (!done || more.length > 0 || !isConfined(groups, group)) {
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
        const resting = ways.known(group, state) ?? (await ways.walk(group, state));
        if (resting === undefined || (group === 0 && resting.content !== state[0])) return undefined;
        next[group] = resting.content;
        if (resting.broken.length > 0) broken.push(...resting.broken);
      }
      return { state: next, broken };
    },
  };
}
