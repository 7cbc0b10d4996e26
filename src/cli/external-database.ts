// What a move to an external database asks of it, all with the caller's rights: by Jobs in the namespace of the deployment, which alone
// read the URI. This program never does.

import type { IJobSpec } from 'kubernetes-models/batch/v1/JobSpec';
import { hasEnded, type Job } from '../deployments/assess/jobs.ts';
import type { DatabaseOfRecord } from '../deployments/record/database-move.ts';
import { isOwnedBy } from '../deployments/record/metadata.ts';
import type { ExternalUri } from '../deployments/record/moving-database.ts';
import type { AppDeployment } from '../schema/app-deployment.ts';
import { COMPONENT_LABEL, RESTORE, RESTORE_CONTAINER } from '../schema/meta.ts';
import { quoted } from '../schema/text.ts';
import type { Context } from './command.ts';
import type { ToExternal, Trial } from './external-jobs.ts';
import { createJob, lastMessages, untilJob } from './jobs.ts';
import { jsonIn } from './json.ts';
import { Failure, isForbidden, type Kubectl } from './kubectl.ts';
import { listOf } from './records.ts';
import { cronJobOf } from './restore.ts';
import { ignoreForbidden } from './stored-backups.ts';

/** A version of the Secret with the URI. Throws Failure if it, or its key, is not there. Its values are not read. */
export async function needUri(kubectl: Kubectl, { secretName, secretKey }: ExternalUri): Promise<string> {
  const template = '{{.metadata.resourceVersion}}{{range $key, $value := .data}} {{$key}}{{end}}';
  const text = await kubectl(['get', 'secret', secretName, '--ignore-not-found', '-o', `go-template=${template}`]);
  const [version = '', ...keys] = text.trim().split(' ');
  if (version === '') throw new Failure(`There is no Secret ${secretName} with the URI of the external database.`);
  if (keys.includes(secretKey)) return version;
  const has = keys.length === 0 ? 'It has none.' : `It has ${keys.join(', ')}.`;
  throw new Failure(`Secret ${secretName} has no key ${secretKey}. ${has} Another one is named with --key.`);
}

export interface Place {
  readonly uri: ExternalUri;
  readonly to: DatabaseOfRecord;
}

/** What the Job that tries it has found. Any of it may be missing. */
type ExternalServer = Readonly<Partial<Record<'host' | 'port' | 'database' | 'user' | 'version', string>>>;

/**
 * Tries whether the database can be moved there, and changes nothing. Resolves to what is there, in words without a password. Throws
 * Failure with why it cannot.
 */
export async function tryExternal(
  { kubectl, warn, clock }: Context,
  record: AppDeployment,
  { uri, to, ...trial }: Place & Trial,
): Promise<string> {
  const { tryingJob } = await import('./external-jobs.ts');
  const job = await createJob(kubectl, tryingJob({ ...(await jobIn(kubectl, record, { uri, to })), ...trial }));
  warn(`Job ${job} tries the database in key ${uri.secretKey} of Secret ${uri.secretName}.`);
  const pods = await untilJob(kubectl, job, {
    clock,
    warn,
    until: (state) => (state.is === 'complete' ? state.pods : undefined),
    failed: (words) => `Nothing was changed. The external database cannot be used: ${words}`,
  });
  const [said] = pods.flatMap((pod) => lastMessages(pod, ({ name }) => name === RESTORE_CONTAINER));
  const { host, port, database, user, version } = jsonIn<ExternalServer | null>(said) ?? {};
  const at = port === undefined ? host : `${host}:${port}`;
  return `database ${quoted(database)} at ${quoted(at)}, as user ${quoted(user)}, with PostgreSQL ${quoted(version)}`;
}

/** Loads this backup there, unless it was loaded before. Throws Failure with why it is not. */
export async function loadExternal(
  { kubectl, warn, clock }: Pick<Context, 'kubectl' | 'warn' | 'clock'>,
  record: AppDeployment,
  { uri, to, backup, otherwise }: Place & { readonly backup: string; readonly otherwise: string },
): Promise<void> {
  const { loadingJob } = await import('./external-jobs.ts');
  const job = await createJob(kubectl, loadingJob({ ...(await jobIn(kubectl, record, { uri, to })), backup }));
  warn(`Job ${job} loads the backup into the external database.`);
  await untilJob(kubectl, job, {
    clock,
    warn,
    until: (state) => (state.is === 'complete' ? true : undefined),
    failed: (words) => `Nothing was loaded. ${words}\n${otherwise}`,
  });
}

/** So long pods of a Job may take to end, as kubectl has it. */
const END_WITHIN = '2m';

/**
 * Ends the Jobs that still load the external database of this number, with their pods: it would have data that nobody uses any more. Says
 * which. Throws Failure if they do not end.
 */
export async function endLoads(
  { kubectl, warn, suggested }: Pick<Context, 'kubectl' | 'warn' | 'suggested'>,
  { metadata: { name, uid = '' } }: AppDeployment,
  number: number,
): Promise<void> {
  const all =
    (await listOf<LoadingJob>(kubectl, 'jobs.batch', name, { [COMPONENT_LABEL]: RESTORE }).catch(ignoreForbidden)) ??
    [];
  const jobs = all
    .filter((job) => isOwnedBy(job, uid) && !hasEnded(job))
    .filter((job) => restoreIdOf(job).startsWith(`${uid}/${number}/`))
    .map(({ metadata }) => metadata.name);
  if (jobs.length === 0) return;
  warn(`Job ${jobs.join(', ')} is being ended, which loads the external database.`);
  try {
    await kubectl([
      'delete',
      'jobs.batch',
      ...jobs,
      '--ignore-not-found',
      '--cascade=foreground',
      `--timeout=${END_WITHIN}`,
    ]);
  } catch (error) {
    if (!isForbidden(error)) throw error;
    warn(`You may not delete it, so it goes on. To end it: kubectl delete job ${jobs.join(' ')}${suggested}`);
  }
}

type LoadingJob = Job & { readonly spec?: Partial<Pick<IJobSpec, 'template'>> };

function restoreIdOf({ spec }: LoadingJob): string {
  const env = spec?.template?.spec?.containers.flatMap((container) => container.env ?? []) ?? [];
  return env.find(({ name }) => name === 'RESTORE_ID')?.value ?? '';
}

async function jobIn(kubectl: Kubectl, record: AppDeployment, { uri, to }: Place): Promise<ToExternal> {
  const { name } = record.metadata;
  return { record, cronJob: await cronJobOf(kubectl, name), uri, number: to.number };
}
