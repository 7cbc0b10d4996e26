// `davit plan`: reads a workspace and writes the Dockerfile that builds it. It uses no cluster, network or secret. It follows no
// symbolic link, because the workspace's content is not trusted.

import {
  closeSync,
  constants,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, join, posix, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { dockerfileOf, type NotPlanned, type Planned, tooLarge } from '../build/planner/dockerfile.ts';
import { PlanFailure, shownPath } from '../build/planner/failure.ts';
import type { PlanOptions } from '../build/planner/steps.ts';
import { MAX_CONFIGURATION_BYTES } from '../build/planner/workflow-config.ts';
import type { EntryKind, Workspace } from '../build/planner/workspace.ts';
import type { AgentServer } from '../kinds/settings.ts';
import { jsonOf } from '../runtime/json-value.ts';
import { messageOf, terminate } from './termination-message.ts';

const USAGE = `Usage: davit plan --workspace FOLDER --config PATH --output FOLDER [OPTION ...]

Creates a Dockerfile from the workflow configuration file PATH, relative to the workspace. A Dockerfile is used unchanged.
Writes OUTPUT/Dockerfile, OUTPUT/Dockerfile.dockerignore if the workspace has no .dockerignore, and OUTPUT/warnings, one a
line. Prints one line of JSON: {dockerfile, context}, or {reason, message} with exit code 1.

  --name NAME               name of the source; its root becomes /deps/NAME. Default: the workspace folder's name
  --python-base IMAGE       base image for Python; {version} and {distro} are replaced
  --node-base IMAGE         base image for Node.js; {version} and {distro} are replaced
  --agent-server JSON       server to add to an image of Python graphs that has none: {"package", "command"}
  --install-command LINE    the deployment's install_command
  --build-command LINE      the deployment's build_command
  --user UID:GID            user of the image. Default: the base image's user
  --registry JSON           the platform's registry and the path of the tenant's repositories in it:
                            {"host", "own", "repository", "tokens", "insecure"}. Images of other tenants are refused
  --index NAME              build argument that names a package index of the platform; may be repeated
  --termination-log FILE    file for the message of a failure, or for the warnings. Default: /dev/termination-log, if it exists
`;

const MAX_ENTRIES = 200_000;
const MAX_TEXTS_BYTES = 16 * 1024 * 1024;
/** Files that are read in addition to the configuration file. No other content of the workspace is read. */
const READ = ['package.json', 'requirements.txt', 'Dockerfile'];
/** Large folders that a configuration file never names: listed, but not traversed. */
const NOT_ENTERED = ['.git', 'node_modules'];

class Misuse extends Error {}

const Registry = z.object({
  host: z.string(),
  own: z.string(),
  repository: z.string().optional(),
  tokens: z.boolean().optional(),
  insecure: z.boolean().optional(),
});

interface Arguments {
  readonly workspace: string;
  readonly config: string;
  readonly output: string;
  readonly name: string;
  readonly options: PlanOptions;
  readonly terminationLog?: string;
}

/** The exit code. */
export function plan(args: readonly string[]): number {
  let given: Arguments;
  try {
    if (args.includes('--help')) {
      process.stdout.write(USAGE);
      return 0;
    }
    given = readArguments(args);
  } catch (error) {
    process.stderr.write(`davit plan: ${messageOf(error)}\n\n${USAGE}`);
    return 2;
  }
  try {
    const result = planned(given);
    if ('reason' in result) return failed(given, result);
    const dockerfile = write(given.output, result);
    if (result.warnings.length > 0) terminate('plan', given.terminationLog, result.warnings.join('\n'));
    const context = resolve(given.workspace, result.context);
    process.stdout.write(`${JSON.stringify({ dockerfile, context })}\n`);
    return 0;
  } catch (error) {
    return failed(given, { reason: 'PlanFailed', message: messageOf(error) });
  }
}

function failed({ terminationLog }: Arguments, failure: { readonly reason: string; readonly message: string }): number {
  process.stdout.write(`${JSON.stringify(failure)}\n`);
  terminate('plan', terminationLog, `${failure.reason}: ${failure.message}`);
  return 1;
}

function readArguments(args: readonly string[]): Arguments {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({
    args: [...args],
    options: {
      workspace: text,
      config: text,
      output: text,
      name: text,
      'python-base': text,
      'node-base': text,
      'agent-server': text,
      'install-command': text,
      'build-command': text,
      user: text,
      registry: text,
      index: { type: 'string', multiple: true },
      'termination-log': text,
    },
  });
  const { workspace, config, output, user } = values;
  if (!workspace || !config || !output) throw new Misuse('--workspace, --config and --output are required.');
  if (!statSync(workspace).isDirectory()) throw new Misuse(`--workspace ${workspace} is not a folder.`);
  if (user && !/^[a-z0-9_][a-z0-9_-]{0,31}(:[a-z0-9_][a-z0-9_-]{0,31})?$/i.test(user))
    throw new Misuse(`--user must be UID:GID, not ${JSON.stringify(user)}.`);
  return {
    workspace,
    config,
    output,
    name: values.name || basename(resolve(workspace)),
    options: {
      baseImages: {
        ...(values['python-base'] && { python: values['python-base'] }),
        ...(values['node-base'] && { node: values['node-base'] }),
      },
      ...(values['install-command']?.trim() && { installCommand: values['install-command'] }),
      ...(values['build-command']?.trim() && { buildCommand: values['build-command'] }),
      ...(user && { user }),
      ...(values.registry && { registry: registryIn(values.registry) }),
      ...(values['agent-server'] && { agentServer: JSON.parse(values['agent-server']) as AgentServer }),
      ...(values.index && { indexes: values.index }),
    },
    ...(values['termination-log'] && { terminationLog: values['termination-log'] }),
  };
}

function registryIn(text: string): NonNullable<PlanOptions['registry']> {
  const found = Registry.safeParse(jsonOf(text));
  if (found.success) return found.data;
  throw new Misuse(`--registry must be JSON such as {"host": "r.example", "own": "team-11111111"}, not ${text}.`);
}

function planned({ workspace, config, name, options }: Arguments): Planned | NotPlanned {
  try {
    return dockerfileOf(config, readWorkspace(workspace, config, name), options);
  } catch (error) {
    if (error instanceof PlanFailure) return { reason: error.reason, message: error.message };
    throw error;
  }
}

function readWorkspace(root: string, config: string, name: string): Workspace {
  const configPath = posix.normalize(config);
  const entries = new Map<string, EntryKind>();
  const texts = new Map<string, string>();
  let bytes = 0;
  const folders = [''];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
      const kind = kindOf(entry);
      entries.set(path, kind);
      if (entries.size > MAX_ENTRIES)
        throw new PlanFailure(
          'WorkspaceTooLarge',
          `The workspace has more than ${MAX_ENTRIES} files. Remove generated files from the source.`,
        );
      if (kind === 'folder' && !NOT_ENTERED.includes(entry.name)) folders.push(path);
      const isConfig = path === configPath;
      if (kind !== 'file' || !(isConfig || path === `${configPath}.dockerignore` || READ.includes(entry.name)))
        continue;
      const text = readText(root, path, isConfig, isConfig ? Infinity : MAX_TEXTS_BYTES - bytes);
      if (text === undefined) continue;
      texts.set(path, text);
      bytes += text.length;
    }
  }
  return { name, entries, texts };
}

