// Deploys an image: changes the deployment that runs one, or creates it, and follows the rollout until it is ready.

import type { Deployment } from '../../deploy/http/payloads.ts';
import { askedSecrets } from '../folder/secret-values.ts';
import { type Context, Misuse } from '../line/command.ts';
import { needImage } from '../line/needed-names.ts';
import { PROGRAM } from '../line/program.ts';
import type { HttpApi } from '../transport/http-api.ts';
import { applyFile, selectedFile } from './deploy-file.ts';
import {
  type CommonOptions,
  type DeployProgress,
  followed,
  givenOptions,
  requestOfOptions,
  tellCreated,
  tellDeployed,
} from './deploy-folder.ts';

/** Flags that belong to a build. */
const OF_BUILDS = ['config', 'install-command', 'build-command'];

/** Resolves to the exit code. `seconds`: for the rollout, without --timeout. Throws Failure and Misuse. */
export async function deployImage(context: Context, seconds: number): Promise<number> {
  const { words, flags, suggested, onInterrupt } = context;
  if (words.length > 0) throw new Misuse('Use either FOLDER or --image, not both. Name a davit.yaml with --file.');
  const ofBuilds = OF_BUILDS.find((flag) => flags.has(flag));
  if (ofBuilds !== undefined) throw new Misuse(`--${ofBuilds} is for a build, but --image is already built.`);
  const image = flags.text('image');
  if (image !== undefined) needImage(image);
  const file = await selectedFile(undefined, flags);
  if (!flags.has('name') && file === undefined) throw new Misuse(nameless(image));
  const progress: DeployProgress = {};
  onInterrupt(() =>
    progress.name === undefined
      ? 'Nothing was deployed.'
      : `The rollout continues. To follow it: ${PROGRAM} wait ${progress.name}${suggested}`,
  );
  const set = image === undefined ? [] : [{ flag: '--image', field: 'image_uri', value: image }];
  const options = await givenOptions(context, { file, set, seconds });
  return tellDeployed(context, await deployedImage(await context.api(), options, progress), progress);
}

function nameless(image = 'IMAGE'): string {
  return `Which deployment? ${PROGRAM} deploy --image ${image} --name NAME`;
}

/** Resolves to the ready deployment. Throws Failure with what failed. `progress` is updated meanwhile. */
export async function deployedImage(
  api: HttpApi,
  options: CommonOptions,
  progress: DeployProgress,
): Promise<Deployment> {
  const path = options.file?.path ?? 'FILE';
  const asked = {
    ...requestOfOptions(options, 'external_docker'),
    hints: {
      'name missing': nameless(),
      'file.image_uri missing': `Which image, or which folder? ${PROGRAM} deploy --image IMAGE --file ${path}, or ${PROGRAM} deploy FOLDER --file ${path}`,
    },
  };
  const { name, created, missing_secrets: missing } = await applyFile(api, asked, { isDryRun: true });
  const secrets = [...asked.secrets, ...(await askedSecrets(name, missing, options.terminal))];
  progress.name = name;
  const applied = await applyFile(api, { ...asked, secrets });
  if (created) tellCreated(name, options, progress);
  return followed(api, applied, options, progress);
}
