// What must hold of a state at rest: as it is, and a day later.

import { APP_DEPLOYMENTS } from '../../../src/kinds/app-deployment.ts';
import { DATASTORE_OPERATIONS, type DatastoreOperation } from '../../../src/kinds/datastore-operation.ts';
import { isEnded } from '../../../src/kinds/operation-phases.ts';
import type { Broken } from './pass-seen.ts';
import { judgeRest, namesWhere } from './properties.ts';
import type { Rest } from './rest.ts';
import type { Scene } from './scene.ts';
import type { Ground, Steps } from './steps.ts';
import type { State } from './world.ts';

/** `isMended`: whether a careful person has undone every trouble before. */
export async function judgeAt(
  ground: Ground,
  steps: Steps,
  { state, broken }: Rest,
  isMended = false,
): Promise<readonly Broken[]> {
  const { machine, bound } = ground;
  const { cast, settings } = bound;
  const judged = bound.namespaces.flatMap((namespace) =>
    cast
      ? machine.ask(`rest ${isMended} ${namespace}`, state, (scene) => cast.judgeRest(scene, namespace, isMended))
      : machine.ask(`rest ${namespace}`, state, (scene) => judgeRest(scene, namespace, settings)),
  );
  return [...broken, ...judged, ...(await stillWrites(ground, steps, state))];
}

async function stillWrites({ bound, machine }: Ground, steps: Steps, state: State): Promise<readonly Broken[]> {
  const broken: Broken[] = [];
  for (const label of steps.keys(state)) {
    const { controller = 'records', namespace, subject } = steps.takingOf(label);
    const { value } = await machine.pass(controller, `${namespace}/${subject}`, state);
    const isRewritten = machine.ask(
      `rewritten ${namespace}`,
      state,
      (scene) => scene.mark(namespace, 'webhook') === 'rewrites',
    );
    // An apply changes nothing where a webhook rewrites the object to what it is.
    const isNoChange = (words: string): boolean =>
      words.endsWith(')') ||
      (isRewritten && words.startsWith('apply StatefulSet ')) ||
      bound.cast?.writesAtRest?.(words) === true;
    const wrote = value.said.filter((words) => !isNoChange(words));
    if (wrote.length > 0) broken.push({ property: 'at rest nothing is written', message: wrote.join(', ') });
  }
  return broken;
}

/** Stalled records, all of whose world Davit has seen, that went on all the same: nobody has acted until `then`. */
export async function wronglyStalled(
  ground: Ground,
  steps: Steps,
  state: State,
  then: State,
): Promise<readonly Broken[]> {
  const { bound, machine } = ground;
  const broken: Broken[] = [];
  for (const namespace of bound.namespaces) {
    const stalled = (at: State): readonly string[] =>
      machine.ask(`stalled ${namespace}`, at, (scene) => namesWhere(scene, namespace, 'Stalled'));
    const ready = machine.ask(`ready ${namespace}`, then, (scene) => namesWhere(scene, namespace, 'Ready'));
    for (const name of stalled(state)) {
      const isThere = machine.ask(
        `there ${namespace}/${name}`,
        then,
        (scene) => scene.get(APP_DEPLOYMENTS, namespace, name) !== undefined,
      );
      if (isThere && !ready.includes(name)) continue;
      // Somebody has asked for another database.
      if (machine.ask(`operated ${namespace}`, state, (scene) => isOperated(scene, namespace))) continue;
      // What another namespace has yet to do, such as to release a host, one pass of this record does not see.
      if (await goesOnBeside(ground, steps, namespace, state)) continue;
      const { state: after } = await machine.pass('records', `${namespace}/${name}`, state);
      if (!stalled(after).includes(name)) continue;
      broken.push({
        property: 'what is Stalled does not go on automatically',
        message: `${namespace}/${name} is Stalled, and is ${isThere ? 'Ready' : 'gone'} later, though nobody acts.`,
      });
    }
  }
  return broken;
}

function isOperated(scene: Scene, namespace: string): boolean {
  return scene.all<DatastoreOperation>(DATASTORE_OPERATIONS, namespace).some((one) => !isEnded(one));
}

/** Whether a pass of a key of another namespace changes something. */
async function goesOnBeside(
  { bound, machine }: Ground,
  steps: Steps,
  namespace: string,
  state: State,
): Promise<boolean> {
  for (const other of bound.namespaces) {
    for (const label of other === namespace ? [] : steps.keysAt(other, state)) {
      const { controller = 'records', subject } = steps.takingOf(label);
      const { state: after } = await machine.pass(controller, `${other}/${subject}`, state);
      if (after.some((place, index) => place !== state[index])) return true;
    }
  }
  return false;
}
