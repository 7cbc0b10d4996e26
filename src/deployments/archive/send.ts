// Takes a dump to the store. It is a backup only when the store has all of it.

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { ObjectStore, StoredObject } from '../../lib/outbound/object-store.ts';
import type { BackupReport, StoredReport } from '../../schema/database.ts';
import {
  type ArchiveManifest,
  archiveName,
  byHandKey,
  dumpKey,
  folderOf,
  manifestKey,
  type Owner,
  storedAmong,
} from './archive.ts';
import { contentsOf } from './contents.ts';
import { majorOf } from './postgres-major.ts';
import { expiredKeys, type Retention } from './retention.ts';

export interface Sending {
  readonly owner: Owner;
  /** Folder with `dump`, `taken-at` and `server-version`; where verification is on, also `contents` or `contents-problem`. */
  readonly folder: string;
  /** What is left of the backups afterwards. */
  readonly retention: Retention;
  /** Whether somebody asked for it. */
  readonly isByHand: boolean;
  /** Number of the database among those of the deployment. */
  readonly number?: number | undefined;
  /** Eight hex digits. */
  readonly random: string;
  readonly now: () => Date;
  readonly warn: (message: string) => void;
}

/**
 * Throws StoreFailed, or an Error if the dump is not whole. A failure to list or delete old backups is only a warning: there is one more
 * than was asked for. The report has what the store lists now, and not only what this run has changed: it is true whatever earlier runs
 * nobody heard of, and whatever people have deleted.
 */
export async function sendBackup(store: ObjectStore, sending: Sending): Promise<BackupReport> {
  const { owner, folder, random, isByHand, number } = sending;
  const file = join(folder, 'dump');
  const takenAt = (await readFile(join(folder, 'taken-at'), 'utf8')).trim();
  const serverVersion = Number((await readFile(join(folder, 'server-version'), 'utf8')).trim());
  const { size: sizeBytes } = await stat(file);
  if (sizeBytes === 0) throw new Error('The dump is empty.');
  const name = archiveName(takenAt, random);
  const [dump, described] = [dumpKey(owner, name), manifestKey(owner, name)];
  for (const key of [dump, described]) {
    // oxlint-disable-next-line no-await-in-loop -- two small requests
    if ((await store.sizeOf(key)) !== undefined)
      throw new Error(`The store already has ${key}, and no backup is overwritten. Run the backup again.`);
  }
  const sha256 = await digestOf(file);
  // Before there is a backup that retention could take for a scheduled one.
  if (isByHand) await store.put(byHandKey(owner, name), 'Retention keeps this backup.\n');
  await store.upload(dump, file, sizeBytes);
  const stored = await store.sizeOf(dump);
  if (stored !== sizeBytes)
    throw new Error(
      `The store has ${stored ?? 0} of ${sizeBytes} bytes of ${dump}. Check the store and its free space.`,
    );
  const { namespace, deployment, uid } = owner;
  const manifest: ArchiveManifest = {
    version: 1,
    name,
    namespace,
    deployment,
    uid,
    takenAt,
    serverVersion,
    sizeBytes,
    sha256,
    ...(number !== undefined && { number }),
  };
  const text = textOfManifest(manifest, await contentsIn(folder));
  await store.put(described, text);
  if ((await store.read(described)) !== text)
    throw new Error(`The store does not return ${described} as it was written. Check the store.`);
  const left = await keepTo(store, sending, name);
  return {
    name,
    takenAt,
    sizeBytes,
    postgresVersion: majorOf(serverVersion),
    ...(number !== undefined && { number }),
    ...(isByHand && { byHand: true }),
    ...(left && { stored: left }),
  };
}

/** Deletes what retention does not keep. Returns what the store has then; undefined where it could not be listed. */
async function keepTo(store: ObjectStore, sending: Sending, made: string): Promise<StoredReport | undefined> {
  const { owner, retention, now, warn } = sending;
  const deleted = new Set<string>();
  let objects: readonly StoredObject[] | undefined;
  try {
    objects = await store.list(folderOf(owner));
    const keys = objects.map(({ key }) => key);
    for (const key of expiredKeys(owner, keys, { ...retention, made, now: now() })) {
      // oxlint-disable-next-line no-await-in-loop -- in this order: a backup loses its manifest first
      await store.remove(key);
      deleted.add(key);
    }
  } catch (error) {
    warn(`Old backups were not deleted: ${error instanceof Error ? error.message : String(error)}`);
  }
  const left = objects?.filter(({ key }) => !deleted.has(key));
  return left && storedAmong(left, owner);
}

/** Longest manifest, in characters: a store's answer is read into memory. */
const MOST_MANIFEST = 2 * 1024 * 1024;

type Counted = Pick<ArchiveManifest, 'contents' | 'contentsProblem'>;

async function contentsIn(folder: string): Promise<Counted> {
  const contents = await fileText(join(folder, 'contents'));
  const problem = await fileText(join(folder, 'contents-problem'));
  if (contents === undefined && problem === undefined) return {};
  const parsed = contentsOf(contents ?? '');
  if (parsed !== undefined) return { contents: parsed };
  const [words = 'they were not whole'] = (problem ?? '').match(/(?:ERROR|FATAL|error): .*/) ?? [];
  return { contentsProblem: words.slice(0, 300) };
}

function textOfManifest(manifest: ArchiveManifest, counted: Counted): string {
  const write = (more: Counted): string => `${JSON.stringify({ ...manifest, ...more }, undefined, 1)}\n`;
  const text = write(counted);
  return text.length <= MOST_MANIFEST ? text : write({ contentsProblem: 'the database has too many tables' });
}

/** Undefined for a file that is not there. */
export async function fileText(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch {
    return undefined;
  }
}

/** SHA-256 of a file, in hex. */
export async function digestOf(file: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer);
  return hash.digest('hex');
}
