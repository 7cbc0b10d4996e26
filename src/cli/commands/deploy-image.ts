// Deploys an image: changes the deployment that runs one, or creates it, and follows the rollout until it is ready.

import { type DeploymentFile, type FileRequest, requestOf } from '../../deployments/http/deployment-file.ts';
import { givenSecrets, neededSecrets, type SecretValue } from '../folder/secret-values.ts';
import { variablesFrom, withVariables } from '../folder/variables.ts';
import { type Context, Misuse } from '../line/command.ts';
import { needImage, needName } from '../line/needed-names.ts';
import { PROGRAM } from '../line/program.ts';
import type { HttpApi } from '../transport/http-api.ts';
import { Failure } from '../transport/kubectl.ts';
import { type Deployment, findDeployment } from './build-log.ts';
import { configOf, IMAGE_SOURCE, selectedFile } from './deploy-file.ts';
import {
  addressOf,
  type CommonOptions,
  type DeployProgress,
  followed,
  resultOf,
  variablesAfter,
} from './deploy-folder.ts';
import { changeDeployment } from './deployment-change.ts';

/** Flags that belong to a build. */
const OF_BUILDS = ['config', 'install-command', 'build-command'];

/** Resolves to the exit code. `seconds`: for the rollout, without --timeout. Throws Failure and Misuse. */
export async function deployImage(context: Context, seconds: number): Promise<number> {
  const { words, flags, suggested, say, report, terminal, clock, onInterrupt } = context;
  if (words.length > 0) throw new Misuse('FOLDER and --image exclude each other. A davit.yaml is named with --file.');
  const ofBuilds = OF_BUILDS.find((flag) => flags.has(flag));
  if (ofBuilds !== undefined) throw new Misuse(`--${ofBuilds} is for a build, and --image is built already.`);
  const given = flags.text('image');
  if (given !== undefined) needImage(given);
  const file = await selectedFile(undefined, flags);
  const image = given ?? file?.image_uri ?? undefined;
  if (image === undefined)
    throw new Misuse(
      `${flags.text('file')} names no image_uri. Which image, or which folder? ${PROGRAM} deploy --image IMAGE --file ${flags.text('file')}, or ${PROGRAM} deploy FOLDER --file ${flags.text('file')}`,
    );
  const name = flags.text('name') ?? file?.name;
  if (name === undefined || name === null)
    throw new Misuse(`Which deployment? ${PROGRAM} deploy --image ${image} --name NAME`);
  needName(name, '--name');
  const progress: DeployProgress = {};
  onInterrupt(() =>
    progress.name === undefined
      ? 'Nothing was deployed.'
      : `The rollout goes on. To follow it: ${PROGRAM} wait ${name}${suggested}`,
  );
  const env = await variablesFrom(flags.text('env-file'), flags.texts('env'));
  const secrets = await givenSecrets(context);
  const timeoutMs = (flags.number('timeout') ?? seconds) * 1000;
  const options = { name, image, file, env, secrets, timeoutMs, suggested, clock, say, terminal };
  const deployed = await deployedImage(await context.api(), options, progress);
  say(addressOf(deployed, suggested));
  report(resultOf(deployed, progress, suggested));
  return 0;
}

export interface ImageOptions extends CommonOptions {
  readonly name: string;
  readonly image: string;
}

/** Resolves to the ready deployment. Throws Failure with what failed. `progress` is written as it goes on. */
export async function deployedImage(
  api: HttpApi,
  options: ImageOptions,
  progress: DeployProgress,
): Promise<Deployment> {
  const { name, file, terminal, suggested } = options;
  const found = await findDeployment(api, name);
  if (found !== undefined) needUsable(found);
  const secrets = await neededSecrets(
    { name, file, existing: found?.secrets, given: options.secrets, suggested },
    terminal,
  );
  progress.name = name;
  if (found === undefined) {
    const made = await create(api, options, secrets);
    progress.created = name;
    options.say(`Created deployment ${name}.`);
    return followed(api, { before: made, after: made, revision: null }, options, progress);
  }
  const changed = await changeDeployment(api, name, (now) => ({
    source_revision_config: { image_uri: options.image },
    source_config: { ...configOf(file, now), ...variablesAfter(options, now) },
    ...referencesOf(file),
    ...(secrets.length > 0 && { secrets, secrets_mode: 'merge' }),
  }));
  return followed(api, changed, options, progress);
}

/** Throws Failure for one that takes no image. */
function needUsable({ name, source, status }: Deployment): void {
  if (source !== IMAGE_SOURCE)
    throw new Failure(
      `Deployment ${name} takes no image: its source is ${source}. To deploy this image as a deployment of its own, choose another name with --name.`,
    );
  if (status === 'AWAITING_DELETE') throw new Failure(`Deployment ${name} is being deleted. Deploy when it is gone.`);
}

/** Those of the file; absent where it has none. */
function referencesOf(file: DeploymentFile | undefined): Pick<FileRequest, 'secret_references'> {
  const { secret_references } = requestOf(file ?? {});
  return { ...(secret_references !== undefined && { secret_references }) };
}

function create(
  api: HttpApi,
  { name, image, file, env = [] }: ImageOptions,
  secrets: readonly SecretValue[],
): Promise<Deployment> {
  const config = configOf(file);
  return api.call<Deployment>('POST', '/v2/deployments?secrets=names', {
    name,
    source: IMAGE_SOURCE,
    source_config: { ...config, ...(env.length > 0 && { env: withVariables(file?.env ?? [], env) }) },
    source_revision_config: { image_uri: image },
    ...referencesOf(file),
    secrets,
  });
}
