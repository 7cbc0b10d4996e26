// What a person does to a record, phase by phase. Every workload begins with `create`.

import type { ApiClient } from '../../cluster/api-client.ts';
import { ApiError, pause } from '../../cluster/api-client.ts';
import { standInNode } from '../../cluster/stand-in.ts';
import { isNamespaceGone, removeNamespace } from './namespace-deletion.ts';
import type { Census, Seen } from './object-history.ts';
import type { WorkloadName } from './plans.ts';

export const RECORD = 'shop';
/** The other one in `pair` and `undone`. */
export const SECOND = `${RECORD}-two`;
export const IMAGES = ['registry.example/shop:1', 'registry.example/shop:2', 'registry.example/shop:3'] as const;

/** What can be looked at and waited for. */
export interface Scene {
  readonly api: ApiClient;
  readonly census: Census;
  readonly namespace: string;
  /** How long a phase may take until it counts as never ending. */
  readonly patienceMs: number;
  /** How long, within that, nothing may change in the namespace. */
  readonly quietMs?: number;
}

export interface Stage extends Scene {
  /** The writes from now on belong to this phase. */
  enter(phase: string): void;
  /** What is done to the cluster between the record's making and the workload's own phase. */
  interlude?(): Promise<void>;
  /** Another Davit comes in the place of the one that runs. */
  upgrade?(): Promise<void>;
  /** The controller is frozen when it next asks for this write, such as `apply deployments shop`, which is sent on. */
  leaveAt?(write: string): Absence;
  /** What is done instead, where something is built. */
  performBuilds?(): Promise<void>;
  /** What others do before the record is made. */
  prepare(): Promise<void>;
}

export interface Absence {
  isAway(): boolean;
  /** Lets it go on, after its lease has run out. */
  back(): Promise<void>;
}

/** A phase that did not come to its end. */
export class NotConverged extends Error {}

/** The most that a record may ask for; the stand-in's node has 4,000 GiB. */
const MOST_MEMORY_MB = 4_194_304;
/** Three lanes fit beside each other, none of them beside this database. */
const LARGE_REDIS_MB = 1_126_400;
const LARGE_DATABASE_MB = 3_584_000;

const MERGE = 'application/merge-patch+json';

