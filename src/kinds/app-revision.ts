// AppRevision: an immutable snapshot of all fields of a record that create a new revision when they change, with every value
// resolved. Only the controller creates it.

import { z } from 'zod';
import { DEPLOYMENT_TYPES, SecretReference, SourceConfig, SourceRevisionConfig } from './app-deployment.ts';
import { BuildStatus, CommitWords } from './build.ts';
import { DATA_DURABILITIES, Extensions, Instances, RequestedDatabase } from './database.ts';
import { BACKUP_NAME_PATTERN, MOST_NEVER_LOADED } from './database-names.ts';
import { LONGEST_USERNAME, type OwnObject, ownKind } from './meta.ts';
import { Placement, perPart } from './placement.ts';
import { PlainVariableList } from './plain-variables.ts';
import { POD_POLICIES } from './pod-policy.ts';
import {
  Conditions,
  Count,
  celRules,
  DNS_LABEL_PATTERN,
  integer,
  matching,
  ObjectName,
  ObservedStatus,
  Time,
  text,
  Uuid,
} from './primitives.ts';
import { ResourceSpec } from './resource-spec.ts';
import { REVISION_STATES } from './revision-states.ts';
import { Runtime } from './runtime.ts';
import { SOURCES } from './source-rules.ts';
import { TaskList } from './tasks.ts';

export type RevisionState = (typeof REVISION_STATES)[number];

const megabytes = integer(1, 8_388_608);
const cores = z.number().min(0.01).max(128);
const replicas = integer(0, 1000);

export const Sized = z.object({
  cpu: cores.describe('CPU requested, in cores.'),
  cpuLimit: cores.describe('CPU limit, in cores.'),
  memoryMb: megabytes.describe('Memory requested, in megabytes (MiB).'),
  memoryLimitMb: megabytes.describe('Memory limit, in megabytes (MiB).'),
});
export type Sized = z.infer<typeof Sized>;

export const Scaled = z.object({
  ...Sized.shape,
  minScale: replicas.describe('Minimum number of replicas.'),
  maxScale: replicas.describe('Maximum number of replicas.'),
});
export type Scaled = z.infer<typeof Scaled>;

export const ResolvedWorker = z.object({
  ...Scaled.shape,
  singleton: z.literal(true).describe('Two of its pods never run at the same time.').optional(),
});

const image = text(512);

