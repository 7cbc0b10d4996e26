// Fetches a backup from the store. What is fetched is whole and of this tenant, or it is not there.

import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { LoadedBackup, type SentBackup } from '../../kinds/database.ts';
import { BACKUPS_OF_ANNOTATION } from '../../kinds/meta.ts';
import { jsonOf } from '../../runtime/json-value.ts';
import type { ObjectStore } from '../../runtime/outbound/object-store.ts';
import {
  type AllLives,
  ArchiveManifest,
  type Asked,
  backupsAmong,
  chosenBackup,
  countsOf,
  DUMP,
  type Found,
  folderOf,
  keyOf,
  manifestKey,
  missingNewest,
  pathOf,
  ROLES,
  unfitness,
} from './archive.ts';
import { furtherWords } from './further-databases.ts';
import { digestOf, fileText } from './send.ts';

/** A tenant of the name of the namespace, by its uid; of one life of the deployment alone, or of any. */
export interface Taken {
  readonly tenant: string;
  readonly uid?: string | undefined;
}

export interface Fetching extends Asked {
  /** The deployment whose backup is fetched. */
  readonly from: AllLives;
  /** Whose backups may be taken: no others, though the key reaches them. */
  readonly tenants: readonly Taken[];
  /** Name of a backup that was complete before, so that it or a newer one must be there. */
  readonly known?: string | undefined;
  /** uid of the record that is restored: no other one gets the passwords of roles. */
  readonly into?: string | undefined;
  /** Whether a Cluster is restored, which gets one database and no roles. */
  readonly isCluster?: boolean | undefined;
  /** Folder with `server-version`, which gets the files of the dump, `manifest`, and `fetched`: a LoadedBackup. */
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
  const { name, takenAt, sizeBytes, uid } = manifest;
  if (uid !== fetching.into) await writeFile(join(folder, 'foreign'), '');
  if (manifest.isOwned === true) await writeFile(join(folder, 'owned'), '');
  await writeFile(join(folder, 'manifest'), JSON.stringify(manifest));
  await writeFile(join(folder, 'fetched'), JSON.stringify({ from: from.deployment, name, takenAt, sizeBytes }));
  return manifest;
}

async function fetchChosen(store: ObjectStore, fetching: Fetching): Promise<ArchiveManifest> {
  const { from, tenants, known, folder, isCluster, ...asked } = fetching;
  const objects = await store.list(folderOf(from));
  const keys = objects.map(({ key }) => key);
  const all = backupsAmong(keys, from);
  const there = all.filter(({ owner }) =>
    tenants.some(({ tenant, uid = owner.uid }) => tenant === owner.tenant && uid === owner.uid),
  );
  const missing = missingNewest(there, known);
  if (missing !== undefined) throw new Unusable(missing);
  const found = chosenBackup(there, asked);
  if (typeof found === 'string') throw new Unusable(anotherTenants(all, fetching) ?? found);
  const { name, owner } = found;
  const parsed = ArchiveManifest.safeParse(jsonOf(await store.read(manifestKey(owner, name))));
  if (!parsed.success) throw new Unusable(`The manifest of backup ${name} cannot be read.`);
  const manifest = parsed.data;
  const serverVersion = Number((await readFile(join(folder, 'server-version'), 'utf8')).trim());
  const stored = new Map(objects.map(({ key, size }) => [key, size]));
  const unfit = unfitness(found, manifest, { stored, serverVersion });
  if (unfit !== undefined) throw new Unusable(unfit);
  const further = isCluster === true ? furtherWords(countsOf(manifest)) : undefined;
  if (further !== undefined) throw new Unusable(`Backup ${name} has ${further}`);
  for (const { name: of, database, sha256 } of manifest.files) {
    if (of === ROLES && isCluster === true) continue;
    const file = join(folder, pathOf(of));
    await mkdir(dirname(file), { recursive: true });
    await store.download(keyOf(owner, name, of), file);
    if ((await digestOf(file)) !== sha256) {
      await rm(file, { force: true });
      throw new Unusable(`Backup ${name} is damaged: the SHA-256 of its file ${of} differs from the manifest.`);
    }
    if (database !== undefined && of !== DUMP) await writeFile(join(dirname(file), 'name'), database);
  }
  return manifest;
}

/** Why the backup that is asked for is not taken, where the store has it of an earlier namespace of the name, or of one in another cluster. */
function anotherTenants(all: readonly Found[], { tenants, ...asked }: Fetching): string | undefined {
  const found = chosenBackup(
    all.filter(({ owner }) => tenants.every(({ tenant }) => tenant !== owner.tenant)),
    asked,
  );
  if (typeof found === 'string') return undefined;
  const { namespace, tenant } = found.owner;
  return `Backup ${found.name} belongs to an earlier namespace ${namespace} or to another cluster (uid ${tenant}), perhaps to another tenant. A platform administrator can allow the restore in the namespace of the new deployment: kubectl annotate namespace NAMESPACE ${BACKUPS_OF_ANNOTATION}=${namespace}/${tenant}. Then set the namespace of the restore to ${namespace}.`;
}
