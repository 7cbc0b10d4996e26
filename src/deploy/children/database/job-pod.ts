// The pods of Davit's own Jobs on a record's own PostgreSQL: containers of the database's image, which have its password, and containers
// of Davit's image, which have the credentials of the store. None has both.

import type { IContainer } from 'kubernetes-models/v1/Container';
import type { IPodSpec } from 'kubernetes-models/v1/PodSpec';
import type { Resolved } from '../../../kinds/app-revision.ts';
import { SERVER_CONTAINER } from '../../../kinds/meta.ts';
import type { BackupStore, Settings } from '../../../kinds/settings.ts';
import { literal } from '../../../kinds/text.ts';
import { driverOf, OWNER, SUPERUSER, SUPERUSER_PASSWORD_KEY } from '../../record/database-driver.ts';
import { databaseNames } from '../../record/database-move.ts';
import { namespaceOf, uidOf } from '../../record/metadata.ts';
import { fromSecret } from '../env.ts';
import type { Inputs } from '../inputs.ts';
import { placementFor, pullSecretsFor } from '../placement.ts';
import { storageQuantity } from '../quantity.ts';
import { RESTRICTED, RESTRICTED_POD } from '../security-and-sizes.ts';
import { databasePlace } from '../store-hosts.ts';
import { AWAIT_SERVER } from './await-server.ts';
import { localeArguments, makeExtensions } from './owned-stateful-set.ts';

/** Shared by the containers of a pod. */
export const FOLDER = '/backup';
const CREDENTIALS = '/store';
/** The pods' own sizes: pg_dump streams, and an upload holds one part of the file. */
const SIZES = { requests: { cpu: '50m', memory: '64Mi' }, limits: { cpu: '1', memory: '512Mi' } };

/** What a platform needs for backups; undefined if it has not all of it. */
export interface BackupMeans {
  readonly store: BackupStore;
  readonly image: string;
}

export function backupMeans({ backups: { store, image } }: Settings): BackupMeans | undefined {
  return store && image !== undefined ? { store, image } : undefined;
}

/** What such a Job needs of a PostgreSQL. */
type JobPostgres = Pick<
  NonNullable<Resolved['postgres']>,
  'image' | 'storageGi' | 'driver' | 'user' | 'userId' | 'extensions'
>;

/** The record has a PostgreSQL that Davit made. */
export interface DatabaseJob {
  readonly inputs: Pick<Inputs, 'record' | 'revision'>;
  readonly postgres: JobPostgres;
  readonly means: BackupMeans;
}

interface Containers {
  readonly initContainers: IContainer[];
  readonly containers: IContainer[];
}

/** They share a folder, which may become as large as the database. */
export function jobPod(
  { inputs, postgres, means }: Omit<DatabaseJob, 'means'> & Partial<DatabaseJob>,
  containers: Containers,
  volumes: NonNullable<IPodSpec['volumes']> = [],
): IPodSpec {
  const { record, revision } = inputs;
  const { resolved } = revision.spec;
  const { topologySpreadConstraints: _spread, ...placement } = placementFor(resolved, 'postgres', record.metadata.name);
  return {
    restartPolicy: 'Never',
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    terminationGracePeriodSeconds: 10,
    ...pullSecretsFor(resolved),
    ...placement,
    securityContext: RESTRICTED_POD,
    ...containers,
    volumes: [
      { name: 'backup', emptyDir: { sizeLimit: storageQuantity(postgres.storageGi) } },
      { name: 'tmp', emptyDir: {} },
      ...(means ? [{ name: 'store', secret: { secretName: means.store.credentialsSecret, defaultMode: 0o440 } }] : []),
      ...volumes,
    ],
  };
}

/** Runs this script of a shell in the shared folder. */
export function inDatabase(
  { inputs, postgres }: Omit<DatabaseJob, 'means'>,
  name: string,
  script: string,
  env: NonNullable<IContainer['env']> = [],
): IContainer {
  return {
    ...commonOf(inputs),
    name,
    image: postgres.image,
    // The other one keeps its image's, from which its program starts.
    workingDir: FOLDER,
    command: ['sh', '-c', script],
    env: [...databaseEnv(inputs), ...env],
    volumeMounts: MOUNTS,
  };
}

