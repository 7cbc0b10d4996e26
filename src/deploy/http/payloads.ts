// Requests and answers of the deployments' endpoints as zod schemas: the source of the OpenAPI document, of validation and of the
// handlers' types. Single fields come from the custom resource's schema, whose structure may differ.

import { z } from 'zod';
import { id, time } from '../../api/payload-fields.ts';
import { withRules } from '../../api/validation.ts';
import {
  DEPLOYMENT_TYPES,
  SecretReference,
  SourceConfig,
  SourceRevisionConfig,
  STATES,
} from '../../kinds/app-deployment.ts';
import {
  DatabaseArchiveStatus,
  DatabaseBackupStatus,
  DatabaseBackupsStatus,
  DatabaseRestoreStatus,
  DatabaseVerificationStatus,
  DatastoreStatus,
} from '../../kinds/database.ts';
import { DELETION_POLICIES } from '../../kinds/database-names.ts';
import { DatabaseOfDeployment } from '../../kinds/datastore-operation.ts';
import { requiredField } from '../../kinds/findings.ts';
import { NAME_MAX_LENGTH, NAME_PATTERN } from '../../kinds/name-patterns.ts';
import {
  HOST_URL_OR_EMPTY_PATTERN,
  integer,
  listOf,
  matching,
  oneOf,
  Printable,
  Uuid,
  VariableName,
} from '../../kinds/primitives.ts';
import { LEAST_CPU_LIMIT, LEAST_REDIS_CPU_LIMIT, ResourceSpec } from '../../kinds/resource-spec.ts';
import { REVISION_STATES } from '../../kinds/revision-states.ts';
import { SOURCES } from '../../kinds/source-rules.ts';
import { Tasks } from '../../kinds/tasks.ts';
import type { Response } from '../../runtime/http/casing.ts';
import { payload, response } from './components.ts';
import { variableRules } from './rules.ts';
import { LONGEST_DISPLAY_NAME } from './tags.ts';

const Name = matching(NAME_PATTERN, NAME_MAX_LENGTH, 1).describe(
  'Lower-case letters, digits and single hyphens, beginning with a letter. Cannot be changed.',
);

const Secret = z.object({
  name: VariableName.describe('Environment variable.'),
  value: z.string().describe('Its value. "" in lists, and in answers to callers who may not read it.'),
});

/** Most variables of a deployment. */
export const MOST_SECRETS = 100;

/** One variable of a PATCH. rules.ts refuses null where the list replaces the set. */
const SecretPatchPayload = Secret.extend({
  value: z
    .string()
    .nullable()
    .describe('Its value. "" keeps the value of an existing name. null removes the variable, in secrets_mode merge.'),
});

/** The body of a PUT of one variable. */
export const SecretValue = z
  .object({ value: Secret.shape.value.describe('Its value, which may be empty. At most 32 KiB.') })
  .meta({ id: 'SecretValue', examples: [{ value: 'correct horse battery staple' }] });

export const SecretPath = z.object({
  deployment_id: Uuid.describe('Id of the deployment.'),
  secret_name: VariableName.describe('Environment variable.'),
});

const SecretReferencePayload = response(SecretReference);

export const ResourceSpecPayload = payload(ResourceSpec);

const SourceConfigPayload = z
  .object(payload(SourceConfig).shape, requiredField('send "source_config": {} for defaults'))
  .meta({
    id: 'SourceConfigRequest',
    description: 'Configuration that creates a new revision only for some fields.',
  });

const SourceRevisionConfigPayload = z
  .object(
    payload(SourceRevisionConfig).shape,
    requiredField(
      'send "source_revision_config": {} where the source needs nothing, and {"image_uri": IMAGE} for an image',
    ),
  )
  .meta({
    id: 'SourceRevisionConfigRequest',
    description: 'Fields of the source whose change needs a new revision.',
  });

/** A public image that fulfils the pod contract (README). The page to try the API sends the example unchanged. */
const SAMPLE_IMAGE = 'us-docker.pkg.dev/google-samples/containers/gke/hello-app:1.0';

const Tags = listOf(Uuid, 50).describe(
  'Ids of tags, for the filter tag_value_ids of the list. A tag is any UUID; it has no other meaning here.',
);

const DatabaseDeletionPolicy = oneOf(DELETION_POLICIES).describe(
  "What happens to the deployment's own PostgreSQL when the deployment is deleted. Delete: its volume and password are deleted too. Retain: both stay. Default: settings.database.deletionPolicy when the deployment is created.",
);

