// The plain variables of a deployment, whose values everybody who reads the record sees. secrets.ts has those that are secret.

import { askingForRevision, isUnseen } from '../deployments/record/revision-request.ts';
import type { AppDeployment, AppDeploymentSpec } from '../schema/app-deployment.ts';
import type { PlainVariable } from '../schema/plain-variables.ts';
import { needFinished } from './cloning.ts';
import { type Command, type Context, DEPLOYMENT, Misuse, OUTPUT, printList, tell } from './command.ts';
import { Failure } from './kubectl.ts';
import { needVariableName, repeatable } from './needed-names.ts';
import { PROGRAM } from './program.ts';
import { readRecord, requestRevision } from './records.ts';
import { tableOf } from './table.ts';
import { variablesFrom, withVariables } from './variables.ts';

export const envCommand: Command = {
  name: 'env',
  purpose: 'list its plain variables, set some, or remove some; their values are visible',
  words: [
    DEPLOYMENT,
    { word: 'ACTION', names: 'action', choices: ['list', 'set', 'unset'] },
    { word: 'KEY[=VALUE]', names: 'other', need: 'any number' },
  ],
  flags: [{ name: 'from-file', value: 'FILE', help: 'set: the variables of this .env file', isFile: true }, OUTPUT],
  about: `Everybody who may read the deployment sees the values: secret ones belong to PROGRAM secrets. Variables that set does not
name stay. A value may name an earlier variable as $(NAME), and $$ stands for $. A change makes a new revision.

  PROGRAM env shop list
  PROGRAM env shop set LOG_LEVEL=debug REGION=eu
  PROGRAM env shop set --from-file shop.env
  PROGRAM env shop unset LOG_LEVEL`,
  changes: {
    nothing: 'Nothing was changed.',
    by: ['replace'],
    sent: ([name = '']) => `The change was made. To follow it: ${PROGRAM} wait ${name}`,
  },
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
  const env = (await readRecord(context.kubectl, name)).spec.sourceConfig.env ?? [];
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
  return change(context, name, 'set', (record) => {
    refuseSecrets(record, given);
    return withVariables(record.spec.sourceConfig.env ?? [], given);
  });
}

async function unset(context: Context, name: string, keys: readonly string[]): Promise<number> {
  const valued = keys.find((key) => key.includes('='));
  if (keys.length === 0 || valued !== undefined)
    throw new Misuse(`unset takes names alone: ${PROGRAM} env ${name} unset ${valued?.split('=')[0] ?? 'KEY'}`);
  for (const key of keys) needVariableName(key);
  return change(context, name, 'removed', ({ spec }) => {
    const before = spec.sourceConfig.env ?? [];
    const missing = keys.find((key) => !before.some((one) => one.name === key));
    if (missing !== undefined) throw new Failure(`${name} has no plain variable ${missing}: nothing was changed.`);
    return before.filter((one) => !keys.includes(one.name));
  });
}

/** Throws Failure for a name that is a secret, of which the API server would name no command. */
function refuseSecrets({ metadata: { name }, spec }: AppDeployment, given: readonly PlainVariable[]): void {
  const isGiven = (one: { readonly name: string }): boolean => given.some((variable) => variable.name === one.name);
  const secret = spec.secrets.find(isGiven);
  if (secret !== undefined)
    throw new Failure(
      `${secret.name} is a secret variable of ${name}: nothing was changed. To make it plain, remove it first: ${PROGRAM} secrets ${name} unset ${secret.name}`,
    );
  const reference = spec.secretReferences?.find(isGiven);
  if (reference !== undefined)
    throw new Failure(
      `${reference.name} of ${name} is key ${reference.secretKey} of Secret ${reference.secretName}: nothing was changed. To make it plain, remove it from secretReferences first: kubectl edit appd ${name}`,
    );
}

async function change(
  context: Context,
  name: string,
  verb: string,
  envOf: (record: AppDeployment) => readonly PlainVariable[],
): Promise<number> {
  const done = await requestRevision(context.kubectl, name, (record, revisions) => {
    const { spec, status } = record;
    needFinished(record, `Nothing was changed: change ${name} when it is finished.`);
    const before = spec.sourceConfig.env ?? [];
    const after = envOf(record);
    const changed = changedNames(before, after);
    if (changed.length === 0)
      return {
        spec,
        done: () => ({
          says: `Nothing changes: ${name} has these values already.`,
          result: { name, changed, revision: null },
        }),
      };
    const { env: _before, ...sourceConfig } = spec.sourceConfig;
    const wanted: AppDeploymentSpec = {
      ...spec,
      sourceConfig: { ...sourceConfig, ...(after.length > 0 && { env: [...after] }) },
    };
    const what = `${changed.join(', ')} of ${name} ${changed.length === 1 ? 'is' : 'are'} ${verb}`;
    // Before its first image there is nothing to deploy.
    if (status?.latestRevisionId === undefined)
      return {
        spec: wanted,
        done: () => ({ says: `${what}. It has no revision yet.`, result: { name, changed, revision: null } }),
      };
    return {
      spec: askingForRevision(spec, wanted, isUnseen(spec, revisions)),
      done: (revision) => ({
        says: `${what}; revision ${revision} takes ${changed.length === 1 ? 'it' : 'them'}. To follow it: ${PROGRAM} wait ${name}`,
        result: { name, changed, revision },
      }),
    };
  });
  tell(context, done);
  return 0;
}

/** The names whose value differs, those that are only in one of both included. */
function changedNames(before: readonly PlainVariable[], after: readonly PlainVariable[]): string[] {
  const valueIn = (list: readonly PlainVariable[], key: string): string | undefined =>
    list.find((one) => one.name === key)?.value;
  const all = new Set([...before, ...after].map((one) => one.name));
  return [...all].filter((key) => valueIn(before, key) !== valueIn(after, key));
}
