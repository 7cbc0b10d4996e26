// Changes that roll out, and those that must not.

import { pause } from '../../../cluster/api-client.ts';
import type { Seen } from '../object-history.ts';
import type { Acts } from './acts.ts';
import { childIn, hasCondition, IMAGES, MERGE, RECORD, recordIn, revisionsIn, type Scene, until } from './stage.ts';

/** The controller asks for the events of a pod that takes longer than 2 s to begin. */
const EVENTS_ASKED_AFTER_MS = 2500;

/** The same as nothing, in every way that there is to say it. */
const REFORMED = {
  sourceConfig: { resourceSpec: { volumes: [], volumeMounts: [], sidecars: [], initContainers: [], labels: {} } },
  secretReferences: [],
};

export async function image({ stage, change }: Acts): Promise<void> {
  // One that the stand-in never finds: this rollout cannot end.
  await change({ sourceRevisionConfig: { imageUri: 'registry.example/missing:1' } });
  await until(stage, 'image: ImagePullFailed', () => hasCondition(stage, 'WorkloadsReady', 'ImagePullFailed', 'False'));
  await change({ sourceRevisionConfig: { imageUri: IMAGES[1] } });
}

export async function scale({ stage, change, untilReady }: Acts): Promise<void> {
  await change({
    sourceConfig: { resourceSpec: { minScale: 2, maxScale: 2, queueMinScale: 1, queueMaxScale: 1 } },
  });
  await untilReady('scale up');
  await change({ sourceConfig: { resourceSpec: null } });
  await untilReady('scale down');
  // Ready says that what is wanted runs; what no longer is goes after that.
  await until(stage, 'scale: no queue workers', () => childIn(stage, 'Deployment', `${RECORD}--queue`) === undefined);
}

export async function autoscaled({ stage, api, paths, change }: Acts): Promise<void> {
  // As an autoscaler does, which finds no metrics here; then both at once.
  await api.call('PATCH', `${paths.deployments}/${RECORD}/scale`, { spec: { replicas: 2 } }, MERGE);
  await until(stage, 'autoscaled: two pods', () => childIn(stage, 'Deployment', RECORD)?.status?.readyReplicas === 2);
  await Promise.all([
    change({ sourceRevisionConfig: { imageUri: IMAGES[1] } }),
    api.call('PATCH', `${paths.deployments}/${RECORD}/scale`, { spec: { replicas: 3 } }, MERGE),
  ]);
  await until(stage, 'autoscaled: three pods', () => childIn(stage, 'Deployment', RECORD)?.status?.readyReplicas === 3);
}

export async function drift({ stage, api, namespace, paths, untilReady }: Acts): Promise<void> {
  await api.call('PATCH', `${paths.deployments}/${RECORD}`, { spec: { replicas: 3 } }, MERGE);
  await until(stage, 'drift: one replica again', () => {
    const { spec, status } = childIn(stage, 'Deployment', RECORD) ?? {};
    return spec?.replicas === 1 && status?.replicas === 1 && status.observedGeneration > 2;
  });
  await untilReady('drift mended');
  // Until the surplus pods are gone as well, they would wake the record on the Service's behalf.
  await pause(700);
  await api.call('DELETE', `${paths.services}/${RECORD}--redis`);
  await until(stage, 'drift: the Service is gone and back', () => {
    const uids = new Set(
      stage.census
        .history(namespace)
        .filter(({ kind, object }) => kind === 'Service' && object.metadata.name === `${RECORD}--redis`)
        .map(({ object }) => object.metadata.uid),
    );
    return uids.size === 2 && childIn(stage, 'Service', `${RECORD}--redis`) !== undefined;
  });
}

export async function overtaken({ stage, change }: Acts): Promise<void> {
  const away = stage.leaveAt?.(`apply deployments ${RECORD}`);
  await change({ sourceRevisionConfig: { imageUri: IMAGES[1] } });
  await until(stage, 'overtaken: the controller is away', () => away?.isAway() === true);
  await until(stage, 'overtaken: rolled out while it is away', () => servesNewest(stage));
  await change({ sourceRevisionConfig: { imageUri: IMAGES[2] } });
  await away?.back();
}

export async function unmounted({ stage, api, paths, change, asked }: Acts): Promise<void> {
  await change({ sourceRevisionConfig: { imageUri: 'registry.example/unmounted:1' } });
  await until(stage, 'unmounted: a pod that does not begin', () => waitingPod(stage) !== undefined);
  await pause(EVENTS_ASKED_AFTER_MS);
  // However often the record is looked at, and whatever comes of the events, what is new is said.
  for (let touch = 0; touch < 10; touch += 1) {
    const annotations = { 'example.com/touch': String(touch) };
    await api.call('PATCH', `${paths.records}/${RECORD}`, { metadata: { annotations } }, MERGE);
    await pause(200);
  }
  await change({ databaseDeletionPolicy: 'Retain' });
  await until(
    stage,
    'unmounted: the change is seen',
    () => recordIn(stage)?.status?.observedGeneration === asked()?.metadata.generation,
  );
  await change({ databaseDeletionPolicy: 'Delete', sourceRevisionConfig: { imageUri: IMAGES[1] } });
}

