// Backups and their verifications: what the controllers of CronJobs and Jobs, their pods and the store do, and what must hold of what is said of
// them. The store is a mark of the namespace.

import { names } from '../../../src/deploy/record/names.ts';
import type { AppDeployment } from '../../../src/kinds/app-deployment.ts';
import { conditionOf } from '../../../src/kinds/conditions.ts';
import { backupPlanOf, verificationPlanOf } from '../../../src/kinds/database.ts';
import {
  BACKUP,
  COMPARE_CONTAINER,
  COMPONENT_LABEL,
  DEPLOYMENT_UID_LABEL,
  UPLOAD_CONTAINER,
  VERIFY,
} from '../../../src/kinds/meta.ts';
import { CRON_JOBS, JOBS, PODS, SECRETS } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import type { Event } from './event.ts';
import { controlledBy, endedPodGoes, eraseRun, isUnended, mayBegin, podOf, runOf } from './job-events.ts';
import { revisionsOf } from './people-events.ts';
import type { Scene } from './scene.ts';

interface Container {
  readonly name: string;
  readonly args?: readonly string[];
}
interface PodSpec {
  readonly initContainers?: readonly Container[];
  readonly containers: readonly Container[];
}
interface CronJob extends KubeObject {
  readonly spec: {
    readonly jobTemplate: Pick<KubeObject, 'metadata'> & {
      readonly spec: { readonly template: { readonly spec: PodSpec } };
    };
  };
}
interface Job extends KubeObject {
  readonly spec?: { readonly template?: { readonly spec?: PodSpec } };
  readonly status?: {
    readonly conditions?: readonly { readonly type: string; readonly lastTransitionTime?: string }[];
  };
}

const CREDENTIALS = 'davit-backup-store';
const componentOf = ({ metadata }: KubeObject): string => metadata.labels?.[COMPONENT_LABEL] ?? '';
const isRun = (job: KubeObject): boolean => componentOf(job) === BACKUP || componentOf(job) === VERIFY;
const runsIn = (scene: Scene, namespace: string): readonly Job[] => scene.all<Job>(JOBS, namespace).filter(isRun);

/** What is in the `store`, and what was ever `sent` to it and `verified`: UID/BACKUP. */
const wordsOf = (scene: Scene, namespace: string, mark: string): readonly string[] =>
  (scene.mark(namespace, mark) ?? '').split(' ').filter((word) => word !== '');
function addWord(scene: Scene, namespace: string, mark: string, word: string): void {
  scene.setMark(namespace, mark, [...wordsOf(scene, namespace, mark), word].join(' '));
}

/** Runs end one after another, a minute each. */
function nextMinute(scene: Scene, namespace: string): string {
  const minute = Number(scene.mark(namespace, 'minute') ?? '9') + 1;
  scene.setMark(namespace, 'minute', String(minute));
  return String(minute);
}
const timeOf = (minute: string): string => `2026-02-02T00:${minute}:00Z`;
const nameOf = (minute: string): string => `20260202T00${minute}00Z-0000000a`;

const argsOf = (job: Job, container: string): readonly string[] =>
  [...(job.spec?.template?.spec?.initContainers ?? []), ...(job.spec?.template?.spec?.containers ?? [])].find(
    ({ name }) => name === container,
  )?.args ?? [];
const option = (args: readonly string[], name: string): string | undefined =>
  args.find((arg) => arg.startsWith(`--${name}=`))?.slice(name.length + 3);

const runBegins: Event = {
  name: 'a run of CronJob % begins',
  by: 'cluster',
  subjects: (scene, namespace) =>
    scene
      .all<CronJob>(CRON_JOBS, namespace)
      .filter((cronJob) => isRun(cronJob) && mayBegin(scene, namespace, cronJob))
      .map(({ metadata }) => metadata.name),
  happen(scene, namespace, subject) {
    const cronJob = scene.get<CronJob>(CRON_JOBS, namespace, subject);
    if (!cronJob) return;
    const name = runOf(subject);
    eraseRun(scene, namespace, name);
    const { metadata, spec } = cronJob.spec.jobTemplate;
    const made = { ...metadata, namespace };
    scene.put(JOBS, {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { ...made, name, ownerReferences: [controlledBy('CronJob', cronJob)] },
      spec: { template: spec.template },
      status: {},
    } as KubeObject);
    scene.put(PODS, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        ...made,
        name: podOf(name),
        ownerReferences: [controlledBy('Job', scene.get(JOBS, namespace, name) as Job)],
      },
      status: { phase: 'Running' },
    } as KubeObject);
  },
};

