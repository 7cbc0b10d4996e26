// Groups of steps: 0 are those of what all namespaces share, the others those of one namespace. A group has the number of its place.

import type { Broken } from './pass-seen.ts';
import type { State } from './world.ts';

/** What an event uses up. */
export type Cost = 'nothing' | 'people' | 'trouble';

export interface Single {
  readonly state: State;
  readonly label: string;
  readonly broken: readonly Broken[];
}

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

/** Whether nothing was read since `touched` was last asked but the group's namespace and what all share. */
export function isConfined(groups: Groups, group: number): boolean {
  return (groups.touched() & ~(1 | (1 << group))) === 0;
}

/** The same in all states that agree in the group's place and in what all share. */
export function keyOf(group: number, state: State): number {
  return (state[group] ?? 0) * 0x400_0000 + (state[0] ?? 0);
}
