// The values of secret variables that a deploy sends: those that the command line names and does not have, and those that somebody is
// asked for because davit.yaml names them and the deployment lacks them.

import type { DeploymentFile } from '../../deployments/http/deployment-file.ts';
import { type Context, Misuse, type Terminal } from '../line/command.ts';
import { needVariableName } from '../line/needed-names.ts';
import { PROGRAM } from '../line/program.ts';
import { Failure } from '../transport/kubectl.ts';
import { variablesIn } from './variables.ts';

export interface SecretValue {
  readonly name: string;
  readonly value: string;
}

/** Value of --secrets-file for standard input. */
const PIPED = '-';

/** Those of --secrets-file, and of --secret, which win. Throws Misuse and InvalidFile, without a value in their words. */
export async function givenSecrets({
  flags,
  environment,
  terminal,
}: Pick<Context, 'flags' | 'environment' | 'terminal'>): Promise<SecretValue[]> {
  const named = flags.texts('secret').map((word) => fromEnvironment(word, environment));
  const file = flags.text('secrets-file');
  const read = file === undefined ? [] : await variablesIn(file, file === PIPED ? terminal.input : undefined);
  const all = [...new Map([...read, ...named].map(({ name, value }) => [name, value]))];
  const empty = all.find(([, value]) => value === '');
  if (empty) throw new Misuse(`The value of ${empty[0]} is empty: nothing was changed.`);
  return all.map(([name, value]) => ({ name, value }));
}

function fromEnvironment(word: string, environment: NodeJS.ProcessEnv): SecretValue {
  const [name = '', ...value] = word.split('=');
  if (value.length > 0)
    throw new Misuse(
      `The value of ${name} must not be an argument, which other users and the history of the shell see. --secret ${name} takes it from the environment variable ${name}.`,
    );
  needVariableName(name);
  const found = environment[name];
  if (found === undefined)
    throw new Misuse(
      `The environment has no variable ${name}, whose value --secret ${name} takes. Nothing was changed.`,
    );
  return { name, value: found };
}

interface SecretsNeeded {
  /** The name of the deployment. */
  readonly name: string;
  readonly file: DeploymentFile | undefined;
  /** Those that the deployment has; undefined if there is none of that name. */
  readonly existing: readonly Pick<SecretValue, 'name'>[] | undefined;
  readonly given: readonly SecretValue[] | undefined;
  /** Flags of suggested commands, each after a space. */
  readonly suggested: string;
}

/**
 * The values to send: those that are given, and those that the file names and the deployment lacks, as somebody types them, without echo.
 * Throws Misuse for an empty value, and Failure where nobody can be asked: a revision would begin without them.
 */
export async function neededSecrets(
  { name, file, existing, given = [], suggested }: SecretsNeeded,
  terminal: Pick<Terminal, 'isInteractive' | 'ask'> | undefined,
): Promise<readonly SecretValue[]> {
  const there = new Set([...(existing ?? []), ...given].map((one) => one.name));
  const missing = (file?.secrets ?? []).filter((key) => !there.has(key));
  if (missing.length === 0) return given;
  if (!terminal?.isInteractive) throw new Failure(missingSentence(name, missing, existing && suggested));
  const asked: SecretValue[] = [];
  for (const key of missing) {
    // oxlint-disable-next-line no-await-in-loop -- one question after the other
    const value = await terminal.ask(`${name} lacks the secret ${key}. Its value, which is not shown: `, true);
    if (value === '') throw new Misuse(`The value of ${key} is empty: nothing was changed.`);
    asked.push({ name: key, value });
  }
  return [...given, ...asked];
}

/** `suggested`: undefined if there is no such deployment, whose secrets could be set. */
function missingSentence(name: string, missing: readonly string[], suggested: string | undefined): string {
  const list = missing.join(', ');
  const how = [
    'Give the values in this command:',
    `  ${missing.map((key) => `--secret ${key}`).join(' ')}, each from the environment variable of its name`,
    '  --secrets-file FILE, from lines such as KEY=VALUE; - reads standard input',
  ];
  if (suggested === undefined)
    return `${name} does not exist, and no value was given of secrets that its file names: ${list}. Nothing was created. ${how.join('\n')}`;
  const commands = missing.map((key) => `  ${PROGRAM} secrets ${name} set ${key}${suggested}`);
  return [
    `${name} lacks secrets that its file names: ${list}. Nothing was uploaded. ${how.join('\n')}`,
    'Or set them first:',
    ...commands,
  ].join('\n');
}
