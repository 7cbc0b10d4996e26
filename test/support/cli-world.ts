// Runs commands of `kubectl davit` in this process, with a kubectl and an HTTP API of the test, and a deployment to run them on.

import { COMMANDS } from '../../src/cli/commands/commands.ts';
import { type Clock, Misuse } from '../../src/cli/line/command.ts';
import type { ConnectionOptions } from '../../src/cli/line/connection.ts';
import { run, type World } from '../../src/cli/line/run.ts';
import type { HttpApi } from '../../src/cli/transport/http-api.ts';
import { Failure, type Kubectl } from '../../src/cli/transport/kubectl.ts';
import type { AppDeployment } from '../../src/kinds/app-deployment.ts';

export interface CliWorld {
  /** By default it fails. `flags`: those that select cluster and user. */
  readonly kubectl?: (args: readonly string[], input?: string, flags?: readonly string[]) => ReturnType<Kubectl>;
  readonly api?: HttpApi;
  /** Called with what the flags and the environment select, and which of both was asked for. */
  readonly onConnect?: (options: ConnectionOptions, door: 'api' | 'facade') => void;
  readonly environment?: NodeJS.ProcessEnv;
  /** Answers to questions, in their order. If absent, nobody can be asked. */
  readonly answers?: readonly string[];
  readonly input?: string | Buffer;
  /** Whether somebody types the input, although nobody can be asked. */
  readonly isTyped?: boolean;
  /** By default every wait is over at once. */
  readonly clock?: Clock;
  /** Called with what an interruption would print at any time. */
  readonly onInterrupt?: World['onInterrupt'];
  /** Exit code of kubectl on the terminal. */
  readonly terminalCode?: number;
}

export interface CliRan {
  /** 2 for a misuse, 1 for a failure, 124 if the time is over. */
  readonly code: number;
  readonly out: string;
  readonly err: string;
  /** Arguments of each kubectl, without those on the terminal. */
  readonly asked: readonly string[];
  /** Arguments of each kubectl on the terminal. */
  readonly onTerminal: readonly string[];
  readonly questions: readonly string[];
}

export async function runCli(args: readonly string[], world: CliWorld = {}): Promise<CliRan> {
  const out: string[] = [];
  const err: string[] = [];
  const asked: string[] = [];
  const onTerminal: string[] = [];
  const questions: string[] = [];
  const answers = [...(world.answers ?? [])];
  const result = (code: number): CliRan => ({
    code,
    out: out.join('\n'),
    err: err.join('\n'),
    asked,
    onTerminal,
    questions,
  });
  const kubectl = world.kubectl ?? (() => Promise.reject(new Failure('The test has no kubectl.')));
  try {
    const code = await run(COMMANDS, args, {
      environment: world.environment ?? {},
      version: '1.2.3',
      say: (line) => out.push(line),
      write: (line) => out.push(line),
      warn: (line) => err.push(line),
      clock: world.clock ?? makeInstantClock(),
      onInterrupt: world.onInterrupt ?? (() => undefined),
      terminal: {
        isInteractive: world.answers !== undefined,
        isTyped: world.isTyped ?? world.answers !== undefined,
        isShown: world.answers !== undefined,
        ask: async (question, hidden) => {
          questions.push(hidden ? `${question}(hidden)` : question);
          return answers.shift() ?? '';
        },
        input: async () => Buffer.from(world.input ?? ''),
      },
      kubectl: (flags) => (own, input) => {
        asked.push([...flags, ...own].join(' '));
        return kubectl(own, input, flags);
      },
      onTerminal: async (flags, own) => {
        onTerminal.push([...flags, ...own].join(' '));
        return world.terminalCode ?? 0;
      },
      api: async (_flags, options) => {
        world.onConnect?.(options, 'api');
        if (world.api) return world.api;
        throw new Failure('The test has no HTTP API.');
      },
      facade: async (_flags, options) => {
        world.onConnect?.(options, 'facade');
        if (world.api) return world.api;
        throw new Failure('The test has no HTTP API.');
      },
    });
    return result(code);
  } catch (error) {
    if (!(error instanceof Failure) && !(error instanceof Misuse)) throw error;
    err.push(error.message);
    return result(error instanceof Misuse ? 2 : error.exitCode);
  }
}

/** A clock on which every wait is over at once, after whatever else was waiting to run. */
export function makeInstantClock(): Clock {
  let time = 0;
  return {
    now: () => time,
    sleep: async (milliseconds) => {
      time += milliseconds;
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

/** uid of the record. */
export const uid = '8b5c0f3e-6f0e-4f7e-9f43-2f9d6d1c1a11';

export function aRecord(spec: object = {}, status: object = {}, metadata: object = {}): AppDeployment {
  return {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'AppDeployment',
    metadata: { name: 'shop', namespace: 'team', uid, resourceVersion: '7', ...metadata },
    spec: {
      source: 'external_docker',
      sourceConfig: {},
      sourceRevisionConfig: { imageUri: 'app:1' },
      secrets: [],
      revisionSerial: 2,
      databaseDeletionPolicy: 'Delete',
      tracingProjectDeletionPolicy: 'Retain',
      ...spec,
    },
    status,
  } as AppDeployment;
}

/** Its only revision, as the caller sees it. */
export const REVISION = {
  metadata: { name: 'shop--11111111' },
  spec: { id: '1'.repeat(32), deploymentUid: uid, revisionSerial: 2 },
};

/** Answers of `get` by resource, and nobody's name; everything else is written to `written`. */
export function answering(
  resources: Readonly<Record<string, unknown>>,
  written: [args: string, input: string][] = [],
): Kubectl {
  return async ([verb, resource = '', ...more], input = '') => {
    if (verb === 'get') return JSON.stringify(resources[resource] ?? { items: [] });
    if (verb === 'auth') return '{}';
    written.push([[verb, resource, ...more].join(' '), input]);
    return verb === 'rollout' ? 'deployment.apps/shop restarted\n' : '';
  };
}
