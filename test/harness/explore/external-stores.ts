// PostgreSQL and Redis that others run, named by an address: they stop answering, and the pods that start then wait for them.

import type { Pod } from '../../../src/deploy/assess/observed.ts';
import { imageOf } from '../../../src/deploy/record/revision-image.ts';
import type { AppDeployment } from '../../../src/kinds/app-deployment.ts';
import { conditionOf } from '../../../src/kinds/conditions.ts';
import {
  COMPONENT_LABEL,
  MIGRATION,
  STORE_PARTS,
  type StorePart,
  WAIT_FOR_DATABASE,
  WAIT_FOR_REDIS,
} from '../../../src/kinds/meta.ts';
import { JOBS, PODS } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import {
  awaitedBy,
  eventOfWorkloads,
  isCurrent,
  isReady,
  type PodSpec,
  passed,
  podsOf,
  SILENT,
  setPod,
  starting,
  workloads,
} from './cluster-events.ts';
import type { Event } from './event.ts';
import { revisionsOf } from './people-events.ts';
import { LATER, NOW, type Scene } from './scene.ts';

const NAMES: Readonly<Record<StorePart, string>> = { postgres: 'PostgreSQL', redis: 'Redis' };
const WAITS: Readonly<Record<StorePart, string>> = { postgres: WAIT_FOR_DATABASE, redis: WAIT_FOR_REDIS };
const CONDITIONS = { postgres: 'DatabaseReady', redis: 'RedisReady' } as const;
const STARTED = new Date(NOW).toISOString();

const markOf = (part: StorePart): string => `external ${part}`;
const isSilent = (scene: Scene, namespace: string, part: StorePart): boolean =>
  scene.mark(namespace, markOf(part)) === SILENT;

const stops = (part: StorePart): Event => ({
  name: `the external ${NAMES[part]} stops answering`,
  by: 'cluster',
  subjects: (scene, namespace) => (isSilent(scene, namespace, part) ? [] : ['']),
  happen: (scene, namespace) => scene.setMark(namespace, markOf(part), SILENT),
});
const answers = (part: StorePart): Event => ({
  name: `the external ${NAMES[part]} answers again`,
  by: 'cluster',
  subjects: (scene, namespace) => (isSilent(scene, namespace, part) ? [''] : []),
  happen: (scene, namespace) => scene.setMark(namespace, markOf(part), undefined),
});

/** The container in which a pod waits, as its status shows it. */
const waitingIn = ({ status }: Pod): string | undefined =>
  status?.initContainerStatuses?.find(({ state }) => state?.terminated === undefined)?.name;

/** Shows the pod in the init container that waits. What it has got through is over. */
function wait(scene: Scene, pod: Pod, { initContainers = [] }: PodSpec, at: string): void {
  const before = initContainers.slice(
    0,
    initContainers.findIndex(({ name }) => name === at),
  );
  const initContainerStatuses = [
    ...before.map(({ name }) => passed(name)),
    { name: at, state: { running: { startedAt: STARTED } } },
  ];
  setPod(scene, pod, { phase: 'Pending', initContainerStatuses });
}

const podsWait = eventOfWorkloads('the pods of % wait for a store', {
  calm: true,
  can(one, scene) {
    const pod = starting(scene, one);
    const at = awaitedBy(scene, one, one.spec.template);
    // A program that has run before is past its init containers.
    return pod?.status?.containerStatuses === undefined && pod && at !== undefined && waitingIn(pod) !== at;
  },
  happen(scene, one) {
    const [pod, at] = [starting(scene, one), awaitedBy(scene, one, one.spec.template)];
    if (pod && at !== undefined) wait(scene, pod, one.spec.template.spec, at);
  },
});

/** A node goes with the pods on it, so that new ones start. */
const nodeGone = eventOfWorkloads('the node of the pods of % is gone', {
  can: (one, scene) => one.kind === 'Deployment' && podsOf(scene, one).some(isReady),
  happen(scene, one) {
    for (const pod of podsOf(scene, one)) scene.erase(PODS, pod);
  },
});

interface Job extends KubeObject {
  readonly spec: { readonly template: Pick<KubeObject, 'metadata'> & { readonly spec: PodSpec } };
  readonly status?: { readonly conditions?: readonly object[] };
}
const podOf = (job: string): string => `${job}-pod`;
const migrations = (scene: Scene, namespace: string): readonly Job[] =>
  scene.all<Job>(JOBS, namespace).filter(({ metadata }) => metadata.labels?.[COMPONENT_LABEL] === MIGRATION);

