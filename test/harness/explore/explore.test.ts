// The explorer itself, and a short exploration of bounds in which every property holds.

import { expect, it } from 'vitest';
import { makeWorld } from './bound.ts';
import { BOUNDS } from './bounds.ts';
import { search } from './search.ts';
import { makeStateTable } from './state-table.ts';

const named = (name: string): (typeof BOUNDS)[number] => {
  const bound = BOUNDS.find((one) => one.name === name);
  if (!bound) throw new Error(`no bound is called ${name}`);
  return bound;
};

it('a table of states has each once, and knows the shortest way to it', () => {
  const table = makeStateTable(2);
  expect(table.add([0, 0], -1, '')).toBe(true);
  for (let one = 1; one < 100_000; one += 1) expect(table.add([one, one % 7], one - 1, `step ${one % 3}`)).toBe(true);
  expect(table.add([5, 5], 0, 'again')).toBe(false);
  expect([table.size, table.stateAt(70_000), table.pathTo(3)]).toEqual([
    100_000,
    [70_000, 0],
    ['step 1', 'step 2', 'step 0'],
  ]);
});

it('the same events lead to the same state, also when they are only looked up', async () => {
  const walk = async (): Promise<string> => {
    const world = await makeWorld(named('rollouts'));
    let state = world.first;
    for (const label of ['somebody sets image 2 of shop in team', 'Davit reconciles records team/shop']) {
      expect(world.enabled(state)).toContain(label);
      const once = await world.step(state, label);
      expect(await world.step(state, label)).toEqual(once);
      state = once[0]?.state ?? state;
    }
    return world.show(state).replaceAll(/"resourceVersion":"\d+"/g, '');
  };
  expect(await walk()).toBe(await walk());
});

it('no property is broken in the first states of each bound', async () => {
  const found = [];
  for (const bound of BOUNDS.filter(({ open }) => open === undefined)) {
    const { violations } = await search(bound, { depth: 99, states: 300 });
    found.push(...violations);
  }
  expect(found).toEqual([]);
}, 300_000);

it('a hundred thousand states of three tenants break no property', async () => {
  const { states, violations } = await search(named('tenants'), { depth: 99, states: 100_000 });
  expect(violations).toEqual([]);
  expect(states).toBeGreaterThanOrEqual(100_000);
}, 300_000);

it('what a namespace does on its own is what each step does', async () => {
  const world = await makeWorld(named('turns'));
  const seen = new Set<string>();
  let states = [world.first];
  for (let depth = 0; depth < 4; depth += 1) {
    const next = [];
    for (const state of states.slice(0, 25)) {
      const together: string[] = [];
      await world.expand(state, (step) => void together.push(`${step.label} ${step.state.join()}`));
      const each = [];
      for (const label of world.enabled(state)) each.push(...(await world.step(state, label)));
      const said = each.map((step) => `${step.label} ${step.state.join()}`);
      expect(together.toSorted()).toEqual(said.toSorted());
      for (const step of each) if (!seen.has(step.state.join()) && seen.add(step.state.join())) next.push(step.state);
    }
    states = next;
  }
  expect(seen.size).toBeGreaterThan(20);
}, 120_000);
