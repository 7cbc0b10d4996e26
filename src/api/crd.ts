// CustomResourceDefinitions made from the zod schemas of this folder: zod → JSON Schema (OpenAPI 3.0) → the structural
// schema that the API server wants. Nothing is read or written here; src/crdgen.ts prints what this returns.

import { z } from 'zod';
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
import { type CelRule, celRules } from './primitives.ts';
import { TRACING_PROJECTS, TracingProjectSpec, TracingProjectStatus } from './tracing-project.ts';

/** A structural schema (apiextensions.k8s.io/v1 JSONSchemaProps), as far as this file looks into one. */
export interface StructuralSchema {
  readonly type?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, StructuralSchema>>;
  readonly additionalProperties?: StructuralSchema;
  readonly items?: StructuralSchema;
  readonly required?: readonly string[];
  readonly [keyword: string]: unknown;
}

interface PrinterColumn {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'boolean' | 'date';
  readonly jsonPath: string;
  readonly description: string;
  /** 1 and above: only with -o wide. */
  readonly priority?: number;
}

interface Kind {
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
  readonly columns: readonly PrinterColumn[];
  readonly selectableFields?: readonly string[];
  readonly rules?: readonly CelRule[];
}

/** Generated files are reviewed and applied as plain YAML, so the object stays plain too. */
export interface CustomResourceDefinition {
  readonly apiVersion: 'apiextensions.k8s.io/v1';
  readonly kind: 'CustomResourceDefinition';
  readonly metadata: { readonly name: string; readonly annotations?: Readonly<Record<string, string>> };
  readonly spec: {
    readonly group: string;
    readonly scope: 'Namespaced';
    readonly names: { readonly kind: string; readonly [field: string]: unknown };
    readonly versions: readonly {
      readonly name: string;
      readonly schema: { readonly openAPIV3Schema: StructuralSchema };
      readonly [field: string]: unknown;
    }[];
  };
}

const AGE: PrinterColumn = {
  name: 'Age',
  type: 'date',
  jsonPath: '.metadata.creationTimestamp',
  description: 'When it was created.',
};

function condition(type: string, part: 'status' | 'reason' | 'message' = 'status'): string {
  return `.status.conditions[?(@.type=="${type}")].${part}`;
}

