// The archive of a record's own PostgreSQL that is a Cluster of CloudNativePG, by its Barman Cloud plugin: where it is, how it is reached,
// and when base backups are made. Source: barmancloud.cnpg.io/v1, "ObjectStore", and postgresql.cnpg.io/v1, "ScheduledBackup".

import { createHash } from 'node:crypto';
import type { AppDeployment } from '../../../kinds/app-deployment.ts';
import { type ArchivePlan, archivePlanOf } from '../../../kinds/database.ts';
import { ARCHIVE_AT_ANNOTATION, ARCHIVE_SERVER_ANNOTATION, BARMAN_CLOUD_PLUGIN } from '../../../kinds/meta.ts';
import type { BackupStore } from '../../../kinds/settings.ts';
import type { KubeObject, ObjectMeta } from '../../../runtime/kube/client.ts';
import { driverOf, OWNER } from '../../record/database-driver.ts';
import { databaseNames } from '../../record/database-move.ts';
import {
  type ArchiveOrigin,
  archiveOriginName,
  archivePath,
  scheduledBackupName,
  storeSecretPrefix,
  walArchiveName,
} from '../../record/wal-archive.ts';
import type { Inputs } from '../inputs.ts';
import { keptMeta, ownedMeta } from '../owner.ts';
import type { Secret } from '../secrets.ts';
import { backupMeans } from './job-pod.ts';

/** In the Cluster's own words. */
const ORIGIN = 'origin';
const [REGION_KEY, CA_KEY] = ['region', 'ca.crt'];
/** As much as an instance's other helpers. */
const SIDECAR = { requests: { cpu: '20m', memory: '64Mi' }, limits: { memory: '512Mi' } };
/** PostgreSQL keeps what is not archived, so several files at once catch up after the store was away. */
const WALS_AT_ONCE = 4;

/** Undefined if the record asks for no archive, or it cannot have one. */
export function archived({ record, revision, settings, archives }: Inputs): ArchivePlan | undefined {
  const { postgres } = revision.spec.resolved;
  const isCluster = postgres !== undefined && driverOf(postgres) === 'cloudnative-pg';
  if (!isCluster || archives?.hasKeys !== true || backupMeans(settings) === undefined) return undefined;
  return archivePlanOf(record.spec.sourceConfig.database, record.metadata.name);
}

/** The ObjectStores of the archive, and of what the database begins with. */
export function makeObjectStores(inputs: Inputs): KubeObject[] {
  const { record, settings, archives } = inputs;
  const { store } = backupMeans(settings) ?? {};
  if (store === undefined || archives === undefined) return [];
  const plan = archived(inputs);
  const { origin } = archives;
  return [
    ...(plan ? [ownObjectStore(record, store, plan)] : []),
    ...(origin ? [originObjectStore(record, store, origin)] : []),
  ];
}

function ownObjectStore(record: AppDeployment, store: BackupStore, { keepDays }: ArchivePlan): KubeObject {
  return objectStore(keptMeta(record, walArchiveName(record), 'postgres'), {
    configuration: configurationOf(record, store, archivePath(record, store)),
    retentionPolicy: `${keepDays}d`,
  });
}

function originObjectStore(record: AppDeployment, store: BackupStore, origin: ArchiveOrigin): KubeObject {
  const { annotations, ...metadata } = keptMeta(record, archiveOriginName(record), 'postgres');
  const found = {
    [ARCHIVE_SERVER_ANNOTATION]: origin.server,
    ...(origin.at !== undefined && { [ARCHIVE_AT_ANNOTATION]: origin.at }),
  };
  return objectStore(
    { ...metadata, annotations: { ...annotations, ...found } },
    { configuration: configurationOf(record, store, origin.destinationPath) },
  );
}

function objectStore(metadata: ObjectMeta, spec: object): KubeObject {
  return {
    apiVersion: 'barmancloud.cnpg.io/v1',
    kind: 'ObjectStore',
    metadata,
    spec: { ...spec, instanceSidecarConfiguration: { resources: SIDECAR } },
  } as KubeObject;
}

