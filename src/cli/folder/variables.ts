// Plain variables as people write them: KEY=VALUE, and the lines of a .env file. Pure but for the reading of the file.

import { readFile } from 'node:fs/promises';
import type { PlainVariable } from '../../kinds/plain-variables.ts';
import { InvalidFile, Misuse } from '../line/command.ts';
import { needVariableName } from '../line/needed-names.ts';

/** The variables of a .env file, if there is one, and of words such as KEY=VALUE, which come after it. Throws Misuse and InvalidFile. */
export async function variablesFrom(file: string | undefined, words: readonly string[]): Promise<PlainVariable[]> {
  return [...(file === undefined ? [] : await variablesIn(file)), ...variablesOf(words)];
}

/** The variables of words such as KEY=VALUE. Throws Misuse. */
function variablesOf(words: readonly string[]): PlainVariable[] {
  const names = new Set<string>();
  return words.map((word) => {
    const at = word.indexOf('=');
    if (at < 1) throw new Misuse(`"${word}" does not set a variable. Write KEY=VALUE; KEY= sets an empty value.`);
    const name = word.slice(0, at);
    needVariableName(name);
    if (names.has(name)) throw new Misuse(`${name} is set twice.`);
    names.add(name);
    return { name, value: word.slice(at + 1) };
  });
}

/** The variables of a .env file, or of what `input` reads, in its order. Throws InvalidFile, and Misuse if it cannot be read. */
export async function variablesIn(file: string, input?: () => Promise<Buffer>): Promise<PlainVariable[]> {
  const path = input ? 'standard input' : file;
  let text: string;
  try {
    text = input ? (await input()).toString('utf8') : await readFile(file, 'utf8');
  } catch (error) {
    throw new Misuse(`${path} cannot be read: ${(error as Error).message}`);
  }
  const { readEnvText } = await import('../../kinds/env-file.ts');
  const read = readEnvText(text, path);
  if ('errors' in read) throw new InvalidFile(read.errors.join('\n'));
  if (read.variables.length > 0) return [...read.variables];
  throw new InvalidFile(`${path} has no line such as KEY=VALUE.`);
}
