// What must hold: of every pass, and of every state at rest. Each returns a sentence if it does not.

import type { Pod, Workload } from '../../../src/deploy/assess/observed.ts';
import { hostOf, wantedHost } from '../../../src/deploy/record/hostnames.ts';
import { hasMigrated } from '../../../src/deploy/record/kept-build.ts';
import { names } from '../../../src/deploy/record/names.ts';
import { isSingleton, partsOf as runPartsOf, sizeOf } from '../../../src/deploy/record/parts.ts';
import { sameRevision } from '../../../src/deploy/record/requested.ts';
import { resolve } from '../../../src/deploy/record/resolve.ts';
import { asksToRebuild } from '../../../src/deploy/record/revision-request.ts';
import { referencesOf } from '../../../src/deploy/record/secret-references.ts';
import { podsIdOf } from '../../../src/deploy/record/shared-pods.ts';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../../src/kinds/app-deployment.ts';
import type { AppRevision, Resolved } from '../../../src/kinds/app-revision.ts';
import { APP_REVISIONS } from '../../../src/kinds/app-revision.ts';
import { FINAL_PHASES } from '../../../src/kinds/build.ts';
import { CODE_HOST_INTEGRATIONS, type CodeHostIntegration } from '../../../src/kinds/code-host-integration.ts';
import { conditionOf } from '../../../src/kinds/conditions.ts';
import {
  BUILD_LABEL,
  BUILD_TENANT_LABEL,
  COMPONENT_LABEL,
  DEPLOYMENT_UID_LABEL,
  EMPTY_DATABASE_ANNOTATION,
  PAUSED_ANNOTATION,
  REVISION_LABEL,
  TENANT_LABEL,
} from '../../../src/kinds/meta.ts';
import type { Settings } from '../../../src/kinds/settings.ts';
import { isWorker } from '../../../src/kinds/worker-parts.ts';
import { ServerError } from '../../../src/runtime/errors.ts';
import {
  DEPLOYMENTS,
  HORIZONTAL_POD_AUTOSCALERS,
  INGRESSES,
  JOBS,
  NAMESPACES,
  NETWORK_POLICIES,
  PERSISTENT_VOLUME_CLAIMS,
  POD_DISRUPTION_BUDGETS,
  PODS,
  POSTGRES_CLUSTERS,
  SCALED_OBJECTS,
  SECRETS,
  SERVICES,
  STATEFUL_SETS,
} from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject, Resource } from '../../../src/runtime/kube/client.ts';
import { authorsAreWrong } from './authors.ts';
import { backupsAreWrong } from './backup-events.ts';
import { BUILDS, ORGANIZATION } from './build-events.ts';
import { isCurrent, isReady, podsOf, type WithTemplate } from './cluster-events.ts';
import {
  cancelIsIgnored,
  isMovedFrom,
  moveIsMisreported,
  moveIsWrong,
  operationIsStuck,
  operationsAtOnce,
} from './database-moves.ts';
import { dataMark, holderOf, isOfDatabase, NUMBERS } from './databases.ts';
import { externalStoresAreWrong } from './external-stores.ts';
import type { Broken, PassSeen } from './pass-seen.ts';
import { headOf } from './passes.ts';
import { records, revisionsOf } from './people-events.ts';
import { clusterIsTaken, isRetained } from './postgres-cluster.ts';
import { LATER, type Scene } from './scene.ts';
import { takenFromRuns, tasksAreWrong } from './task-events.ts';
import { sortedText } from './world.ts';

interface PassProperty {
  readonly name: string;
  readonly broken: (seen: PassSeen, settings: Settings) => string | undefined;
}
interface RestProperty {
  readonly name: string;
  readonly broken: (scene: Scene, record: AppDeployment, settings: Settings) => string | undefined;
}

const DATA_RESOURCES: Readonly<Record<string, Resource>> = {
  PersistentVolumeClaim: PERSISTENT_VOLUME_CLAIMS,
  Cluster: POSTGRES_CLUSTERS,
  Secret: SECRETS,
};
const RESOURCES = { Deployment: DEPLOYMENTS, StatefulSet: STATEFUL_SETS, Service: SERVICES, Pod: PODS } as const;

