// Fetches a backup from the store. What is fetched is whole and of this tenant, or it is not there.

import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { jsonOf } from '../../lib/json-value.ts';
import type { ObjectStore } from '../../lib/outbound/object-store.ts';
import {
  ArchiveManifest,
  type Asked,
  backupsAmong,
  chosenBackup,
  dumpKey,
  manifestKey,
  type Owner,
  unfitness,
} from './archive.ts';
import { digestOf } from './send.ts';

export interface Fetching extends Asked {
  /** The deployment whose backup is fetched, of any of its lives. */
  readonly from: Omit<Owner, 'uid'>;
  /** Folder with `server-version`, which gets `dump`. */
  readonly folder: string;
}

/** Throws StoreFailed, or an Error that says which backup cannot be used, and why. */
export async function fetchBackup(store: ObjectStore, { from, folder, ...asked }: Fetching): Promise<ArchiveManifest> {
  const { prefix, namespace, deployment } = from;
  const objects = await store.list(`${prefix}/${namespace}/${deployment}/`);
  const found = chosenBackup(
    backupsAmong(
      objects.map(({ key }) => key),
      from,
    ),
    asked,
  );
  if (typeof found === 'string') throw new Error(found);
  const { name, owner } = found;
  const parsed = ArchiveManifest.safeParse(jsonOf(await store.read(manifestKey(owner, name))));
  if (!parsed.success) throw new Error(`The manifest of backup ${name} cannot be read.`);
  const manifest = parsed.data;
  const serverVersion = Number((await readFile(join(folder, 'server-version'), 'utf8')).trim());
  const stored = await store.sizeOf(dumpKey(owner, name));
  const unfit = unfitness(found, manifest, { stored, serverVersion });
  if (unfit !== undefined) throw new Error(unfit);
  const file = join(folder, 'dump');
  await store.download(dumpKey(owner, name), file);
  if ((await digestOf(file)) !== manifest.sha256) {
    await rm(file, { force: true });
    throw new Error(`Backup ${name} is damaged: its dump does not have the SHA-256 of its manifest.`);
  }
  return manifest;
}