/** The bucket stands in the path of addresses, whatever settings say: that is how barman asks a store with an endpoint of its own. */
function configurationOf(record: AppDeployment, store: BackupStore, destinationPath: string): object {
  const { endpoint, ca, credentialsSecret } = store;
  const own = storeSecretName(record, store);
  return {
    destinationPath,
    endpointURL: endpoint,
    ...(ca !== undefined && { endpointCA: { name: own, key: CA_KEY } }),
    s3Credentials: {
      accessKeyId: { name: credentialsSecret, key: 'accessKeyId' },
      secretAccessKey: { name: credentialsSecret, key: 'secretAccessKey' },
      region: { name: own, key: REGION_KEY },
    },
    wal: { compression: 'gzip', maxParallel: WALS_AT_ONCE },
    data: { compression: 'gzip' },
  };
}

function storeSecretName({ metadata: { name } }: AppDeployment, { region, ca }: BackupStore): string {
  const digest = createHash('sha256')
    .update(JSON.stringify([region, ca]))
    .digest('hex')
    .slice(0, 8);
  return `${storeSecretPrefix(name)}${digest}`;
}

/**
 * What the plugin reads only from a Secret: the region and the authority of the store. Neither is secret. Other settings make another one,
 * because running instances mount it. Undefined where there is no ObjectStore.
 */
export function makeStoreSecret(inputs: Inputs): Secret | undefined {
  const { record, settings } = inputs;
  const { store } = backupMeans(settings) ?? {};
  if (store === undefined || makeObjectStores(inputs).length === 0) return undefined;
  const { region, ca } = store;
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: keptMeta(record, storeSecretName(record, store), 'postgres'),
    type: 'Opaque',
    stringData: { [REGION_KEY]: region, ...(ca !== undefined && { [CA_KEY]: ca }) },
  };
}

/** The base backups of a database whose instances can make them: the first one is made at once, and tried once. Owned: what it has made of objects goes with it, and nothing of the store. */
export function makeScheduledBackup(inputs: Inputs): KubeObject | undefined {
  const plan = archived(inputs);
  if (!plan || inputs.archives?.isRunning !== true) return undefined;
  const { record, revision } = inputs;
  const { postgres } = databaseNames(record, revision);
  const metadata = ownedMeta(record, scheduledBackupName(record, postgres), 'postgres');
  return {
    apiVersion: 'postgresql.cnpg.io/v1',
    kind: 'ScheduledBackup',
    metadata,
    spec: {
      cluster: { name: postgres },
      schedule: withSeconds(plan.schedule),
      immediate: true,
      suspend: false,
      method: 'plugin',
      pluginConfiguration: { name: BARMAN_CLOUD_PLUGIN },
      backupOwnerReference: 'self',
    },
  } as KubeObject;
}

/** CloudNativePG asks for seconds first. */
function withSeconds(schedule: string): string {
  return schedule.startsWith('@') ? schedule : `0 ${schedule}`;
}

/** What a Cluster has of its archive, and of what it begins with. */
export interface ClusterArchive {
  readonly plugins?: readonly object[];
  readonly externalClusters?: readonly object[];
  readonly bootstrap?: object;
}

export function clusterArchive(inputs: Inputs): ClusterArchive {
  const { record, revision, settings, archives } = inputs;
  const { postgres: server, postgresSecret } = databaseNames(record, revision);
  const { user, database } = OWNER;
  const origin = backupMeans(settings) && archives?.origin;
  const ofPlugin = (parameters: object): object => ({ name: BARMAN_CLOUD_PLUGIN, enabled: true, parameters });
  return {
    ...(archived(inputs) && {
      plugins: [
        {
          ...ofPlugin({ barmanObjectName: walArchiveName(record), serverName: server }),
          isWALArchiver: true,
        },
      ],
    }),
    ...(origin && {
      externalClusters: [
        {
          name: ORIGIN,
          plugin: ofPlugin({ barmanObjectName: archiveOriginName(record), serverName: origin.server }),
        },
      ],
      bootstrap: {
        recovery: {
          source: ORIGIN,
          database,
          owner: user,
          secret: { name: postgresSecret },
          ...(origin.at !== undefined && { recoveryTarget: { targetTime: origin.at } }),
        },
      },
    }),
  };
}
