// `kubectl davit` as `npm run build` makes it: one file, found by kubectl on the PATH.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { rolldown } from 'rolldown';

const source = join(import.meta.dirname, '../../src/cli/main.ts');

/** Writes it into the folder. Returns its path. */
export async function writePlugin(folder: string): Promise<string> {
  const bundle = await rolldown({ input: source, platform: 'node' });
  const { output } = await bundle.generate({ format: 'esm', codeSplitting: false });
  if (output.length !== 1) throw new Error(`The plugin is ${output.length} files, and must be one.`);
  const path = join(folder, 'kubectl-davit');
  await writeFile(path, output[0].code, { mode: 0o755 });
  return path;
}