/** The parts that a record asks for. */
function partsOf({ spec }: AppDeployment, settings: Settings): Set<string> {
  const resolved = resolve(spec, settings);
  const { postgres, redis } = resolved;
  const stores = Object.entries({ postgres, redis }).flatMap(([part, store]) => (store ? [part] : []));
  return new Set([...runPartsOf(resolved).filter((part) => mostOf(resolved, part) !== 0), ...stores]);
}
/** The most pods that a part may have; undefined if its number is fixed. */
function mostOf(resolved: Resolved, part: string): number | undefined {
  return (sizeOf(resolved, part) as { maxScale?: number } | undefined)?.maxScale;
}
/** Whether revisions of a record disagree about whether a worker is a singleton. One kind of workload then goes for the other. */
function changesKind(scene: Scene, record: AppDeployment, part: string): boolean {
  const kinds = revisionsOf(scene, record).flatMap(({ spec: { resolved } }) =>
    sizeOf(resolved, part) === undefined ? [] : [isSingleton(resolved, part)],
  );
  return (
    isWorker(part) &&
    new Set([...kinds, record.spec.sourceConfig.runtime?.workers?.[part]?.singleton === true]).size > 1
  );
}
const recordOfPass = ({ before, key }: PassSeen): AppDeployment | undefined => {
  const [namespace = '', name] = key.split('/');
  return records(before, namespace).find(({ metadata }) => metadata.name === name);
};
const isLeft = ({ metadata }: AppDeployment, scene: Scene): boolean =>
  metadata.deletionTimestamp !== undefined ||
  metadata.annotations?.[PAUSED_ANNOTATION] !== undefined ||
  scene.get(NAMESPACES, '', metadata.namespace ?? '')?.metadata.labels?.[TENANT_LABEL] !== 'true';

