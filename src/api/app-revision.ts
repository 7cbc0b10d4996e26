// AppRevision: one immutable snapshot of everything in a record that needs a new revision when changed, with every
// value resolved. Made by the controller alone.

import { z } from 'zod';
import type { KubeObject, ObjectMeta } from '../kube/client.ts';
import { DEPLOYMENT_TYPES, SecretReference, SourceConfig, SourceRevisionConfig } from './app-deployment.ts';
import { BuildStatus } from './build.ts';
import { Placement, perPart } from './placement.ts';
import { POD_POLICIES } from './pod-policy.ts';
import { Conditions, celRules, ObservedStatus, SecretName, Uuid } from './primitives.ts';
import { ResourceSpec } from './resource-spec.ts';
import { SOURCES } from './source-rules.ts';

/** The life of a revision, in its order, then how it can end otherwise. */
export const REVISION_STATES = [
  'CREATING',
  'QUEUED',
  'AWAITING_BUILD',
  'BUILDING',
  'AWAITING_DEPLOY',
  'DEPLOYING',
  'DEPLOYED',
  'CREATE_FAILED',
  'BUILD_FAILED',
  'DEPLOY_FAILED',
  'SKIPPED',
  'INTERRUPTED',
  'UNKNOWN',
] as const;
export type RevisionState = (typeof REVISION_STATES)[number];

const megabytes = z.int().min(1).max(8_388_608);
const cores = z.number().min(0.01).max(128);
const replicas = z.int().min(0).max(1000);

export const Sized = z.object({
  cpu: cores.describe('CPU requested, in cores.'),
  cpuLimit: cores.describe('CPU limit, in cores.'),
  memoryMb: megabytes.describe('Memory requested, in megabytes (MiB).'),
  memoryLimitMb: megabytes.describe('Memory limit, in megabytes (MiB).'),
});
export type Sized = z.infer<typeof Sized>;

export const Scaled = z.object({
  ...Sized.shape,
  minScale: replicas.describe('Smallest number of replicas.'),
  maxScale: replicas.describe('Largest number of replicas.'),
});
export type Scaled = z.infer<typeof Scaled>;

const image = z.string().max(512);

export const Resolved = z
  .object({
    contract: z.int().min(1).max(1000).describe('Version of the pod contract that the pods of this revision get.'),
    image: image.describe('Image of the record; absent while one is still to be built or pushed.').optional(),
    podPolicy: z.enum(POD_POLICIES).describe('Pod Security Standard that its pods keep; absent: baseline.').optional(),
    pullPolicy: z.enum(['Always', 'IfNotPresent', 'Never']).describe('Pull policy of all images.'),
    otlpEndpoint: z
      .string()
      .max(2048)
      .describe('Where the pods send their telemetry; absent where no collector was configured.')
      .optional(),
    port: z.int().min(1).max(65_535).describe('Port that the image listens on.'),
    healthPath: z.string().max(1024).describe('Path that answers 200 when the server can serve.'),
    progressDeadlineSeconds: z
      .int()
      .min(1)
      .max(86_400)
      .describe('After so long without progress the rollout has failed.'),
    server: Scaled.describe('The main service.'),
    queue: Scaled.describe('Queue workers; absent where the main service works the queue itself.').optional(),
    orchestrator: Scaled.describe('The orchestrator; absent where there is none.').optional(),
    executor: Sized.describe('The executor; absent where there is none.').optional(),
    postgres: z
      .object({
        ...Sized.shape,
        image: image.describe('Image of PostgreSQL.'),
        storageGi: z.int().min(1).max(65_536).describe('Size of its volume, in gibibytes.'),
        maxConnections: z.int().min(1).max(100_000).describe('max_connections of PostgreSQL.'),
      })
      .describe('Absent where an external PostgreSQL is used.')
      .optional(),
    redis: z
      .object({ ...Sized.shape, image: image.describe('Image of Redis or Valkey.') })
      .describe('Absent where an external Redis is used.')
      .optional(),
    pullSecrets: z
      .array(SecretName)
      .max(11)
      .describe('Secrets that the platform adds to those with which images are pulled.')
      .optional(),
    placement: z.object(perPart(Placement)).describe('Where the pods of each part may run.').optional(),
    autoscaling: z
      .object({
        cpuPercent: z.int().min(1).max(1000).describe('CPU aimed at, in percent of the request.'),
        memoryPercent: z.int().min(1).max(1000).describe('Memory aimed at, in percent of the request.'),
        scaleDownWindowSeconds: z.int().min(0).max(3600).describe('So long must fewer pods have been enough.'),
      })
      .describe('What the autoscalers go by; absent in revisions from before there were any: the settings hold.')
      .optional(),
    waitImages: z
      .object({ postgres: image.describe('Waits for PostgreSQL.'), redis: image.describe('Waits for Redis.') })
      .describe('Images of the init containers that wait for the database and Redis.'),
  })
  .describe('Every value in force: defaults, presets and platform images as they were when the revision was made.');
