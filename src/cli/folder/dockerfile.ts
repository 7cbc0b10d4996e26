// What a Dockerfile says about the container that it makes: its port and its health path. Pure.

import { HEALTH_PATH_PATTERN } from '../../kinds/runtime-part.ts';
import { argumentsOf, expanded, type Instruction, instructionsOf } from '../../kinds/source-files.ts';

/** A value, and which words of the file it is from. */
export interface Found<T> {
  readonly value: T;
  readonly from: string;
}

export interface ContainerFacts {
  readonly port?: Found<number> | undefined;
  readonly healthPath?: Found<string> | undefined;
  /** Further ports that it exposes. */
  readonly otherPorts: readonly number[];
}

interface Health {
  /** Undefined if it cannot be known from the text. */
  readonly port: number | undefined;
  readonly path: string;
}

/** Only the last stage counts. What depends on a variable without a default is left out. */
export function containerFacts(text: string): ContainerFacts {
  const instructions = instructionsOf(text);
  const values = valuesIn(instructions);
  const last = instructions.slice(instructions.findLastIndex(({ name }) => name === 'FROM') + 1);
  const rests = (wanted: string): string[] => last.filter(({ name }) => name === wanted).map(({ rest }) => rest);
  const exposed = rests('EXPOSE').flatMap((rest) => rest.split(/\s+/).flatMap((word) => portOf(word, values) ?? []));
  const health = healthIn(rests('HEALTHCHECK').at(-1) ?? '', values);
  const command = [...rests('ENTRYPOINT').slice(-1), ...rests('CMD').slice(-1)].join(' ');
  const isHealthExposed = health?.port !== undefined && exposed.includes(health.port);
  const port = firstOf<number>([
    [isHealthExposed ? health.port : exposed[0], 'EXPOSE'],
    [health?.port, 'HEALTHCHECK'],
    [portArgument(command), 'the command'],
    [portOf(values.get('PORT') ?? '', values), 'ENV PORT'],
  ]);
  const isOfPort = health !== undefined && (health.port === undefined || health.port === port?.value);
  return {
    port,
    healthPath: isOfPort ? { value: health.path, from: 'HEALTHCHECK' } : undefined,
    otherPorts: [...new Set(exposed)].filter((one) => one !== port?.value),
  };
}

/** The port that a command line names, as in `--port 3000`, `-p=3000`, `--bind 0.0.0.0:3000` and `PORT=3000`. */
export function portArgument(command: string): number | undefined {
  const words = command.replaceAll(/[[\]",']/g, ' ');
  const [, port] =
    /(?:^|\s)(?:PORT=|(?:--port|-p|--bind|-b|--listen)(?:=|\s+)(?:[\w.-]*:)?)(\d{2,5})(?=\s|$)/.exec(words) ?? [];
  return port === undefined ? undefined : portOf(port, new Map());
}

function firstOf<T>(candidates: readonly (readonly [value: T | undefined, from: string])[]): Found<T> | undefined {
  const [value, from = ''] = candidates.find(([one]) => one !== undefined) ?? [];
  return value === undefined ? undefined : { value, from };
}

/** Values of ARG and ENV. Those of earlier stages may be inherited by FROM. */
function valuesIn(instructions: readonly Instruction[]): Map<string, string> {
  const values = new Map<string, string>();
  for (const { name, rest } of instructions) {
    if (name !== 'ARG' && name !== 'ENV') continue;
    // ENV has an old form without the sign of equality.
    const pairs = rest.includes('=') ? argumentsOf(rest) : [rest.split(/\s+(.*)/s)];
    for (const [key = '', value] of pairs) if (value) values.set(key, expanded(value, values) ?? value);
  }
  return values;
}

function portOf(word: string, values: ReadonlyMap<string, string>): number | undefined {
  const [, digits] = /^(\d{1,5})(?:\/tcp)?$/i.exec(expanded(word, values) ?? '') ?? [];
  const port = Number(digits);
  return port >= 1 && port <= 65_535 ? port : undefined;
}

/** Characters of a HEALTHCHECK that are searched for an address. */
const LONGEST_CHECK = 1000;
const OWN_ADDRESS =
  /http:\/\/(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\])(?::(\d+|\$\w+|\$\{[^}]*\}))?(\/[^\s"'`|;,)\]\\$]*)?(?=[\s"'`|;,)\]\\]|$)/;

function healthIn(check: string, values: ReadonlyMap<string, string>): Health | undefined {
  const [address, port, path = '/'] = OWN_ADDRESS.exec(check.slice(0, LONGEST_CHECK)) ?? [];
  if (address === undefined || !new RegExp(HEALTH_PATH_PATTERN).test(path)) return undefined;
  return { port: port === undefined ? 80 : portOf(port, values), path };
}