const DisplayName = Printable.max(LONGEST_DISPLAY_NAME);

export const CreateDeploymentShape = z
  .object({
    name: Name,
    source: z
      .enum(SOURCES, requiredField(`one of ${SOURCES.join(', ')}`))
      .describe('Where the image comes from. Immutable.'),
    source_config: SourceConfigPayload,
    source_revision_config: SourceRevisionConfigPayload,
    secrets: z
      .array(Secret, requiredField('send "secrets": [] for none'))
      .max(MOST_SECRETS)
      .describe('Environment variables: at most 100, 32 KiB each, 512 KiB together.'),
    secret_references: listOf(SecretReferencePayload, 100)
      .nullish()
      .describe('Environment variables from Secrets of the tenant (external_docker).'),
    database_deletion_policy: DatabaseDeletionPolicy.nullish(),
    tag_value_ids: Tags.nullish(),
    display_name: DisplayName.describe('A name for people.').nullish(),
  })
  .meta({
    id: 'CreateDeployment',
    examples: [
      {
        name: 'shop',
        source: 'external_docker',
        source_config: { resource_spec: { cpu: 0.2, memory_mb: 256 } },
        source_revision_config: { image_uri: SAMPLE_IMAGE },
        secrets: [{ name: 'API_KEY', value: 'correct horse battery staple' }],
      },
    ],
  });
export type CreateDeployment = z.output<typeof CreateDeploymentShape>;

export const CreateDeploymentBody = withRules(CreateDeploymentShape, [variableRules]);

/**
 * A limit in force may be twice the maximum of a request, and a caller may send it back unchanged: patch.ts checks the values
 * that change.
 */
const limits = Object.fromEntries(
  Object.entries(ResourceSpecPayload.shape)
    .filter(([name]) => name.endsWith('_limit') || name.endsWith('_limit_mb'))
    .map(([name, leaf]) => {
      const leastCpu = name === 'redis_cpu_limit' ? LEAST_REDIS_CPU_LIMIT : LEAST_CPU_LIMIT;
      const bounds = name.endsWith('_mb') ? z.int().min(64) : z.number().min(leastCpu);
      return [name, bounds.describe(leaf.description ?? '').nullish()];
    }),
);
const PatchResourceSpecPayload = z.object({ ...ResourceSpecPayload.shape, ...limits }).meta({
  id: 'ResourceSpecPatch',
  description:
    'Merged field by field: absent fields are unchanged, null resets a field to its default. A list or a map replaces the previous one, an empty one removes it.',
});

const PatchDeploymentShape = z
  .object({
    name: z.string().nullish().describe('Cannot be changed. The same value is not a change.'),
    source: oneOf(SOURCES).nullish().describe('Cannot be changed. The same value is not a change.'),
    revision_source: oneOf(SOURCES).nullish().describe('The same, as published clients send it.'),
    source_config: SourceConfigPayload.extend({
      resource_spec: PatchResourceSpecPayload.nullish(),
      custom_url: matching(HOST_URL_OR_EMPTY_PATTERN, 261)
        .describe('Address: https://host or a bare host. "" removes it. Needs no new revision.')
        .nullish(),
      install_command: SourceConfig.shape.installCommand
        .unwrap()
        .describe('Command that installs the dependencies of a build. "" removes it.')
        .nullish(),
      build_command: SourceConfig.shape.buildCommand.unwrap().describe('Command that builds. "" removes it.').nullish(),
      deployment_type: SourceConfig.shape.deploymentType
        .unwrap()
        .or(z.literal(''))
        .describe('Preset of sizes and scale; dev_zero means dev. "" removes it.')
        .nullish(),
      env: SourceConfig.shape.env
        .unwrap()
        .describe('Environment variables with visible values. Replaces the whole list. An empty list removes all.')
        .nullish(),
      tasks: payload(Tasks).describe('Replaces the whole list. An empty list removes all.').nullish(),
    })
      .meta({ id: 'SourceConfigPatch', description: 'Absent and null fields are unchanged.' })
      .nullish(),
    source_revision_config: SourceRevisionConfigPayload.extend({
      davit_file: SourceRevisionConfig.shape.davitFile
        .unwrap()
        .or(z.literal(''))
        .describe('Path of a davit.yaml in the repository. "" removes it: no file is read then.')
        .nullish(),
    })
      .meta({ id: 'SourceRevisionConfigPatch', description: 'Absent and null fields are unchanged.' })
      .nullish(),
    secrets: listOf(SecretPatchPayload, MOST_SECRETS)
      .nullish()
      .describe(
        'Replaces the whole set, or is merged into it (secrets_mode). The answer names what was removed, in warnings. An empty list changes nothing.',
      ),
    secrets_mode: oneOf(['replace', 'merge'])
      .nullish()
      .describe(
        'replace: secrets is the whole set. merge: variables that secrets does not name stay, and null as a value removes one. Default: replace.',
      ),
    secret_references: listOf(SecretReferencePayload, 100)
      .nullish()
      .describe('Replaces the whole set (external_docker). An empty list removes all.'),
    database_deletion_policy: DatabaseDeletionPolicy.nullish(),
    tag_value_ids: Tags.describe(`${Tags.description} Replaces all. An empty list removes all.`).nullish(),
    display_name: DisplayName.describe('A name for people. "" removes it.').nullish(),
  })
  .meta({
    id: 'PatchDeployment',
    description: 'Absent and null fields are unchanged. Sending back an answer changes nothing.',
    examples: [
      { source_revision_config: { image_uri: 'registry.example.com/team/shop:1.5.0' } },
      {
        secrets: [
          { name: 'API_KEY', value: '' },
          { name: 'SECOND_KEY', value: 'battery horse staple' },
        ],
      },
      {
        secrets: [
          { name: 'SECOND_KEY', value: 'staple horse battery' },
          { name: 'OLD_KEY', value: null },
        ],
        secrets_mode: 'merge',
      },
    ],
  });
