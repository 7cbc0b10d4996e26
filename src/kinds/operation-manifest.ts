// The object that asks for an operation on a datastore. Imports no zod at run time, so that the plugin can use it.

import type { DatastoreOperation, DatastoreOperationSpec } from './datastore-operation.ts';
import { API_VERSION } from './meta.ts';

/** The manifest of an operation, however it is asked for. */
export function anOperation<Metadata>(
  metadata: Metadata,
  { accept = [], ...spec }: DatastoreOperationSpec,
): Omit<DatastoreOperation, 'metadata' | 'status'> & { readonly metadata: Metadata } {
  const losses = accept.length > 0 && { accept };
  return { apiVersion: API_VERSION, kind: 'DatastoreOperation', metadata, spec: { ...spec, ...losses } };
}
