// The ownership and the common metadata of children.

import type { AppDeployment } from '../../kinds/app-deployment.ts';
import { API_VERSION, ARGO_CD_TRACKING_LABEL, type ImageComponent, NOT_PRUNED } from '../../kinds/meta.ts';
import type { ObjectMeta, OwnerReference } from '../../runtime/kube/client.ts';
import { commonLabels } from '../record/labels.ts';
import { namespaceOf, uidOf } from '../record/metadata.ts';

/** Without blockOwnerDeletion, which would require a right on the owner's finalizers. */
export function ownerReference(record: AppDeployment): OwnerReference {
  return {
    apiVersion: API_VERSION,
    kind: 'AppDeployment',
    name: record.metadata.name,
    uid: uidOf(record),
    controller: true,
  };
}

/** Metadata of a child that the garbage collector deletes together with its record. */
export function ownedMeta(record: AppDeployment, name: string, component?: ImageComponent): ObjectMeta {
  const labels = commonLabels(record, component);
  return { name, namespace: namespaceOf(record), labels, ownerReferences: [ownerReference(record)] };
}

/**
 * Metadata of a child with irreplaceable data. It has no ownerReference: after a restore from backup the owner has another
 * uid, and the garbage collector would delete the volume within seconds. The teardown deletes these children. It does not carry
 * the label by which Argo CD finds the objects of the Application of that name, which it prunes unless something owns them; and
 * an annotation forbids the same to an Argo CD that finds them otherwise.
 */
export function keptMeta(record: AppDeployment, name: string, component?: ImageComponent): ObjectMeta {
  const { [ARGO_CD_TRACKING_LABEL]: _tracking, ...labels } = commonLabels(record, component);
  return { name, namespace: namespaceOf(record), labels, annotations: { ...NOT_PRUNED } };
}
