// The databases of a record in the explorer: which there are, and where data is. A move makes another one, with a number of its own.

import { databaseNumberOf } from '../../../src/deploy/record/database-move.ts';
import { databaseNumberIn, names } from '../../../src/deploy/record/names.ts';
import type { AppDeployment } from '../../../src/kinds/app-deployment.ts';
import type { AppRevision } from '../../../src/kinds/app-revision.ts';
import { DEPLOYMENT_LABEL, DEPLOYMENT_UID_LABEL, REVISION_LABEL } from '../../../src/kinds/meta.ts';
import { PERSISTENT_VOLUME_CLAIMS, POSTGRES_CLUSTERS, SECRETS } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject, Resource } from '../../../src/runtime/kube/client.ts';
import type { Scene } from './scene.ts';

/** More than any way moves a record. */
const MOST = 4;
export const NUMBERS: readonly number[] = Array.from({ length: MOST }, (_one, number) => number);
const OF_A_DATABASE: readonly Resource[] = [SECRETS, PERSISTENT_VOLUME_CLAIMS, POSTGRES_CLUSTERS];

/** What has the data of the database of this number. */
export function holderOf(scene: Scene, namespace: string, record: string, number: number): KubeObject | undefined {
  const { postgresClaim } = names(record, number);
  return (
    scene.get(PERSISTENT_VOLUME_CLAIMS, namespace, postgresClaim) ??
    scene.get(POSTGRES_CLUSTERS, namespace, postgresClaim)
  );
}

/** The mark of the data under a name: uid of what has it, and of which record it is. */
export const dataMark = (holder: string): string => `data ${holder}`;
export function noteData(scene: Scene, { metadata: { namespace = '', name, labels = {}, uid } }: KubeObject): void {
  scene.setMark(namespace, dataMark(name), `${uid} ${labels[DEPLOYMENT_UID_LABEL]}`);
}
/** Whether there is data in this very object. */
export function hasData(scene: Scene, { metadata: { namespace = '', name, uid } }: KubeObject): boolean {
  return scene.mark(namespace, dataMark(name))?.startsWith(`${uid} `) === true;
}

/** Volumes, Clusters and passwords of all databases of the name of a record, with their numbers. */
export function databaseObjects(
  scene: Scene,
  namespace: string,
  record: string,
): readonly { readonly resource: Resource; readonly object: KubeObject; readonly number: number }[] {
  return OF_A_DATABASE.flatMap((resource) =>
    scene.all(resource, namespace).flatMap((object) => {
      const number = databaseNumberIn(record, object.metadata.name);
      return number === undefined ? [] : [{ resource, object, number }];
    }),
  );
}

/** Whether an object holds data, or opens it. */
export function isOfDatabase({ kind, metadata: { name, labels = {} } }: KubeObject): boolean {
  const number = databaseNumberIn(labels[DEPLOYMENT_LABEL] ?? '', name);
  return number !== undefined && OF_A_DATABASE.some((resource) => resource.kind === kind);
}

/** Number of the database that pods of this label have. Undefined: their revision is gone. `own`: the revisions of their record. */
export function numberOfPods(
  own: readonly AppRevision[],
  labels: AppDeployment['metadata']['labels'],
): number | undefined {
  const revision = own.find(({ spec }) => spec.id === labels?.[REVISION_LABEL]);
  return revision && databaseNumberOf(revision);
}
