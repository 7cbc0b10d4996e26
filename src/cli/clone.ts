// Creates a deployment that is what another one is now, with the data of a backup of it.

import { cloneOf } from '../deployments/record/clone.ts';
import { type Command, DEPLOYMENT, Misuse, OUTPUT, tell } from './command.ts';
import { Failure } from './kubectl.ts';
import { PROGRAM } from './program.ts';
import { FIELD_MANAGER, RECORDS, readRecord, readRevisions } from './records.ts';
import { BACKUP_FLAGS, backupOf } from './restore.ts';

export const cloneCommand: Command = {
  name: 'clone',
  purpose: 'create a deployment that is what another one is, with the data of a backup',
  words: [DEPLOYMENT],
  flags: [{ name: 'to', value: 'OTHER', help: 'name of the new deployment' }, ...BACKUP_FLAGS, OUTPUT],
  about: `OTHER gets the image, values and sizes of the revision that serves, the same Secrets, and no address. Its database begins
with the backup. NAME is only read.

  PROGRAM clone shop --to shop-2
  PROGRAM clone shop --to shop-2 --at 2026-11-25T12:00:00Z`,
  async run(context) {
    const {
      kubectl,
      words: [name = ''],
      flags,
      warn,
    } = context;
    const to = flags.text('to');
    if (to === undefined) throw new Misuse('--to must be the name of the new deployment.');
    const request = { name: to, ...backupOf(flags) };
    const origin = await readRecord(kubectl, name);
    const taken = await kubectl(['get', RECORDS, to, '--ignore-not-found', '-o', 'name']);
    if (taken.trim() !== '') throw new Failure(`A deployment named ${to} already exists. Choose another name.`);
    const clone = cloneOf(origin, await readRevisions(kubectl, origin), request);
    if ('refused' in clone) throw new Failure(clone.refused);
    await kubectl(['create', FIELD_MANAGER, '-f', '-'], JSON.stringify(clone.record));
    for (const note of clone.notes) warn(note);
    tell(context, {
      says: `${to} is being created as ${name} is now. To follow it: ${PROGRAM} wait ${to}`,
      result: { name: to, from: name, notes: clone.notes },
    });
    return 0;
  },
};