export async function perform(workload: WorkloadName, stage: Stage): Promise<void> {
  const { api, namespace, enter } = stage;
  const records = `/apis/davit.dev/v1alpha1/namespaces/${namespace}/appdeployments`;
  const services = `/api/v1/namespaces/${namespace}/services`;
  const secrets = `/api/v1/namespaces/${namespace}/secrets`;
  const deployments = `/apis/apps/v1/namespaces/${namespace}/deployments`;
  const pods = `/api/v1/namespaces/${namespace}/pods`;
  const jobs = `/apis/batch/v1/namespaces/${namespace}/jobs`;
  /** What was answered last: the census may still be behind it. */
  let asked: Seen | undefined;
  const create = async (): Promise<void> => {
    if (workload === 'rotate') await api.call('POST', secrets, secretOfValues(1));
    if (workload === 'pair') await api.call('POST', secrets, secretOfValues(1, SHARED, SECOND));
    if (workload === 'referenced') await api.call('POST', secrets, OWN_SECRET);
    if (workload === 'external') await api.call('POST', secrets, OUTSIDE);
    asked = await api.call<Seen>('POST', records, record(namespace, SPECS[workload] ?? {}));
  };
  const change = async (spec: object): Promise<void> => {
    asked = await api.call<Seen>('PATCH', `${records}/${RECORD}`, { spec }, MERGE);
  };
  const untilReady = (what: string): Promise<void> =>
    until(stage, `${what}: Ready at the newest generation`, () => {
      const found = recordIn(stage);
      return (
        found?.metadata.uid === asked?.metadata.uid &&
        found?.metadata.generation === asked?.metadata.generation &&
        found?.status?.observedGeneration === asked?.metadata.generation &&
        hasCondition(stage, 'Ready', 'Serving')
      );
    });

  /** Other sizes alone, for the database pod that runs. */
  const resizeInPlace = async (): Promise<void> => {
    const pod = (): string | undefined => childIn(stage, 'Pod', `${RECORD}--postgres-0`)?.metadata.uid;
    const before = pod();
    await change({ sourceConfig: { resourceSpec: { dbCpu: 0.3, dbMemoryMb: 640 } } });
    await untilReady('resize: the pod that runs');
    const set = (): Seen | undefined => childIn(stage, 'StatefulSet', `${RECORD}--postgres`);
    await until(
      stage,
      'resize: the same pod, which its StatefulSet would replace again',
      () => pod() === before && set()?.spec.updateStrategy.type === 'RollingUpdate',
    );
  };

  // Somebody else's, under the record's own label: neither a sweep nor a teardown may take them.
  await api.call('POST', services, decoy('Service', { ports: [{ port: 1 }] }));
  await api.call('POST', secrets, decoy('Secret', undefined));
  if (workload === 'taken') await api.call('POST', services, foreignService());
  await stage.prepare();
  if (stage.performBuilds) return stage.performBuilds();
  enter('create');
  await create();
  if (workload === 'taken') {
    await until(stage, 'create: NameConflict', () => hasCondition(stage, 'Stalled', 'NameConflict'));
    return;
  }
  if (workload === 'hasty') {
    // Without waiting: each change meets a reconcile under way.
    enter('hasty');
    for (const [index, imageUri] of IMAGES.slice(1).entries()) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other; the first meets children being applied
      await pause(index === 0 ? 400 : 120);
      // oxlint-disable-next-line no-await-in-loop -- as above
      await change({ sourceRevisionConfig: { imageUri } });
    }
    return untilReady('hasty');
  }
  if (workload === 'doomed') {
    await until(stage, 'create: Ready, or on its way out', () => {
      const found = recordIn(stage);
      const wasSeen = stage.census.history(namespace).some(({ kind }) => kind === 'AppDeployment');
      const isLeaving = wasSeen && (found === undefined || found.metadata.deletionTimestamp !== undefined);
      return isLeaving || hasCondition(stage, 'Ready', 'Serving');
    });
    enter('doomed');
    await stage.interlude?.();
    return untilNamespaceIsGone(stage);
  }
  await untilReady('create');
  if (workload === 'create') return;
  await stage.interlude?.();
  enter(workload);
  switch (workload) {
    case 'image':
      // One that the stand-in never finds: this rollout cannot end.
      await change({ sourceRevisionConfig: { imageUri: 'registry.example/missing:1' } });
      await until(stage, 'image: ImagePullFailed', () =>
        hasCondition(stage, 'WorkloadsReady', 'ImagePullFailed', 'False'),
      );
      await change({ sourceRevisionConfig: { imageUri: IMAGES[1] } });
      break;
    case 'scale':
      await change({
        sourceConfig: { resourceSpec: { minScale: 2, maxScale: 2, queueMinScale: 1, queueMaxScale: 1 } },
      });
      await untilReady('scale up');
      await change({ sourceConfig: { resourceSpec: null } });
      await untilReady('scale down');
      // Ready says that what is wanted runs; what no longer is goes after that.
      await until(
        stage,
        'scale: no queue workers',
        () => childIn(stage, 'Deployment', `${RECORD}--queue`) === undefined,
      );
      break;
    case 'resize':
      await change({ sourceConfig: { resourceSpec: { dbStorageGi: 20, dbMaxConnections: 321, dbMemoryMb: 512 } } });
      await untilReady('resize');
      // Smaller again is refused in words, larger is not.
      await change({ sourceConfig: { resourceSpec: { dbStorageGi: 15 } } });
      await until(
        stage,
        'resize: StorageCannotShrink',
        () => hasCondition(stage, 'Stalled', 'StorageCannotShrink') && isRolledOut(stage, asked),
      );
      await change({ sourceConfig: { resourceSpec: { dbStorageGi: 30 } } });
      await untilReady('resize: larger');
      await resizeInPlace();
      // Back to where the volume was smaller: it stays as large as it is.
      await change({
        sourceConfig: { resourceSpec: null },
        rollbackTo: revisionsIn(stage)[0]?.spec.id,
        revisionSerial: 1,
      });
      break;
    case 'impossible': {
      // Other connections take another pod, which finds no room: sizes alone are given to the pod that runs.
      const resize = (dbMemoryMb: number, redisMemoryMb: number): Promise<void> =>
        change({
          sourceConfig: {
            resourceSpec: { dbMemoryMb, dbMaxConnections: dbMemoryMb === LARGE_DATABASE_MB ? 101 : 100, redisMemoryMb },
          },
        });
      // More than the stand-in's one node has: the database that runs is kept.
      await resize(MOST_MEMORY_MB, 128);
      await until(stage, 'impossible: NoNodeFits', () => hasCondition(stage, 'Stalled', 'NoNodeFits'));
      // The node is large enough for each of the two, and not for both.
      await resize(256, LARGE_REDIS_MB);
      await untilReady('impossible: a large Redis');
      await resize(LARGE_DATABASE_MB, LARGE_REDIS_MB);
      // The service is rolled out, and the revision is not for that: its database has no pod.
      await until(
        stage,
        'impossible: Unschedulable',
        () => hasCondition(stage, 'DatabaseReady', 'Unschedulable', 'False') && isRolledOut(stage, asked),
      );
      await resize(256, LARGE_REDIS_MB);
      await untilReady('impossible: corrected');
      await change({ sourceConfig: { resourceSpec: null } });
      break;
    }
    case 'autoscaled':
      // As an autoscaler does, which finds no metrics here; then both at once.
      await api.call('PATCH', `${deployments}/${RECORD}/scale`, { spec: { replicas: 2 } }, MERGE);
      await until(
        stage,
        'autoscaled: two pods',
        () => childIn(stage, 'Deployment', RECORD)?.status?.readyReplicas === 2,
      );
      await Promise.all([
        change({ sourceRevisionConfig: { imageUri: IMAGES[1] } }),
        api.call('PATCH', `${deployments}/${RECORD}/scale`, { spec: { replicas: 3 } }, MERGE),
      ]);
      await until(
        stage,
        'autoscaled: three pods',
        () => childIn(stage, 'Deployment', RECORD)?.status?.readyReplicas === 3,
      );
      break;
    case 'referenced': {
      const before = digestOf(stage);
      // Two values that belong together seldom come in one write.
      for (const token of ['first', 'second']) {
        await api.call('PATCH', `${secrets}/mine`, { stringData: { token: `${CANARY}${token}` } }, MERGE);
        await pause(400);
      }
      await until(stage, 'referenced: new values', () => digestOf(stage) !== before);
      // Its generation is what it was: for a moment an old Ready looks like a new one.
      await pause(500);
      break;
    }
    case 'external':
      await change({ secretReferences: TO_OUTSIDE });
      await untilReady('external');
      await until(stage, 'external: the own ones are gone', () => {
        const own = [`${RECORD}--postgres`, `${RECORD}--redis`];
        // All of them: whoever is killed between two deletions has to come back for the rest before it is wanted again.
        return ['StatefulSet', 'Service', 'NetworkPolicy'].every((kind) =>
          own.every((name) => childIn(stage, kind, name) === undefined),
        );
      });
      await change({ secretReferences: null });
      break;
    case 'rotate':
      // As the facade does: new values are a new Secret, and the record names that.
      await api.call('POST', secrets, secretOfValues(2));
      await change({ secrets: referencesTo(2), revisionSerial: 2 });
      break;
    case 'unfixed':
      // Of before there was a policy against it: by its name the record's own values, and anybody may fill it.
      await createPastPolicy(api, secrets, secretOfValues(1, UNFIXED));
      await change({ secrets: referencesTo(1, UNFIXED), revisionSerial: 2 });
      await until(stage, 'unfixed: SecretNotFixed', () => hasCondition(stage, 'Stalled', 'SecretNotFixed'));
      await api.call('PATCH', `${secrets}/${UNFIXED}`, { immutable: true }, MERGE);
      break;
    case 'pair':
      await api.call('POST', records, record(namespace, SPECS.pair, SECOND));
      await until(stage, 'pair: the second is Ready', () => hasCondition(stage, 'Ready', 'Serving', 'True', SECOND));
      await change({ sourceRevisionConfig: { imageUri: IMAGES[1] } });
      await api.call('DELETE', `${records}/${SECOND}`);
      await until(stage, 'pair: the second is gone', () => recordIn(stage, SECOND) === undefined);
      break;
    case 'undone':
      // At once: it may be gone before the controller has put its finalizer on.
      await api.call('POST', records, record(namespace, {}, SECOND));
      await api.call('DELETE', `${records}/${SECOND}`);
      await until(stage, 'undone: the second is gone', () => {
        const wasSeen = stage.census.history(namespace).some(({ object }) => object.metadata.name === SECOND);
        return wasSeen && recordIn(stage, SECOND) === undefined;
      });
      break;
    case 'drift':
      await api.call('PATCH', `${deployments}/${RECORD}`, { spec: { replicas: 3 } }, MERGE);
      await until(stage, 'drift: one replica again', () => {
        const { spec, status } = childIn(stage, 'Deployment', RECORD) ?? {};
        return spec?.replicas === 1 && status?.replicas === 1 && status.observedGeneration > 2;
      });
      await untilReady('drift mended');
      // Until the surplus pods are gone as well, they would wake the record on the Service's behalf.
      await pause(700);
      await api.call('DELETE', `${services}/${RECORD}--redis`);
      await until(stage, 'drift: the Service is gone and back', () => {
        const uids = new Set(
          stage.census
            .history(namespace)
            .filter(({ kind, object }) => kind === 'Service' && object.metadata.name === `${RECORD}--redis`)
            .map(({ object }) => object.metadata.uid),
        );
        return uids.size === 2 && childIn(stage, 'Service', `${RECORD}--redis`) !== undefined;
      });
      break;
    case 'overtaken': {
      const away = stage.leaveAt?.(`apply deployments ${RECORD}`);
      await change({ sourceRevisionConfig: { imageUri: IMAGES[1] } });
      await until(stage, 'overtaken: the controller is away', () => away?.isAway() === true);
      await until(stage, 'overtaken: rolled out while it is away', () => servesNewest(stage));
      await change({ sourceRevisionConfig: { imageUri: IMAGES[2] } });
      await away?.back();
      break;
    }
    case 'unmounted': {
      await change({ sourceRevisionConfig: { imageUri: 'registry.example/unmounted:1' } });
      await until(stage, 'unmounted: a pod that does not begin', () => waitingPod(stage) !== undefined);
      await pause(EVENTS_ASKED_AFTER_MS);
      // However often the record is looked at, and whatever comes of the events, what is new is said.
      for (let touch = 0; touch < 10; touch += 1) {
        const annotations = { 'example.com/touch': String(touch) };
        // oxlint-disable-next-line no-await-in-loop -- one look after the other
        await api.call('PATCH', `${records}/${RECORD}`, { metadata: { annotations } }, MERGE);
        // oxlint-disable-next-line no-await-in-loop -- as above
        await pause(200);
      }
      await change({ databaseDeletionPolicy: 'Retain' });
      await until(
        stage,
        'unmounted: the change is seen',
        () => recordIn(stage)?.status?.observedGeneration === asked?.metadata.generation,
      );
      await change({ databaseDeletionPolicy: 'Delete', sourceRevisionConfig: { imageUri: IMAGES[1] } });
      break;
    }
    case 'held': {
      // As `kubectl debug --copy-to` makes one, and a pod that somebody's finalizer holds.
      await api.call('POST', pods, copyOfPod(stage));
      const held = `${RECORD}--redis-0`;
      await api.call('PATCH', `${pods}/${held}`, { metadata: { finalizers: ['example.com/holds'] } }, MERGE);
      await api.call('DELETE', `${records}/${RECORD}`);
      await until(stage, 'held: the pod that is waited for is named', () =>
        told(stage).includes(`(pod ${held} on node ${standInNode})`),
      );
      await api.call('PATCH', `${pods}/${held}`, { metadata: { finalizers: null } }, MERGE);
      await until(stage, 'held: gone', () => recordIn(stage) === undefined);
      return;
    }
    case 'migrated': {
      await change({ sourceRevisionConfig: { imageUri: 'registry.example/failing:1' } });
      await until(stage, 'migrated: MigrationFailed', () => hasCondition(stage, 'Stalled', 'MigrationFailed'));
      // Whoever tidies up after it does not ask for another.
      await api.call('DELETE', `${jobs}/${migrationOf(stage)?.metadata.name}`, { propagationPolicy: 'Background' });
      await until(stage, 'migrated: without the Job', () => migrationOf(stage) === undefined);
      await pause(500);
      // This one goes on until the test ends it, and is overtaken.
      await change({ sourceRevisionConfig: { imageUri: 'registry.example/played:1' } });
      await until(stage, 'migrated: a pod that migrates', () => migratingPod(stage) !== undefined);
      await change({ sourceRevisionConfig: { imageUri: IMAGES[1] } });
      await until(stage, 'migrated: overtaken', () => hasCondition(stage, 'Ready', 'Migrating', 'False'));
      await pause(500);
      const status = { phase: 'Succeeded', conditions: [] };
      await api.call('PATCH', `${pods}/${migratingPod(stage)?.metadata.name}/status`, { status }, MERGE);
      break;
    }
    case 'workers':
      await change(workersOf({ mailer: { command: ['mail', '--fast'], minScale: 2 } }));
      await untilReady('workers: two of another');
      // No pod of its Deployment may be left when its StatefulSet begins.
      await change(workersOf({ mailer: { singleton: true, minScale: null } }));
      await untilReady('workers: a singleton');
      findNoneBeside(stage, 'mailer');
      await change(workersOf({ mailer: null, poster: { command: ['mail'] } }));
      await untilReady('workers: renamed');
      await until(
        stage,
        'workers: the old name is gone',
        () => childIn(stage, 'StatefulSet', `${RECORD}--mailer`) === undefined,
      );
      await change(workersOf({ poster: { maxScale: 0 } }));
      break;
    case 'tasks': {
      const schedule = (): string | undefined => cronJobIn(stage)?.spec.schedule;
      await until(stage, 'tasks: a CronJob', () => schedule() === CLEAN.schedule);
      await api.call('POST', jobs, runOf(stage, 1));
      await until(stage, 'tasks: a run that succeeded', () => runIn(stage, 1)?.state === 'Succeeded');
      const before = JSON.stringify(cronJobIn(stage)?.spec);
      // The newest revision has no tasks, and its rollout cannot end: those of the active one are as before.
      await change({
        sourceRevisionConfig: { imageUri: 'registry.example/missing:1' },
        sourceConfig: { tasks: null },
      });
      await until(stage, 'tasks: ImagePullFailed', () =>
        hasCondition(stage, 'WorkloadsReady', 'ImagePullFailed', 'False'),
      );
      await until(
        stage,
        'tasks: the CronJob and the policies as before',
        () => JSON.stringify(cronJobIn(stage)?.spec) === before && tasksReach(stage, 'postgres', 'redis'),
      );
      await api.call('POST', jobs, runOf(stage, 2, 'registry.example/failing:1'));
      await until(stage, 'tasks: a run that failed', () => hasCondition(stage, 'TasksReady', 'TaskFailed', 'False'));
      const pod = podOfRun(stage, 2)?.metadata.name;
      await api.call('DELETE', `${pods}/${pod}`);
      await until(stage, 'tasks: the pod of the failed run is gone', () => podOfRun(stage, 2) === undefined);
      await pause(700);
      await until(stage, 'tasks: its exit code is still told', () => runIn(stage, 2)?.exitCode !== undefined);
      await change({ sourceRevisionConfig: { imageUri: IMAGES[1] } });
      await untilReady('tasks: none');
      await until(stage, 'tasks: no CronJob, and no run', () => {
        const left = ['CronJob', 'Job'].some((kind) =>
          stage.census.current(namespace).some((one) => one.kind === kind),
        );
        return !left && recordIn(stage)?.status?.tasks === undefined;
      });
      await change({ sourceConfig: { tasks: [CLEAN] } });
      await until(stage, 'tasks: a CronJob again', () => schedule() === CLEAN.schedule);
      break;
    }
    case 'reformed':
    case 'upgraded': {
      const before = whatRuns(stage);
      if (workload === 'upgraded') await stage.upgrade?.();
      // Seen by the controller as a new generation, and the same pods.
      await change(workload === 'upgraded' ? { databaseDeletionPolicy: 'Retain' } : REFORMED);
      await untilReady(workload);
      // A rollout would have begun by now.
      await pause(700);
      await until(stage, `${workload}: the same revisions and pods as before`, () => whatRuns(stage) === before);
      await change({ databaseDeletionPolicy: 'Delete' });
      break;
    }
    case 'delete':
    case 'recreate':
      await api.call('DELETE', `${records}/${RECORD}`);
      await until(stage, 'deleted', () => recordIn(stage) === undefined);
      if (workload === 'delete') return;
      await createAgain(create);
      break;
  }
  await untilReady(workload);
}

