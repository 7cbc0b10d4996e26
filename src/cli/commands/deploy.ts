// The command that deploys a folder or an image. What it runs is loaded when it runs: the file and its schema are half of the program.

import { API_FLAGS, type Command, Misuse, OUTPUT, timeoutFlag } from '../line/command.ts';
import { PROGRAM } from '../line/program.ts';

/** Time for everything after the upload, in seconds. */
const DEPLOY_SECONDS = 1800;

export const deployCommand: Command = {
  name: 'deploy',
  purpose: 'upload a folder and build it, or deploy an image, and wait until it is ready',
  words: [{ word: 'FOLDER', names: 'folder', need: 'optional' }],
  flags: [
    {
      name: 'name',
      value: 'NAME',
      help: "the deployment, which is created if it does not exist; by default the folder's name",
    },
    {
      name: 'image',
      value: 'IMAGE',
      help: 'deploy this image instead of a folder, by default the image_uri of --file; needs --name or the name in --file',
    },
    {
      name: 'config',
      value: 'FILE',
      help: 'configuration file, Dockerfile or list of packages in FOLDER; by default langgraph.json or what is there',
      isFile: true,
    },
    { name: 'install-command', value: 'TEXT', help: 'command that installs dependencies during the build' },
    { name: 'build-command', value: 'TEXT', help: 'command that builds' },
    { name: 'env', value: 'KEY=VALUE', help: 'plain variable, visible; may be given several times', isRepeated: true },
    { name: 'env-file', value: 'FILE', help: 'plain variables of this .env file', isFile: true },
    {
      name: 'secret',
      value: 'KEY',
      help: 'secret variable with the value of the environment variable KEY; may be given several times',
      isRepeated: true,
    },
    {
      name: 'secrets-file',
      value: 'FILE',
      help: 'secret variables of this .env file, or of standard input (-)',
      isFile: true,
    },
    {
      name: 'set',
      value: 'FIELD=VALUE',
      help: 'field of davit.yaml, such as resource_spec.cpu=0.5; the value is YAML; may be given several times',
      isRepeated: true,
    },
    {
      name: 'file',
      value: 'FILE',
      help: 'file that describes the deployment; davit.yaml in FOLDER by default',
      isFile: true,
    },
    { name: 'no-file', help: 'read no davit.yaml' },
    timeoutFlag(DEPLOY_SECONDS),
    OUTPUT,
    ...API_FLAGS,
  ],
  about: `Uploads the files that .gitignore and .dockerignore leave, and never .git, .env, node_modules or .venv unless a line such as !.env in
.dockerignore names them. Prints the log of the build, and the last lines of a container that exits. Ends as soon as
the revision is ready or has failed. Variables that --env and --env-file do not name stay; --env overrides the file. A secret
in the file without a value is requested on a terminal. Without a terminal, --secret or --secrets-file sets it.

davit.yaml in FOLDER describes the deployment: its fields change with the upload, and flags override it. With --image, the file of
--file does. Without FOLDER and --image, the image is the image_uri of --file, as PROGRAM export writes it.

  PROGRAM deploy ./agent
  PROGRAM deploy --image registry.example.com/team/shop:1.5.0 --name shop
  API_KEY=... PROGRAM deploy --image registry.example.com/team/shop:1.5.0 --file davit.yaml --secret API_KEY`,
  async run(context) {
    const { words, flags } = context;
    // A file may name the image.
    if (flags.has('image') || (words.length === 0 && flags.has('file'))) {
      const { deployImage } = await import('./deploy-image.ts');
      return deployImage(context, DEPLOY_SECONDS);
    }
    if (words.length === 0)
      throw new Misuse(
        `Which folder? ${PROGRAM} deploy FOLDER, or --image IMAGE --name NAME, or --file FILE that names an image_uri`,
      );
    const { deployFolder } = await import('./deploy-folder.ts');
    return deployFolder(context, DEPLOY_SECONDS);
  },
};
