// The ownership and the common metadata of children.

import type { AppDeployment } from '../api/app-deployment.ts';
import { API_VERSION, type Component, type ImageComponent } from '../api/meta.ts';
import type { ObjectMeta, OwnerReference } from '../kube/client.ts';
import { namespaceOf, uidOf } from '../record/metadata.ts';
import { commonLabels } from './labels.ts';

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
export function ownedMeta(record: AppDeployment, name: string, component?: Component | ImageComponent): ObjectMeta {
  return { ...keptMeta(record, name, component), ownerReferences: [ownerReference(record)] };
}

/**
 * Metadata of a child with irreplaceable data. It has no ownerReference: after a restore from backup the owner has another
 * uid, and the garbage collector would delete the volume within seconds. The teardown deletes these children.
 */
export function keptMeta(record: AppDeployment, name: string, component?: Component | ImageComponent): ObjectMeta {
  return { name, namespace: namespaceOf(record), labels: commonLabels(record, component) };
}
