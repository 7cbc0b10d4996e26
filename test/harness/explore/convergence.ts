// Whether what runs for a record is what runs for a new record of the same spec.

import { canBuild } from '../../../src/deploy/record/build-source.ts';
import { partsOf } from '../../../src/deploy/record/parts.ts';
import { podsIdOf } from '../../../src/deploy/record/shared-pods.ts';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../../src/kinds/app-deployment.ts';
import type { AppRevision } from '../../../src/kinds/app-revision.ts';
import { conditionOf } from '../../../src/kinds/conditions.ts';
import { STORE_PARTS } from '../../../src/kinds/meta.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { isCurrent, isReady, podsOf } from './cluster-events.ts';
import { mend } from './mending.ts';
import type { Broken } from './pass-seen.ts';
import { revisionsOf } from './people-events.ts';
import { deployment, hasLostData, pictureOf, revisionIdOf } from './properties.ts';
import type { Rests } from './rest.ts';
import type { Scene } from './scene.ts';
import type { Ground } from './steps.ts';
import { tasksAreOfEarlier } from './task-events.ts';
import type { State } from './world.ts';

/** Differences, told as broken `property`, for each record that `which` selects. */
export type Converges = (
  state: State,
  property: string,
  which: (record: AppDeployment, scene: Scene) => boolean,
) => Promise<readonly Broken[]>;

/** `start` gives the state in which nothing has happened. */
export function makeConvergence({ bound, machine }: Ground, rests: Rests, start: () => Promise<State>): Converges {
  const pictures = new Map<string, string>();
  const pictureAt = (namespace: string, state: State, isMoved: boolean): string =>
    machine.ask(`picture ${isMoved} ${namespace}`, state, (scene) =>
      pictureOf(scene, namespace, new Set([...heldParts(scene, namespace), ...(isMoved ? ['postgres'] : [])])),
    );

  /** What a new record of the same spec comes to. */
  async function freshPicture(record: AppDeployment, isMoved: boolean): Promise<string> {
    const { namespace = '', name } = record.metadata;
    const spec = `${namespace} ${isMoved} ${JSON.stringify(record.spec)}`;
    const found = pictures.get(spec);
    if (found !== undefined) return found;
    const begun = await machine.act(`fresh ${namespace}/${name} ${spec}`, await start(), (scene) =>
      makeAnew(scene, record),
    );
    const picture = pictureAt(namespace, (await rests.settle(begun)).state, isMoved);
    pictures.set(spec, picture);
    return picture;
  }

  return async (state, property, which) => {
    const broken: Broken[] = [];
    if (bound.cast || canBuild(bound.settings)) return broken;
    for (const namespace of bound.namespaces) {
      const [record, ...more] = machine.ask(`records ${property} ${namespace}`, state, (scene) =>
        scene.all<AppDeployment>(APP_DEPLOYMENTS, namespace).filter((one) => which(one, scene)),
      );
      if (!record || more.length > 0 || record.metadata.deletionTimestamp !== undefined) continue;
      if (hasLostData(record) || tasksAreOfEarlier(record)) continue;
      // The database of a new record has other names.
      const isMoved = (record.status?.databaseNumber ?? 0) > 0;
      const picture = pictureAt(namespace, state, isMoved);
      const fresh = await freshPicture(record, isMoved);
      const stalled = conditionOf(record.status?.conditions, 'Stalled');
      const why = stalled?.status === 'True' ? stalled.message : undefined;
      if (picture !== fresh) broken.push({ property, message: differenceOf(picture, fresh, why) });
    }
    return broken;
  };
}

/**
 * Parts that keep what they run until the newest revision serves: those that only earlier revisions have, and all but the server while its
 * pods are not ready. A new record never had them.
 */
function heldParts(scene: Scene, namespace: string): ReadonlySet<string> {
  const [record] = scene.all<AppDeployment>(APP_DEPLOYMENTS, namespace);
  if (!record) return new Set();
  const revisions = revisionsOf(scene, record);
  const latest = revisions.find(({ spec }) => spec.id === record.status?.latestRevisionId);
  if (!latest) return new Set();
  const server = deployment(scene, record, 'server');
  const isServed =
    server !== undefined &&
    revisionIdOf(server) === podsIdOf(latest, 'server') &&
    podsOf(scene, server).some((pod) => isReady(pod) && isCurrent(pod, server));
  const partsOfRevision = ({ spec: { resolved } }: AppRevision): readonly string[] => [
    ...partsOf(resolved),
    ...STORE_PARTS.filter((part) => resolved[part] !== undefined),
  ];
  const wanted = new Set(partsOfRevision(latest));
  const isDeployed = record.status?.activeRevisionId === latest.spec.id;
  const left = isDeployed ? [] : revisions.flatMap(partsOfRevision).filter((part) => !wanted.has(part));
  const waiting = isServed ? [] : partsOf(latest.spec.resolved).filter((part) => part !== 'server');
  return new Set([...left, ...waiting]);
}

async function makeAnew(scene: Scene, { status: _status, ...record }: AppDeployment): Promise<void> {
  const { namespace = '', name } = record.metadata;
  const before = scene.get<AppDeployment>(APP_DEPLOYMENTS, namespace, name);
  if (before) scene.erase(APP_DEPLOYMENTS, before);
  const { rollbackTo: _rollback, ...spec } = record.spec;
  scene.put(APP_DEPLOYMENTS, { ...record, metadata: { namespace, name }, spec } as unknown as KubeObject, 'person');
  await mend(scene, namespace);
}

function differenceOf(a: string, b: string, stuck = ''): string {
  const [ours, fresh] = [new Set(a.split('\n')), new Set(b.split('\n'))];
  const name = (line: string): string => line.split(' ', 2).join(' ');
  const more = [...ours].filter((line) => !fresh.has(line));
  const less = [...fresh].filter((line) => !ours.has(line));
  const at = more[0] === undefined || less[0] === undefined ? '' : ` ${firstDifference(more[0], less[0])}`;
  return `It differs in ${more.map(name).join(', ') || 'nothing more'}; a new one has ${less.map(name).join(', ') || 'nothing more'}.${at} ${stuck}`;
}

function firstDifference(a: string, b: string): string {
  let at = 0;
  while (a[at] === b[at] && at < a.length) at += 1;
  return `${a.slice(Math.max(0, at - 40), at + 60)} | ${b.slice(Math.max(0, at - 40), at + 60)}`;
}
