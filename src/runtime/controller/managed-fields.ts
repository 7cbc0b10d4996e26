// Removes managedFields, which can be most of an object's size, from cached objects.

import { present } from '../json-value.ts';
import type { KubeObject } from '../kube/client.ts';

/** Keeps everything but managedFields. */
export function dropManagedFields<T extends KubeObject>(object: T): T {
  delete (object.metadata as { managedFields?: unknown }).managedFields;
  return object;
}

/** Keeps manager and time of managedFields, without the sets of fields. */
export function slimManagedFields<T extends KubeObject>(object: T): T {
  const { managedFields } = object.metadata;
  if (managedFields === undefined) return object;
  (object.metadata as { managedFields?: unknown }).managedFields = managedFields.map((field) => ({
    ...(field.manager !== undefined && { manager: field.manager }),
    ...present({ operation: field.operation, subresource: field.subresource, time: field.time }),
  }));
  return object;
}
