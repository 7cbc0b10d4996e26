// What a command is: its words, its flags, and what it runs with. Usage, help, refusals and completion are made from definitions.

import type { HttpApi } from '../transport/http-api.ts';
import type { Kubectl } from '../transport/kubectl.ts';
import type { Change } from './interruption.ts';
import { PROGRAM } from './program.ts';

/** Wrong use: exit code 2. */
export class Misuse extends Error {}

/** davit.yaml or a .env file is not what it should be: one line for each error, with its place. Nothing was sent. */
export class InvalidFile extends Misuse {}

export interface FlagDefinition {
  readonly name: string;
  readonly short?: string;
  /** Word for its value in the help. Absent: the flag has no value. */
  readonly value?: string;
  readonly help: string;
  readonly choices?: readonly string[];
  /** Values that completion offers, of a flag that takes others as well. */
  readonly suggested?: readonly string[];
  /** The value is a whole number. */
  readonly isNumber?: true;
  /** The least number that it takes; 0 if absent. */
  readonly least?: number;
  /** The greatest one. */
  readonly most?: number;
  /** It may be given several times. */
  readonly isRepeated?: true;
  /** The value is a path: the shell completes it. */
  readonly isFile?: true;
}

export interface WordDefinition {
  /** As the help writes it: NAME. */
  readonly word: string;
  /** The thing that it names. */
  readonly names: 'deployment' | 'folder' | 'listener' | 'revision' | 'action' | 'other';
  /** If absent, exactly one. */
  readonly need?: 'optional' | 'any number';
  readonly choices?: readonly string[];
}

/** The values of flags, checked against their definitions. */
export interface Flags {
  text(name: string): string | undefined;
  /** All values of a flag that may be repeated. */
  texts(name: string): readonly string[];
  /** Undefined if it is not given. */
  number(name: string): number | undefined;
  has(name: string): boolean;
}

/** The terminal of the person who calls, if there is one. */
export interface Terminal {
  /** Whether somebody can be asked: standard input and standard error are a terminal. */
  readonly isInteractive: boolean;
  /** Whether standard input is a terminal, which shows what is typed unless it is asked for. */
  readonly isTyped: boolean;
  /** Whether standard output is a terminal. */
  readonly isShown: boolean;
  /** Resolves to one line without its end. `hidden`: what is typed is not shown. */
  ask(question: string, hidden?: boolean): Promise<string>;
  /** All of standard input. */
  input(): Promise<Buffer>;
}

/** The time, and the wait between two questions. */
export interface Clock {
  /** Milliseconds. */
  now(): number;
  sleep(milliseconds: number): Promise<void>;
}

export interface Context {
  readonly flags: Flags;
  /** The words after the command. Their number is checked. */
  readonly words: readonly string[];
  /** What follows `--`. */
  readonly rest: readonly string[];
  readonly kubectl: Kubectl;
  /** Runs kubectl on this terminal and resolves to its exit code. */
  onTerminal(args: readonly string[]): Promise<number>;
  /** Flags that select cluster and user, for processes that are started otherwise. */
  readonly cluster: readonly string[];
  /** Flags that suggested commands repeat, each after a space. */
  readonly suggested: string;
  readonly terminal: Terminal;
  /** That of the caller. */
  readonly environment: NodeJS.ProcessEnv;
  readonly clock: Clock;
  /** Prints a line of the result, to standard error if --output asks for JSON. */
  say(line: string): void;
  /** Prints the result for programs, once and last, if --output asks for it. */
  report(result: unknown): void;
  /** Prints a line of a container as it is, also what controls a terminal. */
  write(line: string): void;
  /** Prints what is no result. */
  warn(line: string): void;
  /** Address of Davit's HTTP API, if a flag or the environment names it. */
  readonly server: string | undefined;
  /** Davit's HTTP API: at the address that was given, else in this process with the kubeconfig's credentials. `namespace`: instead of --namespace. */
  api(namespace?: string): Promise<HttpApi>;
  /** davit-api itself, for uploads and the logs of builds, which need its own credentials. */
  facade(): Promise<HttpApi>;
  /** Ctrl-C and the signals TERM and HUP print this, where it is not undefined, and end the program. */
  onInterrupt(sentence: () => string | undefined): void;
}

