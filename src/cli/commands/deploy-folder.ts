// Deploys a folder: packs and uploads it to an internal_source deployment, which is created if there is none, and follows the build
// until the deployment is ready.

import { basename, resolve } from 'node:path';
import type { DeploymentFile } from '../../deployments/http/deployment-file.ts';
import type { PlainVariable } from '../../schema/plain-variables.ts';
import { DEFAULT_CONFIGURATION } from '../../schema/source-files.ts';
import { bytesText } from '../../schema/text.ts';
import { listSource, pack, type Source } from '../folder/pack.ts';
import { deploymentName } from '../folder/project.ts';
import { givenSecrets, neededSecrets, type SecretValue } from '../folder/secret-values.ts';
import { variablesFrom, withVariables } from '../folder/variables.ts';
import { type Clock, type Context, Misuse, type Terminal } from '../line/command.ts';
import { needName } from '../line/needed-names.ts';
import { PROGRAM } from '../line/program.ts';
import { commandToStart } from '../text/scaled-to-zero.ts';
import { type HttpApi, undefinedIf } from '../transport/http-api.ts';
import { Failure } from '../transport/kubectl.ts';
import { type Deployment, findDeployment } from './build-log.ts';
import { changedLines, configOf, selectedFile } from './deploy-file.ts';
import { type Changed, changeDeployment, nameOfNewest } from './deployment-change.ts';
import { readyOutcome, untilReady } from './wait.ts';

/** Resolves to the exit code. `seconds`: for everything after the upload, without --timeout. Throws Failure and Misuse. */
export async function deployFolder(context: Context, seconds: number): Promise<number> {
  const {
    words: [folder = ''],
    flags,
    suggested,
    say,
    report,
    terminal,
    onInterrupt,
  } = context;
  const name = flags.text('name');
  if (name !== undefined) needName(name, '--name');
  const progress: DeployProgress = {};
  onInterrupt(() => interruptedSentence(progress, suggested));
  const env = await variablesFrom(flags.text('env-file'), flags.texts('env'));
  const secrets = await givenSecrets(context);
  const file = await selectedFile(folder, flags);
  const config = flags.text('config') ?? file?.workflow_config_path ?? DEFAULT_CONFIGURATION;
  const source = await listSource(resolve(folder), config);
  const api = await context.facade();
  const options = {
    source,
    file,
    name: name ?? file?.name ?? undefined,
    installCommand: flags.text('install-command'),
    buildCommand: flags.text('build-command'),
    env,
    secrets,
    timeoutMs: (flags.number('timeout') ?? seconds) * 1000,
    suggested,
    cluster: context.cluster,
    clock: context.clock,
    say,
    terminal,
  };
  const deployed = await deploy(api, options, progress);
  say(addressOf(deployed, suggested));
  report(resultOf(deployed, progress, suggested));
  return 0;
}

function interruptedSentence({ created, name, revision }: DeployProgress, suggested: string): string {
  const left = created === undefined ? '' : ` Deployment ${created} was created and stays, without a revision.`;
  if (name === undefined) return `Nothing was deployed.${left}`;
  if (revision === undefined) return `The upload may be deployed. To see: ${PROGRAM} status ${name}${suggested}`;
  return `The build goes on. To follow it: ${PROGRAM} logs ${name} --build --follow${suggested}`;
}

/** What a deploy of a folder and one of an image have in common. */
export interface CommonOptions {
  /** Absent fields stay as the deployment has them. The other options win over it. */
  readonly file?: DeploymentFile | undefined;
  /** By default made of the folder's name. */
  readonly name?: string | undefined;
  /** Plain variables to set; others of the deployment stay. */
  readonly env?: readonly PlainVariable[];
  /** Secret variables to set; others of the deployment stay. */
  readonly secrets?: readonly SecretValue[];
  /** Time for everything after the upload. */
  readonly timeoutMs: number;
  /** Flags that suggested commands repeat, each after a space. */
  readonly suggested: string;
  /** Flags that select the cluster in suggested commands of kubectl itself. */
  readonly cluster?: readonly string[];
  readonly say: (line: string) => void;
  /** If absent, nobody can be asked. */
  readonly terminal?: Pick<Terminal, 'isInteractive' | 'ask'>;
  readonly clock?: Clock;
  readonly everyMs?: number;
}