async function untilNamespaceIsGone(stage: Stage): Promise<void> {
  const { api, namespace, patienceMs } = stage;
  await removeNamespace(api, namespace).catch(() => undefined);
  // The namespace controller looks again after a while that grows.
  const end = performance.now() + 2 * patienceMs;
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- it needs time
    if (await isNamespaceGone(api, namespace)) return;
    if (performance.now() > end)
      throw new NotConverged(`doomed: the namespace is not gone in ${(2 * patienceMs) / 1000} s`);
    // oxlint-disable-next-line no-await-in-loop -- as above
    await pause(100);
  }
}

/** A change of the record, seen through; as the fault `etcd-restored` undoes it. */
export async function changeAndWait(stage: Stage): Promise<void> {
  const { api, namespace } = stage;
  const path = `/apis/davit.dev/v1alpha1/namespaces/${namespace}/appdeployments/${RECORD}`;
  const spec = { sourceRevisionConfig: { imageUri: IMAGES[2] }, sourceConfig: { resourceSpec: { queueMinScale: 1 } } };
  const { metadata } = await api.call<Seen>('PATCH', path, { spec }, MERGE);
  await until(stage, 'the change that will be undone: Ready', () => {
    const observed = recordIn(stage)?.status?.observedGeneration as number | undefined;
    return observed === metadata.generation && hasCondition(stage, 'Ready', 'Serving');
  });
}

