// Creates a deployment that is what another one is now, with the data of a backup of it.

import type { Deployment } from '../../deploy/http/payloads.ts';
import { isBackupName, isTime, timeOfBackup } from '../../kinds/database-names.ts';
import { API_FLAGS, type Command, DEPLOYMENT, type Flags, Misuse, OUTPUT, tell, withFlags } from '../line/command.ts';
import { needName } from '../line/needed-names.ts';
import { PROGRAM } from '../line/program.ts';
import { lost } from '../text/lost.ts';
import { needDeployment } from './build-log.ts';
import type { Warned } from './deployment-change.ts';

export const cloneCommand: Command = {
  name: 'clone',
  purpose: 'create a deployment that is what another one is, with the data of a backup',
  words: [DEPLOYMENT],
  flags: [
    { name: 'to', value: 'OTHER', help: 'name of the new deployment' },
    { name: 'backup', value: 'BACKUP', help: 'the backup with this name; by default the newest' },
    { name: 'at', value: 'TIME', help: 'the newest backup from this time or before, such as 2026-11-25T12:00:00Z' },
    OUTPUT,
    ...API_FLAGS,
  ],
  about: `OTHER gets the image, values and sizes of the serving revision, the same Secrets, and no address. Its database begins
with the backup. If the archive of NAME has the time of --at, it begins with the exact state of that time. NAME does not change.

  PROGRAM clone shop --to shop-2
  PROGRAM backups shop
  PROGRAM clone shop --to shop-2 --at 2026-11-25T12:00:00Z`,
  changes: {
    nothing: 'Nothing was created.',
    sent: () => `The clone is being created. To follow it: ${PROGRAM} status`,
  },
  async run(context) {
    const [name = ''] = context.words;
    const to = context.flags.text('to');
    if (to === undefined) throw new Misuse('--to must be the name of the new deployment.');
    needName(to, '--to');
    const request = { name: to, ...backupOf(context.flags) };
    const api = await context.api();
    const origin = await needDeployment<Origin>(api, name).catch(lost(name));
    const made = await api.call<Warned>('POST', `/v2/deployments/${origin.id}/clone?secrets=names`, request);
    const notes = (made.warnings ?? []).map(({ msg }) => msg);
    for (const note of notes) context.warn(withFlags(note, context.suggested));
    const restore = made.source_config.database?.restore ?? null;
    tell(context, {
      says: `${to} is being created from the current state of ${name}.${dataOf(origin, restore)} To follow it: ${PROGRAM} wait ${to}`,
      result: { name: to, from: name, archive: restore?.archive === true, notes },
    });
    return 0;
  },
};

type Origin = Pick<Deployment, 'id' | 'database_backup'>;
type Restore = NonNullable<Deployment['source_config']['database']>['restore'];

/** Which backup the flags --backup and --at choose. */
function backupOf(flags: Flags): { readonly backup?: string; readonly at?: string } {
  const [backup, at] = [flags.text('backup'), flags.text('at')];
  if (backup !== undefined && at !== undefined) throw new Misuse('Give --backup or --at, not both.');
  if (backup !== undefined && !isBackupName(backup))
    throw new Misuse(`--backup must be the name of a backup such as 20261125T120000Z-0123abcd, not ${backup}.`);
  if (at !== undefined && !isTime(at))
    throw new Misuse(`--at must be a time such as 2026-11-25T12:00:00Z, on a day that exists, not ${at}.`);
  return { ...(backup !== undefined && { backup }), ...(at !== undefined && { at }) };
}

/** What the database of the clone begins with, as a sentence after a space. */
function dataOf({ database_backup: last }: Origin, restore: Restore): string {
  if (restore === null) return '';
  const { from, at, backup, archive } = restore;
  if (archive)
    return ` It begins with ${at === null ? 'the newest state' : `the state of ${at}`} in the archive of ${from}.`;
  if (backup !== null) return ` It begins with backup ${backup}, of ${timeOfBackup(backup)}.`;
  if (at !== null) return ` It begins with the newest backup from ${at} or before, if one exists.`;
  return last?.name ? ` It begins with backup ${last.name}, of ${last.last_success_at}.` : '';
}
