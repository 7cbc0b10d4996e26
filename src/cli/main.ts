#!/usr/bin/env node
// kubectl davit: one view of objects that kubectl shows separately. Built into one file; it uses only kubectl.

import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { names } from '../deployments/record/names.ts';
import { podsIdOf } from '../deployments/record/shared-pods.ts';
import {
  COMPONENT_LABEL,
  COMPONENTS,
  type ImageComponent,
  MIGRATION,
  REVISION_LABEL,
  SERVICE_PORT,
} from '../schema/meta.ts';
import { printable } from '../schema/text.ts';
import { printBuildLog } from './build-log.ts';
import { type Connected, connect } from './connection.ts';
import { addressOf, type DeployProgress, deploy } from './deploy.ts';
import { makeHttpApi } from './http-api.ts';
import { Failure, forward, type Kubectl, makeKubectl, NOBODY_READS, onTerminal } from './kubectl.ts';
import { join, revoke } from './listener.ts';
import { printPodLogs } from './logs.ts';
import { listSource } from './pack.ts';
import { platformLines } from './platform.ts';
import { RECORDS, readParts, readRecord, readRevisions } from './records.ts';
import { chosen, rollBack } from './rollback.ts';
import { scaleTo } from './scale.ts';
import { forTerminal } from './terminal.ts';
import { treeOf } from './tree.ts';
import { needReadyPod, waitUntilReady } from './wait.ts';

const KNOWN_COMPONENTS: readonly string[] = [...COMPONENTS, MIGRATION];

const USAGE = `kubectl davit: shows and manages deployments

  kubectl davit status [NAME]       show one deployment as a tree of its parts, or list all deployments
  kubectl davit deploy FOLDER       upload a folder, build it and wait until it is ready [--name NAME]
                                    [--config langgraph.json] [--install-command TEXT] [--build-command TEXT]
                                    [--timeout SECONDS]
  kubectl davit logs NAME           print the logs of its pods [--component ${KNOWN_COMPONENTS.join('|')}]
                                    [--revision NAME] [--follow] [--previous] [--tail LINES]
  kubectl davit logs NAME --build   print the log of its latest build [--revision NAME] [--follow] [--tail LINES]
  kubectl davit open NAME           forward a local port to it until Ctrl-C [--port PORT]
  kubectl davit rollback NAME       roll back to the previous deployed revision [--to REVISION]
  kubectl davit platform            show what the platform offers: base images, hosts, limits, integrations, default sizes
  kubectl davit scale NAME          set the number of pods of its main service: --replicas N [--max M]
  kubectl davit wait NAME           wait until it is ready, or Stalled [--timeout SECONDS]
  kubectl davit listener join NAME  print the Secret with which a cluster connects as this Listener, valid for one hour
                                    [--hub URL]
  kubectl davit listener revoke NAME
                                    end the credentials of its cluster

  --namespace, --context, --kubeconfig, --cluster, --user, --as and --request-timeout are passed to kubectl.

deploy, platform and logs --build call Davit's HTTP API:
  --server URL         its address (DAVIT_SERVER). If absent, a port is forwarded to the Service davit-api
  --davit-namespace    namespace of that Service; davit-system by default
  --token TOKEN        a Kubernetes token (DAVIT_TOKEN). If absent, the token of the kubeconfig

deploy uploads what .gitignore and .dockerignore leave, and never .git, .env, node_modules or .venv unless a line such
as !.env in .dockerignore names them. --config names a configuration file or a Dockerfile in FOLDER.`;

/** Passed to kubectl unchanged. */
const CLUSTER_FLAGS = ['namespace', 'context', 'kubeconfig', 'cluster', 'user', 'as', 'request-timeout'] as const;
/** Repeated in commands that are suggested. */
const REPEATED_FLAGS = ['namespace', 'context', 'kubeconfig', 'server', 'davit-namespace'] as const;