async function createAgain(create: () => Promise<unknown>): Promise<void> {
  try {
    await create();
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 409) throw error;
    await pause(50);
    await createAgain(create);
  }
}

export async function until(stage: Scene, what: string, holds: () => boolean): Promise<void> {
  const { census, namespace, patienceMs, quietMs = patienceMs } = stage;
  const begin = Date.now();
  let changedAt = begin;
  let count = census.count(namespace);
  while (!holds()) {
    const now = Date.now();
    if (census.count(namespace) !== count) {
      count = census.count(namespace);
      changedAt = now;
    }
    if (now - begin > patienceMs || now - changedAt > quietMs)
      throw new NotConverged(`${what}, not in ${((now - begin) / 1000).toFixed(1)} s: ${told(stage)}`);
    // oxlint-disable-next-line no-await-in-loop -- it needs time
    await pause(20);
  }
}

/** What was asked for last has been seen, and runs. */
function isRolledOut(scene: Scene, asked: Seen | undefined): boolean {
  const isSeen = recordIn(scene)?.status?.observedGeneration === asked?.metadata.generation;
  return isSeen && hasCondition(scene, 'WorkloadsReady', 'Serving');
}

function told(stage: Scene): string {
  const conditions = (recordIn(stage)?.status?.conditions ?? []) as { type: string; status: string; message: string }[];
  const ready = conditions.find(({ type }) => type === 'Ready');
  return ready ? `Ready is ${ready.status}, ${ready.message}` : 'nothing is said of the record';
}

