// Finds the command of a command line and runs it.

import { printable } from '../../kinds/text.ts';
import { EXIT_CODES } from '../transport/exit-codes.ts';
import type { HttpApi } from '../transport/http-api.ts';
import { Failure, type Kubectl } from '../transport/kubectl.ts';
import {
  CLUSTER_FLAGS,
  type Command,
  type Context,
  type Flags,
  HELP,
  InvalidFile,
  Misuse,
  OUTPUT,
  type Terminal,
  withFlags,
} from './command.ts';
import type { ConnectionOptions } from './connection.ts';
import { watched } from './interruption.ts';
import { repeatable } from './needed-names.ts';
import { explained } from './not-found.ts';
import { commandWord, meant, parse } from './parse.ts';
import { PROGRAM } from './program.ts';
import { withShortIds } from './short-ids.ts';
import { helpOf, usage } from './usage.ts';

/** The process, as far as commands reach it. */
export interface World extends Pick<Context, 'say' | 'write' | 'warn' | 'onInterrupt' | 'clock' | 'environment'> {
  /** That of the program. */
  readonly version: string;
  readonly terminal: Terminal;
  /** `flags` select cluster and user. */
  kubectl(flags: readonly string[]): Kubectl;
  onTerminal(flags: readonly string[], args: readonly string[]): Promise<number>;
  api(flags: readonly string[], options: ConnectionOptions): Promise<HttpApi>;
  /** davit-api itself, for what needs its credentials. */
  facade(flags: readonly string[], options: ConnectionOptions): Promise<HttpApi>;
}

/** Repeated in commands that are suggested. */
const REPEATED_FLAGS = ['namespace', 'context', 'kubeconfig', 'cluster', 'user', 'as', 'server', 'davit-namespace'];

/** Resolves to the exit code. Throws Failure and Misuse. */
export async function run(commands: readonly Command[], args: readonly string[], world: World): Promise<number> {
  const found = commandWord(args);
  if (found === undefined) {
    if (args.includes('--version')) {
      world.say(world.version);
      return 0;
    }
    world.say(usage(commands));
    return args.some((arg) => arg === '--help' || arg === '-h') ? EXIT_CODES.done.code : EXIT_CODES.misused.code;
  }
  const { word, others } = found;
  if (word === 'help') return help(commands, others, world);
  let isReported = false;
  // What fails after the result is told on standard error alone.
  const report = (result: unknown): void => {
    if (!isReported) world.say(jsonText(result));
    isReported = true;
  };
  const { command, invocation } = understood(commands, { word, others }, report);
  if (invocation.flags.has(HELP.name)) {
    world.say(helpOf(command));
    return 0;
  }
  const isJson = command.flags.includes(OUTPUT) && invocation.flags.text(OUTPUT.name) === 'json';
  const context = contextOf(invocation, worldOf(command, invocation, world), isJson ? report : undefined);
  try {
    return await command.run(context);
  } catch (error) {
    if (!(error instanceof Failure) && !(error instanceof Misuse)) throw error;
    const withOwn = (text: string): string => withFlags(withShortIds(text), context.suggested);
    error.message = withOwn(await explained(error.message, command, context));
    context.report(failureOf(error, withOwn));
    throw error;
  }
}

/** JSON in which a character that no terminal should get stands as its escape, so that no value changes on its way there. */
function jsonText(value: unknown): string {
  const text = JSON.stringify(value, null, 2);
  if (printable(text) === text) return text;
  const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return Array.from(text, (one) => (printable(one) === one ? one : one.split('').map(escaped).join(''))).join('');
}

/** In which an interruption says what was done. */
function worldOf(command: Command, { words, flags }: Pick<Context, 'words' | 'flags'>, world: World): World {
  const suggested = suggestedFlags(flags);
  const register: World['onInterrupt'] = (sentence) =>
    world.onInterrupt(() => {
      const said = sentence();
      // A command may have added them.
      return said === undefined || said.includes(suggested) ? said : withFlags(said, suggested);
    });
  const { onInterrupt, kubectl, api } = watched(command, { words, register });
  return {
    ...world,
    onInterrupt,
    kubectl: (own) => kubectl(world.kubectl(own)),
    api: async (own, options) => api(await world.api(own, options)),
    facade: async (own, options) => api(await world.facade(own, options)),
  };
}

