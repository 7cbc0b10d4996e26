// Brings states to rest: what happens automatically happens, until nothing is left to do.

import type { Bound } from './bound.ts';
import type { Budget } from './budget.ts';
import { BUILDS } from './build-events.ts';
import { caughtUp } from './lag.ts';
import type { Broken } from './pass-seen.ts';
import type { Ground, Steps } from './steps.ts';
import type { TurnsOfWriters } from './turns-of-writers.ts';
import type { State } from './world.ts';

export interface Rest {
  readonly state: State;
  /** What was broken on the way. */
  readonly broken: readonly Broken[];
}

export interface Rests {
  settle(from: State): Promise<Rest>;
  /** What is done from a state until it is at rest. */
  wayFrom(from: State): Promise<readonly string[]>;
}

const LONGEST_WAY = 400;
/** As many steps of a way that goes round are told. */
const TOLD = 12;

export function makeRests(ground: Ground, steps: Steps, budget: Budget, turnsOfWriters: TurnsOfWriters): Rests {
  const { namespaces, longestWay = LONGEST_WAY }: Bound = ground.bound;
  const rests = new Map<string, Rest>();

  /** Whether `isLookedUp`, a way that is known is not gone again. Each step is told to `take`. */
  async function settle(from: State, isLookedUp: boolean, take: (label: string) => void): Promise<Rest> {
    const path: string[] = [];
    const way: State[] = [];
    const broken: Broken[] = [];
    let state = await caughtUp(ground, from);
    let rest: Rest | undefined;
    while (rest === undefined) {
      const at = budget.without(state);
      const known = isLookedUp ? rests.get(at) : undefined;
      if (known) rest = { ...known, broken: [...broken, ...known.broken] };
      else if (path.includes(at) || path.length > longestWay) {
        const message = `It goes round: ${(await onward(steps, state)).join(', ')}.`;
        rest = { state, broken: [...broken, { property: 'rest is reached', message }] };
      } else {
        path.push(at);
        way.push(state);
        const next = await calmStep(steps, state, broken, take);
        if (next) state = next;
        else rest = { state, broken };
      }
    }
    for (const at of path) rests.set(at, rest);
    const turns = turnsOfWriters([...way, rest.state], [...namespaces, BUILDS]);
    return turns.length > 0 ? { ...rest, broken: [...rest.broken, ...turns] } : rest;
  }

  return {
    settle: (from) => settle(from, true, () => undefined),
    async wayFrom(from) {
      const labels: string[] = [];
      await settle(from, false, (label) => void labels.push(label));
      return labels;
    },
  };
}

/** One step towards rest; undefined at rest. */
async function calmStep(
  steps: Steps,
  state: State,
  broken: Broken[],
  take: (label: string) => void,
): Promise<State | undefined> {
  for (const label of [...steps.keys(state), ...steps.calm(state)]) {
    const [done] = await steps.take(state, label);
    if (!done) continue;
    broken.push(...done.broken);
    if (done.state.every((place, index) => place === state[index])) continue;
    take(label);
    return done.state;
  }
  return undefined;
}

async function onward(steps: Steps, from: State): Promise<readonly string[]> {
  const labels: string[] = [];
  let state = from;
  for (let count = 0; count < TOLD; count += 1) {
    const next = await calmStep(steps, state, [], (label) => void labels.push(label));
    if (!next) break;
    state = next;
  }
  return labels;
}