/** What its last container says; undefined if the pod fails. It is so whatever the record has become meanwhile. */
function reportOf(scene: Scene, namespace: string, job: Job, minute: string): object | undefined {
  if (scene.get(SECRETS, namespace, CREDENTIALS) === undefined) return undefined;
  if (componentOf(job) === BACKUP) {
    const name = nameOf(minute);
    const sent = `${option(argsOf(job, UPLOAD_CONTAINER), 'uid')}/${name}`;
    for (const mark of ['store', 'sent']) addWord(scene, namespace, mark, sent);
    return { name, takenAt: timeOf(minute), sizeBytes: 1024 };
  }
  const args = argsOf(job, 'davit-fetch');
  const [uid, known = ''] = [option(args, 'tenant')?.split('/')[1], option(args, 'known')];
  const own = wordsOf(scene, namespace, 'store').filter((word) => word.startsWith(`${uid}/`));
  const newest = own
    .map((word) => word.slice(`${uid}/`.length))
    .toSorted()
    .at(-1);
  if (newest === undefined || newest < known) return undefined;
  addWord(scene, namespace, 'verified', `${uid}/${newest}`);
  const takenAt = `2026-02-02T00:${newest.slice(11, 13)}:00Z`;
  return { name: newest, takenAt, comparedAt: timeOf(minute), tables: 1, rows: 2 };
}

const runEnds = (how: 'as it should' | 'with a failure'): Event => ({
  name: `run % ends ${how}`,
  by: 'cluster',
  ...(how === 'as it should' && { calm: true as const }),
  subjects: (scene, namespace) =>
    runsIn(scene, namespace)
      .filter(isUnended)
      .map(({ metadata }) => metadata.name),
  happen(scene, namespace, subject) {
    const job = scene.get<Job>(JOBS, namespace, subject);
    const pod = scene.get(PODS, namespace, podOf(subject));
    if (!job || !pod) return;
    const minute = nextMinute(scene, namespace);
    const report = how === 'as it should' ? reportOf(scene, namespace, job, minute) : undefined;
    // What fails may have said anything before.
    const claimed = {
      name: nameOf(minute),
      takenAt: timeOf(minute),
      comparedAt: timeOf(minute),
      sizeBytes: 1,
      tables: 1,
      rows: 1,
    };
    const exitCode = report === undefined ? 1 : 0;
    const terminated = {
      exitCode,
      reason: exitCode === 0 ? 'Completed' : 'Error',
      message: JSON.stringify(report ?? claimed),
      finishedAt: timeOf(minute),
    };
    const name = componentOf(job) === BACKUP ? UPLOAD_CONTAINER : COMPARE_CONTAINER;
    const phase = exitCode === 0 ? 'Succeeded' : 'Failed';
    scene.change(PODS, pod, { status: { phase, containerStatuses: [{ name, state: { terminated } }] } });
    const end = { type: exitCode === 0 ? 'Complete' : 'Failed', status: 'True', lastTransitionTime: timeOf(minute) };
    scene.change(JOBS, job, { status: { conditions: [end] } });
  },
});

/** Somebody who may write to the store, or a rule of the bucket. */
const newestGoes: Event = {
  name: 'the newest backup goes from the store',
  by: 'cluster',
  subjects: (scene, namespace) => (wordsOf(scene, namespace, 'store').length > 0 ? [''] : []),
  happen: (scene, namespace) =>
    scene.setMark(namespace, 'store', wordsOf(scene, namespace, 'store').slice(0, -1).join(' ')),
};