export const PASS_PROPERTIES: readonly PassProperty[] = [
  {
    name: 'nothing that a record asks for is deleted',
    broken(seen, settings) {
      const record = seen.controller === 'records' ? recordOfPass(seen) : undefined;
      if (!record || record.metadata.deletionTimestamp !== undefined) return undefined;
      const asked = partsOf(record, settings);
      for (const { verb, kind, ref, error } of seen.writes) {
        const resource = RESOURCES[kind as keyof typeof RESOURCES];
        if (verb !== 'delete' || error !== undefined || resource === undefined || kind === 'Pod') continue;
        const object = seen.before.get(resource, ref.namespace ?? '', ref.name);
        const part = object?.metadata.labels?.[COMPONENT_LABEL] ?? '';
        if (asked.has(part) && !changesKind(seen.before, record, part) && !isMovedFrom(seen.after, record, ref.name))
          return `The pass deletes ${kind} ${ref.name}, and the record asks for its ${part}.`;
      }
      return undefined;
    },
  },
  {
    name: 'a singleton does not start beside another pod of its worker',
    broken(seen) {
      const record = seen.controller === 'records' ? recordOfPass(seen) : undefined;
      if (!record || seen.before.mark(record.metadata.namespace ?? '', 'behind') !== undefined) return undefined;
      const { namespace = '' } = record.metadata;
      for (const set of seen.after.all<WithTemplate>(STATEFUL_SETS, namespace)) {
        const part = set.metadata.labels?.[COMPONENT_LABEL] ?? '';
        if (!isWorker(part)) continue;
        if (seen.after.get(DEPLOYMENTS, namespace, set.metadata.name))
          return `${set.metadata.name} is a Deployment and a StatefulSet.`;
        const isNew = seen.before.get(STATEFUL_SETS, namespace, set.metadata.name) === undefined;
        const before = seen.before
          .all<Pod>(PODS, namespace)
          .find(({ metadata }) => metadata.labels?.[COMPONENT_LABEL] === part);
        if (isNew && before) return `StatefulSet ${set.metadata.name} is made, and ${before.metadata.name} is there.`;
      }
      return undefined;
    },
  },
  {
    name: 'no ready pod is deleted',
    broken({ before, writes }) {
      for (const { verb, kind, ref, error } of writes) {
        if (verb !== 'delete' || kind !== 'Pod' || error !== undefined) continue;
        const pod = before.get<Pod>(PODS, ref.namespace ?? '', ref.name);
        // One that has the password of an earlier Redis is locked out.
        const isLockedOut = ({ metadata }: KubeObject): boolean =>
          metadata.name.endsWith('--redis') &&
          (metadata.creationTimestamp ?? '') > (pod?.metadata.creationTimestamp ?? '');
        if (pod && isReady(pod) && !before.all(SECRETS, ref.namespace ?? '').some(isLockedOut))
          return `The pass deletes pod ${ref.name}, which is ready.`;
      }
      return undefined;
    },
  },
  {
    name: 'no data is replaced',
    broken(seen) {
      const record = seen.controller === 'records' ? recordOfPass(seen) : undefined;
      if (!record || record.metadata.annotations?.[EMPTY_DATABASE_ANNOTATION] !== undefined) return undefined;
      const { namespace = '', name, uid = '' } = record.metadata;
      for (const number of NUMBERS) {
        const { postgresClaim: claim, postgresSecret: secret } = names(name, number);
        const data = seen.before.mark(namespace, dataMark(claim));
        if (data === undefined) continue;
        const there = holderOf(seen.before, namespace, name, number);
        const made = there === undefined ? holderOf(seen.after, namespace, name, number) : undefined;
        if (made && data.endsWith(` ${uid}`))
          return `The pass makes an empty ${made.kind} ${claim}; the data was in another.`;
        const passwordIn = (scene: Scene): string | undefined => {
          const found = scene.get<KubeObject & { data?: object }>(SECRETS, namespace, secret);
          return found && sortedText(found.data ?? {});
        };
        const is = passwordIn(seen.after);
        const isOther = is !== undefined && is !== passwordIn(seen.before);
        if (isOther && there && data.startsWith(`${there.metadata.uid} `))
          return `The pass makes another Secret ${secret}; the data has another password.`;
      }
      return undefined;
    },
  },
  {
    name: 'data is deleted only with its record',
    broken(seen) {
      const record = seen.controller === 'records' ? recordOfPass(seen) : undefined;
      if (!record || record.metadata.deletionTimestamp !== undefined) return undefined;
      const { namespace = '' } = record.metadata;
      const lost = seen.writes.find(({ verb, kind, ref, error }) => {
        const resource = verb === 'delete' && error === undefined ? DATA_RESOURCES[kind] : undefined;
        const object = resource && seen.before.get(resource, namespace, ref.name);
        return object !== undefined && isOfDatabase(object);
      });
      return lost && `The pass deletes ${lost.kind} ${lost.ref.name}.`;
    },
  },
  {
    name: 'what was moved is on one database, which begins with its backup',
    broken(seen) {
      const record = seen.controller === 'records' ? recordOfPass(seen) : undefined;
      return record && record.metadata.deletionTimestamp === undefined ? moveIsWrong(seen, record) : undefined;
    },
  },
  {
    name: 'one operation of a deployment works at a time',
    broken: (seen) =>
      seen.controller === 'operations' ? operationsAtOnce(seen, seen.key.split('/')[0] ?? '') : undefined,
  },
  {
    name: 'what is retained stays, and is given to nobody who did not ask',
    broken(seen) {
      const record = seen.controller === 'records' ? recordOfPass(seen) : undefined;
      return record && clusterIsTaken(seen, record);
    },
  },
  {
    name: 'nobody is said to have asked for what another did',
    broken({ controller, key, after }) {
      const [namespace = '', name] = key.split('/');
      const record =
        controller === 'records' ? records(after, namespace).find((one) => one.metadata.name === name) : undefined;
      const isOfThis = record?.status?.observedGeneration === record?.metadata.generation;
      return record && isOfThis ? authorsAreWrong(after, record) : undefined;
    },
  },
  {
    name: 'runs of tasks keep their stores',
    broken(seen) {
      const record = seen.controller === 'records' ? recordOfPass(seen) : undefined;
      return record && record.metadata.deletionTimestamp === undefined ? takenFromRuns(seen, record) : undefined;
    },
  },
  {
    name: 'nothing but its status is written of a paused record',
    broken(seen) {
      const record = seen.controller === 'records' ? recordOfPass(seen) : undefined;
      if (record?.metadata.annotations?.[PAUSED_ANNOTATION] === undefined) return undefined;
      const written = seen.writes.find(({ subresource, error }) => subresource !== 'status' && error === undefined);
      return written && `The pass writes ${written.kind} ${written.ref.name}.`;
    },
  },
  {
    name: 'pods follow their migration',
    broken(seen) {
      const record = seen.controller === 'records' ? recordOfPass(seen) : undefined;
      const one = record && deployment(seen.after, record, 'server');
      const id = one && revisionIdOf(one);
      const before = record && deployment(seen.before, record, 'server');
      if (!record || id === undefined || (before && revisionIdOf(before) === id && before.spec.replicas !== 0))
        return undefined;
      const revision = revisionsOf(seen.after, record).find(({ spec }) => spec.id === id);
      if (!revision?.spec.requested.runtime?.migrate || hasMigrated(revision) || one?.spec.replicas === 0)
        return undefined;
      const job = seen.before.get<KubeObject & { status?: { conditions?: readonly { type: string }[] } }>(
        JOBS,
        record.metadata.namespace ?? '',
        names(record.metadata.name).migration(id),
      );
      const isDone =
        job?.status?.conditions?.some(({ type }) => type === 'Complete') === true ||
        revision.status?.migration?.phase === 'Succeeded' ||
        revision.status?.state === 'DEPLOYED';
      return isDone ? undefined : `The server is rolled to revision ${id}, whose migration has not succeeded.`;
    },
  },
  {
    name: 'a part whose template would not change keeps its pods',
    broken(seen) {
      const record = seen.controller === 'records' ? recordOfPass(seen) : undefined;
      if (!record || seen.before.mark(record.metadata.namespace ?? '', 'behind') !== undefined) return undefined;
      const [[newest], known] = [revisionsOf(seen.after, record), revisionsOf(seen.before, record)];
      const [previous] = known;
      if (!newest || !previous || newest.spec.id === previous.spec.id) return undefined;
      // Somebody wants new pods.
      if (asksToRebuild(record.spec, known)) return undefined;
      if (newest.spec.rollbackTo === undefined && sameRevision(newest.spec.requested, previous.spec.requested))
        return undefined;
      const active = known.find(({ status }) => status?.state === 'DEPLOYED');
      const replaced = runPartsOf(newest.spec.resolved).find((role) => {
        const [before, after] = [deployment(seen.before, record, role), deployment(seen.after, record, role)];
        // At a scale of zero its pods end anyway.
        if (!active || !before || !after || !isWhole(before) || after.spec.replicas === 0) return false;
        const [old, id] = [revisionIdOf(before), revisionIdOf(after)];
        const isServing = old === podsIdOf(active, role);
        // It may go on to the revision between, whose turn it was.
        if (id !== podsIdOf(newest, role)) return false;
        return isServing && old !== id && withoutId(before, old) === withoutId(after, id ?? '');
      });
      return (
        replaced &&
        `Revision ${newest.spec.id} replaces the pods of the ${replaced}, which are the same but for their id.`
      );
    },
  },
  {
    name: 'Ready is true when it is written',
    broken(seen, settings) {
      const { after, before, key, controller } = seen;
      const [namespace = '', name] = key.split('/');
      const isSure = controller === 'records' && before.mark(namespace, 'behind') === undefined;
      const record = isSure ? records(after, namespace).find(({ metadata }) => metadata.name === name) : undefined;
      const ready = REST_PROPERTIES.find((one) => one.name === 'Ready is true');
      return record && ready?.broken(after, record, settings);
    },
  },
  {
    name: 'no more builds run than the settings allow',
    broken({ after, controller }, settings) {
      if (controller !== 'builds') return undefined;
      const running = after
        .all<KubeObject & { spec: { suspend?: boolean }; status?: { conditions?: unknown } }>(JOBS, BUILDS)
        .filter(({ spec, status }) => spec.suspend !== true && status?.conditions === undefined);
      const { total } = settings.builds.concurrency;
      return running.length > total ? `${running.length} builds run, and the settings allow ${total}.` : undefined;
    },
  },
  {
    name: 'a pass fails only by what the API server answers',
    // What no status reports is thrown in words (errorsOf).
    broken: ({ error }) =>
      error === undefined ||
      error instanceof ServerError ||
      error.name === 'AbortError' ||
      error.message.startsWith('The API server refused ')
        ? undefined
        : `${error.stack?.split('\n').slice(0, 3).join(' ')}`,
  },
];

