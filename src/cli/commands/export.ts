// Prints davit.yaml from a deployment.

import { FILE_NAME } from '../../kinds/source-files.ts';
import { printable } from '../../kinds/text.ts';
import { API_FLAGS, type Command, DEPLOYMENT, OUTPUT, print } from '../line/command.ts';
import { PROGRAM } from '../line/program.ts';
import { needDeployment } from './build-log.ts';

export const exportCommand: Command = {
  name: 'export',
  purpose: `print the ${FILE_NAME} that describes it, with secrets by name`,
  words: [DEPLOYMENT],
  flags: [OUTPUT, ...API_FLAGS],
  about: `Prints what the deployment asks for, without defaults and without values of secrets. To deploy the folder with it:

  PROGRAM export agent > ./agent/${FILE_NAME}
  PROGRAM deploy ./agent

That of an image names it, and is deployed without a folder:

  PROGRAM export shop > shop.yaml
  PROGRAM deploy --file shop.yaml`,
  async run(context) {
    const [{ stringify }, api] = await Promise.all([import('yaml'), context.api()]);
    const { id } = await needDeployment(api, context.words[0] ?? '');
    const file = await api.call<object>('GET', `/v2/deployments/${id}/file`);
    print(context, file, () => [
      `# Written by ${PROGRAM} export. What is left out stays as the deployment has it.`,
      shownYaml((more) => stringify(file, { lineWidth: 0, aliasDuplicateObjects: false, ...more }).trimEnd()),
    ]);
    return 0;
  },
};

/** YAML in which a character that is not printed as it is stands as its escape, so that no value changes on its way through a file. */
function shownYaml(
  write: (more?: { readonly defaultStringType: 'QUOTE_DOUBLE'; readonly defaultKeyType: 'PLAIN' }) => string,
): string {
  const text = write();
  if (printable(text) === text) return text;
  // Only these have escapes. Source: YAML 1.2, section 5.7.
  const quoted = write({ defaultStringType: 'QUOTE_DOUBLE', defaultKeyType: 'PLAIN' });
  const escaped = (one: string): string => `\\U${(one.codePointAt(0) ?? 0).toString(16).padStart(8, '0')}`;
  return Array.from(quoted, (one) => (printable(one) === one ? one : escaped(one))).join('');
}
