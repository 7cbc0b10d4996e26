// Moves of a database in the explorer: what people ask for, what the Job that loads a backup does, and what must hold of all databases of a
// record.

import type { Pod, Workload } from '../../../src/deployments/assess/observed.ts';
import { isUnended as isUnendedPod } from '../../../src/deployments/assess/pod-failures.ts';
import {
  databaseNumberOf,
  databaseOf,
  databaseText,
  moveAsked,
  moveText,
  restoreOf,
} from '../../../src/deployments/record/database-move.ts';
import { moveBack } from '../../../src/deployments/record/moving-database.ts';
import { databaseNumberIn } from '../../../src/deployments/record/names.ts';
import { DEPLOYMENTS, JOBS, PODS, POSTGRES_CLUSTERS, STATEFUL_SETS } from '../../../src/lib/kube/api-resources.ts';
import type { KubeObject } from '../../../src/lib/kube/client.ts';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../../src/schema/app-deployment.ts';
import type { AppRevision } from '../../../src/schema/app-revision.ts';
import { conditionOf } from '../../../src/schema/conditions.ts';
import type { DatabaseDriver } from '../../../src/schema/database.ts';
import {
  COMPONENT_LABEL,
  DEPLOYMENT_LABEL,
  EMPTY_DATABASE_ANNOTATION,
  MIGRATION,
  MOVE_DATABASE_ANNOTATION,
  MOVE_DATABASE_BY_ANNOTATION,
  RESTORE,
  RESTORE_CONTAINER,
  STORE_PARTS,
} from '../../../src/schema/meta.ts';
import { isReady, podsOf, type WithTemplate } from './cluster-events.ts';
import { databaseObjects, dataMark, hasData, holderOf, NUMBERS, noteData, numberOfPods } from './databases.ts';
import type { Event } from './event.ts';
import { controlledBy, endedPodGoes, isUnended, podOf, type Run } from './job-events.ts';
import type { PassSeen } from './pass-seen.ts';
import { records, revisionsOf } from './people-events.ts';
import { CNPG_MARK, clusterServes } from './postgres-cluster.ts';
import type { Scene } from './scene.ts';

interface RestoreJob extends Run {
  readonly spec?: {
    readonly template?: {
      readonly spec?: { readonly initContainers?: readonly { readonly args?: readonly string[] }[] };
    };
  };
}

const alive = (scene: Scene, namespace: string): readonly AppDeployment[] =>
  records(scene, namespace).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
const named = (scene: Scene, namespace: string, name: string): AppDeployment | undefined =>
  scene.get<AppDeployment>(APP_DEPLOYMENTS, namespace, name);

/**
 * A write that kubectl makes: the annotation and who asks, and the driver, at once. It changes the record whatever that has, because the API
 * server takes no request otherwise.
 */
async function ask(scene: Scene, record: AppDeployment, move: string | null, driver: DatabaseDriver): Promise<void> {
  const { namespace = '', name } = record.metadata;
  const database = { driver, instances: driver === 'cloudnative-pg' ? 1 : null };
  const { uid, generation = 0 } = record.metadata;
  const by = move === null ? null : `${uid} ${generation + 1} anna`;
  const { revisionSerial = 0 } = record.spec;
  const patch = {
    metadata: { annotations: { [MOVE_DATABASE_ANNOTATION]: move, [MOVE_DATABASE_BY_ANNOTATION]: by } },
    spec: {
      ...(move !== null &&
        record.spec.sourceConfig.database?.driver === driver && { revisionSerial: revisionSerial + 1 }),
      sourceConfig: { database },
    },
  };
  await scene.kube.mergePatch(APP_DEPLOYMENTS, { namespace, name }, patch, { fieldManager: 'person' });
}

/** The backup that a person makes before the move to the database of this number. */
const backupFor = (number: number): string => `20260202T00${number + 10}00Z-0000000a`;
/** One that nobody has used: docs/database-moves.md. */
function nextNumber(scene: Scene, record: AppDeployment, own: readonly AppRevision[]): number {
  const { namespace = '', name } = record.metadata;
  const used = databaseObjects(scene, namespace, name).map(({ number }) => number);
  return Math.max(...used, ...own.map(databaseNumberOf)) + 1;
}

