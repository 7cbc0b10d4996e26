// Takes a dump to the store. It is a backup only when the store has all of it.

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import type { BackupReport, StoredReport } from '../../kinds/database.ts';
import { jsonOf, present } from '../../runtime/json-value.ts';
import type { ObjectStore, StoredObject } from '../../runtime/outbound/object-store.ts';
import {
  ArchiveManifest,
  archiveName,
  byHandKey,
  countsOf,
  DUMP,
  type DumpFile,
  folderOf,
  keyOf,
  manifestKey,
  type Owner,
  pathOf,
  ROLES,
  storedAmong,
} from './archive.ts';
import { type Contents, contentsOf } from './contents.ts';
import { majorOf } from './postgres-major.ts';
import { expiredKeys, type Retention } from './retention.ts';

export interface Sending {
  readonly owner: Owner;
  /** Folder as children/database/dump-scripts.ts has left it. */
  readonly folder: string;
  /** What is left of the backups afterwards. */
  readonly retention: Retention;
  /** Whether somebody asked for it. */
  readonly isByHand: boolean;
  /** Number of the database among those of the deployment. */
  readonly number?: number | undefined;
  /** uid of the namespace kube-system. */
  readonly cluster?: string | undefined;
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
  const { owner, folder, random, isByHand, number, cluster } = sending;
  const takenAt = (await readFile(join(folder, 'taken-at'), 'utf8')).trim();
  const serverVersion = Number((await readFile(join(folder, 'server-version'), 'utf8')).trim());
  const { roles, isOwned, extensions } = About.parse(jsonOf(await fileText(join(folder, 'about'))));
  const { files, contentsProblem } = await dumpedFiles(folder);
  const name = archiveName(takenAt, random);
  const described = manifestKey(owner, name);
  for (const key of [described, ...files.map((file) => keyOf(owner, name, file.name))]) {
    if ((await store.sizeOf(key)) !== undefined)
      throw new Error(`The store already has ${key}, and backups are never overwritten. Run the backup again.`);
  }
  // Before there is a backup that retention could take for a scheduled one.
  if (isByHand) await store.put(byHandKey(owner, name), 'Retention keeps this backup.\n');
  for (const { name: file, sizeBytes } of files) {
    const key = keyOf(owner, name, file);
    await store.upload(key, join(folder, pathOf(file)), sizeBytes);
    const stored = await store.sizeOf(key);
    if (stored !== sizeBytes)
      throw new Error(
        `The store has ${stored ?? 0} of ${sizeBytes} bytes of ${key}. Check the store and its free space.`,
      );
  }
  const { namespace, tenant, deployment, uid } = owner;
  const sizeBytes = files.reduce((sum, file) => sum + file.sizeBytes, 0);
  const manifest: ArchiveManifest = {
    version: 1,
    name,
    namespace,
    deployment,
    tenant,
    uid,
    takenAt,
    serverVersion,
    sizeBytes,
    files,
    extensions,
    ...(roles !== undefined && { roles, isOwned }),
    ...present({ cluster, number, contentsProblem }),
  };
  // One that cannot be read would count as a backup, and good ones would go.
  ArchiveManifest.parse(manifest);
  const text = textOfManifest(manifest);
  await store.put(described, text);
  if ((await store.read(described)) !== text)
    throw new Error(`The store does not return ${described} as it was written. Check the store.`);
  const left = await keepTo(store, sending, name);
  return {
    name,
    takenAt,
    sizeBytes,
    postgresVersion: majorOf(serverVersion),
    ...countsOf(manifest),
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

/** What a server that was dumped says of itself. `roles`: absent where one database was dumped. */
const About = z.object({
  roles: z.int().min(0).optional(),
  isOwned: z.boolean().optional(),
  extensions: z.array(z.string()),
});

interface Dumped {
  readonly files: DumpFile[];
  readonly contentsProblem?: string | undefined;
}

/** The application's database comes first. Throws an Error where a file is empty. */
async function dumpedFiles(folder: string): Promise<Dumped> {
  const found = await readdir(folder);
  const names = [DUMP, ...found.filter((name) => name === ROLES || name.startsWith('further-')).toSorted()];
  const files: DumpFile[] = [];
  let problem: string | undefined;
  for (const name of names) {
    const file = join(folder, pathOf(name));
    const { size: sizeBytes } = await stat(file);
    if (sizeBytes === 0) throw new Error(`The dump is empty: its file ${name} has no content.`);
    const sha256 = await digestOf(file);
    const database = await fileText(join(dirname(file), 'name'));
    const { contents, contentsProblem } = name === ROLES ? {} : await contentsIn(dirname(file));
    problem ??= contentsProblem;
    files.push({
      name,
      sizeBytes,
      sha256,
      ...present({ database, contents }),
    });
  }
  return { files, contentsProblem: problem };
}

async function contentsIn(folder: string): Promise<{ contents?: Contents; contentsProblem?: string }> {
  const contents = await fileText(join(folder, 'contents'));
  const problem = await fileText(join(folder, 'contents-problem'));
  if (contents === undefined && problem === undefined) return {};
  const parsed = contentsOf(contents ?? '');
  if (parsed !== undefined) return { contents: parsed };
  const [words = 'the counts are incomplete'] = (problem ?? '').match(/(?:ERROR|FATAL|error): .*/) ?? [];
  return { contentsProblem: words.slice(0, 300) };
}

function textOfManifest(manifest: ArchiveManifest): string {
  const write = (one: ArchiveManifest): string => `${JSON.stringify(one, undefined, 1)}\n`;
  const text = write(manifest);
  if (text.length <= MOST_MANIFEST) return text;
  const files = manifest.files.map(({ contents: _contents, ...file }) => file);
  return write({ ...manifest, files, contentsProblem: 'the database has too many tables' });
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
