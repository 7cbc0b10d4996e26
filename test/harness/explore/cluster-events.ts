// What kubelet, scheduler, the built-in controllers, storage and quotas do. A pod stands for all pods of its template.

import { hash } from 'node:crypto';
import type { ContainerStatus, ObservedCondition, Pod, Workload } from '../../../src/deploy/assess/observed.ts';
import { databaseNumberIn } from '../../../src/deploy/record/names.ts';
import {
  COMPONENT_LABEL,
  DEPLOYMENT_LABEL,
  MIGRATION,
  WAIT_FOR_DATABASE,
  WAIT_FOR_REDIS,
} from '../../../src/kinds/meta.ts';
import {
  DEPLOYMENTS,
  HORIZONTAL_POD_AUTOSCALERS,
  JOBS,
  PERSISTENT_VOLUME_CLAIMS,
  PODS,
  SECRETS,
  STATEFUL_SETS,
} from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { noteData } from './databases.ts';
import type { Event } from './event.ts';
import { clusterServes } from './postgres-cluster.ts';
import { LATER, type Scene } from './scene.ts';

interface Container {
  readonly name: string;
  readonly image: string;
  /** Of a sidecar. */
  readonly restartPolicy?: string;
  readonly env?: readonly { readonly valueFrom?: { readonly secretKeyRef?: { readonly name: string } } }[];
}
interface Claim extends KubeObject {
  readonly spec: { readonly resources: { readonly requests: { readonly storage: string } } };
  readonly status?: { readonly phase?: string; readonly capacity?: { readonly storage: string } };
}
export interface PodSpec {
  readonly containers: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly volumes?: readonly {
    readonly persistentVolumeClaim?: { readonly claimName: string };
    readonly secret?: { readonly secretName?: string };
  }[];
}
export type WithTemplate = Workload & {
  readonly spec: { readonly template: { readonly metadata: object; readonly spec: PodSpec } };
};

const TEMPLATE = 'explore/template';

export function workloads(scene: Scene, namespace: string): WithTemplate[] {
  return [DEPLOYMENTS, STATEFUL_SETS].flatMap((resource) => scene.all<WithTemplate>(resource, namespace));
}
export function workload(scene: Scene, namespace: string, subject: string): WithTemplate {
  const [kind, name = ''] = subject.split(' ');
  return scene.get<WithTemplate>(kind === 'Deployment' ? DEPLOYMENTS : STATEFUL_SETS, namespace, name) as WithTemplate;
}
export const said = ({ kind, metadata: { name } }: KubeObject): string => `${kind} ${name}`;

const templates = new WeakMap<object, string>();
export function templateOf({ spec: { template } }: WithTemplate): string {
  const known = templates.get(template);
  if (known !== undefined) return known;
  const made = hash('sha1', JSON.stringify(template)).slice(0, 8);
  templates.set(template, made);
  return made;
}
/** A ReplicaSet has the name and uid of its Deployment here, and is not an object of its own. */
const ownerOf = (kind: string): string => (kind === 'Deployment' ? 'ReplicaSet' : kind);
export function podsOf(scene: Scene, { kind, metadata }: WithTemplate): Pod[] {
  return scene
    .all<Pod>(PODS, metadata.namespace ?? '')
    .filter(({ metadata: { ownerReferences = [] } }) =>
      ownerReferences.some((owner) => owner.uid === metadata.uid && owner.kind === ownerOf(kind)),
    );
}
export const isReady = ({ status }: Pod): boolean =>
  status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') === true;
export const isCurrent = (pod: Pod, of: WithTemplate): boolean =>
  pod.metadata.annotations?.[TEMPLATE] === templateOf(of);
const wanted = ({ spec }: WithTemplate): number => spec.replicas ?? 1;

const QUOTA_FAILURE: ObservedCondition = {
  type: 'ReplicaFailure',
  status: 'True',
  reason: 'FailedCreate',
  message: 'exceeded quota: pods',
};

