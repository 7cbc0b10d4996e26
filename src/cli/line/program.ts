// The name by which the program was called, for usage and hints.

import { basename } from 'node:path';

/** `davit` where the file has that name, otherwise as a plugin of kubectl. */
export function programName(path: string | undefined): string {
  return basename(path ?? '') === 'davit' ? 'davit' : 'kubectl davit';
}

export const PROGRAM = programName(process.argv[1]);
