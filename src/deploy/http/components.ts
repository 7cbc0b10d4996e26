// The schemas of requests and answers that follow from the record's schema, and how the OpenAPI document describes their objects.

import type { z } from 'zod';
import { Access } from '../../kinds/app-deployment.ts';
import {
  Database,
  DatabaseArchive,
  DatabaseArchiveStatus,
  DatabaseBackup,
  DatabaseBackupStatus,
  DatabaseBackupsStatus,
  DatabaseRestore,
  DatabaseRestoreStatus,
  DatabaseVerificationStatus,
  DatastoreStatus,
} from '../../kinds/database.ts';
import { Migrate } from '../../kinds/migrate.ts';
import { ChosenPlacement } from '../../kinds/placement.ts';
import { QueueDepth } from '../../kinds/queue-depth.ts';
import { ResourceSpec } from '../../kinds/resource-spec.ts';
import { Runtime } from '../../kinds/runtime.ts';
import { RuntimePart } from '../../kinds/runtime-part.ts';
import { Task } from '../../kinds/tasks.ts';
import { RuntimeWorker } from '../../kinds/workers.ts';
import { apiSchemas } from '../../runtime/http/api-schemas.ts';

const MERGED = 'A PATCH merges it field by field, and null resets a field.';

type Component = readonly [schema: z.ZodObject, id: string, words: string, ofRequest?: string];
const COMPONENTS: readonly Component[] = [
  [ResourceSpec, 'ResourceSpec', 'Sizes, scale and pod parts', 'Absent fields take their defaults.'],
  [
    Runtime,
    'Runtime',
    'How the image is run. Every field is optional (docs/porting.md)',
    'A PATCH merges it and each of its parts field by field: absent fields are unchanged, and null resets a field to its default. A list or map replaces the previous one; an empty one removes it.',
  ],
  [Access, 'Access', 'Who reaches the main service', MERGED],
  [ChosenPlacement, 'PartPlacement', 'Where the pods of a part run', MERGED],
  [RuntimePart, 'RuntimePart', 'How one part is run', MERGED],
  [RuntimeWorker, 'RuntimeWorker', 'A named worker', `${MERGED} null instead of the worker removes it.`],
  [Migrate, 'Migrate', 'What runs before a rollout', MERGED],
  [QueueDepth, 'QueueDepth', 'What the queue workers follow', MERGED],
  [
    Database,
    'Database',
    "Settings of the deployment's own PostgreSQL, except its size",
    'In a PATCH, absent fields are unchanged, and null removes a field.',
  ],
  [
    DatabaseBackup,
    'DatabaseBackup',
    "Scheduled backups of the deployment's own PostgreSQL. An empty object turns them on with all defaults",
    MERGED,
  ],
  [
    DatabaseArchive,
    'DatabaseArchive',
    "Archive of the deployment's own PostgreSQL, from which it can be restored to any point in time. An empty object turns it on with all defaults",
    MERGED,
  ],
  [
    DatabaseRestore,
    'DatabaseRestore',
    'The backup with which the database of a new deployment begins',
    'A PATCH replaces the previous one, and null removes it. Neither has an effect after the backup is loaded.',
  ],
  [Task, 'Task', 'A command that runs in a pod of its own, on a schedule or on request', ''],
];

const REPORTS: readonly Component[] = [
  [DatabaseBackupStatus, 'DatabaseBackupReport', 'State of the backups'],
  [DatabaseBackupsStatus, 'DatabaseBackupsReport', 'Backups in the store'],
  [DatabaseArchiveStatus, 'DatabaseArchiveReport', 'State of the archive'],
  [DatabaseVerificationStatus, 'DatabaseVerificationReport', 'State of the verifications of the backups'],
  [DatabaseRestoreStatus, 'DatabaseRestoreReport', 'State of the backup with which the database began'],
  [DatastoreStatus, 'DatastoreReport', 'Image and version of a datastore'],
];

const requests = COMPONENTS.map(([schema, id, words, ofRequest]) => {
  return [schema.def, { id: `${id}Request`, description: `${words}. ${ofRequest}`.trim() }] as const;
});
const answers = [
  ...COMPONENTS.map(([schema, id, words]) => [schema, id, `${words}; null where unset.`] as const),
  ...REPORTS.map(([schema, id, words]) => [schema, id, `${words}; null where nothing is known.`] as const),
].map(([schema, id, description]) => [schema.def, { id, description }] as const);

export const { payload, response } = apiSchemas(new Map(requests), new Map(answers));
