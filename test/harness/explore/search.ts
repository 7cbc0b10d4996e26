// Breadth first through the states of a bound. Every state is brought to rest once, as it is and after the world was mended, and
// judged there.

import { type Bound, makeWorld } from './bound.ts';
import type { Broken } from './machine.ts';
import { makeStateTable } from './state-table.ts';
import type { State } from './world.ts';

export interface SearchOptions {
  readonly depth: number;
  readonly deadline?: number;
  /** Most states. */
  readonly states: number;
  /** Whether the first violation ends it. */
  readonly first?: boolean;
  readonly onProgress?: (line: string) => void;
}

export interface Violation extends Broken {
  readonly bound: string;
  readonly events: readonly string[];
  /** What happened until the state was at rest, where it was judged there. */
  readonly afterwards: readonly string[];
}

export interface Found {
  readonly states: number;
  readonly transitions: number;
  readonly depth: number;
  readonly complete: boolean;
  readonly violations: readonly Violation[];
  readonly counts: Readonly<Record<string, number>>;
}

export async function search(bound: Bound, options: SearchOptions): Promise<Found> {
  const world = await makeWorld(bound);
  const table = makeStateTable(world.first.length);
  const violations = new Map<string, Violation>();
  let transitions = 0;
  let depth = 0;
  let complete = true;
  table.add(world.first, -1, '');
  const depthEnds = [1];
  const report = (
    broken: readonly Broken[],
    at: number,
    last: readonly string[],
    afterwards: readonly string[] = [],
  ): void => {
    for (const { property, message } of broken) {
      const what = `${property}: ${message.replaceAll(/[0-9a-f]{6,}/g, '#')}`;
      if (violations.has(what)) continue;
      violations.set(what, {
        property,
        message,
        bound: bound.name,
        events: [...table.pathTo(at), ...last],
        afterwards,
      });
      options.onProgress?.(`VIOLATION ${property}: ${message}`);
    }
  };
  let at = 0;
  let seenAt = Date.now();
  for (; at < table.size; at += 1) {
    if (at === depthEnds.at(-1)) {
      depth += 1;
      depthEnds.push(table.size);
      if (depth > options.depth) {
        complete = false;
        break;
      }
    }
    if (
      table.size >= options.states ||
      (options.first === true && violations.size > 0) ||
      ((at & 63) === 0 && Date.now() > (options.deadline ?? Infinity))
    ) {
      complete = false;
      break;
    }
    if ((at & 255) === 0 && Date.now() - seenAt > 5000) {
      seenAt = Date.now();
      options.onProgress?.(
        `${bound.name}: ${table.size} states, ${at} expanded, ${transitions} transitions, depth ${depth}, ${JSON.stringify(world.counts())}`,
      );
    }
    const state = table.stateAt(at);
    /* oxlint-disable no-await-in-loop -- one state after the other */
    for (const judged of await world.judge(state)) report(judged.broken, at, [], judged.afterwards);
    await world.expand(state, ({ state: next, label, broken }) => {
      transitions += 1;
      if (broken.length > 0) report(broken, at, [label]);
      if (!same(next, state)) table.add(next, at, label);
    });
    /* oxlint-enable no-await-in-loop */
  }
  return {
    states: table.size,
    transitions,
    depth,
    complete,
    violations: [...violations.values()],
    counts: { ...world.counts(), expanded: at },
  };
}

function same(a: State, b: State): boolean {
  return a.every((place, index) => place === b[index]);
}
