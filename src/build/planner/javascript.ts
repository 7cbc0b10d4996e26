// Dockerfile steps for JavaScript and TypeScript: selects the package manager and the folder that it installs.

import { baseImageFor } from './base-image.ts';
import { PlanFailure, shownPath } from './failure.ts';
import { rewritePaths } from './import-paths.ts';
import { copy, imageName, run, runCustom, workdir } from './instructions.ts';
import type { Steps, StepsInput } from './steps.ts';
import { isFile, joinPath, parentFolder, type Workspace } from './workspace.ts';

/** Install commands by lock file. The first lock file that exists decides. */
const INSTALLS: readonly (readonly [lock: string, command: string])[] = [
  ['yarn.lock', 'yarn install --frozen-lockfile'],
  ['pnpm-lock.yaml', 'pnpm i --frozen-lockfile'],
  ['package-lock.json', 'npm ci'],
  ['npm-shrinkwrap.json', 'npm ci'],
  ['bun.lockb', 'bun i'],
  ['bun.lock', 'bun i'],
];

/** Install commands by the packageManager of package.json, if there is no lock file. */
const MANAGERS: ReadonlyMap<string, string> = new Map([
  ['pnpm', 'pnpm i'],
  ['yarn', 'yarn install'],
  ['bun', 'bun i'],
]);

/** Returns the command that installs the packages of `folder`, or undefined if it has no package.json. */
export function installCommandOf(workspace: Workspace, folder: string): string | undefined {
  const manifest = joinPath(folder, 'package.json');
  if (!isFile(workspace, 'package.json', manifest)) return undefined;
  const manager = managerOf(manifest, workspace.texts.get(manifest));
  const locked = INSTALLS.find(([lock]) => isFile(workspace, lock, joinPath(folder, lock)));
  return locked?.[1] ?? MANAGERS.get(manager) ?? 'npm i';
}

function managerOf(path: string, text: string | undefined): string {
  if (text === undefined) return '';
  try {
    const manager = (JSON.parse(text) as { packageManager?: unknown } | null)?.packageManager;
    return typeof manager === 'string' ? (manager.split('@')[0] ?? '') : '';
  } catch {
    throw new PlanFailure('ConfigurationInvalid', `${shownPath(path)} is not valid JSON.`);
  }
}

/**
 * If the deployment has an install or build command, copies the whole workspace and installs from its root, as a
 * monorepo requires. Otherwise copies and installs only the folder of the configuration file.
 */
export function javascriptSteps({ configPath, config, workspace, options }: StepsInput): Steps {
  const { image, warnings } = baseImageFor('node', config, options.baseImages);
  const { installCommand, buildCommand } = options;
  const folder = parentFolder(configPath);
  const source = installCommand === undefined && buildCommand === undefined ? folder : '';
  const root = `/deps/${imageName(source.split('/').at(-1) || workspace.name)}`;
  const home = source === folder ? root : `${root}/${folder}`;
  const found = installCommandOf(workspace, source);
  const notYetThere: string[] = [];
  const rewritten = rewritePaths(config, workspace, folder, (what, path, { module, attribute }) => {
    // The file may be missing, since the build command may create it.
    if (!workspace.entries.has(path))
      notYetThere.push(`${what} names ${shownPath(path)}, which only the build can create.`);
    return `${module}:${attribute}`;
  });
  return {
    image,
    config: rewritten,
    warnings: [...warnings, ...notYetThere],
    body: [
      copy('workflow_config_path', [source], root, options.user),
      workdir('workflow_config_path', root),
      ...(installCommand !== undefined ? [runCustom('install_command', installCommand)] : []),
      ...(installCommand === undefined && found !== undefined ? [run(found)] : []),
      ...(home === root ? [] : [workdir('workflow_config_path', home)]),
      ...(buildCommand !== undefined ? [runCustom('build_command', buildCommand)] : []),
    ],
    last: [],
  };
}