const migrationWaits: Event = {
  name: 'the pod of Job % waits for a store',
  by: 'cluster',
  calm: true,
  subjects: (scene, namespace) =>
    migrations(scene, namespace)
      .filter((job) => {
        const at = awaitedBy(scene, job, job.spec.template);
        const pod = scene.get<Pod>(PODS, namespace, podOf(job.metadata.name));
        return at !== undefined && job.status?.conditions === undefined && !(pod && waitingIn(pod) === at);
      })
      .map(({ metadata }) => metadata.name),
  happen(scene, namespace, subject) {
    const job = scene.get<Job>(JOBS, namespace, subject);
    const at = job && awaitedBy(scene, job, job.spec.template);
    if (!job || at === undefined) return;
    const { metadata, spec } = job.spec.template;
    const { name, uid = '' } = job.metadata;
    const owner = { apiVersion: 'batch/v1', kind: 'Job', name, uid, controller: true };
    const pod: Pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: podOf(name), namespace, labels: metadata.labels ?? {}, ownerReferences: [owner] },
      spec: { containers: spec.containers.map(({ name: container, image }) => ({ name: container, image })) },
    };
    wait(scene, pod, spec, at);
  },
};
/** A migration that waits is ended by its deadline, which is shorter than a day. */
const migrationIsOver: Event = {
  name: 'Job % is over its deadline',
  by: 'cluster',
  calm: true,
  subjects: (scene, namespace) =>
    scene.mark('', LATER) === undefined
      ? []
      : migrations(scene, namespace)
          .filter((job) => job.status?.conditions === undefined && awaitedBy(scene, job, job.spec.template))
          .map(({ metadata }) => metadata.name),
  happen(scene, namespace, subject) {
    const job = scene.get<Job>(JOBS, namespace, subject);
    const conditions = [{ type: 'Failed', status: 'True', reason: 'DeadlineExceeded' }];
    if (job) scene.change(JOBS, job, { status: { conditions } });
  },
};
/** The pod of a Job that has ended goes, or that of one whose store answers now: the Job ends soon. */
const migrationPodGoes: Event = {
  name: 'the pod of Job % goes',
  by: 'cluster',
  calm: true,
  subjects: (scene, namespace) =>
    migrations(scene, namespace)
      .filter(
        (job) =>
          scene.get(PODS, namespace, podOf(job.metadata.name)) &&
          (job.status?.conditions !== undefined || awaitedBy(scene, job, job.spec.template) === undefined),
      )
      .map(({ metadata }) => metadata.name),
  happen(scene, namespace, subject) {
    const pod = scene.get(PODS, namespace, podOf(subject));
    if (pod) scene.erase(PODS, pod);
  },
};

export const EXTERNAL_STORE_EVENTS: readonly Event[] = [
  podsWait,
  migrationWaits,
  migrationIsOver,
  migrationPodGoes,
  nodeGone,
  ...STORE_PARTS.flatMap((part) => [stops(part), answers(part)]),
];

/** Somebody brings external stores back. */
export function answerAgain(scene: Scene, namespace: string): void {
  for (const part of STORE_PARTS) scene.setMark(namespace, markOf(part), undefined);
}

/** What is wrong with what the status says of external stores, at rest: of a record that no revision of which had an own one. */
export function externalStoresAreWrong(scene: Scene, record: AppDeployment): string | undefined {
  const revisions = revisionsOf(scene, record);
  const [newest] = revisions;
  if (!newest || imageOf(newest) === undefined || newest.spec.resolved.server.maxScale === 0) return undefined;
  const external = STORE_PARTS.filter((part) => revisions.every(({ spec }) => spec.resolved[part] === undefined));
  // An own one that is lost decides the state, whatever pods serve.
  const decide = external.length === STORE_PARTS.length;
  return external.map((part) => wrongOf(scene, record, part, decide)).find((sentence) => sentence !== undefined);
}

function wrongOf(scene: Scene, record: AppDeployment, part: StorePart, decide: boolean): string | undefined {
  const { namespace = '', name } = record.metadata;
  const { status, reason, message } = conditionOf(record.status?.conditions, CONDITIONS[part]) ?? {};
  const own = workloads(scene, namespace).filter(({ metadata }) => metadata.name.startsWith(name));
  const current = own.flatMap((one) => podsOf(scene, one).filter((pod) => isCurrent(pod, one)));
  const waiting = current.find((pod) => waitingIn(pod) === WAITS[part]);
  const says = `${CONDITIONS[part]} is ${status}, ${reason}: ${message}`;
  // Twenty seconds are over a day later, and not before.
  if (waiting && scene.mark('', LATER) !== undefined) {
    if (status !== 'False' || reason !== 'NotAnswering')
      return `Pod ${waiting.metadata.name} waits for ${NAMES[part]}, and ${says}`;
    if (!message?.includes(`-c ${WAITS[part]}`)) return `No command shows the log of ${WAITS[part]}: ${message}`;
  }
  const [newest] = revisionsOf(scene, record);
  const isComplete = own.length > 0 && current.length === own.length && current.every(isReady);
  const isWhole = newest?.status?.state === 'DEPLOYED' && isComplete;
  if (isWhole && status !== 'True') return `Every pod has connected to ${NAMES[part]}, and ${says}`;
  const { state } = record.status ?? {};
  const server = own.find(({ metadata }) => metadata.labels?.[COMPONENT_LABEL] === 'server');
  const serves = server !== undefined && podsOf(scene, server).some(isReady);
  const hasServed = record.status?.activeRevisionId !== undefined;
  const isTold = message?.includes('The running pods connected earlier.') === true;
  if (reason === 'NotObserved' && serves && !isTold)
    return `Pods serve that have connected to ${NAMES[part]}, and ${says}`;
  if (decide && serves && hasServed && state !== 'READY') return `The state is ${state}, and pods serve. ${says}`;
  const isHeld = server !== undefined && podsOf(scene, server).every((pod) => waitingIn(pod) !== undefined);
  if (waiting && isHeld && scene.mark('', LATER) !== undefined && state !== 'AWAITING_DATABASE')
    return `The state is ${state}, and nothing serves, because pods wait for ${NAMES[part]}.`;
  return undefined;
}
