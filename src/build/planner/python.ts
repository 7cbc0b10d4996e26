// Dockerfile steps for Python: installs packages, copies folders of the workspace and sets the import path.

import { baseImageFor } from './base-image.ts';
import { PlanFailure, shown, shownPath } from './failure.ts';
import { hasJavaScriptGraph, isJavaScript, rewritePaths } from './import-paths.ts';
import { copy, imageName, refuseControls, run, runCustom, shellWord, workdir } from './instructions.ts';
import { installCommandOf } from './javascript.ts';
import type { LocalPackage, PythonSource } from './python-source.ts';
import type { Steps, StepsInput } from './steps.ts';
import { uvSource } from './uv-source.ts';
import type { WorkflowConfig } from './workflow-config.ts';
import { isFile, isInside, joinPath, parentFolder, requireFile, resolvePath, type Workspace } from './workspace.ts';

const TOOLS = ['setuptools', 'wheel', 'pip'] as const;
const PIP_CONFIG = '/pipconfig.txt';

/**
 * Packages that the runtime in a base image commonly imports. A folder of such a name on PYTHONPATH would shadow them.
 */
const SHADOWING = [
  'fastapi',
  'httpx',
  'langchain_core',
  'langgraph',
  'langgraph_api',
  'langsmith',
  'orjson',
  'psycopg',
  'pydantic',
  'uvicorn',
];

export function pythonSteps(input: StepsInput): Steps {
  const { configPath, config, workspace, options } = input;
  const { image, warnings } = baseImageFor('python', config, options.baseImages);
  const folder = parentFolder(configPath);
  const source = config.source ? uvSource(input) : dependencies(input);
  const { packages } = source;
  const home = packageAt(packages, folder);
  const homeFolder = home && inImage(home, folder);
  const told = [...warnings, ...source.warnings];
  const rewritten = rewritePaths(config, workspace, folder, (what, path, { attribute }) => {
    const holder = packageAt(packages, path);
    if (holder === undefined)
      throw new PlanFailure(
        'ConfigurationInvalid',
        `${what} names ${shown(path)}, which no entry of dependencies contains. Add its folder to dependencies.`,
      );
    if (isJavaScript(path) && !workspace.entries.has(path))
      told.push(`${what} names ${shownPath(path)}, which only the build can create.`);
    else requireFile(workspace, what, path);
    return `${inImage(holder, path)}:${attribute}`;
  });
  const javascript = javascriptOf(input, homeFolder);
  return {
    image,
    config: rewritten,
    warnings: [...told, ...javascript.warnings],
    body: [
      ...pipConfig(input),
      ...source.body,
      ...javascript.body,
      ...(options.buildCommand === undefined
        ? []
        : [workdir('workflow_config_path', homeFolder ?? '/deps'), runCustom('build_command', options.buildCommand)]),
      ...removal(config),
    ],
    last: homeFolder === undefined ? [] : [workdir('workflow_config_path', homeFolder)],
  };
}

/** The innermost package whose folder contains `path`. */
function packageAt(packages: readonly LocalPackage[], path: string): LocalPackage | undefined {
  return packages
    .filter(({ source }) => isInside(source, path))
    .toSorted((one, other) => other.source.length - one.source.length)[0];
}

function inImage({ source, target }: LocalPackage, path: string): string {
  if (path === source) return target;
  return `${target}/${path.slice(source === '' ? 0 : source.length + 1)}`;
}

function pipConfig({ configPath, config, workspace }: StepsInput): string[] {
  if (!config.pip_config_file) return [];
  const path = resolvePath('pip_config_file', parentFolder(configPath), config.pip_config_file);
  requireFile(workspace, 'pip_config_file', path);
  return [copy('pip_config_file', [path], PIP_CONFIG), `ARG PIP_CONFIG_FILE=${PIP_CONFIG}`];
}

