// AppDeployment: the deployment record that people write. This file contains only the schema.

import { z } from 'zod';
import { whole } from '../runtime/http/casing.ts';
import {
  ARCHIVE_DRIVER_MESSAGE,
  ARCHIVE_RESTORE_MESSAGE,
  Database,
  DatabaseArchiveStatus,
  DatabaseBackupStatus,
  DatabaseBackupsStatus,
  DatabaseOffer,
  DatabaseRestoreStatus,
  DatabaseVerificationStatus,
  DatastoreStatus,
  ONE_POD_MESSAGE,
} from './database.ts';
import { DATABASE_DRIVERS, DELETION_POLICIES, MOST_KEPT } from './database-names.ts';
import { DatabaseOfDeployment } from './datastore-operation.ts';
import { LONGEST_USERNAME, type OwnObject, ownKind, PLATFORM_VARIABLES } from './meta.ts';
import { SECRET_KEY_PATTERN } from './name-patterns.ts';
import { OPERATION_PHASES } from './operation-phases.ts';
import { PLAIN_VARIABLE_RULES, PlainVariables, RESERVED_NAMES_MESSAGE } from './plain-variables.ts';
import {
  type CelRule,
  Conditions,
  Count,
  celNames,
  celRules,
  DNS_LABEL_PATTERN,
  HOST_URL_PATTERN,
  ImageReference,
  integer,
  listOf,
  matching,
  ObjectName,
  oneOf,
  Printable,
  Time,
  text,
  Uuid,
  VariableName,
} from './primitives.ts';
import { ResourceSpec } from './resource-spec.ts';
import { RUNTIME_RULES, Runtime } from './runtime.ts';
import {
  FIXED_FIELDS,
  type FixedField,
  SOURCE_FIELDS,
  SOURCE_RULES,
  SOURCES,
  type Source,
  uses,
} from './source-rules.ts';
import { TaskStatuses, Tasks } from './tasks.ts';

export const STATES = ['AWAITING_DATABASE', 'READY', 'UNUSED', 'AWAITING_DELETE', 'UNKNOWN'] as const;
export type State = (typeof STATES)[number];

export const DEPLOYMENT_TYPES = ['dev_free', 'dev', 'prod'] as const;
export type DeploymentType = (typeof DEPLOYMENT_TYPES)[number];
/** Values that a record may have. Published clients send `dev_zero`, which means `dev`. */
export const DEPLOYMENT_TYPE_INPUTS = [...DEPLOYMENT_TYPES, 'dev_zero'] as const;
export type DeploymentTypeInput = (typeof DEPLOYMENT_TYPE_INPUTS)[number];

export function deploymentTypeMeant(type: DeploymentTypeInput): DeploymentType;
export function deploymentTypeMeant(type: DeploymentTypeInput | undefined): DeploymentType | undefined;
export function deploymentTypeMeant(type: DeploymentTypeInput | undefined): DeploymentType | undefined {
  return type === 'dev_zero' ? 'dev' : type;
}

/** What the upload endpoint calls an upload: `uploads/` and a random number. Its tag in the deployment's repository is the same with a hyphen. */
export const REPOSITORY_URL_PATTERN = '^https://[^\\x00-\\x20\\x7f]+$';
export const REPOSITORY_PATH_PATTERN = '^[A-Za-z0-9._][A-Za-z0-9._/ @+-]*$';
export const REF_PATTERN = '^[A-Za-z0-9_][A-Za-z0-9._/+@-]*$';
export const UPLOAD_PATTERN = '^uploads/[0-9a-f]{32}$';
export const UPLOAD_MESSAGE = 'is not a path that the upload endpoint returned';

export const SecretReference = z.object({
  name: VariableName.describe('Name of the environment variable.'),
  secretName: ObjectName.describe('Secret in the same namespace.'),
  secretKey: matching(SECRET_KEY_PATTERN, 253, 1).describe('Key in the Secret.'),
});
export type SecretReference = z.infer<typeof SecretReference>;