const KINDS: readonly Kind[] = [
  {
    resource: APP_DEPLOYMENTS,
    shortName: 'appd',
    description:
      'AppDeployment asks for an application to be run: its image or source, its size and scale, its secrets. Davit makes the pods, the database, Redis and the address that it needs, and says in its status how they are. One that is deleted goes when Davit has taken its parts down, which happens only while Davit is installed.',
    spec: AppDeploymentSpec,
    specRequired: true,
    status: AppDeploymentStatus,
    columns: [
      {
        name: 'Status',
        type: 'string',
        jsonPath: '.status.state',
        description: 'The one word that the HTTP API shows.',
      },
      {
        name: 'Ready',
        type: 'string',
        jsonPath: condition('Ready'),
        description: 'Whether the latest revision is deployed and serving.',
      },
      {
        name: 'Replicas',
        type: 'string',
        jsonPath: '.status.replicas',
        description: 'Ready and wanted pods of the main service.',
      },
      { name: 'Image', type: 'string', jsonPath: '.status.image', description: 'Image of the active revision.' },
      { name: 'URL', type: 'string', jsonPath: '.status.url', description: 'Address in force.' },
      AGE,
      {
        name: 'Reason',
        type: 'string',
        jsonPath: condition('Ready', 'reason'),
        description: 'Why it is ready, or is not.',
        priority: 1,
      },
      {
        name: 'Source',
        type: 'string',
        jsonPath: '.spec.source',
        description: 'Where the image comes from.',
        priority: 1,
      },
      {
        name: 'Latest',
        type: 'string',
        jsonPath: '.status.latestRevision',
        description: 'Newest revision.',
        priority: 1,
      },
      {
        name: 'Active',
        type: 'string',
        jsonPath: '.status.activeRevision',
        description: 'Newest revision that was deployed.',
        priority: 1,
      },
      {
        name: 'Message',
        type: 'string',
        jsonPath: condition('Ready', 'message'),
        description: 'What is the matter, and what to do.',
        priority: 1,
      },
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
      {
        name: 'Deployment',
        type: 'string',
        jsonPath: '.spec.deploymentName',
        description: 'AppDeployment that it is a snapshot of.',
      },
      { name: 'Status', type: 'string', jsonPath: '.status.state', description: 'How far the rollout is.' },
      { name: 'Image', type: 'string', jsonPath: '.spec.resolved.image', description: 'Image that it runs.' },
      AGE,
      { name: 'Id', type: 'string', jsonPath: '.spec.id', description: 'Its id in the HTTP API.', priority: 1 },
      { name: 'Message', type: 'string', jsonPath: '.status.message', description: 'What happened.', priority: 1 },
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
      { name: 'Ready', type: 'string', jsonPath: condition('Ready'), description: 'Whether a deployment uses it.' },
      {
        name: 'Deployment',
        type: 'string',
        jsonPath: '.status.deploymentUid',
        description: 'uid of the deployment that uses it.',
      },
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
      { name: 'Display', type: 'string', jsonPath: '.spec.displayName', description: 'Name for people.' },
      { name: 'Image', type: 'string', jsonPath: '.spec.imageUri', description: 'Its container image.' },
      { name: 'Repository', type: 'string', jsonPath: '.spec.repoUrl', description: 'Its repository.' },
      { name: 'Ref', type: 'string', jsonPath: '.spec.repoRef', description: 'Branch, tag or commit of it.' },
      AGE,
      {
        name: 'Description',
        type: 'string',
        jsonPath: '.spec.description',
        description: 'What it is, for people.',
        priority: 1,
      },
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
      { name: 'Display', type: 'string', jsonPath: '.spec.name', description: 'Name for people.' },
      { name: 'Client', type: 'string', jsonPath: '.spec.clientId', description: 'Client id.' },
      { name: 'PKCE', type: 'boolean', jsonPath: '.spec.usesPkce', description: 'Whether the flow uses PKCE.' },
      { name: 'Auth', type: 'string', jsonPath: '.spec.authUrl', description: 'Authorization endpoint.' },
      AGE,
      { name: 'Token', type: 'string', jsonPath: '.spec.tokenUrl', description: 'Token endpoint.', priority: 1 },
      {
        name: 'Secret',
        type: 'string',
        jsonPath: '.spec.clientSecretRef.name',
        description: 'Secret that the client secret is in.',
        priority: 1,
      },
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
      { name: 'Kind', type: 'string', jsonPath: '.spec.kind', description: 'Which kind of code host.' },
      { name: 'API', type: 'string', jsonPath: '.spec.apiUrl', description: 'URL of its API.' },
      { name: 'Tenants', type: 'string', jsonPath: '.spec.tenants', description: 'Tenants that may use it.' },
      AGE,
      {
        name: 'Secret',
        type: 'string',
        jsonPath: '.spec.credentialsRef.name',
        description: 'Secret that the credentials are in.',
        priority: 1,
      },
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
      {
        name: 'Namespaces',
        type: 'string',
        jsonPath: '.spec.namespaces',
        description: 'Namespaces of that cluster which records may name.',
      },
      AGE,
      { name: 'Id', type: 'string', jsonPath: '.metadata.uid', description: 'Its id in the HTTP API.', priority: 1 },
      {
        name: 'Description',
        type: 'string',
        jsonPath: '.spec.description',
        description: 'Which cluster this is.',
        priority: 1,
      },
    ],
  },
];

/** Every CustomResourceDefinition of Davit, in the order in which a reader wants to meet them. */
/** Every kind of Davit's own. */
export function ownResources(): Kind['resource'][] {
  return KINDS.map(({ resource }) => resource);
}