/** Handles the key `dependencies`, which lists packages for the installer and folders of the workspace. */
function dependencies({ configPath, config, workspace, options }: StepsInput): PythonSource {
  const listed = (config.dependencies ?? []).map((dependency) => dependency.trim());
  if (listed.length === 0)
    throw new PlanFailure(
      'ConfigurationInvalid',
      `${shownPath(configPath)} lists no dependencies. Add "dependencies": ["."] to install the folder of the file.`,
    );
  const install = config.pip_installer === 'uv' ? 'uv pip install' : 'python3 -m pip install';
  const remote = listed.flatMap((dependency, at) =>
    dependency.startsWith('.')
      ? []
      : [shellWord(`dependencies[${at}]`, checkRemote(`dependencies[${at}]`, dependency))],
  );
  const packages = localPackages(listed, parentFolder(configPath), workspace);
  const early = packages.filter(
    (one) => one.requirements !== undefined && isSelfContained(workspace, one.requirements),
  );
  const late = packages.filter((one) => one.requirements !== undefined && !early.includes(one));
  const installed = packages.filter(({ importRoot }) => importRoot === undefined);
  const roots = [...new Set(packages.flatMap(({ importRoot }) => importRoot ?? []))];
  const home = packages.find(({ source }) => source === parentFolder(configPath));
  return {
    packages,
    warnings: packages.flatMap((one) => shadowing(workspace, one)),
    body: [
      ...(remote.length > 0 ? [run(`${install} ${remote.join(' ')}`)] : []),
      // Requirements are installed before the code is copied, so that a change of the code does not invalidate their
      // layer.
      ...early.map(({ requirements = '', target }) =>
        copy('dependencies', [requirements], `${target}/requirements.txt`),
      ),
      ...(early.length > 0
        ? [run(`${install} ${early.map(({ target }) => `-r ${target}/requirements.txt`).join(' ')}`)]
        : []),
      ...packages.map(({ source, target }) => copy('dependencies', [source], target, options.user)),
      // The base image's PYTHONPATH follows. The expansion avoids an empty entry, which would mean the current folder.
      ...(roots.length > 0 ? [`ENV PYTHONPATH="${roots.join(':')}\${PYTHONPATH:+:$PYTHONPATH}"`] : []),
      ...(options.installCommand === undefined
        ? []
        : [workdir('dependencies', home?.target ?? '/deps'), runCustom('install_command', options.installCommand)]),
      ...late.flatMap(({ target }) => [workdir('dependencies', target), run(`${install} -r requirements.txt`)]),
      ...(installed.length > 0 ? [run(`${install} ${installed.map(({ target }) => `-e ${target}`).join(' ')}`)] : []),
    ],
  };
}

/**
 * Returns a dependency that the installer gets unchanged. Throws PlanFailure for an option, a path or a URL with
 * credentials.
 */
