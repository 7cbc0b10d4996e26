// Moves the database of a deployment to another driver, goes back, and deletes what a move has left.

import { databaseNumberOfRevisions } from '../deployments/record/database-move.ts';
import type { AppDeployment } from '../schema/app-deployment.ts';
import { conditionOf } from '../schema/conditions.ts';
import type { DatabaseDriver } from '../schema/database.ts';
import { DATABASE_DRIVERS } from '../schema/database-names.ts';
import { type Command, type Context, DEPLOYMENT, Misuse, OUTPUT, tell, timeoutFlag } from './command.ts';
import { askForName, YES } from './confirm.ts';
import { databasesHeld } from './databases-held.ts';
import { Failure, type Kubectl } from './kubectl.ts';
import { PROGRAM } from './program.ts';
import { readRecord, readRevisions } from './records.ts';

export const databaseCommand: Command = {
  name: 'database',
  purpose: 'move its database to a Cluster or a newer PostgreSQL, go back, or delete what a move has left',
  words: [{ word: 'ACTION', names: 'action', choices: ['move', 'upgrade', 'back', 'forget-old'] }, DEPLOYMENT],
  flags: [
    { name: 'driver', value: 'DRIVER', help: 'move: the driver of the next database', choices: DATABASE_DRIVERS },
    YES,
    { name: 'go-on', help: 'go on with a move that somebody else has begun, or end it' },
    timeoutFlag(3600, undefined, 1),
    OUTPUT,
  ],
  about: `move stops all pods, makes a backup, loads it into a Cluster of CloudNativePG (from driver pod to cloudnative-pg), and starts the pods on it.
It says for how long nothing will serve, and asks. The database before stays as it is. Run again after an interruption, move continues. upgrade does the
same within the driver, to the newer major version of PostgreSQL that the platform has by now.

back returns to the database of before the last move or upgrade, with the data that it had then; what was written since is not in it. It also ends a move
that was interrupted. forget-old deletes databases that are not used any more.

  PROGRAM database move shop --driver cloudnative-pg
  PROGRAM database upgrade shop
  PROGRAM database back shop
  PROGRAM database forget-old shop`,
  changes: {
    nothing: 'Nothing was changed.',
    by: ['patch', 'delete', 'replace'],
    sent: ([action, name]) => `It is not finished. To go on: ${PROGRAM} database ${action} ${name}`,
  },
  async run(context) {
    const {
      words: [action, name = ''],
      flags,
    } = context;
    const driver = flags.text('driver') as DatabaseDriver | undefined;
    if (action !== 'move' && driver !== undefined) throw new Misuse('--driver is for move.');
    if (action === 'forget-old') return forgetOld(context, name);
    const { goBack, move, upgrade } = await import('./move-database.ts');
    if (action === 'back') return goBack(context, name);
    if (action === 'upgrade') return upgrade(context, name);
    if (driver === undefined)
      throw new Misuse(`--driver must be the driver of the next database: ${DATABASE_DRIVERS.join(', ')}.`);
    return move(context, name, driver);
  },
};

async function forgetOld(context: Context, name: string): Promise<number> {
  const { kubectl, warn } = context;
  const { record, old } = await unused(kubectl, name);
  const result = { name, deleted: old };
  if (old.length === 0) {
    tell(context, { says: `${name} has no database that it does not use.`, result });
    return 0;
  }
  needServing(record);
  for (const object of old) warn(`${object} will be deleted, with all that is in it.`);
  await askForName(context, {
    name,
    asks: 'Delete what the database was moved from? Type the name of the deployment: ',
    refusal: 'Nothing was deleted.',
    nobody: `Nobody can be asked here: ${PROGRAM} database forget-old ${name} --yes`,
  });
  // Somebody may have moved the database while the question was open: what was unused then may be in use now.
  const after = await unused(kubectl, name);
  needServing(after.record);
  if (after.old.join() !== old.join())
    throw new Failure(
      `Nothing was deleted: the databases of ${name} changed while the question was open. Run the command again to see which are unused now.`,
    );
  await kubectl(['delete', ...old, '--wait=false']);
  tell(context, { says: `Deleted: ${old.join(', ')}. ${name} keeps its present database.`, result });
  return 0;
}

/** The objects of databases that the deployment does not use. */
async function unused(
  kubectl: Kubectl,
  name: string,
): Promise<{ readonly record: AppDeployment; readonly old: readonly string[] }> {
  const record = await readRecord(kubectl, name);
  const now = databaseNumberOfRevisions(await readRevisions(kubectl, record));
  const held = await databasesHeld(kubectl, record);
  return { record, old: held.filter(({ number }) => number !== now).map(({ object }) => object) };
}

function needServing({ metadata: { name, generation = 0 }, status }: AppDeployment): void {
  const ready = conditionOf(status?.conditions, 'Ready');
  if (ready?.status !== 'True' || ready.reason === 'ScaledToZero' || (status?.observedGeneration ?? 0) < generation)
    throw new Failure(
      `Nothing was deleted: ${name} does not serve on its present database now. See: ${PROGRAM} status ${name}`,
    );
}
