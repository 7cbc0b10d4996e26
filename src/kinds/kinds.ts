// All of Davit's kinds, as a table: schemas, printer columns, and rules for names.

import type { z } from 'zod';
import type { Resource } from '../runtime/kube/client.ts';
import { APP_DEPLOYMENTS, AppDeploymentSpec, AppDeploymentStatus } from './app-deployment.ts';
import { APP_LOGS, AppLogSpec, AppLogStatus } from './app-log.ts';
import { APP_REVISIONS, AppRevisionSpec, AppRevisionStatus } from './app-revision.ts';
import { APP_TEMPLATES, AppTemplateSpec, AppTemplateStatus } from './app-template.ts';
import { CODE_HOST_INTEGRATIONS, CodeHostIntegrationSpec, CodeHostIntegrationStatus } from './code-host-integration.ts';
import { DATASTORE_OPERATIONS, DatastoreOperationSpec, DatastoreOperationStatus } from './datastore-operation.ts';
import { LISTENERS, ListenerSpec, ListenerStatus } from './listener.ts';
import { LISTENER_LOGS, ListenerLogSpec, ListenerLogStatus } from './listener-log.ts';
import { LISTENER_WORKS, ListenerWorkSpec, ListenerWorkStatus } from './listener-work.ts';
import {
  DOUBLE_HYPHEN_MESSAGE,
  IMPOSSIBLE_NAME,
  IMPOSSIBLE_NAME_MESSAGE,
  NAME_LENGTH_MESSAGE,
  NAME_MAX_LENGTH,
  NAME_MESSAGE,
  NAME_PATTERN,
} from './name-patterns.ts';
import { NOTIFIER_CONDITIONS, NOTIFIERS, NotifierSpec, NotifierStatus } from './notifier.ts';
import {
  OAUTH_PROVIDERS,
  OAuthProviderSpec,
  OAuthProviderStatus,
  PROVIDER_ID_MAX_LENGTH,
  PROVIDER_NAME_PATTERN,
} from './oauth-provider.ts';
import { type CelRule, DNS_LABEL_PATTERN } from './primitives.ts';
import { TRACING_PROJECTS, TracingProjectSpec, TracingProjectStatus } from './tracing-project.ts';

interface PrinterColumn {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'boolean' | 'date';
  readonly jsonPath: string;
  readonly description: string;
  /** 1 and above: only with -o wide. */
  readonly priority?: number;
}

export interface Kind {
  readonly resource: Resource;
  readonly shortName: string;
  readonly description: string;
  readonly spec: z.ZodType;
  readonly specRequired: boolean;
  readonly status: z.ZodType;
  /** Default of the status before the first report. */
  readonly statusDefault?: object;
  readonly columns: readonly PrinterColumn[];
  readonly selectableFields?: readonly string[];
  readonly rules?: readonly CelRule[];
}

const AGE = column('Age', '.metadata.creationTimestamp', 'Time of creation.', 'date');

function column(
  name: string,
  jsonPath: string,
  description: string,
  type: PrinterColumn['type'] = 'string',
): PrinterColumn {
  return { name, type, jsonPath, description };
}

/** Only with -o wide. */
function wide(name: string, jsonPath: string, description: string): PrinterColumn {
  return { ...column(name, jsonPath, description), priority: 1 };
}

function condition(type: string, part: 'status' | 'reason' | 'message' = 'status'): string {
  return `.status.conditions[?(@.type=="${type}")].${part}`;
}