export type PatchDeployment = z.output<typeof PatchDeploymentShape>;

/** The body of PATCH. patch.ts has the rules that depend on the record. */
export const PatchDeploymentBody = withRules(PatchDeploymentShape, [variableRules]);

/** Rejects a repeated parameter: one of two values would be ignored, and an ignored filter widens the result. */
export const once = <Value extends z.ZodType>(
  schema: Value,
  read: (value: unknown) => unknown = (value) => value,
): z.ZodType<z.output<Value>> =>
  z.preprocess((value, { addIssue }) => {
    if (!Array.isArray(value)) return read(value);
    addIssue('must not be given more than once');
    return z.NEVER;
  }, schema);
export const number = (value: unknown): unknown =>
  typeof value === 'string' && /^-?\d+$/.test(value) ? Number(value) : value;
export const flag = (value: unknown): unknown =>
  typeof value === 'string'
    ? ({ true: true, '1': true, false: false, '0': false }[value.toLowerCase()] ?? value)
    : value;
/** A list of values: separated by commas, in repeated parameters, or both. */
const list = (value: unknown): unknown => (Array.isArray(value) ? value.join(',') : value);

const textFilter = (description: string): z.ZodType<string | undefined> =>
  once(z.string().min(1).optional()).describe(description);
/** A list of values of `one`. An empty list is rejected, because it probably is a variable that was not set. */
export function queryListOf<One extends z.ZodType<string, string>>(one: One): z.ZodType<z.output<One>[] | undefined> {
  const items = z
    .string()
    .transform((value) =>
      value
        .split(',')
        .map((item) => item.trim())
        .filter((item) => item !== ''),
    )
    .refine((parts) => parts.length > 0, { error: 'must not be empty', params: { type: 'too_short' } });
  return z.preprocess(list, items.pipe(z.array(one)).optional());
}
const uuidList = (description: string): z.ZodType<string[] | undefined> =>
  queryListOf(z.string().toLowerCase().pipe(Uuid)).describe(description);

/** The page of a list. */
export const paging = {
  limit: once(integer(1, 100), number)
    .default(20)
    .meta({ default: 20, description: 'Maximum number of items. Default: 20.' }),
  offset: once(z.int().min(0), number)
    .default(0)
    .meta({ default: 0, description: 'Number of items to skip: the offset of the previous page. Default: 0.' }),
};

/** Strict, as the query of every list is: an unknown filter must not be ignored. */
export const ListDeployments = z.strictObject({
  ...paging,
  name_contains: once(z.string().optional()).describe('Part of the name. An empty text matches every name.'),
  name: textFilter('The whole name.'),
  status: once(oneOf(STATES)).optional().describe('Status.'),
  remote_reconciled: once(z.boolean(), flag).optional().describe('true: deployments of a listener. false: the others.'),
  tag_value_ids: uuidList('Ids separated by commas. Matches deployments with any of these tags.'),
  image_version: textFilter("Tag of the latest revision's image, or its digest with sha256: before it."),
  deployment_type: once(oneOf(DEPLOYMENT_TYPES), (value) => (value === 'dev_zero' ? 'dev' : value))
    .optional()
    .describe('Deployment type. An unset type does not match. dev_zero means dev.'),
  deployment_ids: uuidList('Ids separated by commas.'),
  order_by: once(oneOf(['created', 'attention']))
    .default('created')
    .meta({
      default: 'created',
      description:
        'attention: deployments whose latest revision is in trouble first, and unused ones last. Within these groups and by default, the newest is first.',
    }),
});
export type ListDeployments = z.output<typeof ListDeployments>;

