// Which fields belong to which source, as data. The CRD's CEL rules and the HTTP validation are both derived from this table,
// so kubectl and HTTP accept the same records.

export const SOURCES = [
  'codehost',
  'external_docker',
  'internal_docker',
  'internal_source',
  'internal_template',
] as const;
export type Source = (typeof SOURCES)[number];

/** Fields of sourceConfig that depend on the source. access, resourceSpec, runtime, env, tasks, database, customUrl and deploymentType are allowed for all. */
const SOURCE_CONFIG_FIELDS = [
  'integrationId',
  'repoUrl',
  'buildOnPush',
  'listenerId',
  'listenerConfig',
  'installCommand',
  'buildCommand',
] as const;
const SOURCE_REVISION_FIELDS = ['repoRef', 'workflowConfigPath', 'davitFile', 'imageUri', 'sourceTarballPath'] as const;

/** Fields that cannot change after creation, because they say what is deployed, or where. */
export const FIXED_FIELDS = ['integrationId', 'repoUrl', 'listenerId', 'listenerConfig'] as const;
export type FixedField = (typeof FIXED_FIELDS)[number];

/** All of them, and where they stand in the spec. */
export const SOURCE_FIELDS = [
  ...SOURCE_CONFIG_FIELDS.map((field) => ({ where: 'sourceConfig', field }) as const),
  ...SOURCE_REVISION_FIELDS.map((field) => ({ where: 'sourceRevisionConfig', field }) as const),
];
type SourceField = (typeof SOURCE_FIELDS)[number]['field'];

/** What deployments of a source have to do with. */
export type SourceUse =
  /** The cluster of a Listener can run them. */
  | 'listener'
  /** Variables come from Secrets of the tenant. */
  | 'references'
  /** A CodeHostIntegration reads the repository, so the commit is known before the build. */
  | 'integration'
  /** Only what an AppTemplate offers is deployed. */
  | 'catalogue'
  /** People send the image or the source to Davit, for this deployment alone: no other one can have it. */
  | 'push'
  | 'upload';

/** All that is particular to a source. Code that depends on the source asks this table, and names no source. */
export interface SourceRule {
  readonly fields: readonly SourceField[];
  readonly required: readonly SourceField[];
  /** There is nothing to deploy before one of these is set. An image is built from the others. */
  readonly content: readonly ('imageUri' | 'repoUrl' | 'repoRef' | 'sourceTarballPath')[];
  readonly uses: readonly SourceUse[];
  readonly hosting: 'self-hosted' | 'cloud';
}

export const SOURCE_RULES: Readonly<Record<Source, SourceRule>> = {
  external_docker: {
    fields: ['listenerId', 'listenerConfig', 'imageUri'],
    required: ['imageUri'],
    content: ['imageUri'],
    uses: ['listener', 'references'],
    hosting: 'self-hosted',
  },
  codehost: {
    fields: [
      'integrationId',
      'repoUrl',
      'buildOnPush',
      'installCommand',
      'buildCommand',
      'repoRef',
      'workflowConfigPath',
      'davitFile',
    ],
    required: ['integrationId', 'repoUrl', 'repoRef', 'workflowConfigPath'],
    content: ['repoUrl', 'repoRef'],
    uses: ['integration'],
    hosting: 'cloud',
  },
  internal_docker: {
    fields: ['imageUri'],
    required: [],
    content: ['imageUri'],
    uses: ['push'],
    hosting: 'cloud',
  },
  internal_source: {
    fields: ['installCommand', 'buildCommand', 'sourceTarballPath', 'workflowConfigPath'],
    required: [],
    content: ['sourceTarballPath'],
    uses: ['upload'],
    hosting: 'cloud',
  },
  internal_template: {
    fields: ['repoUrl', 'imageUri', 'repoRef', 'workflowConfigPath'],
    required: [],
    content: ['imageUri', 'repoUrl'],
    uses: ['catalogue'],
    hosting: 'cloud',
  },
};

export function uses(source: Source, what: SourceUse): boolean {
  return SOURCE_RULES[source].uses.includes(what);
}

/** Whether an image of this source may be built here; one that names an image is not. */
export function mayBeBuilt(source: Source): boolean {
  return SOURCE_RULES[source].content.some((field) => field !== 'imageUri');
}

export const HOSTINGS = ['self-hosted', 'cloud', 'both'] as const;
export type Hosting = (typeof HOSTINGS)[number];

/** Whether a platform takes such a record. One that a listener's cluster runs is self-hosted wherever the platform is. */
export function isSourceTaken(source: Source, hosting: Hosting, hasListener: boolean): boolean {
  return hosting === 'both' || hasListener || SOURCE_RULES[source].hosting === hosting;
}
