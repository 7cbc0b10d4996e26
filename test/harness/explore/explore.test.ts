// The explorer itself, and a short exploration of bounds in which every property holds.

import { expect, it } from 'vitest';
import { SERVICES } from '../../../src/runtime/kube/api-resources.ts';
import type { Bound } from './bound.ts';
import { ALL_REST, makeWorld } from './bound-world.ts';
import { BOUNDS } from './bounds.ts';
import type { Event } from './event.ts';
import { faultPlanOf } from './fault-plan.ts';
import { makeOrder } from './order.ts';
import { replay } from './replay.ts';
import { search } from './search.ts';
import { makeStateTable } from './state-table.ts';

const named = (name: string): (typeof BOUNDS)[number] => {
  const bound = BOUNDS.find((one) => one.name === name);
  if (!bound) throw new Error(`no bound is called ${name}`);
  return bound;
};

it('a table of states has each once, and knows the shortest way to it', () => {
  const table = makeStateTable(2);
  expect(table.add([0, 0], -1, '')).toBe(0);
  for (let one = 1; one < 100_000; one += 1) expect(table.add([one, one % 7], one - 1, `step ${one % 3}`)).toBe(one);
  expect(table.add([5, 5], 0, 'again')).toBe(5);
  expect([table.size, table.stateAt(70_000), table.pathTo(3)]).toEqual([
    100_000,
    [70_000, 0],
    ['step 1', 'step 2', 'step 0'],
  ]);
});

it('states wait by level, each once', () => {
  const order = makeOrder();
  expect([order.add(0, 0), order.add(70_000, 1), order.add(3, 1), order.add(70_000, 2)]).toEqual([
    true,
    true,
    true,
    false,
  ]);
  const seen = [];
  for (let level = order.level(), at = order.next(); at !== undefined; level = order.level(), at = order.next()) {
    seen.push([level, at]);
    if (at === 3) order.add(4, 2);
  }
  expect([seen, order.level()]).toEqual([
    [
      [0, 0],
      [1, 70_000],
      [1, 3],
      [2, 4],
    ],
    3,
  ]);
});

it('sequences of events from rest to rest are explored beside single steps, and replayed', async () => {
  const { sequences, depth } = await search(named('life'), { depth: 99, states: 300 });
  expect(sequences).toBeGreaterThanOrEqual(1);
  expect(depth).toBeLessThan(10);
  const lines: string[] = [];
  const events = ['somebody sets scale 0 of shop in team', ALL_REST, 'somebody sets scale 1 of shop in team', ALL_REST];
  const read = { bound: 'life', property: 'a property', message: '', events, afterwards: [] };
  expect(await replay(read, (line) => void lines.push(line))).toBe(true);
  expect(lines.filter((line) => line.includes(`${ALL_REST}: Davit reconciles records team/shop`))).toHaveLength(2);
}, 300_000);

it.each([
  {
    what: 'a worker',
    bound: 'workers',
    events: [
      'somebody sets a poster of shop in team',
      ALL_REST,
      'somebody rolls shop by 1 back in team',
      'somebody sets image bad of shop in team',
    ],
  },
  {
    what: 'a database',
    bound: 'tasks',
    events: [
      'somebody makes Secret external in team',
      'somebody sets an external database of shop in team',
      'somebody sets image bad of shop in team',
    ],
  },
])(
  '$what that the newest revision lacks stays while that one cannot come up, and breaks no property',
  async (one) => {
    const lines: string[] = [];
    const read = { ...one, property: 'a property', message: '', afterwards: [] };
    expect([await replay(read, (line) => void lines.push(line)), lines.at(-1)]).toEqual([
      true,
      'No property is broken.',
    ]);
  },
  300_000,
);

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
}, 300_000);

it('no property is broken in the first states of each bound', async () => {
  const found = [];
  for (const bound of BOUNDS.filter(({ open }) => open === undefined)) {
    const { violations } = await search(bound, { depth: 99, states: 60 });
    found.push(...violations);
  }
  expect(found).toEqual([]);
}, 300_000);