export const DeploymentPath = z.object({ deployment_id: Uuid.describe('Id of the deployment.') });

const WANTED_STATES = ['READY', 'DEPLOYED', 'GONE'] as const;
export type WantedState = (typeof WANTED_STATES)[number];
/** Longest wait, in seconds. */
export const MOST_WAIT_SECONDS = 300;

/** The query of every request whose answer is one deployment. */
export const ShownSecrets = z.object({
  secrets: once(oneOf(['values', 'names']))
    .default('values')
    .meta({
      default: 'values',
      description:
        'names: every value of secrets in the answer is "", and Davit reads no value for it. Default: values.',
    }),
});
export type ShownSecrets = z.output<typeof ShownSecrets>;

export const GetDeployment = ShownSecrets.extend({
  wait: once(oneOf(WANTED_STATES))
    .optional()
    .describe(
      'Wait until the deployment has this state, or until `timeout`. READY: its status. DEPLOYED: the status of its latest revision. GONE: it was deleted, and the answer is 404.',
    ),
  timeout: once(integer(1, MOST_WAIT_SECONDS), number)
    .default(60)
    .meta({ default: 60, description: 'Longest wait, in seconds. Default: 60.' }),
});

export const DeleteDeployment = z.object({
  delete_tracing_project: once(z.boolean(), flag)
    .default(false)
    .meta({ default: false, description: 'Whether its tracing project is deleted too. Default: false.' }),
});

const anyNumber = z.number();
const resourceNumbers = Object.fromEntries(
  Object.entries(response(ResourceSpec).shape).map(([name, leaf]) => [
    name,
    isNumber(leaf) ? anyNumber.nullable() : leaf,
  ]),
) as Response<typeof ResourceSpec>['shape'];

/** Numbers in force may exceed the maximum of a request: a default limit is twice its request. */
function isNumber(leaf: z.ZodType): boolean {
  return leaf instanceof z.ZodNullable && leaf.unwrap() instanceof z.ZodNumber;
}

const { volumes, volumeMounts, initContainers, sidecars, imagePullSecrets } = ResourceSpec.shape;
export const ResourceSpecResponse = z
  .object({
    ...resourceNumbers,
    volumes: volumes.unwrap(),
    volume_mounts: volumeMounts.unwrap(),
    init_containers: initContainers.unwrap(),
    sidecars: sidecars.unwrap(),
    image_pull_secrets: imagePullSecrets.unwrap(),
  })
  .meta({
    id: 'ResourceSpec',
    description: 'The values in force, including defaults. null for parts that the deployment does not have.',
  });

export const SourceConfigResponse = z
  .object({
    ...response(SourceConfig).shape,
    custom_url: z
      .string()
      .nullable()
      .describe(
        'Address in force, as a URL. After a change, the requested address until the controller has processed it. null while the deployment has no address. The conditions say why.',
      ),
    resource_spec: ResourceSpecResponse,
    deployment_type: oneOf(DEPLOYMENT_TYPES).nullable().describe('Preset of sizes and scale.'),
  })
  .meta({ id: 'SourceConfig' });

export const SourceRevisionConfigResponse = z
  .object({
    ...response(SourceRevisionConfig).shape,
    repo_commit_sha: z.string().nullable().describe('Commit that was built.'),
  })
  .meta({ id: 'SourceRevisionConfig' });

const Condition = z
  .object({
    type: z.string().describe('Ready, Stalled, DatabaseReady, AddressReady, ...'),
    status: oneOf(['True', 'False', 'Unknown']),
    reason: z.string().describe('A code for programs. docs/reasons.md lists them.'),
    message: z.string(),
    last_transition_time: time.describe('When its status last changed.'),
  })
  .meta({ id: 'Condition' });

