// The events of a violation once more, with what each pass wrote.

import { ALL_REST, makeWorld } from './bound-world.ts';
import { BOUNDS } from './bounds.ts';
import type { Violation } from './search.ts';

/** One violation, or a list of them, as `--out` writes it. */
export async function replay(
  read: Violation | readonly Violation[],
  say: (line: string) => void,
  bounds = BOUNDS,
): Promise<boolean> {
  let holds = true;
  for (const { bound: name, property, events } of [read].flat()) {
    const bound = bounds.find((one) => one.name === name);
    if (!bound) throw new Error(`no bound is called ${name}`);
    say(`${name}: ${property}`);
    const world = await makeWorld(bound);
    let state = world.first;
    for (const label of events) {
      if (label === ALL_REST) {
        say(`  ${label}: ${(await world.wayToRest(state)).join('; ')}`);
        state = await world.rest(state);
        continue;
      }
      const steps: Awaited<ReturnType<typeof world.step>>[number][] = [];
      for (const possible of world.enabled(state))
        if (label.startsWith(possible)) steps.push(...(await world.step(state, possible)));
      const step = steps.find((one) => one.label === label);
      if (!step) {
        say(`  ${label}: this cannot happen here.`);
        return false;
      }
      ({ state } = step);
      say(`  ${label}`);
      for (const { property: broken, message } of step.broken) {
        holds = false;
        say(`    BROKEN ${broken}: ${message}`);
      }
    }
    for (const { broken, afterwards } of await world.judge(state)) {
      for (const one of afterwards) say(`  then: ${one}`);
      for (const { property: what, message } of broken) {
        holds = false;
        say(`    BROKEN ${what}: ${message}`);
      }
    }
  }
  say(holds ? 'No property is broken.' : 'At least one property is broken.');
  return holds;
}
