// Loads a backup into the empty database of a deployment, in a Job that is created with the caller's rights. It never loads one
// into a database that has something in it.

import type { ICronJob } from 'kubernetes-models/batch/v1/CronJob';
import type { IJob } from 'kubernetes-models/batch/v1/Job';
import { names } from '../../deployments/record/names.ts';
import { referencesOf } from '../../deployments/record/secret-references.ts';
import type { AppDeployment } from '../../schema/app-deployment.ts';
import type { DatabaseRestore, LoadedBackup } from '../../schema/database.ts';
import { isBackupName, isTime } from '../../schema/database-names.ts';
import { EXTERNAL_VARIABLES, FETCH_CONTAINER } from '../../schema/meta.ts';
import { bytesText } from '../../schema/text.ts';
import {
  type Command,
  type Context,
  DEPLOYMENT,
  type FlagDefinition,
  type Flags,
  Misuse,
  OUTPUT,
  ownTimeoutFlag,
  tell,
} from '../line/command.ts';
import { confirm, needAnswer, YES } from '../line/confirm.ts';
import { needName } from '../line/needed-names.ts';
import { PROGRAM } from '../line/program.ts';
import { withinTime } from '../line/time-limit.ts';
import { lost } from '../text/lost.ts';
import { Failure, type Kubectl } from '../transport/kubectl.ts';
import { readRecord } from '../transport/records.ts';
import { createJob, lastMessages, untilJob } from './jobs.ts';
import { jsonIn } from './json.ts';
import { chosenBackup, ignoreForbidden, type StoredBackup, storedBackups } from './stored-backups.ts';

/** Which backup is taken, as `backupOf` reads it. */
export const BACKUP_FLAGS: readonly FlagDefinition[] = [
  { name: 'backup', value: 'BACKUP', help: 'the backup of this name; the newest if not given' },
  { name: 'at', value: 'TIME', help: 'the newest backup of this time or before, such as 2026-11-25T12:00:00Z' },
];

export const restoreCommand: Command = {
  name: 'restore',
  purpose: 'load a backup into the empty database of a deployment',
  words: [DEPLOYMENT],
  flags: [
    { name: 'from', value: 'OTHER', help: 'the deployment whose backup it is; NAME if not given' },
    ...BACKUP_FLAGS,
    YES,
    ownTimeoutFlag('end after this time (exit code 124); the Job that loads goes on'),
    OUTPUT,
  ],
  about: `It looks into the store and whether the database is empty, and then asks. It needs --yes where nobody can be asked. The database must be empty: create the deployment with a scale of 0 and with source_config.database.backup, and raise its
scale afterwards. OTHER may be deleted by now; its backups of all of its lives are looked at. The whole backup is loaded, or
nothing. One that is not complete, damaged, or of another version of PostgreSQL is refused.

  PROGRAM backups shop
  PROGRAM restore shop-2 --from shop
  PROGRAM restore shop-2 --from shop --at 2026-11-25T12:00:00Z`,
  changes: { nothing: 'Nothing was loaded.' },
  async run(context) {
    const {
      words: [name = ''],
      kubectl,
      flags,
      warn,
      onInterrupt,
    } = context;
    const from = flags.text('from') ?? name;
    needName(from, '--from');
    const which = { from, ...backupOf(flags) };
    const asks = { verb: 'load', refusal: 'Nothing was loaded.', command: ['restore', name, ...flagsOf(which)] };
    needAnswer(context, asks);
    const looking = withinTime(context, {
      message: (seconds) => `Nothing was loaded: what the store of backups has is not known after ${seconds} s.`,
      hint: `${PROGRAM} backups ${name}`,
    });
    const { manifest, namespace, found } = await jobFor(looking, name, which);
    const words = found ? foundWords(from, found) : backupWords(which);
    const question = `Load ${words} into the database of ${name} in namespace ${namespace}, which must be empty?`;
    await confirm(context, { question, ...asks });
    let job: string | undefined;
    onInterrupt(() =>
      job === undefined
        ? `It is not known whether the Job that loads was created. To see: kubectl get jobs${context.suggested}`
        : `Job ${job} goes on. To end it: kubectl delete job ${job}${context.suggested}`,
    );
    job = await createJob(kubectl, manifest);
    warn(`Job ${job} loads the backup.`);
    const loading = withinTime(context, {
      message: (seconds) => `The backup is not loaded after ${seconds} s. Job ${job} goes on.`,
      hint: `${PROGRAM} status ${name}`,
    });
    return follow(loading, job);
  },
};

function flagsOf({ from, backup, at }: DatabaseRestore): string[] {
  return [
    `--from ${from}`,
    ...(backup === undefined ? [] : [`--backup ${backup}`]),
    ...(at === undefined ? [] : [`--at ${at}`]),
  ];
}

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

function foundWords(from: string, { name, takenAt, sizeBytes }: StoredBackup): string {
  return `backup ${name} of ${from}, of ${takenAt}, ${bytesText(sizeBytes)},`;
}

function backupWords({ from, backup, at }: DatabaseRestore): string {
  if (backup !== undefined) return `backup ${backup} of ${from}`;
  return `the newest backup of ${from}${at === undefined ? '' : ` of ${at} or before`}`;
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

interface Restoring {
  readonly manifest: IJob;
  readonly namespace: string | undefined;
  /** Undefined where the caller may not look. */
  readonly found: StoredBackup | undefined;
}

/** Throws Failure if the deployment cannot be restored into, if the store has no such backup, or if the caller may not read the record. */
async function jobFor(context: Context, name: string, which: DatabaseRestore): Promise<Restoring> {
  const { kubectl } = context;
  const { restoreJob } = await import('./restore-job.ts');
  const record = await readRecord(kubectl, name).catch(lost(name));
  if (record.metadata.deletionTimestamp) throw new Failure(`${name} is being deleted.`);
  needOwnDatabase(
    record,
    'Davit has no database into which a backup could be loaded. Name a deployment with a database of its own, or create one that begins with the backup: source_config.database.restore (docs/database-backups.md, "A deployment that begins with a backup").',
  );
  const cronJob = await cronJobOf(kubectl, name);
  const manifest = restoreJob({ record, cronJob, which });
  const all = await storedBackups(context, {
    record,
    cronJob,
    from: which.from,
    needsEmpty: true,
    failed: (words) => `Nothing was loaded. ${words}`,
  }).catch(ignoreForbidden);
  const found = all && chosenBackup(all, { which, name, nothing: 'Nothing was loaded' });
  return { manifest, namespace: record.metadata.namespace, found };
}

/** Says which backup was loaded. Throws Failure with the last words of what failed. */
async function follow(context: Context, job: string): Promise<number> {
  const {
    kubectl,
    words: [name = ''],
    warn,
    clock,
  } = context;
  const pods = await untilJob(kubectl, job, {
    clock,
    warn,
    until: (state) => (state.is === 'complete' ? state.pods : undefined),
    failed: (words) => `Nothing was loaded. ${words}`,
  });
  const loaded = pods.flatMap((pod) => lastMessages(pod, (ended) => ended.name === FETCH_CONTAINER))[0];
  // What the container that fetched the backup said of it.
  const backup = jsonIn<LoadedBackup>(loaded);
  const says = backup
    ? `Loaded backup ${backup.name} of ${backup.takenAt}, ${bytesText(backup.sizeBytes)}, into ${name}.`
    : `Loaded the backup into ${name}.`;
  tell(context, { says, result: { name, job, loaded: backup ?? null } });
  return 0;
}
