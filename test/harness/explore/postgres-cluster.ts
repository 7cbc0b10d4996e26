// CloudNativePG in the explorer: what its operator does with the Cluster of a record, and what must hold of data in one.

import { databaseNumberOf } from '../../../src/deploy/record/database-move.ts';
import { databaseNumberIn } from '../../../src/deploy/record/names.ts';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../../src/kinds/app-deployment.ts';
import {
  ADOPT_DATABASE_ANNOTATION,
  CNPG_CLUSTER_LABEL,
  CNPG_ROLE_LABEL,
  COMPONENT_LABEL,
  DEPLOYMENT_LABEL,
  DEPLOYMENT_UID_LABEL,
  HIBERNATION_ANNOTATION,
} from '../../../src/kinds/meta.ts';
import { PERSISTENT_VOLUME_CLAIMS, PODS, POSTGRES_CLUSTERS } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { databaseObjects, hasData, holderOf, isOfDatabase, NUMBERS, noteData } from './databases.ts';
import type { Event } from './event.ts';
import type { PassSeen } from './pass-seen.ts';
import { revisionsOf } from './people-events.ts';
import { retainedMark, type Scene } from './scene.ts';

/** The mark of an operator that is not there: `absent`, without its kind, or `away`. */
export const CNPG_MARK = 'CloudNativePG';

/** The Clusters that somebody takes care of. */
const clustersIn = (scene: Scene, namespace: string): readonly KubeObject[] =>
  scene.mark(namespace, CNPG_MARK) === undefined ? scene.all(POSTGRES_CLUSTERS, namespace) : [];
const isAsleep = ({ metadata }: KubeObject): boolean => metadata.annotations?.[HIBERNATION_ANNOTATION] === 'on';
const instanceOf = (scene: Scene, namespace: string, cluster: string): KubeObject | undefined =>
  scene.all(PODS, namespace).find(({ metadata }) => metadata.labels?.[CNPG_CLUSTER_LABEL] === cluster);

/** One instance, which answers at once. */
function startInstance(scene: Scene, namespace: string, name: string): void {
  const cluster = scene.get(POSTGRES_CLUSTERS, namespace, name);
  if (!cluster) return;
  const { labels = {}, uid = '' } = cluster.metadata;
  const record = labels[DEPLOYMENT_LABEL] ?? '';
  const metadata = {
    name: `${name}-1`,
    namespace,
    labels: { [DEPLOYMENT_LABEL]: record, [COMPONENT_LABEL]: 'postgres', [CNPG_CLUSTER_LABEL]: name },
    ownerReferences: [{ apiVersion: cluster.apiVersion, kind: cluster.kind, name, uid, controller: true }],
  };
  if (!scene.get(PERSISTENT_VOLUME_CLAIMS, namespace, metadata.name))
    scene.put(PERSISTENT_VOLUME_CLAIMS, { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata });
  scene.put(PODS, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...metadata, labels: { ...metadata.labels, [CNPG_ROLE_LABEL]: 'primary' } },
    status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
  } as KubeObject);
  scene.change(POSTGRES_CLUSTERS, cluster, { status: { phase: 'Cluster in healthy state', instances: 1 } });
}

export const POSTGRES_CLUSTER_EVENTS: readonly Event[] = [
  {
    name: 'CloudNativePG starts Cluster %',
    by: 'cluster',
    calm: true,
    subjects: (scene, namespace) =>
      clustersIn(scene, namespace)
        .filter((cluster) => !isAsleep(cluster) && !instanceOf(scene, namespace, cluster.metadata.name))
        .map(({ metadata }) => metadata.name),
    happen: startInstance,
  },
  {
    name: 'CloudNativePG hibernates Cluster %',
    by: 'cluster',
    calm: true,
    subjects: (scene, namespace) =>
      clustersIn(scene, namespace)
        .filter((cluster) => isAsleep(cluster) && instanceOf(scene, namespace, cluster.metadata.name))
        .map(({ metadata }) => metadata.name),
    happen(scene, namespace, name) {
      const pod = instanceOf(scene, namespace, name);
      if (pod) scene.erase(PODS, pod);
    },
  },
  {
    // A first instance takes longer to answer than a pass of Davit takes to see that it is there.
    name: 'the application writes to Cluster %',
    by: 'cluster',
    calm: true,
    subjects: (scene, namespace) =>
      scene
        .all(POSTGRES_CLUSTERS, namespace)
        .filter((cluster) => isSeenInUse(scene, namespace, cluster))
        .map(({ metadata }) => metadata.name),
    happen(scene, namespace, name) {
      const cluster = scene.get(POSTGRES_CLUSTERS, namespace, name);
      if (cluster) noteData(scene, cluster);
    },
  },
  {
    name: 'somebody has record % adopt what was retained',
    by: 'people',
    subjects: (scene, namespace) =>
      scene
        .all<AppDeployment>(APP_DEPLOYMENTS, namespace)
        .filter((record) => {
          const from = originOf(scene, record);
          const { annotations, uid } = record.metadata;
          return from !== undefined && from !== uid && annotations?.[ADOPT_DATABASE_ANNOTATION] !== from;
        })
        .map(({ metadata }) => metadata.name),
    async happen(scene, namespace, name) {
      const record = scene.get<AppDeployment>(APP_DEPLOYMENTS, namespace, name);
      const from = record && originOf(scene, record);
      const patch = { metadata: { annotations: { [ADOPT_DATABASE_ANNOTATION]: from } } };
      await scene.kube.mergePatch(APP_DEPLOYMENTS, { namespace, name }, patch, { fieldManager: 'person' });
    },
  },
];

