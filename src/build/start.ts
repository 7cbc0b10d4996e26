// Creates the Job of a build, suspended, then its Secrets, and resumes the Job. Every step is idempotent, so a retry
// after a failure continues and never creates a second Job.

import type { INode } from 'kubernetes-models/v1/Node';
import type { Job } from '../deploy/assess/jobs.ts';
import type { Cluster } from '../deploy/cluster/cluster.ts';
import { settleAll } from '../deploy/cluster/settle-all.ts';
import { hasDrifted } from '../deploy/plan/drift.ts';
import { commitOf } from '../deploy/record/build-source.ts';
import { buildName } from '../deploy/record/names.ts';
import { type RegistrySettings, repositoryOf, uploadTag } from '../deploy/record/registry-names.ts';
import { FIELD_MANAGER } from '../kinds/meta.ts';
import type { Settings } from '../kinds/settings.ts';
import { DEFAULT_CONFIGURATION } from '../kinds/source-files.ts';
import { overlayWrite } from '../runtime/controller/cluster.ts';
import { AlreadyExists, Terminal, undefinedIfNotFound } from '../runtime/errors.ts';
import { JOBS, NODES, SECRETS } from '../runtime/kube/api-resources.ts';
import type { KubeClient, KubeObject, Read } from '../runtime/kube/client.ts';
import type { BuildCredentials, BuilderMode, BuildInputs, BuildSource } from './job/inputs.ts';
import { makeBuildJob, makeBuildSecrets } from './job/job.ts';
import { buildNamespaceObjects } from './job/namespace.ts';
import type { BuildToDo } from './observe.ts';
import type { RegistryAccess } from './registry/access.ts';
import { loginIn, type RegistryLogin } from './registry/docker-config.ts';
import { type BuildHindrance, isHindrance, type SourceAccess } from './source-access.ts';

export interface StartOptions {
  readonly shell: Cluster;
  readonly settings: Settings;
  readonly registry: RegistrySettings;
  readonly registryAccess: RegistryAccess;
  readonly sources: SourceAccess;
  /** CA certificates (PEM) that builds trust besides those of their images. */
  readonly authorities: string | undefined;
}

/** Credentials stay valid for this time after the build's time limit. */
const LEEWAY_SECONDS = 300;

/** Returns why the build cannot start, or undefined if its Job runs. Throws if a request to the API server fails. */
export async function startBuild(build: BuildToDo, options: StartOptions): Promise<BuildHindrance | undefined> {
  const { shell, settings, registry } = options;
  const { client } = shell;
  const source = buildSourceOf(build);
  const credentials = await credentialsFor(build, source, options);
  if ('reason' in credentials) return credentials;
  for (const object of buildNamespaceObjects(settings)) await ensure(object, shell);
  const { sourceConfig, sourceRevisionConfig } = { ...build.record.spec, ...build.revision.spec.requested };
  const { installCommand, buildCommand } = build.revision.spec.requested;
  const { builder = '', davit = '' } = settings.builds.images;
  const inputs: BuildInputs = {
    revisionId: build.revision.spec.id,
    tenant: build.tenant,
    deployment: { name: build.record.metadata.name, uid: build.record.metadata.uid ?? '' },
    source: source ?? { kind: 'git', url: sourceConfig.repoUrl ?? '', ref: '' },
    workflowConfigPath: sourceRevisionConfig.workflowConfigPath ?? DEFAULT_CONFIGURATION,
    installCommand,
    buildCommand,
    mode: await modeOf(settings, client),
    settings: settings.builds,
    proxies: settings.proxy,
    registry,
    images: { builder, davit },
  };
  const job = await makeJob(inputs, client);
  overlayWrite(shell.caches, job);
  const secrets = makeBuildSecrets(
    inputs,
    { ...credentials, authorities: options.authorities },
    job.metadata.uid ?? '',
  );
  await settleAll(secrets.map((secret) => client.apply(SECRETS, secret, { fieldManager: FIELD_MANAGER, force: true })));
  if (job.spec?.suspend === true) {
    const { namespace = '', name, uid } = job.metadata;
    const patch = { metadata: { uid }, spec: { suspend: false } };
    overlayWrite(
      shell.caches,
      await client.mergePatch<Job>(JOBS, { namespace, name }, patch, { fieldManager: FIELD_MANAGER }),
    );
  }
  return undefined;
}

/** Returns what would hinder the start of the build now. Nothing is written. */
export async function startHindrance(build: BuildToDo, options: StartOptions): Promise<BuildHindrance | undefined> {
  const credentials = await credentialsFor(build, buildSourceOf(build), options);
  return 'reason' in credentials ? credentials : undefined;
}

