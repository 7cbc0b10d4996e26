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

const MERGED = 'In a PATCH merged field by field: null sets a field back.';

type Component = readonly [schema: z.ZodObject, id: string, words: string, ofRequest?: string];
const COMPONENTS: readonly Component[] = [
  [ResourceSpec, 'ResourceSpec', 'Sizes, scale and pod parts', 'Absent fields take their defaults.'],
  [
    Runtime,
    'Runtime',
    'How the image is run. Every field may be left out (docs/porting.md)',
    'In a PATCH merged field by field, and each part likewise: what is left out stays as it is, null sets a field back to its default. A list or a map takes the place of the one before; an empty one takes it away.',
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
    'The own PostgreSQL beyond its size',
    'In a PATCH absent fields are unchanged, and null takes one away.',
  ],
  [
    DatabaseBackup,
    'DatabaseBackup',
    'Scheduled backups of the own PostgreSQL. An empty object asks for them with all defaults',
    MERGED,
  ],
  [
    DatabaseArchive,
    'DatabaseArchive',
    'Archive of the own PostgreSQL, by which it can be restored to any point in time. An empty object asks for it with all defaults',
    MERGED,
  ],
  [
    DatabaseRestore,
    'DatabaseRestore',
    'The backup that the database of a new deployment begins with',
    'In a PATCH it replaces the previous one, and null takes it away; that has an effect until it is loaded.',
  ],
  [Task, 'Task', 'A command that runs in a pod of its own, on a schedule or when asked', ''],
];

const REPORTS: readonly Component[] = [
  [DatabaseBackupStatus, 'DatabaseBackupReport', 'What is known of the backups'],
  [DatabaseBackupsStatus, 'DatabaseBackupsReport', 'The backups that the store has'],
  [DatabaseArchiveStatus, 'DatabaseArchiveReport', 'What is known of the archive'],
  [DatabaseVerificationStatus, 'DatabaseVerificationReport', 'What is known of the verifications of the backups'],
  [DatabaseRestoreStatus, 'DatabaseRestoreReport', 'What is known of the backup that the database began with'],
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
