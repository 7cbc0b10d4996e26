// Packs a folder for an upload: the files that its ignore files leave, as a .tar.gz in a temporary file.

import { createReadStream, createWriteStream, type Dirent, rmSync } from 'node:fs';
import { lstat, mkdtemp, readdir, readFile, readlink, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, posix } from 'node:path';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { type Choice, choiceBy, IGNORE_FILES, type IgnoreRule, ignoreRules } from '../../kinds/ignore-rules.ts';
import { BUILT_FROM, DEFAULT_CONFIGURATION } from '../../kinds/source-files.ts';
import { END, header, padding, type TarEntry } from '../../kinds/tar.ts';
import { bytesText } from '../../kinds/text.ts';
import { Misuse } from '../line/command.ts';
import { atEnd, Failure } from '../transport/kubectl.ts';

const MEBIBYTE = 1024 * 1024;
/** Files that are named when there is too much. */
const LARGEST_SHOWN = 5;

export interface Source {
  /** Absolute. */
  readonly folder: string;
  /** Path of the configuration file, relative to the folder. */
  readonly config: string;
  /** In an order that does not depend on the machine. */
  readonly entries: readonly TarEntry[];
}

export interface Packed {
  readonly path: string;
  /** Bytes. */
  readonly size: number;
  readonly remove: () => void;
}

/** Lists what would be packed of an absolute path. `config` is the configuration file, relative to the folder: it is packed in any case. */
export async function listSource(folder: string, config: string): Promise<Source> {
  await needFolder(folder);
  const path = pathWithin(folder, config);
  const rules = (await Promise.all(IGNORE_FILES.map((name) => rulesIn(join(folder, name))))).flat();
  const entries: TarEntry[] = [];
  await collect({ folder, choice: choiceBy(rules, path), entries }, '');
  if (entries.length === 0) throw new Misuse(`${folder} has no file to deploy, or its ignore files exclude all.`);
  if (!entries.some((entry) => entry.path === path))
    throw new Misuse(
      `${folder} has no file ${path}. Name the configuration file or the Dockerfile with --config PATH.`,
    );
  return { folder, config: path, entries: entries.toSorted((a, b) => (a.path < b.path ? -1 : 1)) };
}

/** The path of a configuration file relative to the folder, normalized. Throws Misuse if it is not in the folder. */
export function pathWithin(folder: string, config: string): string {
  const path = posix.normalize(config.replaceAll('\\', '/'));
  if (posix.isAbsolute(path) || path === '..' || path.startsWith('../'))
    throw new Misuse(`--config ${config} is not in ${folder}. Name the file relative to that folder.`);
  return path;
}

/** Throws Misuse unless the path is that of a folder. */
export async function needFolder(folder: string): Promise<void> {
  const found = await stat(folder).catch((error: unknown) => {
    throw codeOf(error) === 'ENOENT' ? new Misuse(`Folder ${folder} does not exist.`) : unreadable(folder, error);
  });
  if (!found.isDirectory()) throw new Misuse(`${folder} is not a folder.`);
}

/** What is built of a folder for which nothing names a file. */
export async function builtFrom(folder: string): Promise<string> {
  const files = new Set(await readdir(folder).catch(() => []));
  return BUILT_FROM.find((name) => files.has(name)) ?? DEFAULT_CONFIGURATION;
}

async function rulesIn(path: string): Promise<IgnoreRule[]> {
  try {
    return ignoreRules(await readFile(path, 'utf8'));
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return [];
    throw unreadable(path, error);
  }
}

interface Walk {
  readonly folder: string;
  readonly choice: Choice;
  readonly entries: TarEntry[];
}

async function collect(walk: Walk, under: string): Promise<void> {
  const { folder, choice } = walk;
  for (const one of await childrenOf(join(folder, under))) {
    const path = `${under}${one.name}`;
    if (one.isDirectory()) {
      if (choice.enters(`${path}/`)) await collect(walk, `${path}/`);
    } else if (choice.takes(path)) {
      const entry = await entryOf(folder, path, one);
      if (entry) walk.entries.push(entry);
    }
  }
}