const SecretReferences = listOf(SecretReference, 100).meta({
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['name'],
  ...celRules([{ rule: `self.all(s, !(s.name in ${celNames(PLATFORM_VARIABLES)}))`, message: RESERVED_NAMES_MESSAGE }]),
});

export const NO_LOCK_MESSAGE = 'no sidecar has this name: add it to sidecars of resourceSpec';

export const Access = z
  .object({
    from: listOf(matching(DNS_LABEL_PATTERN, 63, 1), 50)
      .describe(
        "Namespaces whose pods may reach the main service, in addition to the deployment's own. Empty: none. Absent: the platform's default. The deployment has an address only if the ingress controller's namespace is one of them.",
      )
      .optional(),
    lock: matching(DNS_LABEL_PATTERN, 63, 1)
      .describe(
        'Sidecar that listens on the port and requires a key from callers (docs/deploy.md). Davit reports it and does not check it.',
      )
      .optional(),
  })
  .describe('Who reaches the main service. A change creates no revision.');

export const SourceConfig = z.object({
  integrationId: Uuid.describe('uid of the code host integration (codehost).').optional(),
  repoUrl: matching(REPOSITORY_URL_PATTERN, 2048)
    .describe('Repository URL, https (codehost, internal_template).')
    .optional(),
  buildOnPush: z
    .boolean()
    .describe('Build on every push to the branch (codehost). A change creates no revision.')
    .optional(),
  customUrl: matching(HOST_URL_PATTERN, 261)
    .describe('Address: https://host or a bare host. A change creates no revision.')
    .optional(),
  access: Access.optional(),
  resourceSpec: ResourceSpec.describe('Sizes, scale and pod parts.').optional(),
  runtime: Runtime.describe('How the image is run: port, health path, commands, names of variables.').optional(),
  env: PlainVariables.describe(
    'Environment variables whose values are visible to readers of the record. Secret values belong in secrets.',
  ).optional(),
  database: Database.meta(
    celRules([
      {
        rule: "!has(self.driver) || self.driver == 'cloudnative-pg' || !has(self.instances) || self.instances == 1",
        message: ONE_POD_MESSAGE,
        fieldPath: '.instances',
      },
      {
        rule: "!has(self.driver) || self.driver == 'cloudnative-pg' || !has(self.archive) || (has(self.archive.enabled) && !self.archive.enabled)",
        message: ARCHIVE_DRIVER_MESSAGE,
        fieldPath: '.archive',
      },
      {
        rule: "!has(self.driver) || self.driver == 'cloudnative-pg' || !has(self.restore) || !has(self.restore.archive) || !self.restore.archive",
        message: ARCHIVE_RESTORE_MESSAGE,
        fieldPath: '.restore',
      },
    ]),
  )
    .describe(
      "Driver of the deployment's own PostgreSQL, its backups, and the backup that it begins with. Only driver and instances create a revision.",
    )
    .optional(),
  tasks: Tasks.describe(
    'Commands that run in pods of their own like the active server, on a schedule or on request.',
  ).optional(),
  listenerId: Uuid.describe('uid of the Listener whose cluster runs this record (external_docker).').optional(),
  listenerConfig: whole(
    z.object({
      k8sNamespace: matching(DNS_LABEL_PATTERN, 63, 1)
        .describe("Namespace in the listener's cluster, one of those that the Listener lists.")
        .optional(),
    }),
  )
    .describe('Configuration for the listener.')
    .optional(),
  installCommand: Printable.max(4096).describe('Command that installs dependencies during a build.').optional(),
  buildCommand: Printable.max(4096).describe('Build command.').optional(),
  deploymentType: oneOf(DEPLOYMENT_TYPE_INPUTS).describe('Preset of sizes and scale; dev_zero means dev.').optional(),
});
export type SourceConfig = z.infer<typeof SourceConfig>;