export const moveUp: Event = {
  name: 'somebody asks to move the database of % to cloudnative-pg',
  by: 'people',
  subjects: (scene, namespace) =>
    alive(scene, namespace)
      .filter((record) => {
        const own = revisionsOf(scene, record);
        const now = own[0] && databaseOf(own[0]);
        return now?.driver === 'pod' && nextNumber(scene, record, own) < NUMBERS.length;
      })
      .map(({ metadata }) => metadata.name),
  async happen(scene, namespace, name) {
    const record = named(scene, namespace, name);
    const own = record ? revisionsOf(scene, record) : [];
    const from = own[0] && databaseOf(own[0]);
    if (!record || !from) return;
    const number = nextNumber(scene, record, own);
    const to = { driver: 'cloudnative-pg', number } as const;
    await ask(scene, record, moveText({ from, to, backup: backupFor(number) }), to.driver);
  },
};

export const goBack: Event = {
  name: 'somebody asks to go back to the database of before of %',
  by: 'people',
  subjects: (scene, namespace) =>
    alive(scene, namespace)
      .filter((record) => 'move' in moveBack(record, revisionsOf(scene, record)))
      .map(({ metadata }) => metadata.name),
  async happen(scene, namespace, name) {
    const record = named(scene, namespace, name);
    const decided = record && moveBack(record, revisionsOf(scene, record));
    if (record && decided && 'move' in decided)
      await ask(scene, record, moveText(decided.move), decided.move.to.driver);
  },
};

const isAsked = (scene: Scene, record: AppDeployment): boolean =>
  moveAsked(record, revisionsOf(scene, record)) !== undefined;
async function end(scene: Scene, record: AppDeployment): Promise<void> {
  const [newest] = revisionsOf(scene, record);
  const now = newest && databaseOf(newest);
  if (now) await ask(scene, record, null, now.driver);
}
export const endMove: Event = {
  name: 'somebody ends the move of %',
  by: 'people',
  subjects: (scene, namespace) =>
    alive(scene, namespace)
      .filter((record) => isAsked(scene, record))
      .map(({ metadata }) => metadata.name),
  async happen(scene, namespace, name) {
    const record = named(scene, namespace, name);
    if (record) await end(scene, record);
  },
};

/** As `kubectl davit database forget-old` does, and where it does. */
export const forgetOld: Event = {
  name: 'somebody deletes what the database of % was moved from',
  by: 'people',
  subjects: (scene, namespace) =>
    alive(scene, namespace)
      .filter(
        (record) =>
          conditionOf(record.status?.conditions, 'Ready')?.reason === 'Serving' && oldOf(scene, record).length > 0,
      )
      .map(({ metadata }) => metadata.name),
  async happen(scene, namespace, name) {
    const record = named(scene, namespace, name);
    for (const { resource, object } of record ? oldOf(scene, record) : []) {
      const { name: of, uid = '' } = object.metadata;
      // oxlint-disable-next-line no-await-in-loop -- one object after the other
      await scene.kube.remove(resource, { namespace, name: of }, { uid });
      scene.setMark(namespace, dataMark(of), undefined);
    }
  },
};
function oldOf(scene: Scene, record: AppDeployment): ReturnType<typeof databaseObjects> {
  const [newest] = revisionsOf(scene, record);
  const now = newest ? databaseNumberOf(newest) : 0;
  const { namespace = '', name } = record.metadata;
  return databaseObjects(scene, namespace, name).filter(
    ({ object, number }) => number !== now && object.metadata.deletionTimestamp === undefined,
  );
}

const restoresIn = (scene: Scene, namespace: string): readonly RestoreJob[] =>
  scene.all<RestoreJob>(JOBS, namespace).filter(({ metadata }) => metadata.labels?.[COMPONENT_LABEL] === RESTORE);
/** What the Job loads into; undefined if that does not answer. */
function targetOf(
  scene: Scene,
  { metadata: { namespace = '', name, labels = {} } }: RestoreJob,
): KubeObject | undefined {
  const record = labels[DEPLOYMENT_LABEL] ?? '';
  const number = NUMBERS.find((one) => name === `${record}---pg${one}-restore`) ?? 0;
  const holder = holderOf(scene, namespace, record, number);
  const set = holder && scene.get<WithTemplate>(STATEFUL_SETS, namespace, holder.metadata.name);
  const answers = set ? podsOf(scene, set).some(isReady) : clusterServes(scene, namespace, holder?.metadata.name ?? '');
  return answers ? holder : undefined;
}
const loadedMark = (holder: string): string => `loaded ${holder}`;
const optionOf = ({ spec }: RestoreJob, option: string): string | undefined =>
  (spec?.template?.spec?.initContainers ?? [])
    .flatMap(({ args = [] }) => args)
    .find((arg) => arg.startsWith(`--${option}=`))
    ?.slice(option.length + 3);

