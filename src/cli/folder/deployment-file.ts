// Reads davit.yaml of a folder.

import { readFile } from 'node:fs/promises';
import type { DeploymentFile } from '../../deployments/http/deployment-file.ts';
import { readText } from '../../deployments/http/deployment-file-text.ts';
import { InvalidFile, Misuse } from '../line/command.ts';

const LARGEST_KIB = 64;

/** Undefined if there is no such file. Throws InvalidFile and Misuse. */
export async function readDeploymentFile(path: string): Promise<DeploymentFile | undefined> {
  let bytes: Buffer;
  try {
    bytes = await readFile(path);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new Misuse(`${path} cannot be read: ${message}`);
  }
  if (bytes.length > LARGEST_KIB * 1024)
    throw new InvalidFile(`${path} is larger than ${LARGEST_KIB} KiB: a file describes one deployment.`);
  try {
    return parseDeploymentFile(new TextDecoder('utf-8', { fatal: true }).decode(bytes), path);
  } catch (error) {
    if (error instanceof TypeError) throw new InvalidFile(`${path} is not text in UTF-8. Save it as UTF-8.`);
    throw error;
  }
}

/** `path` is how errors name the file. Throws InvalidFile. */
export function parseDeploymentFile(text: string, path: string): DeploymentFile {
  const read = readText(text, path);
  if ('errors' in read) throw new InvalidFile(read.errors.join('\n'));
  return read.file;
}