/** uid of the record whose database has this record's name. */
function originOf(scene: Scene, record: AppDeployment): string | undefined {
  const [newest] = revisionsOf(scene, record);
  const { namespace = '', name } = record.metadata;
  return holderOf(scene, namespace, name, newest ? databaseNumberOf(newest) : 0)?.metadata.labels?.[
    DEPLOYMENT_UID_LABEL
  ];
}

/** Whether the application can write to it, and has not yet. */
function isSeenInUse(scene: Scene, namespace: string, cluster: KubeObject): boolean {
  const { labels = {}, name } = cluster.metadata;
  const record = scene.get<AppDeployment>(APP_DEPLOYMENTS, namespace, labels[DEPLOYMENT_LABEL] ?? '');
  if (!record || record.metadata.uid !== labels[DEPLOYMENT_UID_LABEL] || !clusterServes(scene, namespace, name))
    return false;
  const { activeRevisionId, databaseVolumeUid } = record.status ?? {};
  // Those of later numbers begin with a backup.
  const isFirst = databaseNumberIn(record.metadata.name, name) === 0;
  const isSeen = activeRevisionId !== undefined || databaseVolumeUid !== undefined;
  return isFirst && isSeen && !hasData(scene, cluster);
}

/** Whether an object without a record is kept for the next one of its name: what has data, such as a Cluster that sleeps, and its password. */
export function isRetained(scene: Scene, namespace: string, object: KubeObject): boolean {
  const record = object.metadata.labels?.[DEPLOYMENT_LABEL] ?? '';
  return scene.mark(namespace, retainedMark(record)) !== undefined && isOfDatabase(object);
}

/** Whether the own PostgreSQL of this name is a Cluster that answers. */
export function clusterServes(scene: Scene, namespace: string, name: string): boolean {
  return instanceOf(scene, namespace, name) !== undefined;
}

/** What a pass has done to retained data, or to that of another record. */
export function clusterIsTaken({ before, after, writes }: PassSeen, record: AppDeployment): string | undefined {
  const { namespace = '', name, uid = '', annotations = {}, deletionTimestamp } = record.metadata;
  const kept = databaseObjects(before, namespace, name).map(({ object }) => object);
  const deleted = kept.find(({ kind, metadata }) =>
    writes.some(
      (write) =>
        write.verb === 'delete' && write.kind === kind && write.ref.name === metadata.name && write.error === undefined,
    ),
  );
  if (deleted && deletionTimestamp !== undefined && record.spec.databaseDeletionPolicy === 'Retain')
    return `The pass deletes ${deleted.kind} ${deleted.metadata.name}, which is retained.`;
  for (const number of NUMBERS) {
    const holder = holderOf(after, namespace, name, number);
    const was = holderOf(before, namespace, name, number)?.metadata.labels?.[DEPLOYMENT_UID_LABEL];
    const isTaken = was !== undefined && was !== uid && holder?.metadata.labels?.[DEPLOYMENT_UID_LABEL] === uid;
    if (isTaken && annotations[ADOPT_DATABASE_ANNOTATION] !== was)
      return `The pass takes ${holder.kind} ${holder.metadata.name}, which is of another record.`;
  }
  return undefined;
}
