// What a backup is in the store: a dump, and a manifest that is written last. A dump without a manifest is no backup.

import { z } from 'zod';
import { SentBackup, type StoredReport } from '../../schema/database.ts';
import { BACKUP_NAME_PATTERN, MOST_LISTED, timeOfBackup } from '../../schema/database-names.ts';
import { NAME_PATTERN } from '../../schema/name-patterns.ts';
import { DNS_LABEL_PATTERN } from '../../schema/primitives.ts';
import { Contents } from './contents.ts';
import { tooOldFor } from './postgres-major.ts';

/** Whose backups they are. */
export interface Owner {
  /** First part of all keys. */
  readonly prefix: string;
  readonly namespace: string;
  readonly deployment: string;
  /** uid of the record: another life of its name has backups of its own. */
  readonly uid: string;
}

/** Whoever may write to the store may write a manifest. Messages quote these names, so that they have no other characters than names have. */
export const ArchiveManifest = z.object({
  version: z.literal(1),
  ...SentBackup.shape,
  name: z.string().regex(new RegExp(BACKUP_NAME_PATTERN)),
  namespace: z.string().max(63).regex(new RegExp(DNS_LABEL_PATTERN)),
  deployment: z.string().max(63).regex(new RegExp(NAME_PATTERN)),
  uid: z.string().regex(/^[0-9a-zA-Z-]{1,64}$/),
  /** server_version_num of PostgreSQL: 170004 is 17.4. */
  serverVersion: z.int().min(90_000),
  /** Number of the database among those of the deployment. */
  number: z.int().min(0).optional(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  /** What the database had, where verification is on. */
  contents: Contents.optional(),
  /** Why they are missing, although verification is on. */
  contentsProblem: z.string().max(512).optional(),
});
export type ArchiveManifest = z.infer<typeof ArchiveManifest>;

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
export function backupsAmong(keys: readonly string[], from: Omit<Owner, 'uid'>): readonly Found[] {
  const there = new Set(keys);
  const root = folderOf(from);
  const places = new Map<string, Found>();
  for (const key of keys) {
    const [uid = '', name = '', file] = key.startsWith(root) ? key.slice(root.length).split('/') : [];
    if (file === undefined || timeOf(name) === undefined) continue;
    const owner = { ...from, uid };
    const isComplete = there.has(manifestKey(owner, name)) && there.has(dumpKey(owner, name));
    places.set(`${uid}/${name}`, { name, owner, isComplete, isByHand: there.has(byHandKey(owner, name)) });
  }
  return [...places.values()].toSorted((a, b) => (a.name < b.name ? 1 : -1));
}

/** What the status of a deployment lists of these objects, which are of all lives of its name. */
export function storedAmong(
  objects: readonly { readonly key: string; readonly size: number }[],
  owner: Owner,
): StoredReport {
  const sizes = new Map(objects.map(({ key, size }) => [key, size]));
  const complete = backupsAmong([...sizes.keys()], owner).filter(({ isComplete }) => isComplete);
  const newest = complete
    .slice(0, MOST_LISTED)
    .map(({ name, owner: of, isByHand }): StoredReport['newest'][number] => [
      name,
      sizes.get(dumpKey(of, name)) ?? 0,
      `${isByHand ? 'h' : ''}${of.uid === owner.uid ? '' : 'e'}`,
    ]);
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
  const which = shown.length === 0 ? 'There is none.' : `There are ${shown.join(', ')}.`;
  if (backup !== undefined) {
    const found = all.find(({ name }) => name === backup);
    if (found === undefined) return `There is no backup ${backup}. ${which}`;
    return found.isComplete ? found : `Backup ${backup} is not complete: it has no dump or no manifest. ${which}`;
  }
  const latest = at === undefined ? Infinity : Date.parse(at);
  const found = complete.find(({ name }) => (timeOf(name) ?? Infinity) <= latest);
  return found ?? `There is no complete backup${at === undefined ? '' : ` of ${at} or before`}. ${which}`;
}

const MOST_SHOWN = 10;

/** Why this backup must not be loaded into a server of this version, for people; undefined if it may. `stored`: size of its dump. */
export function unfitness(
  { name, owner }: Found,
  manifest: ArchiveManifest,
  { stored, serverVersion }: { readonly stored: number | undefined; readonly serverVersion: number },
): string | undefined {
  const { namespace, deployment, uid } = manifest;
  if (namespace !== owner.namespace) return `Backup ${name} is of namespace ${namespace}, and of another tenant.`;
  if (manifest.name !== name || deployment !== owner.deployment || uid !== owner.uid)
    return `The manifest of backup ${name} is that of backup ${manifest.name} of ${deployment} (${uid}).`;
  if (timeOf(name) !== Date.parse(manifest.takenAt))
    return `The manifest of backup ${name} has another time, ${manifest.takenAt}.`;
  const old = tooOldFor(serverVersion, manifest.serverVersion);
  if (old)
    return `Backup ${name} is of PostgreSQL ${old.needs}, and the database has version ${old.has}, which is older. Create the deployment with an image of PostgreSQL ${old.needs} or newer.`;
  if (stored !== manifest.sizeBytes)
    return `Backup ${name} is damaged: its dump has ${stored ?? 0} of ${manifest.sizeBytes} bytes.`;
  return undefined;
}

/** Why the newest of these complete backups is not the newest one, for people. `known`: name of a backup that was complete before. */
export function missingNewest(all: readonly Found[], known: string | undefined): string | undefined {
  const newest = all.find(({ isComplete }) => isComplete)?.name;
  if (known === undefined || (newest !== undefined && newest >= known)) return undefined;
  return `Backup ${known}, which the status of the deployment names, is not in the store, or not complete. ${newest === undefined ? 'There is none' : `The newest is ${newest}`}. Somebody has deleted it, or settings.backups.store has changed. Make a backup now.`;
}

/** `20261125T020000Z-1a2b3c4d`: names sort by time. `random`: eight hex digits, so that no two backups share a name. */
export function archiveName(takenAt: string, random: string): string {
  return `${takenAt.replaceAll(/[-:]/g, '')}-${random}`;
}

/** Folder of the backups of all lives of a deployment, with a slash at its end. */
export function folderOf({ prefix, namespace, deployment }: Omit<Owner, 'uid'>): string {
  return `${prefix}/${namespace}/${deployment}/`;
}

export function dumpKey(owner: Owner, name: string): string {
  return keyOf(owner, name, 'dump');
}

export function manifestKey(owner: Owner, name: string): string {
  return keyOf(owner, name, 'manifest.json');
}

/** Its object says that somebody asked for the backup. */
export function byHandKey(owner: Owner, name: string): string {
  return keyOf(owner, name, 'by-hand');
}

function keyOf(owner: Owner, name: string, file: string): string {
  return `${folderOf(owner)}${owner.uid}/${name}/${file}`;
}

/** Time of a backup's name in milliseconds; undefined for other names. */
export function timeOf(name: string): number | undefined {
  const time = timeOfBackup(name);
  return time === undefined ? undefined : Date.parse(time);
}