/** For programs. `withOwn`: adds the flags of this call to commands in a text. */
function failureOf(error: Failure | Misuse, withOwn: (text: string) => string): object {
  const outcome = error instanceof Failure ? error.outcome : undefined;
  const hint = outcome?.hint ?? null;
  return {
    error: error.message,
    ...(outcome && { ...outcome, hint: hint === null ? null : withOwn(hint) }),
    exitCode: exitCodeOf(error),
  };
}

/** That of the program. */
export function exitCodeOf(error: Failure | Misuse): number {
  return error instanceof Failure ? error.exitCode : EXIT_CODES.misused.code;
}

/** What is meant. Wrong use is reported as other failures are, if JSON was asked for. */
function understood(
  commands: readonly Command[],
  { word, others }: { readonly word: string; readonly others: readonly string[] },
  report: (result: unknown) => void,
): { readonly command: Command; readonly invocation: ReturnType<typeof parse> } {
  try {
    const command = commandOf(commands, word);
    return { command, invocation: parse(command, others) };
  } catch (error) {
    const asked = others.findLastIndex((other) => other === '--output' || other === '-o');
    const wantsJson = (asked >= 0 && others[asked + 1] === 'json') || others.includes('--output=json');
    const hasJson = commands.find(({ name }) => name === word)?.flags.includes(OUTPUT) !== false;
    if (error instanceof Misuse && wantsJson && hasJson) report(failureOf(error, (text) => text));
    throw error;
  }
}

function help(commands: readonly Command[], others: readonly string[], { say }: World): number {
  const of = commandWord(others);
  say(of === undefined ? usage(commands) : helpOf(commandOf(commands, of.word)));
  return 0;
}

/** Throws Misuse if there is none of that name. */
function commandOf(commands: readonly Command[], word: string): Command {
  const known = commands.filter(({ isHidden }) => !isHidden).map(({ name }) => name);
  const command = commands.find(({ name }) => name === word);
  if (command) return command;
  throw new Misuse(`Unknown command "${repeatable(word)}".${meant(word, known)} The commands are ${known.join(', ')}.`);
}

/** `report` is absent where the result is for people. */
function contextOf(
  invocation: Pick<Context, 'flags' | 'words' | 'rest'>,
  world: World,
  report: Context['report'] | undefined,
): Context {
  const { flags } = invocation;
  const connection = connectionOf(flags, world.environment);
  const names = CLUSTER_FLAGS.map(({ name }) => name);
  const cluster = given(flags, names);
  return {
    ...world,
    ...invocation,
    cluster,
    suggested: suggestedFlags(flags),
    kubectl: world.kubectl(cluster),
    onTerminal: (args) => world.onTerminal(cluster, args),
    say: report ? world.warn : world.say,
    report: report ?? (() => undefined),
    server: connection.server,
    async api(namespace = connection.namespace) {
      if (connection.server === undefined && flags.has('token'))
        throw new Misuse(
          '--token needs an address: set --server or DAVIT_SERVER, or leave out --token to use the kubeconfig.',
        );
      return world.api(cluster, { ...connection, namespace });
    },
    facade: () => world.facade(cluster, connection),
  };
}

function suggestedFlags(flags: Flags): string {
  return given(flags, REPEATED_FLAGS)
    .map((one) => ` ${one}`)
    .join('');
}

function given(flags: Flags, names: readonly string[]): string[] {
  return names.filter((name) => flags.has(name)).map((name) => `--${name}=${flags.text(name)}`);
}

function connectionOf(flags: Flags, environment: NodeJS.ProcessEnv): ConnectionOptions {
  return {
    server: flags.text('server') ?? (environment['DAVIT_SERVER'] || undefined),
    token: flags.text('token') ?? (environment['DAVIT_TOKEN'] || undefined),
    environment,
    namespace: flags.text('namespace'),
    context: flags.text('context'),
    user: flags.text('user'),
    impersonated: flags.text('as'),
    davitNamespace: flags.text('davit-namespace') ?? 'davit-system',
  };
}

/** The lines to print for a misuse. */
export function adviceOn(error: Misuse): readonly string[] {
  const { message } = error;
  return error instanceof InvalidFile ? [message] : [message, `All commands: ${PROGRAM} --help`];
}