function recordIn(scene: Scene, name = RECORD): Seen | undefined {
  return childIn(scene, 'AppDeployment', name);
}

export function childIn({ census, namespace }: Scene, kind: string, name: string): Seen | undefined {
  return census.current(namespace).find((one) => one.kind === kind && one.object.metadata.name === name)?.object;
}

export function hasCondition(
  scene: Scene,
  type: string,
  reason: string,
  status = 'True',
  name: string = RECORD,
): boolean {
  const conditions = (recordIn(scene, name)?.status?.conditions ?? []) as {
    type: string;
    status: string;
    reason: string;
  }[];
  return conditions.some((one) => one.type === type && one.status === status && one.reason === reason);
}

function record(namespace: string, spec: object = {}, name = RECORD): object {
  return {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'AppDeployment',
    metadata: { name, namespace },
    spec: { source: 'external_docker', sourceRevisionConfig: { imageUri: IMAGES[0] }, ...spec },
  };
}

/** Values that may stand in no place but a Secret. What is in them would change in a URL, in JSON and in base64. */
const CANARY = 'canary "6b1f" & co/';

const UNFIXED = `${RECORD}--vars-unfixed`;
/** Values of the second record, which the first names too. */
const SHARED = `${SECOND}--values`;

/** What the policy `davit-secrets` refuses, let through for as long as it takes. */
async function createPastPolicy(api: ApiClient, path: string, secret: object): Promise<void> {
  const binding =
    '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/davit-secrets?fieldManager=faults';
  const enforce = (action: 'Audit' | 'Deny'): Promise<unknown> =>
    api.call('PATCH', binding, { spec: { validationActions: [action] } }, MERGE);
  const end = performance.now() + 30_000;
  try {
    for (;;) {
      // oxlint-disable-next-line no-await-in-loop -- another lane may have put it back
      await enforce('Audit');
      try {
        // oxlint-disable-next-line no-await-in-loop -- the server notices after a moment
        await api.call('POST', path, secret);
        return;
      } catch (error) {
        if (!(error instanceof ApiError) || error.status !== 403 || performance.now() > end) throw error;
      }
      // oxlint-disable-next-line no-await-in-loop -- as above
      await pause(100);
    }
  } finally {
    await enforce('Deny');
  }
}

