// Lists the backups of a deployment that are in the store. Only the store knows them, and only pods of the namespace have its keys:
// a Job with the caller's rights looks.

import type { AppDeployment } from '../../schema/app-deployment.ts';
import { conditionOf } from '../../schema/conditions.ts';
import { bytesText } from '../../schema/text.ts';
import { type Command, type Context, DEPLOYMENT, OUTPUT, printList } from '../line/command.ts';
import { needName } from '../line/needed-names.ts';
import { PROGRAM } from '../line/program.ts';
import { lost } from '../text/lost.ts';
import { ageOf, tableOf } from '../text/table.ts';
import { readRecord } from '../transport/records.ts';
import { cronJobOf, needOwnDatabase } from './backup-choice.ts';
import { type StoredBackup, storedBackups } from './stored-backups.ts';

export const backupsCommand: Command = {
  name: 'backups',
  purpose: 'list the backups of its database that are in the store, newest first',
  words: [DEPLOYMENT],
  flags: [
    {
      name: 'from',
      value: 'OTHER',
      help: 'the backups of this deployment, which may be deleted by now; by default its own',
    },
    OUTPUT,
  ],
  about: `A Job in the namespace looks into the store, with the rights of the caller. PROVEN is the backup that was proven last. OF is the
deployment that there is, or an earlier one of its name.

  PROGRAM backups shop
  PROGRAM backups shop-2 --from shop`,
  changes: { nothing: 'The list was not read.' },
  async run(context) {
    const {
      kubectl,
      words: [name = ''],
      flags,
    } = context;
    const from = flags.text('from') ?? name;
    needName(from, '--from');
    const record = await readRecord(kubectl, name).catch(lost(name));
    needOwnDatabase(record, 'Davit makes no backups of it.');
    sayWindow(context, record, from);
    const cronJob = await cronJobOf(kubectl, name);
    const found = await storedBackups(context, { record, cronJob, from });
    const backups = found.map((one) => shownOf(record, from, one));
    const now = Date.now();
    printList(
      context,
      backups,
      (all) => [
        ...tableOf([
          ['BACKUP', 'TAKEN AT', 'AGE', 'SIZE', 'PROVEN', 'OF'],
          ...all.map((one) => [
            one.name,
            one.takenAt,
            ageOf(one.takenAt, now),
            bytesText(one.sizeBytes),
            one.provenAt ?? '-',
            one.isOfEarlier ? `an earlier ${from}` : from,
          ]),
        ]),
      ],
      `The store has no backup of ${from}. To make one of ${name} now: ${PROGRAM} backup ${name}`,
    );
    return 0;
  },
};

/** The archive of the deployment that there is, which is no part of the list. */
function sayWindow({ warn }: Context, { metadata, status }: AppDeployment, from: string): void {
  const { firstRecoverableAt } = status?.databaseArchive ?? {};
  if (from !== metadata.name || firstRecoverableAt === undefined) return;
  const ready = conditionOf(status?.conditions, 'ArchiveReady');
  const until = ready?.status === 'True' ? 'a few minutes ago' : 'an unknown time, see condition ArchiveReady';
  warn(`Its archive has every point in time from ${firstRecoverableAt} until ${until}: clone --at.`);
}

interface ShownBackup extends Omit<StoredBackup, 'uid'> {
  /** Null for one that was not proven, or not last. */
  readonly provenAt: string | null;
  /** It is of a deployment of this name that is not there any more. */
  readonly isOfEarlier: boolean;
}

function shownOf({ metadata, status }: AppDeployment, from: string, { uid, ...backup }: StoredBackup): ShownBackup {
  const isOwn = from === metadata.name && uid === metadata.uid;
  const { name, provenAt } = status?.databaseProof ?? {};
  return {
    ...backup,
    provenAt: isOwn && name === backup.name ? (provenAt ?? null) : null,
    isOfEarlier: from === metadata.name && !isOwn,
  };
}
