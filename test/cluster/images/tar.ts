// A folder as a tar stream that depends on nothing but the folder's content: sorted, one fixed time, owners by rule.
import { createReadStream } from 'node:fs';
import { lstat, readdir, readlink } from 'node:fs/promises';
import { join } from 'node:path';

export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

export interface Entry {
  readonly path: string;
  readonly type: 'file' | 'folder' | 'symlink' | 'hardlink';
  readonly mode: number;
  readonly owner: Owner;
  readonly size: number;
  readonly target: string;
}

/** 2024-01-01T00:00:00Z: any time would do, as long as it is always the same. */
export const fixedTime = 1_704_067_200;

const block = 512;
const typeFlags = { file: '0', hardlink: '1', symlink: '2', folder: '5' } as const;

export async function* tarOf(root: string, ownerOf: (path: string) => Owner): AsyncGenerator<Buffer> {
  const seen = new Map<string, string>();
  async function* walk(folder: string): AsyncGenerator<Buffer> {
    const names = await readdir(join(root, folder));
    for (const name of names.toSorted()) {
      const path = folder === '' ? name : `${folder}/${name}`;
      const stat = await lstat(join(root, path));
      const common = { path, owner: ownerOf(path), mode: plainMode(stat.mode), size: 0, target: '' };
      if (stat.isDirectory()) {
        yield* header({ ...common, type: 'folder', path: `${path}/`, mode: plainMode(stat.mode | 0o111) });
        yield* walk(path);
      } else if (stat.isSymbolicLink()) {
        yield* header({ ...common, type: 'symlink', mode: 0o777, target: await readlink(join(root, path)) });
      } else if (stat.isFile()) {
        const identity = `${stat.dev}:${stat.ino}`;
        const first = stat.nlink > 1 ? seen.get(identity) : undefined;
        if (first !== undefined) {
          yield* header({ ...common, type: 'hardlink', target: first });
          continue;
        }
        seen.set(identity, path);
        yield* header({ ...common, type: 'file', size: stat.size });
        yield* fileOf(join(root, path), stat.size);
      }
      // Sockets, pipes and devices have no place in these images.
    }
  }
  yield* walk('');
  yield Buffer.alloc(2 * block);
}

/**
 * Three modes are enough. What the builder's umask did to a file is lost, and so are setuid bits: nothing in these
 * images may gain what its pod was not given.
 */
function plainMode(mode: number): number {
  if ((mode & 0o1000) !== 0) return 0o1777;
  return (mode & 0o111) !== 0 ? 0o755 : 0o644;
}

export async function* fileOf(path: string, size: number): AsyncGenerator<Buffer> {
  if (size > 0) yield* createReadStream(path, { highWaterMark: 1 << 20 }) as AsyncIterable<Buffer>;
  yield padding(size);
}

export function padding(size: number): Buffer {
  return Buffer.alloc((block - (size % block)) % block);
}

export function* header(entry: Entry): Generator<Buffer> {
  const records = [
    Buffer.byteLength(entry.path) > 100 ? record('path', entry.path) : '',
    Buffer.byteLength(entry.target) > 100 ? record('linkpath', entry.target) : '',
  ].join('');
  if (records !== '') {
    const size = Buffer.byteLength(records);
    yield ustar('x', { ...entry, path: 'PaxHeader', target: '', mode: 0o644, size });
    yield Buffer.concat([Buffer.from(records), padding(size)]);
  }
  yield ustar(typeFlags[entry.type], entry);
}

function ustar(typeFlag: string, entry: Entry): Buffer {
  const buffer = Buffer.alloc(block);
  const octal = (value: number, width: number) => `${value.toString(8).padStart(width - 1, '0')}\0`;
  buffer.write(entry.path, 0, 100);
  buffer.write(octal(entry.mode, 8), 100);
  buffer.write(octal(entry.owner.uid, 8), 108);
  buffer.write(octal(entry.owner.gid, 8), 116);
  buffer.write(octal(entry.size, 12), 124);
  buffer.write(octal(fixedTime, 12), 136);
  buffer.write(' '.repeat(8), 148);
  buffer.write(typeFlag, 156);
  buffer.write(entry.target, 157, 100);
  buffer.write('ustar\x0000', 257);
  const sum = buffer.reduce((total, byte) => total + byte, 0);
  buffer.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return buffer;
}

/** `LENGTH NAME=VALUE\n`, where LENGTH counts itself. */
function record(name: string, value: string): string {
  const rest = ` ${name}=${value}\n`;
  const bytes = Buffer.byteLength(rest);
  const guess = bytes + String(bytes).length;
  return `${bytes + String(guess).length}${rest}`;
}