export async function migrated({ stage, api, paths, change }: Acts): Promise<void> {
  await change({ sourceRevisionConfig: { imageUri: 'registry.example/failing:1' } });
  await until(stage, 'migrated: MigrationFailed', () => hasCondition(stage, 'Stalled', 'MigrationFailed'));
  // Whoever tidies up after it does not ask for another.
  await api.call('DELETE', `${paths.jobs}/${migrationOf(stage)?.metadata.name}`, { propagationPolicy: 'Background' });
  await until(stage, 'migrated: without the Job', () => migrationOf(stage) === undefined);
  await pause(500);
  // This one goes on until the test ends it, and is overtaken.
  await change({ sourceRevisionConfig: { imageUri: 'registry.example/played:1' } });
  await until(stage, 'migrated: a pod that migrates', () => migratingPod(stage) !== undefined);
  await change({ sourceRevisionConfig: { imageUri: IMAGES[1] } });
  await until(stage, 'migrated: overtaken', () => hasCondition(stage, 'Ready', 'Migrating', 'False'));
  await pause(500);
  const status = { phase: 'Succeeded', conditions: [] };
  await api.call('PATCH', `${paths.pods}/${migratingPod(stage)?.metadata.name}/status`, { status }, MERGE);
}

/** Without waiting: each change meets a reconcile under way. */
export async function hasty({ stage, change, untilReady }: Acts): Promise<void> {
  stage.enter('hasty');
  for (const [index, imageUri] of IMAGES.slice(1).entries()) {
    await pause(index === 0 ? 400 : 120);
    await change({ sourceRevisionConfig: { imageUri } });
  }
  await untilReady('hasty');
}

export async function reformed(acts: Acts): Promise<void> {
  await withoutRollout('reformed', acts, REFORMED);
}

export async function upgraded(acts: Acts): Promise<void> {
  const before = whatRuns(acts.stage);
  await acts.stage.upgrade?.();
  await withoutRollout('upgraded', acts, { databaseDeletionPolicy: 'Retain' }, before);
}

/** The controller sees a new generation, and the same pods. */
async function withoutRollout(
  what: string,
  { stage, change, untilReady }: Acts,
  spec: object,
  before: string = whatRuns(stage),
): Promise<void> {
  await change(spec);
  await untilReady(what);
  // A rollout would have begun by now.
  await pause(700);
  await until(stage, `${what}: the same revisions and pods as before`, () => whatRuns(stage) === before);
  await change({ databaseDeletionPolicy: 'Delete' });
}

/** The main service runs the newest revision, and that alone. */
function servesNewest(scene: Scene): boolean {
  const { spec, status, metadata } = childIn(scene, 'Deployment', RECORD) ?? {};
  return (
    spec?.template.metadata.labels['davit.dev/revision'] === revisionsIn(scene).at(-1)?.spec.id &&
    status?.observedGeneration === metadata?.generation &&
    [status?.replicas, status?.updatedReplicas, status?.availableReplicas].every((count) => count === 1)
  );
}

/** The Job of the newest revision. */
function migrationOf(scene: Scene): Seen | undefined {
  const id = revisionsIn(scene).at(-1)?.spec.id;
  const jobs = scene.census.current(scene.namespace).filter(({ kind }) => kind === 'Job');
  return jobs.find(({ object }) => object.metadata.labels?.['davit.dev/revision'] === id)?.object;
}

/** The pod of the migration that the stand-in leaves to the test. */
function migratingPod({ census, namespace }: Scene): Seen | undefined {
  const found = census.current(namespace).find(({ kind, object: { spec, metadata } }) => {
    const isMigration = kind === 'Pod' && metadata.labels?.['davit.dev/component'] === 'migrate';
    return isMigration && spec.nodeName !== undefined && spec.containers[0].image.includes('played');
  });
  return found?.object;
}

/** A pod on a node whose volumes are not mounted. */
function waitingPod({ census, namespace }: Scene): Seen | undefined {
  const found = census.current(namespace).find(({ kind, object: { spec, status } }) => {
    const isOnNode = kind === 'Pod' && spec.nodeName !== undefined;
    return isOnNode && spec.containers[0].image.includes('unmounted') && status?.containerStatuses !== undefined;
  });
  return found?.object;
}

/** The revisions, and what pods are made of. */
function whatRuns({ census, namespace }: Scene): string {
  const said = census.current(namespace).flatMap(({ kind, object }) => {
    if (kind === 'AppRevision') return [`${kind} ${object.metadata.name}`];
    if (kind !== 'Deployment' && kind !== 'StatefulSet') return [];
    return [`${kind} ${object.metadata.name} ${JSON.stringify(object.spec.template)}`];
  });
  return said.toSorted().join('\n');
}
