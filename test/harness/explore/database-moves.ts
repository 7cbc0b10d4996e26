// Operations on a database in the explorer: what people ask for, what the Job that loads a backup does, and what must hold of all databases
// of a record.

import type { Pod, Workload } from '../../../src/deploy/assess/observed.ts';
import { isUnended as isUnendedPod } from '../../../src/deploy/assess/pod-failures.ts';
import { databaseNumberOf, databaseOf, databaseText, restoreOf } from '../../../src/deploy/record/database-move.ts';
import { databaseNumberIn } from '../../../src/deploy/record/names.ts';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../../src/kinds/app-deployment.ts';
import { DATASTORE_OPERATIONS, type DatastoreOperation } from '../../../src/kinds/datastore-operation.ts';
import {
  BACKUP,
  COMPONENT_LABEL,
  DEPLOYMENT_LABEL,
  EMPTY_DATABASE_ANNOTATION,
  MIGRATION,
  RESTORE,
  RESTORE_CONTAINER,
  STORE_PARTS,
} from '../../../src/kinds/meta.ts';
import { isBegun, isEnded, type OperationAction } from '../../../src/kinds/operation-phases.ts';
import { DEPLOYMENTS, JOBS, PODS, POSTGRES_CLUSTERS, STATEFUL_SETS } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { isReady, podsOf, type WithTemplate } from './cluster-events.ts';
import { databaseObjects, hasData, holderOf, NUMBERS, noteData, numberOfPods } from './databases.ts';
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

/** One that nobody has made: the store of the explorer has every backup. */
const RESTORED = '20260202T000000Z-0000000a';

const ASKS = {
  Move: {},
  Restore: { restore: { backup: RESTORED } },
  Return: {},
} as const satisfies Partial<Record<OperationAction, Partial<DatastoreOperation['spec']>>>;

const operationsIn = (scene: Scene, namespace: string): readonly DatastoreOperation[] =>
  scene.all<DatastoreOperation>(DATASTORE_OPERATIONS, namespace);

/** As `kubectl create` does. Two are unfinished at most, so that one waits for the other. */
function ask(scene: Scene, record: AppDeployment, spec: Omit<DatastoreOperation['spec'], 'deployment'>): void {
  const { namespace = '', name } = record.metadata;
  const taken = new Set(operationsIn(scene, namespace).map(({ metadata }) => metadata.name));
  const free = ['one', 'two'].map((one) => `${name}-${one}`).find((one) => !taken.has(one));
  if (free === undefined) return;
  const operation = {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'DatastoreOperation',
    metadata: { name: free, namespace, generation: 1 },
    spec: { deployment: name, ...spec },
  } as const;
  scene.put(DATASTORE_OPERATIONS, operation, 'person');
  scene.setMark(namespace, cancelledMark(record), undefined);
}

const mayAsk = (scene: Scene, namespace: string): boolean => operationsIn(scene, namespace).length < 2;
const asks = (action: keyof typeof ASKS): Event => ({
  name: `somebody asks for action ${action} of %`,
  by: 'people',
  subjects: (scene, namespace) =>
    alive(scene, namespace)
      .filter((record) => mayAsk(scene, namespace) && nextNumber(scene, record) < NUMBERS.length)
      .map(({ metadata }) => metadata.name),
  happen(scene, namespace, name) {
    const record = named(scene, namespace, name);
    if (record) ask(scene, record, { action, ...ASKS[action] });
  },
});
function nextNumber(scene: Scene, record: AppDeployment): number {
  const { namespace = '', name } = record.metadata;
  const used = databaseObjects(scene, namespace, name).map(({ number }) => number);
  return Math.max(...used, ...revisionsOf(scene, record).map(databaseNumberOf)) + 1;
}

/** Of the database that is not used, or by mistake of the one that is. */
const deletesPrevious: Event = {
  name: 'somebody asks to delete database 0 of %',
  by: 'people',
  subjects: (scene, namespace) =>
    mayAsk(scene, namespace) ? alive(scene, namespace).map(({ metadata }) => metadata.name) : [],
  happen(scene, namespace, name) {
    const record = named(scene, namespace, name);
    if (record) ask(scene, record, { action: 'DeletePrevious', deletePrevious: { number: 0 } });
  },
};

