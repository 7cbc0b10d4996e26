// Reads a command line by the definition of its command, and refuses what the definition does not have.

import { parseArgs } from 'node:util';
import { mostSimilar } from '../../runtime/similar.ts';
import {
  CLUSTER_FLAGS,
  type Command,
  type FlagDefinition,
  type Flags,
  HELP,
  Misuse,
  type WordDefinition,
} from './command.ts';
import { needName, repeatable } from './needed-names.ts';
import { PROGRAM } from './program.ts';
import { synopsis } from './usage.ts';

export interface Invocation {
  readonly flags: Flags;
  readonly words: readonly string[];
  /** What follows `--`. */
  readonly rest: readonly string[];
}

const COMMON = [...CLUSTER_FLAGS, HELP];

/** The first word, with the words and flags around it. Flags of the command may not precede it. Undefined if there is no word. */
export function commandWord(args: readonly string[]): { readonly word: string; readonly others: string[] } | undefined {
  const { tokens } = parseArgs({
    args: [...args],
    options: optionsOf(COMMON),
    allowPositionals: true,
    strict: false,
    tokens: true,
  });
  const found = tokens.find(({ kind }) => kind === 'positional' || kind === 'option-terminator');
  if (found?.kind !== 'positional') return undefined;
  return { word: found.value, others: args.toSpliced(found.index, 1) };
}

/** Throws Misuse. Words are not checked if help is asked for. */
export function parse(command: Command, args: readonly string[]): Invocation {
  const definitions = [...command.flags, ...COMMON];
  const { values, tokens } = parsed(command, definitions, args);
  const end = tokens.find(({ kind }) => kind === 'option-terminator')?.index ?? Number.POSITIVE_INFINITY;
  const positionals = tokens.filter((token) => token.kind === 'positional');
  const isSplit = command.rest !== undefined;
  const words = positionals.filter(({ index }) => !isSplit || index < end).map(({ value }) => value);
  const rest = positionals.filter(({ index }) => isSplit && index > end).map(({ value }) => value);
  for (const definition of definitions) checkValue(definition, values[definition.name]);
  if (values['help'] !== true) checkWords(command, words);
  return { flags: flagsOf(values), words, rest };
}

type Value = string | boolean | undefined | (string | boolean)[];
type Values = Readonly<Record<string, Value>>;
type Token =
  | { readonly kind: 'option' | 'option-terminator'; readonly index: number }
  | { readonly kind: 'positional'; readonly index: number; readonly value: string };

function parsed(
  command: Command,
  definitions: readonly FlagDefinition[],
  args: readonly string[],
): { readonly values: Values; readonly tokens: readonly Token[] } {
  try {
    return parseArgs({ args: [...args], options: optionsOf(definitions), allowPositionals: true, tokens: true });
  } catch (error) {
    const { message } = error as Error;
    const [, unknown] = /^Unknown option '(-[^']*)'/.exec(message) ?? [];
    const [, doubtful] = /^Option '(-[^']*)' argument is ambiguous/.exec(message) ?? [];
    if (doubtful !== undefined)
      throw new Misuse(`The value of ${doubtful} begins with "-". If this is intended, write ${doubtful}=VALUE.`);
    if (unknown === undefined) throw new Misuse(message.split('\n')[0]);
    const known = definitions.map(({ name }) => `--${name}`);
    const why = unknown === '-o' || unknown === '--output' ? command.noJson : undefined;
    if (why !== undefined) throw new Misuse(`${PROGRAM} ${command.name} has no flag ${unknown}: ${why}.`);
    const own = command.flags.map(({ name }) => `--${name}`).join(', ');
    throw new Misuse(
      `${PROGRAM} ${command.name} has no flag ${unknown}.${meant(unknown, known)} Its flags: ${own || 'none but those of kubectl'}.`,
    );
  }
}

type Options = Record<string, { type: 'string' | 'boolean'; short?: string; multiple?: true }>;

