// Backups, their verifications, and a record that begins with a backup.

import { pause } from '../../../cluster/api-client.ts';
import type { Seen } from '../object-history.ts';
import type { Acts } from './acts.ts';
import { childIn, hasCondition, NotConverged, RECORD, record, recordIn, type Scene, SECOND, until } from './stage.ts';

/** No run begins while a test looks. */
export const NEVER = '0 0 1 1 *';
export const VERIFIED = { backup: { schedule: NEVER, verify: true, verifySchedule: NEVER } };
/** Davit's settings. No store is behind them: the stand-in says what a pod that reaches one would say. */
export const BACKUP_SETTINGS = {
  backups: {
    default: { enabled: false },
    store: { endpoint: 'https://store.example', bucket: 'backups' },
    image: 'registry.example/davit:1',
  },
};
export const STORE_CREDENTIALS = { metadata: { name: 'davit-backup-store' }, stringData: { accessKeyId: 'a' } };

const [FIRST, LATER] = ['20260202T020000Z-0000000a', '20260203T020000Z-0000000b'];
const sent = (name: string): object => ({ name, takenAt: takenAt(name), sizeBytes: 1024 });
const takenAt = (name: string): string => `2026-02-${name.slice(6, 8)}T02:00:00Z`;

export async function backups(acts: Acts): Promise<void> {
  const { stage, api, namespace, paths, change, untilReady } = acts;
  const says = (type: string, reason: string, status: 'True' | 'False' | 'Unknown'): Promise<void> =>
    until(stage, `backups: ${reason}`, () => hasCondition(stage, type, reason, status));
  await until(
    stage,
    'backups: two CronJobs',
    () => cronJobIn(stage, 'backup') !== undefined && cronJobIn(stage, 'verify') !== undefined,
  );
  if (JSON.stringify(childIn(stage, 'NetworkPolicy', `${RECORD}--postgres`)?.spec).includes('"verify"'))
    throw new NotConverged('backups: the pods of verifications reach the database of the record');
  await api.call('POST', paths.jobs, runOf(stage, 'backup', 1, sent(FIRST)));
  await says('BackupReady', 'BackedUp', 'True');
  await until(stage, 'backups: the next verification asks for it', () => knownIn(stage) === FIRST);
  await verify(acts, 1, FIRST);
  await says('BackupVerified', 'Verified', 'True');
  await api.call('POST', paths.jobs, runOf(stage, 'verify', 2, {}, 'registry.example/failing:1'));
  await says('BackupVerified', 'VerificationFailing', 'False');
  await forgetPod(acts, 'verify', 2);
  await api.call('POST', paths.jobs, runOf(stage, 'backup', 2, sent(LATER)));
  await until(stage, 'backups: the next verification asks for the later one', () => knownIn(stage) === LATER);
  await api.call(
    'POST',
    paths.jobs,
    runOf(stage, 'backup', 3, sent('20990101T020000Z-0000000c'), 'registry.example/failing:1'),
  );
  await says('BackupReady', 'BackupFailing', 'False');
  await verify(acts, 3, LATER);
  await says('BackupVerified', 'Verified', 'True');
  await forgetPod(acts, 'verify', 3);
  const { databaseBackup, databaseVerification } = recordIn(stage)?.status ?? {};
  if (databaseBackup?.name !== LATER || databaseVerification?.name !== LATER)
    throw new NotConverged(
      `backups: ${LATER} is not the last: ${JSON.stringify([databaseBackup, databaseVerification])}`,
    );
  await cloned(acts);
  await change({ sourceConfig: { database: null } });
  await until(stage, 'backups: no CronJob, and no run', () =>
    stage.census
      .current(namespace)
      .every(({ kind, object }) => kind !== 'CronJob' && !(kind === 'Job' && isRun(object))),
  );
  await change({ sourceConfig: { database: VERIFIED } });
  await until(stage, 'backups: two CronJobs again', () => knownIn(stage) === LATER);
  await untilReady('backups: with what was verified before');
}

