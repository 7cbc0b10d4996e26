// The world of a bound: which steps a state allows, where they lead, and what is broken there.

import type { Bound, Judged, Step } from './bound.ts';
import { type Budget, makeBudget } from './budget.ts';
import { BUILDS } from './build-events.ts';
import { type Components, makeComponents } from './components.ts';
import { makeConvergence } from './convergence.ts';
import type { Groups } from './groups.ts';
import { makeJudge } from './judge.ts';
import { caughtUp, isBehind, withLag } from './lag.ts';
import { makeMachine } from './machine.ts';
import { RESOURCES } from './passes.ts';
import { judgePass } from './properties.ts';
import { makeRests, type Rest, type Rests } from './rest.ts';
import { type Ground, makeSteps, placesOf, type Steps } from './steps.ts';
import { makeTurnsOfWriters, type TurnsOfWriters } from './turns-of-writers.ts';
import { makeRegistry, type Registry, type State } from './world.ts';

/** The step in which everything happens that is automatic. */
export const ALL_REST = 'everything automatic happens';

export interface World {
  readonly first: State;
  enabled(state: State): readonly string[];
  /** All steps from a state; `take` gets each state they lead to. */
  expand(state: State, take: (step: Step) => void): Promise<void>;
  step(state: State, label: string): Promise<readonly Step[]>;
  /** Where the state comes to rest. */
  rest(state: State): Promise<State>;
  /** What is done from a state until it is at rest. */
  wayToRest(state: State): Promise<readonly string[]>;
  /** What is broken at rest, as the world is and when it was mended; nothing if the same rest was judged before. */
  judge(state: State): Promise<readonly Judged[]>;
  /** Every object, for people. */
  show(state: State): string;
  counts(): Readonly<Record<string, number>>;
}

const CATCH_UP = 'the caches have caught up';

/** Whoever reads a whole namespace reads the same groups in the same order in every state. */
function registryOf({ namespaces, settings }: Bound): Registry {
  const registry = makeRegistry((namespace) => namespaces.indexOf(namespace) + 1);
  for (const namespace of [...namespaces, '', settings.organizationNamespace, settings.builds.namespace])
    for (const resource of RESOURCES) registry.columnOf(resource, namespace);
  return registry;
}

function groundOf(bound: Bound): Ground {
  const { settings, namespaces, cast } = bound;
  const registry = registryOf(bound);
  const machine = makeMachine(registry, {
    settings,
    namespaces,
    refuse: bound.refuse ?? (() => undefined),
    admission: bound.admission ?? {},
    stepwise: bound.crashes === true,
    judge: (seen) => (cast ? cast.judgePass(seen) : judgePass(seen, settings)),
    cast,
  });
  return { bound, registry, machine };
}

/** Group 0 is that of what all namespaces share; each namespace has one of its own. */
function groupsOf({ bound, machine }: Ground, steps: Steps, turnsOfWriters: TurnsOfWriters): Groups {
  const { namespaces } = bound;
  const shared = placesOf(bound).slice(namespaces.length);
  return {
    count: namespaces.length + 1,
    labels(group, state) {
      const namespace = namespaces[group - 1];
      return namespace === undefined
        ? [...steps.organization, ...shared.flatMap((at) => steps.eventsAt(at, state))]
        : [...steps.keysAt(namespace, state), ...steps.eventsAt(namespace, state)];
    },
    calm(group, state) {
      const namespace = namespaces[group - 1];
      return namespace === undefined
        ? [...steps.organization, ...shared.flatMap((at) => steps.calmAt(at, state))]
        : [...steps.keysAt(namespace, state), ...steps.calmAt(namespace, state)];
    },
    step: (state, label) => steps.take(state, label),
    cost: (label) => steps.costOf(label),
    touched: () => machine.touched(),
    judgeWay: (group, way) => turnsOfWriters(way, namespaces.slice(group - 1, group)),
  };
}