export interface Command {
  readonly name: string;
  /** Not in the help. */
  readonly isHidden?: true;
  /** One line for the list of commands. */
  readonly purpose: string;
  readonly words: readonly WordDefinition[];
  /** Word for what follows `--`, if anything may. */
  readonly rest?: string;
  /** Why a word too many is not repeated, which may be a secret value: a sentence. */
  readonly unrepeated?: string;
  readonly flags: readonly FlagDefinition[];
  /** Sentences and examples for its own help. PROGRAM stands for the name of the program. */
  readonly about?: string;
  /** Why it has no flag --output for JSON: a clause with "it". */
  readonly noJson?: string;
  /** What is said where it is interrupted; absent where it changes nothing. */
  readonly changes?: Change;
  /** Resolves to the exit code. Throws Failure and Misuse. */
  run(context: Context): Promise<number>;
}

/** Passed to kubectl unchanged. */
export const CLUSTER_FLAGS: readonly FlagDefinition[] = [
  { name: 'namespace', short: 'n', value: 'NAME', help: 'namespace of the deployment' },
  { name: 'context', value: 'NAME', help: 'context of the kubeconfig' },
  { name: 'kubeconfig', value: 'FILE', help: 'path of the kubeconfig', isFile: true },
  { name: 'cluster', value: 'NAME', help: 'cluster of the kubeconfig' },
  { name: 'user', value: 'NAME', help: 'user of the kubeconfig' },
  { name: 'as', value: 'USER', help: 'user to impersonate; not for the HTTP API' },
  { name: 'request-timeout', value: 'TIME', help: 'time for one request of kubectl, such as 30s' },
];

export const HELP: FlagDefinition = { name: 'help', short: 'h', help: 'print this' };

/** For commands that call the HTTP API. */
export const API_FLAGS: readonly FlagDefinition[] = [
  {
    name: 'server',
    value: 'URL',
    help: "address of Davit's HTTP API (DAVIT_SERVER); by default requests go to the API server with the kubeconfig's credentials",
  },
  { name: 'davit-namespace', value: 'NAME', help: 'namespace in which Davit is installed; davit-system by default' },
  { name: 'token', value: 'TOKEN', help: "Kubernetes token (DAVIT_TOKEN); by default the kubeconfig's" },
];

export const OUTPUT: FlagDefinition = {
  name: 'output',
  short: 'o',
  value: 'FORMAT',
  help: 'json prints one JSON document instead of text',
  choices: ['json'],
};

/** In seconds. `least`: 1 for what is worth nothing, or does harm, if it ends at once. */
export function timeoutFlag(seconds: number, what = 'give up after this time', least = 0): FlagDefinition {
  return { name: 'timeout', value: 'SECONDS', help: `${what}; ${seconds} by default`, isNumber: true, least };
}

/** The flag --timeout, without a default. */
export function ownTimeoutFlag(what: string): FlagDefinition {
  return { name: 'timeout', value: 'SECONDS', help: `${what}; no limit by default`, isNumber: true, least: 1 };
}

export const DEPLOYMENT: WordDefinition = { word: 'NAME', names: 'deployment' };

/** What a command has done. */
export interface Done {
  /** For people. */
  readonly says: string;
  /** The result for programs, with --output json. */
  readonly result: Readonly<Record<string, unknown>>;
}

/** Prints it, as --output asks for. */
export function tell(
  { say, report, suggested }: Pick<Context, 'say' | 'report' | 'suggested'>,
  { says, result }: Done,
): void {
  say(withFlags(says, suggested));
  report(result);
}

/** A command that a sentence suggests, without flags that select a cluster, but for the -n of a condition's message. */
const SUGGESTED = new RegExp(
  `${PROGRAM} [a-z]+(?= |$)(?![^\\n]* --(?:namespace|context|kubeconfig)=)(?=(?:(?!\\. )[^\\n])*( -n )|)`,
  'gm',
);

/** The sentence, whose commands reach what the caller reached. `suggested`: as Context has it. */
export function withFlags(sentence: string, suggested: string): string {
  if (suggested === '') return sentence;
  const others = suggested.replace(/ --namespace=\S*/, '');
  return sentence.replaceAll(SUGGESTED, (command, own) => `${command}${own === undefined ? suggested : others}`);
}

/** Prints `value` as JSON if --output asks for it, otherwise the lines. */
export function print({ flags, say, report }: Context, value: unknown, lines: () => readonly string[]): void {
  if (flags.text('output') === 'json') report(value);
  else for (const line of lines()) say(line);
}

/** Prints a list. If it is empty, prints what to do next on standard error, only for people. */
export function printList<T>(
  context: Context,
  rows: readonly T[],
  lines: (rows: readonly T[]) => readonly string[],
  ifEmpty: string,
): void {
  print(context, rows, () => (rows.length === 0 ? [] : lines(rows)));
  if (rows.length === 0 && context.flags.text('output') !== 'json') context.warn(withFlags(ifEmpty, context.suggested));
}
