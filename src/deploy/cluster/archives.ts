// What a namespace has for backups, and the archives that it knows, by the watch caches.

import type { AppDeployment } from '../../kinds/app-deployment.ts';
import type { DatabaseRestore } from '../../kinds/database.ts';
import { DEPLOYMENT_LABEL } from '../../kinds/meta.ts';
import type { Settings } from '../../kinds/settings.ts';
import { POSTGRES_CLUSTERS } from '../../runtime/kube/api-resources.ts';
import type { BaseBackup } from '../assess/base-backups.ts';
import { isOurs, type Observed } from '../assess/observed.ts';
import { backupMeans } from '../children/database/job-pod.ts';
import { type Placed, type Sourced, sourceOf } from '../record/backup-consent.ts';
import { archivesAmong, type ObjectStoreSeen } from '../record/wal-archive.ts';
import { CLUSTER_NAMED } from './caches.ts';
import type { Cluster } from './cluster.ts';

/**
 * Those of the deployment with whose archive the database begins; none where it begins with no archive. Undefined if the cluster has no
 * Barman Cloud plugin.
 */
export function archivesIn(
  { metadata: { namespace = '' }, spec }: AppDeployment,
  { caches }: Cluster,
  settings: Settings,
): readonly ObjectStoreSeen[] | undefined {
  const { restore } = spec.sourceConfig.database ?? {};
  const { store } = settings.backups;
  if (caches.objectStores?.isInstalled() !== true) return undefined;
  if (restore?.archive !== true || store === undefined) return [];
  const { from: name } = restore;
  return archivesAmong(caches.objectStores.byLabel(namespace, DEPLOYMENT_LABEL, name), { namespace, name }, store);
}

/** Backups of CloudNativePG of the Clusters that are the record's own. `children`: of its name. */
export function baseBackupsIn(
  { record, children }: Pick<Observed, 'record' | 'children'>,
  { caches }: Cluster,
): readonly BaseBackup[] {
  const { namespace = '' } = record.metadata;
  return children.flatMap((child) =>
    child.kind === POSTGRES_CLUSTERS.kind && isOurs(child, { record })
      ? (caches.baseBackups?.byIndex(namespace, CLUSTER_NAMED, child.metadata.name) ?? [])
      : [],
  );
}

/** Where backups go. Undefined if the platform has no store. */
export function backupStoreIn(namespace: string, { caches }: Cluster, settings: Settings): Observed['backupStore'] {
  const secret = backupMeans(settings)?.store.credentialsSecret;
  if (secret === undefined) return undefined;
  const hasCredentials = caches.secrets.get({ namespace, name: secret }) !== undefined;
  return { secret, hasCredentials, isVerified: settings.backups.verify };
}

/** Whose backup the database of a record may begin with. Undefined where it begins with none. */
export function backupSourceIn(
  record: AppDeployment,
  restore: Pick<DatabaseRestore, 'from' | 'namespace'> | undefined,
  { caches }: Cluster,
): Sourced | undefined {
  const { namespace = '' } = record.metadata;
  const place = caches.namespaces.get({ name: namespace });
  if (!restore || !place) return undefined;
  return sourceOf({ record, place }, restore, placed(restore.namespace ?? namespace, restore.from, caches));
}

function placed(namespace: string, name: string, caches: Cluster['caches']): Placed | undefined {
  const [record, place] = [caches.records.get({ namespace, name }), caches.namespaces.get({ name: namespace })];
  return record && place && { record, place };
}