/** The same as the superuser where the record's own server has another one than its application: it reads what policies hide, and large objects. */
export function inWholeDatabase(
  job: Omit<DatabaseJob, 'means'>,
  name: string,
  script: string,
  more: NonNullable<IContainer['env']> = [],
): IContainer {
  const { record, revision } = job.inputs;
  const { env = [], ...container } = inDatabase(job, name, script, more);
  if (revision.spec.resolved.postgres?.user === undefined) return { ...container, env };
  const { postgresSecret: secretName } = databaseNames(record, revision);
  const superuser = [
    { name: 'PGUSER', value: SUPERUSER.user },
    fromSecret('PGPASSWORD', { secretName, secretKey: SUPERUSER_PASSWORD_KEY }),
  ];
  return {
    ...container,
    env: [...env.filter((one) => superuser.every(({ name }) => name !== one.name)), ...superuser],
  };
}

/** Runs this script of a shell in the shared folder, against the pod's own server. */
export function inOwnServer(
  job: DatabaseJob,
  name: string,
  script: string,
  env: NonNullable<IContainer['env']> = [],
): IContainer {
  const { user } = driverOf(job.postgres) === 'pod' ? SUPERUSER : OWNER;
  return { ...inDatabase(job, name, script), env: [{ name: 'PGUSER', value: user }, ...OWN_SERVER_ENV, ...env] };
}

/**
 * A PostgreSQL of the record's image that is as new and as empty as the record's own one was, beside the other containers until they end.
 * It listens to nobody outside of the pod, and what it writes goes with the pod. Nothing must survive a crash, so it waits for no disk.
 */
export function ownServer({ inputs, postgres }: DatabaseJob): IContainer {
  const settings = SERVER_SETTINGS.flatMap((setting) => ['-c', setting]);
  return {
    ...commonOf(inputs),
    name: SERVER_CONTAINER,
    image: postgres.image,
    restartPolicy: 'Always',
    ...(driverOf(postgres) === 'pod' ? { args: settings } : withoutEntrypoint(postgres, settings)),
    env: [
      { name: 'POSTGRES_USER', value: SUPERUSER.user },
      { name: 'POSTGRES_DB', value: SUPERUSER.database },
      // Only containers of this pod reach it.
      { name: 'POSTGRES_HOST_AUTH_METHOD', value: 'trust' },
      { name: 'POSTGRES_INITDB_ARGS', value: localeArguments(postgres.image) },
      { name: 'PGDATA', value: `${SERVER_DATA}/pgdata` },
    ],
    startupProbe: {
      exec: { command: ['sh', '-c', 'pg_isready -q -h 127.0.0.1 -U postgres'] },
      periodSeconds: 1,
      timeoutSeconds: 5,
      failureThreshold: 1800,
    },
    volumeMounts: [
      { name: 'data', mountPath: SERVER_DATA },
      { name: 'run', mountPath: '/var/run/postgresql' },
      { name: 'server-tmp', mountPath: '/tmp' },
      { name: 'shm', mountPath: '/dev/shm' },
    ],
  };
}

/** Images for CloudNativePG have no entrypoint that makes a database, and initdb asks for the name of its user. */
function withoutEntrypoint(
  { userId = 26 }: DatabaseJob['postgres'],
  settings: readonly string[],
): Pick<IContainer, 'command' | 'securityContext'> {
  const script =
    'set -e\numask 077\n[ -s "$PGDATA/PG_VERSION" ] || initdb -U postgres -A trust --no-sync --no-instructions -E UTF8 --locale=C.UTF-8 -D "$PGDATA"\nexec postgres "$@"';
  return {
    command: ['sh', '-c', script, 'postgres', ...settings],
    securityContext: { ...RESTRICTED, runAsUser: userId, runAsGroup: userId },
  };
}

/** The volumes of `ownServer`. What is restored may become as large as the database. */
export function ownServerVolumes({ postgres }: DatabaseJob): NonNullable<IPodSpec['volumes']> {
  return [
    { name: 'data', emptyDir: { sizeLimit: storageQuantity(postgres.storageGi) } },
    { name: 'run', emptyDir: {} },
    // The container beside it that has the store's key is not to find what a function of the dump has written.
    { name: 'server-tmp', emptyDir: {} },
    { name: 'shm', emptyDir: { medium: 'Memory', sizeLimit: '256Mi' } },
  ];
}