async function childrenOf(folder: string): Promise<Dirent[]> {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch (error) {
    throw unreadable(folder, error);
  }
}

/** Undefined for what is neither a file nor a link, such as a socket. */
async function entryOf(folder: string, path: string, found: Dirent): Promise<TarEntry | undefined> {
  const at = join(folder, path);
  try {
    if (found.isSymbolicLink()) {
      const link = (await readlink(at)).replaceAll('\\', '/');
      needInside(path, link);
      return { path, isExecutable: false, size: 0, link };
    }
    if (!found.isFile()) return undefined;
    const { size, mode } = await lstat(at);
    return { path, isExecutable: (mode & 0o100) !== 0, size };
  } catch (error) {
    throw error instanceof Failure ? error : unreadable(at, error);
  }
}

function needInside(path: string, link: string): void {
  const target = posix.normalize(posix.join(posix.dirname(path), link));
  if (!posix.isAbsolute(link) && target !== '..' && !target.startsWith('../')) return;
  throw new Failure(
    `${path} is a symbolic link to ${link}, which is outside the folder. Replace it with the file, or list it in .dockerignore.`,
  );
}

/** Throws Failure if more than `mostBytes` come out, and if a file changes meanwhile. */
export async function pack(source: Source, mostBytes: number): Promise<Packed> {
  const temporary = await mkdtemp(join(tmpdir(), 'davit-deploy-')).catch((error: unknown) => {
    throw unwritable(error);
  });
  const path = join(temporary, 'source.tar.gz');
  const remove = atEnd(() => rmSync(temporary, { recursive: true, force: true }));
  let size = 0;
  const counted = new Transform({
    transform(piece: Buffer, _encoding, done) {
      size += piece.length;
      done(size > mostBytes ? tooLarge(source, mostBytes) : null, piece);
    },
  });
  try {
    await pipeline(Readable.from(archive(source)), createGzip(), counted, createWriteStream(path, { mode: 0o600 }));
    return { path, size, remove };
  } catch (error) {
    remove();
    throw error instanceof Failure ? error : unwritable(error);
  }
}

async function* archive({ folder, entries }: Source): AsyncGenerator<Uint8Array> {
  for (const entry of entries) {
    yield header(entry);
    if (entry.size > 0) yield* contentOf(join(folder, entry.path), entry);
    yield padding(entry.size);
  }
  yield END;
}

async function* contentOf(at: string, { path, size }: TarEntry): AsyncGenerator<Buffer> {
  let left = size;
  try {
    for await (const piece of createReadStream(at, { highWaterMark: MEBIBYTE }) as AsyncIterable<Buffer>) {
      left -= piece.length;
      if (left < 0) break;
      yield piece;
    }
  } catch (error) {
    throw unreadable(at, error);
  }
  if (left !== 0) throw new Failure(`${path} changed while it was packed. Deploy again.`);
}

function tooLarge({ folder, entries }: Source, mostBytes: number): Failure {
  const largest = entries.toSorted((a, b) => b.size - a.size).slice(0, LARGEST_SHOWN);
  const shown = largest.map(({ path, size }) => `${path} (${bytesText(size)})`).join(', ');
  return new Failure(
    `${folder} has more than ${bytesText(mostBytes)} when packed, the limit of the platform. List files that a build does not need in .dockerignore. Largest: ${shown}.`,
  );
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}

function unreadable(path: string, error: unknown): Failure {
  return new Failure(`${path} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
}

function unwritable(error: unknown): Failure {
  const why = error instanceof Error ? error.message : String(error);
  return new Failure(`The archive cannot be written to ${tmpdir()}: ${why}. Name another folder in TMPDIR.`);
}
