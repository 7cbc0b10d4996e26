// The values of secret variables that a deploy sends: those that the command line names and does not have, and those that somebody is
// asked for because davit.yaml names them and the deployment lacks them.

import { type Context, Misuse, type Terminal } from '../line/command.ts';
import { needVariableName } from '../line/needed-names.ts';
import { Failure } from '../transport/kubectl.ts';
import { variablesIn } from './variables.ts';

export interface SecretValue {
  readonly name: string;
  readonly value: string;
}

/** Value of --secrets-file for standard input. */
const PIPED = '-';

/** The values from --secrets-file and --secret, which takes precedence. Throws Misuse and InvalidFile, without a value in their messages. */
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
      `The value of ${name} must not be an argument: other users and the history of the shell can see it. --secret ${name} takes it from the environment variable ${name}.`,
    );
  needVariableName(name);
  const found = environment[name];
  if (found === undefined)
    throw new Misuse(
      `The environment has no variable ${name}, from which --secret ${name} takes the value. Nothing was changed.`,
    );
  return { name, value: found };
}

/**
 * The values of secrets that the file names and nobody has given yet, as somebody types them, without echo. Throws Misuse for an empty
 * value, and Failure where nobody can be asked: a revision would begin without them.
 */
export async function askedSecrets(
  name: string,
  missing: readonly string[],
  terminal: Pick<Terminal, 'isInteractive' | 'ask'> | undefined,
): Promise<readonly SecretValue[]> {
  if (missing.length > 0 && !terminal?.isInteractive) throw new Failure(missingSentence(name, missing));
  const asked: SecretValue[] = [];
  for (const key of missing) {
    const value = (await terminal?.ask(`${name} lacks the secret ${key}. Its value, which is not shown: `, true)) ?? '';
    if (value === '') throw new Misuse(`The value of ${key} is empty: nothing was changed.`);
    asked.push({ name: key, value });
  }
  return asked;
}

function missingSentence(name: string, missing: readonly string[]): string {
  return [
    `${name} lacks secrets that its file names: ${missing.join(', ')}. Nothing was changed. Give the values in this command:`,
    `  ${missing.map((key) => `--secret ${key}`).join(' ')}, each from the environment variable of its name`,
    '  --secrets-file FILE, from lines such as KEY=VALUE; - reads standard input',
  ].join('\n');
}
