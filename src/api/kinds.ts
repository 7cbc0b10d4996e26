// Every kind of Davit's own, as a table: its schemas, what `kubectl get` shows of it, and the rules of its name.

import type { z } from 'zod';
import {
  APP_DEPLOYMENTS,
  AppDeploymentSpec,
  AppDeploymentStatus,
  IMPOSSIBLE_NAME,
  NAME_MAX_LENGTH,
  NAME_PATTERN,
} from './app-deployment.ts';
import { APP_REVISIONS, AppRevisionSpec, AppRevisionStatus } from './app-revision.ts';
import { APP_TEMPLATES, AppTemplateSpec, AppTemplateStatus } from './app-template.ts';
import { CODE_HOST_INTEGRATIONS, CodeHostIntegrationSpec, CodeHostIntegrationStatus } from './code-host-integration.ts';
import { LISTENERS, ListenerSpec, ListenerStatus } from './listener.ts';
import {
  OAUTH_PROVIDERS,
  OAuthProviderSpec,
  OAuthProviderStatus,
  PROVIDER_ID_MAX_LENGTH,
  PROVIDER_ID_PATTERN,
} from './oauth-provider.ts';
import type { CelRule } from './primitives.ts';
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
  readonly resource: {
    readonly group: string;
    readonly version: string;
    readonly kind: string;
    readonly plural: string;
  };
  readonly shortName: string;
  readonly description: string;
  readonly spec: z.ZodType;
  readonly specRequired: boolean;
  readonly status: z.ZodType;
  /** What is read before anything was reported. */
  readonly statusDefault?: object;
  readonly columns: readonly PrinterColumn[];
  readonly selectableFields?: readonly string[];
  readonly rules?: readonly CelRule[];
}

const AGE = column('Age', '.metadata.creationTimestamp', 'When it was created.', 'date');

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

