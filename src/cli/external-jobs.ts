// The Jobs of a move to an external database. They are made from the CronJob of the backups of the deployment, which has the images, the
// store and the password of the present database. The URI of the external one is read from its Secret by the kubelet alone. Pure.

import type { ICronJob } from 'kubernetes-models/batch/v1/CronJob';
import type { IJob } from 'kubernetes-models/batch/v1/Job';
import type { IContainer } from 'kubernetes-models/v1/Container';
import {
  CA_FOLDER,
  CA_KEY,
  CHECK_EXTERNAL,
  DESCRIBE,
  EXTERNAL_ENV,
  LOAD_EXTERNAL,
  TRY,
} from '../deployments/children/database/external-scripts.ts';
import type { ExternalUri } from '../deployments/record/moving-database.ts';
import type { AppDeployment } from '../schema/app-deployment.ts';
import { CHECK_CONTAINER, DUMP_CONTAINER, RESTORE_CONTAINER } from '../schema/meta.ts';
import { type BackupContainers, jobOfBackups } from './restore-job.ts';

export interface ToExternal {
  readonly record: AppDeployment;
  /** It makes the backups of the record. */
  readonly cronJob: ICronJob;
  readonly uri: ExternalUri;
  /** Number of the external database among those of the record. */
  readonly number: number;
}

export interface Trial {
  /** What the application expects. */
  readonly uriScheme?: string | undefined;
}

/** The Job that tries whether the database can be moved there. It changes nothing. */
export function tryingJob({ uriScheme = '', ...to }: ToExternal & Trial): IJob {
  const { record, cronJob } = to;
  const job = jobOfBackups({ record, cronJob, which: { from: record.metadata.name } }, ({ dump }) => ({
    initContainers: [{ ...dump, name: DUMP_CONTAINER, command: ['sh', '-c', DESCRIBE] }],
    containers: [
      outside(dump, to, RESTORE_CONTAINER, TRY, [
        { name: 'URI_SCHEME', value: uriScheme },
        { name: 'OWN_SERVER', value: 'yes' },
      ]),
    ],
  }));
  return withCertificate(job, to.uri);
}

/** The Job that loads this backup there, once. */
export function loadingJob(to: ToExternal & { readonly backup: string }): IJob {
  const { record, cronJob, backup } = to;
  const { name, uid } = record.metadata;
  const job = jobOfBackups({ record, cronJob, which: { from: name, backup } }, ({ dump, fetch }) => ({
    initContainers: [
      outside(dump, to, CHECK_CONTAINER, CHECK_EXTERNAL),
      // Those of an earlier deployment of the name need a right that nobody is asked for here.
      { ...fetch, args: [...(fetch.args ?? []), `--uid=${uid}`] },
    ],
    containers: [outside(dump, to, RESTORE_CONTAINER, LOAD_EXTERNAL)],
  }));
  return withCertificate(job, to.uri);
}

const VOLUME = 'external';

/** A container of the present database's image without its password. */
function outside(
  { env: _present, ...shell }: BackupContainers['dump'],
  { record, uri, number, backup = '' }: ToExternal & { readonly backup?: string },
  name: string,
  script: string,
  env: NonNullable<IContainer['env']> = [],
): IContainer {
  return {
    ...shell,
    name,
    command: ['sh', '-c', script],
    env: [
      { name: 'EXTERNAL_URI', valueFrom: { secretKeyRef: { name: uri.secretName, key: uri.secretKey } } },
      { name: 'RESTORE_ID', value: `${record.metadata.uid}/${number}/${backup}` },
      ...EXTERNAL_ENV,
      ...env,
    ],
    volumeMounts: [...(shell.volumeMounts ?? []), { name: VOLUME, mountPath: CA_FOLDER, readOnly: true }],
  };
}

function withCertificate(job: IJob, { secretName }: ExternalUri): IJob {
  const { spec } = job;
  const pod = spec?.template.spec;
  if (!spec || !pod) return job;
  const secret = { secretName, optional: true, defaultMode: 0o440, items: [{ key: CA_KEY, path: CA_KEY }] };
  const volumes = [...(pod.volumes ?? []), { name: VOLUME, secret }];
  return { ...job, spec: { ...spec, template: { ...spec.template, spec: { ...pod, volumes } } } };
}