export interface DeployOptions extends CommonOptions {
  readonly source: Source;
  readonly installCommand?: string | undefined;
  readonly buildCommand?: string | undefined;
}

/** How far a deploy is, for whoever ends it early. */
export interface DeployProgress {
  /** Name of the deployment, if this deploy has created it. */
  created?: string;
  /** Absent until a revision was asked for. */
  name?: string;
  revision?: string;
  /** The name of the revision. */
  called?: string;
}

interface UploadUrl {
  readonly upload_url: string;
  readonly object_path: string;
  readonly upload_headers: Readonly<Record<string, string>>;
  readonly max_bytes: number;
}

/** Resolves to the ready deployment. Throws Failure with what failed. `progress` is written as it goes on. */
export async function deploy(api: HttpApi, options: DeployOptions, progress: DeployProgress): Promise<Deployment> {
  const { source, say, file, suggested } = options;
  const name = options.name ?? nameOf(source.folder);
  await needBuilds(api, options, name);
  const found = await usableDeployment(api, name, options.cluster ?? []);
  const wanted = { name, file, existing: found?.secrets, given: options.secrets, suggested };
  const secrets = await neededSecrets(wanted, options.terminal);
  const { id } = found ?? (await create(api, { ...options, name }, progress));
  const objectPath = await upload(api, id, source, say);
  progress.name = name;
  const changed = await changeDeployment(api, name, (now) => changeOf(options, { objectPath, secrets }, now));
  return followed(api, changed, options, progress);
}

/** Says what changed and which revision takes it, and resolves to the ready deployment. Throws Failure with what failed. */
export async function followed(
  api: HttpApi,
  { before, after: changed, revision: made }: Changed,
  options: CommonOptions,
  progress: DeployProgress,
): Promise<Deployment> {
  const { name, latest_revision_id: revision } = changed;
  const { say } = options;
  if (revision === null) throw new Failure(`${name} has no revision: ${changed.status_message}`);
  progress.revision = revision;
  for (const line of progress.created === undefined ? changedLines(before, changed) : []) say(line);
  const called = made ?? (await nameOfNewest(api, changed, revision));
  progress.called = called;
  say(`Revision ${called}.`);
  const builds = changed.source === 'internal_source' && { builds: api };
  return untilReady(api, { id: changed.id, revision, ...builds }, { ...options, before: changed });
}

/** For programs. `suggested`: as Context has it. */
export function resultOf(deployed: Deployment, { created, called }: DeployProgress, suggested: string): object {
  const { id, name, status, internal_url: internalUrl, source_config: config } = deployed;
  const { custom_url: url } = config;
  const outcome = readyOutcome(deployed, suggested);
  return { name, id, created: created !== undefined, revision: called ?? null, status, url, internalUrl, ...outcome };
}

/** Where the deployment is reached, or how it is started. `suggested`: flags for a suggested command, each after a space. */
export function addressOf(
  { name, status, source_config: config, internal_url: internal }: Deployment,
  suggested: string,
): string {
  if (status === 'UNUSED')
    return `It is scaled to zero, so no pod runs. To start it: ${commandToStart(name)}${suggested}`;
  if (config.custom_url !== null) return config.custom_url;
  if (internal === null) return `It has no address. See: ${PROGRAM} status ${name}${suggested}`;
  return `In the cluster: ${internal}   From here: ${PROGRAM} open ${name}${suggested}`;
}

/** The API says if it is too long. */
function nameOf(folder: string): string {
  const name = deploymentName(basename(folder));
  if (name !== '') return name;
  throw new Misuse(`The name of the folder ${folder} gives no name for a deployment. Choose one with --name.`);
}

interface Offer {
  readonly builds?: { readonly available: boolean; readonly registry: string | null };
}

/** Throws Failure where the platform builds nothing: a deployment that waits for ever is not created. */
async function needBuilds(api: HttpApi, { file }: Pick<DeployOptions, 'file'>, name: string): Promise<void> {
  // A caller may have the right to deploy alone.
  const { builds } = (await api.call<Offer>('GET', '/v2/platform').catch(undefinedIf(403))) ?? {};
  if (builds?.available !== false) return;
  const missing =
    builds.registry === null
      ? 'registry (setting builds.registry)'
      : 'image of a builder (setting builds.images.builder)';
  throw new Failure(
    [
      `This platform builds nothing: it has no ${missing}, which the platform team sets. Nothing was created.`,
      'An image can be deployed instead. Build one of this folder, push it, and name it:',
      `  ${PROGRAM} deploy --image IMAGE --name ${name}${file === undefined ? '' : ' --file FILE'}`,
    ].join('\n'),
  );
}

