// The acts on the database of a deployment that stop it or delete something: each is an operation, which Davit carries out.

import type { CreateOperation, OperationResponse } from '../../databases/http/payloads.ts';
import { databaseText } from '../../deploy/record/database-move.ts';
import { isBackupName } from '../../kinds/database-names.ts';
import type { OperationAction } from '../../kinds/operation-phases.ts';
import { present } from '../../runtime/json-value.ts';
import {
  API_FLAGS,
  type Command,
  type Context,
  DEPLOYMENT,
  type Flags,
  Misuse,
  OUTPUT,
  ownTimeoutFlag,
  tell,
} from '../line/command.ts';
import { confirm, YES } from '../line/confirm.ts';
import { needName } from '../line/needed-names.ts';
import { PROGRAM } from '../line/program.ts';
import { carryOut } from './operation.ts';
import { adoptRetained, discardRetained, listRetained } from './retained.ts';
import { listStore } from './stored-backups.ts';

interface Act {
  readonly action: OperationAction;
  /** What it does to the deployment, for people who are asked. */
  readonly does: string;
}

const ACTS = {
  restore: {
    action: 'Restore',
    does: 'will be stopped until a new database has the backup. The current database is kept.',
  },
  move: {
    action: 'Move',
    does: 'will be stopped until a Cluster of CloudNativePG has all of its data. The current database is kept.',
  },
  upgrade: {
    action: 'Upgrade',
    does: 'will be stopped until a database with the newer PostgreSQL has all of its data. The current database is kept.',
  },
  return: {
    action: 'Return',
    does: 'will be stopped until it uses the previous database again, with the data that it had then. Data written since stays in the current database, which is kept.',
  },
  'delete-previous': {
    action: 'DeletePrevious',
    does: 'will lose a database that it no longer uses, with all of its data.',
  },
} as const satisfies Readonly<Record<string, Act>>;
type Word = keyof typeof ACTS;

/** What is done with databases of deployments that are gone. */
const OF_DELETED = { adopt: adoptRetained, discard: discardRetained } as const;

export const databaseCommand: Command = {
  name: 'database',
  purpose:
    'restore, move or upgrade its database, return to the previous one, or list databases that deleted deployments retain',
  words: [
    {
      word: 'ACTION',
      names: 'action',
      choices: [...Object.keys(ACTS), 'retained', 'backups', ...Object.keys(OF_DELETED)],
    },
    { ...DEPLOYMENT, need: 'optional' },
  ],
  flags: [
    { name: 'backup', value: 'BACKUP', help: `restore: the backup with this name (${PROGRAM} backups NAME)` },
    {
      name: 'from',
      value: 'OTHER',
      help: 'restore: the deployment that the backup is from, which may have been deleted; by default NAME',
    },
    { name: 'from-namespace', value: 'NAMESPACE', help: 'restore: the namespace of OTHER, which must allow it' },
    {
      name: 'number',
      value: 'N',
      help: `delete-previous, adopt, discard: the number of the database (${PROGRAM} status NAME, ${PROGRAM} database retained)`,
      isNumber: true,
    },
    { name: 'store', help: 'backups: the backups of all tenants in the store, including deleted tenants' },
    YES,
    ownTimeoutFlag('stop waiting after this time (exit code 124); the operation continues'),
    OUTPUT,
    ...API_FLAGS,
  ],
  about: `Creates a DatastoreOperation, which Davit carries out, and waits until it has ended. An operation continues
when the command ends. To cancel it, delete it (kubectl delete dsop).

restore gives the deployment a new database with one of its backups. move gives it a Cluster of CloudNativePG, and upgrade the newer PostgreSQL of the
platform, each with all of its data. return goes back to the previous database, with the data that it had then. The deployment is stopped meanwhile, and
the replaced database is kept until delete-previous deletes it. restore, return and delete-previous need the verb restore on the deployment, which
davit-admin has.

retained lists the databases that deleted deployments have left in the namespace; WANTED shows whether a deployment has the name now. adopt lets that deployment use one with its data, which
needs the right to get the volume and the password. discard deletes one with its data, which needs the right to delete both.

backups --store lists the backups in the store by namespace and its uid, for an administrator. It creates a Job in Davit's namespace, where a Secret has a key for the whole store.

  PROGRAM database restore shop --backup 20260701T010000Z-7f9a2a3e
  PROGRAM database restore shop --backup 20260701T010000Z-7f9a2a3e --from old-shop
  PROGRAM database move shop
  PROGRAM database upgrade shop
  PROGRAM database return shop
  PROGRAM database delete-previous shop --number 0
  PROGRAM database retained
  PROGRAM database backups --store
  PROGRAM database adopt shop
  PROGRAM database discard shop`,
  changes: {
    nothing: 'Nothing was changed.',
    sent: ([, name = '']) =>
      `The operation continues. To see its result: kubectl get dsop, and ${PROGRAM} status ${name}`,
  },
  async run(context) {
    const [word = '', name = ''] = context.words;
    if (word === 'retained') return listRetained(context);
    if (word === 'backups') return backupsOf(context);
    if (name === '') throw new Misuse(`${word} needs the name of a deployment.`);
    if (word === 'adopt' || word === 'discard') return OF_DELETED[word](context, name);
    const { action, does } = ACTS[word as Word];
    const request = { action, ...memberOf(word as Word, context.flags) };
    context.warn(`${name} ${does}`);
    await confirm(context, { name, question: 'Continue?', refusal: 'Nothing was changed.' });
    return tellEnd(context, name, await carryOut(context, name, request));
  },
};

function backupsOf(context: Context): Promise<number> {
  if (!context.flags.has('store'))
    throw new Misuse(`backups needs --store. To list the backups of a deployment: ${PROGRAM} backups NAME`);
  return listStore(context);
}

function memberOf(word: Word, flags: Flags): Omit<CreateOperation, 'action'> {
  const backup = flags.text('backup');
  const [number, from, namespace] = [flags.number('number'), flags.text('from'), flags.text('from-namespace')];
  if (word !== 'restore' && (backup ?? from ?? namespace) !== undefined)
    throw new Misuse('--backup, --from and --from-namespace are for restore.');
  if (namespace !== undefined && from === undefined) throw new Misuse('--from-namespace needs --from.');
  if (from !== undefined) needName(from, '--from');
  if (word !== 'delete-previous' && number !== undefined) throw new Misuse('--number is for delete-previous.');
  if (word === 'restore') {
    if (backup === undefined || !isBackupName(backup))
      throw new Misuse('restore needs --backup with the name of a backup, such as 20260701T010000Z-7f9a2a3e.');
    return { restore: { backup, ...present({ from, namespace }) } };
  }
  if (word !== 'delete-previous') return {};
  if (number === undefined) throw new Misuse('delete-previous needs --number with the number of the database.');
  return { delete_previous: { number } };
}

function tellEnd(
  context: Context,
  name: string,
  { name: operation, message, move, downtime_seconds: downtime }: OperationResponse,
): number {
  tell(context, {
    says: `${message}`,
    result: {
      name,
      operation,
      database: move && databaseText(move.to),
      previousDatabase: move && databaseText(move.from),
      backup: move?.backup ?? null,
      downtimeSeconds: downtime,
    },
  });
  return 0;
}
