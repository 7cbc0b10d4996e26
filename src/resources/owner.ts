// Who a child belongs to, and the metadata that every child carries.

import type { AppDeployment } from '../api/app-deployment.ts';
import { API_VERSION, type Component } from '../api/meta.ts';
import type { ObjectMeta, OwnerReference } from '../kube/client.ts';
import { namespaceOf, uidOf } from '../record/metadata.ts';
import { commonLabels } from './labels.ts';

/** Without blockOwnerDeletion: setting it takes a right on the owner's finalizers that nothing here needs. */
export function ownerReference(record: AppDeployment): OwnerReference {
  return {
    apiVersion: API_VERSION,
    kind: 'AppDeployment',
    name: record.metadata.name,
    uid: uidOf(record),
    controller: true,
  };
}

/** Metadata of a child that the garbage collector may remove together with its record. */
export function ownedMeta(record: AppDeployment, name: string, component?: Component): ObjectMeta {
  return { ...keptMeta(record, name, component), ownerReferences: [ownerReference(record)] };
}

/**
 * Metadata of a child that holds what cannot be made again. No ownerReference: after a restore from backup the owner's
 * uid is another, and the garbage collector would remove the volume within seconds. The teardown looks after these.
 */
export function keptMeta(record: AppDeployment, name: string, component?: Component): ObjectMeta {
  return { name, namespace: namespaceOf(record), labels: commonLabels(record, component) };
}
