// Generates a Dockerfile from a workflow configuration file.

import { isManifest, isOfNode } from '../../kinds/plain-folders.ts';
import { BUILT_FROM, DEFAULT_CONFIGURATION, isDockerfile } from '../../kinds/source-files.ts';
import { agentServerFor } from './agent-server.ts';
import { PlanFailure, type PlanReason, shown, shownPath } from './failure.ts';
import { hasPythonGraph } from './import-paths.ts';
import { env, jsonEnv } from './instructions.ts';
import { javascriptSteps } from './javascript.ts';
import { judged } from './judge.ts';
import { plainSteps } from './plain-folder.ts';
import { pythonSteps } from './python.ts';
import type { PlanOptions, Steps } from './steps.ts';
import { MAX_CONFIGURATION_BYTES, readWorkflowConfig, type WorkflowConfig } from './workflow-config.ts';
import { entryAt, isFile, joinPath, parentFolder, requireFile, resolvePath, type Workspace } from './workspace.ts';

export interface Planned {
  readonly dockerfile: string;
  /** Content of the .dockerignore file. Absent if the workspace's own applies. */
  readonly dockerignore?: string;
  /** Folder of the workspace that is the build context. */
  readonly context: '.';
  readonly warnings: readonly string[];
}

export interface NotPlanned {
  readonly reason: PlanReason;
  readonly message: string;
}

/** Package indexes, which the builder passes as build arguments. They are unset by default. */
const INDEX_ARGUMENTS = [
  'PIP_INDEX_URL',
  'PIP_TRUSTED_HOST',
  'UV_DEFAULT_INDEX',
  'UV_INSECURE_HOST',
  'NPM_CONFIG_REGISTRY',
];

/**
 * Build arguments, which apply to RUN and not to the image. PIP_BREAK_SYSTEM_PACKAGES lets pip install beside a
 * distribution's packages (PEP 668), which is safe in an image.
 */
const PYTHON_ARGUMENTS = [
  'PIP_BREAK_SYSTEM_PACKAGES=1',
  'PIP_DISABLE_PIP_VERSION_CHECK=1',
  'PIP_NO_CACHE_DIR=1',
  'PIP_ROOT_USER_ACTION=ignore',
  'UV_BREAK_SYSTEM_PACKAGES=1',
  'UV_NO_CACHE=1',
  'UV_SYSTEM_PYTHON=1',
];

/** Files that the image does not need or that its installation creates. */
const DOCKERIGNORE = ['.git', '**/node_modules', '**/__pycache__', '**/.venv', ''].join('\n');

/**
 * Environment variables by which the image's runtime reads keys of the configuration file. The runtime defines their
 * names.
 */
const RUNTIME_VARIABLES = {
  store: 'LANGGRAPH_STORE',
  auth: 'LANGGRAPH_AUTH',
  encryption: 'LANGGRAPH_ENCRYPTION',
  priority: 'LANGGRAPH_PRIORITY',
  http: 'LANGGRAPH_HTTP',
  webhooks: 'LANGGRAPH_WEBHOOKS',
  checkpointer: 'LANGGRAPH_CHECKPOINTER',
  ui: 'LANGGRAPH_UI',
  ui_config: 'LANGGRAPH_UI_CONFIG',
  graphs: 'LANGSERVE_GRAPHS',
} as const satisfies Partial<Record<keyof WorkflowConfig, string>>;

/**
 * Returns the Dockerfile, or why there is none. `configPath` is relative to the workspace's root and names a Dockerfile
 * or a JSON configuration file.
 */
export function dockerfileOf(configPath: string, workspace: Workspace, options: PlanOptions): Planned | NotPlanned {
  try {
    const wanted = resolvePath('workflow_config_path', '', configPath);
    const path = builtFrom(wanted, workspace);
    const planned = isManifest(path) ? plain(path, workspace, options) : configured(path, workspace, options);
    const instead = path === wanted ? [] : [`${shownPath(wanted)} does not exist: ${shownPath(path)} was built.`];
    return { ...planned, warnings: [...instead, ...planned.warnings, ...judged(planned.dockerfile, options)] };
  } catch (error) {
    if (error instanceof PlanFailure) return { reason: error.reason, message: error.message };
    throw error;
  }
}

/** The named file, or a list of packages in place of a default file that does not exist. */
function builtFrom(path: string, workspace: Workspace): string {
  const folder = parentFolder(path);
  if (workspace.entries.has(path) || path !== joinPath(folder, DEFAULT_CONFIGURATION)) return path;
  const others = BUILT_FROM.map((name) => joinPath(folder, name));
  return others.find((other) => isFile(workspace, 'workflow_config_path', other)) ?? path;
}

function plain(path: string, workspace: Workspace, options: PlanOptions): Planned {
  requireFile(workspace, 'workflow_config_path', path);
  const steps = plainSteps({ configPath: path, workspace, options });
  return finished(steps, !isOfNode(path), workspace, options);
}

function configured(path: string, workspace: Workspace, options: PlanOptions): Planned {
  const content = contentOf(path, workspace);
  return isDockerfile(path) ? asItIs(path, content, workspace, options) : generated(path, content, workspace, options);
}

export function tooLarge(path: string, bytes: number): PlanFailure {
  return new PlanFailure(
    'ConfigurationTooLarge',
    `${shownPath(path)} has ${bytes} bytes, but at most ${MAX_CONFIGURATION_BYTES} are allowed. Shorten it.`,
  );
}

