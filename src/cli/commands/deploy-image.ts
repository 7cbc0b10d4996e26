// Deploys an image: changes the deployment that runs one, or creates it, and follows the rollout until it is ready.

import { askedSecrets, givenSecrets } from '../folder/secret-values.ts';
import { fieldSet } from '../folder/set-fields.ts';
import { variablesFrom } from '../folder/variables.ts';
import { type Context, Misuse } from '../line/command.ts';
import { needImage, needName } from '../line/needed-names.ts';
import { PROGRAM } from '../line/program.ts';
import type { HttpApi } from '../transport/http-api.ts';
import type { Deployment } from './build-log.ts';
import { applyFile, selectedFile } from './deploy-file.ts';
import {
  addressOf,
  type CommonOptions,
  type DeployProgress,
  followed,
  requestOfOptions,
  resultOf,
} from './deploy-folder.ts';

/** Flags that belong to a build. */
const OF_BUILDS = ['config', 'install-command', 'build-command'];

/** Resolves to the exit code. `seconds`: for the rollout, without --timeout. Throws Failure and Misuse. */
export async function deployImage(context: Context, seconds: number): Promise<number> {
  const { words, flags, suggested, say, report, terminal, clock, onInterrupt } = context;
  if (words.length > 0) throw new Misuse('FOLDER and --image exclude each other. A davit.yaml is named with --file.');
  const ofBuilds = OF_BUILDS.find((flag) => flags.has(flag));
  if (ofBuilds !== undefined) throw new Misuse(`--${ofBuilds} is for a build, and --image is built already.`);
  const image = flags.text('image');
  if (image !== undefined) needImage(image);
  const name = flags.text('name');
  if (name !== undefined) needName(name, '--name');
  const file = await selectedFile(undefined, flags);
  if (name === undefined && file === undefined) throw new Misuse(nameless(image));
  const progress: DeployProgress = {};
  onInterrupt(() =>
    progress.name === undefined
      ? 'Nothing was deployed.'
      : `The rollout goes on. To follow it: ${PROGRAM} wait ${progress.name}${suggested}`,
  );
  const env = await variablesFrom(flags.text('env-file'), flags.texts('env'));
  const secrets = await givenSecrets(context);
  const timeoutMs = (flags.number('timeout') ?? seconds) * 1000;
  const set = [
    ...flags.texts('set').map(fieldSet),
    ...(image === undefined ? [] : [{ flag: '--image', field: 'image_uri', value: image }]),
  ];
  const options = { name, set, file, env, secrets, timeoutMs, suggested, clock, say, terminal };
  const deployed = await deployedImage(await context.api(), options, progress);
  say(addressOf(deployed, suggested));
  report(resultOf(deployed, progress, suggested));
  return 0;
}

function nameless(image = 'IMAGE'): string {
  return `Which deployment? ${PROGRAM} deploy --image ${image} --name NAME`;
}

/** Resolves to the ready deployment. Throws Failure with what failed. `progress` is written as it goes on. */
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
  if (created) {
    progress.created = name;
    options.say(`Created deployment ${name}.`);
  }
  return followed(api, applied, options, progress);
}
