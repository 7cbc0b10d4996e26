// Runs commands of `kubectl davit` in this process, with a kubectl and an HTTP API of the test.

import { Misuse } from '../../src/cli/command.ts';
import { COMMANDS } from '../../src/cli/commands.ts';
import type { ConnectionOptions } from '../../src/cli/connection.ts';
import type { HttpApi } from '../../src/cli/http-api.ts';
import { Failure, type Kubectl } from '../../src/cli/kubectl.ts';
import { run } from '../../src/cli/run.ts';

export interface CliWorld {
  /** By default it fails. */
  readonly kubectl?: Kubectl;
  readonly api?: HttpApi;
  /** Called with what the flags and the environment select. */
  readonly onConnect?: (options: ConnectionOptions) => void;
  readonly environment?: NodeJS.ProcessEnv;
  /** Answers to questions, in their order. If absent, nobody can be asked. */
  readonly answers?: readonly string[];
  readonly input?: string | Buffer;
  /** Exit code of kubectl on the terminal. */
  readonly terminalCode?: number;
}

export interface CliRan {
  /** 2 for a misuse, 1 for a failure. */
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
      say: (line) => out.push(line),
      warn: (line) => err.push(line),
      onInterrupt: () => undefined,
      onEnd: () => undefined,
      terminal: {
        isInteractive: world.answers !== undefined,
        isShown: world.answers !== undefined,
        ask: async (question, hidden) => {
          questions.push(hidden ? `${question}(hidden)` : question);
          return answers.shift() ?? '';
        },
        input: async () => Buffer.from(world.input ?? ''),
      },
      kubectl: (flags) => (own, input) => {
        asked.push([...flags, ...own].join(' '));
        return kubectl(own, input);
      },
      onTerminal: async (flags, own) => {
        onTerminal.push([...flags, ...own].join(' '));
        return world.terminalCode ?? 0;
      },
      api: async (_flags, options) => {
        world.onConnect?.(options);
        if (world.api) return world.api;
        throw new Failure('The test has no HTTP API.');
      },
    });
    return result(code);
  } catch (error) {
    if (!(error instanceof Failure) && !(error instanceof Misuse)) throw error;
    err.push(error.message);
    return result(error instanceof Misuse ? 2 : 1);
  }
}
