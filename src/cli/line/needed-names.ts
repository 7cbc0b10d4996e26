// Names that a command line gives, checked before anything is asked of a cluster.

import {
  DOUBLE_HYPHEN_MESSAGE,
  IMAGE_MAX_LENGTH,
  IMAGE_MESSAGE,
  IMAGE_PATTERN,
  IMPOSSIBLE_NAME,
  IMPOSSIBLE_NAME_MESSAGE,
  NAME_LENGTH_MESSAGE,
  NAME_MAX_LENGTH,
  NAME_MESSAGE,
  NAME_PATTERN,
  VARIABLE_NAME_MESSAGE,
  VARIABLE_NAME_PATTERN,
} from '../../kinds/name-patterns.ts';
import { Misuse } from './command.ts';

const NAME = new RegExp(NAME_PATTERN);
const VARIABLE = new RegExp(VARIABLE_NAME_PATTERN);
const IMAGE = new RegExp(IMAGE_PATTERN);

/** A word of the command line as a refusal repeats it: the value of `KEY=value` may be a secret. */
export function repeatable(word: string): string {
  return word.replace(/=.+/s, '=…');
}

/** Throws Misuse for what no deployment can be called. `what`: how the sentence names it, such as --name. */
export function needName(name: string, what: string): void {
  const words = wordsOn(name);
  if (words !== undefined) throw new Misuse(`${what} "${repeatable(name)}": ${words}.`);
}

function wordsOn(name: string): string | undefined {
  if (name === IMPOSSIBLE_NAME) return IMPOSSIBLE_NAME_MESSAGE;
  if (!NAME.test(name)) return NAME_MESSAGE;
  if (name.length > NAME_MAX_LENGTH) return NAME_LENGTH_MESSAGE;
  return name.includes('--') ? DOUBLE_HYPHEN_MESSAGE : undefined;
}

/** Throws Misuse for what no variable can be called. `NAME=value` is none, and its value is not repeated. */
export function needVariableName(name: string): void {
  if (!VARIABLE.test(name)) throw new Misuse(`"${name}" ${VARIABLE_NAME_MESSAGE}. Nothing was changed.`);
}

/** Throws Misuse for what no deployment can have as its image. */
export function needImage(image: string): void {
  if (IMAGE.test(image) && image.length <= IMAGE_MAX_LENGTH) return;
  throw new Misuse(`--image "${image}": ${IMAGE_MESSAGE}.`);
}