/** The Job loads all of its backup or nothing, and nothing over data that is another's. */
const restoreEnds = (how: 'loads its backup' | 'fails'): Event => ({
  name: `Job % ${how}`,
  by: 'cluster',
  ...(how === 'loads its backup' && { calm: true as const }),
  subjects: (scene, namespace) =>
    restoresIn(scene, namespace)
      .filter((job) => isUnended(job) && targetOf(scene, job) !== undefined)
      .map(({ metadata }) => metadata.name),
  happen(scene, namespace, subject) {
    const job = scene.get<RestoreJob>(JOBS, namespace, subject);
    const holder = job && targetOf(scene, job);
    if (!job || !holder) return;
    const { name, uid } = holder.metadata;
    const backup = optionOf(job, 'backup');
    const loaded = `${uid} ${backup}`;
    const isOthers = hasData(scene, holder) && scene.mark(namespace, loadedMark(name)) !== loaded;
    const isDone = how === 'loads its backup' && backup !== undefined && !isOthers;
    if (isDone) {
      scene.setMark(namespace, loadedMark(name), loaded);
      noteData(scene, holder);
    }
    const report = { from: optionOf(job, 'deployment'), name: backup, takenAt: '2026-02-02T00:00:00Z', sizeBytes: 1 };
    const terminated = { exitCode: isDone ? 0 : 4, reason: 'Error', message: isDone ? JSON.stringify(report) : 'no' };
    const { labels } = job.metadata;
    scene.put(PODS, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name: podOf(subject),
        namespace,
        ...(labels && { labels }),
        ownerReferences: [controlledBy('Job', job)],
      },
      status: {
        phase: isDone ? 'Succeeded' : 'Failed',
        containerStatuses: [{ name: RESTORE_CONTAINER, state: { terminated } }],
      },
    } as KubeObject);
    const type = isDone ? 'Complete' : 'Failed';
    scene.change(JOBS, job, { status: { conditions: [{ type, status: 'True', message: 'it has ended' }] } });
  },
});

/** The databases of later numbers have data from their backup on, and from what the application writes. */
const applicationWrites: Event = {
  name: 'the application writes to %',
  by: 'cluster',
  calm: true,
  subjects: (scene, namespace) =>
    records(scene, namespace).flatMap((record) => {
      const own = revisionsOf(scene, record);
      const pods = scene.all<Pod>(PODS, namespace).filter((pod) => isOfApplication(record, pod) && isReady(pod));
      const numbers = new Set(pods.map(({ metadata }) => numberOfPods(own, metadata.labels)));
      return NUMBERS.filter((number) => number > 0 && numbers.has(number)).flatMap((number) => {
        const holder = holderOf(scene, namespace, record.metadata.name, number);
        return holder && !hasData(scene, holder) ? [holder.metadata.name] : [];
      });
    }),
  happen(scene, namespace, name) {
    for (const record of records(scene, namespace)) {
      const number = databaseNumberIn(record.metadata.name, name);
      const holder = number === undefined ? undefined : holderOf(scene, namespace, record.metadata.name, number);
      if (holder) noteData(scene, holder);
    }
  },
};

const operatorGoes: Event = {
  name: 'CloudNativePG goes',
  by: 'cluster',
  subjects: (scene, namespace) => (scene.mark(namespace, CNPG_MARK) === undefined ? [''] : []),
  // Its kind is there as long as somebody has a Cluster.
  happen: (scene, namespace) =>
    scene.setMark(namespace, CNPG_MARK, scene.all(POSTGRES_CLUSTERS, namespace).length > 0 ? 'away' : 'absent'),
};
const operatorComes: Event = {
  name: 'CloudNativePG is there again',
  by: 'cluster',
  subjects: (scene, namespace) => (scene.mark(namespace, CNPG_MARK) === undefined ? [] : ['']),
  happen: (scene, namespace) => scene.setMark(namespace, CNPG_MARK, undefined),
};

export const MOVE_EVENTS: readonly Event[] = [
  goBack,
  endMove,
  forgetOld,
  restoreEnds('loads its backup'),
  restoreEnds('fails'),
  endedPodGoes(restoresIn),
  applicationWrites,
  operatorGoes,
  operatorComes,
];

/** What a careful person does of a move: a load that failed is tried again, and a move that Davit does not make is ended. */
export async function mendMove(scene: Scene, record: AppDeployment): Promise<void> {
  const { namespace = '', deletionTimestamp } = record.metadata;
  for (const job of restoresIn(scene, namespace).filter((one) => !isUnended(one))) scene.erase(JOBS, job);
  const { database } = record.spec.sourceConfig;
  const [newest] = revisionsOf(scene, record);
  const now = newest && databaseOf(newest);
  const isOther = now !== undefined && database?.driver !== undefined && database.driver !== now.driver;
  if (deletionTimestamp === undefined && (isAsked(scene, record) || isOther)) await end(scene, record);
}