export const Deployment = z
  .object({
    id,
    tenant_id: id.describe("The tenant's id, for X-Tenant-Id."),
    name: z.string(),
    source: oneOf(SOURCES),
    source_config: SourceConfigResponse,
    source_revision_config: SourceRevisionConfigResponse.describe('The values of the latest revision.'),
    secrets: z
      .array(Secret)
      .describe('Environment variables. Values are "" in lists, and in answers to callers who may not read them.'),
    secret_references: z.array(SecretReferencePayload).nullable().describe('Environment variables from Secrets.'),
    database_deletion_policy: DatabaseDeletionPolicy,
    tracing_project_deletion_policy: oneOf(DELETION_POLICIES).describe(
      'Whether its tracing project is deleted with the deployment.',
    ),
    database_claim: z
      .string()
      .nullable()
      .describe(
        'Name of the PersistentVolumeClaim, or of the Cluster of CloudNativePG, with the data of its own PostgreSQL. null as long as there is no such volume.',
      ),
    databases_kept: z
      .array(response(DatabaseOfDeployment))
      .describe('The databases that it no longer uses and that are kept, until action DeletePrevious deletes them.'),
    tag_value_ids: Tags,
    display_name: z.string().nullable().describe('Its name for people.'),
    created_at: time,
    updated_at: time,
    changed_by: z
      .string()
      .nullable()
      .describe(
        'Username of the last writer of its values, including its scale. null if the write did not name the user, as with kubectl, Helm or a GitOps tool, and while it is being deleted: the audit log of the API server has that user.',
      ),
    status: oneOf(STATES).describe(
      'READY: the active revision serves, and its own PostgreSQL and Redis answer; external ones answered when its pods started. AWAITING_DATABASE: its own PostgreSQL or Redis does not answer, or nothing serves and the pods wait for an external one. UNUSED: scaled to zero, or without an image or source. AWAITING_DELETE: it is being deleted. UNKNOWN: none of these. status_message has the cause.',
    ),
    phase: oneOf(REVISION_STATES)
      .nullable()
      .describe(
        'State of the latest revision: BUILDING, DEPLOYING, DEPLOYED, BUILD_FAILED, ... null without an image or source.',
      ),
    status_message: z
      .string()
      .describe('The message of the condition Ready, for people: the cause of a wait or failure, and what to do.'),
    next_act: z
      .object({
        label: z.string().describe('What it does, for a button.'),
        method: z.enum(['PATCH', 'POST']),
        path: z.string().describe('Below the address of this API.'),
        body: z.record(z.string(), z.unknown()).nullable(),
      })
      .nullable()
      .describe(
        'The request that corrects the problem in status_message: more memory, a rollback, or a scale of 1. null if no single request does. Davit does not send it on its own.',
      ),
    processed: z
      .boolean()
      .describe(
        'Whether Davit has processed the last change. Until then, status, phase and conditions may be those from before the change.',
      ),
    conditions: z
      .array(Condition)
      .describe("The record's conditions as kubectl shows them. Empty before the controller's first reconcile."),
    latest_revision_id: id.nullable().describe('The newest revision. null without an image or source.'),
    active_revision_id: id.nullable().describe('The newest revision that was fully deployed.'),
    image_version: z.string().nullable().describe("Tag of the latest revision's image. null for a bare digest."),
    database_backup: response(DatabaseBackupStatus).nullable(),
    database_backups: response(DatabaseBackupsStatus).nullable(),
    database_archive: response(DatabaseArchiveStatus).nullable(),
    database_verification: response(DatabaseVerificationStatus).nullable(),
    database_restore: response(DatabaseRestoreStatus).nullable(),
    datastores: z
      .object({ postgres: response(DatastoreStatus).nullable(), redis: response(DatastoreStatus).nullable() })
      .describe('Its own PostgreSQL and Redis: image, version, and the image that action Patch would install.'),
    internal_url: z
      .string()
      .nullable()
      .describe(
        'URL of the Service, for pods of the same cluster. null while there is no Service, and for a deployment of a listener.',
      ),
  })
  .meta({ id: 'Deployment' });
export type Deployment = z.output<typeof Deployment>;

export const DeploymentFileContent = z.record(z.string(), z.unknown()).meta({
  id: 'DeploymentFileContent',
  description:
    'The settings of the deployment, without defaults. Secrets are listed by name. /davit.schema.json describes the fields.',
});
export type DeploymentFileContent = z.output<typeof DeploymentFileContent>;

export const DeploymentList = z
  .object({ resources: z.array(Deployment), offset: z.int().min(0).describe("The next page's offset.") })
  .meta({ id: 'DeploymentList' });
export type DeploymentList = z.output<typeof DeploymentList>;