function optionsOf(definitions: readonly FlagDefinition[]): Options {
  return Object.fromEntries(
    definitions.map(({ name, short, value, isRepeated }) => [
      name,
      {
        type: value === undefined ? 'boolean' : 'string',
        ...(short !== undefined && { short }),
        ...(isRepeated && { multiple: true }),
      } as const,
    ]),
  );
}

/** ` Did you mean X?`, or nothing. */
export function meant(word: string, known: readonly string[]): string {
  const similar = mostSimilar(word, known);
  return similar === undefined ? '' : ` Did you mean ${similar}?`;
}

/** Limit for a number without one of its own: fields of Kubernetes objects have 32 bits. */
const MOST = 999_999_999;

function checkValue(definition: FlagDefinition, value: Value): void {
  for (const one of Array.isArray(value) ? value : [value]) if (typeof one === 'string') checkText(definition, one);
}

function checkText({ name, choices, isNumber, least = 0, most, value: shown }: FlagDefinition, value: string): void {
  if (value === '') throw new Misuse(`--${name} is empty. Give it a value, or leave it out.`);
  const unit = shown === 'SECONDS' ? ' of seconds' : '';
  if (isNumber && !/^\d+$/.test(value)) throw new Misuse(`--${name} must be a whole number${unit}, not "${value}".`);
  if (isNumber && Number(value) < least) throw new Misuse(`--${name} must be at least ${least}, not ${value}.`);
  const limit = most ?? (isNumber ? MOST : undefined);
  if (limit !== undefined && Number(value) > limit)
    throw new Misuse(`--${name} must be at most ${limit}, not ${value}.`);
  if (choices?.includes(value) === false)
    throw new Misuse(`--${name} must be one of ${choices.join(', ')}, not "${value}".`);
}

function checkWords(command: Command, words: readonly string[]): void {
  const { words: definitions, unrepeated } = command;
  const noName = withoutName(command, words);
  const missing = noName ?? definitions.slice(words.length).find(({ need }) => need === undefined);
  if (missing) throw new Misuse(`Which ${nounOf(missing)}? ${PROGRAM} ${synopsis(command)}`);
  const isOpen = definitions.at(-1)?.need === 'any number';
  const unexpected = words.slice(definitions.length).map(repeatable).join(' ');
  if (unexpected !== '' && !isOpen)
    throw new Misuse(`${tooMany(command)} ${unrepeated ?? `Unexpected: "${unexpected}".`}`);
  for (const [at, { choices, names, word: shown }] of definitions.entries()) {
    const word = words[at];
    if (word !== undefined && names === 'deployment') needName(word, shown);
    if (word !== undefined && choices?.includes(word) === false)
      throw new Misuse(
        `"${repeatable(word)}" must be one of ${choices.join(', ')}.${meant(word, choices)} ${PROGRAM} ${synopsis(command)}`,
      );
  }
}

/** The first word, where it was forgotten: the action stands in its place, and something else in the place of the action. */
function withoutName({ words: [name, action] }: Command, words: readonly string[]): WordDefinition | undefined {
  const { choices } = action ?? {};
  const [first = '', second] = words;
  const isForgotten = choices?.includes(first) === true && second !== undefined && !choices.includes(second);
  return isForgotten ? name : undefined;
}

function tooMany(command: Command): string {
  const [only, another] = command.words;
  if (only === undefined) return `${PROGRAM} ${command.name} takes no name.`;
  return another === undefined ? `Name only one ${nounOf(only)}.` : `Usage: ${PROGRAM} ${synopsis(command)}.`;
}

function nounOf({ names, word }: WordDefinition): string {
  return names === 'other' ? word : names;
}

function flagsOf(values: Values): Flags {
  const text = (name: string): string | undefined => {
    const value = values[name];
    return typeof value === 'string' ? value : undefined;
  };
  return {
    text,
    number(name) {
      const value = text(name);
      return value === undefined ? undefined : Number(value);
    },
    texts(name) {
      const given = values[name];
      return Array.isArray(given) ? given.filter((value) => typeof value === 'string') : [];
    },
    has: (name) => values[name] !== undefined,
  };
}
