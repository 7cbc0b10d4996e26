// Prints davit.yaml from a deployment.

import { FILE_NAME } from '../../kinds/source-files.ts';
import { yamlText } from '../../kinds/text.ts';
import { API_FLAGS, type Command, DEPLOYMENT, OUTPUT, print } from '../line/command.ts';
import { PROGRAM } from '../line/program.ts';
import { needDeployment } from './build-log.ts';

export const exportCommand: Command = {
  name: 'export',
  purpose: `print the ${FILE_NAME} that describes it, with secrets by name`,
  words: [DEPLOYMENT],
  flags: [OUTPUT, ...API_FLAGS],
  about: `Prints the settings of the deployment, without defaults and without values of secrets. To deploy the folder with it:

  PROGRAM export agent > ./agent/${FILE_NAME}
  PROGRAM deploy ./agent

The file of an image names that image, and is deployed without a folder:

  PROGRAM export shop > shop.yaml
  PROGRAM deploy --file shop.yaml`,
  async run(context) {
    const [{ stringify }, api] = await Promise.all([import('yaml'), context.api()]);
    const { id } = await needDeployment(api, context.words[0] ?? '');
    const file = await api.call<object>('GET', `/v2/deployments/${id}/file`);
    print(context, file, () => [
      `# Written by ${PROGRAM} export. Absent fields stay as they are in the deployment.`,
      yamlText(file, stringify).trimEnd(),
    ]);
    return 0;
  },
};