it('thirty thousand states of three tenants break no property', async () => {
  const { states, violations } = await search(named('tenants'), { depth: 99, states: 30_000 });
  expect(violations).toEqual([]);
  expect(states).toBeGreaterThanOrEqual(30_000);
}, 300_000);

/** Somebody else's controller, which takes a field of a Service once. */
const rival: Event = {
  name: 'another controller writes Service %',
  by: 'cluster',
  calm: true,
  subjects: (scene, namespace) =>
    scene.mark(namespace, 'rival') === undefined && scene.get(SERVICES, namespace, 'shop') ? ['shop'] : [],
  async happen(scene, namespace, name) {
    scene.setMark(namespace, 'rival', 'once');
    const patch = { spec: { type: 'NodePort' } };
    await scene.kube.mergePatch(SERVICES, { namespace, name }, patch, { fieldManager: 'rival' });
  },
};
const forgetful: Bound = {
  ...named('rollouts'),
  name: 'forgetful',
  longestWay: 60,
  events: [
    ...named('rollouts').events.filter(({ calm }) => calm === true),
    {
      ...rival,
      name: 'a rival comes',
      by: 'people',
      subjects: () => [''],
      happen: (scene) => scene.setMark('team', 'rival', undefined),
    },
    rival,
  ],
};

it('what is changed to and fro is found, and a replay of what was found shows it again', async () => {
  const { violations } = await search(forgetful, { depth: 99, states: 10, first: true });
  const found = violations.filter(({ property }) => property === 'no two writers of one field take turns');
  expect(found.map(({ message }) => message)).toEqual([
    '/services/team/shop is changed to what it was before, on one way to rest.',
  ]);
  const lines: string[] = [];
  const written = JSON.parse(JSON.stringify(found));
  expect(await replay(written, (line) => void lines.push(line), [forgetful])).toBe(false);
  expect(lines.filter((line) => line.includes('BROKEN')).join()).toContain(found[0]?.message);
}, 300_000);

it('a replay says what cannot happen, and that nothing is broken', async () => {
  const said = async (events: readonly string[]): Promise<unknown[]> => {
    const lines: string[] = [];
    const read = { bound: 'rollouts', property: 'a property', message: '', events, afterwards: [] };
    return [await replay(read, (line) => void lines.push(line)), lines.at(-1)];
  };
  const image = 'somebody sets image 2 of shop in team';
  expect(await said([image, 'Davit reconciles records team/shop'])).toEqual([true, 'No property is broken.']);
  expect(await said([image, image])).toEqual([false, `  ${image}: this cannot happen here.`]);
});

const DAVIT = 'Davit reconciles records team/shop';
it.each([
  {
    events: ['somebody deletes Deployment shop--queue in team', DAVIT],
    plan: { workload: 'create', fault: { kind: 'edit', child: 'Deployment shop--queue', edit: 'delete' } },
  },
  {
    events: ['somebody sets image 2 of shop in team', 'the quota is full in team', DAVIT],
    plan: { workload: 'image', fault: { kind: 'quota', of: 'pods' } },
  },
  {
    events: [`${DAVIT}, and crashes after 2 writes, the last of them apply NetworkPolicy shop`],
    plan: { workload: 'create', fault: { kind: 'crash-after', at: 'create/apply networkpolicies shop#1' } },
  },
  {
    events: [
      'somebody deletes record shop in team',
      `${DAVIT}, and crashes after 1 writes, the last of them apply AppDeployment shop/status`,
    ],
    plan: { workload: 'delete', fault: { kind: 'crash-after', at: 'delete/apply appdeployments/status shop#1' } },
  },
  {
    events: ['Davit may not write Services any more in team'],
    plan: { workload: 'create', fault: { kind: 'denied', resource: 'services', status: 403, ms: 6000 } },
  },
  { events: ['somebody rolls shop by 1 back in team'], plan: undefined },
  { events: ['the quota is full in team', 'somebody deletes Service shop in team'], plan: undefined },
])('$events is a plan of npm run faults, where it has such events', ({ events, plan }) => {
  expect(faultPlanOf(events)).toEqual(plan);
});

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
