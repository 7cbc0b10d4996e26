// The CronJob that backs up a record's own PostgreSQL. An init container of the database's image writes a dump into the pod, and a
// container of Davit's image takes it to the store. Only the second one has the store's credentials, only the first the password.

import type { ICronJob } from 'kubernetes-models/batch/v1/CronJob';
import type { IContainer } from 'kubernetes-models/v1/Container';
import type { IPodSpec } from 'kubernetes-models/v1/PodSpec';
import type { Resolved } from '../../../schema/app-revision.ts';
import { type BackupPlan, backupPlanOf } from '../../../schema/database.ts';
import { BACKUP, DUMP_CONTAINER, UPLOAD_CONTAINER } from '../../../schema/meta.ts';
import type { BackupStore, Settings } from '../../../schema/settings.ts';
import { namespaceOf, uidOf } from '../../record/metadata.ts';
import { names } from '../../record/names.ts';
import { RESTRICTED, RESTRICTED_POD } from '../containers.ts';
import { fromSecret } from '../env.ts';
import type { Inputs } from '../inputs.ts';
import { commonLabels } from '../labels.ts';
import type { Manifest } from '../manifest.ts';
import { ONCE } from '../one-off-pod.ts';
import { ownedMeta } from '../owner.ts';
import { placementFor, pullSecretsFor } from '../placement.ts';
import { storageQuantity } from '../quantity.ts';
import { POSTGRES_DATABASE, POSTGRES_USER, postgresHost } from '../store-hosts.ts';
import { AWAIT_SERVER } from './await-server.ts';

/** A backup that could not begin for so long is skipped. */
const LATEST_START_SECONDS = 3600;

const FOLDER = '/backup';
const CREDENTIALS = '/store';
/** The pods' own sizes: pg_dump streams, and an upload holds one part of the file. */
const SIZES = { requests: { cpu: '50m', memory: '64Mi' }, limits: { cpu: '1', memory: '512Mi' } };

/** The dump is read once more, because a file that pg_restore cannot read is no backup. */
const DUMP = `set -eu
umask 077
date -u +%Y-%m-%dT%H:%M:%SZ > taken-at
${AWAIT_SERVER}pg_dump -w -F custom --no-owner --no-privileges -f dump
pg_restore --list dump > /dev/null
`;

/** What a platform needs for backups; undefined if it has not all of it. */
export interface BackupMeans {
  readonly store: BackupStore;
  readonly image: string;
}

export function backupMeans({ backups: { store, image } }: Settings): BackupMeans | undefined {
  return store && image !== undefined ? { store, image } : undefined;
}

interface Backed {
  readonly postgres: NonNullable<Resolved['postgres']>;
  readonly plan: BackupPlan;
  readonly means: BackupMeans;
}

/** What is backed up; undefined if the record asks for no backups, has no own PostgreSQL, or the platform has no store. */
export function backedUp({ record, revision, settings }: Inputs): Backed | undefined {
  const { postgres } = revision.spec.resolved;
  const plan = backupPlanOf(record.spec.sourceConfig.database, record.metadata.name);
  const means = backupMeans(settings);
  return postgres && plan && means && { postgres, plan, means };
}

/** Undefined if nothing is backed up. */
export function makeBackup(inputs: Inputs): Manifest<ICronJob> | undefined {
  const { record, settings } = inputs;
  const backed = backedUp(inputs);
  if (!backed) return undefined;
  const { postgres, plan, means } = backed;
  const labels = commonLabels(record, BACKUP);
  return {
    apiVersion: 'batch/v1',
    kind: 'CronJob',
    metadata: ownedMeta(record, names(record.metadata.name).backup, BACKUP),
    spec: {
      schedule: plan.schedule,
      ...(plan.timeZone !== undefined && { timeZone: plan.timeZone }),
      concurrencyPolicy: 'Forbid',
      suspend: false,
      startingDeadlineSeconds: LATEST_START_SECONDS,
      successfulJobsHistoryLimit: 1,
      failedJobsHistoryLimit: 1,
      jobTemplate: {
        metadata: { labels },
        spec: {
          ...ONCE,
          activeDeadlineSeconds: settings.backups.timeoutSeconds,
          template: { metadata: { labels }, spec: podSpec(inputs, postgres, plan, means) },
        },
      },
    },
  };
}

function podSpec(
  { record, revision }: Inputs,
  postgres: NonNullable<Resolved['postgres']>,
  { keep }: BackupPlan,
  { store, image }: BackupMeans,
): IPodSpec {
  const { resolved } = revision.spec;
  const { topologySpreadConstraints: _spread, ...placement } = placementFor(resolved, 'postgres', record.metadata.name);
  const common = {
    imagePullPolicy: resolved.pullPolicy,
    resources: SIZES,
    securityContext: RESTRICTED,
    terminationMessagePolicy: 'FallbackToLogsOnError',
  } satisfies Partial<IContainer>;
  const work = { name: 'backup', mountPath: FOLDER };
  const tmp = { name: 'tmp', mountPath: '/tmp' };
  return {
    restartPolicy: 'Never',
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    terminationGracePeriodSeconds: 10,
    ...pullSecretsFor(resolved),
    ...placement,
    securityContext: RESTRICTED_POD,
    initContainers: [
      {
        ...common,
        name: DUMP_CONTAINER,
        image: postgres.image,
        // The other one keeps its image's, from which its program starts.
        workingDir: FOLDER,
        command: ['sh', '-c', DUMP],
        env: databaseEnv(record),
        volumeMounts: [work, tmp],
      },
    ],
    containers: [
      {
        ...common,
        name: UPLOAD_CONTAINER,
        image,
        args: [
          'backup',
          'send',
          ...storeOptions(store),
          `--namespace=${namespaceOf(record)}`,
          `--deployment=${record.metadata.name}`,
          `--uid=${uidOf(record)}`,
          `--keep=${keep}`,
        ],
        volumeMounts: [work, tmp, { name: 'store', mountPath: CREDENTIALS, readOnly: true }],
      },
    ],
    volumes: [
      { name: 'backup', emptyDir: { sizeLimit: storageQuantity(postgres.storageGi) } },
      { name: 'tmp', emptyDir: {} },
      { name: 'store', secret: { secretName: store.credentialsSecret, defaultMode: 0o440 } },
    ],
  };
}

function databaseEnv(record: Inputs['record']): NonNullable<IContainer['env']> {
  const { postgresSecret } = names(record.metadata.name);
  return [
    { name: 'PGHOST', value: postgresHost(record) },
    { name: 'PGUSER', value: POSTGRES_USER },
    { name: 'PGDATABASE', value: POSTGRES_DATABASE },
    { name: 'PGCONNECT_TIMEOUT', value: '10' },
    fromSecret('PGPASSWORD', { secretName: postgresSecret, secretKey: 'password' }),
  ];
}

/** Where the store is; its credentials are files. */
function storeOptions({ endpoint, bucket, prefix, region, pathStyle, ca }: BackupStore): string[] {
  const address = { endpoint, bucket, prefix, region, pathStyle, ...(ca !== undefined && { ca }) };
  return [`--folder=${FOLDER}`, `--credentials=${CREDENTIALS}`, `--store=${literal(JSON.stringify(address))}`];
}

/** The kubelet replaces $(NAME) in arguments, and $$ by $. */
function literal(text: string): string {
  return text.replaceAll('$', '$$$$');
}
