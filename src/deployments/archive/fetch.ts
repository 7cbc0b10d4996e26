// Fetches a backup from the store. What is fetched is whole and of this tenant, or it is not there.

import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { jsonOf } from '../../lib/json-value.ts';
import type { ObjectStore } from '../../lib/outbound/object-store.ts';
import { LoadedBackup, type SentBackup } from '../../schema/database.ts';
import {
  ArchiveManifest,
  type Asked,
  backupsAmong,
  chosenBackup,
  dumpKey,
  folderOf,
  manifestKey,
  missingNewest,
  type Owner,
  unfitness,
} from './archive.ts';
import { digestOf, fileText } from './send.ts';

export interface Fetching extends Asked {
  /** The deployment whose backup is fetched, of any of its lives. */
  readonly from: Omit<Owner, 'uid'>;
  /** Only of this life. */
  readonly uid?: string | undefined;
  /** Name of a backup that was complete before, so that it or a newer one must be there. */
  readonly known?: string | undefined;
  /** Folder with `server-version`, which gets `dump`, `manifest`, and `fetched`: a LoadedBackup. */
  readonly folder: string;
}

/** The backup cannot be used, and another try would not change it. */
export class Unusable extends Error {}

/**
 * Throws StoreFailed, or Unusable, which says which backup cannot be used, and why. Where `loaded` says that the database has begun with
 * a backup before, that one is returned, and nothing is asked of the store.
 */
export async function fetchBackup(store: ObjectStore, fetching: Fetching): Promise<SentBackup> {
  const { from, folder } = fetching;
  const loaded = LoadedBackup.array().safeParse([jsonOf(await fileText(join(folder, 'loaded')))]).data?.[0];
  if (loaded !== undefined) return loaded;
  const manifest = await fetchChosen(store, fetching);
  const { name, takenAt, sizeBytes } = manifest;
  await writeFile(join(folder, 'manifest'), JSON.stringify(manifest));
  await writeFile(join(folder, 'fetched'), JSON.stringify({ from: from.deployment, name, takenAt, sizeBytes }));
  return manifest;
}

async function fetchChosen(
  store: ObjectStore,
  { from, uid, known, folder, ...asked }: Fetching,
): Promise<ArchiveManifest> {
  const objects = await store.list(folderOf(from));
  const keys = objects.map(({ key }) => key);
  const there = backupsAmong(keys, from).filter(({ owner }) => uid === undefined || owner.uid === uid);
  const missing = missingNewest(there, known);
  if (missing !== undefined) throw new Unusable(missing);
  const found = chosenBackup(there, asked);
  if (typeof found === 'string') throw new Unusable(found);
  const { name, owner } = found;
  const parsed = ArchiveManifest.safeParse(jsonOf(await store.read(manifestKey(owner, name))));
  if (!parsed.success) throw new Unusable(`The manifest of backup ${name} cannot be read.`);
  const manifest = parsed.data;
  const serverVersion = Number((await readFile(join(folder, 'server-version'), 'utf8')).trim());
  const stored = await store.sizeOf(dumpKey(owner, name));
  const unfit = unfitness(found, manifest, { stored, serverVersion });
  if (unfit !== undefined) throw new Unusable(unfit);
  const file = join(folder, 'dump');
  await store.download(dumpKey(owner, name), file);
  if ((await digestOf(file)) !== manifest.sha256) {
    await rm(file, { force: true });
    throw new Unusable(`Backup ${name} is damaged: its dump does not have the SHA-256 of its manifest.`);
  }
  return manifest;
}
