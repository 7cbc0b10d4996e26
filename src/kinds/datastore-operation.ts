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
  'Backup: makes a backup of the database now. Restore: replaces the database by a new one that begins with a backup. Move: replaces a database with driver pod by a Cluster of CloudNativePG with the same data. Upgrade: replaces the database by one with the newer PostgreSQL of the platform, the same driver and the same data. Return: uses the previous database again, with the data that it had then. DeletePrevious: deletes a database that is no longer used. Patch: restarts PostgreSQL or Redis with a newer image of the same major version; the pods of the deployment stay. Restore, Move, Upgrade and Return stop the deployment meanwhile and keep the replaced database.';

const Namespace = matching(DNS_LABEL_PATTERN, 63);

export const OperationRestore = z
  .object({
    backup: text(64)
      .regex(new RegExp(BACKUP_NAME_PATTERN))
      .describe('Name of the backup, such as 20260701T010000Z-7f9a2a3e.'),
    from: ObjectName.optional().describe(
      "Deployment whose backup it is, of this namespace unless namespace names another. It may have been deleted. The deployment's own name includes earlier deployments of that name. Default: only backups of this deployment itself.",
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
  .object({ datastore: z.enum(STORE_PARTS).describe('Datastore that restarts.') })
  .describe('The datastore that action Patch restarts with the image of the platform.');

export const Accept = z
  .array(z.enum(LOSSES))
  .max(LOSSES.length)
  .describe(
    'Losses that action Patch may cause. NoBackup: PostgreSQL restarts without a verified backup of the last day. QueueLost: Redis has no volume, so its queue is lost.',
  );

/** One of the databases of a record. */
export const DatabaseOfDeployment = z.object({
  driver: z.enum(DATABASE_DRIVERS).describe('Driver of the database.'),
  number: integer(0, 9999).describe('Its number among the databases of the deployment. The first one has 0.'),
});

export const DatastoreOperationSpec = z
  .object({
    deployment: ObjectName.describe('Name of the AppDeployment on whose database it acts.'),
    action: z.enum(OPERATION_ACTIONS).describe(ACTION_DESCRIPTION),
    backup: z
      .object({
        archive: z
          .boolean()
          .describe(
            'Whether to make a base backup of the archive (driver cloudnative-pg) although the deployment also has dumps.',
          )
          .optional(),
      })
      .describe('How action Backup makes the backup.')
      .optional(),
    restore: OperationRestore.optional(),
    deletePrevious: OperationDeletePrevious.optional(),
    patch: OperationPatch.optional(),
    accept: Accept.meta({ 'x-kubernetes-list-type': 'set' }).optional(),
    requestedBy: text(253).describe('User who requested it. An admission policy rejects any other name.').optional(),
    key: text(64).describe('Digest of the Idempotency-Key of the request that created it.').optional(),
  })
  .meta(
    celRules([
      {
        rule: 'self == oldSelf',
        message: 'an operation cannot be changed: to cancel it, delete it, then create another',
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
  phase: z.enum(OPERATION_PHASES).describe('Progress of the operation.').optional(),
  conditions: Conditions.optional(),
  startedAt: Time.describe('When its work started.').optional(),
  stoppedAt: Time.describe('When the last pod of the deployment had stopped.').optional(),
  servingAt: Time.describe('When the deployment served again.').optional(),
  downtimeSeconds: Count.describe('Seconds during which no pod served.').optional(),
  move: z
    .object({
      from: DatabaseOfDeployment.describe('The database that the deployment had.'),
      to: DatabaseOfDeployment.describe('The database that replaces it.'),
      backup: text(64)
        .describe('The backup with which the new database begins. Absent if it already has data.')
        .optional(),
      backupOf: ObjectName.optional().describe('Deployment that the backup is from, if the operation names one.'),
      backupNamespace: Namespace.optional().describe('Namespace of that deployment, if the operation names one.'),
    })
    .describe('The replaced database and its replacement. Absent for actions Backup, DeletePrevious and Patch.')
    .optional(),
  patch: z
    .object({
      datastore: z.enum(STORE_PARTS).describe('Datastore that restarts.'),
      from: ImageReference.describe('The image that it had.'),
      to: ImageReference.describe('The image that replaces it.'),
    })
    .describe('The replaced image and its replacement. Absent for all actions but Patch.')
    .optional(),
  endedAt: Time.describe('When it ended.').optional(),
  work: text(253).describe('Name of the Job, or of the Backup of CloudNativePG, that does the work.').optional(),
  backup: z
    .object({
      name: text(64).describe('Its name in the store. Absent for a base backup.').optional(),
      takenAt: Time.describe('Time of the state that it has.'),
      sizeBytes: Count.describe('Its size in the store, in bytes. Absent for a base backup.').optional(),
    })
    .describe('The backup that was made.')
    .optional(),
});
export type DatastoreOperationStatus = z.infer<typeof DatastoreOperationStatus>;

export type DatastoreOperation = OwnObject<'DatastoreOperation', DatastoreOperationSpec, DatastoreOperationStatus>;

export const DATASTORE_OPERATIONS = ownKind('DatastoreOperation');
