// Creates a deployment that is what another one is now, with the data of a backup of it.

import { type CloneRequest, cloneOf } from '../../deployments/record/clone.ts';
import { claimOfCreation } from '../../deployments/record/requester.ts';
import type { AppDeployment } from '../../schema/app-deployment.ts';
import type { DatabaseRestore } from '../../schema/database.ts';
import { type Command, type Context, DEPLOYMENT, Misuse, OUTPUT, ownTimeoutFlag, tell } from '../line/command.ts';
import { needName } from '../line/needed-names.ts';
import { PROGRAM } from '../line/program.ts';
import { withinTime } from '../line/time-limit.ts';
import { lost } from '../text/lost.ts';
import { Failure } from '../transport/kubectl.ts';
import { FIELD_MANAGER, RECORDS, readRecord, readRevisions } from '../transport/records.ts';
import { usernameOf } from '../transport/who.ts';
import { BACKUP_FLAGS, backupOf, cronJobIn } from './backup-choice.ts';
import { chosenBackup, ignoreForbidden, type StoredBackup, storedBackups } from './stored-backups.ts';

export const cloneCommand: Command = {
  name: 'clone',
  purpose: 'create a deployment that is what another one is, with the data of a backup',
  words: [DEPLOYMENT],
  flags: [
    { name: 'to', value: 'OTHER', help: 'name of the new deployment' },
    ...BACKUP_FLAGS,
    ownTimeoutFlag('end after this time (exit code 124)'),
    OUTPUT,
  ],
  about: `OTHER gets the image, values and sizes of the revision that serves, the same Secrets, and no address. Its database begins
with the backup. Where NAME has an archive with the time of --at, it begins with the state of exactly that time. NAME is only read.

  PROGRAM clone shop --to shop-2
  PROGRAM backups shop
  PROGRAM clone shop --to shop-2 --at 2026-11-25T12:00:00Z`,
  changes: { nothing: 'Nothing was created.' },
  async run(context) {
    const {
      kubectl,
      words: [name = ''],
      flags,
      warn,
      onInterrupt,
    } = context;
    const to = flags.text('to');
    if (to === undefined) throw new Misuse('--to must be the name of the new deployment.');
    needName(to, '--to');
    const request = { name: to, ...backupOf(flags) };
    const origin = await readRecord(kubectl, name).catch(lost(name));
    const taken = await kubectl(['get', RECORDS, to, '--ignore-not-found', '-o', 'name']);
    if (taken.trim() !== '') throw new Failure(`A deployment named ${to} already exists. Choose another name.`);
    const clone = cloneOf(origin, await readRevisions(kubectl, origin), request, new Date());
    if ('refused' in clone) throw new Failure(clone.refused);
    const restore = clone.record.spec.sourceConfig.database?.restore;
    const looking = withinTime(context, {
      message: (seconds) => `Nothing was created: what the store of backups has is not known after ${seconds} s.`,
      hint: `${PROGRAM} backups ${name}`,
    });
    const chosen = restore?.archive === true ? undefined : await neededBackup(looking, origin, request);
    const username = await usernameOf(kubectl);
    const annotations = username === undefined ? undefined : claimOfCreation(username);
    const metadata = { ...clone.record.metadata, ...(annotations && { annotations }) };
    let isCreated = false;
    onInterrupt(() =>
      isCreated
        ? `${to} is being created. To follow it: ${PROGRAM} wait ${to}`
        : `It is not known whether ${to} was created. To see: ${PROGRAM} status ${to}`,
    );
    await kubectl(['create', FIELD_MANAGER, '-f', '-'], JSON.stringify({ ...clone.record, metadata }));
    isCreated = true;
    for (const note of clone.notes) warn(note);
    tell(context, {
      says: `${to} is being created as ${name} is now.${archiveWords(restore) ?? dataOf(origin, request, chosen)} To follow it: ${PROGRAM} wait ${to}`,
      result: { name: to, from: name, archive: restore?.archive === true, notes: clone.notes },
    });
    return 0;
  },
};

type Which = Pick<CloneRequest, 'at' | 'backup'>;

/**
 * The backup that --at or --backup chooses. Throws Failure if the store has none. Undefined where neither is given, and where this caller
 * cannot look: the record tells what becomes of it then.
 */
async function neededBackup(
  context: Context,
  record: AppDeployment,
  { at, backup }: Which,
): Promise<StoredBackup | undefined> {
  if (at === undefined && backup === undefined) return undefined;
  const { name: from } = record.metadata;
  const cronJob = await cronJobIn(context.kubectl, from).catch(ignoreForbidden);
  const all = cronJob && (await storedBackups(context, { record, cronJob, from }).catch(ignoreForbidden));
  const which = { from, ...(at !== undefined && { at }), ...(backup !== undefined && { backup }) };
  return all && chosenBackup(all, { which, name: from, nothing: 'Nothing was created' });
}

/** Undefined where its database does not begin with an archive. */
function archiveWords(restore: DatabaseRestore | undefined): string | undefined {
  if (restore?.archive !== true) return undefined;
  const state = restore.at === undefined ? 'the newest state' : `the state of ${restore.at}`;
  return ` Its data is ${state}, by the archive of ${restore.from}.`;
}

/** Which data the clone gets, where that is known: what is in the store, only the restore sees. */
function dataOf({ status, spec }: AppDeployment, { at, backup }: Which, chosen: StoredBackup | undefined): string {
  if (chosen !== undefined) return ` Its data is that of backup ${chosen.name}, of ${chosen.takenAt}.`;
  if (spec.sourceConfig.runtime?.database === 'none') return '';
  if (backup !== undefined) return ` Its data is that of backup ${backup}.`;
  if (at !== undefined) return ` Its data is that of the newest backup of ${at} or before, if there is one.`;
  const { name, lastSuccessAt } = status?.databaseBackup ?? {};
  return name === undefined ? '' : ` Its data is that of backup ${name}, of ${lastSuccessAt}.`;
}