const credentialsGo: Event = {
  name: 'the credentials of the store go',
  by: 'people',
  subjects: (scene, namespace) => (scene.get(SECRETS, namespace, CREDENTIALS) ? [''] : []),
  happen(scene, namespace) {
    const secret = scene.get(SECRETS, namespace, CREDENTIALS);
    if (secret) scene.erase(SECRETS, secret);
  },
};

export function putStoreCredentials(scene: Scene, namespace: string): void {
  scene.put(SECRETS, { apiVersion: 'v1', kind: 'Secret', metadata: { name: CREDENTIALS, namespace } });
}

export const RUN_EVENTS: readonly Event[] = [runBegins, runEnds('as it should'), runEnds('with a failure')];
export const BACKUP_EVENTS: readonly Event[] = [...RUN_EVENTS, endedPodGoes(runsIn), newestGoes, credentialsGo];

/** What is wrong with what is said of backups and verifications at rest, and with the CronJobs that make them. */
export function backupsAreWrong(scene: Scene, record: AppDeployment): string | undefined {
  const { namespace = '', name, uid = '' } = record.metadata;
  const { databaseBackup, databaseBackups, databaseVerification, conditions, activeRevisionId } = record.status ?? {};
  const claims = [
    ['sent', databaseBackup?.name, 'a backup'],
    ['verified', databaseVerification?.name, 'a verification of'],
  ] as const;
  for (const [mark, claimed, what] of claims)
    if (claimed !== undefined && !wordsOf(scene, namespace, mark).includes(`${uid}/${claimed}`))
      return `The status claims ${what} ${claimed}, which no run of ${uid} has reported.`;
  const condition = conditionOf(conditions, 'BackupVerified');
  const failed = scene
    .all<Job>(JOBS, namespace)
    .find((job) => componentOf(job) === VERIFY && job.status?.conditions?.[0]?.type === 'Failed');
  const isOurs = failed?.metadata.labels?.[DEPLOYMENT_UID_LABEL] === uid;
  if (isOurs && condition?.status === 'True') return 'BackupVerified is True, and the last verification failed.';
  const active = revisionsOf(scene, record).find(({ spec }) => spec.id === activeRevisionId);
  if (!active) return undefined;
  const { database } = record.spec.sourceConfig;
  const isOwn = active.spec.resolved.postgres !== undefined;
  const { backup, verification } = names(name);
  const wanted = [
    ...(isOwn && backupPlanOf(database, name) ? [backup] : []),
    ...(isOwn && verificationPlanOf(database, name, false) ? [verification] : []),
  ];
  const there = scene.all<CronJob>(CRON_JOBS, namespace).filter(isRun);
  if (
    there
      .map(({ metadata }) => metadata.name)
      .toSorted()
      .join() !== wanted.toSorted().join()
  )
    return `The CronJobs are [${there.map(({ metadata }) => metadata.name).join()}], and should be [${wanted.join()}].`;
  const sent = there.find((one) => componentOf(one) === BACKUP)?.spec.jobTemplate.spec.template.spec.containers ?? [];
  const verified = option(sent.find((one) => one.name === UPLOAD_CONTAINER)?.args ?? [], 'verified');
  if (sent.length > 0 && verified !== databaseVerification?.name)
    return `The next backup spares ${verified}, and ${databaseVerification?.name} was verified last.`;
  const listed = (databaseBackups?.newest ?? []).map((one) => one.name);
  const unsent = listed.find((one) => !wordsOf(scene, namespace, 'sent').includes(`${uid}/${one}`));
  if (unsent !== undefined) return `The status lists backup ${unsent}, which no run of ${uid} has reported.`;
  if (databaseBackup?.name !== undefined && !listed.includes(databaseBackup.name))
    return `The status does not list ${databaseBackup.name}, which it names as the last backup.`;
  const verifications = there.find((one) => componentOf(one) === VERIFY);
  const spec = verifications?.spec.jobTemplate.spec.template.spec;
  const known = option(spec?.initContainers?.find((one) => one.name === 'davit-fetch')?.args ?? [], 'known');
  return verifications !== undefined && known !== databaseBackup?.name
    ? `The next verification asks for ${known}, and the status names ${databaseBackup?.name}.`
    : undefined;
}
