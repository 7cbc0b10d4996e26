// Lists the backups of a deployment that its status lists.

import type { Deployment } from '../../deploy/http/payloads.ts';
import { backupHindrance } from '../../deploy/record/backup-request.ts';
import { conditionOf } from '../../kinds/conditions.ts';
import { bytesText } from '../../kinds/text.ts';
import { API_FLAGS, type Command, type Context, DEPLOYMENT, OUTPUT, printList } from '../line/command.ts';
import { PROGRAM } from '../line/program.ts';
import { lost } from '../text/lost.ts';
import { ageOf, tableOf } from '../text/table.ts';
import { needDeployment } from './build-log.ts';

export const backupsCommand: Command = {
  name: 'backups',
  purpose: 'list the backups of its database that are in the store, newest first',
  words: [DEPLOYMENT],
  flags: [OUTPUT, ...API_FLAGS],
  about: `Shows the contents of the store after the last backup. DATABASE is the number of the database within the deployment. A manual backup
is kept until a person deletes it from the store. Retention deletes scheduled backups, but never the last verified one.

  PROGRAM backups shop
  PROGRAM database restore shop --backup 20260701T010000Z-7f9a2a3e`,
  async run(context) {
    const [name = ''] = context.words;
    const found = await needDeployment<Backed>(await context.api(), name).catch(lost(name));
    sayWhatIsMissing(context, found);
    const now = Date.now();
    const dumps = (found.database_backups?.newest ?? []).map((one) => ({
      name: one.name,
      takenAt: one.taken_at,
      sizeBytes: one.size_bytes,
      database: one.number,
      databases: one.databases,
      roles: one.roles,
      isVerified: one.verified === true,
      made: one.earlier ? 'by an earlier deployment' : one.by_hand ? 'by hand' : 'on schedule',
    }));
    const bases = (found.database_archive?.base_backups?.newest ?? []).map((one) => ({
      name: one.name,
      takenAt: one.taken_at,
      sizeBytes: null,
      database: one.number,
      databases: null,
      roles: null,
      isVerified: false,
      made: 'base backup',
    }));
    const all = [...dumps, ...bases].toSorted((a, b) => (a.takenAt < b.takenAt ? 1 : -1));
    printList(
      context,
      all,
      () =>
        tableOf([
          ['BACKUP', 'TAKEN AT', 'AGE', 'SIZE', 'DATABASE', 'CONTENTS', 'VERIFIED', 'MADE'],
          ...all.map((one) => [
            one.name,
            one.takenAt,
            ageOf(one.takenAt, now),
            one.sizeBytes === null ? '-' : bytesText(one.sizeBytes),
            one.database === null ? '-' : String(one.database),
            contentsOf(one),
            one.isVerified ? 'yes' : '-',
            (MADE[one.made] ?? one.made).replace('NAME', name),
          ]),
        ]),
      `${name} has no known backups. ${howToMakeOne(name, found)}`,
    );
    return 0;
  },
};

/** In the words of the table, where they are others than in the JSON. */
const MADE: Readonly<Record<string, string>> = {
  'by an earlier deployment': 'by an earlier NAME',
  'base backup': 'base backup of the archive',
};

type Backed = Pick<Deployment, 'conditions' | 'database_backups' | 'database_archive'>;

function contentsOf({
  databases,
  roles,
}: {
  readonly databases: number | null;
  readonly roles: number | null;
}): string {
  const counted = (count: number | null, what: string): string[] =>
    count === null ? [] : [`${count} ${what}${count === 1 ? '' : 's'}`];
  return [...counted(databases, 'database'), ...counted(roles, 'role')].join(', ') || '-';
}

function howToMakeOne(name: string, { conditions }: Backed): string {
  const { message } = conditionOf(conditions, 'BackupReady') ?? {};
  const command = `To make one now: ${PROGRAM} backup ${name}`;
  return backupHindrance(conditions) ?? (message === undefined ? command : `${message} ${command}`);
}

/** What the list does not show. */
function sayWhatIsMissing(
  { warn }: Context,
  { conditions, database_backups: backups, database_archive: archive }: Backed,
): void {
  if (backups && backups.count > backups.newest.length)
    warn(`The store has ${backups.count} backups. These are the newest ${backups.newest.length}.`);
  if (!archive?.first_recoverable_at) return;
  const isReady = conditions.some(({ type, status }) => type === 'ArchiveReady' && status === 'True');
  const until = isReady ? 'a few minutes ago' : 'an unknown time, see condition ArchiveReady';
  warn(
    `The archive has every point in time from ${archive.first_recoverable_at} until ${until}. To clone one: clone --at.`,
  );
}
