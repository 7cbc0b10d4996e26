// Renders Dockerfile instructions. All text from a configuration file is escaped or rejected here, so that it cannot
// end its instruction and start another one. Source: the parser of BuildKit's Dockerfile frontend.

import { PlanFailure, shown } from './failure.ts';

/**
 * The longest line, with its end, that BuildKit's parser reads (bufio.MaxScanTokenSize). It is shorter than the longest variable of
 * Linux (MAX_ARG_STRLEN).
 */
const MAX_LINE_BYTES = 65_535;
/** Control characters and line breaks. A line break would end an instruction. */
const CONTROL = /[\u0000-\u001f\u007f\u0085\u2028\u2029]/;
/** Characters with a meaning in COPY: variables (`$`), patterns (`*?[]`), escapes (`\`), heredocs (`<`) and quotes. */
const NOT_IN_PATHS = /[$*?[\]\\"'`<>]/;

/** Throws PlanFailure if `text` has a control character. `what` names the key of the configuration file. */
export function refuseControls(what: string, text: string): void {
  if (CONTROL.test(text))
    throw new PlanFailure(
      'ConfigurationInvalid',
      `${what} has a line break or another control character: ${shown(text)}.`,
    );
}

/** Quotes `text` as one word of a shell command line. Throws PlanFailure for control characters. */
export function shellWord(what: string, text: string): string {
  refuseControls(what, text);
  return singleQuoted(text);
}

/**
 * Shells and ENV both take text in single quotes literally. A single quote in the text is escaped between two quoted
 * parts.
 */
function singleQuoted(text: string): string {
  if (/^[A-Za-z0-9_./:@%+=,-]+$/.test(text)) return text;
  return `'${text.toWellFormed().replaceAll("'", `'\\''`)}'`;
}

/**
 * Returns `ENV NAME='value'`. The caller has validated the name. Throws PlanFailure if the value is too large or has
 * control characters.
 */
export function env(what: string, name: string, value: string): string {
  refuseControls(what, value);
  return checkedLine(what, name, `ENV ${name}=${singleQuoted(value)}`);
}

/**
 * Returns `ENV NAME='{"a": ...}'`. Single quotes and characters beyond ASCII are escaped in the JSON. Throws
 * PlanFailure if it is too large.
 */
export function jsonEnv(what: string, name: string, value: unknown): string {
  const text = JSON.stringify(value).replace(
    /['\u007f-\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return checkedLine(what, name, `ENV ${name}='${text}'`);
}

function checkedLine(what: string, name: string, line: string): string {
  const bytes = new TextEncoder().encode(line).length + 1;
  if (bytes > MAX_LINE_BYTES)
    throw new PlanFailure(
      'ConfigurationTooLarge',
      `${what} becomes the environment variable ${name}, a line of ${bytes} bytes, but a Dockerfile allows ${MAX_LINE_BYTES}. Shorten it.`,
    );
  return line;
}

/**
 * Returns a path that COPY and WORKDIR read as one file or folder, not as a pattern. Throws PlanFailure for any other
 * path.
 */
function plainPath(what: string, path: string): string {
  if (CONTROL.test(path) || NOT_IN_PATHS.test(path))
    throw new PlanFailure(
      'ConfigurationInvalid',
      `${what} names ${shown(path)}. A path in a build must not contain control characters or any of $ * ? [ ] \\ < > or quotes. Rename it.`,
    );
  return path.toWellFormed();
}

/** Returns `COPY`. `sources` are relative to the workspace's root, where '' is the root. `owner` is `uid:gid`. */
export function copy(what: string, sources: readonly string[], target: string, owner?: string): string {
  const from = sources.map((source) => (source === '' ? '.' : `./${plainPath(what, source)}`));
  const words = [...from, target];
  const flags = owner === undefined ? '' : `--chown=${owner} `;
  return `COPY ${flags}${words.every((word) => !/\s/.test(word)) ? words.join(' ') : JSON.stringify(words)}`;
}

export function run(command: string): string {
  return `RUN ${command}`;
}

/**
 * Returns `RUN` for a command of the deployment. The exec form is used if BuildKit's parser could change the shell
 * form's meaning.
 */
export function runCustom(what: string, command: string): string {
  if (command.includes('\u0000')) refuseControls(what, command);
  if (/^[^-[\s\\<][^\\<]*$/.test(command) && !CONTROL.test(command)) return run(command);
  return run(JSON.stringify(['/bin/sh', '-c', command.toWellFormed()]));
}

/** Returns what starts the image, whatever its base image starts. */
export function starting(command: readonly string[]): string[] {
  return ['ENTRYPOINT []', `CMD ${JSON.stringify(command)}`];
}

export function workdir(what: string, path: string): string {
  return `WORKDIR ${plainPath(what, path)}`;
}

/** Converts a name to a folder name in the image that never needs quoting, of 1 to 100 characters. */
export function imageName(name: string): string {
  const plain = name.replace(/[^A-Za-z0-9._-]/g, '-').replace(/^[.-]+/, '');
  return plain === '' ? 'app' : plain.slice(0, 100);
}