const cancels: Event = {
  name: 'somebody deletes operation %',
  by: 'people',
  subjects: (scene, namespace) =>
    operationsIn(scene, namespace)
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      .map(({ metadata }) => metadata.name),
  async happen(scene, namespace, name) {
    const operation = scene.get<DatastoreOperation>(DATASTORE_OPERATIONS, namespace, name);
    if (!operation) return;
    const { move, phase } = operation.status ?? {};
    const record = named(scene, namespace, operation.spec.deployment);
    const isAlone = operationsIn(scene, namespace).length === 1;
    if (record && move && isAlone && phase !== 'Starting' && !isEnded(operation))
      scene.setMark(namespace, cancelledMark(record), String(move.to.number));
    await scene.kube.remove(DATASTORE_OPERATIONS, { namespace, name }, { uid: operation.metadata.uid ?? '' });
  },
};

/** Says which database an operation was to lead to that somebody deleted in time, until somebody asks for another one. */
const cancelledMark = ({ metadata }: AppDeployment): string => `cancelled ${metadata.uid}`;

export function cancelIsIgnored(scene: Scene, record: AppDeployment): string | undefined {
  const { namespace = '', name } = record.metadata;
  const to = scene.mark(namespace, cancelledMark(record));
  const [newest] = revisionsOf(scene, record);
  return to !== undefined && newest !== undefined && String(databaseNumberOf(newest)) === to
    ? `Somebody deleted the operation that leads to database ${to}, and ${name} is on it.`
    : undefined;
}

/** Of one deployment. Backups are not meant: they change nothing. */
export function operationsAtOnce({ after }: PassSeen, namespace: string): string | undefined {
  const begun = operationsIn(after, namespace).filter((one) => isBegun(one) && !isEnded(one));
  const [one, other] = begun.toSorted((a, b) => a.spec.deployment.localeCompare(b.spec.deployment));
  return one && other?.spec.deployment === one.spec.deployment
    ? `Operations ${one.metadata.name} and ${other.metadata.name} work on ${one.spec.deployment}.`
    : undefined;
}

/** The kubelet starts the pod of a backup that an operation makes. */
const backupBegins: Event = {
  name: 'the pod of Job % begins',
  by: 'cluster',
  calm: true,
  subjects: (scene, namespace) =>
    scene
      .all<Run>(JOBS, namespace)
      .filter((job) => isBackup(job) && isUnended(job) && !scene.get(PODS, namespace, podOf(job.metadata.name)))
      .map(({ metadata }) => metadata.name),
  happen(scene, namespace, subject) {
    const job = scene.get(JOBS, namespace, subject);
    if (!job) return;
    const { labels } = job.metadata;
    const metadata = {
      name: podOf(subject),
      namespace,
      ...(labels && { labels }),
      ownerReferences: [controlledBy('Job', job)],
    };
    scene.put(PODS, { apiVersion: 'v1', kind: 'Pod', metadata, status: { phase: 'Running' } } as KubeObject);
  },
};
const isBackup = ({ metadata }: KubeObject): boolean => metadata.labels?.[COMPONENT_LABEL] === BACKUP;

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
  asks('Move'),
  asks('Restore'),
  asks('Return'),
  deletesPrevious,
  cancels,
  backupBegins,
  restoreEnds('loads its backup'),
  restoreEnds('fails'),
  endedPodGoes(restoresIn),
  applicationWrites,
  operatorGoes,
  operatorComes,
];

/** What a careful person does: operations of deployments that are gone go too. */
export function mendMove(scene: Scene, record: AppDeployment): void {
  const { namespace = '' } = record.metadata;
  // A deployment that began with a backup which could not be loaded is helped; an operation helps itself.
  for (const job of restoresIn(scene, namespace).filter((one) => !isUnended(one) && !ofOperation(scene, record)))
    scene.erase(JOBS, job);
}

function ofOperation(scene: Scene, { metadata }: AppDeployment): boolean {
  return operationsIn(scene, metadata.namespace ?? '').some(
    (one) => one.spec.deployment === metadata.name && one.status?.move !== undefined && !isEnded(one),
  );
}

/** A pod, or a workload, of what uses the database. */
function isOfApplication({ metadata: { name } }: AppDeployment, { metadata: { labels = {} } }: KubeObject): boolean {
  const component = labels[COMPONENT_LABEL];
  return (
    labels[DEPLOYMENT_LABEL] === name && component !== undefined && !STORE_PARTS.some((part) => part === component)
  );
}

/** At rest no operation is unfinished: each ends on its own. */
export function operationIsStuck(scene: Scene, record: AppDeployment): string | undefined {
  const { namespace = '', name } = record.metadata;
  const stuck = operationsIn(scene, namespace).find(
    (one) => one.spec.deployment === name && (!isEnded(one) || one.metadata.deletionTimestamp !== undefined),
  );
  return stuck && `Operation ${stuck.metadata.name} is ${stuck.status?.phase}, and nothing happens any more.`;
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
