// The databases that deleted deployments have retained: lists them, lets the next deployment of the name adopt one, or deletes one.

import type { RetainedList, RetainedResponse } from '../../databases/http/retained.ts';
import { databaseText } from '../../deploy/record/database-move.ts';
import { bytesText } from '../../kinds/text.ts';
import { type Context, Misuse, printList, tell } from '../line/command.ts';
import { confirm } from '../line/confirm.ts';
import { PROGRAM } from '../line/program.ts';
import { ageOf, tableOf } from '../text/table.ts';
import { Failure } from '../transport/kubectl.ts';

const PATH = '/v2/retained-databases';

async function allOf(context: Context): Promise<readonly RetainedResponse[]> {
  const api = await context.api();
  const { resources, hidden } = await api.call<RetainedList>('GET', PATH);
  if (hidden.length > 0) context.warn(`Not shown: ${hidden.join(', ')}, which you may not list.`);
  return resources;
}

export async function listRetained(context: Context): Promise<number> {
  const now = Date.now();
  printList(
    context,
    await allOf(context),
    (all) =>
      tableOf([
        ['DEPLOYMENT', 'DATABASE', 'VOLUME', 'SIZE', 'AGE', 'WANTED'],
        ...all.map((one) => [
          one.deployment_name,
          databaseText(one),
          one.claim,
          bytesText(one.size_bytes),
          ageOf(one.created_at, now),
          one.wanted_by === null ? '-' : 'yes',
        ]),
      ]),
    'No deleted deployment has left a database here.',
  );
  return 0;
}

export async function adoptRetained(context: Context, name: string): Promise<number> {
  const found = await chosen(context, name);
  const api = await context.api();
  await api.call('POST', `${PATH}/${found.id}/adopt`);
  tell(context, {
    says: `${name} adopts database ${databaseText(found)} (${found.claim}) with its data. To see it start: ${PROGRAM} status ${name}`,
    result: { name, database: databaseText(found), adopted: true },
  });
  return 0;
}

export async function discardRetained(context: Context, name: string): Promise<number> {
  const found = await chosen(context, name);
  const { claim, size_bytes: size, created_at: made } = found;
  context.warn(
    `Database ${databaseText(found)} of ${name} (${claim}, ${bytesText(size)}, made at ${made}) and its password will be deleted, with all data.`,
  );
  await confirm(context, { name, question: 'Continue?', refusal: 'Nothing was deleted.' });
  const api = await context.api();
  await api.call('DELETE', `${PATH}/${found.id}`);
  tell(context, {
    says: `Database ${databaseText(found)} of ${name} is being deleted.`,
    result: { name, database: databaseText(found), discarded: true },
  });
  return 0;
}

/** The one of this name and --number, by default the one that a deployment waits for. Throws Failure and Misuse. */
async function chosen(context: Context, name: string): Promise<RetainedResponse> {
  const number = context.flags.number('number');
  const ofName = (await allOf(context)).filter((one) => one.deployment_name === name);
  const wanted = ofName.filter((one) => one.wanted_by !== null);
  const byDefault = wanted.length > 0 ? wanted : ofName;
  const found = number === undefined ? byDefault : ofName.filter((one) => one.number === number);
  const [first, second] = found;
  if (first === undefined)
    throw new Failure(
      `No deleted deployment ${name} has left ${number === undefined ? 'a database' : `database ${number}`}. To list all: ${PROGRAM} database retained`,
    );
  if (second !== undefined)
    throw new Misuse(
      `${name} has left several databases: ${found.map(databaseText).join(', ')}. Choose one by its number: --number ${first.number}`,
    );
  return first;
}