function checkRemote(what: string, dependency: string): string {
  refuseControls(what, dependency);
  if (dependency === '' || dependency.startsWith('-'))
    throw new PlanFailure(
      'ConfigurationInvalid',
      `${what} is ${shown(dependency)}. It must be a package or a folder that begins with "."; put options of pip into a pip_config_file.`,
    );
  if (dependency.startsWith('/') || dependency.startsWith('~') || /(^|@)\s*(git\+)?file:/i.test(dependency))
    throw new PlanFailure(
      'PathOutsideWorkspace',
      `${what} is ${shown(dependency)}. A folder must be relative to the configuration file and begin with ".".`,
    );
  if (/https?:\/\/[^/?#\s]*@/i.test(dependency))
    throw new PlanFailure(
      'CredentialsInDependency',
      `${what} has a user name or a password in its URL, which would stay readable in the image. Use a package index or a public URL.`,
    );
  return dependency;
}

function localPackages(listed: readonly string[], folder: string, workspace: Workspace): LocalPackage[] {
  const packages: LocalPackage[] = [];
  for (const [at, dependency] of listed.entries()) {
    if (!dependency.startsWith('.')) continue;
    const what = `dependencies[${at}]`;
    const source = resolvePath(what, folder, dependency);
    if (packages.some((one) => one.source === source)) continue;
    requireFile(workspace, what, source, 'folder');
    packages.push(localPackage(what, source, workspace, packages));
  }
  return packages;
}

function localPackage(
  what: string,
  source: string,
  workspace: Workspace,
  others: readonly LocalPackage[],
): LocalPackage {
  const has = (file: string): boolean => isFile(workspace, what, joinPath(source, file));
  const name = source.split('/').at(-1) || workspace.name;
  if (has('pyproject.toml') || has('setup.py')) return { source, target: free(`/deps/${imageName(name)}`, others) };

  const outer = free(`/deps/outer-${imageName(name)}`, others);
  const isPackage = has('__init__.py');
  if (isPackage && !/^[A-Za-z_]\w*$/.test(name))
    throw new PlanFailure(
      'ConfigurationInvalid',
      `${what} names ${shown(name)}, a folder with __init__.py whose name cannot be imported. Rename it with letters, digits and underscores, or add a pyproject.toml.`,
    );
  return {
    source,
    target: `${outer}/${isPackage ? name : 'src'}`,
    importRoot: isPackage ? outer : `${outer}/src`,
    ...(has('requirements.txt') && { requirements: joinPath(source, 'requirements.txt') }),
  };
}

/** Returns `wanted`, with a numeric suffix if another package already has that path. */
function free(wanted: string, others: readonly LocalPackage[]): string {
  const taken = (path: string): boolean =>
    others.some(({ target, importRoot }) => [target, importRoot, parentFolder(target)].includes(path));
  for (let number = 0; ; number += 1) {
    const path = number === 0 ? wanted : `${wanted}_${number}`;
    if (!taken(path)) return path;
  }
}

/** Whether a requirements.txt can be installed on its own, because it references no other file or folder. */
function isSelfContained({ texts }: Workspace, path: string): boolean {
  const text = texts.get(path) ?? '.';
  return (
    !/^[ \t]*(?:-[rcef]|--(?:requirement|constraint|editable|find-links)|\.|file:)/m.test(text) &&
    !/@\s*(?:file:|\.)/.test(text)
  );
}

function shadowing({ entries }: Workspace, { source, target, importRoot }: LocalPackage): string[] {
  if (importRoot === undefined) return [];
  const names = SHADOWING.filter((name) =>
    target === importRoot ? entries.get(joinPath(source, name)) === 'folder' : target === `${importRoot}/${name}`,
  );
  return names.map(
    (name) =>
      `The folder ${name} of ${shownPath(source || '.')} hides the installed Python package of that name. Rename it.`,
  );
}

/** Installs npm packages if a Python project also has graphs or user interfaces in JavaScript. */
function javascriptOf(
  { configPath, config, workspace }: StepsInput,
  home: string | undefined,
): Pick<Steps, 'body' | 'warnings'> {
  if (!config.node_version && !config.ui && !hasJavaScriptGraph(config)) return { body: [], warnings: [] };
  const install = installCommandOf(workspace, parentFolder(configPath));
  if (install === undefined) return { body: [], warnings: [] };
  if (home === undefined)
    return {
      body: [],
      warnings: [
        'package.json was not installed: no entry of dependencies contains the folder of the configuration file.',
      ],
    };
  return { body: [workdir('workflow_config_path', home), run(install)], warnings: [] };
}

/** Uninstalls the package tools. The failure to uninstall a distribution's own pip is ignored. */
function removal({ keep_pkg_tools: kept }: Readonly<WorkflowConfig>): string[] {
  const removed = TOOLS.filter((tool) => kept !== true && !(Array.isArray(kept) && kept.includes(tool)));
  return removed.length === 0 ? [] : [run(`python3 -m pip uninstall -y ${removed.join(' ')} || true`)];
}