const SERVER_SETTINGS = [
  'listen_addresses=127.0.0.1',
  'fsync=off',
  'full_page_writes=off',
  'synchronous_commit=off',
  'wal_level=minimal',
  'max_wal_senders=0',
  'archive_mode=off',
  'autovacuum=off',
  // Its log may be quoted in conditions, and rows must not be.
  'log_error_verbosity=terse',
  'log_min_error_statement=panic',
];
const SERVER_DATA = '/var/lib/postgresql/data';
const OWN_SERVER_ENV = [
  { name: 'PGHOST', value: '127.0.0.1' },
  { name: 'PGDATABASE', value: OWNER.database },
  { name: 'PGCONNECT_TIMEOUT', value: '10' },
];

/** Makes what a new database of a record has before a backup is loaded. */
export const prepareScript = (extensions: readonly string[]): string => `user=$PGUSER
PGUSER=${SUPERUSER.user} PGDATABASE=${SUPERUSER.database}
${AWAIT_SERVER}psql -X -w -q -v ON_ERROR_STOP=1 << 'END_OF_SQL'
create role ${OWNER.user} login;
create database ${OWNER.database} owner ${OWNER.user};
\\connect ${OWNER.database}
${extensions.length > 0 ? `${makeExtensions(extensions)};\n` : ''}END_OF_SQL
PGUSER=$user PGDATABASE=${OWNER.database}
`;

/** Runs `davit backup` with these arguments, without the store. */
export function inFolder(
  { inputs, means: { image } }: DatabaseJob,
  name: string,
  args: readonly [string, ...string[]],
): IContainer {
  return { ...commonOf(inputs), name, image, args: ['backup', ...args, `--folder=${FOLDER}`], volumeMounts: MOUNTS };
}

/** Runs `davit backup` with these arguments and those that say where the store is. `namespace`: whose backups they are. */
export function inStore(
  { inputs, means: { store, image } }: DatabaseJob,
  name: string,
  [command, ...args]: readonly [string, ...string[]],
  namespace = namespaceOf(inputs.record),
): IContainer {
  return {
    ...commonOf(inputs),
    name,
    image,
    args: ['backup', command, ...storeOptions(store), `--namespace=${namespace}`, ...args],
    volumeMounts: [...MOUNTS, { name: 'store', mountPath: CREDENTIALS, readOnly: true }],
  };
}

/** Options of `davit backup fetch` that say what is restored. */
export function restoredInto({ inputs: { record }, postgres }: DatabaseJob): string[] {
  return [`--into=${uidOf(record)}`, ...(driverOf(postgres) === 'pod' ? [] : ['--cluster'])];
}

const MOUNTS = [
  { name: 'backup', mountPath: FOLDER },
  { name: 'tmp', mountPath: '/tmp' },
];

function commonOf({ revision }: DatabaseJob['inputs']): Partial<IContainer> {
  return {
    imagePullPolicy: revision.spec.resolved.pullPolicy,
    resources: SIZES,
    securityContext: RESTRICTED,
    terminationMessagePolicy: 'FallbackToLogsOnError',
  };
}

function databaseEnv({ record, revision }: Pick<Inputs, 'record' | 'revision'>): NonNullable<IContainer['env']> {
  const { resolved } = revision.spec;
  const { user, database, host } = databasePlace(record, resolved);
  const { postgresSecret } = databaseNames(record, revision);
  return [
    { name: 'PGHOST', value: host },
    { name: 'PGUSER', value: user },
    { name: 'PGDATABASE', value: database },
    { name: 'PGCONNECT_TIMEOUT', value: '10' },
    fromSecret('PGPASSWORD', { secretName: postgresSecret, secretKey: 'password' }),
  ];
}

/** Where the store is; its credentials are files. */
function storeOptions({ endpoint, bucket, prefix, region, pathStyle, ca }: BackupStore): string[] {
  const address = { endpoint, bucket, prefix, region, pathStyle, ...(ca !== undefined && { ca }) };
  return [`--folder=${FOLDER}`, `--credentials=${CREDENTIALS}`, `--store=${literal(JSON.stringify(address))}`];
}