/** What a deployment of another source runs, and how that is changed. */
const OTHER_SOURCES: Readonly<Partial<Record<string, typeof otherSource>>> = {
  external_docker: ({ name, source_revision_config: { image_uri: image } }, cluster) =>
    `it runs the image ${image ?? 'that it is given'} (source external_docker). To deploy another image:\n  ${[PROGRAM, 'deploy --image IMAGE --name', name, ...cluster].join(' ')}`,
  codehost: ({ source_config: { repo_url: url } }) =>
    `it is built from the repository ${url ?? 'that it names'} (source codehost). Push the change there.`,
};

function otherSource({ source }: Deployment, _cluster: readonly string[]): string {
  return `its source is ${source}, and uploads need internal_source.`;
}

/** Undefined if there is none of that name. Throws Failure for one that takes no uploads. */
async function usableDeployment(
  api: HttpApi,
  name: string,
  cluster: readonly string[],
): Promise<Deployment | undefined> {
  const found = await findDeployment(api, name);
  if (found === undefined) return undefined;
  if (found.source !== 'internal_source')
    throw new Failure(
      [
        `Deployment ${name} takes no folder: ${(OTHER_SOURCES[found.source] ?? otherSource)(found, cluster)}`,
        'Nothing was uploaded. To deploy this folder as a deployment of its own, choose another name with --name.',
      ].join('\n'),
    );
  if (found.status === 'AWAITING_DELETE')
    throw new Failure(`Deployment ${name} is being deleted. Deploy when it is gone.`);
  return found;
}

async function create(
  api: HttpApi,
  { name, say, file }: DeployOptions & { readonly name: string },
  progress: DeployProgress,
): Promise<Deployment> {
  const made = await api.call<Deployment>('POST', '/v2/deployments', {
    name,
    source: 'internal_source',
    source_config: configOf(file),
    source_revision_config: {},
    secrets: [],
  });
  progress.created = name;
  say(`Created deployment ${name}.`);
  return made;
}

/** Resolves to the path that names the upload. */
async function upload(api: HttpApi, id: string, source: Source, say: (line: string) => void): Promise<string> {
  const path = `/v2/deployments/${id}/upload-url`;
  const target = await api.call<UploadUrl>('POST', path, { supports_upload_headers: true });
  const packed = await pack(source, target.max_bytes);
  try {
    say(`Uploading ${source.entries.length} files of ${source.folder}, ${bytesText(packed.size)} packed.`);
    await api.upload(target.upload_url, target.upload_headers, packed);
  } finally {
    await packed.remove();
  }
  return target.object_path;
}

/** All plain variables after those of the flags, because a PATCH replaces them; absent where no flag sets one. */
export function variablesAfter(
  { file, env = [] }: Pick<CommonOptions, 'file' | 'env'>,
  now: Deployment,
): { readonly env?: readonly PlainVariable[] } {
  return env.length === 0 ? {} : { env: withVariables(file?.env ?? now.source_config.env ?? [], env) };
}

interface Upload {
  /** Names it. */
  readonly objectPath: string;
  readonly secrets: readonly SecretValue[];
}

/** `now`: what the deployment has. */
function changeOf(options: DeployOptions, { objectPath, secrets }: Upload, now: Deployment): object {
  const { source, file, installCommand, buildCommand } = options;
  const config = {
    ...configOf(file, now),
    ...(installCommand !== undefined && { install_command: installCommand }),
    ...(buildCommand !== undefined && { build_command: buildCommand }),
    ...variablesAfter(options, now),
  };
  return {
    revision_source: 'internal_source',
    source_revision_config: { source_tarball_path: objectPath, workflow_config_path: source.config },
    ...(Object.keys(config).length > 0 && { source_config: config }),
    ...(secrets.length > 0 && { secrets, secrets_mode: 'merge' }),
  };
}