function kindOf(entry: { isFile(): boolean; isDirectory(): boolean; isSymbolicLink(): boolean }): EntryKind {
  if (entry.isSymbolicLink()) return 'link';
  if (entry.isDirectory()) return 'folder';
  return entry.isFile() ? 'file' : 'other';
}

/** Undefined if a file is too large. Throws PlanFailure if the configuration file is. */
function readText(root: string, path: string, isConfig: boolean, left: number): string | undefined {
  const file = openSync(join(root, path), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const { size } = fstatSync(file);
    if (size > MAX_CONFIGURATION_BYTES && isConfig) throw tooLarge(path, size);
    if (size > MAX_CONFIGURATION_BYTES || size > left) return undefined;
    return new TextDecoder('utf-8', { fatal: isConfig, ignoreBOM: true }).decode(readFileSync(file));
  } catch (error) {
    if (error instanceof TypeError)
      throw new PlanFailure('ConfigurationNotJson', `${shownPath(path)} is not UTF-8 text.`);
    throw error;
  } finally {
    closeSync(file);
  }
}

function write(output: string, { dockerfile, dockerignore, warnings }: Planned): string {
  mkdirSync(output, { recursive: true });
  const path = resolve(output, 'Dockerfile');
  writeFileSync(path, dockerfile);
  if (dockerignore !== undefined) writeFileSync(`${path}.dockerignore`, dockerignore);
  writeFileSync(join(output, 'warnings'), warnings.map((line) => `${line}\n`).join(''));
  return path;
}