/** All of Davit's kinds, the most important first. */
export const KINDS: readonly Kind[] = [
  {
    resource: APP_DEPLOYMENTS,
    shortName: 'appd',
    description:
      'AppDeployment describes an application to run: its image or source, size, scale and secrets. Davit creates the pods, database, Redis and address that it needs and reports their state in the status. A deleted AppDeployment disappears after Davit has removed its parts, which requires that Davit is running.',
    spec: AppDeploymentSpec,
    specRequired: true,
    status: AppDeploymentStatus,
    // Without a default, tools that follow kstatus consider a record without a status as done.
    statusDefault: { observedGeneration: 0 },
    columns: [
      column('Status', '.status.state', 'Status in the HTTP API.'),
      column('Phase', '.status.phase', 'State of the latest revision, such as BUILDING, DEPLOYING or DEPLOYED.'),
      column('Up-To-Date', condition('Ready'), 'Condition Ready: whether the latest revision is deployed and serving.'),
      column('Replicas', '.status.replicas', 'Ready and wanted pods of the main service.'),
      column('URL', '.status.url', 'Address in force.'),
      AGE,
      wide('Image', '.status.image', 'Image of the active revision.'),
      wide('Reason', condition('Ready', 'reason'), 'Reason of condition Ready.'),
      wide('Source', '.spec.source', 'Where the image comes from.'),
      wide('Changed-By', '.status.changedBy', 'Last writer of its spec, if known.'),
      wide('Latest', '.status.latestRevision', 'Newest revision.'),
      wide('Active', '.status.activeRevision', 'Newest revision that was deployed.'),
      wide(
        'On-Delete',
        '.status.databaseDeletionPolicy',
        'Whether deletion of the record deletes or retains its own PostgreSQL.',
      ),
      wide(
        'Backups',
        condition('BackupReady', 'reason'),
        'Reason of condition BackupReady. NotConfigured: nothing protects the database.',
      ),
      {
        ...wide(
          'Backup',
          '.status.databaseBackup.lastSuccessAt',
          "Age of the last backup of the deployment's own PostgreSQL.",
        ),
        type: 'date',
      },
      {
        ...wide(
          'Verified',
          '.status.databaseVerification.verifiedAt',
          'Age of the last verification that a backup can be restored.',
        ),
        type: 'date',
      },
      wide('Postgres', '.status.datastores.postgres.version', "Version of the deployment's own PostgreSQL."),
      wide('Redis', '.status.datastores.redis.version', "Version of the deployment's own Redis."),
      wide('Message', condition('Ready', 'message'), 'Message of condition Ready: the cause and what to do.'),
    ],
    selectableFields: ['.spec.source', '.status.state'],
    rules: [
      {
        rule: `self.metadata.name.size() <= ${NAME_MAX_LENGTH}`,
        message: `a name ${NAME_LENGTH_MESSAGE}`,
        fieldPath: '.metadata.name',
      },
      {
        rule: `self.metadata.name.matches('${NAME_PATTERN}')`,
        message: `a name ${NAME_MESSAGE}`,
        fieldPath: '.metadata.name',
      },
      {
        rule: "!self.metadata.name.contains('--')",
        message: DOUBLE_HYPHEN_MESSAGE,
        fieldPath: '.metadata.name',
      },
      {
        rule: `self.metadata.name != '${IMPOSSIBLE_NAME}'`,
        message: IMPOSSIBLE_NAME_MESSAGE,
        fieldPath: '.metadata.name',
      },
    ],
  },
  {
    resource: APP_REVISIONS,
    shortName: 'appr',
    description:
      'AppRevision is a snapshot of all fields of an AppDeployment that need a new rollout when they change, with every default filled in. Davit creates it, never changes it, and reports the rollout in the status.',
    spec: AppRevisionSpec,
    specRequired: true,
    status: AppRevisionStatus,
    columns: [
      column('Deployment', '.spec.deploymentName', 'AppDeployment to which the snapshot belongs.'),
      column('Status', '.status.state', 'State of the rollout.'),
      column('Build', '.status.build.phase', 'State of the build, if one is needed.'),
      column('Image', '.spec.resolved.image', 'Image of the revision, if none was built for it.'),
      AGE,
      wide('Built', '.status.build.image', 'Image that was built.'),
      wide('Commit', '.status.build.commit', 'Commit that was built.'),
      wide('Id', '.spec.id', 'Id in the HTTP API.'),
      wide('Requested-By', '.spec.requestedBy', 'Who requested it.'),
      wide('Message', '.status.message', 'What happened.'),
    ],
    selectableFields: ['.spec.deploymentName', '.status.state'],
  },
  {
    resource: APP_LOGS,
    shortName: 'appl',
    description:
      'AppLog has the last lines of the containers that ended a revision or a run of a task. Davit creates it before their pods are deleted and deletes it after seven days. Logs can contain secrets: reading it needs the same right as reading the logs of pods.',
    spec: AppLogSpec,
    specRequired: true,
    status: AppLogStatus,
    columns: [
      column('Deployment', '.spec.deploymentName', 'AppDeployment that the containers ran.'),
      column('Revision', '.spec.revisionId', 'Revision that the containers ran.'),
      column('Task', '.spec.task', 'Task whose run failed.'),
      AGE,
    ],
  },
  {
    resource: DATASTORE_OPERATIONS,
    shortName: 'dsop',
    description:
      'DatastoreOperation is one operation on the database or Redis of an AppDeployment, such as a backup or a patch. Davit carries out the operations of a deployment one after another, and reports the result in the status. To cancel an operation, delete it.',
    spec: DatastoreOperationSpec,
    specRequired: true,
    status: DatastoreOperationStatus,
    columns: [
      column('Deployment', '.spec.deployment', 'AppDeployment on whose database it acts.'),
      column('Action', '.spec.action', 'Action of the operation.'),
      column('Phase', '.status.phase', 'Progress of the operation.'),
      AGE,
      wide('Backup', '.status.backup.name', 'The backup that was made.'),
      { ...wide('Downtime', '.status.downtimeSeconds', 'Seconds during which no pod served.'), type: 'integer' },
      wide('Requested-By', '.spec.requestedBy', 'Who requested it.'),
      wide('Message', condition('Complete', 'message'), 'Cause of the phase and what to do.'),
    ],
    selectableFields: ['.spec.deployment'],
  },
  {
    resource: NOTIFIERS,
    shortName: 'ntf',
    description:
      'Notifier sends events of the AppDeployments of its namespace to a signed webhook, or as statuses of their commits to the code host.',
    spec: NotifierSpec,
    specRequired: true,
    status: NotifierStatus,
    columns: [
      column('URL', '.spec.webhook.url', 'Where events are sent.'),
      column('Webhook', condition('WebhookSent'), NOTIFIER_CONDITIONS.WebhookSent),
      column('Commits', condition('CommitStatusesSent'), NOTIFIER_CONDITIONS.CommitStatusesSent),
      AGE,
      wide(
        'Message',
        condition('WebhookSent', 'message'),
        'Why the webhook has not accepted an event, and what to do.',
      ),
    ],
  },
  {
    resource: TRACING_PROJECTS,
    shortName: 'trp',
    description:
      'TracingProject is the project of the traces of an AppDeployment. Davit creates one of the same name for every AppDeployment.',
    spec: TracingProjectSpec,
    specRequired: false,
    status: TracingProjectStatus,
    columns: [
      column('Ready', condition('Ready'), 'Whether a deployment uses it.'),
      column('Deployment', '.status.deploymentUid', 'uid of the deployment that uses it.'),
      AGE,
    ],
  },
  {
    resource: APP_TEMPLATES,
    shortName: 'apt',
    description:
      "AppTemplate is an application that the platform offers ready to be deployed, as an image or as a repository. It belongs in the organization's namespace; an AppDeployment of source internal_template can deploy only an AppTemplate.",
    spec: AppTemplateSpec,
    specRequired: true,
    status: AppTemplateStatus,
    columns: [
      column('Display', '.spec.displayName', 'Display name.'),
      column('Image', '.spec.imageUri', 'Container image.'),
      column('Repository', '.spec.repoUrl', 'Repository URL.'),
      column('Ref', '.spec.repoRef', 'Branch, tag or commit of the repository.'),
      AGE,
      wide('Description', '.spec.description', 'Description for people.'),
    ],
  },
  {
    resource: OAUTH_PROVIDERS,
    shortName: 'oap',
    description:
      "OAuthProvider is a client registration at an OAuth 2.0 server, with the endpoints of its authorization-code flow. It belongs in the organization's namespace; its client secret is in a Secret in the same namespace.",
    spec: OAuthProviderSpec,
    specRequired: true,
    status: OAuthProviderStatus,
    columns: [
      column('Display', '.spec.name', 'Display name.'),
      column('Ready', condition('Ready'), 'Whether the objects that it names exist.'),
      column('Client', '.spec.clientId', 'Client id.'),
      wide('Id', '.spec.providerId', 'provider_id, if it is not the name.'),
      column('PKCE', '.spec.usesPkce', 'Whether the flow uses PKCE.', 'boolean'),
      column('Auth', '.spec.authUrl', 'Authorization endpoint.'),
      AGE,
      wide('Token', '.spec.tokenUrl', 'Token endpoint.'),
      wide('Secret', '.spec.clientSecretRef.name', 'Secret with the client secret.'),
      wide('Message', condition('Ready', 'message'), 'Message of condition Ready: the cause and what to do.'),
    ],
    rules: [
      {
        rule: `self.metadata.name.size() <= ${PROVIDER_ID_MAX_LENGTH}`,
        message: `a name has at most ${PROVIDER_ID_MAX_LENGTH} characters`,
        fieldPath: '.metadata.name',
      },
      {
        rule: `self.metadata.name.matches('${PROVIDER_NAME_PATTERN}') && !self.metadata.name.contains('--')`,
        message:
          'a name begins and ends with a lowercase letter or digit, and has only lowercase letters, digits and single hyphens',
        fieldPath: '.metadata.name',
      },
    ],
  },
  {
    resource: CODE_HOST_INTEGRATIONS,
    shortName: 'chi',
    description:
      "CodeHostIntegration is an account at a code host, and the tenants that may see its repositories. It belongs in the organization's namespace; its credentials are in a Secret in the same namespace.",
    spec: CodeHostIntegrationSpec,
    specRequired: true,
    status: CodeHostIntegrationStatus,
    columns: [
      column('Kind', '.spec.kind', 'Kind of code host.'),
      column('Ready', condition('Ready'), 'Whether its host is allowed and its Secret exists.'),
      column('API', '.spec.apiUrl', 'API URL.'),
      column('Tenants', '.spec.tenants', 'Tenants that may use it.'),
      AGE,
      wide('Secret', '.spec.credentialsRef.name', 'Secret with the credentials.'),
      wide('Message', condition('Ready', 'message'), 'Message of condition Ready: the cause and what to do.'),
    ],
  },
  {
    resource: LISTENERS,
    shortName: 'lsn',
    description:
      'Listener represents a further cluster whose own Davit runs the AppDeployments of this namespace that name it.',
    spec: ListenerSpec,
    specRequired: true,
    status: ListenerStatus,
    columns: [
      column('Connected', condition('Connected'), 'Whether the cluster reports.'),
      column('Version', '.status.version', "Version of the cluster's Davit."),
      column('Last-Seen', '.status.lastSeenAt', 'When the cluster was last seen, to within five minutes.', 'date'),
      column('Records', '.status.records', 'Number of AppDeployments that name it.', 'integer'),
      AGE,
      wide('Namespaces', '.spec.namespaces', 'Namespaces of the cluster that records may name.'),
      wide('Id', '.metadata.uid', 'Id in the HTTP API.'),
      wide('Description', '.spec.description', 'Description of the cluster.'),
      wide('Message', condition('Connected', 'message'), 'Message of condition Connected: the cause and what to do.'),
    ],
    rules: [
      {
        rule: `self.metadata.name.size() <= 63 && self.metadata.name.matches('${DNS_LABEL_PATTERN}')`,
        message:
          'a name has at most 63 characters: lowercase letters, digits and hyphens, with a letter or digit at both ends',
        fieldPath: '.metadata.name',
      },
    ],
  },
  {
    resource: LISTENER_WORKS,
    shortName: 'lsnw',
    description:
      "ListenerWork is an AppDeployment that a listener's cluster runs, as that cluster reads it. Davit writes it, in a namespace of its own for each Listener.",
    spec: ListenerWorkSpec,
    specRequired: true,
    status: ListenerWorkStatus,
    columns: [
      column('Deployment', '.spec.name', 'Name of the AppDeployment.'),
      column('Namespace', '.spec.namespace', 'Namespace of the cluster that it runs in.'),
      column('Status', '.status.deployment.state', 'Status that the cluster reports.'),
      column('Generation', '.spec.generation', 'Generation of the AppDeployment.', 'integer'),
      column('Applied', '.status.generation', 'Generation that the cluster has applied.', 'integer'),
      AGE,
      wide('Rejected', '.status.rejection.reason', 'Why the cluster does not apply it.'),
    ],
  },
  {
    resource: LISTENER_LOGS,
    shortName: 'lsnl',
    description:
      "ListenerLog is a request of the HTTP API for log lines of an AppDeployment that a listener's cluster runs. It exists until it is answered.",
    spec: ListenerLogSpec,
    specRequired: true,
    status: ListenerLogStatus,
    columns: [column('Deployment', '.spec.deployment', 'Id of the AppDeployment.'), AGE],
  },
];

export function ownResources(): Resource[] {
  return KINDS.map(({ resource }) => resource);
}
