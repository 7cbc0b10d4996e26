// The variables of a deployment whose values are secret. Values come from a file, standard input or a prompt, and are never printed.

import { readFile } from 'node:fs/promises';
import type { Deployment } from '../../deploy/http/payloads.ts';
import {
  API_FLAGS,
  type Command,
  type Context,
  DEPLOYMENT,
  type Done,
  Misuse,
  OUTPUT,
  printList,
  type Terminal,
  tell,
} from '../line/command.ts';
import { needVariableName, repeatable } from '../line/needed-names.ts';
import { PROGRAM } from '../line/program.ts';
import { tableOf } from '../text/table.ts';
import type { HttpApi } from '../transport/http-api.ts';
import { needDeployment } from './build-log.ts';
import { CHANGES, newRevision } from './deployment-change.ts';

/** How a value is given instead of in an argument. */
const HOW = 'Leave it out and type it, pipe it, or name a file with --from-file.';

export const secretsCommand: Command = {
  name: 'secrets',
  purpose: 'list the names of its secret variables, set one, or remove one; no value is ever printed',
  words: [
    DEPLOYMENT,
    { word: 'ACTION', names: 'action', choices: ['list', 'set', 'unset'] },
    { word: 'KEY', names: 'other', need: 'optional' },
  ],
  unrepeated: `A value must not be an argument: other users and the history of the shell can see it. ${HOW}`,
  flags: [
    { name: 'from-file', value: 'FILE', help: 'set: read the value from this file, unchanged', isFile: true },
    OUTPUT,
    ...API_FLAGS,
  ],
  about: `set reads the value from --from-file, or from standard input without its final line end. On a terminal it asks, and
hides the input. KEY=- reads standard input even there. A value is never an argument, which other users
of the machine and the history of the shell could see. A different value creates a new revision.

  PROGRAM secrets shop list
  PROGRAM secrets shop set API_KEY
  PROGRAM secrets shop set API_KEY --from-file key.txt
  openssl rand -hex 32 | PROGRAM secrets shop set SESSION_KEY
  PROGRAM secrets shop unset API_KEY`,
  changes: CHANGES,
  async run(context) {
    const { words, flags } = context;
    const [name = '', action = '', key] = words;
    if (action !== 'set' && flags.has('from-file')) throw new Misuse('--from-file is for set.');
    if (action === 'list') return list(context, name, key);
    if (key === undefined) throw new Misuse(`Which variable? ${PROGRAM} secrets ${name} ${action} KEY`);
    return action === 'set' ? set(context, name, key) : unset(context, name, key);
  },
};

async function list(context: Context, name: string, unexpected: string | undefined): Promise<number> {
  if (unexpected !== undefined) throw new Misuse(`list takes no KEY. Unexpected: "${repeatable(unexpected)}".`);
  const { secrets, secret_references: references } = await needDeployment(await context.api(), name);
  const all = [
    ...secrets.map((one) => ({ name: one.name, secretName: null, secretKey: null, managed: true })),
    ...(references ?? []).map((one) => ({
      name: one.name,
      secretName: one.secret_name,
      secretKey: one.secret_key,
      /** It is a reference to a Secret of the team, and not of `secrets`. */
      managed: false,
    })),
  ].toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const placeOf = ({ managed, secretName, secretKey }: (typeof all)[number]): string =>
    managed ? 'Davit' : `Secret ${secretName}, key ${secretKey}`;
  printList(
    context,
    all,
    () => tableOf([['NAME', 'VALUE IS IN'], ...all.map((one) => [one.name, placeOf(one)])]),
    `${name} has no secret variables. To set one: ${PROGRAM} secrets ${name} set KEY`,
  );
  return 0;
}

async function set(context: Context, name: string, word: string): Promise<number> {
  const { flags, terminal } = context;
  const key = keyOf(word);
  const file = flags.text('from-file');
  if (file !== undefined && key !== word)
    throw new Misuse('--from-file and KEY=- both set the value: leave out one of them.');
  const value = file === undefined ? await typedValue(terminal, key, key !== word) : textOf(await bytesOf(file), file);
  if (value === '') throw new Misuse(`The value of ${key} is empty: nothing was changed.`);
  const api = await context.api();
  const before = await needDeployment(api, name);
  const after = await api.call<Deployment>('PUT', pathOf(before, key), { value });
  tell(context, await doneOf(api, { before, after, key, what: `${key} of ${name} is set` }));
  return 0;
}

async function unset(context: Context, name: string, word: string): Promise<number> {
  const key = keyOf(word);
  if (key !== word) throw new Misuse(`unset takes only the name: ${PROGRAM} secrets ${name} unset ${key}`);
  const api = await context.api();
  const before = await needDeployment(api, name);
  const after = await api.call<Deployment>('DELETE', pathOf(before, key));
  tell(context, await doneOf(api, { before, after, key, what: `${key} of ${name} is removed` }));
  return 0;
}

/** The name of KEY or KEY=-. The message of the refusal does not repeat a value. */
function keyOf(word: string): string {
  const [key = '', ...value] = word.split('=');
  if (value.length > 0 && value.join('=') !== '-')
    throw new Misuse(
      `The value of ${key} must not be an argument: other users and the history of the shell can see it. ${HOW}`,
    );
  needVariableName(key);
  return key;
}

async function typedValue(terminal: Terminal, key: string, isPiped: boolean): Promise<string> {
  if (terminal.isInteractive && !isPiped) return terminal.ask(`Value of ${key}: `, true);
  if (terminal.isTyped && !isPiped)
    throw new Misuse(
      `The value of ${key} cannot be asked for: standard error is no terminal. Do not redirect it, or pipe the value.`,
    );
  return textOf(await terminal.input(), 'standard input').replace(/\r?\n$/, '');
}

async function bytesOf(file: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (error) {
    throw new Misuse(`${file} cannot be read: ${(error as Error).message}`);
  }
}

/** Throws Misuse for bytes that are no text: variables of the environment cannot have them. */
function textOf(bytes: Buffer, from: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Misuse(`The value from ${from} is not text in UTF-8. Encode it, for example with base64.`);
  }
}

/** The answer shows no values. */
function pathOf({ id }: Deployment, key: string): string {
  return `/v2/deployments/${id}/secrets/${encodeURIComponent(key)}?secrets=names`;
}

interface Changed {
  readonly before: Deployment;
  readonly after: Deployment;
  readonly key: string;
  readonly what: string;
}

async function doneOf(api: HttpApi, { before, after, key, what }: Changed): Promise<Done> {
  const { latest_revision_id: id, name } = after;
  const revision = await newRevision(api, before, after);
  const result = { name, key, revision };
  if (id === null) return { says: `${what}. It has no revision yet.`, result };
  if (revision === null) return { says: `${what}, as it was before: no new revision.`, result };
  return { says: `${what}; revision ${revision} takes it. To follow it: ${PROGRAM} wait ${name}`, result };
}
