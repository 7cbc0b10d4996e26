#!/usr/bin/env node
// kubectl davit: what kubectl alone shows only in pieces. One file once built, and it loads nothing but kubectl.

import { parseArgs } from 'node:util';
import { COMPONENT_LABEL, COMPONENTS, DEPLOYMENT_LABEL, REVISION_LABEL, ROLES } from '../api/meta.ts';
import { Failure, type Kubectl, makeKubectl, onTerminal } from './kubectl.ts';
import { RECORDS, readParts, readRecord, readRevisions } from './records.ts';
import { chosen, rollBack } from './rollback.ts';
import { treeOf } from './tree.ts';
import { waitUntilReady } from './wait.ts';

const KNOWN_COMPONENTS: readonly string[] = COMPONENTS;

const USAGE = `kubectl davit: shows and manages deployments

  kubectl davit status [NAME]       show one deployment as a tree of its parts, or list all deployments
  kubectl davit logs NAME           print the logs of its pods [--component ${KNOWN_COMPONENTS.join('|')}]
                                    [--revision NAME] [--follow] [--previous] [--tail LINES]
  kubectl davit rollback NAME       roll back to the previous deployed revision [--to REVISION]
  kubectl davit wait NAME           wait until it is ready, or Stalled [--timeout SECONDS]

  --namespace, --context, --kubeconfig, --cluster, --user, --as and --request-timeout are passed to kubectl.`;

/** Passed to kubectl unchanged. */
const CLUSTER_FLAGS = ['namespace', 'context', 'kubeconfig', 'cluster', 'user', 'as', 'request-timeout'] as const;

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

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

async function status(kubectl: Kubectl, name: string | undefined, cluster: readonly string[]): Promise<number> {
  if (name === undefined) return onTerminal(cluster, ['get', RECORDS, '-o', 'wide']);
  for (const line of treeOf(await readParts(kubectl, name))) say(line);
  return 0;
}

async function logs(kubectl: Kubectl, name: string, flags: Flags, cluster: readonly string[]): Promise<number> {
  const component = text(flags, 'component') ?? 'server';
  if (!KNOWN_COMPONENTS.includes(component))
    throw new Misuse(`--component must be one of ${KNOWN_COMPONENTS.join(', ')}, not "${component}".`);
  const record = await readRecord(kubectl, name);
  const revision = text(flags, 'revision');
  const id = revision === undefined ? undefined : chosen(await readRevisions(kubectl, record), revision).spec.id;
  const selector = [
    `${DEPLOYMENT_LABEL}=${name}`,
    `${COMPONENT_LABEL}=${component}`,
    ...(id === undefined ? [] : [`${REVISION_LABEL}=${id}`]),
  ];
  return onTerminal(cluster, [
    'logs',
    `--selector=${selector.join(',')}`,
    ...((ROLES as readonly string[]).includes(component) ? [`--container=${component}`] : ['--all-containers']),
    '--prefix',
    '--max-log-requests=100',
    `--tail=${number(flags, 'tail', 100)}`,
    ...(flags['follow'] ? ['--follow'] : []),
    ...(flags['previous'] ? ['--previous'] : []),
  ]);
}

async function run(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args);
  const flags: Flags = values;
  const [command, name, ...more] = positionals;
  if (flags['help'] || command === undefined || command === 'help') {
    say(USAGE);
    return command === undefined && !flags['help'] ? 2 : 0;
  }
  if (more.length > 0) throw new Misuse(`Name only one deployment. Unexpected: "${more.join(' ')}".`);
  const cluster = CLUSTER_FLAGS.flatMap((flag) => {
    const value = text(flags, flag);
    return value === undefined ? [] : [`--${flag}=${value}`];
  });
  const kubectl = makeKubectl(cluster);
  if (command === 'status') return status(kubectl, name, cluster);
  if (name === undefined) throw new Misuse(`Which deployment? kubectl davit ${command} NAME`);
  switch (command) {
    case 'logs':
      return logs(kubectl, name, flags, cluster);
    case 'rollback':
      say(await rollBack(kubectl, name, text(flags, 'to')));
      return 0;
    case 'wait':
      await waitUntilReady(kubectl, name, { timeoutMs: number(flags, 'timeout', 600) * 1000, say });
      return 0;
    default:
      throw new Misuse(`Unknown command "${command}".`);
  }
}

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
        follow: { type: 'boolean', short: 'f' },
        previous: { type: 'boolean', short: 'p' },
        help: { type: 'boolean', short: 'h' },
      },
    });
  } catch (error) {
    throw new Misuse(error instanceof Error ? error.message : String(error));
  }
}

// Whoever reads has had enough, as `head` has: the code is that of a program which SIGPIPE has ended.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit(141);
});

try {
  process.exitCode = await run(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof Failure) && !(error instanceof Misuse)) throw error;
  process.stderr.write(`${error.message}\n${error instanceof Misuse ? `\n${USAGE}\n` : ''}`);
  process.exitCode = error instanceof Misuse ? 2 : 1;
}
