// The files that say what stands where in a dump: those that children/database/dump-scripts.ts has written, and those that load-scripts.ts reads.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileText } from './file-text.ts';
import { bytesOf, DumpParts } from './parts.ts';

/** Throws an Error if they are not those of a dump of this size, in bytes. */
export async function partsIn(folder: string, sizeBytes: number): Promise<DumpParts> {
  const lines = async (file: string): Promise<string[]> =>
    ((await fileText(join(folder, file))) ?? '').split('\n').filter((line) => line !== '');
  const numbers = (line: string): number[] => line.split(' ').map(Number);
  const databases = (await lines('parts')).map((line) => {
    const [create, before, archive, after] = numbers(line);
    return { name: line.split(' ').slice(4).join(' '), create, before, archive, after };
  });
  const [roles] = (await lines('role-parts')).map((line) => {
    const [count, bytes, passwords] = numbers(line);
    return { count, bytes, passwords };
  });
  const extensions = [...new Set(await lines('extensions'))].toSorted();
  const parts = DumpParts.parse({ databases, roles, extensions });
  if (bytesOf(parts) !== sizeBytes)
    throw new Error(`The dump has ${sizeBytes} bytes, and its parts ${bytesOf(parts)}.`);
  return parts;
}

/**
 * Writes where a restore finds each part. `isOwn`: the backup is of the very deployment that is restored; no other one gets the passwords of
 * its roles. A dump of an earlier version is one archive.
 */
export async function writeParts(
  folder: string,
  { databases = [], roles, sizeBytes }: DumpParts & { readonly sizeBytes: number },
  isOwn: boolean,
): Promise<void> {
  let at = 0;
  const all = databases.length > 0 ? databases : [{ name: '', create: 0, before: 0, archive: sizeBytes, after: 0 }];
  const lines = all.map(({ name, create, before, archive, after }) => {
    const line = `${at} ${create} ${before} ${archive} ${after} ${name}\n`;
    at += create + before + archive + after;
    return line;
  });
  await writeFile(join(folder, 'further'), lines.slice(0, -1).join(''));
  await writeFile(join(folder, 'own'), lines.at(-1) ?? '');
  if (roles) await writeFile(join(folder, 'roles'), `${at} ${roles.bytes} ${isOwn ? roles.passwords : 0}\n`);
}