/** How far a rollout is: one that has ended stays so, whatever its pods do, and one that does not end fails. */
function progressOf(scene: Scene, one: WithTemplate, isWhole: boolean): readonly ObservedCondition[] {
  if (one.kind !== 'Deployment') return [];
  const template = templateOf(one);
  const before = one.status?.conditions?.find(({ type }) => type === 'Progressing');
  if (isWhole || (before?.reason === 'NewReplicaSetAvailable' && before.message === template))
    return [{ type: 'Progressing', status: 'True', reason: 'NewReplicaSetAvailable', message: template }];
  if (wanted(one) === 0 || scene.mark('', LATER) === undefined) return [];
  return [{ type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded', message: template }];
}

/** Status of a workload as its controller writes it for these pods. */
function statusOf(scene: Scene, one: WithTemplate): object {
  const pods = podsOf(scene, one);
  const count = (which: readonly Pod[]): number => (which.length > 0 ? wanted(one) : 0);
  const current = pods.filter((pod) => isCurrent(pod, one));
  const old = pods.filter((pod) => !isCurrent(pod, one));
  const ready = Math.max(count(current.filter(isReady)), count(old.filter(isReady)));
  const isFull = scene.mark(one.metadata.namespace ?? '', 'quota') === 'full';
  const isRefused = isFull && one.kind === 'Deployment' && wanted(one) > 0 && current.length === 0;
  const template = templateOf(one);
  const before = (one.status as { currentRevision?: string } | undefined)?.currentRevision ?? template;
  const revisions = one.kind === 'StatefulSet' && {
    currentRevision: current.length > 0 ? template : before,
    updateRevision: template,
  };
  return {
    observedGeneration: one.metadata.generation ?? 1,
    replicas: count(current) + count(old),
    updatedReplicas: count(current),
    readyReplicas: ready,
    availableReplicas: ready,
    conditions: [...(isRefused ? [QUOTA_FAILURE] : []), ...progressOf(scene, one, current.some(isReady))],
    ...revisions,
  };
}
export function see(scene: Scene, before: WithTemplate): void {
  const one = workload(scene, before.metadata.namespace ?? '', said(before));
  scene.change(one.kind === 'Deployment' ? DEPLOYMENTS : STATEFUL_SETS, one, {
    status: statusOf(scene, one),
  });
}

export function setPod(scene: Scene, pod: Pod, status: object): void {
  scene.put(PODS, { ...pod, metadata: { ...pod.metadata, generation: 1 }, status } as KubeObject);
}
const claimsOf = ({ spec }: { readonly spec?: Pod['spec'] | PodSpec }): string[] =>
  (spec?.volumes ?? []).flatMap(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName ?? []);

const isSidecar = ({ restartPolicy }: Container): boolean => restartPolicy === 'Always';
/** The Secrets without which its pods do not start. */
export function secretsOf({ containers, initContainers = [], volumes = [] }: PodSpec): string[] {
  const named = [...containers, ...initContainers.filter(isSidecar)].flatMap(({ env = [] }) =>
    env.flatMap(({ valueFrom }) => valueFrom?.secretKeyRef?.name ?? []),
  );
  return [...new Set([...named, ...volumes.flatMap(({ secret }) => secret?.secretName ?? [])])];
}
/** Annotation of a pod: the values with which its containers started. Nobody asks for it. */
export const VALUES = 'explore/values';
/** The values with which its containers started, by Secret. */
export const valuesOf = ({ metadata }: Pod): Readonly<Record<string, string>> =>
  JSON.parse(metadata.annotations?.[VALUES] ?? '{}') as Record<string, string>;
export const valueNow = (scene: Scene, namespace: string, name: string): string =>
  hash('sha1', JSON.stringify(scene.get<KubeObject & { data?: object }>(SECRETS, namespace, name)?.data ?? {})).slice(
    0,
    8,
  );
const withValues = (
  scene: Scene,
  pod: Pod,
  { spec: { template }, metadata: { namespace = '' } }: WithTemplate,
): Pod => {
  const values = secretsOf(template.spec).map((name) => [name, valueNow(scene, namespace, name)]);
  const annotations = { ...pod.metadata.annotations, [VALUES]: JSON.stringify(Object.fromEntries(values)) };
  return { ...pod, metadata: { ...pod.metadata, annotations } };
};
/** Of a Redis that runs with another password than its Secret has now. */
function hasWrongPassword(scene: Scene, { spec, metadata: { namespace = '', name: own } }: WithTemplate): boolean {
  return secretsOf(spec.template.spec)
    .filter((name) => name.endsWith('--redis') && name !== own)
    .some((name) => {
      const set = scene.get<WithTemplate>(STATEFUL_SETS, namespace, name);
      const password = set && podsOf(scene, set).find(isReady);
      return password !== undefined && valuesOf(password)[name] !== valueNow(scene, namespace, name);
    });
}

function lacks(scene: Scene, one: WithTemplate): boolean {
  const namespace = one.metadata.namespace ?? '';
  const secrets = secretsOf(one.spec.template.spec);
  const isLost = (name: string): boolean => {
    const claim = scene.get<KubeObject & { status?: { phase?: string } }>(PERSISTENT_VOLUME_CLAIMS, namespace, name);
    return claim === undefined || claim.status?.phase === 'Lost';
  };
  return (
    secrets.some((name) => !scene.get(SECRETS, namespace, name)) ||
    hasWrongPassword(scene, one) ||
    claimsOf(one.spec.template).some(isLost) ||
    (one.kind === 'StatefulSet' && scene.mark(namespace, 'stores') === 'stuck') ||
    awaitedBy(scene, one, one.spec.template) !== undefined
  );
}
/** The first init container that waits for a store which does not answer: an own one without a ready pod, or a silent external one. */
export function awaitedBy(
  scene: Scene,
  { metadata: { namespace = '', labels = {} } }: Pick<KubeObject, 'metadata'>,
  { spec: { initContainers = [] } }: { readonly spec: PodSpec },
): string | undefined {
  return initContainers.find(({ name, env = [] }) => {
    const part = STORES[name as keyof typeof STORES];
    if (part === undefined) return false;
    const record = labels[DEPLOYMENT_LABEL] ?? '';
    const own = env
      .flatMap(({ valueFrom }) => valueFrom?.secretKeyRef?.name ?? [])
      .find((secret) => secret === `${record}--${part}` || databaseNumberIn(record, secret) !== undefined);
    if (own === undefined) return scene.mark(namespace, `external ${part}`) === SILENT;
    const set = scene.all<WithTemplate>(STATEFUL_SETS, namespace).find(({ metadata }) => metadata.name === own);
    if (set === undefined) return part === 'redis' || !clusterServes(scene, namespace, own);
    return !podsOf(scene, set).some(isReady);
  })?.name;
}
/** The mark of an external store that does not answer. */
export const SILENT = 'silent';
const STORES = { [WAIT_FOR_DATABASE]: 'postgres', [WAIT_FOR_REDIS]: 'redis' } as const;
/** The status of an init container that has done its part. */
export const passed = (name: string): ContainerStatus => ({ name, state: { terminated: { exitCode: 0 } } });
const begun = (one: Container): ContainerStatus =>
  isSidecar(one) ? { name: one.name, ready: true, state: { running: {} } } : passed(one.name);
const hasImage = (one: WithTemplate, word: string): boolean =>
  one.spec.template.spec.containers.some(({ image = '' }) => image.includes(word));
const isBad = (one: WithTemplate): boolean => hasImage(one, 'bad');
const exitsOf = (pod: Pod | undefined): number => pod?.status?.containerStatuses?.[0]?.restartCount ?? 0;
/** More than the settings allow of a revision. */
const MOST_EXITS = 4;
const EXITED = { terminated: { exitCode: 1, reason: 'Error', message: 'no memory' } };
export const starting = (scene: Scene, one: WithTemplate): Pod | undefined =>
  podsOf(scene, one).find((pod) => isCurrent(pod, one) && !isReady(pod));

/** Removes what nothing holds any more: pods of no workload, objects of no owner, claims of no pod. */
function garbage(scene: Scene, namespace: string): { readonly resource: typeof PODS; readonly object: KubeObject }[] {
  const inside = scene.inside(namespace);
  const uids = new Set(inside.map(({ object }) => object.metadata.uid));
  return inside.filter(({ object }) => {
    const { ownerReferences = [], deletionTimestamp, finalizers = [] } = object.metadata;
    if (object.kind === 'PersistentVolumeClaim' && deletionTimestamp !== undefined)
      return !scene.all<Pod>(PODS, namespace).some((pod) => claimsOf(pod).includes(object.metadata.name));
    return ownerReferences.length > 0 && finalizers.length === 0 && ownerReferences.every(({ uid }) => !uids.has(uid));
  }) as never;
}

interface OfWorkloads {
  readonly calm?: true;
  /** Truthy where it can happen to the workload. */
  readonly can: (one: WithTemplate, scene: Scene) => unknown;
  readonly happen: (scene: Scene, one: WithTemplate) => void;
}

/** What happens to the pods of one workload, whose controller then sees it. */
export function eventOfWorkloads(name: string, { calm, can, happen }: OfWorkloads): Event {
  return {
    name,
    by: 'cluster',
    ...(calm && { calm }),
    subjects: (scene, namespace) =>
      workloads(scene, namespace)
        .filter((one) => can(one, scene))
        .map(said),
    happen(scene, namespace, subject) {
      const one = workload(scene, namespace, subject);
      happen(scene, one);
      see(scene, one);
    },
  };
}

export const CLUSTER_EVENTS: readonly Event[] = [
  eventOfWorkloads('the pods of % are created', {
    calm: true,
    can: (one, scene) =>
      wanted(one) > 0 &&
      one.metadata.deletionTimestamp === undefined &&
      !podsOf(scene, one).some((pod) => isCurrent(pod, one)) &&
      scene.mark(one.metadata.namespace ?? '', 'quota') !== 'full',
    happen(scene, one) {
      const { kind, metadata, apiVersion } = one;
      const { namespace } = metadata;
      const { template } = one.spec;
      const ofTemplate = template.metadata as { labels?: Record<string, string>; annotations?: Record<string, string> };
      if (kind === 'StatefulSet') for (const old of podsOf(scene, one)) scene.erase(PODS, old);
      scene.put(PODS, {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: {
          name: kind === 'StatefulSet' ? `${metadata.name}-0` : `${metadata.name}-${templateOf(one)}`,
          namespace,
          labels: ofTemplate.labels ?? {},
          annotations: { ...ofTemplate.annotations, [TEMPLATE]: templateOf(one) },
          ownerReferences: [
            { apiVersion, kind: ownerOf(kind), name: metadata.name, uid: metadata.uid ?? '', controller: true },
          ],
        },
        spec: {
          containers: template.spec.containers.map(({ name, image }) => ({ name, image })),
          volumes: template.spec.volumes ?? [],
        },
        status: { phase: 'Pending' },
      } as KubeObject);
    },
  }),
  eventOfWorkloads('the pods of % become ready', {
    calm: true,
    can: (one, scene) => starting(scene, one) && !isBad(one) && !hasImage(one, 'crash') && !lacks(scene, one),
    happen(scene, one) {
      const { namespace = '' } = one.metadata;
      for (const pod of podsOf(scene, one))
        if (!isCurrent(pod, one)) scene.erase(PODS, pod);
        else
          setPod(scene, withValues(scene, pod, one), {
            phase: 'Running',
            conditions: [{ type: 'Ready', status: 'True' }],
            initContainerStatuses: one.spec.template.spec.initContainers?.map(begun),
            containerStatuses: pod.spec?.containers?.map(({ name }) => ({
              name,
              ready: true,
              state: { running: {} },
              ...(exitsOf(pod) > 0 && { restartCount: exitsOf(pod), lastState: EXITED }),
            })),
          });
      const [claimName] = claimsOf(one.spec.template);
      const claim =
        claimName === undefined
          ? undefined
          : scene.get<KubeObject & { spec: { resources: { requests: object } } }>(
              PERSISTENT_VOLUME_CLAIMS,
              namespace,
              claimName,
            );
      if (claim) {
        scene.change(PERSISTENT_VOLUME_CLAIMS, claim, {
          status: { phase: 'Bound', capacity: claim.spec.resources.requests },
        });
        // Those of later numbers begin with a backup.
        if (databaseNumberIn(claim.metadata.labels?.[DEPLOYMENT_LABEL] ?? '', claim.metadata.name) === 0)
          noteData(scene, claim);
      }
    },
  }),
  eventOfWorkloads('pods of another template of % are ended', {
    // A rollout whose pods did not come up is over when the workload has its earlier template again.
    calm: true,
    can: (one, scene) => {
      const pods = podsOf(scene, one);
      return pods.some((pod) => isCurrent(pod, one) && isReady(pod)) && pods.some((pod) => !isCurrent(pod, one));
    },
    happen(scene, one) {
      for (const pod of podsOf(scene, one)) if (!isCurrent(pod, one)) scene.erase(PODS, pod);
    },
  }),
  eventOfWorkloads('the image of % cannot be pulled', {
    calm: true,
    can: (one, scene) => {
      const pod = starting(scene, one);
      const isPulled = awaitedBy(scene, one, one.spec.template) === undefined;
      return isBad(one) && pod && pod.status?.containerStatuses === undefined && isPulled;
    },
    happen(scene, one) {
      const pod = starting(scene, one);
      if (!pod) return;
      const waiting = { reason: 'ImagePullBackOff', message: 'Back-off pulling image' };
      const containerStatuses = pod.spec?.containers?.map(({ name, image }) => ({
        name,
        image,
        ready: false,
        state: { waiting },
      }));
      const initContainerStatuses = one.spec.template.spec.initContainers?.map(begun);
      setPod(scene, pod, { phase: 'Pending', initContainerStatuses, containerStatuses });
    },
  }),
  eventOfWorkloads('the pods of % crash', {
    // Once: what exits three times does not become ready automatically.
    can: (one, scene) => podsOf(scene, one).some((pod) => isCurrent(pod, one) && isReady(pod) && exitsOf(pod) === 0),
    happen(scene, one) {
      for (const pod of podsOf(scene, one))
        if (isCurrent(pod, one))
          setPod(scene, pod, {
            phase: 'Running',
            conditions: [{ type: 'Ready', status: 'False' }],
            initContainerStatuses: pod.status?.initContainerStatuses,
            containerStatuses: pod.spec?.containers?.map(({ name }) => ({
              name,
              ready: false,
              restartCount: Math.min(MOST_EXITS, exitsOf(pod) + 1),
              state: EXITED,
            })),
          });
    },
  }),
  eventOfWorkloads('the containers of %, whose image exits, exit again', {
    calm: true,
    can: (one, scene) => {
      const pod = hasImage(one, 'crash') && !lacks(scene, one) ? starting(scene, one) : undefined;
      return pod !== undefined && exitsOf(pod) < MOST_EXITS;
    },
    happen(scene, one) {
      const pod = starting(scene, one);
      if (!pod) return;
      const waiting = { reason: 'CrashLoopBackOff', message: 'back-off restarting failed container' };
      const containerStatuses = pod.spec?.containers?.map(({ name }) => ({
        name,
        ready: false,
        restartCount: exitsOf(pod) + 1,
        state: { waiting },
        lastState: EXITED,
      }));
      const initContainerStatuses = one.spec.template.spec.initContainers?.map(begun);
      setPod(scene, pod, { phase: 'Running', initContainerStatuses, containerStatuses });
    },
  }),
  eventOfWorkloads('the controller of % sees its scale', {
    calm: true,
    can: (one, scene) => {
      if (wanted(one) === 0 && podsOf(scene, one).length > 0) return true;
      const status = { ...statusOf(scene, one) } as Record<string, unknown>;
      return Object.entries(status).some(
        ([field, value]) =>
          JSON.stringify((one.status as Record<string, unknown> | undefined)?.[field]) !== JSON.stringify(value),
      );
    },
    happen(scene, one) {
      if (wanted(one) === 0) for (const pod of podsOf(scene, one)) scene.erase(PODS, pod);
    },
  }),
  {
    name: 'the garbage collector runs',
    by: 'cluster',
    calm: true,
    subjects: (scene, namespace) => (garbage(scene, namespace).length > 0 ? [''] : []),
    happen(scene, namespace) {
      for (let found = garbage(scene, namespace); found.length > 0; found = garbage(scene, namespace))
        for (const { resource, object } of found) scene.erase(resource, object);
    },
  },
  {
    name: 'volume % has its size',
    by: 'cluster',
    calm: true,
    subjects: (scene, namespace) =>
      scene
        .all<Claim>(PERSISTENT_VOLUME_CLAIMS, namespace)
        .filter(
          ({ spec, status }) =>
            status?.phase === 'Bound' && status.capacity?.storage !== spec.resources.requests.storage,
        )
        .map(({ metadata }) => metadata.name),
    happen(scene, namespace, subject) {
      const claim = scene.get<Claim>(PERSISTENT_VOLUME_CLAIMS, namespace, subject);
      if (claim) scene.change(PERSISTENT_VOLUME_CLAIMS, claim, { status: { capacity: claim.spec.resources.requests } });
    },
  },
  {
    name: 'volume % is lost with its node',
    by: 'cluster',
    subjects: (scene, namespace) =>
      scene.mark(namespace, 'lost') === undefined
        ? scene.all(PERSISTENT_VOLUME_CLAIMS, namespace).map(({ metadata }) => metadata.name)
        : [],
    happen(scene, namespace, subject) {
      const claim = scene.get(PERSISTENT_VOLUME_CLAIMS, namespace, subject);
      if (claim) scene.erase(PERSISTENT_VOLUME_CLAIMS, claim);
      for (const pod of scene.all<Pod>(PODS, namespace)) if (claimsOf(pod).includes(subject)) scene.erase(PODS, pod);
      scene.setMark(namespace, 'lost', 'once');
    },
  },
  ...(['succeeds', 'fails'] as const).map(
    (how): Event => ({
      name: `Job % ${how}`,
      by: 'cluster',
      ...(how === 'succeeds' && { calm: true as const }),
      subjects: (scene, namespace) =>
        scene
          .all<KubeObject & { status?: { conditions?: unknown }; spec: { template: { spec: PodSpec } } }>(
            JOBS,
            namespace,
          )
          .filter(
            (job) =>
              job.metadata.labels?.[COMPONENT_LABEL] === MIGRATION &&
              job.status?.conditions === undefined &&
              awaitedBy(scene, job, job.spec.template) === undefined,
          )
          .map(({ metadata }) => metadata.name),
      happen(scene, namespace, subject) {
        const job = scene.get(JOBS, namespace, subject);
        const type = how === 'succeeds' ? 'Complete' : 'Failed';
        if (job) scene.change(JOBS, job, { status: { conditions: [{ type, status: 'True' }] } });
      },
    }),
  ),
  {
    name: 'the autoscaler of % asks for one pod more',
    by: 'cluster',
    subjects: (scene, namespace) =>
      scene
        .all<KubeObject & { spec: { maxReplicas: number } }>(HORIZONTAL_POD_AUTOSCALERS, namespace)
        .filter(({ metadata, spec }) => {
          const one = scene.get<WithTemplate>(DEPLOYMENTS, namespace, metadata.name);
          return one !== undefined && wanted(one) > 0 && wanted(one) < spec.maxReplicas;
        })
        .map(({ metadata }) => metadata.name),
    async happen(scene, namespace, name) {
      const one = scene.get<WithTemplate>(DEPLOYMENTS, namespace, name);
      if (!one) return;
      const spec = { replicas: wanted(one) + 1 };
      await scene.kube.mergePatch(
        DEPLOYMENTS,
        { namespace, name },
        { spec },
        { fieldManager: 'kube-controller-manager' },
      );
    },
  },
];

/** What grows volumes that are nearly full (pvc-autoresizer) does so without Davit. */
export const claimGrows: Event = {
  name: 'an autoscaler of volumes enlarges % to 40Gi',
  by: 'cluster',
  subjects: (scene, namespace) =>
    scene
      .all<Claim>(PERSISTENT_VOLUME_CLAIMS, namespace)
      .filter(({ spec }) => spec.resources.requests.storage !== '40Gi')
      .map(({ metadata }) => metadata.name),
  happen: async (scene, namespace, name) =>
    void (await scene.kube.mergePatch(
      PERSISTENT_VOLUME_CLAIMS,
      { namespace, name },
      { spec: { resources: { requests: { storage: '40Gi' } } } },
      { fieldManager: 'pvc-autoresizer' },
    )),
};