function secretOfValues(serial: number, name = valuesName(serial), deployment: string = RECORD): object {
  const labels = { 'davit.dev/deployment': deployment, 'davit.dev/variables': '' };
  return { metadata: { name, labels }, stringData: { TOKEN: `${CANARY}${serial}` } };
}

function valuesName(serial: number): string {
  return `${RECORD}--values-${serial}`;
}

function referencesTo(serial: number, secretName = valuesName(serial)): object[] {
  return [{ name: 'TOKEN', secretName, secretKey: 'TOKEN' }];
}

const OWN_SECRET = { metadata: { name: 'mine' }, stringData: { token: `${CANARY}none` } };

/** No server is behind these: the stand-in lets every pod find what it waits for. */
const OUTSIDE = {
  metadata: { name: 'outside' },
  stringData: { postgres: `postgres://shop:${CANARY}@db.example/shop`, redis: `redis://:${CANARY}@redis.example` },
};

const TO_OUTSIDE = [
  { name: 'POSTGRES_URI_CUSTOM', secretName: 'outside', secretKey: 'postgres' },
  { name: 'REDIS_URI_CUSTOM', secretName: 'outside', secretKey: 'redis' },
];

/** No run of it begins while a test looks. */
const CLEAN = { name: 'clean', schedule: '0 0 1 1 *', command: ['clean'] };

