// Deploys a folder: packs and uploads it to an internal_source deployment, which is created if there is none, and follows the build
// until the deployment is ready.

import { basename, resolve } from 'node:path';
import type { Deployment } from '../../deploy/http/payloads.ts';
import { changeLine } from '../../deploy/record/revision-diff.ts';
import { uses } from '../../kinds/source-rules.ts';
import { bytesText } from '../../kinds/text.ts';
import { builtFrom, listSource, needFolder, pack, pathWithin, type Source } from '../folder/pack.ts';
import { deploymentName } from '../folder/project.ts';
import { askedSecrets, givenSecrets } from '../folder/secret-values.ts';
import { fieldSet, type SetByFlag } from '../folder/set-fields.ts';
import { variablesFrom } from '../folder/variables.ts';
import type { Clock, Context, Terminal } from '../line/command.ts';
import { needName } from '../line/needed-names.ts';
import { PROGRAM } from '../line/program.ts';
import { commandToStart } from '../text/scaled-to-zero.ts';
import type { HttpApi } from '../transport/http-api.ts';
import { Failure } from '../transport/kubectl.ts';
import { type Applied, applyFile, type FileRequest, selectedFile } from './deploy-file.ts';
import { nameOfNewest } from './deployment-change.ts';
import { readyOutcome, untilReady } from './wait.ts';

/** Resolves to the exit code. `seconds`: for everything after the upload, without --timeout. Throws Failure and Misuse. */
export async function deployFolder(context: Context, seconds: number): Promise<number> {
  const { flags, suggested } = context;
  const folder = resolve(context.words[0] ?? '');
  const progress: DeployProgress = {};
  context.onInterrupt(() => interruptedSentence(progress, suggested));
  await needFolder(folder);
  const config = flags.text('config');
  if (config !== undefined) pathWithin(folder, config);
  const set = ['install-command', 'build-command'].flatMap((flag): SetByFlag[] => {
    const value = flags.text(flag);
    return value === undefined ? [] : [{ flag: `--${flag}`, field: flag.replace('-', '_'), value }];
  });
  const options = await givenOptions(context, { file: await selectedFile(context.words[0], flags), set, seconds });
  return tellDeployed(
    context,
    await deploy(await context.facade(), { ...options, folder, config }, progress),
    progress,
  );
}

interface Given extends Required<Pick<CommonOptions, 'file' | 'set'>> {
  readonly seconds: number;
}

/** What flags give to either deploy. `set`: by other flags than --set. Throws Misuse. */
export async function givenOptions(context: Context, { file, set, seconds }: Given): Promise<CommonOptions> {
  const { flags, suggested, clock, say, terminal } = context;
  const name = flags.text('name');
  if (name !== undefined) needName(name, '--name');
  return {
    name,
    file,
    set: [...flags.texts('set').map(fieldSet), ...set],
    env: await variablesFrom(flags.text('env-file'), flags.texts('env')),
    secrets: await givenSecrets(context),
    timeoutMs: (flags.number('timeout') ?? seconds) * 1000,
    suggested,
    clock,
    say,
    terminal,
  };
}

/** Resolves to the exit code. */
export function tellDeployed(
  { say, report, suggested }: Context,
  deployed: Deployment,
  { created, called }: DeployProgress,
): number {
  const { id, name, status, internal_url: internalUrl, source_config: config } = deployed;
  say(addressOf(deployed, suggested));
  const outcome = readyOutcome(deployed, suggested);
  const made = { created: created !== undefined, revision: called ?? null };
  report({ name, id, ...made, status, url: config.custom_url, internalUrl, ...outcome });
  return 0;
}

function interruptedSentence({ created, name, revision }: DeployProgress, suggested: string): string {
  const left = created === undefined ? '' : ` Deployment ${created} was created without a revision, and stays.`;
  if (name === undefined) return `Nothing was deployed.${left}`;
  if (revision === undefined)
    return `The upload may have been deployed. To check: ${PROGRAM} status ${name}${suggested}`;
  return `The build continues. To follow it: ${PROGRAM} logs ${name} --build --follow${suggested}`;
}

