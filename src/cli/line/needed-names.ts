// Names that a command line gives, checked before anything is asked of a cluster.

import {
  IMAGE_MAX_LENGTH,
  IMAGE_PATTERN,
  IMPOSSIBLE_NAME,
  NAME_MAX_LENGTH,
  NAME_PATTERN,
  VARIABLE_NAME_PATTERN,
} from '../../schema/name-patterns.ts';
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
  if (name === IMPOSSIBLE_NAME) throw new Misuse(`${what} must not be ${name}: no deployment can have this name.`);
  if (NAME.test(name) && name.length <= NAME_MAX_LENGTH && !name.includes('--')) return;
  throw new Misuse(
    `${what} must be the name of a deployment, not "${repeatable(name)}": a lowercase letter, then lowercase letters, digits and single hyphens, with no hyphen at the end, and at most ${NAME_MAX_LENGTH} characters.`,
  );
}

/** Throws Misuse for what no variable can be called. `NAME=value` is none, and its value is not repeated. */
export function needVariableName(name: string): void {
  if (VARIABLE.test(name)) return;
  throw new Misuse(
    `"${name}" cannot be the name of a variable: it has letters, digits and _, and begins with no digit. Nothing was changed.`,
  );
}

/** Throws Misuse for what no deployment can have as its image. */
export function needImage(image: string): void {
  if (IMAGE.test(image) && image.length <= IMAGE_MAX_LENGTH) return;
  throw new Misuse(
    `--image must be an image reference such as registry.example.com/team/shop:1.5.0, not "${image}": without spaces, its path in lower case, and with no empty tag.`,
  );
}
