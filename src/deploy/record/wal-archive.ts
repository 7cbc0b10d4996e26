// Archives of databases of driver cloudnative-pg in the store: their names, where they are, and the one with which another database
// begins. Each life of a record has an ObjectStore of its own, which stays when the record goes: by it the namespace knows what the store
// has. Source: barmancloud.cnpg.io/v1, "ObjectStore", of Barman Cloud plugin 0.13.

import type { AppDeployment } from '../../kinds/app-deployment.ts';
import { rfc3339 } from '../../kinds/conditions.ts';
import type { DatabaseRestore } from '../../kinds/database.ts';
import { ARCHIVE_AT_ANNOTATION, ARCHIVE_SERVER_ANNOTATION, DEPLOYMENT_UID_LABEL } from '../../kinds/meta.ts';
import type { KubeObject, ObjectRef } from '../../runtime/kube/client.ts';
import { namespaceOf, uidOf } from './metadata.ts';

/** The used part of ObjectStore. */
export interface ObjectStoreSeen extends KubeObject {
  readonly spec?: { readonly configuration?: { readonly destinationPath?: string } };
  readonly status?: { readonly serverRecoveryWindow?: Readonly<Record<string, RecoveryWindow>> };
}

/** Times are RFC 3339. */
export interface RecoveryWindow {
  readonly firstRecoverabilityPoint?: string;
  readonly lastSuccessfulBackupTime?: string;
  readonly lastFailedBackupTime?: string;
}

/** What a database begins with. */
export interface ArchiveOrigin {
  /** Folder of the store, with the bucket. */
  readonly destinationPath: string;
  /** Name of the server in it. */
  readonly server: string;
  /** RFC 3339. Absent: all that is archived. */
  readonly at?: string;
}

/** Tells lives of a name apart. */
function lifeOf({ metadata }: AppDeployment): string {
  return (metadata.uid ?? '').slice(0, 8);
}

/** ObjectStore of this life of a record. */
export function walArchiveName(record: AppDeployment): string {
  return `${record.metadata.name}---archive-${lifeOf(record)}`;
}

/** Each life and each database has another one, because its first backup is made once. `cluster`: by its name. */
export function scheduledBackupName(record: AppDeployment, cluster: string): string {
  return `${cluster}-${lifeOf(record)}`;
}

/** ObjectStore of what the database of this life begins with. */
export function archiveOriginName(record: AppDeployment): string {
  return `${record.metadata.name}---origin-${lifeOf(record)}`;
}

interface Place {
  readonly bucket: string;
  readonly prefix: string;
}

/**
 * Folder of the archives of all lives of a name, with a slash at its end. Beside that of the dumps, whose listings would otherwise read the
 * name of every archived file. No record has this name.
 */
function archiveFolder({ namespace, name }: ObjectRef, { bucket, prefix }: Place): string {
  return `s3://${bucket}/${prefix}/${namespace}/${name}--archive/`;
}

/** One folder or server, never a way out of the folder that it stands in: some stores resolve `..`. */
const SEGMENT = /^[0-9A-Za-z]([0-9A-Za-z-]{0,61}[0-9A-Za-z])?$/;

export function archivePath(record: AppDeployment, place: Place): string {
  const { name } = record.metadata;
  return `${archiveFolder({ namespace: namespaceOf(record), name }, place)}${uidOf(record)}`;
}

/** The ObjectStores of deployment `from`. Others are ignored, because anyone who may label an ObjectStore can label foreign ones. */
export function archivesAmong(
  stores: readonly ObjectStoreSeen[],
  from: ObjectRef,
  place: Place,
): readonly ObjectStoreSeen[] {
  const folder = archiveFolder(from, place);
  return stores.filter(({ spec }) => {
    const path = spec?.configuration?.destinationPath ?? '';
    return path.startsWith(folder) && SEGMENT.test(path.slice(folder.length));
  });
}

/** As an ObjectStore that Davit made has it; undefined where somebody has changed it. */
export function originIn(store: ObjectStoreSeen): ArchiveOrigin | undefined {
  const { annotations = {} } = store.metadata;
  const { destinationPath } = store.spec?.configuration ?? {};
  const server = annotations[ARCHIVE_SERVER_ANNOTATION];
  const at = annotations[ARCHIVE_AT_ANNOTATION];
  if (destinationPath === undefined || server === undefined) return undefined;
  return { destinationPath, server, ...(at !== undefined && { at }) };
}

interface Archived extends ArchiveOrigin {
  /** Milliseconds since 1970: the first point in time that it has. */
  readonly from: number;
}

/**
 * The archive with which a database begins: of those that have the time, the one that began last. `stores`: ObjectStores of the deployment
 * `from` of any life. Returns why there is none, for people.
 */
export function chosenArchive(
  stores: readonly ObjectStoreSeen[],
  { from, at }: Readonly<DatabaseRestore>,
): ArchiveOrigin | string {
  const all = stores.flatMap(windowsIn).toSorted((a, b) => b.from - a.from);
  const wanted = at === undefined ? Infinity : Date.parse(at);
  const found = all.find((one) => one.from <= wanted);
  if (found) return { destinationPath: found.destinationPath, server: found.server, ...(at !== undefined && { at }) };
  const earliest = all.at(-1);
  if (earliest === undefined) return `This namespace has no archive of ${from} with a base backup.`;
  return `No archive of ${from} has the state of ${at}: the earliest begins at ${rfc3339(new Date(earliest.from))}.`;
}

function windowsIn(store: ObjectStoreSeen): Archived[] {
  const { destinationPath } = store.spec?.configuration ?? {};
  // That of an origin is only read.
  if (destinationPath === undefined || originIn(store) !== undefined) return [];
  return Object.entries(store.status?.serverRecoveryWindow ?? {}).flatMap(([server, window]) => {
    const from = Date.parse(window.firstRecoverabilityPoint ?? '');
    return Number.isNaN(from) || !SEGMENT.test(server) ? [] : [{ destinationPath, server, from }];
  });
}

/** Whether it is what an archive consists of here: it goes or stays with the Cluster that uses it. */
export function isOfArchive({ kind, metadata }: KubeObject, recordName: string): boolean {
  return kind === 'ObjectStore' || (kind === 'Secret' && metadata.name.startsWith(storeSecretPrefix(recordName)));
}

/** Of Secrets with what an ObjectStore says of the store. */
export function storeSecretPrefix(recordName: string): string {
  return `${recordName}---store-`;
}

/** Whether it is the archive of this life of the record. */
export function isArchiveOf(store: KubeObject, record: AppDeployment): boolean {
  return (
    store.kind === 'ObjectStore' &&
    store.metadata.name === walArchiveName(record) &&
    store.metadata.labels?.[DEPLOYMENT_UID_LABEL] === record.metadata.uid
  );
}
