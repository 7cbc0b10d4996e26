// The plain variables of a deployment, whose values everybody who reads the record sees. secrets.ts has those that are secret.

import type { Deployment } from '../../deploy/http/payloads.ts';
import { withVariables } from '../../deploy/record/variables.ts';
import type { PlainVariable } from '../../kinds/plain-variables.ts';
import { variablesFrom } from '../folder/variables.ts';
import { API_FLAGS, type Command, type Context, DEPLOYMENT, Misuse, OUTPUT, printList, tell } from '../line/command.ts';
import { needVariableName, repeatable } from '../line/needed-names.ts';
import { PROGRAM } from '../line/program.ts';
import { tableOf } from '../text/table.ts';
import { Failure } from '../transport/kubectl.ts';
import { needDeployment } from './build-log.ts';
import { CHANGES, changeDeployment } from './deployment-change.ts';

export const envCommand: Command = {
  name: 'env',
  purpose: 'list its plain variables, set some, or remove some; their values are visible',
  words: [
    DEPLOYMENT,
    { word: 'ACTION', names: 'action', choices: ['list', 'set', 'unset'] },
    { word: 'KEY[=VALUE]', names: 'other', need: 'any number' },
  ],
  flags: [
    { name: 'from-file', value: 'FILE', help: 'set: the variables of this .env file', isFile: true },
    OUTPUT,
    ...API_FLAGS,
  ],
  about: `Everybody who may read the deployment sees the values: secret ones belong to PROGRAM secrets. Variables that set does not
name stay. A value may name an earlier variable as $(NAME), and $$ stands for $. A change makes a new revision.

  PROGRAM env shop list
  PROGRAM env shop set LOG_LEVEL=debug REGION=eu
  PROGRAM env shop set --from-file shop.env
  PROGRAM env shop unset LOG_LEVEL`,
  changes: CHANGES,
  async run(context) {
    const { words, flags } = context;
    const [name = '', action = '', ...rest] = words;
    if (action !== 'set' && flags.has('from-file')) throw new Misuse('--from-file is for set.');
    if (action === 'list') return list(context, name, rest);
    return action === 'set' ? set(context, name, rest) : unset(context, name, rest);
  },
};

async function list(context: Context, name: string, unexpected: readonly string[]): Promise<number> {
  if (unexpected.length > 0)
    throw new Misuse(`list takes no KEY. Unexpected: "${unexpected.map(repeatable).join(' ')}".`);
  const env = variablesOf(await needDeployment(await context.api(), name));
  printList(
    context,
    env,
    (all) => tableOf([['NAME', 'VALUE'], ...all.map((one) => [one.name, JSON.stringify(one.value).slice(1, -1)])]),
    `${name} has no plain variables. To set one: ${PROGRAM} env ${name} set KEY=VALUE`,
  );
  return 0;
}

async function set(context: Context, name: string, words: readonly string[]): Promise<number> {
  const given = await variablesFrom(context.flags.text('from-file'), words);
  if (given.length === 0) throw new Misuse(`Which variable? ${PROGRAM} env ${name} set KEY=VALUE`);
  return change(context, name, 'set', (before) => withVariables(before, given));
}

async function unset(context: Context, name: string, keys: readonly string[]): Promise<number> {
  const valued = keys.find((key) => key.includes('='));
  if (keys.length === 0 || valued !== undefined)
    throw new Misuse(`unset takes only names: ${PROGRAM} env ${name} unset ${valued?.split('=')[0] ?? 'KEY'}`);
  for (const key of keys) needVariableName(key);
  return change(context, name, 'removed', (before) => {
    const missing = keys.find((key) => !before.some((one) => one.name === key));
    if (missing !== undefined) throw new Failure(`${name} has no plain variable ${missing}: nothing was changed.`);
    return before.filter((one) => !keys.includes(one.name));
  });
}

async function change(
  context: Context,
  name: string,
  verb: string,
  envOf: (before: readonly PlainVariable[]) => readonly PlainVariable[],
): Promise<number> {
  let changed: readonly string[] = [];
  const { revision } = await changeDeployment(await context.api(), name, (now) => {
    const before = variablesOf(now);
    const after = envOf(before);
    changed = changedNames(before, after);
    return changed.length === 0 ? undefined : { source_config: { env: after } };
  });
  tell(context, { says: saysChange(name, verb, changed, revision), result: { name, changed, revision } });
  return 0;
}

function saysChange(name: string, verb: string, changed: readonly string[], revision: string | null): string {
  if (changed.length === 0) return `Nothing changes: ${name} already has these values.`;
  const isOne = changed.length === 1;
  const what = `${changed.join(', ')} of ${name} ${isOne ? 'is' : 'are'} ${verb}`;
  if (revision === null) return `${what}. It has no revision yet.`;
  return `${what}; revision ${revision} takes ${isOne ? 'it' : 'them'}. To follow it: ${PROGRAM} wait ${name}`;
}

function variablesOf({ source_config: { env } }: Deployment): readonly PlainVariable[] {
  return env ?? [];
}

/** The names whose value differs, those that are only in one of both included. */
function changedNames(before: readonly PlainVariable[], after: readonly PlainVariable[]): string[] {
  const valueIn = (list: readonly PlainVariable[], key: string): string | undefined =>
    list.find((one) => one.name === key)?.value;
  const all = new Set([...before, ...after].map((one) => one.name));
  return [...all].filter((key) => valueIn(before, key) !== valueIn(after, key));
}
