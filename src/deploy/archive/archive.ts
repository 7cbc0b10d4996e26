// What a backup is in the store: dumps, and a manifest that is written last. Dumps without a manifest are no backup.

import { z } from 'zod';
import { SentBackup, type StoredReport } from '../../kinds/database.ts';
import { BACKUP_NAME_PATTERN, MOST_LISTED, timeOfBackup } from '../../kinds/database-names.ts';
import { NAME_PATTERN } from '../../kinds/name-patterns.ts';
import { DNS_LABEL_PATTERN } from '../../kinds/primitives.ts';
import { Contents } from './contents.ts';
import { tooOldFor } from './postgres-major.ts';

/** Whose backups they are. */
export interface Owner {
  /** First part of all keys. */
  readonly prefix: string;
  readonly namespace: string;
  readonly deployment: string;
  /** uid of the namespace: one that was made again with its name is another tenant's. */
  readonly tenant: string;
  /** uid of the record: another life of its name has backups of its own. */
  readonly uid: string;
}

/** Files of a dump: the database that the application uses, each further database of its server, and the roles. */
export const DUMP = 'dump';
export const ROLES = 'roles.sql';
const FILE = /^(?:dump|roles\.sql|further-\d{1,10})$/;

/** Path of a file of a dump in the folder of a pod. */
export function pathOf(file: string): string {
  return file.startsWith('further-') ? `${file}/dump` : file;
}

/** The backups of all tenants and lives of the name of a deployment. */
export type AllLives = Omit<Owner, 'tenant' | 'uid'>;

const Uid = z.string().regex(/^[0-9a-zA-Z-]{1,64}$/);

const DumpFile = z.object({
  name: z.string().regex(FILE),
  /** Name of the database. */
  database: z.string().min(1).max(255).optional(),
  sizeBytes: z.int().min(1),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  /** What the database had, where verification is on. */
  contents: Contents.optional(),
});
export type DumpFile = z.infer<typeof DumpFile>;

/** Limited to the characters of names, because messages quote them and anyone who may write to the store can write a manifest. */
export const ArchiveManifest = z.object({
  version: z.literal(1),
  ...SentBackup.shape,
  name: z.string().regex(new RegExp(BACKUP_NAME_PATTERN)),
  namespace: z.string().max(63).regex(new RegExp(DNS_LABEL_PATTERN)),
  deployment: z.string().max(63).regex(new RegExp(NAME_PATTERN)),
  uid: Uid,
  /** server_version_num of PostgreSQL: 170004 is 17.4. */
  serverVersion: z.int().min(90_000),
  /** Number of the database among those of the deployment. */
  number: z.int().min(0).optional(),
  /** uid of the namespace. */
  tenant: Uid,
  /** uid of the namespace kube-system. */
  cluster: Uid.optional(),
  files: z.array(DumpFile).min(1),
  /** Number of roles of the server. Absent in the backup of a single database. */
  roles: z.int().min(0).optional(),
  /** Whether everything in the application's database is its owner's, who then loads it. */
  isOwned: z.boolean().optional(),
  /** Extensions of the application's database. */
  extensions: z.array(z.string().max(255)).optional(),
  /** Why what a database had is missing, although verification is on. */
  contentsProblem: z.string().max(512).optional(),
});
export type ArchiveManifest = z.infer<typeof ArchiveManifest>;

/** How many databases and roles a backup of a whole server has; empty for that of a single database. */
export function countsOf({ files, roles }: Pick<ArchiveManifest, 'files' | 'roles'>): {
  databases?: number;
  roles?: number;
} {
  return roles === undefined ? {} : { databases: files.filter(({ name }) => name !== ROLES).length, roles };
}

/** What is in a folder of the store: the backups of all lives of a deployment. */
export interface Found {
  readonly name: string;
  readonly owner: Owner;
  /** Whether it has a dump and a manifest. */
  readonly isComplete: boolean;
  /** Whether somebody asked for it. */
  readonly isByHand: boolean;
}

/** The backups among the keys below `PREFIX/NAMESPACE/DEPLOYMENT/`, newest first, those that are not complete included. */
export function backupsAmong(keys: readonly string[], from: AllLives): readonly Found[] {
  const there = new Set(keys);
  const root = folderOf(from);
  const places = new Map<string, Found>();
  for (const key of keys) {
    const [tenant = '', uid = '', name = '', file] = key.startsWith(root) ? key.slice(root.length).split('/') : [];
    if (file === undefined || timeOf(name) === undefined) continue;
    const owner = { ...from, tenant, uid };
    const isComplete = there.has(manifestKey(owner, name)) && there.has(keyOf(owner, name, DUMP));
    places.set(`${tenant}/${uid}/${name}`, { name, owner, isComplete, isByHand: there.has(byHandKey(owner, name)) });
  }
  return [...places.values()].toSorted((a, b) => (a.name < b.name ? 1 : -1));
}

