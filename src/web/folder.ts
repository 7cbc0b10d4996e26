// A folder that a person has chosen, as the plugin would pack it: what its ignore files leave, as a .tar.gz.

import { choiceBy, IGNORE_FILES, type IgnoreRule, ignoreRules } from '../kinds/ignore-rules.ts';
import { BUILT_FROM, DEFAULT_CONFIGURATION, FILE_NAME } from '../kinds/source-files.ts';
import { END, header, padding } from '../kinds/tar.ts';
import { bytesText } from '../kinds/text.ts';
import { plain } from './text.ts';

export interface FolderFile {
  /** Within the folder, with slashes. */
  readonly path: string;
  readonly file: File;
}

export interface Folder {
  readonly name: string;
  readonly files: readonly FolderFile[];
  readonly rules: readonly IgnoreRule[];
  /** What is built if nothing names another file. */
  readonly builtFrom: string;
  /** The text of its davit.yaml. */
  readonly davitFile: string | undefined;
}

/** `files`: all of a folder, as the browser lists them. */
export async function folderOf(files: Iterable<File>): Promise<Folder> {
  const all = Array.from(files, (file) => {
    const [name = '', ...rest] = file.webkitRelativePath.split('/');
    return { name, path: rest.join('/'), file };
  });
  const textOf = async (path: string): Promise<string | undefined> => all.find((one) => one.path === path)?.file.text();
  const rules = await Promise.all(IGNORE_FILES.map(textOf));
  const paths = new Set(all.map(({ path }) => path));
  return {
    name: all[0]?.name ?? '',
    files: all.map(({ path, file }) => ({ path, file })).toSorted((a, b) => (a.path < b.path ? -1 : 1)),
    rules: rules.flatMap((text) => (text === undefined ? [] : ignoreRules(text))),
    builtFrom: BUILT_FROM.find((name) => paths.has(name)) ?? DEFAULT_CONFIGURATION,
    davitFile: await textOf(FILE_NAME),
  };
}

export interface Selection {
  readonly name: string;
  readonly taken: readonly FolderFile[];
  /** Files, and folders with the number of their files. */
  readonly left: ReadonlyMap<string, number>;
  /** Bytes, unpacked. */
  readonly size: number;
  /** Why it cannot be packed. */
  readonly failure?: string;
}

/** What is packed of a folder. `config`: path of the configuration file or Dockerfile. */
export function selectionOf({ name, files, rules }: Folder, config: string): Selection {
  const choice = choiceBy(rules, config);
  const taken: FolderFile[] = [];
  const left = new Map<string, number>();
  const entered = new Map<string, boolean>();
  const isEntered = (folder: string): boolean => {
    const known = entered.get(folder) ?? choice.enters(folder);
    entered.set(folder, known);
    return known;
  };
  for (const one of files) {
    const closed = foldersOf(one.path).find((folder) => !isEntered(folder));
    if (closed === undefined && choice.takes(one.path)) taken.push(one);
    else left.set(closed ?? one.path, (left.get(closed ?? one.path) ?? 0) + 1);
  }
  const size = taken.reduce((sum, { file }) => sum + file.size, 0);
  const failure = failureOf(name, taken);
  return { name, taken, left, size, ...(failure !== undefined && { failure }) };
}

/** `a/`, `a/b/` of `a/b/c`. */
function foldersOf(path: string): string[] {
  const steps = path.split('/').slice(0, -1);
  return steps.map((_, at) => `${steps.slice(0, at + 1).join('/')}/`);
}

/** What tar would not unpack, or where a person could not see it. */
const IMPOSSIBLE = /(?:^|\/)\.{0,2}(?:\/|$)|[\u0000-\u001f\u007f]/;

function failureOf(name: string, taken: readonly FolderFile[]): string | undefined {
  const bad = taken.find(({ path }) => IMPOSSIBLE.test(path));
  if (bad !== undefined)
    return `${plain(bad.path).replaceAll(/\s/g, ' ')} cannot be packed: rename it, or name it in .dockerignore.`;
  if (taken.length === 0) return `${plain(name)} has no file to deploy, or its ignore files exclude all of them.`;
  return undefined;
}

/** Why the folder cannot be built with the file `config`. */
export function configFailure({ name, taken }: Selection, config: string): string | undefined {
  if (taken.some(({ path }) => path === config)) return undefined;
  return `${plain(name)} has no file ${plain(config)}. Name the configuration file or the Dockerfile.`;
}

export const MEBIBYTE = 1024 * 1024;
/** Files that are read at once: a browser takes milliseconds for each. */
const READ_AHEAD = 32;
/** Files that are named when there is too much. */
const LARGEST_SHOWN = 5;

/** `onPacked` hears how many bytes of the files are packed. Throws an Error if more than `mostBytes` come out, and if a file changes meanwhile. */
export async function packed(
  { name, taken }: Selection,
  mostBytes: number,
  onPacked: (bytes: number) => void,
): Promise<Blob> {
  const pieces = archiveOf(taken, onPacked);
  const tar = new ReadableStream<Uint8Array<ArrayBuffer>>({
    async pull(controller) {
      const { done, value } = await pieces.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
  });
  const reader = tar.pipeThrough(new CompressionStream('gzip')).getReader();
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    parts.push(read.value);
    size += read.value.length;
    if (size <= mostBytes) continue;
    await reader.cancel();
    throw new Error(tooLarge(name, taken, mostBytes));
  }
  return new Blob(parts);
}

async function* archiveOf(
  taken: readonly FolderFile[],
  onPacked: (bytes: number) => void,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  let done = 0;
  const waiting = taken.values();
  const ahead: Promise<Uint8Array<ArrayBuffer>>[] = [];
  for (const { path, file } of taken) {
    const { size } = file;
    while (ahead.length < READ_AHEAD) {
      const { value: next } = waiting.next();
      if (next === undefined) break;
      const read = pieceOf(next.path, next.file, 0);
      // It is heard when its turn comes.
      read.catch(() => undefined);
      ahead.push(read);
    }
    let piece = (await ahead.shift()) ?? new Uint8Array();
    // A browser does not say which files can be executed.
    const isExecutable = piece[0] === 0x23 && piece[1] === 0x21;
    yield header({ path, isExecutable, size });
    for (let at = 0; at < size; ) {
      yield piece;
      at += piece.length;
      onPacked((done += piece.length));
      if (at < size) piece = await pieceOf(path, file, at);
    }
    yield padding(size);
  }
  yield END;
}

/** A browser refuses to read a file that is another one than was chosen. */
async function pieceOf(path: string, file: File, at: number): Promise<Uint8Array<ArrayBuffer>> {
  const wanted = Math.min(MEBIBYTE, file.size - at);
  try {
    const piece = new Uint8Array(await file.slice(at, at + wanted).arrayBuffer());
    if (piece.length === wanted) return piece;
  } catch {
    // Its words say nothing of the file.
  }
  throw new Error(`${plain(path)} changed while it was packed, or cannot be read. Choose the folder again.`);
}

function tooLarge(name: string, taken: readonly FolderFile[], mostBytes: number): string {
  const largest = taken.toSorted((a, b) => b.file.size - a.file.size).slice(0, LARGEST_SHOWN);
  const shown = largest.map(({ path, file }) => `${plain(path)} (${bytesText(file.size)})`).join(', ');
  return `${plain(name)} has more than ${bytesText(mostBytes)} when it is packed, which is the platform's limit. List what the build does not need in .dockerignore. Largest: ${shown}.`;
}