export const Resolved = z
  .object({
    contract: integer(1, 1000).describe('Version of the pod contract of the pods of this revision.'),
    image: image.describe('Image of the record. Absent until it has been built or pushed.').optional(),
    podPolicy: z.enum(POD_POLICIES).describe('Pod Security Standard of its pods. If absent, baseline.').optional(),
    pullPolicy: z.enum(['Always', 'IfNotPresent', 'Never']).describe('Pull policy of all images.'),
    api: z
      .object({
        url: text(512).describe('Address at which the pods reach the HTTP API.'),
        caConfigMap: ObjectName.describe(
          'ConfigMap of the namespace whose key ca.crt has the authority of its certificate.',
        ).optional(),
      })
      .describe('Of the HTTP API, for a runtime with apiToken. Absent if the pods get no token for it.')
      .optional(),
    otlpEndpoint: text(2048)
      .describe('Endpoint for telemetry of the pods. Absent if no collector was configured.')
      .optional(),
    port: integer(1, 65_535).describe('Port that the image listens on.'),
    healthPath: text(1024).describe('Path that answers 200 when the server can serve.'),
    progressDeadlineSeconds: integer(1, 86_400).describe(
      'The rollout has failed after this many seconds without progress.',
    ),
    server: Scaled.describe('The main service.'),
    queue: Scaled.describe('Queue workers. Absent if the main service processes the queue.').optional(),
    orchestrator: Scaled.describe('The orchestrator, if there is one.').optional(),
    executor: Sized.describe('The executor, if there is one.').optional(),
    workers: z
      .record(text(63), ResolvedWorker)
      .meta({ maxProperties: 64 })
      .describe('The named workers, if there are any.')
      .optional(),
    postgres: z
      .object({
        ...Sized.shape,
        image: image.describe('Image of PostgreSQL.'),
        storageGi: integer(1, 65_536).describe('Size of the volume, in gibibytes.'),
        maxConnections: integer(1, 100_000).describe('max_connections of PostgreSQL.'),
        driver: z.literal('cloudnative-pg').describe('Driver of the database. Absent if it is pod.').optional(),
        user: z
          .literal('app')
          .describe(
            'Role of the application and its database, of driver pod; it is not a superuser. Absent in older databases, where the application is the superuser postgres, and with other drivers.',
          )
          .optional(),
        extensions: Extensions.describe('Extensions that the new database gets.').optional(),
        instances: Instances.describe('Number of instances, with driver cloudnative-pg.').optional(),
        dataDurability: z
          .enum(DATA_DURABILITIES)
          .describe('How a commit waits for a replica. Only with driver cloudnative-pg.')
          .optional(),
        userId: integer(1, 65_535)
          .describe('uid and gid of postgres in the image. Only with driver cloudnative-pg.')
          .optional(),
      })
      .describe("The deployment's own PostgreSQL. Absent if an external one is used.")
      .optional(),
    movedDatabase: z
      .object({
        number: integer(0, 9999).describe(
          'Number of the database, which is in the names of its objects. The first one has 0.',
        ),
        backup: text(64)
          .regex(new RegExp(BACKUP_NAME_PATTERN))
          .describe('Backup of the deployment with which it begins. Absent if it already had data.')
          .optional(),
        backupOf: ObjectName.optional().describe('Deployment that the backup is from, if an operation named one.'),
        backupNamespace: matching(DNS_LABEL_PATTERN, 63)
          .optional()
          .describe('Namespace of that deployment, if the operation named one.'),
        neverLoaded: z
          .array(integer(1, 9999))
          .max(MOST_NEVER_LOADED)
          .describe(
            'Numbers of databases that were replaced before their backup was loaded. The deployment cannot return to them.',
          )
          .optional(),
        highest: integer(1, 9999)
          .describe('Highest number that a database of the deployment has had, if it is higher. It is not used again.')
          .optional(),
      })
      .describe('The database that the deployment has used since it was moved. Absent if it was never moved.')
      .optional(),
    redis: z
      .object({ ...Sized.shape, image: image.describe('Image of Redis or Valkey.') })
      .describe("The deployment's own Redis. Absent if an external one is used.")
      .optional(),
    pullSecrets: z.array(ObjectName).max(10).describe('Pull secrets that the platform adds.').optional(),
    placement: z.object(perPart(Placement)).describe('Where the pods of each part may run.').optional(),
    autoscaling: z
      .object({
        cpuPercent: integer(1, 1000).describe('Target CPU utilization, in percent of the request.'),
        memoryPercent: integer(1, 1000).describe('Target memory utilization, in percent of the request.'),
        scaleDownWindowSeconds: integer(0, 3600).describe('Stabilization window before pods are removed, in seconds.'),
      })
      .describe('Targets of the autoscalers.'),
    migrated: z
      .literal(true)
      .describe('The migration has already run for an earlier revision with this image and these values.')
      .optional(),
    podsOf: Uuid.describe(
      'Id of the earlier revision that shares its pods with this one, because they are identical. Their label and DAVIT_REVISION_ID have this id.',
    ).optional(),
    podsOfParts: z
      .object(perPart(Uuid))
      .describe(
        'Ids of the earlier revisions that share the pods of single parts. A part that is not named has pods of its own. For PostgreSQL and Redis, whose pods have no id: the revision that changed them last, which their StatefulSet names.',
      )
      .optional(),
    podsOfWorkers: z
      .record(text(63), Uuid)
      .meta({ maxProperties: 64 })
      .describe('Ids of the earlier revisions that share the pods of named workers.')
      .optional(),
    waitImages: z
      .object({
        postgres: image.describe('Image of the container that waits for PostgreSQL.'),
        redis: image.describe('Image of the container that waits for Redis.'),
      })
      .describe('Images of the init containers that wait for the database and Redis.'),
  })
  .describe('Every value in force: defaults, presets and platform images at the time when the revision was created.');
export type Resolved = z.infer<typeof Resolved>;

export const Requested = z
  .object({
    sourceRevisionConfig: SourceRevisionConfig.describe('sourceRevisionConfig of the record.'),
    resourceSpec: ResourceSpec.describe('sourceConfig.resourceSpec of the record.').optional(),
    runtime: Runtime.describe('sourceConfig.runtime of the record.').optional(),
    env: PlainVariableList.describe('sourceConfig.env of the record.').optional(),
    tasks: TaskList.describe('sourceConfig.tasks of the record.').optional(),
    database: RequestedDatabase.describe('driver and instances of sourceConfig.database of the record.').optional(),
    secrets: z.array(SecretReference).max(100).describe('secrets of the record.'),
    secretReferences: z.array(SecretReference).max(100).describe('secretReferences of the record.'),
    installCommand: SourceConfig.shape.installCommand,
    buildCommand: SourceConfig.shape.buildCommand,
    deploymentType: z.enum(DEPLOYMENT_TYPES).describe('sourceConfig.deploymentType of the record.').optional(),
  })
  .describe('The values as written in the record, and those that its davitFile adds.');