/** Wrong use: exit code 2. */
class Misuse extends Error {}

interface Flags {
  readonly [name: string]: string | boolean | undefined;
}

function text(flags: Flags, name: string): string | undefined {
  const value = flags[name];
  return typeof value === 'string' ? value : undefined;
}

function number(flags: Flags, name: string, otherwise: number): number {
  const given = text(flags, name);
  if (given === undefined) return otherwise;
  if (!/^\d{1,9}$/.test(given)) throw new Misuse(`--${name} must be a whole number, not "${given}".`);
  return Number(given);
}

// What containers and servers say must not control the terminal of the person who looks.
function say(line: string): void {
  process.stdout.write(`${printable(line)}\n`);
}

function warn(line: string): void {
  process.stderr.write(`${printable(line)}\n`);
}

async function status(kubectl: Kubectl, name: string | undefined, cluster: readonly string[]): Promise<number> {
  if (name === undefined) return onTerminal(cluster, ['get', RECORDS, '-o', 'wide']);
  for (const line of treeOf(await readParts(kubectl, name))) say(line);
  return 0;
}

async function podLogs(kubectl: Kubectl, name: string, flags: Flags, cluster: readonly string[]): Promise<number> {
  const component = text(flags, 'component') ?? 'server';
  if (!KNOWN_COMPONENTS.includes(component))
    throw new Misuse(`--component must be one of ${KNOWN_COMPONENTS.join(', ')}, not "${component}".`);
  const record = await readRecord(kubectl, name);
  const revision = text(flags, 'revision');
  const id =
    revision === undefined
      ? undefined
      : podsIdOf(chosen(await readRevisions(kubectl, record), revision), component as ImageComponent);
  const ended = new AbortController();
  const onInterrupt = (): void => ended.abort();
  process.once('SIGINT', onInterrupt);
  // Whoever writes them to a file or a pipe gets them as they are.
  const onLine = process.stdout.isTTY
    ? (line: string): void => void process.stdout.write(`${forTerminal(line)}\n`)
    : undefined;
  const tools = { kubectl, run: (args: readonly string[]) => onTerminal(cluster, args, { onLine }) };
  const code = await printPodLogs(tools, name, {
    component,
    labels: { [COMPONENT_LABEL]: component, ...(id !== undefined && { [REVISION_LABEL]: id }) },
    follow: flags['follow'] === true,
    previous: flags['previous'] === true,
    tail: number(flags, 'tail', 100),
    warn,
    signal: ended.signal,
  });
  process.off('SIGINT', onInterrupt);
  return code;
}

async function buildLog(kubectl: Kubectl, name: string, flags: Flags, cluster: readonly string[]): Promise<number> {
  for (const flag of ['component', 'previous'])
    if (flags[flag] !== undefined) throw new Misuse(`--${flag} is about pods, and not for --build.`);
  const tail = text(flags, 'tail') === undefined ? undefined : number(flags, 'tail', 0);
  const { connection } = await reach(kubectl, flags, cluster);
  await printBuildLog(makeHttpApi(connection), name, {
    revision: text(flags, 'revision'),
    follow: flags['follow'] === true,
    tail,
    say,
  });
  return 0;
}

/** What is still open when the command ends. */
const open = new Set<() => void>();
function closeAll(): void {
  for (const close of open) close();
}
process.once('exit', closeAll);

async function reach(kubectl: Kubectl, flags: Flags, cluster: readonly string[]): Promise<Connected> {
  const connected = await connect(
    {
      kubectl,
      forward: (namespace, service, port) => forward([...cluster, `--namespace=${namespace}`], { service, port }),
    },
    {
      server: text(flags, 'server') ?? (process.env['DAVIT_SERVER'] || undefined),
      token: text(flags, 'token') ?? (process.env['DAVIT_TOKEN'] || undefined),
      environment: process.env,
      namespace: text(flags, 'namespace'),
      context: text(flags, 'context'),
      user: text(flags, 'user'),
      impersonated: text(flags, 'as'),
      davitNamespace: text(flags, 'davit-namespace') ?? 'davit-system',
    },
  );
  open.add(() => connected.close());
  return connected;
}