const condition = ({ status }: AppDeployment, type: string): string | undefined =>
  conditionOf(status?.conditions, type)?.status;
const isWhole = ({ metadata, spec, status }: WithTemplate): boolean =>
  status?.observedGeneration === metadata.generation &&
  [status?.replicas, status?.updatedReplicas, status?.availableReplicas].every((count) => count === spec.replicas);
const withoutId = ({ spec }: WithTemplate, id: string): string => sortedText(spec.template).replaceAll(id, '');
/** The names of the records of which this condition is True. */
export const namesWhere = (scene: Scene, namespace: string, type: string): readonly string[] =>
  records(scene, namespace)
    .filter((record) => condition(record, type) === 'True')
    .map(({ metadata }) => metadata.name);
export const revisionIdOf = ({ spec }: WithTemplate): string | undefined =>
  (spec.template.metadata as { labels?: Record<string, string> }).labels?.[REVISION_LABEL];
/** The workload of a part: a Deployment, or a singleton's StatefulSet. */
export const deployment = (scene: Scene, { metadata }: AppDeployment, part: string): WithTemplate | undefined => {
  const name = names(metadata.name).part(part);
  const { namespace = '' } = metadata;
  const set = isWorker(part) ? scene.get<WithTemplate>(STATEFUL_SETS, namespace, name) : undefined;
  return scene.get<WithTemplate>(DEPLOYMENTS, namespace, name) ?? set;
};
const hostsIn = (scene: Scene, namespace: string, name: string): string[] => {
  const one = scene.get<KubeObject & { spec: { rules?: readonly { host?: string }[] } }>(
    INGRESSES,
    namespace,
    names(name).address,
  );
  return (one?.spec.rules ?? []).flatMap(({ host }) => host ?? []);
};
/** No pod starts while its data would be lost: a person has to act. */
export function hasLostData({ status }: AppDeployment): boolean {
  const stalled = conditionOf(status?.conditions, 'Stalled');
  return stalled?.status === 'True' && LOST_DATA.has(stalled.reason);
}
/** What a person decides about: data that is lost, or that was retained. */
const LOST_DATA: ReadonlySet<string> = new Set([
  'DatabaseKept',
  'PasswordMissing',
  'VolumeLost',
  'VolumeMissing',
  'VolumeTerminating',
]);