/** What the status of a deployment lists of these objects: the backups of all lives of its name that are of its own tenant. */
export function storedAmong(
  objects: readonly { readonly key: string; readonly size: number }[],
  owner: Owner,
): StoredReport {
  const complete = backupsAmong(
    objects.map(({ key }) => key),
    owner,
  ).filter(({ isComplete, owner: { tenant } }) => isComplete && tenant === owner.tenant);
  const newest = complete.slice(0, MOST_LISTED).map(({ name, owner: of, isByHand }): StoredReport['newest'][number] => {
    const files = objects.filter(({ key }) => isFileOf(of, name, key));
    const size = files.reduce((sum, one) => sum + one.size, 0);
    return [name, size, `${isByHand ? 'h' : ''}${of.uid === owner.uid ? '' : 'e'}`];
  });
  return { count: complete.length, newest };
}

/** Which backup is asked for: this one, or the newest that has a state of this time or before. */
export interface Asked {
  readonly backup?: string | undefined;
  /** RFC 3339. */
  readonly at?: string | undefined;
}

/** Returns why there is none, for people. */
export function chosenBackup(all: readonly Found[], { backup, at }: Asked): Found | string {
  const complete = all.filter(({ isComplete }) => isComplete);
  const shown = complete.slice(0, MOST_SHOWN).map(({ name }) => name);
  const which = shown.length === 0 ? 'The store has no complete backup.' : `Complete backups: ${shown.join(', ')}.`;
  if (backup !== undefined) {
    const found = all.find(({ name }) => name === backup);
    if (found === undefined) return `Backup ${backup} does not exist. ${which}`;
    return found.isComplete ? found : `Backup ${backup} is not complete: it has no dump or no manifest. ${which}`;
  }
  const latest = at === undefined ? Infinity : Date.parse(at);
  const found = complete.find(({ name }) => (timeOf(name) ?? Infinity) <= latest);
  if (found !== undefined) return found;
  return at === undefined || shown.length === 0 ? which : `There is no complete backup from ${at} or before. ${which}`;
}

const MOST_SHOWN = 10;

/** Why this backup must not be loaded into a server of this version, for people; undefined if it may. `stored`: sizes of its files. */
export function unfitness(
  { name, owner }: Found,
  manifest: ArchiveManifest,
  { stored, serverVersion }: { readonly stored: ReadonlyMap<string, number>; readonly serverVersion: number },
): string | undefined {
  const { namespace, deployment, tenant, uid } = manifest;
  if (namespace !== owner.namespace || tenant !== owner.tenant)
    return `Backup ${name} belongs to another tenant: namespace ${namespace}, uid ${tenant}.`;
  if (manifest.name !== name || deployment !== owner.deployment || uid !== owner.uid)
    return `The manifest of backup ${name} describes another backup: ${manifest.name} of ${deployment} (${uid}).`;
  if (timeOf(name) !== Date.parse(manifest.takenAt))
    return `The manifest of backup ${name} has a different time: ${manifest.takenAt}.`;
  const old = tooOldFor(serverVersion, manifest.serverVersion);
  if (old)
    return `Backup ${name} was made by PostgreSQL ${old.needs}, but the database has the older version ${old.has}. Create the deployment with an image of PostgreSQL ${old.needs} or newer.`;
  const short = manifest.files.find((file) => stored.get(keyOf(owner, name, file.name)) !== file.sizeBytes);
  if (short)
    return `Backup ${name} is damaged: its file ${short.name} has ${stored.get(keyOf(owner, name, short.name)) ?? 0} of ${short.sizeBytes} bytes.`;
  return undefined;
}

/** Why the newest of these complete backups is not the newest one, for people. `known`: name of a backup that was complete before. */
export function missingNewest(all: readonly Found[], known: string | undefined): string | undefined {
  const newest = all.find(({ isComplete }) => isComplete)?.name;
  if (known === undefined || (newest !== undefined && newest >= known)) return undefined;
  return `Backup ${known} is in the status of the deployment, but is missing or incomplete in the store. ${newest === undefined ? 'The store has no complete backup' : `The newest complete backup is ${newest}`}. It was deleted, or settings.backups.store has changed. Make a backup now.`;
}

/** `20261125T020000Z-1a2b3c4d`: names sort by time. `random`: eight hex digits, so that no two backups share a name. */
export function archiveName(takenAt: string, random: string): string {
  return `${takenAt.replaceAll(/[-:]/g, '')}-${random}`;
}

/** Folder of the backups of all tenants and lives of a deployment's name, with a slash at its end. */
export function folderOf({ prefix, namespace, deployment }: AllLives): string {
  return `${prefix}/${namespace}/${deployment}/`;
}

export function manifestKey(owner: Owner, name: string): string {
  return keyOf(owner, name, 'manifest.json');
}

/** Its object says that somebody asked for the backup. */
export function byHandKey(owner: Owner, name: string): string {
  return keyOf(owner, name, 'by-hand');
}

/** Whether this object is a file of the dump. */
export function isFileOf(owner: Owner, name: string, key: string): boolean {
  const folder = keyOf(owner, name, '');
  return key.startsWith(folder) && FILE.test(key.slice(folder.length));
}

export function keyOf(owner: Owner, name: string, file: string): string {
  return `${folderOf(owner)}${owner.tenant}/${owner.uid}/${name}/${file}`;
}

/** Time of a backup's name in milliseconds; undefined for other names. */
export function timeOf(name: string): number | undefined {
  const time = timeOfBackup(name);
  return time === undefined ? undefined : Date.parse(time);
}