export const INSIDE_REPOSITORY_MESSAGE = 'must stay inside the repository: remove ..';
const STAYS_INSIDE: CelRule = {
  rule: "!self.split('/').exists(part, part == '..')",
  message: INSIDE_REPOSITORY_MESSAGE,
};

const RepositoryPath = matching(REPOSITORY_PATH_PATTERN, 1024, 1).meta(celRules([STAYS_INSIDE]));

export const SourceRevisionConfig = z.object({
  repoRef: matching(REF_PATTERN, 255, 1).describe('Branch, tag or commit (codehost, internal_template).').optional(),
  workflowConfigPath: RepositoryPath.describe('Path of the workflow configuration file in the repository.').optional(),
  davitFile: RepositoryPath.describe(
    'Path of a davit.yaml in the repository. Each new revision reads it at its commit and takes the fields that the record does not set (codehost). A missing or invalid file fails the revision.',
  ).optional(),
  imageUri: ImageReference.describe(
    'Container image (external_docker, internal_docker, internal_template).',
  ).optional(),
  sourceTarballPath: matching(/^[A-Za-z0-9._][A-Za-z0-9._/-]*$/, 1024, 1)
    .meta(celRules([{ rule: `self.matches('${UPLOAD_PATTERN}')`, message: UPLOAD_MESSAGE }]))
    .describe('Uploaded source, as the upload endpoint names it (internal_source).')
    .optional(),
});
export type SourceRevisionConfig = z.infer<typeof SourceRevisionConfig>;

/** The CEL rules of one source: required and forbidden fields. */
function sourceRules(source: Source): CelRule[] {
  const { fields, required } = SOURCE_RULES[source];
  const when = `self.source != '${source}'`;
  const missing = SOURCE_FIELDS.filter(({ field }) => required.includes(field));
  const foreign = SOURCE_FIELDS.filter(({ field }) => !fields.includes(field));
  return [
    ...missing.map(
      ({ where, field }): CelRule => ({
        rule: `${when} || has(self.${where}.${field})`,
        message: `source ${source} needs ${field}`,
        fieldPath: `.${where}.${field}`,
        reason: 'FieldValueRequired',
      }),
    ),
    ...foreign.map(
      ({ where, field }): CelRule => ({
        rule: `${when} || !has(self.${where}.${field})`,
        message: `${field} does not apply to source ${source}`,
        fieldPath: `.${where}.${field}`,
        reason: 'FieldValueForbidden',
      }),
    ),
  ];
}

/** UUIDs are compared without regard to case. */
const FIXED_UUIDS: ReadonlySet<FixedField> = new Set(['integrationId', 'listenerId']);

/**
 * The source is immutable, so a field that one source fixes is immutable for every source that has it. (`?` and `orValue`
 * would be shorter, but exceed the cost limit: their results have no maxLength.)
 */
function fixedRules(): CelRule[] {
  return FIXED_FIELDS.map((field) => {
    const [before, after] = [`oldSelf.sourceConfig.${field}`, `self.sourceConfig.${field}`];
    const as = FIXED_UUIDS.has(field) ? '.lowerAscii()' : '';
    return {
      rule: `has(${before}) ? has(${after}) && ${before}${as} == ${after}${as} : !has(${after})`,
      message: `${field} cannot be changed after creation`,
      fieldPath: `.sourceConfig.${field}`,
    };
  });
}

export const RESTORE_AT_CREATION_MESSAGE =
  'can be set only when the deployment is created: create another deployment that begins with the backup';

export const EXTENSIONS_AT_CREATION_MESSAGE =
  "can be set only when the deployment is created: in an existing database, its superuser creates them (docs/databases.md, 'Extensions')";

const SOURCES_OF_REFERENCES = SOURCES.filter((source) => uses(source, 'references'));
export const REFERENCES_MESSAGE = `secretReferences apply only to source ${SOURCES_OF_REFERENCES.join(', ')}`;