/** A pod, or a workload, of what uses the database. */
function isOfApplication({ metadata: { name } }: AppDeployment, { metadata: { labels = {} } }: KubeObject): boolean {
  const component = labels[COMPONENT_LABEL];
  return (
    labels[DEPLOYMENT_LABEL] === name && component !== undefined && !STORE_PARTS.some((part) => part === component)
  );
}

/** Nothing of what is written together with a move that Davit does not make is in force. */
export function moveIsRefused({ metadata, status }: AppDeployment): boolean {
  const accepted = conditionOf(status?.conditions, 'PolicyAccepted');
  return accepted?.status === 'False' && metadata.annotations?.[MOVE_DATABASE_ANNOTATION] !== undefined;
}

/** Whether an object of this name runs a database that the record does not use any more. */
export function isMovedFrom(scene: Scene, record: AppDeployment, name: string): boolean {
  const of = databaseNumberIn(record.metadata.name, name);
  const [newest] = revisionsOf(scene, record);
  return of !== undefined && newest !== undefined && databaseNumberOf(newest) !== of;
}

/** Pods of a record that is moved are on the database of its newest revision, and that has what it should have begun with. */
export function moveIsWrong({ after }: PassSeen, record: AppDeployment): string | undefined {
  const { namespace = '', name, annotations = {} } = record.metadata;
  const own = revisionsOf(after, record);
  const numbers = new Set(own.map(databaseNumberOf));
  const [newest] = own;
  if (!newest || (numbers.size === 1 && numbers.has(0))) return undefined;
  const now = databaseNumberOf(newest);
  const unended = after.all<Pod>(PODS, namespace).filter((pod) => isOfApplication(record, pod) && isUnendedPod(pod));
  const started = after
    .all<Workload>(DEPLOYMENTS, namespace)
    .filter((one) => isOfApplication(record, one) && (one.spec?.replicas ?? 1) > 0);
  const jobs = after
    .all<Run>(JOBS, namespace)
    .filter(
      (job) => isOfApplication(record, job) && job.metadata.labels?.[COMPONENT_LABEL] === MIGRATION && isUnended(job),
    );
  const labelsOf = (one: KubeObject): KubeObject['metadata']['labels'] =>
    (one as Workload).spec?.template?.metadata?.labels ?? one.metadata.labels;
  const wrong = [...unended, ...started, ...jobs].find((one) => (numberOfPods(own, labelsOf(one)) ?? now) !== now);
  if (wrong)
    return `${wrong.kind} ${wrong.metadata.name} is on database ${numberOfPods(own, labelsOf(wrong))}, and the record has ${now}.`;
  const isGivenUp = annotations[EMPTY_DATABASE_ANNOTATION] !== undefined;
  const isMoved = numbers.size > 1 || newest.spec.resolved.movedDatabase?.backup !== undefined;
  const holder = holderOf(after, namespace, name, now);
  const [begun] = [...started, ...jobs];
  if (!isMoved || isGivenUp || !holder || !begun || hasData(after, holder)) return undefined;
  return `${begun.kind} ${begun.metadata.name} begins on ${holder.kind} ${holder.metadata.name}, which is empty.`;
}

/** Whether what the status says of the databases of a record is true. */
export function moveIsMisreported(scene: Scene, record: AppDeployment): string | undefined {
  const own = revisionsOf(scene, record);
  const [newest] = own;
  const now = newest && databaseOf(newest);
  if (!newest || !now) return undefined;
  const { namespace = '', name } = record.metadata;
  const { databaseNumber = 0, databaseVolumeUid, databaseRestore } = record.status ?? {};
  if (databaseNumber !== now.number)
    return `status.databaseNumber is ${databaseNumber}, and it has ${databaseText(now)}.`;
  const holder = holderOf(scene, namespace, name, now.number);
  const isNamed = databaseVolumeUid === undefined || holder === undefined || databaseVolumeUid === holder.metadata.uid;
  if (!isNamed) return `status.databaseVolumeUid is not that of ${holder.kind} ${holder.metadata.name}.`;
  const asked = restoreOf(record, own)?.backup;
  return databaseRestore?.restoredAt !== undefined && asked !== undefined && databaseRestore.name !== asked
    ? `status.databaseRestore names ${databaseRestore.name}, and it began with ${asked}.`
    : undefined;
}
