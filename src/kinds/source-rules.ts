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

/** Fields of sourceConfig that depend on the source. resourceSpec, runtime, env, tasks, database, customUrl and deploymentType are allowed for all. */
export const SOURCE_CONFIG_FIELDS = [
  'integrationId',
  'repoUrl',
  'buildOnPush',
  'listenerId',
  'listenerConfig',
  'installCommand',
  'buildCommand',
] as const;
export const SOURCE_REVISION_FIELDS = [
  'repoRef',
  'workflowConfigPath',
  'davitFile',
  'imageUri',
  'sourceTarballPath',
] as const;

export const FIXED_FIELDS = ['integrationId', 'repoUrl', 'listenerId', 'listenerConfig'] as const;
export type FixedField = (typeof FIXED_FIELDS)[number];

export interface SourceRule {
  readonly config: readonly (typeof SOURCE_CONFIG_FIELDS)[number][];
  readonly revision: readonly (typeof SOURCE_REVISION_FIELDS)[number][];
  readonly requiredConfig: readonly (typeof SOURCE_CONFIG_FIELDS)[number][];
  readonly requiredRevision: readonly (typeof SOURCE_REVISION_FIELDS)[number][];
  /** Fields that cannot change after creation, because they say what is deployed, or where. */
  readonly fixed: readonly FixedField[];
  readonly secretReferences: boolean;
  readonly hosting: 'self-hosted' | 'cloud';
}

export const SOURCE_RULES: Readonly<Record<Source, SourceRule>> = {
  external_docker: {
    config: ['listenerId', 'listenerConfig'],
    revision: ['imageUri'],
    requiredConfig: [],
    requiredRevision: ['imageUri'],
    fixed: ['listenerId', 'listenerConfig'],
    secretReferences: true,
    hosting: 'self-hosted',
  },
  codehost: {
    config: ['integrationId', 'repoUrl', 'buildOnPush', 'installCommand', 'buildCommand'],
    revision: ['repoRef', 'workflowConfigPath', 'davitFile'],
    requiredConfig: ['integrationId', 'repoUrl'],
    requiredRevision: ['repoRef', 'workflowConfigPath'],
    fixed: ['integrationId', 'repoUrl'],
    secretReferences: false,
    hosting: 'cloud',
  },
  internal_docker: {
    config: [],
    revision: ['imageUri'],
    requiredConfig: [],
    requiredRevision: [],
    fixed: [],
    secretReferences: false,
    hosting: 'cloud',
  },
  internal_source: {
    config: ['installCommand', 'buildCommand'],
    revision: ['sourceTarballPath', 'workflowConfigPath'],
    requiredConfig: [],
    requiredRevision: [],
    fixed: [],
    secretReferences: false,
    hosting: 'cloud',
  },
  internal_template: {
    config: ['repoUrl'],
    revision: ['imageUri', 'repoRef', 'workflowConfigPath'],
    requiredConfig: [],
    requiredRevision: [],
    fixed: ['repoUrl'],
    secretReferences: false,
    hosting: 'cloud',
  },
};

export const HOSTINGS = ['self-hosted', 'cloud', 'both'] as const;
export type Hosting = (typeof HOSTINGS)[number];

/** Whether a platform takes such a record. One that a listener's cluster runs is self-hosted wherever the platform is. */
export function isSourceTaken(source: Source, hosting: Hosting, hasListener: boolean): boolean {
  return hosting === 'both' || hasListener || SOURCE_RULES[source].hosting === hosting;
}