/** Every kind of Davit's own, in the order in which a reader wants to meet them. */
export const KINDS: readonly Kind[] = [
  {
    resource: APP_DEPLOYMENTS,
    shortName: 'appd',
    description:
      'AppDeployment asks for an application to be run: its image or source, its size and scale, its secrets. Davit makes the pods, the database, Redis and the address that it needs, and says in its status how they are. One that is deleted goes when Davit has taken its parts down, which happens only while Davit is installed.',
    spec: AppDeploymentSpec,
    specRequired: true,
    status: AppDeploymentStatus,
    // Who reads it by the rules of kstatus takes a status that is not there for one that is fulfilled.
    statusDefault: { observedGeneration: 0 },
    columns: [
      column('Status', '.status.state', 'The one word that the HTTP API shows.'),
      column('Ready', condition('Ready'), 'Whether the latest revision is deployed and serving.'),
      column('Replicas', '.status.replicas', 'Ready and wanted pods of the main service.'),
      column('Image', '.status.image', 'Image of the active revision.'),
      column('URL', '.status.url', 'Address in force.'),
      AGE,
      wide('Reason', condition('Ready', 'reason'), 'Why it is ready, or is not.'),
      wide('Source', '.spec.source', 'Where the image comes from.'),
      wide('Latest', '.status.latestRevision', 'Newest revision.'),
      wide('Active', '.status.activeRevision', 'Newest revision that was deployed.'),
      wide('Message', condition('Ready', 'message'), 'What is the matter, and what to do.'),
    ],
    selectableFields: ['.spec.source', '.status.state'],
    rules: [
      {
        rule: `self.metadata.name.size() <= ${NAME_MAX_LENGTH}`,
        message: `a name has at most ${NAME_MAX_LENGTH} characters`,
        fieldPath: '.metadata.name',
      },
      {
        rule: `self.metadata.name.matches('${NAME_PATTERN}')`,
        message:
          'a name begins with a lowercase letter, ends with a letter or digit, and has only lowercase letters, digits and hyphens',
        fieldPath: '.metadata.name',
      },
      {
        rule: "!self.metadata.name.contains('--')",
        message: 'a name has no two hyphens in a row: they separate the names of what is made from it',
        fieldPath: '.metadata.name',
      },
      {
        rule: `self.metadata.name != '${IMPOSSIBLE_NAME}'`,
        message: `the name ${IMPOSSIBLE_NAME} is not possible: what is made from it would begin with ${IMPOSSIBLE_NAME}--, as encoded domains do`,
        fieldPath: '.metadata.name',
      },
    ],
  },
  {
    resource: APP_REVISIONS,
    shortName: 'appr',
    description:
      'AppRevision is a snapshot of everything in an AppDeployment that needs a new rollout when changed, with every default filled in. Davit makes it, never changes it, and says in its status what became of the rollout.',
    spec: AppRevisionSpec,
    specRequired: true,
    status: AppRevisionStatus,
    columns: [
      column('Deployment', '.spec.deploymentName', 'AppDeployment that it is a snapshot of.'),
      column('Status', '.status.state', 'How far the rollout is.'),
      column('Build', '.status.build.phase', 'How far the build is, where one is needed.'),
      column('Image', '.spec.resolved.image', 'Image that it runs, where none was built for it.'),
      AGE,
      wide('Built', '.status.build.image', 'Image that was built.'),
      wide('Commit', '.status.build.commit', 'Commit that it is built from.'),
      wide('Id', '.spec.id', 'Its id in the HTTP API.'),
      wide('Message', '.status.message', 'What happened.'),
    ],
    selectableFields: ['.spec.deploymentName', '.status.state'],
  },
  {
    resource: TRACING_PROJECTS,
    shortName: 'trp',
    description:
      'TracingProject is where the traces of an AppDeployment belong. One of the same name is made for every AppDeployment.',
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
      "AppTemplate is an application that the platform offers ready to be deployed, as an image or as a repository. It belongs in the organization's namespace; an AppDeployment of source internal_template deploys one of these and nothing else.",
    spec: AppTemplateSpec,
    specRequired: true,
    status: AppTemplateStatus,
    columns: [
      column('Display', '.spec.displayName', 'Name for people.'),
      column('Image', '.spec.imageUri', 'Its container image.'),
      column('Repository', '.spec.repoUrl', 'Its repository.'),
      column('Ref', '.spec.repoRef', 'Branch, tag or commit of it.'),
      AGE,
      wide('Description', '.spec.description', 'What it is, for people.'),
    ],
  },
  {
    resource: OAUTH_PROVIDERS,
    shortName: 'oap',
    description:
      "OAuthProvider is a client registration at an OAuth 2.0 server, with the endpoints of its authorization-code flow. It belongs in the organization's namespace; its client secret is in a Secret beside it.",
    spec: OAuthProviderSpec,
    specRequired: true,
    status: OAuthProviderStatus,
    columns: [
      column('Display', '.spec.name', 'Name for people.'),
      column('Ready', condition('Ready'), 'Whether what it names is there.'),
      column('Client', '.spec.clientId', 'Client id.'),
      column('PKCE', '.spec.usesPkce', 'Whether the flow uses PKCE.', 'boolean'),
      column('Auth', '.spec.authUrl', 'Authorization endpoint.'),
      AGE,
      wide('Token', '.spec.tokenUrl', 'Token endpoint.'),
      wide('Secret', '.spec.clientSecretRef.name', 'Secret that the client secret is in.'),
      wide('Message', condition('Ready', 'message'), 'What is the matter, and what to do.'),
    ],
    rules: [
      {
        rule: `self.metadata.name.size() <= ${PROVIDER_ID_MAX_LENGTH}`,
        message: `a name has at most ${PROVIDER_ID_MAX_LENGTH} characters`,
        fieldPath: '.metadata.name',
      },
      {
        rule: `self.metadata.name.matches('${PROVIDER_ID_PATTERN}') && !self.metadata.name.contains('--')`,
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
      "CodeHostIntegration is an account at a code host, and the tenants that may see its repositories. It belongs in the organization's namespace; its credentials are in a Secret beside it.",
    spec: CodeHostIntegrationSpec,
    specRequired: true,
    status: CodeHostIntegrationStatus,
    columns: [
      column('Kind', '.spec.kind', 'Which kind of code host.'),
      column('Ready', condition('Ready'), 'Whether its host is allowed, and what it names is there.'),
      column('API', '.spec.apiUrl', 'URL of its API.'),
      column('Tenants', '.spec.tenants', 'Tenants that may use it.'),
      AGE,
      wide('Secret', '.spec.credentialsRef.name', 'Secret that the credentials are in.'),
      wide('Message', condition('Ready', 'message'), 'What is the matter, and what to do.'),
    ],
  },
  {
    resource: LISTENERS,
    shortName: 'lsn',
    description:
      'Listener is a further cluster, whose own Davit runs the AppDeployments of this namespace that name it. This Davit leaves them alone.',
    spec: ListenerSpec,
    specRequired: true,
    status: ListenerStatus,
    columns: [
      column('Namespaces', '.spec.namespaces', 'Namespaces of that cluster which records may name.'),
      AGE,
      wide('Id', '.metadata.uid', 'Its id in the HTTP API.'),
      wide('Description', '.spec.description', 'Which cluster this is.'),
    ],
  },
];

export function ownResources(): Kind['resource'][] {
  return KINDS.map(({ resource }) => resource);
}
