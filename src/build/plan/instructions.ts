// Text of a Dockerfile. Whatever comes from a configuration file passes through here, so that none of it can end its
// instruction and begin another. Source: the parser of BuildKit's Dockerfile frontend.

import { PlanFailure, shown } from './failure.ts';

/** Linux lets no single variable be longer than this, name and closing zero included (MAX_ARG_STRLEN). */
const MAX_VARIABLE_BYTES = 128 * 1024;
/** A line break ends an instruction. The others have no place in a name or a value either. */
const CONTROL = /[\u0000-\u001f\u007f\u0085\u2028\u2029]/;
/** What COPY expands (`$`), matches (`*?[`), unescapes (`\`) or takes for a heredoc (`<`), and quotes. */
const NOT_IN_PATHS = /[$*?[\]\\"'`<>]/;

export function refuseControls(what: string, text: string): void {
  if (CONTROL.test(text))
    throw new PlanFailure(
      'ConfigurationInvalid',
      `${what} has a line break or another control character: ${shown(text)}.`,
    );
}

/** One word of a shell's command line, whatever is in it. */
export function shellWord(what: string, text: string): string {
  refuseControls(what, text);
  return singleQuoted(text);
}

/** What single quotes hold is literal to a shell and to ENV alike; a quote itself stands between two quoted pieces. */
function singleQuoted(text: string): string {
  if (/^[A-Za-z0-9_./:@%+=,-]+$/.test(text)) return text;
  return `'${text.toWellFormed().replaceAll("'", `'\\''`)}'`;
}

/** `ENV NAME='value'`. The name has been checked. */
export function env(what: string, name: string, value: string): string {
  refuseControls(what, value);
  return sized(what, name, value, `ENV ${name}=${singleQuoted(value)}`);
}

/** `ENV NAME='{"a": ...}'`: JSON in ASCII and without a single quote, which nothing in a Dockerfile can be mistaken for. */
export function jsonEnv(what: string, name: string, value: unknown): string {
  const text = JSON.stringify(value).replace(
    /['\u007f-\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return sized(what, name, text, `ENV ${name}='${text}'`);
}

function sized(what: string, name: string, value: string, line: string): string {
  const bytes = new TextEncoder().encode(`${name}=${value}`).length + 1;
  if (bytes > MAX_VARIABLE_BYTES)
    throw new PlanFailure(
      'ConfigurationTooLarge',
      `${what} becomes the environment variable ${name} of ${bytes} bytes, and Linux allows ${MAX_VARIABLE_BYTES}. Make it smaller.`,
    );
  return line;
}

/** `what` names the key that a path comes from. A path is one file or folder, never a pattern. */
function plainPath(what: string, path: string): string {
  if (CONTROL.test(path) || NOT_IN_PATHS.test(path))
    throw new PlanFailure(
      'ConfigurationInvalid',
      `${what} names ${shown(path)}. A path that a build uses has no control characters and none of $ * ? [ ] \\ < > or quotes: rename it.`,
    );
  return path.toWellFormed();
}

/** Sources are relative to the workspace. `owner` gets what is copied. */
export function copy(what: string, sources: readonly string[], target: string, owner?: string): string {
  const from = sources.map((source) => (source === '' ? '.' : `./${plainPath(what, source)}`));
  const words = [...from, target];
  const flags = owner === undefined ? '' : `--chown=${owner} `;
  return `COPY ${flags}${words.every((word) => !/\s/.test(word)) ? words.join(' ') : JSON.stringify(words)}`;
}

export function run(command: string): string {
  return `RUN ${command}`;
}

/** A command of the deployment's own. What the shell form would read in another way is given in the exec form. */
export function runCustom(what: string, command: string): string {
  if (command.includes('\u0000')) refuseControls(what, command);
  if (/^[^-[\s\\<][^\\<]*$/.test(command) && !CONTROL.test(command)) return run(command);
  return run(JSON.stringify(['/bin/sh', '-c', command.toWellFormed()]));
}

export function workdir(what: string, path: string): string {
  return `WORKDIR ${plainPath(what, path)}`;
}

/** A folder's name in the image: of the characters that need no quoting anywhere. */
export function imageName(name: string): string {
  const plain = name.replace(/[^A-Za-z0-9._-]/g, '-').replace(/^[.-]+/, '');
  return plain === '' ? 'app' : plain.slice(0, 100);
}