/** Judged at rest, of each record that Davit takes care of. */
export const REST_PROPERTIES: readonly RestProperty[] = [
  {
    name: 'what served is there',
    broken(scene, record, settings) {
      if (isLeft(record, scene) || record.status?.activeRevisionId === undefined || hasLostData(record))
        return undefined;
      // Its pods could not start. When the quota is freed, it comes back.
      if (scene.mark(record.metadata.namespace ?? '', 'quota') === 'full') return undefined;
      const asked = partsOf(record, settings);
      const active = revisionsOf(scene, record).find(({ spec }) => spec.id === record.status?.activeRevisionId);
      // Without a Secret that its pods read, none could start.
      const read = active ? referencesOf(active.spec.requested) : [];
      if (read.some(({ secretName }) => !scene.get(SECRETS, record.metadata.namespace ?? '', secretName)))
        return undefined;
      const had = active ? runPartsOf(active.spec.resolved) : [];
      const lost = had.find((part) => asked.has(part) && !deployment(scene, record, part));
      return lost && `The ${lost} of ${record.metadata.name} has no Deployment, and nothing brings it back.`;
    },
  },
  {
    name: 'no part has more pods than its record allows',
    broken(scene, record, settings) {
      if (isLeft(record, scene) || hasLostData(record)) return undefined;
      const resolved = resolve(record.spec, settings);
      for (const part of runPartsOf(resolved)) {
        // Until it is replaced, the other kind of workload has its own scale.
        if (changesKind(scene, record, part)) continue;
        const most = mostOf(resolved, part);
        const there = deployment(scene, record, part)?.spec.replicas;
        if (most !== undefined && there !== undefined && there > most)
          return `The ${part} of ${record.metadata.name} keeps ${there} pods, and its record allows ${most}.`;
      }
      return undefined;
    },
  },
  {
    name: 'the status is of this generation',
    broken: (_scene, record) =>
      record.status?.observedGeneration !== record.metadata.generation
        ? `status.observedGeneration is ${record.status?.observedGeneration}, the generation ${record.metadata.generation}.`
        : undefined,
  },
  {
    name: 'tasks are those of the active revision, and their runs are told',
    broken: (scene, record) =>
      isLeft(record, scene) || hasLostData(record) ? undefined : tasksAreWrong(scene, record),
  },
  {
    name: 'what is said of backups and verifications is true',
    broken: (scene, record) =>
      isLeft(record, scene) || hasLostData(record) ? undefined : backupsAreWrong(scene, record),
  },
  {
    name: 'nobody is said to have asked for what another did, and nobody is forgotten',
    broken: (scene, record) =>
      isLeft(record, scene) && record.metadata.deletionTimestamp === undefined
        ? undefined
        : authorsAreWrong(scene, record),
  },
  {
    name: 'what is said of its database is true',
    broken: (scene, record) =>
      isLeft(record, scene) || hasLostData(record) ? undefined : moveIsMisreported(scene, record),
  },
  {
    name: 'an operation that is deleted in time is taken back',
    broken: (scene, record) =>
      isLeft(record, scene) || record.metadata.deletionTimestamp !== undefined
        ? undefined
        : cancelIsIgnored(scene, record),
  },
  {
    name: 'every operation ends',
    broken: (scene, record) =>
      scene.mark('', LATER) === undefined || isLeft(record, scene) || record.metadata.deletionTimestamp !== undefined
        ? undefined
        : operationIsStuck(scene, record),
  },
  {
    name: 'what is said of external stores is true',
    broken: (scene, record) =>
      isLeft(record, scene) || record.metadata.deletionTimestamp !== undefined
        ? undefined
        : externalStoresAreWrong(scene, record),
  },
  {
    name: 'the state is true',
    broken(scene, record, settings) {
      if (record.metadata.deletionTimestamp !== undefined) return undefined;
      const server = deployment(scene, record, 'server');
      const ready = server !== undefined && podsOf(scene, server as WithTemplate).some(isReady);
      const state = record.status?.state;
      if (state === 'READY' && !ready) return 'The state is READY, and no pod of the server is ready.';
      if (state === 'UNUSED' && partsOf(record, settings).has('server') && !isLeft(record, scene))
        return 'The state is UNUSED, and the record asks for a server.';
      return undefined;
    },
  },
  {
    name: 'Ready is true',
    broken(scene, record, settings) {
      if (condition(record, 'Ready') !== 'True' || isLeft(record, scene)) return undefined;
      for (const part of partsOf(record, settings)) {
        if (part === 'postgres' || part === 'redis') continue;
        const one = deployment(scene, record, part);
        if (!one) return `Ready is True, and the ${part} has no Deployment.`;
        const pods = podsOf(scene, one);
        if ((one.spec.replicas ?? 1) > 0 && !pods.some((pod) => isReady(pod) && isCurrent(pod, one)))
          return `Ready is True, and no pod of the ${part} is ready.`;
        const wanted = record.spec.sourceRevisionConfig.imageUri;
        const image = one.spec.template.spec.containers[0]?.image;
        if (wanted !== undefined && image !== wanted)
          return `Ready is True, and the ${part} runs ${image}, not ${wanted}.`;
      }
      return undefined;
    },
  },
  {
    name: 'what has all its pods is not said to progress',
    broken(scene, record) {
      const said = conditionOf(record.status?.conditions, 'Ready');
      const [newest] = revisionsOf(scene, record);
      if (said?.reason !== 'Progressing' || isLeft(record, scene) || !newest) return undefined;
      const isThere = (part: string): boolean => {
        const one = deployment(scene, record, part);
        const isOfIt = one !== undefined && revisionIdOf(one) === podsIdOf(newest, part) && isWhole(one);
        return isOfIt && podsOf(scene, one).every((pod) => isReady(pod) && isCurrent(pod, one));
      };
      const stores = scene
        .all<WithTemplate>(STATEFUL_SETS, record.metadata.namespace ?? '')
        .every((one) => isWhole(one) && podsOf(scene, one).some(isReady));
      return stores && runPartsOf(newest.spec.resolved).every(isThere)
        ? `Every pod is ready, and the record says: ${said.message}`
        : undefined;
    },
  },
  {
    name: 'what goes on no more is Ready or Stalled',
    broken(scene, record) {
      if (scene.mark('', LATER) === undefined) return undefined;
      const isSaid = condition(record, 'Ready') === 'True' || condition(record, 'Stalled') === 'True';
      const ready = conditionOf(record.status?.conditions, 'Ready');
      // It is asked again until it answers.
      const isAsked =
        ['BuildQueued', 'FileUnread'].includes(ready?.reason ?? '') && scene.mark('', 'code host') === 'down';
      return isSaid || isAsked
        ? undefined
        : `Nothing goes on, and it is not Stalled: ${ready?.reason}: ${ready?.message}`;
    },
  },
  {
    name: 'the replicas are counted',
    broken(scene, record) {
      if (record.metadata.deletionTimestamp !== undefined) return undefined;
      const one = deployment(scene, record, 'server') as Workload | undefined;
      const counted = one && `${one.status?.readyReplicas ?? 0}/${one.spec?.replicas ?? 1}`;
      return record.status?.replicas === counted
        ? undefined
        : `status.replicas is ${record.status?.replicas}, and there are ${counted}.`;
    },
  },
  {
    name: 'the workers are counted',
    broken(scene, record) {
      if (record.metadata.deletionTimestamp !== undefined || isLeft(record, scene)) return undefined;
      const [newest] = revisionsOf(scene, record);
      const counted = Object.keys(newest?.spec.resolved.workers ?? {}).map((name) => {
        const one = deployment(scene, record, name) as Workload | undefined;
        const replicas = one && `${one.status?.readyReplicas ?? 0}/${one.spec?.replicas ?? 1}`;
        return `${name} ${replicas ?? 'none'}`;
      });
      const reported = Object.entries(record.status?.workers ?? {}).map(
        ([name, { replicas }]) => `${name} ${replicas ?? 'none'}`,
      );
      return counted.toSorted().join() === reported.toSorted().join()
        ? undefined
        : `status.workers is ${reported.join()}, and there are ${counted.join()}.`;
    },
  },
  {
    name: 'revisions that were overtaken say how they ended',
    broken(scene, record) {
      if (isLeft(record, scene)) return undefined;
      const open = revisionsOf(scene, record)
        .slice(1)
        .find(({ status }) => ['CREATING', 'AWAITING_DEPLOY', 'DEPLOYING', undefined].includes(status?.state));
      return open && `An older revision is ${open.status?.state} for ever.`;
    },
  },
  {
    name: 'what can be built begins',
    broken(scene, record, settings) {
      if (isLeft(record, scene) || !settings.builds.registry) return undefined;
      if (scene.mark('', 'code host') === 'down' || !scene.get(SECRETS, ORGANIZATION, 'git')) return undefined;
      const [newest] = revisionsOf(scene, record);
      const phase = newest?.status?.build?.phase;
      return phase === undefined || FINAL_PHASES.has(phase)
        ? undefined
        : `The build of the newest revision of ${record.metadata.namespace}/${record.metadata.name} is ${phase} for ever: ${newest?.status?.build?.message}`;
    },
  },
  {
    name: 'the address is true',
    broken(scene, record, settings) {
      if (settings.address.kind !== 'ingress' || isLeft(record, scene) || hasLostData(record)) return undefined;
      const { namespace = '', name } = record.metadata;
      if (scene.mark(namespace, 'rights') !== undefined) return undefined;
      const wanted = wantedHost(record.spec, { name, namespace }, settings.address);
      const hosts = hostsIn(scene, namespace, name);
      const url = record.status?.url;
      if (url !== undefined && !hosts.includes(hostOf(url)))
        return `status.url is ${url}, and its Ingress has ${hosts.join()}.`;
      const others = scene
        .everywhere<AppDeployment>(APP_DEPLOYMENTS)
        .filter((one) => one.metadata.uid !== record.metadata.uid);
      const rival = others.find(({ metadata }) =>
        hostsIn(scene, metadata.namespace ?? '', metadata.name).some((host) => hosts.includes(host)),
      );
      if (rival) return `${hosts.join()} has two Ingresses.`;
      const isFree =
        wanted !== undefined &&
        !others.some(
          ({ metadata, status }) =>
            hostsIn(scene, metadata.namespace ?? '', metadata.name).includes(wanted) ||
            (status?.url !== undefined && hostOf(status.url) === wanted) ||
            // It came first, and may not make the Ingress yet.
            status?.hostClaim?.host === wanted,
        );
      return isFree && !hosts.includes(wanted)
        ? `Nobody has ${wanted}, and ${namespace}/${name}, which wants it, does not get it.`
        : undefined;
    },
  },
  {
    name: 'a revision is of the commit that was asked for',
    broken(scene, record) {
      if (isLeft(record, scene)) return undefined;
      const asked = scene.mark(record.metadata.namespace ?? '', `asked ${record.metadata.name}`);
      const [newest] = revisionsOf(scene, record);
      const commit = newest?.status?.build?.commit ?? newest?.spec.commit;
      const [wanted = '', isLeast] = asked ?? '';
      const is = commit?.[0] ?? wanted;
      return asked === undefined || (isLeast ? is >= wanted : is === wanted)
        ? undefined
        : `The newest revision is of commit ${is}, asked for was ${asked}, and the branch is at ${headOf(scene)[0]}.`;
    },
  },
  {
    name: 'a revision has the values of the file of its commit',
    broken(scene, record) {
      if (record.spec.sourceRevisionConfig.davitFile === undefined) return undefined;
      return revisionsOf(scene, record)
        .map(({ spec, status }) => {
          const commit = (status?.build?.commit ?? spec.commit)?.slice(0, 1);
          const value = spec.requested.env?.find(({ name }) => name === 'COMMIT')?.value;
          if (spec.file === undefined) return `Revision ${spec.id} of commit ${commit} was made without its file.`;
          if (spec.file.failure && status?.state === 'DEPLOYED')
            return `Revision ${spec.id} is deployed, and its file is wrong.`;
          return spec.file.failure || value === commit
            ? undefined
            : `Revision ${spec.id} of commit ${commit} has the values of the file of commit ${value}.`;
        })
        .find((sentence) => sentence !== undefined);
    },
  },
];

