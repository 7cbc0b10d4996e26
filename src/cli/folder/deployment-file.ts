// Reads davit.yaml of a folder.

import { readFile } from 'node:fs/promises';
import { FILE_TOO_LARGE, LARGEST_FILE_BYTES } from '../../kinds/source-files.ts';
import { InvalidFile, Misuse } from '../line/command.ts';

export interface FileText {
  /** As messages name it. */
  readonly path: string;
  readonly text: string;
}

/** Undefined if there is no such file. Throws InvalidFile and Misuse. */
export async function readFileText(path: string): Promise<FileText | undefined> {
  let bytes: Buffer;
  try {
    bytes = await readFile(path);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new Misuse(`${path} cannot be read: ${message}`);
  }
  if (bytes.length > LARGEST_FILE_BYTES) throw new InvalidFile(`${path} ${FILE_TOO_LARGE}.`);
  try {
    return { path, text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } catch {
    throw new InvalidFile(`${path} is not text in UTF-8. Save it as UTF-8.`);
  }
}