export type Resolved = z.infer<typeof Resolved>;

export const Requested = z
  .object({
    sourceRevisionConfig: SourceRevisionConfig.describe('Its sourceRevisionConfig.'),
    resourceSpec: ResourceSpec.describe('Its sourceConfig.resourceSpec.').optional(),
    secrets: z.array(SecretReference).max(100).describe('Its secrets.'),
    secretReferences: z.array(SecretReference).max(100).describe('Its secretReferences.'),
    installCommand: SourceConfig.shape.installCommand,
    buildCommand: SourceConfig.shape.buildCommand,
    deploymentType: z.enum(DEPLOYMENT_TYPES).describe('Its sourceConfig.deploymentType.').optional(),
  })
  .describe('The values as they stood in the record.');
export type Requested = z.infer<typeof Requested>;

export const AppRevisionSpec = z
  .object({
    id: Uuid.describe('The id that the HTTP API shows.'),
    deploymentName: z.string().max(63).describe('Name of the AppDeployment.'),
    deploymentUid: z.string().max(64).describe('Its uid.'),
    deploymentGeneration: z
      .int()
      .min(0)
      .max(Number.MAX_SAFE_INTEGER)
      .describe('Its generation when this snapshot was taken; the order of revisions.'),
    revisionSerial: z
      .int()
      .min(0)
      .max(Number.MAX_SAFE_INTEGER)
      .describe('Its revisionSerial when this snapshot was taken.')
      .optional(),
    pushSerial: z
      .int()
      .min(1)
      .max(Number.MAX_SAFE_INTEGER)
      .describe('Of revisions that a push made: their number among those of the same generation.')
      .optional(),
    commit: z
      .string()
      .max(64)
      .regex(/^[0-9a-f]{40,64}$/)
      .describe('Commit that was pushed and is built; absent: whichever repoRef means when the build starts.')
      .optional(),
    source: z.enum(SOURCES).describe('Its source.'),
    requested: Requested,
    resolved: Resolved,
  })
  .meta(celRules([{ rule: 'self == oldSelf', message: 'a revision is a snapshot: it cannot be changed' }]));
export type AppRevisionSpec = z.infer<typeof AppRevisionSpec>;

export const AppRevisionStatus = z.object({
  state: z.enum(REVISION_STATES).describe('How far it is in its life, or how that ended.').optional(),
  message: z.string().max(4096).describe('What happened, for people.').optional(),
  observedGeneration: ObservedStatus.shape.observedGeneration,
  stateChangedAt: z.string().max(64).meta({ format: 'date-time' }).describe('When state last changed.').optional(),
  build: BuildStatus.optional(),
  conditions: Conditions.optional(),
});
export type AppRevisionStatus = z.infer<typeof AppRevisionStatus>;

export interface AppRevision extends KubeObject {
  readonly kind: 'AppRevision';
  readonly metadata: ObjectMeta;
  readonly spec: AppRevisionSpec;
  readonly status?: AppRevisionStatus;
}

export const APP_REVISIONS = {
  group: 'davit.dev',
  version: 'v1alpha1',
  kind: 'AppRevision',
  plural: 'apprevisions',
  namespaced: true,
} as const;