async function deployFolder(
  kubectl: Kubectl,
  folder: string,
  flags: Flags,
  cluster: readonly string[],
): Promise<number> {
  const timeoutMs = number(flags, 'timeout', 1800) * 1000;
  const progress: DeployProgress = {};
  const suggested = REPEATED_FLAGS.flatMap((flag) => {
    const value = text(flags, flag);
    return value === undefined ? [] : [` --${flag}=${value}`];
  }).join('');
  process.once('SIGINT', () => {
    warn(interruptedSentence(progress, suggested));
    process.exit(130);
  });
  const source = await listSource(resolve(folder), text(flags, 'config') ?? 'langgraph.json');
  const { connection } = await reach(kubectl, flags, cluster);
  const ready = await deploy(
    makeHttpApi(connection),
    {
      source,
      name: text(flags, 'name'),
      installCommand: text(flags, 'install-command'),
      buildCommand: text(flags, 'build-command'),
      timeoutMs,
      suggested,
      say,
    },
    progress,
  );
  say(addressOf(ready, suggested));
  return 0;
}

function interruptedSentence({ created, name, revision }: DeployProgress, suggested: string): string {
  const left = created === undefined ? '' : ` Deployment ${created} was created and stays, without a revision.`;
  if (name === undefined) return `Nothing was deployed.${left}`;
  if (revision === undefined) return `The upload may be deployed. To see: kubectl davit status ${name}${suggested}`;
  return `The build goes on. To follow it: kubectl davit logs ${name} --build --follow${suggested}`;
}

async function openPort(kubectl: Kubectl, name: string, flags: Flags, cluster: readonly string[]): Promise<number> {
  await needReadyPod(kubectl, name);
  const localPort = number(flags, 'port', 0);
  const forwarded = await forward(cluster, { service: names(name).service, port: SERVICE_PORT, localPort });
  process.once('SIGINT', () => forwarded.close());
  open.add(() => forwarded.close());
  say(`http://127.0.0.1:${forwarded.port}`);
  warn('Ctrl-C ends it.');
  const { code, message } = await forwarded.ended;
  if (code !== 0 && code !== 130) throw new Failure(message);
  return code;
}

/** `action`: join or revoke. */
async function listener(action: string | undefined, rest: readonly string[], flags: Flags): Promise<number> {
  const [name, ...more] = rest;
  if (name === undefined || more.length > 0 || (action !== 'join' && action !== 'revoke'))
    throw new Misuse('kubectl davit listener join NAME, or kubectl davit listener revoke NAME');
  const kubectl = makeKubectl(clusterFlags(flags));
  if (action === 'revoke') {
    say(await revoke(kubectl, name));
    return 0;
  }
  const { manifest, instructions } = await join(kubectl, name, text(flags, 'hub'), (ms) => {
    warn(`Creating credentials takes ${ms / 1000} seconds.`);
    return sleep(ms);
  });
  say(manifest);
  warn(instructions);
  return 0;
}

async function platform(unexpected: string | undefined, flags: Flags): Promise<number> {
  if (unexpected !== undefined) throw new Misuse(`kubectl davit platform takes no name. Unexpected: "${unexpected}".`);
  const cluster = clusterFlags(flags);
  const { connection } = await reach(makeKubectl(cluster), flags, cluster);
  for (const line of await platformLines(makeHttpApi(connection))) say(line);
  return 0;
}

function clusterFlags(flags: Flags): string[] {
  return CLUSTER_FLAGS.flatMap((flag) => {
    const value = text(flags, flag);
    return value === undefined ? [] : [`--${flag}=${value}`];
  });
}

