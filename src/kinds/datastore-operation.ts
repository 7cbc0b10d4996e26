// DatastoreOperation: one act on the database or Redis of a deployment, such as a backup or a patch. A person creates it, and the controller
// carries it out. It is in the namespace of the deployment.

import { z } from 'zod';
import { OTHER_NAMESPACE } from './database.ts';
import { BACKUP_NAME_PATTERN, DATABASE_DRIVERS } from './database-names.ts';
import { type OwnObject, ownKind, STORE_PARTS } from './meta.ts';
import { LOSSES, OPERATION_ACTIONS, OPERATION_PHASES } from './operation-phases.ts';
import {
  Conditions,
  Count,
  celRules,
  DNS_LABEL_PATTERN,
  ImageReference,
  integer,
  matching,
  ObjectName,
  Time,
  text,
} from './primitives.ts';

export const ACTION_DESCRIPTION =
  'What is done. Backup: a backup of the database is made now. Restore: the next database begins with a backup, and takes the place of the present one. Move: likewise with a Cluster of CloudNativePG, which begins with all that the present database of driver pod has. Upgrade: likewise with the newer PostgreSQL of the platform, of the same driver. Return: the database before is used again, with the data that it had then. DeletePrevious: a database that is not used is deleted. Patch: PostgreSQL or Redis restarts with a newer image of the same major version; the pods of the deployment stay. All but Backup, DeletePrevious and Patch stop the deployment meanwhile; the database before is kept.';

const Namespace = matching(DNS_LABEL_PATTERN, 63);

export const OperationRestore = z
  .object({
    backup: text(64)
      .regex(new RegExp(BACKUP_NAME_PATTERN))
      .describe('Name of the backup, such as 20260701T010000Z-7f9a2a3e.'),
    from: ObjectName.optional().describe(
      'Deployment whose backup it is, of this namespace unless namespace names another. It may be gone. Its own name stands for every deployment that has had it. Default: a backup of this very deployment.',
    ),
    namespace: Namespace.describe(OTHER_NAMESPACE).optional(),
  })
  .meta(celRules([{ rule: '!has(self.namespace) || has(self.from)', message: 'namespace needs from' }]))
  .describe('What action Restore loads.');

export const OperationDeletePrevious = z
  .object({
    number: integer(0, 9999).describe(
      'Number of the database, as databasesKept in the status of the deployment lists it.',
    ),
  })
  .describe('What action DeletePrevious deletes.');

export const OperationPatch = z
  .object({ datastore: z.enum(STORE_PARTS).describe('Which one restarts.') })
  .describe('What action Patch restarts with the image of the platform.');

export const Accept = z
  .array(z.enum(LOSSES))
  .max(LOSSES.length)
  .describe(
    'Losses that action Patch may cause. NoBackup: PostgreSQL restarts without a verified backup of the last day. QueueLost: Redis has no volume, so its queue is lost.',
  );

/** One of the databases of a record. */
export const DatabaseOfDeployment = z.object({
  driver: z.enum(DATABASE_DRIVERS).describe('What runs it.'),
  number: integer(0, 9999).describe('Its number among the databases of the deployment. The first one has 0.'),
});

export const DatastoreOperationSpec = z
  .object({
    deployment: ObjectName.describe('Name of the AppDeployment whose database it is.'),
    action: z.enum(OPERATION_ACTIONS).describe(ACTION_DESCRIPTION),
    backup: z
      .object({
        archive: z
          .boolean()
          .describe('Whether it is a base backup of the archive (driver cloudnative-pg) where there are dumps too.')
          .optional(),
      })
      .describe('How action Backup makes it.')
      .optional(),
    restore: OperationRestore.optional(),
    deletePrevious: OperationDeletePrevious.optional(),
    patch: OperationPatch.optional(),
    accept: Accept.meta({ 'x-kubernetes-list-type': 'set' }).optional(),
    requestedBy: text(253)
      .describe('User who asks for it. An admission policy lets nobody name another one.')
      .optional(),
    key: text(64).describe('Digest of the Idempotency-Key of the request that made it.').optional(),
  })
  .meta(
    celRules([
      {
        rule: 'self == oldSelf',
        message: 'an operation cannot be changed; delete it to cancel it, and create another',
      },
      {
        rule: "(self.action == 'Restore') == has(self.restore)",
        message: 'action Restore needs restore.backup, and no other action has restore',
      },
      {
        rule: "(self.action == 'DeletePrevious') == has(self.deletePrevious)",
        message: 'action DeletePrevious needs deletePrevious.number, and no other action has deletePrevious',
      },
      {
        rule: "self.action == 'Backup' || !has(self.backup)",
        message: 'only action Backup has backup',
      },
      {
        rule: "(self.action == 'Patch') == has(self.patch)",
        message: 'action Patch needs patch.datastore, and no other action has patch',
      },
      {
        rule: "self.action == 'Patch' || !has(self.accept)",
        message: 'only action Patch has accept',
      },
    ]),
  );
export type DatastoreOperationSpec = z.infer<typeof DatastoreOperationSpec>;

export const DatastoreOperationStatus = z.object({
  phase: z.enum(OPERATION_PHASES).describe('How far it is.').optional(),
  conditions: Conditions.optional(),
  startedAt: Time.describe('When its work began.').optional(),
  stoppedAt: Time.describe('When no pod of the deployment ran any more.').optional(),
  servingAt: Time.describe('When the deployment served again.').optional(),
  downtimeSeconds: Count.describe('Seconds for which nothing served.').optional(),
  move: z
    .object({
      from: DatabaseOfDeployment.describe('The database that the deployment had.'),
      to: DatabaseOfDeployment.describe('The database that takes its place.'),
      backup: text(64).describe('The backup with which that begins. Absent where it has data.').optional(),
      backupOf: ObjectName.optional().describe('Deployment whose backup it is, where the operation names one.'),
      backupNamespace: Namespace.optional().describe('Namespace of that deployment, where the operation names one.'),
    })
    .describe('Which database takes the place of which. Absent for actions Backup, DeletePrevious and Patch.')
    .optional(),
  patch: z
    .object({
      datastore: z.enum(STORE_PARTS).describe('Which one restarts.'),
      from: ImageReference.describe('The image that it had.'),
      to: ImageReference.describe('The image that takes its place.'),
    })
    .describe('Which image takes the place of which. Absent for all actions but Patch.')
    .optional(),
  endedAt: Time.describe('When it ended.').optional(),
  work: text(253).describe('Name of the Job, or of the Backup of CloudNativePG, that does the work.').optional(),
  backup: z
    .object({
      name: text(64).describe('Its name in the store. Absent for a base backup.').optional(),
      takenAt: Time.describe('It has the state of this time.'),
      sizeBytes: Count.describe('Its size in the store, in bytes. Absent for a base backup.').optional(),
    })
    .describe('The backup that was made.')
    .optional(),
});
export type DatastoreOperationStatus = z.infer<typeof DatastoreOperationStatus>;

export type DatastoreOperation = OwnObject<'DatastoreOperation', DatastoreOperationSpec, DatastoreOperationStatus>;

export const DATASTORE_OPERATIONS = ownKind('DatastoreOperation');
