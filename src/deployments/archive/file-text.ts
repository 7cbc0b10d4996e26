import { readFile } from 'node:fs/promises';

/** Undefined for a file that is not there. */
export async function fileText(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch {
    return undefined;
  }
}
