// Prints davit.yaml from a deployment.

import { FILE_NAME } from '../schema/source-files.ts';
import { type Command, DEPLOYMENT, OUTPUT, print } from './command.ts';
import { PROGRAM } from './program.ts';
import { readRecord } from './records.ts';

export const exportCommand: Command = {
  name: 'export',
  purpose: `print the ${FILE_NAME} that describes it, with secrets by name`,
  words: [DEPLOYMENT],
  flags: [OUTPUT],
  about: `Prints what the deployment asks for, without defaults and without values of secrets. To deploy the folder with it:

  PROGRAM export agent > ./agent/${FILE_NAME}
  PROGRAM deploy ./agent`,
  async run(context) {
    const [{ stringify }, { fileOf }] = await Promise.all([
      import('yaml'),
      import('../deployments/http/deployment-file.ts'),
    ]);
    const file = fileOf(await readRecord(context.kubectl, context.words[0] ?? ''));
    print(context, file, () => [
      `# Written by ${PROGRAM} export. What is left out stays as the deployment has it.`,
      stringify(file, { lineWidth: 0, aliasDuplicateObjects: false }).trimEnd(),
    ]);
    return 0;
  },
};
