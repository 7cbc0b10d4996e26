// Caches that have not seen the last change of one object.

import type { Step } from './bound.ts';
import type { Ground } from './steps.ts';
import type { State } from './world.ts';

/** Kinds whose caches may lag. */
const LAGGING = [
  'AppDeployment',
  'AppRevision',
  'Deployment',
  'Pod',
  'Secret',
  'PersistentVolumeClaim',
  'Cluster',
  'Job',
];

export function isBehind({ machine }: Ground, state: State, namespace: string): boolean {
  return machine.ask(`behind ${namespace}`, state, (scene) => scene.mark(namespace, 'behind') !== undefined);
}

/** The same step, for each object that it changed in `namespace`, when the cache does not show that change. */
export async function withLag(
  ground: Ground,
  before: State,
  { state, label, isAct }: Step,
  namespace: string,
): Promise<readonly Step[]> {
  const { registry, machine } = ground;
  if (isBehind(ground, before, namespace)) return [];
  const lags: Step[] = [];
  for (const column of registry.columnsIn(namespace)) {
    const [old, now] = [registry.group(registry.read(before, column)), registry.group(registry.read(state, column))];
    if (old === now) continue;
    for (const id of new Set([...old.keys(), ...now.keys()])) {
      const entry = registry.entry(now.get(id) ?? old.get(id) ?? 0);
      if (old.get(id) === now.get(id) || !('object' in entry) || !LAGGING.includes(entry.object.kind)) continue;
      const value = `${id} ${old.get(id) ?? 0}`;
      const behind = await machine.act(`behind ${value}`, state, (scene) => scene.setMark(namespace, 'behind', value));
      const shown = `the cache does not show ${entry.object.kind} ${entry.object.metadata.name} as it is now`;
      lags.push({ state: behind, label: `${label}; ${shown}`, broken: [], isAct });
    }
  }
  return lags;
}

export async function caughtUp({ bound, machine }: Ground, state: State): Promise<State> {
  let next = state;
  for (const namespace of bound.namespaces)
    next = await machine.act(`catch up ${namespace}`, next, (scene) => scene.setMark(namespace, 'behind', undefined));
  return next;
}