/** What the records of some workloads have from the beginning. */
const SPECS: Readonly<Partial<Record<WorkloadName, object>>> = {
  rotate: { secrets: referencesTo(1), revisionSerial: 1 },
  pair: { secrets: referencesTo(1, SHARED) },
  referenced: { secretReferences: [{ name: 'TOKEN', secretName: 'mine', secretKey: 'token' }] },
  autoscaled: { sourceConfig: { resourceSpec: { minScale: 1, maxScale: 3 } } },
  workers: {
    sourceConfig: {
      runtime: { workers: { mailer: { command: ['mail'] }, scheduler: { command: ['tick'], singleton: true } } },
    },
  },
  tasks: { sourceConfig: { tasks: [CLEAN] } },
  migrated: {
    sourceConfig: {
      runtime: {
        migrate: { command: ['up'] },
        envNames: { DB_NAME: 'postgres_database', DB_PASSWORD: 'postgres_password' },
      },
    },
  },
};

function workersOf(workers: object): object {
  return { sourceConfig: { runtime: { workers } } };
}

/** Throws NotConverged if a StatefulSet of this worker was made before the last pod of its Deployment had gone. */
function findNoneBeside({ census, namespace }: Scene, worker: string): void {
  const history = census.history(namespace);
  const made = history.find(
    ({ kind, object }) => kind === 'StatefulSet' && object.metadata.name.endsWith(`--${worker}`),
  );
  const beside = history.findLast(
    ({ kind, object }) =>
      kind === 'Pod' &&
      object.metadata.labels?.['davit.dev/component'] === worker &&
      object.metadata.ownerReferences?.[0]?.kind === 'ReplicaSet',
  );
  if (!made || !beside) throw new NotConverged(`workers: no StatefulSet, or no pod, of ${worker} was seen`);
  if (!beside.gone || beside.version > made.version)
    throw new NotConverged(`workers: ${worker} became a singleton while ${beside.object.metadata.name} was there`);
}

