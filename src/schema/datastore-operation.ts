// DatastoreOperation: one act on the database of a deployment, such as a backup. A person creates it, and the controller carries it out.
// It is in the namespace of the deployment.

import { z } from 'zod';
import type { KubeObject, ObjectMeta } from '../lib/kube/client.ts';
import { Conditions, celRules, ObjectName, Time } from './primitives.ts';

export const OPERATION_ACTIONS = ['Backup'] as const;

export const OPERATION_PHASES = ['Pending', 'Running', 'Succeeded', 'Failed'] as const;
export type OperationPhase = (typeof OPERATION_PHASES)[number];

/** Phases in which nothing is done any more. */
export const ENDED_PHASES: ReadonlySet<OperationPhase> = new Set(['Succeeded', 'Failed']);

export const DatastoreOperationSpec = z
  .object({
    deployment: ObjectName.describe('Name of the AppDeployment whose database it is.'),
    action: z.enum(OPERATION_ACTIONS).describe('What is done. Backup: a backup of the database is made now.'),
    backup: z
      .object({
        archive: z
          .boolean()
          .describe('Whether it is a base backup of the archive (driver cloudnative-pg) where there are dumps too.')
          .optional(),
      })
      .describe('How action Backup makes it.')
      .optional(),
    requestedBy: z
      .string()
      .max(253)
      .describe('User who asks for it. An admission policy lets nobody name another one.')
      .optional(),
    key: z.string().max(64).describe('Digest of the Idempotency-Key of the request that made it.').optional(),
  })
  .meta(
    celRules([
      {
        rule: 'self == oldSelf',
        message: 'an operation cannot be changed; delete it to cancel it, and create another',
      },
    ]),
  );
export type DatastoreOperationSpec = z.infer<typeof DatastoreOperationSpec>;

export const DatastoreOperationStatus = z.object({
  phase: z.enum(OPERATION_PHASES).describe('How far it is.').optional(),
  conditions: Conditions.optional(),
  startedAt: Time.describe('When its work began.').optional(),
  endedAt: Time.describe('When it ended.').optional(),
  work: z
    .string()
    .max(253)
    .describe('Name of the Job, or of the Backup of CloudNativePG, that does the work.')
    .optional(),
  backup: z
    .object({
      name: z.string().max(64).describe('Its name in the store. Absent for a base backup.').optional(),
      takenAt: Time.describe('It has the state of this time.'),
      sizeBytes: z
        .int()
        .min(0)
        .max(Number.MAX_SAFE_INTEGER)
        .describe('Its size in the store, in bytes. Absent for a base backup.')
        .optional(),
    })
    .describe('The backup that was made.')
    .optional(),
});
export type DatastoreOperationStatus = z.infer<typeof DatastoreOperationStatus>;

export interface DatastoreOperation extends KubeObject {
  readonly kind: 'DatastoreOperation';
  readonly metadata: ObjectMeta;
  readonly spec: DatastoreOperationSpec;
  readonly status?: DatastoreOperationStatus;
}

export const DATASTORE_OPERATIONS = {
  group: 'davit.dev',
  version: 'v1alpha1',
  kind: 'DatastoreOperation',
  plural: 'datastoreoperations',
  namespaced: true,
} as const;