export async function makeWorld(bound: Bound): Promise<World> {
  const ground = groundOf(bound);
  const { machine, registry } = ground;
  const budget = makeBudget(bound);
  const steps = makeSteps(ground);
  const turnsOfWriters = makeTurnsOfWriters(registry);
  const groups = groupsOf(ground, steps, turnsOfWriters);
  const components = makeComponents(groups);
  const rests = makeRests(ground, steps, budget, turnsOfWriters);
  const start = (): Promise<State> =>
    machine.act(
      'begin',
      Array.from({ length: budget.places }, () => 0),
      bound.begin,
    );
  const judge = makeJudge(ground, steps, rests, makeConvergence(ground, rests, start));
  const judgedRests = new Set<string>();
  const restOf = async (state: State): Promise<Rest> =>
    (bound.lags === true ? undefined : await components.rest(state)) ?? (await rests.settle(state));

  const world: World = {
    first: await firstState(ground, steps, rests, await start()),
    enabled(state) {
      const isAnyBehind = bound.namespaces.some((namespace) => isBehind(ground, state, namespace));
      return [
        ...steps.keys(state),
        ...steps.events(state).filter((label) => !budget.isSpent(steps.costOf(label), state)),
        ...(isAnyBehind ? [CATCH_UP] : []),
      ];
    },
    async step(state, label) {
      if (label === CATCH_UP) return [{ state: await caughtUp(ground, state), label, broken: [], isAct: false }];
      const { event, namespace } = steps.takingOf(label);
      const done = await steps.take(budget.spend(state, steps.costOf(label)), label);
      if (bound.lags !== true || !event) return done;
      const lags = await Promise.all(done.map((one) => withLag(ground, state, one, namespace)));
      return [...done, ...lags.flat()];
    },
    async expand(state, take) {
      const each = async (label: string): Promise<void> => {
        for (const step of await world.step(state, label)) take(step);
      };
      // What a lag does is not part of a step, and so not of its outcome.
      if (bound.lags === true) for (const label of world.enabled(state)) await each(label);
      else
        for (let group = 0; group < groups.count; group += 1)
          await expandGroup(state, { group, groups, components, budget, each, take });
    },
    rest: async (state) => budget.spentAs(state, (await restOf(state)).state),
    wayToRest: (state) => rests.wayFrom(state),
    async judge(state) {
      const rest = await restOf(state);
      const at = budget.without(rest.state);
      const isNew = !judgedRests.has(at);
      judgedRests.add(at);
      return judge(state, rest, isNew);
    },
    show: (state) =>
      [...bound.namespaces, '', BUILDS]
        .flatMap((namespace) =>
          machine.ask(`show ${namespace}`, state, (scene) =>
            scene.inside(namespace).map(({ object }) => JSON.stringify(object)),
          ),
        )
        .join('\n'),
    counts: () => ({ ...machine.counts(), ...registry.sizes(), rests: judgedRests.size }),
  };
  return world;
}

interface Expansion {
  readonly group: number;
  readonly groups: Groups;
  readonly components: Components;
  readonly budget: Budget;
  /** Takes the steps of a label in this state. */
  readonly each: (label: string) => Promise<void>;
  readonly take: (step: Step) => void;
}

/** The steps of one group: looked up where they depend on this group alone. */
async function expandGroup(state: State, { group, groups, components, budget, each, take }: Expansion): Promise<void> {
  const found = components.steps(group, state);
  const known = found instanceof Promise ? await found : found;
  const labels =
    known ??
    groups.labels(group, state).map((label) => ({ label, cost: groups.cost(label), changes: undefined, broken: [] }));
  for (const { label, cost, changes, broken } of labels) {
    if (budget.isSpent(cost, state)) continue;
    if (changes === undefined) {
      await each(label);
      continue;
    }
    const next = budget.spend(state, cost) as number[];
    for (const [place, content] of changes) next[place] = content;
    take({ state: next, label, broken, isAct: cost !== 'nothing' });
  }
}

/** At rest, and after each event of the history. */
async function firstState({ bound }: Ground, steps: Steps, rests: Rests, begun: State): Promise<State> {
  let { state } = await rests.settle(begun);
  for (const words of bound.history ?? []) {
    // A label can be taken when it was possible once.
    steps.events(state);
    const [done] = await steps.take(state, words);
    if (done) ({ state } = await rests.settle(done.state));
  }
  return state;
}