export type Requested = z.infer<typeof Requested>;

/** What the file of a revision says that a build takes, of any version of Davit. */
export const RevisionFile = z
  .object({
    path: text(1024).describe('davitFile of the record when this snapshot was taken.'),
    given: text(262_144)
      .describe('The fields of the file that a revision can take, as JSON. Absent if the file was not valid.')
      .optional(),
    fields: z
      .array(text(512))
      .max(1000)
      .describe('The fields of requested that come from the file, such as resourceSpec.cpu or env.LOG_LEVEL.')
      .optional(),
    notTaken: z
      .array(text(512))
      .max(1000)
      .describe("The file's fields that only the record sets, if their values differ.")
      .optional(),
    failure: z
      .object({
        reason: text(64).describe('Reason of status.build.'),
        message: text(4096).describe('What is wrong, and what to do.'),
      })
      .describe('Why the file cannot be used: the revision is not built.')
      .optional(),
  })
  .describe('The davit.yaml at the commit of the revision.');
export type RevisionFile = z.infer<typeof RevisionFile>;

export const AppRevisionSpec = z
  .object({
    id: Uuid.describe('Id of the revision in the HTTP API.'),
    deploymentName: text(63).describe('Name of the AppDeployment.'),
    deploymentUid: text(64).describe('uid of the AppDeployment.'),
    deploymentGeneration: Count.describe(
      'Generation of the AppDeployment when this snapshot was taken. It orders the revisions.',
    ),
    revisionSerial: Count.describe('revisionSerial of the AppDeployment when this snapshot was taken.').optional(),
    rollbackTo: Uuid.describe(
      'rollbackTo of the AppDeployment when this snapshot was taken, even if an earlier rollback set it.',
    ).optional(),
    pushSerial: integer(1, Number.MAX_SAFE_INTEGER)
      .describe('Number of a revision that a push or an operation created, among those of the same generation.')
      .optional(),
    commit: text(64)
      .regex(/^[0-9a-f]{40,64}$/)
      .describe('Commit that was pushed and is built. Absent: the commit of repoRef when the build starts.')
      .optional(),
    ...CommitWords.shape,
    branchCommit: text(64)
      .regex(/^[0-9a-f]{40,64}$/)
      .describe(
        'Newest commit of the branch that an earlier revision had. It is set if a rollback or a change of sizes keeps an image or a commit. Only a different commit counts as a push.',
      )
      .optional(),
    requestedBy: text(LONGEST_USERNAME)
      .describe(
        'Username of the person whose change of the AppDeployment created this revision. Absent if the change does not name one, or if several changes did.',
      )
      .optional(),
    source: z.enum(SOURCES).describe('source of the AppDeployment.'),
    file: RevisionFile.optional(),
    requested: Requested,
    resolved: Resolved,
  })
  .meta(celRules([{ rule: 'self == oldSelf', message: 'a revision is a snapshot and cannot be changed' }]));
export type AppRevisionSpec = z.infer<typeof AppRevisionSpec>;

export const MIGRATION_PHASES = ['Running', 'Succeeded', 'Failed'] as const;

export const MigrationStatus = z.object({
  phase: z.enum(MIGRATION_PHASES).describe('Its progress. Succeeded and Failed are final.'),
  job: text(63).describe('Name of its Job.'),
  message: text(4096).describe('Why it failed, with its last output.').optional(),
});
export type MigrationStatus = z.infer<typeof MigrationStatus>;

export const AppRevisionStatus = z.object({
  state: z.enum(REVISION_STATES).describe('State of the revision.').optional(),
  message: text(4096).describe('What happened, as text for people.').optional(),
  observedGeneration: ObservedStatus.shape.observedGeneration,
  stateChangedAt: Time.describe('Time of the last change of state.').optional(),
  migration: MigrationStatus.describe('The migration of this revision, once its Job has been made.').optional(),
  failure: z
    .object({
      reason: text(128).describe('Reason of the condition WorkloadsReady.'),
      message: text(4096).describe('Why it failed, with the last output of its container.'),
    })
    .describe(
      'Set when the containers of this revision exited too often (settings.pods.maxCrashes): the active revision serves instead, until a newer revision is deployed.',
    )
    .optional(),
  build: BuildStatus.optional(),
  conditions: Conditions.optional(),
});
export type AppRevisionStatus = z.infer<typeof AppRevisionStatus>;

export type AppRevision = OwnObject<'AppRevision', AppRevisionSpec, AppRevisionStatus>;

export const APP_REVISIONS = ownKind('AppRevision');
