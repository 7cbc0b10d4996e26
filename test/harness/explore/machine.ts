// Steps of the world: each is run once for what it reads, and looked up from then on.

import { makeMemo, type Outcome } from './memo.ts';
import type { Broken, Controllers, PassSeen } from './pass-seen.ts';
import { type Pass, type PassOptions, runPass } from './passes.ts';
import { type Admission, openScene, type Scene } from './scene.ts';
import type { Trace } from './working-copy.ts';
import type { Column, Registry, State } from './world.ts';

export interface PassValue {
  readonly wrote: boolean;
  readonly said: readonly string[];
  /** Broken properties of this pass. */
  readonly broken: readonly Broken[];
  readonly failed: string | undefined;
}

export interface Machine {
  /** A question about a state, whose answer is remembered. */
  ask<Value>(question: string, state: State, answer: (scene: Scene) => Value): Value;
  /** A step of the world; undefined if nothing changed. */
  act(step: string, state: State, act: (scene: Scene) => Promise<void> | void): Promise<State>;
  pass(controller: Controllers, key: string, state: State): Promise<PassDone>;
  /** Places that were read since this was last asked, as bits. */
  touched(): number;
  readonly counts: () => Readonly<Record<string, number>>;
}

export interface PassDone {
  readonly state: State;
  readonly value: PassValue;
  /** The states in which the controller may have crashed. */
  readonly between: readonly State[];
}

export interface MachineOptions extends PassOptions {
  readonly admission: Admission;
  readonly stepwise: boolean;
  readonly judge: (seen: PassSeen) => readonly Broken[];
}

export function makeMachine(registry: Registry, options: MachineOptions): Machine {
  const answers = makeMemo<unknown>(registry);
  const steps = makeMemo<undefined>(registry);
  const passes = makeMemo<PassValue>(registry);

  let touched = 0;
  const touch = (reads: Iterable<readonly [Column, unknown]>): void => {
    for (const [{ place }] of reads) touched |= 1 << place;
  };

  const after = (state: State, { changes }: Pick<Outcome<unknown>, 'changes'>): State =>
    changes.size === 0 ? state : registry.write(state, changes);

  return {
    ask(question, state, answer) {
      const found = answers.find(question, state);
      if (found) {
        touched |= found.places;
        return found.value as never;
      }
      const { scene, close } = openScene(registry, state);
      const value = answer(scene);
      const { reads } = close();
      touch(reads);
      answers.keep(question, reads, { value, changes: new Map(), between: [] });
      return value;
    },
    async act(step, state, act) {
      const found = steps.find(step, state);
      if (found) {
        touched |= found.places;
        return after(state, found);
      }
      const { scene, close } = openScene(registry, state, options.admission);
      await act(scene);
      const trace = close();
      touch(trace.reads);
      const columns = trace.reads.map(([column]) => column);
      steps.keep(step, trace.reads, {
        value: undefined,
        changes: changesOf(registry, state, trace.state, columns),
        between: [],
      });
      return trace.state;
    },
    async pass(controller, key, state) {
      const step = `${controller} ${key}`;
      const found = passes.find(step, state);
      if (found) {
        touched |= found.places;
        return {
          state: after(state, found),
          value: found.value,
          between: found.between.map((changes) => registry.write(state, changes)),
        };
      }
      const { value, reads, trace } = await runAndJudge(registry, options, { controller, key, state });
      touch(reads);
      const columns = [...reads.keys()];
      const changes = changesOf(registry, state, trace.state, columns);
      const crashes = trace.between.map((one) => changesOf(registry, state, one, columns));
      passes.keep(step, [...reads], { value, changes, between: crashes });
      return { state: trace.state, value, between: trace.between };
    },
    touched() {
      const were = touched;
      touched = 0;
      return were;
    },
    counts: () => ({
      passesRun: passes.counts.runs,
      passesKnown: passes.counts.hits,
      stepsRun: steps.counts.runs,
      stepsKnown: steps.counts.hits,
      answersRun: answers.counts.runs,
    }),
  };
}

/** Of these columns, those that differ. */
function changesOf(
  registry: Registry,
  before: State,
  after: State,
  columns: Iterable<Column>,
): Outcome<unknown>['changes'] {
  const changes = new Map();
  for (const column of columns) {
    const number = registry.read(after, column);
    if (number !== registry.read(before, column)) changes.set(column, number);
  }
  return changes;
}

/** A pass of the real code. What only the judges read counts as read too. */
async function runAndJudge(
  registry: Registry,
  options: MachineOptions,
  { controller, key, state }: { readonly controller: Controllers; readonly key: string; readonly state: State },
): Promise<{ readonly value: PassValue; readonly reads: ReadonlyMap<Column, number>; readonly trace: Trace }> {
  const { scene, close } = openScene(registry, state, options.admission, options.stepwise);
  const done = await runPass(scene, controller, key, options);
  const seenBefore = openScene(registry, state);
  const broken = options.judge({ ...done, before: seenBefore.scene, after: scene, key, controller });
  const judged = seenBefore.close();
  const trace = close();
  return { value: valueOf(done, broken), reads: new Map([...trace.reads, ...judged.reads]), trace };
}

function valueOf({ writes, error }: Pass, broken: readonly Broken[]): PassValue {
  const said = writes.map(
    ({ verb, kind, ref, subresource, error: refused }) =>
      `${verb} ${kind} ${ref.name}${subresource === undefined ? '' : `/${subresource}`}${refused === undefined ? '' : ` (${refused})`}`,
  );
  return { wrote: writes.length > 0, said, broken, failed: error && `${error.name}: ${error.message}` };
}