export const REBUILD_SERIAL_MESSAGE =
  'must not be above revisionSerial: to request a revision of the newest commit, set both to the same number';

export const AppDeploymentSpec = z
  .object({
    source: oneOf(SOURCES)
      .meta(celRules([{ rule: 'self == oldSelf', message: 'source cannot be changed after creation' }]))
      .describe('Where the image comes from. Immutable.'),
    sourceConfig: SourceConfig.default({}).describe('Configuration that creates a new revision only for some fields.'),
    sourceRevisionConfig: SourceRevisionConfig.default({}).describe(
      'Configuration that creates a new revision when it changes.',
    ),
    secrets: SecretReferences.default([]).describe(
      'Environment variables with values in Secrets. The HTTP API stores the values that it receives in such Secrets.',
    ),
    secretReferences: SecretReferences.describe(
      'Environment variables from Secrets that you manage yourself (external_docker).',
    ).optional(),
    revisionSerial: Count.describe(
      'Raise it by one to request a new revision. The HTTP API does so in every write that needs one.',
    ).optional(),
    rebuildSerial: Count.describe(
      'revisionSerial of the last request for a rebuild, a revision that builds the newest commit, replaces all pods and migrates again. Changes that arrive before Davit creates that revision become part of it. The HTTP API writes it.',
    ).optional(),
    rollbackTo: Uuid.describe(
      'Id of the revision whose resolved values are restored. Raise revisionSerial in the same write.',
    ).optional(),
    databaseDeletionPolicy: oneOf(DELETION_POLICIES)
      .describe(
        'Whether deletion of the record deletes the PostgreSQL volume and password. Default: settings.database.deletionPolicy when Davit first sees the record; status.databaseDeletionPolicy has the value in force.',
      )
      .optional(),
    tracingProjectDeletionPolicy: oneOf(DELETION_POLICIES)
      .default('Retain')
      .describe('Whether deletion of the record deletes the tracing project.'),
  })
  .meta(
    celRules([
      ...SOURCES.flatMap(sourceRules),
      ...fixedRules(),
      {
        rule: `${SOURCES_OF_REFERENCES.map((source) => `self.source == '${source}'`).join(' || ')} || !has(self.secretReferences) || self.secretReferences.size() == 0`,
        message: REFERENCES_MESSAGE,
        fieldPath: '.secretReferences',
        reason: 'FieldValueForbidden',
      },
      {
        rule: "self.source != 'internal_template' || has(self.sourceRevisionConfig.imageUri) || has(self.sourceConfig.repoUrl)",
        message: 'source internal_template needs imageUri or repoUrl of a template',
        fieldPath: '.sourceRevisionConfig.imageUri',
        reason: 'FieldValueRequired',
      },
      {
        rule: 'has(self.sourceConfig.listenerId) == has(self.sourceConfig.listenerConfig)',
        message: 'set listenerId and listenerConfig together',
        fieldPath: '.sourceConfig.listenerConfig',
      },
      {
        rule: "!has(self.sourceConfig.buildOnPush) || !self.sourceConfig.buildOnPush || !has(self.sourceRevisionConfig.repoRef) || !self.sourceRevisionConfig.repoRef.startsWith('refs/tags/')",
        message: 'buildOnPush must be false for a tag, which does not change',
        fieldPath: '.sourceConfig.buildOnPush',
      },
      {
        rule: '!has(self.secretReferences) || self.secrets.all(s, !self.secretReferences.exists(r, r.name == s.name))',
        message: 'a name may be in secrets or in secretReferences, not in both',
        fieldPath: '.secretReferences',
      },
      {
        rule: '!has(oldSelf.revisionSerial) || (has(self.revisionSerial) && self.revisionSerial >= oldSelf.revisionSerial)',
        message: 'revisionSerial must not be lowered',
      },
      {
        rule: '!has(self.rebuildSerial) || (has(self.revisionSerial) && self.rebuildSerial <= self.revisionSerial)',
        message: REBUILD_SERIAL_MESSAGE,
        fieldPath: '.rebuildSerial',
      },
      {
        rule: '!has(self.sourceConfig.database) || !has(self.sourceConfig.database.restore) || (has(oldSelf.sourceConfig.database) && has(oldSelf.sourceConfig.database.restore))',
        message: RESTORE_AT_CREATION_MESSAGE,
        fieldPath: '.sourceConfig.database.restore',
      },
      {
        rule: '!has(self.sourceConfig.database) || !has(self.sourceConfig.database.extensions) || (has(oldSelf.sourceConfig.database) && has(oldSelf.sourceConfig.database.extensions) && self.sourceConfig.database.extensions == oldSelf.sourceConfig.database.extensions)',
        message: EXTENSIONS_AT_CREATION_MESSAGE,
        fieldPath: '.sourceConfig.database.extensions',
      },
      {
        rule: '!has(self.sourceConfig.access) || !has(self.sourceConfig.access.lock) || (has(self.sourceConfig.resourceSpec) && has(self.sourceConfig.resourceSpec.sidecars) && self.sourceConfig.resourceSpec.sidecars.exists(s, s.name == self.sourceConfig.access.lock))',
        message: NO_LOCK_MESSAGE,
        fieldPath: '.sourceConfig.access.lock',
      },
      ...RUNTIME_RULES,
      ...PLAIN_VARIABLE_RULES,
    ]),
  );
