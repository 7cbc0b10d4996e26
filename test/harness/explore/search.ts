// Through the states of a bound in two orders, which take turns. Breadth first, every step of everybody counts. Along sequences only what
// people do and troubles count: between two of them nothing happens, or everything that is automatic. Every state is brought to rest
// once, as it is and after the world was mended, and judged there.

import type { Bound, Step } from './bound.ts';
import { ALL_REST, makeWorld, type World } from './bound-world.ts';
import { makeOrder } from './order.ts';
import type { Broken } from './pass-seen.ts';
import { makeStateTable, type StateTable } from './state-table.ts';
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
  /** Steps of which every order was explored. */
  readonly depth: number;
  /** The same in events of people and troubles, with nothing or everything automatic between two of them. */
  readonly sequences: number;
  readonly complete: boolean;
  readonly violations: readonly Violation[];
  readonly counts: Readonly<Record<string, number>>;
}

interface Violations {
  readonly found: ReadonlyMap<string, Violation>;
  /** `last`: events after those that led to the state with this number. */
  report(broken: readonly Broken[], at: number, last: readonly string[], afterwards?: readonly string[]): void;
}

/** Each is kept once, with the first way to it. */
function makeViolations({ name }: Bound, table: StateTable, { onProgress }: SearchOptions): Violations {
  const found = new Map<string, Violation>();
  return {
    found,
    report(broken, at, last, afterwards = []) {
      for (const { property, message } of broken) {
        const what = `${property}: ${message.replaceAll(/[0-9a-f]{6,}/g, '#')}`;
        if (found.has(what)) continue;
        found.set(what, { property, message, bound: name, events: [...table.pathTo(at), ...last], afterwards });
        onProgress?.(`VIOLATION ${property}: ${message}`);
      }
    },
  };
}

interface Looks {
  readonly transitions: () => number;
  /** Judges the state, if that was not done, and takes each step that it allows. */
  look(at: number, take: (next: number, step: Step) => void): Promise<void>;
}

function makeLooks(world: World, table: StateTable, { report }: Violations): Looks {
  const looked = makeOrder();
  let transitions = 0;
  return {
    transitions: () => transitions,
    async look(at, take) {
      const state = table.stateAt(at);
      const isNew = looked.add(at, 0);
      for (const { broken, afterwards } of isNew ? await world.judge(state) : []) report(broken, at, [], afterwards);
      await world.expand(state, (step) => {
        const { state: next, label, broken } = step;
        if (isNew) transitions += 1;
        if (isNew) report(broken, at, [label]);
        if (!same(next, state)) take(table.add(next, at, label), step);
      });
    },
  };
}

export async function search(bound: Bound, options: SearchOptions): Promise<Found> {
  const world = await makeWorld(bound);
  const table = makeStateTable(world.first.length);
  const violations = makeViolations(bound, table, options);
  const { look, transitions } = makeLooks(world, table, violations);
  const breadth = makeOrder();
  const sequences = makeOrder();
  table.add(world.first, -1, '');
  breadth.add(0, 0);
  if (bound.interleavings !== true) sequences.add(0, 0);

  async function broaden(): Promise<boolean> {
    const level = breadth.level();
    const at = breadth.next();
    if (at === undefined) return false;
    await look(at, (next) => void breadth.add(next, level + 1));
    return true;
  }
  /** A state after so many events, and where it comes to rest: each event of somebody that is possible in the two leads on. */
  async function lengthen(): Promise<boolean> {
    const level = sequences.level();
    const at = sequences.next();
    if (at === undefined) return false;
    const lead = (next: number, { isAct }: Step): void => void (isAct && sequences.add(next, level + 1));
    await look(at, lead);
    const rest = table.add(await world.rest(table.stateAt(at)), at, ALL_REST);
    if (rest !== at) await look(rest, lead);
    return true;
  }
  const isOver = (turn: number): boolean =>
    table.size >= options.states ||
    (options.first === true && violations.found.size > 0) ||
    ((turn & 63) === 0 && Date.now() > (options.deadline ?? Infinity));

  let complete = false;
  let seenAt = Date.now();
  for (let turn = 0; !complete && breadth.level() <= options.depth && !isOver(turn); turn += 1) {
    if ((turn & 255) === 0 && Date.now() - seenAt > 5000) {
      seenAt = Date.now();
      const depths = `depth ${breadth.level()} and ${sequences.level()}`;
      options.onProgress?.(
        `${bound.name}: ${table.size} states, ${turn} turns, ${transitions()} transitions, ${depths}, ${JSON.stringify(world.counts())}`,
      );
    }
    const isLonger = await lengthen();
    complete = !(await broaden()) && !isLonger;
  }
  return {
    states: table.size,
    transitions: transitions(),
    depth: breadth.level(),
    sequences: Math.max(0, sequences.level() - 1),
    complete,
    violations: [...violations.found.values()],
    counts: world.counts(),
  };
}

function same(a: State, b: State): boolean {
  return a.every((place, index) => place === b[index]);
}
