// Metadata that every record from an API server has, although its type does not guarantee it.

import type { AppDeployment } from '../../kinds/app-deployment.ts';
import { ORIGIN_GENERATION_ANNOTATION, ORIGIN_ID_ANNOTATION } from '../../kinds/meta.ts';
import type { KubeObject } from '../../runtime/kube/client.ts';

/** Throws for a record that was not read from an API server. */
export function uidOf(record: AppDeployment): string {
  if (record.metadata.uid === undefined) throw new TypeError(`AppDeployment ${record.metadata.name} has no uid`);
  return record.metadata.uid;
}

/** Throws for a record that was not read from an API server. */
export function namespaceOf(record: AppDeployment): string {
  if (record.metadata.namespace === undefined)
    throw new TypeError(`AppDeployment ${record.metadata.name} has no namespace`);
  return record.metadata.namespace;
}

/**
 * Id of the deployment and base of the ids of its revisions. A copy in a listener's cluster has the id of its record on the hub.
 * Throws for a record that was not read from an API server.
 */
export function idOf(record: AppDeployment): string {
  return record.metadata.annotations?.[ORIGIN_ID_ANNOTATION] ?? uidOf(record);
}

/** Generation of the record; of a copy, that of its record on the hub. */
export function originGenerationOf({ metadata }: AppDeployment): number {
  return Number(metadata.annotations?.[ORIGIN_GENERATION_ANNOTATION] ?? metadata.generation ?? 0);
}

/** Whether the object of this uid is among the owners; no object has none. */
export function isOwnedBy({ metadata }: KubeObject, uid: string | undefined): boolean {
  return uid !== undefined && metadata.ownerReferences?.some((owner) => owner.uid === uid) === true;
}
