#!/usr/bin/env node
// kubectl davit: what an application developer does every day, in one file. It uses kubectl, and Davit's HTTP API where kubectl
// alone cannot do it.

import { setTimeout as sleep } from 'node:timers/promises';
import manifest from '../../package.json' with { type: 'json' };
import { printable } from '../kinds/text.ts';
import { COMMANDS } from './commands/commands.ts';
import { Misuse } from './line/command.ts';
import { connect } from './line/connection.ts';
import { namespaceOf } from './line/not-found.ts';
import { makeTerminal } from './line/prompt.ts';
import { adviceOn, exitCodeOf, run, type World } from './line/run.ts';
import { EXIT_CODES } from './transport/exit-codes.ts';
import { makeHttpApi } from './transport/http-api.ts';
import { Failure, forward, makeKubectl, onTerminal, tidyUp } from './transport/kubectl.ts';

// What containers and servers wrote must not control the terminal of the person who reads it.
function say(line: string): void {
  process.stdout.write(`${printable(line)}\n`);
}

function warn(line: string): void {
  process.stderr.write(`${printable(line)}\n`);
}

process.once('exit', tidyUp);

/** What is said where a signal ends the program. */
const sentences: (() => string | undefined)[] = [];

function sayLastWords(): void {
  for (const sentence of sentences.splice(0)) {
    const words = sentence();
    if (words !== undefined) warn(words);
  }
}

process.on('SIGINT', () => {
  // A command that has a listener of its own decides when it ends.
  if (sentences.length === 0 && process.listenerCount('SIGINT') > 1) return;
  sayLastWords();
  process.exit(EXIT_CODES.interrupted.code);
});
for (const signal of ['SIGTERM', 'SIGHUP'] as const)
  process.once(signal, () => {
    sayLastWords();
    tidyUp();
    // Nobody listens to it any more: whoever has started the program sees which signal has ended it.
    process.kill(process.pid, signal);
  });

const world: World = {
  environment: process.env,
  version: manifest.version,
  terminal: makeTerminal(),
  clock: { now: () => performance.now(), sleep: (milliseconds) => sleep(milliseconds) },
  say,
  write: (line) => void process.stdout.write(`${line}\n`),
  warn,
  kubectl: makeKubectl,
  onTerminal,
  async api(flags, options) {
    if (options.server !== undefined) return world.facade(flags, options);
    const { proxiedClient } = await import('./transport/kube-proxy.ts');
    const [{ makeOwnApi }, kube, namespace] = await Promise.all([
      import('./transport/own-api.ts'),
      proxiedClient(flags),
      namespaceOf(makeKubectl(flags), options.namespace),
    ]);
    return makeOwnApi({ kube, namespace: namespace ?? 'default', davitNamespace: options.davitNamespace });
  },
  async facade(flags, options) {
    const connection = await connect(
      {
        kubectl: makeKubectl(flags),
        forward: (namespace, service, port) =>
          forward([...flags, `--namespace=${namespace}`], { target: `service/${service}`, port }),
      },
      options,
    );
    return makeHttpApi(connection);
  },
  onInterrupt: (sentence) => void sentences.push(sentence),
};

for (const output of [process.stdout, process.stderr])
  output.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    process.exit(EXIT_CODES.unread.code);
  });

async function main(): Promise<void> {
  try {
    process.exitCode = await run(COMMANDS, process.argv.slice(2), world);
  } catch (error) {
    if (!(error instanceof Failure) && !(error instanceof Misuse)) throw error;
    for (const line of error instanceof Misuse ? adviceOn(error) : [error.message]) warn(line);
    process.exitCode = exitCodeOf(error);
  } finally {
    tidyUp();
  }
}

// The bundle is CommonJS, which has no await here.
void main();
