// How many events of people, and how many troubles, a way has had. Both are places of a state, behind those of its namespaces.

import type { Bound } from './bound.ts';
import type { Cost } from './groups.ts';
import type { State } from './world.ts';

export interface Budget {
  /** Number of places of a state. */
  readonly places: number;
  isSpent(cost: Cost, state: State): boolean;
  spend(state: State, cost: Cost): State;
  /** A state that has spent as much as `state`. */
  spentAs(state: State, other: State): State;
  /** A word for a state, whatever it has spent. */
  without(state: State): string;
}

export function makeBudget({ namespaces, people, troubles }: Bound): Budget {
  const place = { people: namespaces.length + 1, trouble: namespaces.length + 2 };
  const most = { people, trouble: troubles };
  return {
    places: place.trouble + 1,
    isSpent: (cost, state) => cost !== 'nothing' && (state[place[cost]] ?? 0) >= most[cost],
    spend: (state, cost) => (cost === 'nothing' ? [...state] : state.with(place[cost], (state[place[cost]] ?? 0) + 1)),
    spentAs: (state, other) => [...other.slice(0, place.people), ...state.slice(place.people)],
    without: (state) => state.slice(0, place.people).join(),
  };
}