/** The same as nothing, in every way that there is to say it. */
const REFORMED = {
  sourceConfig: { resourceSpec: { volumes: [], volumeMounts: [], sidecars: [], initContainers: [], labels: {} } },
  secretReferences: [],
};

/** The record's, the oldest first. */
function revisionsIn({ census, namespace }: Scene): readonly Seen[] {
  const revisions = census.current(namespace).filter(({ kind }) => kind === 'AppRevision');
  return revisions
    .map(({ object }) => object)
    .toSorted((a, b) => a.spec.deploymentGeneration - b.spec.deploymentGeneration);
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

/** The controller asks for the events of a pod that takes longer than 2 s to begin. */
const EVENTS_ASKED_AFTER_MS = 2500;

/** The Job of the newest revision. */
function migrationOf(scene: Scene): Seen | undefined {
  const id = revisionsIn(scene).at(-1)?.spec.id;
  const jobs = scene.census.current(scene.namespace).filter(({ kind }) => kind === 'Job');
  return jobs.find(({ object }) => object.metadata.labels?.['davit.dev/revision'] === id)?.object;
}

function cronJobIn(scene: Scene): Seen | undefined {
  return childIn(scene, 'CronJob', `${RECORD}--clean`);
}

function runName(count: number): string {
  return `${RECORD}--clean-${count}`;
}

/** The Job that the schedule would begin. */
function runOf(scene: Scene, count: number, image?: string): object {
  const { metadata, spec } = cronJobIn(scene) ?? {};
  const template = structuredClone(spec.jobTemplate);
  if (image !== undefined) template.spec.template.spec.containers[0].image = image;
  const owner = { apiVersion: 'batch/v1', kind: 'CronJob', name: metadata?.name, uid: metadata?.uid, controller: true };
  return {
    metadata: { ...template.metadata, name: runName(count), ownerReferences: [owner] },
    spec: template.spec,
  };
}

/** What the record says of it. */
function runIn(scene: Scene, count: number): { readonly state: string; readonly exitCode?: number } | undefined {
  const [task] = (recordIn(scene)?.status?.tasks ?? []) as {
    runs: { job: string; state: string; exitCode?: number }[];
  }[];
  return task?.runs.find(({ job }) => job === runName(count));
}

function podOfRun({ census, namespace }: Scene, count: number): Seen | undefined {
  const found = census
    .current(namespace)
    .find(
      ({ kind, object }) =>
        kind === 'Pod' && object.metadata.labels?.['batch.kubernetes.io/job-name'] === runName(count),
    );
  return found?.object;
}

/** Whether the runs of tasks reach these stores. */
function tasksReach(scene: Scene, ...stores: readonly string[]): boolean {
  return stores.every((store) =>
    JSON.stringify(childIn(scene, 'NetworkPolicy', `${RECORD}--${store}`)?.spec ?? {}).includes('"task"'),
  );
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

/** The labels of the service's pod without that by which its ReplicaSet would take the copy for one of its own. */
function copyOfPod({ census, namespace }: Scene): object {
  const original = census
    .current(namespace)
    .find(({ kind, object }) => kind === 'Pod' && object.metadata.labels?.['davit.dev/component'] === 'server');
  const { 'pod-template-hash': _, ...labels } = original?.object.metadata.labels ?? {};
  return { metadata: { name: `${RECORD}-copy`, labels }, spec: { containers: [{ name: 'server', image: IMAGES[0] }] } };
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

/** What the pods of the main service were started with. */
function digestOf(scene: Scene): string | undefined {
  return childIn(scene, 'Deployment', RECORD)?.spec.template.metadata.annotations?.['davit.dev/secrets'];
}

export const DECOY = 'somebody-elses';

function decoy(kind: string, spec: object | undefined): object {
  const labels = {
    'davit.dev/deployment': RECORD,
    'davit.dev/deployment-uid': '00000000-0000-4000-8000-000000000000',
    'davit.dev/component': 'server',
  };
  return { apiVersion: 'v1', kind, metadata: { name: DECOY, labels }, ...(spec && { spec }) };
}

function foreignService(): object {
  return { apiVersion: 'v1', kind: 'Service', metadata: { name: RECORD }, spec: { ports: [{ port: 1234 }] } };
}
