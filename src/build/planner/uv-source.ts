// Installs a uv project or workspace (`"source": {"kind": "uv"}`) from its uv.lock. The base image contains uv.

import { PlanFailure, shown } from './failure.ts';
import { copy, run, runCustom, workdir } from './instructions.ts';
import type { PythonSource } from './python-source.ts';
import type { StepsInput } from './steps.ts';
import { isInside, joinPath, parentFolder, requireFile, resolvePath } from './workspace.ts';

const TARGET = '/deps/workspace';
const MANIFESTS = '/tmp/davit-uv';
const REQUIREMENTS = `${MANIFESTS}/requirements.txt`;

export function uvSource({ configPath, config, workspace, options }: StepsInput): PythonSource {
  if ((config.dependencies ?? []).length > 0)
    throw new PlanFailure(
      'ConfigurationInvalid',
      'dependencies and source are both set. Remove dependencies: with source uv reads pyproject.toml and uv.lock.',
    );
  const folder = parentFolder(configPath);
  const root = resolvePath('source.root', folder, config.source?.root ?? '.');
  if (!isInside(root, folder))
    throw new PlanFailure(
      'ConfigurationInvalid',
      `source.root is ${shown(root)}, which does not contain the configuration file.`,
    );
  for (const file of ['pyproject.toml', 'uv.lock']) requireFile(workspace, 'source.root', joinPath(root, file));

  const below = folder.slice(root.length).replace(/^(?=[^/])/, '/');
  const at = (base: string): string => workdir('source.root', `${base}${below}`);
  const exported = `uv export --quiet --frozen --no-hashes --no-dev${packageOption(config.source?.package)} -o ${REQUIREMENTS}`;
  return {
    packages: [{ source: root, target: TARGET }],
    warnings: config.pip_installer === 'pip' ? ['pip_installer is not applied: source uv installs with uv.'] : [],
    body: [
      // Dependencies are installed before the code is copied, so that a change of the code does not invalidate their
      // layer.
      ...manifestsOf(workspace.entries.keys(), root).map((path) =>
        copy('source.root', [path], `${MANIFESTS}/${path.slice(root === '' ? 0 : root.length + 1)}`),
      ),
      at(MANIFESTS),
      run(`${exported} --no-emit-workspace && uv pip install -r ${REQUIREMENTS}`),
      copy('source.root', [root], TARGET, options.user),
      ...(options.installCommand === undefined
        ? []
        : [workdir('source.root', TARGET), runCustom('install_command', options.installCommand)]),
      at(TARGET),
      run(`${exported} && cd ${TARGET} && uv pip install --no-deps -r ${REQUIREMENTS} && rm -rf ${MANIFESTS}`),
    ],
  };
}

function packageOption(name: string | null | undefined): string {
  if (!name) return '';
  if (!/^[A-Za-z0-9]([A-Za-z0-9._-]{0,98}[A-Za-z0-9])?$/.test(name))
    throw new PlanFailure('ConfigurationInvalid', `source.package is ${shown(name)}, which is not a package name.`);
  return ` --package ${name}`;
}

/** The files that `uv export` reads: uv.lock and the pyproject.toml of each workspace member. */
function manifestsOf(paths: Iterable<string>, root: string): string[] {
  return [...paths]
    .filter((path) => isInside(root, path) && /(^|\/)pyproject\.toml$/.test(path))
    .concat(joinPath(root, 'uv.lock'))
    .toSorted();
}
