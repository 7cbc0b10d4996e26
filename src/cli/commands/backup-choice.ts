// Which backup a command is about, and the CronJob that knows the store of them.

import type { ICronJob } from 'kubernetes-models/batch/v1/CronJob';
import { names } from '../../deployments/record/names.ts';
import { referencesOf } from '../../deployments/record/secret-references.ts';
import type { AppDeployment } from '../../schema/app-deployment.ts';
import type { DatabaseRestore } from '../../schema/database.ts';
import { isBackupName, isTime } from '../../schema/database-names.ts';
import { EXTERNAL_VARIABLES } from '../../schema/meta.ts';
import { type FlagDefinition, type Flags, Misuse } from '../line/command.ts';
import { PROGRAM } from '../line/program.ts';
import { Failure, type Kubectl } from '../transport/kubectl.ts';

/** Which backup is taken, as `backupOf` reads it. */
export const BACKUP_FLAGS: readonly FlagDefinition[] = [
  { name: 'backup', value: 'BACKUP', help: 'the backup of this name; the newest if not given' },
  { name: 'at', value: 'TIME', help: 'the newest backup of this time or before, such as 2026-11-25T12:00:00Z' },
];

/** Which backup the flags --backup and --at choose. */
export function backupOf(flags: Flags): Omit<DatabaseRestore, 'from'> {
  const [backup, at] = [flags.text('backup'), flags.text('at')];
  if (backup !== undefined && at !== undefined) throw new Misuse('Give --backup or --at, not both.');
  if (backup !== undefined && !isBackupName(backup))
    throw new Misuse(`--backup must be the name of a backup such as 20261125T120000Z-0123abcd, not ${backup}.`);
  if (at !== undefined && !isTime(at))
    throw new Misuse(`--at must be a time such as 2026-11-25T12:00:00Z, on a day that there is, not ${at}.`);
  return { ...(backup !== undefined && { backup }), ...(at !== undefined && { at }) };
}

/** Throws Failure unless the record has a PostgreSQL of Davit. `so`: what follows from that. */
export function needOwnDatabase({ metadata: { name }, spec }: AppDeployment, so: string): void {
  if (spec.sourceConfig.runtime?.database === 'none')
    throw new Failure(`${name} has no database (runtime.database: none), so ${so}`);
  if (referencesOf(spec).some((reference) => reference.name === EXTERNAL_VARIABLES.postgres))
    throw new Failure(`${name} uses an external database (${EXTERNAL_VARIABLES.postgres}), so ${so}`);
}

/** The CronJob of its backups, which knows the store. Throws Failure if there is none. */
export async function cronJobOf(kubectl: Kubectl, name: string): Promise<ICronJob> {
  const found = await cronJobIn(kubectl, name);
  if (found) return found;
  throw new Failure(
    `${name} has no CronJob ${names(name).backup}, which says where backups are. It is made when backups are asked for (source_config.database.backup) and the database answers, and after a backup with which the deployment begins is loaded. See condition BackupReady: ${PROGRAM} status ${name}`,
  );
}

/** Undefined if there is none. */
export async function cronJobIn(kubectl: Kubectl, name: string): Promise<ICronJob | undefined> {
  const found = await kubectl(['get', 'cronjobs.batch', names(name).backup, '--ignore-not-found', '-o', 'json']);
  return found.trim() === '' ? undefined : (JSON.parse(found) as ICronJob);
}