interface PlaceProperty {
  readonly name: string;
  readonly broken: (scene: Scene, namespace: string, settings: Settings) => string | undefined;
}

/** Judged at rest, of each namespace. */
const PLACE_PROPERTIES: readonly PlaceProperty[] = [
  {
    name: 'nothing is left of a deleted record',
    broken(scene, namespace) {
      const uids = new Set(records(scene, namespace).map(({ metadata }) => metadata.uid));
      const left = scene
        .inside(namespace)
        .find(
          ({ object }) =>
            object.kind !== 'TracingProject' &&
            object.metadata.labels?.[DEPLOYMENT_UID_LABEL] !== undefined &&
            !uids.has(object.metadata.labels[DEPLOYMENT_UID_LABEL]) &&
            !isRetained(scene, namespace, object),
        );
      return left && `${left.object.kind} ${left.object.metadata.name} is of no record.`;
    },
  },
  {
    name: 'a build that has ended keeps no credentials',
    broken(scene, namespace, settings) {
      // A pause holds every deletion.
      const isPaused = records(scene, namespace).some(({ metadata }) => metadata.annotations?.[PAUSED_ANNOTATION]);
      if (!settings.builds.registry || isPaused) return undefined;
      const jobs = scene
        .all<KubeObject & { status?: { conditions?: unknown } }>(JOBS, BUILDS)
        .filter(({ metadata }) => metadata.labels?.[BUILD_TENANT_LABEL] === namespace);
      const kept = scene
        .all(SECRETS, BUILDS)
        .find(({ metadata: { name } }) =>
          jobs.some((job) => name.startsWith(job.metadata.name) && job.status?.conditions !== undefined),
        );
      return kept && `Secret ${kept.metadata.name} is still there.`;
    },
  },
  {
    name: 'an integration is Ready exactly with its credentials',
    broken(scene) {
      const integration = scene.get<CodeHostIntegration>(CODE_HOST_INTEGRATIONS, ORGANIZATION, 'git');
      if (!integration) return undefined;
      const ready = conditionOf(integration.status?.conditions, 'Ready')?.status === 'True';
      const has = scene.get(SECRETS, ORGANIZATION, integration.spec.credentialsRef.name) !== undefined;
      return ready === has ? undefined : `Ready is ${ready}, and its Secret is ${has ? 'there' : 'not there'}.`;
    },
  },
  {
    name: 'Jobs of builds have a revision',
    broken(scene, namespace, settings) {
      if (!settings.builds.registry) return undefined;
      const ids = new Set(scene.all<AppRevision>(APP_REVISIONS, namespace).map(({ spec }) => spec.id.toLowerCase()));
      const orphan = scene
        .all(JOBS, BUILDS)
        .find(
          ({ metadata: { labels = {} } }) =>
            labels[BUILD_TENANT_LABEL] === namespace && !ids.has(labels[BUILD_LABEL] ?? ''),
        );
      return orphan && `Job ${orphan.metadata.name} is of no revision.`;
    },
  },
];

