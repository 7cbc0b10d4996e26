// Dockerfile steps for a folder without a configuration file: its packages, and the program that starts.

import { isOfNode, NO_START, startCommand } from '../../kinds/plain-folders.ts';
import { baseImageFor } from './base-image.ts';
import { PlanFailure, shownPath } from './failure.ts';
import { copy, run, runCustom, starting, workdir } from './instructions.ts';
import { installCommandOf } from './javascript.ts';
import type { Steps, StepsInput } from './steps.ts';
import { isFile, joinPath, parentFolder } from './workspace.ts';

const HOME = '/app';

/** `configPath` is that of its manifest. */
export function plainSteps({ configPath, workspace, options }: Omit<StepsInput, 'config'>): Steps {
  const folder = parentFolder(configPath);
  const has = (name: string): boolean => isFile(workspace, 'workflow_config_path', joinPath(folder, name));
  const command = startCommand(configPath, has, workspace.texts.get(joinPath(folder, 'package.json')));
  if (command === undefined)
    throw new PlanFailure(
      'ConfigurationInvalid',
      `No program to start was found next to ${shownPath(configPath)}. ${NO_START}.`,
    );
  const { image, warnings } = baseImageFor(isOfNode(configPath) ? 'node' : 'python', {}, options.baseImages);
  const what = configPath.endsWith('.txt') ? '-r requirements.txt' : '.';
  const install = isOfNode(configPath) ? installCommandOf(workspace, folder) : `python3 -m pip install ${what}`;
  const { installCommand, buildCommand } = options;
  return {
    image,
    config: {},
    warnings,
    body: [
      copy('workflow_config_path', [folder], HOME, options.user),
      workdir('workflow_config_path', HOME),
      ...(installCommand === undefined ? [run(install ?? 'true')] : [runCustom('install_command', installCommand)]),
      ...(buildCommand === undefined ? [] : [runCustom('build_command', buildCommand)]),
    ],
    last: starting(command),
  };
}
