// `kubectl davit` as `npm run build` makes it: one file, found by kubectl on the PATH, with the file of its completion.

import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { rolldown } from 'rolldown';

const source = join(import.meta.dirname, '../../src/cli/main.ts');

/** Writes both into the folder. Returns the path of the plugin. */
export async function writePlugin(folder: string): Promise<string> {
  const bundle = await rolldown({ input: source, platform: 'node' });
  const { output } = await bundle.generate({ format: 'esm', codeSplitting: false, minify: true });
  if (output.length !== 1) throw new Error(`The plugin is ${output.length} files, and must be one.`);
  const path = join(folder, 'kubectl-davit');
  await writeFile(path, output[0].code, { mode: 0o755 });
  const { stdout: completion } = await promisify(execFile)(process.execPath, [path, 'completion', 'kubectl']);
  await writeFile(join(folder, 'kubectl_complete-davit'), completion, { mode: 0o755 });
  return path;
}