async function run(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args);
  const flags: Flags = values;
  const [command, name, ...more] = positionals;
  if (flags['help'] || command === undefined || command === 'help') {
    say(USAGE);
    return command === undefined && !flags['help'] ? 2 : 0;
  }
  if (command === 'listener') {
    // The action is the second word.
    return listener(name, more, flags);
  }
  if (command === 'platform') return platform(name, flags);
  const perform = COMMANDS.get(command);
  if (perform === undefined && command !== 'status')
    throw new Misuse(
      `Unknown command "${command}". The commands are status, ${[...COMMANDS.keys()].join(', ')}, platform, listener.`,
    );
  if (more.length > 0)
    throw new Misuse(
      `Name only one ${command === 'deploy' ? 'folder' : 'deployment'}. Unexpected: "${more.join(' ')}".`,
    );
  const cluster = clusterFlags(flags);
  const kubectl = makeKubectl(cluster);
  if (perform === undefined) return status(kubectl, name, cluster);
  if (name === undefined)
    throw new Misuse(
      command === 'deploy'
        ? 'Which folder? kubectl davit deploy FOLDER'
        : `Which deployment? kubectl davit ${command} NAME`,
    );
  return perform(kubectl, name, flags, cluster);
}

/** `--replicas 2 --max 4`; without --max both are the same. */
async function scale(kubectl: Kubectl, name: string, flags: Flags): Promise<number> {
  if (text(flags, 'replicas') === undefined)
    throw new Misuse(`How many pods? kubectl davit scale ${name} --replicas 3`);
  const min = number(flags, 'replicas', 1);
  const max = number(flags, 'max', min);
  if (max < min) throw new Misuse(`--max must be at least --replicas, ${min}.`);
  say(await scaleTo(kubectl, name, min, max));
  return 0;
}

type Command = (kubectl: Kubectl, name: string, flags: Flags, cluster: readonly string[]) => Promise<number>;

/** Those that need a name. */
const COMMANDS: ReadonlyMap<string, Command> = new Map<string, Command>([
  ['deploy', deployFolder],
  [
    'logs',
    (kubectl, name, flags, cluster) => (flags['build'] === true ? buildLog : podLogs)(kubectl, name, flags, cluster),
  ],
  ['open', openPort],
  [
    'rollback',
    async (kubectl, name, flags) => {
      say(await rollBack(kubectl, name, text(flags, 'to')));
      return 0;
    },
  ],
  ['scale', scale],
  [
    'wait',
    async (kubectl, name, flags) => {
      await waitUntilReady(kubectl, name, { timeoutMs: number(flags, 'timeout', 600) * 1000, say });
      return 0;
    },
  ],
]);

function parse(args: readonly string[]): { values: Flags; positionals: string[] } {
  const string = { type: 'string' } as const;
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        ...Object.fromEntries(CLUSTER_FLAGS.map((flag) => [flag, string])),
        namespace: { type: 'string', short: 'n' },
        component: { type: 'string', short: 'c' },
        revision: string,
        to: string,
        timeout: string,
        tail: string,
        build: { type: 'boolean' },
        name: string,
        config: string,
        'install-command': string,
        'build-command': string,
        server: string,
        token: string,
        'davit-namespace': string,
        port: string,
        replicas: string,
        max: string,
        hub: string,
        follow: { type: 'boolean', short: 'f' },
        previous: { type: 'boolean', short: 'p' },
        help: { type: 'boolean', short: 'h' },
      },
    });
  } catch (error) {
    throw new Misuse(error instanceof Error ? error.message : String(error));
  }
}

for (const output of [process.stdout, process.stderr])
  output.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    process.exit(NOBODY_READS);
  });

try {
  process.exitCode = await run(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof Failure) && !(error instanceof Misuse)) throw error;
  warn(error.message);
  if (error instanceof Misuse) warn('All commands and options: kubectl davit --help');
  process.exitCode = error instanceof Misuse ? 2 : 1;
} finally {
  closeAll();
}
