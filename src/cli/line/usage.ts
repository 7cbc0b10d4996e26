// The help, made from the definitions of commands.

import { EXIT_CODES } from '../transport/exit-codes.ts';
import { CLUSTER_FLAGS, type Command, type FlagDefinition, HELP, type WordDefinition } from './command.ts';
import { PROGRAM } from './program.ts';

/** Widest line of prose, in characters. */
const WIDTH = 118;
const MOST_INDENT = 34;

/** `scale NAME [PART=N|N..M ...]`, without the program. */
export function synopsis({ name, words, rest }: Command): string {
  return [name, ...words.map(wordOf), ...(rest === undefined ? [] : [`-- ${rest}`])].join(' ');
}

function wordOf({ word, need, choices }: WordDefinition): string {
  const shown = choices?.join('|') ?? word;
  return need === undefined ? shown : need === 'optional' ? `[${shown}]` : `[${shown} ...]`;
}

/** The list of all commands. */
export function usage(commands: readonly Command[]): string {
  const codes = Object.values(EXIT_CODES)
    .map(({ code, short }) => `${code} ${short}`)
    .join(', ');
  return [
    `${PROGRAM}: deploys, shows and manages deployments`,
    '',
    ...rows(commands.filter(({ isHidden }) => !isHidden).map((command) => [synopsis(command), command.purpose])),
    '',
    'Every command takes these flags, which are passed to kubectl:',
    ...rows(CLUSTER_FLAGS.map((flag) => [flagOf(flag), flag.help])),
    '',
    `Flags and examples of a command: ${PROGRAM} COMMAND --help. Its version: ${PROGRAM} --version`,
    `Exit codes: ${codes}. exec and run end with the exit code of their command.`,
  ].join('\n');
}

/** The help of one command. */
export function helpOf(command: Command): string {
  const { flags, about, noJson } = command;
  return [
    `Usage: ${PROGRAM} ${synopsis(command)}${flags.length > 0 ? ' [flags]' : ''}`,
    '',
    `${command.purpose.charAt(0).toUpperCase()}${command.purpose.slice(1)}.`,
    ...(about === undefined ? [] : ['', paragraphs(about.replaceAll('PROGRAM', PROGRAM))]),
    '',
    'Flags:',
    ...rows([...flags, HELP].map((flag) => [flagOf(flag), flag.help])),
    '',
    ...(noJson === undefined ? [] : [`No --output json: ${noJson}.`, '']),
    `Passed to kubectl: ${CLUSTER_FLAGS.map(({ name }) => `--${name}`).join(', ')}`,
  ].join('\n');
}

/** Prose is wrapped; paragraphs that are indented are examples. */
function paragraphs(text: string): string {
  return text
    .split('\n\n')
    .map((one) => (one.startsWith('  ') ? one : wrapped(one.replaceAll('\n', ' '), WIDTH).join('\n')))
    .join('\n\n');
}

function flagOf({ name, short, value, choices }: FlagDefinition): string {
  const shown = value === undefined ? '' : ` ${choices?.join('|') ?? value}`;
  return `${short === undefined ? '' : `-${short}, `}--${name}${shown}`;
}

/** Two columns. A long first column has a line of its own. */
function rows(pairs: readonly (readonly [string, string])[]): string[] {
  const indent = Math.min(MOST_INDENT, Math.max(...pairs.map(([first]) => first.length)) + 4);
  return pairs.flatMap(([first, second]) => {
    const lines = wrapped(second, WIDTH - indent);
    const beginning = `  ${first}`.padEnd(indent);
    const isLong = beginning.length > indent || !beginning.endsWith(' ');
    const rest = (isLong ? lines : lines.slice(1)).map((line) => `${' '.repeat(indent)}${line}`);
    return isLong ? [beginning, ...rest] : [`${beginning}${lines[0] ?? ''}`, ...rest];
  });
}

function wrapped(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length < width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
