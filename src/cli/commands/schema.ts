// Prints the JSON Schema of davit.yaml.

import { FILE_NAME, SCHEMA_FILE_NAME } from '../../kinds/source-files.ts';
import type { Command } from '../line/command.ts';

export const schemaCommand: Command = {
  name: 'schema',
  purpose: `print the JSON Schema of ${FILE_NAME}, with which editors complete it`,
  words: [],
  noJson: 'its output is already JSON',
  flags: [],
  about: `Editors with the YAML language server read the schema that the first line of the file names:

  # yaml-language-server: $schema=${SCHEMA_FILE_NAME}

  PROGRAM schema > ./agent/${SCHEMA_FILE_NAME}

Davit's HTTP API serves the same schema at /${SCHEMA_FILE_NAME}, without a token.`,
  async run({ say }) {
    const { deploymentFileSchema } = await import('../../deploy/http/deployment-file-schema.ts');
    say(JSON.stringify(deploymentFileSchema(), null, 2));
    return 0;
  },
};