function contentOf(path: string, workspace: Workspace): string {
  if (entryAt(workspace, 'workflow_config_path', path) === undefined)
    throw new PlanFailure(
      'ConfigurationMissing',
      `workflow_config_path is ${shown(path)}, which is not in the workspace. Correct the path, or add the file.`,
    );
  requireFile(workspace, 'workflow_config_path', path);
  const content = workspace.texts.get(path) ?? '';
  const bytes = new TextEncoder().encode(content).length;
  if (bytes > MAX_CONFIGURATION_BYTES) throw tooLarge(path, bytes);
  return content;
}

function asItIs(path: string, dockerfile: string, workspace: Workspace, options: PlanOptions): Planned {
  if (dockerfile.trim() === '') throw new PlanFailure('ConfigurationInvalid', `${shownPath(path)} is empty.`);
  const ignore = workspace.texts.get(`${path}.dockerignore`);
  const unused = [
    ...(options.installCommand === undefined ? [] : ['install_command']),
    ...(options.buildCommand === undefined ? [] : ['build_command']),
  ];
  return {
    dockerfile,
    context: '.',
    warnings: unused.map(
      (name) => `${name} is not applied: ${shownPath(path)} is a Dockerfile, which sets its own command.`,
    ),
    ...(ignore !== undefined && { dockerignore: ignore }),
  };
}

function generated(path: string, content: string, workspace: Workspace, options: PlanOptions): Planned {
  const { config, warnings } = readWorkflowConfig(path, content);
  if (Object.keys(config.graphs).length === 0)
    throw new PlanFailure(
      'ConfigurationInvalid',
      `${shownPath(path)} has no graphs. Add one, such as "graphs": {"agent": "./agent.py:graph"}.`,
    );
  const isPython = Boolean(config.python_version) || Boolean(config.source) || hasPythonGraph(config);
  const input = { configPath: path, config, workspace, options };
  if (!isPython)
    return finished(javascriptSteps(input), false, workspace, options, [...warnings, ...envWarnings(config)]);
  const steps = pythonSteps(input);
  const added = agentServerFor(input);
  const whole = { ...steps, body: [...added.body, ...steps.body], last: [...steps.last, ...added.last] };
  return finished(whole, true, workspace, options, [...warnings, ...envWarnings(config), ...added.warnings]);
}

function finished(
  steps: Steps,
  isPython: boolean,
  { entries }: Workspace,
  options: PlanOptions,
  warnings: readonly string[] = [],
): Planned {
  return {
    dockerfile: dockerfileText(steps, isPython, options),
    context: '.',
    warnings: [...steps.warnings, ...warnings],
    ...(!entries.has('.dockerignore') && { dockerignore: DOCKERIGNORE }),
  };
}

function dockerfileText(steps: Steps, isPython: boolean, { user }: PlanOptions): string {
  const { image, body, config, last } = steps;
  return [
    '# Generated by davit plan from the workflow configuration file.',
    `FROM ${image}`,
    ...(user === undefined ? [] : ['USER root']),
    `ARG ${INDEX_ARGUMENTS.join(' ')}`,
    ...(isPython ? [`ARG ${PYTHON_ARGUMENTS.join(' ')}`] : []),
    ...ownLines(config),
    ...body,
    ...environment(config),
    ...last,
    ...(user === undefined ? [] : [`USER ${user}`]),
    '',
  ].join('\n');
}

/** `dockerfile_lines`, the only key whose text is copied to the Dockerfile as instructions. */
function ownLines({ dockerfile_lines: lines }: Steps['config']): readonly string[] {
  const given = lines ?? [];
  const end = given.at(-1)?.trimEnd() ?? '';
  if (end.endsWith('\\'))
    throw new PlanFailure(
      'ConfigurationInvalid',
      `dockerfile_lines ends with a continued line: ${shown(end)}. Finish the instruction.`,
    );
  return given;
}

function environment(config: Steps['config']): string[] {
  const own = typeof config.env === 'object' && config.env !== null ? config.env : {};
  return [
    ...Object.entries(own)
      .filter(([name]) => !isRuntimeVariable(name))
      .map(([name, value]) => env(`env.${name}`, name, value)),
    ...Object.entries(RUNTIME_VARIABLES).flatMap(([key, name]) => {
      const value = config[key as keyof typeof RUNTIME_VARIABLES];
      return value === undefined || value === null ? [] : [jsonEnv(key, name, value)];
    }),
  ];
}

function isRuntimeVariable(name: string): boolean {
  return Object.values<string>(RUNTIME_VARIABLES).includes(name);
}

function envWarnings({ env: given }: Readonly<WorkflowConfig>): string[] {
  if (typeof given === 'string')
    return [
      `env names the file ${shown(given)}, which a build does not read. Its variables must be secrets of the deployment, as deploy --secrets-file sets them.`,
    ];
  return Object.keys(given ?? {}).flatMap((name) => {
    if (isRuntimeVariable(name)) return [`env.${name} was ignored: other keys of the configuration file set it.`];
    if (/(KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS?)$/i.test(name))
      return [
        `env.${name} looks like a credential, which everybody who can pull the image could read. Make it a secret of the deployment.`,
      ];
    return [];
  });
}