export function judgePass(seen: PassSeen, settings: Settings): Broken[] {
  return PASS_PROPERTIES.flatMap(({ name, broken }) => {
    const message = broken(seen, settings);
    return message === undefined ? [] : [{ property: name, message }];
  });
}

export function judgeRest(scene: Scene, namespace: string, settings: Settings): Broken[] {
  const ofPlace = PLACE_PROPERTIES.flatMap(({ name, broken }) => {
    const message = broken(scene, namespace, settings);
    return message === undefined ? [] : [{ property: name, message }];
  });
  const ofRecords = records(scene, namespace).flatMap((record) =>
    REST_PROPERTIES.flatMap(({ name, broken }) => {
      const message = broken(scene, record, settings);
      return message === undefined ? [] : [{ property: name, message }];
    }),
  );
  return [...ofPlace, ...ofRecords];
}

const SHOWN = [
  DEPLOYMENTS,
  STATEFUL_SETS,
  SERVICES,
  HORIZONTAL_POD_AUTOSCALERS,
  SCALED_OBJECTS,
  NETWORK_POLICIES,
  POD_DISRUPTION_BUDGETS,
];

/** What runs for a record, without what differs between two records of the same spec, and without what belongs to the parts `without`. */
export function pictureOf(scene: Scene, namespace: string, without: ReadonlySet<string> = new Set()): string {
  const isScaled = (name: string): boolean =>
    [HORIZONTAL_POD_AUTOSCALERS, SCALED_OBJECTS].some((resource) => scene.get(resource, namespace, name));
  const lines = SHOWN.flatMap((resource) =>
    scene.all<KubeObject & { spec?: object }>(resource, namespace).flatMap(({ kind, metadata, spec }) => {
      if (without.has(metadata.labels?.[COMPONENT_LABEL] ?? '')) return [];
      const shown = isScaled(metadata.name) ? { ...spec, replicas: 'scaled' } : spec;
      return [`${kind} ${metadata.name} ${sortedText(shown)}`];
    }),
  );
  return (
    lines
      .toSorted()
      .join('\n')
      .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'uid')
      .replaceAll(/"davit\.dev\/[a-z-]+":"[0-9a-f]{8,}"/g, 'digest')
      .replaceAll(/---pg\d+/g, '--postgres')
      // Pods that were made while their Secret was missing start with its values, and no digest says so.
      .replaceAll(/"annotations":\{"davit\.dev\/secrets":"[^"]*"\},/g, '')
  );
}
