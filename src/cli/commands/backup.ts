// Makes a backup of the database of a deployment now, and waits until it is in the store.

import { bytesText } from '../../kinds/text.ts';
import { API_FLAGS, type Command, DEPLOYMENT, OUTPUT, ownTimeoutFlag, tell } from '../line/command.ts';
import { PROGRAM } from '../line/program.ts';
import { carryOut } from './operation.ts';

export const backupCommand: Command = {
  name: 'backup',
  purpose: 'make a backup of its database now, and wait until it is in the store',
  words: [DEPLOYMENT],
  flags: [
    { name: 'archive', help: 'make a base backup of its archive; the default if it has no other backups' },
    ownTimeoutFlag('stop waiting after this time (exit code 124); the backup continues'),
    OUTPUT,
    ...API_FLAGS,
  ],
  about: `Creates a DatastoreOperation, which Davit carries out, and waits until it has ended. Retention neither counts nor deletes the
backup: it stays until a person deletes it from the store. Nothing is stopped meanwhile, and a deployment with a scale of 0 is
backed up as well. With --archive, CloudNativePG makes a base backup.

  PROGRAM backup shop
  PROGRAM backups shop`,
  changes: {
    nothing: 'No backup was made.',
    sent: ([name = '']) => `The backup continues. To see its result: kubectl get dsop, and ${PROGRAM} backups ${name}`,
  },
  async run(context) {
    const [name = ''] = context.words;
    const isBase = context.flags.has('archive');
    const operation = await carryOut(context, name, { action: 'Backup', ...(isBase && { backup: { archive: true } }) });
    const { backup } = operation;
    const size = backup?.size_bytes ? `, and ${bytesText(backup.size_bytes)}` : '';
    const what = backup?.name ? `Backup ${backup.name}` : 'A base backup';
    tell(context, {
      says: backup
        ? `${what} of ${name} is in the store. It has the state of ${backup.taken_at}${size}.`
        : `${operation.message}`,
      result: {
        name,
        operation: operation.name,
        backup: backup && { name: backup.name, takenAt: backup.taken_at, sizeBytes: backup.size_bytes },
      },
    });
    return 0;
  },
};
