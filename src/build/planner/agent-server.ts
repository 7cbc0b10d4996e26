// The server that the platform adds to an image of graphs which would have none.

import type { AgentServer } from '../../kinds/settings.ts';
import { instructionsOf } from '../../kinds/source-files.ts';
import { run, shellWord, starting } from './instructions.ts';
import type { StepsInput } from './steps.ts';

interface Added {
  /** Instructions before the packages of the source. */
  readonly body: readonly string[];
  readonly last: readonly string[];
  readonly warnings: readonly string[];
}

/** Variables that such servers and their SDK read, by the platform's of the same value. */
const VARIABLES = {
  LANGCHAIN_REVISION_ID: 'DAVIT_REVISION_ID',
  LANGSMITH_HOST_REVISION_ID: 'DAVIT_REVISION_ID',
  LANGSMITH_HOST_PROJECT_ID: 'DAVIT_DEPLOYMENT_ID',
};

const NOTHING: Added = { body: [], last: [], warnings: [] };

/** A base image or start command of the configuration file has a server of its own. */
export function agentServerFor({ config, workspace, options: { agentServer } }: StepsInput): Added {
  const isStarted = instructionsOf((config.dockerfile_lines ?? []).join('\n')).some(({ name }) =>
    ['CMD', 'ENTRYPOINT'].includes(name),
  );
  if (agentServer === undefined || config.base_image || isStarted) return NOTHING;
  const listed = [...workspace.texts].flatMap(([path, text]) =>
    path.endsWith('requirements.txt') ? text.split('\n') : [],
  );
  const isThere = [...(config.dependencies ?? []), ...listed].some(
    (one) => packageOf(one) === packageOf(agentServer.package),
  );
  const which = isThere ? `${packageOf(agentServer.package)}, in the version named by the source` : agentServer.package;
  return {
    body: isThere ? [] : [run(`python3 -m pip install ${shellWord('agentServer', agentServer.package)}`)],
    last: starting(['/bin/sh', '-c', lineOf(agentServer)]),
    warnings: [`The image's agent server is ${which} (setting builds.agentServer).`],
  };
}

function lineOf({ command }: AgentServer): string {
  const variables = Object.entries(VARIABLES).map(([name, own]) => `${name}="$${own}"`);
  return `export ${variables.join(' ')}; exec ${command}`;
}

/** The name of a requirement, as indexes compare it. */
function packageOf(requirement: string): string {
  return (/^\s*([\w.-]+)/.exec(requirement)?.[1] ?? '').toLowerCase().replaceAll(/[-_.]+/g, '-');
}