function buildSourceOf({ revision, record }: BuildToDo): BuildSource | undefined {
  const { sourceTarballPath, repoRef = 'HEAD' } = revision.spec.requested.sourceRevisionConfig;
  if (sourceTarballPath !== undefined) return { kind: 'upload', tag: uploadTag(sourceTarballPath) };
  const { repoUrl } = record.spec.sourceConfig;
  if (repoUrl === undefined) return undefined;
  return { kind: 'git', url: repoUrl, ref: commitOf(revision) ?? repoRef };
}

async function credentialsFor(
  { record, tenant }: BuildToDo,
  source: BuildSource | undefined,
  { registry, registryAccess, sources, settings }: StartOptions,
): Promise<BuildCredentials | BuildHindrance> {
  const repository = repositoryOf(registry, tenant, record.metadata.name);
  const seconds = settings.builds.timeoutSeconds + LEEWAY_SECONDS;
  const push = await registryAccess.push(repository, seconds).catch(unusableKey);
  if (typeof push === 'object') return push;
  if (push === undefined) return missingSecret(registry.pushSecret ?? '', settings);
  const login = loginFor(registry.pushSecret, push, registry, settings);
  if (isHindrance(login)) return login;
  if (source?.kind === 'upload') {
    const pull = await registryAccess.pull(repository, seconds);
    const reader = pull === undefined ? login : loginFor(registry.pullSecret, pull, registry, settings);
    return isHindrance(reader) ? reader : { source: { ...reader }, sourceCa: registry.ca, push, login };
  }
  const credential = await sources.credential(record);
  if (isHindrance(credential)) return credential;
  return { source: { token: credential.token }, sourceCa: credential.ca, push, login };
}

/**
 * The login for the registry's host. Empty if the settings name no Secret, as for a registry without authentication.
 */
function loginFor(
  secret: string | undefined,
  config: string,
  { host }: RegistrySettings,
  { builds }: Settings,
): RegistryLogin | BuildHindrance {
  const login = loginIn(config, host);
  if (login !== undefined || secret === undefined) return login ?? { username: '', password: '' };
  return {
    reason: 'CredentialMissing',
    message: `Secret ${secret} of namespace ${builds.namespace} has no user name and password for ${host} in .dockerconfigjson. Correct it; the build then continues automatically.`,
    retry: true,
  };
}

/** Of the key that signs passwords of the registry. Nothing watches its Secret. */
function unusableKey(error: unknown): BuildHindrance {
  if (!(error instanceof Terminal)) throw error;
  return { reason: 'CredentialMissing', message: `Davit cannot ${error.message}`, retry: true };
}

function missingSecret(name: string, { builds }: Settings): BuildHindrance {
  return {
    reason: 'CredentialMissing',
    message: `Secret ${name} of namespace ${builds.namespace} does not exist, or has no key .dockerconfigjson. Create it; the build then continues automatically.`,
    retry: true,
  };
}

/**
 * In mode `auto`, uses user namespaces only if every schedulable node supports them, since the build's node is not
 * known yet.
 */
async function modeOf({ builds }: Settings, client: KubeClient): Promise<BuilderMode> {
  if (builds.mode !== 'auto') return builds.mode;
  const { items } = await client.listAll<Read<INode>>(NODES);
  const nodes = items.filter(({ spec }) => spec?.unschedulable !== true);
  const have = ({ status }: Read<INode>): boolean =>
    status?.runtimeHandlers?.some(({ features }) => features?.userNamespaces === true) ?? false;
  return nodes.length > 0 && nodes.every(have) ? 'userns' : 'rootless';
}

async function makeJob(inputs: BuildInputs, client: KubeClient): Promise<Job> {
  try {
    return (await client.create(JOBS, makeBuildJob(inputs))) as Job;
  } catch (error) {
    if (!(error instanceof AlreadyExists)) throw error;
    return client.get<Job>(JOBS, { namespace: inputs.settings.namespace, name: buildName(inputs.revisionId) });
  }
}

/** Applies an object that is missing or has drifted. */
async function ensure(object: KubeObject, { client, registry }: Cluster): Promise<void> {
  const resource = registry.resourceOf(object);
  const { namespace = '', name } = object.metadata;
  const there = await client.get(resource, { namespace, name }).catch(undefinedIfNotFound);
  if (there && !hasDrifted(object, there)) return;
  await client.apply(resource, object, { fieldManager: FIELD_MANAGER, force: true });
}