export type AppDeploymentSpec = z.infer<typeof AppDeploymentSpec>;

export const AppDeploymentStatus = z.object({
  state: oneOf(STATES).describe('Status in the HTTP API.').optional(),
  stateChangedAt: Time.describe('Time of the last change of state.').optional(),
  stalledReasonSince: Time.describe(
    'Since when Stalled has its present reason, if it was True for another reason before. Otherwise, lastTransitionTime of Stalled has that time.',
  ).optional(),
  observedGeneration: Count.describe('Generation of the record from which this status was computed.').optional(),
  changedBy: text(LONGEST_USERNAME)
    .describe(
      'Username of the person who wrote the spec of that generation. Absent if the write did not name one, and while the record is being deleted.',
    )
    .optional(),
  phase: text(32)
    .describe('State of the newest revision, such as BUILDING, DEPLOYING, DEPLOYED or BUILD_FAILED.')
    .optional(),
  latestRevisionId: Uuid.describe('Id of the newest revision.').optional(),
  latestRevisionGeneration: Count.describe(
    'Newest generation of the record whose values, except the scale, that revision has. Absent if the revision was created from that generation.',
  ).optional(),
  activeRevisionId: Uuid.describe('Id of the newest revision that reached DEPLOYED.').optional(),
  latestRevision: text(253).describe('Name of the newest AppRevision.').optional(),
  activeRevision: text(253).describe('Name of the newest AppRevision that reached DEPLOYED.').optional(),
  image: text(512).describe('Image of the active revision, or of the newest while none is active.').optional(),
  url: text(512).describe('Address in force.').optional(),
  hostClaim: z
    .object({
      host: text(253).describe('Host that the record claims.'),
      since: Time.describe('Start of the claim.'),
    })
    .describe('Claim of a host. The first claim owns the host; the others wait in order of their start.')
    .optional(),
  replicas: text(32).describe('Ready and wanted pods of the main service, such as 2/3.').optional(),
  workers: z
    .record(
      text(63),
      z.object({
        minScale: integer(0, 1000).describe('Minimum number of its pods in force.'),
        maxScale: integer(0, 1000).describe('Maximum number of its pods in force.'),
        replicas: text(32).describe('Ready and wanted pods, such as 2/3.').optional(),
      }),
    )
    .meta({ maxProperties: 64 })
    .describe('The named workers of the newest revision.')
    .optional(),
  databaseDeletionPolicy: oneOf(DELETION_POLICIES)
    .describe('Whether deletion of the record deletes the PostgreSQL volume and password.')
    .optional(),
  databaseDeletionDefault: oneOf(DELETION_POLICIES)
    .describe(
      'databaseDeletionPolicy of a record that does not set it. It does not change: it comes from the settings at the time when Davit first saw the record.',
    )
    .optional(),
  databaseVolumeUid: text(64)
    .describe(
      "uid of the PersistentVolumeClaim, or of the Cluster of CloudNativePG, that the deployment's own PostgreSQL uses, or used last.",
    )
    .optional(),
  databaseNumber: integer(1, 9999)
    .describe(
      'Number of the database that databaseVolumeUid and databaseRestore are about. Absent for the first one: only an operation creates another.',
    )
    .optional(),
  databaseDriver: oneOf(DATABASE_DRIVERS)
    .describe(
      "Driver of the deployment's own PostgreSQL, which only an operation changes. Absent if it is pod, or if there is no database yet.",
    )
    .optional(),
  databaseDrivers: z
    .array(DatabaseOffer)
    .max(DATABASE_DRIVERS.length)
    .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['driver'] })
    .describe('The drivers that this platform has for the next database. Absent where no database can be moved.')
    .optional(),
  databasesKept: listOf(DatabaseOfDeployment, MOST_KEPT)
    .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['number'] })
    .describe(
      'The databases that the deployment no longer uses and that are kept. Action DeletePrevious of a DatastoreOperation deletes one.',
    )
    .optional(),
  databaseOperation: z
    .object({
      name: text(253).describe('Name of the DatastoreOperation.'),
      phase: oneOf(OPERATION_PHASES).describe('Its phase, as the last pass over the deployment saw it.'),
    })
    .describe(
      'The running operation, unless it is a backup. All but Patch stop the deployment until they have phase Starting.',
    )
    .optional(),
  datastores: z
    .object({
      postgres: DatastoreStatus.describe('Its own PostgreSQL.').optional(),
      redis: DatastoreStatus.describe('Its own Redis.').optional(),
    })
    .describe("Images and versions of the deployment's own PostgreSQL and Redis. Absent if the deployment has neither.")
    .optional(),
  databaseBackup: DatabaseBackupStatus.describe("State of the backups of the deployment's own PostgreSQL.").optional(),
  databaseBackups: DatabaseBackupsStatus.describe('Backups in the store.').optional(),
  databaseArchive: DatabaseArchiveStatus.describe(
    "State of the archive of the deployment's own PostgreSQL.",
  ).optional(),
  databaseVerification: DatabaseVerificationStatus.describe('State of the verifications of these backups.').optional(),
  databaseRestore: DatabaseRestoreStatus.describe(
    "State of the backup that the deployment's own PostgreSQL began with.",
  ).optional(),
  remote: z
    .object({
      epoch: Count.describe('Epoch of the agent that reported.'),
      generation: Count.describe('Generation that the cluster had applied.'),
    })
    .describe("Report of a listener's cluster from which this status was computed.")
    .optional(),
  resourceSpec: passthroughResourceSpec(),
  tasks: TaskStatuses.optional(),
  conditions: Conditions.optional(),
});
export type AppDeploymentStatus = z.infer<typeof AppDeploymentStatus>;

function passthroughResourceSpec(): z.ZodOptional<z.ZodRecord<z.ZodString, z.ZodNumber>> {
  return z
    .record(text(64), z.number())
    .meta({ maxProperties: 64 })
    .describe('The numbers of resourceSpec in force, including defaults.')
    .optional();
}

export type AppDeployment = OwnObject<'AppDeployment', AppDeploymentSpec, AppDeploymentStatus>;

export const APP_DEPLOYMENTS = ownKind('AppDeployment');
