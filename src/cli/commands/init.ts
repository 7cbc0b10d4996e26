// The command that writes davit.yaml.

import { FILE_NAME } from '../../kinds/source-files.ts';
import type { Command } from '../line/command.ts';

export const initCommand: Command = {
  name: 'init',
  purpose: `write a ${FILE_NAME} for a folder, from its Dockerfile or configuration file, or for an image`,
  words: [{ word: 'FOLDER', names: 'folder', need: 'optional' }],
  noJson: 'it writes a file, which --output names',
  flags: [
    {
      name: 'name',
      value: 'NAME',
      help: 'the deployment; by default the name in package.json or pyproject.toml, or of the folder',
    },
    {
      name: 'config',
      value: 'FILE',
      help: 'configuration file, Dockerfile or list of packages in FOLDER; by default langgraph.json or what is there',
      isFile: true,
    },
    { name: 'image', value: 'IMAGE', help: 'describe a deployment of this image, without a build' },
    {
      name: 'output',
      short: 'o',
      value: 'FILE',
      help: `file to write; ${FILE_NAME} in FOLDER by default, - prints it`,
      isFile: true,
    },
    { name: 'force', help: 'replace a file that exists' },
    {
      name: 'server',
      value: 'URL',
      help: "address of Davit's HTTP API (DAVIT_SERVER), from which editors read the schema of the file",
    },
  ],
  about: `Reads langgraph.json, Dockerfile, package.json, pyproject.toml and requirements.txt of FOLDER, by default the
current one, and needs no cluster. Comments in the file name the source of each value, and the fields that are often
needed. With --image, only the name of the image is read, and the file is written to FOLDER.

  PROGRAM init ./agent
  PROGRAM init --image registry.example.com/team/shop:1.5.0
  PROGRAM init ./agent --output -
  PROGRAM deploy ./agent`,
  async run(context) {
    const { init } = await import('../folder/init-folder.ts');
    return init(context);
  },
};