/** What is verified is said at the time of its run, so that each is newer than the one before. */
async function verify({ stage, api, paths }: Acts, count: number, name: string): Promise<void> {
  // Times have seconds.
  await pause(1100);
  const comparedAt = `${new Date().toISOString().slice(0, 19)}Z`;
  const report = { name, takenAt: takenAt(name), comparedAt, tables: 3, rows: 42 };
  await api.call('POST', paths.jobs, runOf(stage, 'verify', count, report));
}

/** A record that begins with the backup of the first: its pods wait until that is loaded. */
async function cloned({ stage, api, namespace, paths }: Acts): Promise<void> {
  const spec = { sourceConfig: { database: { restore: { from: RECORD } } } };
  await api.call('POST', paths.records, record(namespace, spec, SECOND));
  await until(stage, 'backups: the clone is Ready', () => hasCondition(stage, 'Ready', 'Serving', 'True', SECOND));
  const history = stage.census.history(namespace).filter(({ object }) => object.metadata.name === SECOND);
  const begun = history.find(
    ({ kind, object }) => kind === 'AppDeployment' && object.status?.databaseRestore?.restoredAt !== undefined,
  );
  const pods = history.find(({ kind }) => kind === 'Deployment');
  const job = stage.census
    .history(namespace)
    .find(({ kind, object }) => kind === 'Job' && object.metadata.name === `${SECOND}---restore`);
  if (begun?.object.status?.databaseRestore?.from !== RECORD || !pods || !job || pods.version < job.version)
    throw new NotConverged('backups: the pods of the clone did not wait for its restore');
  await api.call('DELETE', `${paths.records}/${SECOND}`);
  await until(stage, 'backups: the clone is gone', () => recordIn(stage, SECOND) === undefined);
}

/** What was said of a run stays when its pod has gone. */
async function forgetPod({ stage, api, paths }: Acts, kind: Kind, count: number): Promise<void> {
  const before = JSON.stringify(recordIn(stage)?.status?.databaseVerification);
  const pod = podOfRun(stage, kind, count)?.metadata.name;
  await api.call('DELETE', `${paths.pods}/${pod}`);
  await until(stage, 'backups: the pod of a run is gone', () => podOfRun(stage, kind, count) === undefined);
  await pause(700);
  await until(
    stage,
    'backups: what it said stays',
    () => JSON.stringify(recordIn(stage)?.status?.databaseVerification) === before,
  );
}

type Kind = 'backup' | 'verify';

function cronJobIn(scene: Scene, kind: Kind): Seen | undefined {
  return childIn(scene, 'CronJob', `${RECORD}---${kind}`);
}

/** The backup for which the next verification asks. */
function knownIn(scene: Scene): string | undefined {
  const [, known] = /--known=([^"]+)"/.exec(JSON.stringify(cronJobIn(scene, 'verify')?.spec) ?? '') ?? [];
  return known;
}

const runName = (kind: Kind, count: number): string => `${RECORD}---${kind}-${count}`;

/** The Job that the schedule would begin, whose last container says this at its end. */
function runOf(scene: Scene, kind: Kind, count: number, says: object, image?: string): object {
  const { metadata, spec } = cronJobIn(scene, kind) ?? {};
  const template = structuredClone(spec.jobTemplate);
  const pods = template.spec.template;
  pods.metadata.annotations = { 'stand-in/says': JSON.stringify(says) };
  if (image !== undefined) pods.spec.containers[0].image = image;
  const owner = { apiVersion: 'batch/v1', kind: 'CronJob', name: metadata?.name, uid: metadata?.uid, controller: true };
  return {
    metadata: { ...template.metadata, name: runName(kind, count), ownerReferences: [owner] },
    spec: template.spec,
  };
}

function isRun({ metadata }: Seen): boolean {
  return metadata.name.startsWith(`${RECORD}---`);
}

function podOfRun({ census, namespace }: Scene, kind: Kind, count: number): Seen | undefined {
  return census
    .current(namespace)
    .find(
      ({ kind: of, object }) =>
        of === 'Pod' && object.metadata.labels?.['batch.kubernetes.io/job-name'] === runName(kind, count),
    )?.object;
}