/** What a deploy of a folder and one of an image have in common. */
export interface CommonOptions extends Partial<Pick<FileRequest, 'file' | 'set' | 'name' | 'env' | 'secrets'>> {
  /** Time for everything after the upload. */
  readonly timeoutMs: number;
  /** Flags that suggested commands repeat, each after a space. */
  readonly suggested: string;
  readonly say: (line: string) => void;
  /** Absent without a terminal. */
  readonly terminal?: Pick<Terminal, 'isInteractive' | 'ask'>;
  readonly clock?: Clock;
  readonly everyMs?: number;
}

export interface DeployOptions extends CommonOptions {
  /** Absolute. Its name is the default of the deployment's name. */
  readonly folder: string;
  /** The configuration file or Dockerfile in it, by default the one that davit.yaml names. */
  readonly config?: string | undefined;
}

/** The progress of a deploy, for an interruption. */
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

/** Resolves to the ready deployment. Throws Failure with what failed. `progress` is updated meanwhile. */
export async function deploy(api: HttpApi, options: DeployOptions, progress: DeployProgress): Promise<Deployment> {
  const { folder, say, terminal } = options;
  const asked = {
    ...requestOfOptions(options, 'internal_source'),
    default_name: deploymentName(basename(folder)),
    hints: {
      'name missing': `The name of folder ${folder} cannot become the name of a deployment. Choose one with --name.`,
      'file.source value_error': `To deploy an image: ${PROGRAM} deploy --image IMAGE --file ${options.file?.path}`,
    },
  };
  const checked = await applyFile(api, asked, { isDryRun: true });
  const { name, created, missing_secrets: missing } = checked;
  const path = options.config ?? checked.file.workflow_config_path ?? (await builtFrom(folder));
  const source = await listSource(folder, path);
  const request = {
    ...asked,
    set: [...asked.set, { flag: '--config', field: 'workflow_config_path', value: source.config }],
    secrets: [...asked.secrets, ...(await askedSecrets(name, missing, terminal))],
  };
  const { deployment } = created ? await applyFile(api, request) : checked;
  if (created) tellCreated(name, options, progress);
  const objectPath = await upload(api, deployment?.id ?? '', source, say);
  progress.name = name;
  const applied = await applyFile(api, request, { source_tarball_path: objectPath });
  return followed(api, applied, options, progress);
}

export function tellCreated(name: string, { say }: CommonOptions, progress: DeployProgress): void {
  progress.created = name;
  say(`Created deployment ${name}.`);
}

export function requestOfOptions(
  { file, set = [], name, env = [], secrets = [] }: CommonOptions,
  source: FileRequest['source'],
): Omit<FileRequest, 'hints'> {
  return { file, set, name, source, env, secrets };
}

/** Says what changed and which revision takes it, and resolves to the ready deployment. Throws Failure with what failed. */
export async function followed(
  api: HttpApi,
  { name, deployment, changes }: Applied,
  options: CommonOptions,
  progress: DeployProgress,
): Promise<Deployment> {
  const { say } = options;
  const revision = deployment?.latest_revision_id ?? undefined;
  if (deployment === null || revision === undefined)
    throw new Failure(`${name} has no revision: ${deployment?.status_message}`);
  progress.revision = revision;
  if (progress.created === undefined)
    for (const change of changes) say(`Changed ${change.field}: ${changeLine(change)}`);
  const called = await nameOfNewest(api, deployment, revision);
  progress.called = called;
  say(`Revision ${called}.`);
  const builds = uses(deployment.source, 'upload') && { builds: api };
  return untilReady(api, { id: deployment.id, revision, ...builds }, { ...options, before: deployment });
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

/** Resolves to the path that names the upload. */
async function upload(api: HttpApi, id: string, source: Source, say: (line: string) => void): Promise<string> {
  const path = `/v2/deployments/${id}/upload-url`;
  const target = await api.call<UploadUrl>('POST', path, { supports_upload_headers: true });
  const packed = await pack(source, target.max_bytes);
  try {
    say(`Uploading ${source.entries.length} files of ${source.folder}, ${bytesText(packed.size)} packed.`);
    await api.upload(target.upload_url, target.upload_headers, packed);
  } finally {
    packed.remove();
  }
  return target.object_path;
}