export function customResourceDefinitions(): CustomResourceDefinition[] {
  return KINDS.map(customResourceDefinition);
}

function customResourceDefinition(kind: Kind): CustomResourceDefinition {
  const { group, version, plural } = kind.resource;
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: {
        kind: kind.resource.kind,
        listKind: `${kind.resource.kind}List`,
        plural,
        singular: kind.resource.kind.toLowerCase(),
        shortNames: [kind.shortName],
        categories: ['davit'],
      },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          subresources: { status: {} },
          additionalPrinterColumns: kind.columns,
          ...(kind.selectableFields && { selectableFields: kind.selectableFields.map((jsonPath) => ({ jsonPath })) }),
          schema: { openAPIV3Schema: rootSchema(kind) },
        },
      ],
    },
  };
}

function rootSchema(kind: Kind): StructuralSchema {
  return {
    type: 'object',
    description: kind.description,
    ...(kind.specRequired && { required: ['spec'] }),
    properties: {
      apiVersion: { type: 'string', description: `Always ${kind.resource.group}/${kind.resource.version}.` },
      kind: { type: 'string', description: `Always ${kind.resource.kind}.` },
      metadata: { type: 'object', properties: { name: { type: 'string', maxLength: 253 } } },
      spec: { description: 'What is asked for.', ...structuralSchema(kind.spec) },
      status: { description: 'What there is. Written by Davit alone.', ...structuralSchema(kind.status) },
    },
    ...(kind.rules && celRules(kind.rules)),
  };
}

/** The structural schema of a zod schema. Throws an Error naming the place of what a structural schema cannot say. */
export function structuralSchema(schema: z.ZodType): StructuralSchema {
  return structural(z.toJSONSchema(schema, { target: 'openapi-3.0', io: 'input' }) as StructuralSchema, '');
}

/** Keywords of JSON Schema that have no place, or no meaning, in a structural schema. */
const DROPPED = new Set(['$schema', 'propertyNames', 'additionalProperties', 'properties', 'items', 'anyOf', 'id']);
const REFUSED = ['$ref', 'oneOf', 'allOf', 'not', 'prefixItems', 'const', 'patternProperties'] as const;

function structural(node: StructuralSchema, path: string): StructuralSchema {
  const refused = REFUSED.find((keyword) => keyword in node);
  if (refused) throw new Error(`make the schema of ${path || 'the root'} structural: ${refused} is not allowed`);
  const kept = Object.entries(node).filter(([keyword]) => !DROPPED.has(keyword));
  if (node['x-kubernetes-int-or-string'] === true) {
    // An int-or-string has no type of its own; maxLength says nothing about its integers and stays.
    return Object.fromEntries(kept.filter(([keyword]) => keyword !== 'type'));
  }
  if ('anyOf' in node) throw new Error(`make the schema of ${path || 'the root'} structural: a union is not allowed`);
  if (node.type === undefined) throw new Error(`make the schema of ${path || 'the root'} structural: it has no type`);
  return {
    ...Object.fromEntries(kept),
    // JavaScript escapes the slash in a pattern's source; people read these in refusals.
    ...(typeof node['pattern'] === 'string' && { pattern: node['pattern'].replaceAll('\\/', '/') }),
    ...(node.properties &&
      Object.keys(node.properties).length > 0 && {
        properties: Object.fromEntries(
          Object.entries(node.properties).map(([name, child]) => [name, structural(child, `${path}.${name}`)]),
        ),
      }),
    ...(node.items && { items: structural(node.items, `${path}[]`) }),
    ...(isMap(node) && { additionalProperties: structural(node.additionalProperties, `${path}{}`) }),
  };
}

/** A record of values; a loose object (`additionalProperties: {}`) and a strict one (`false`) are none. */
function isMap(node: StructuralSchema): node is StructuralSchema & { readonly additionalProperties: StructuralSchema } {
  const values: unknown = node.additionalProperties;
  return typeof values === 'object' && values !== null && Object.keys(values).length > 0;
}
