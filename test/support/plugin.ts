// `kubectl davit` as `npm run build` makes it: one file, found by kubectl on the PATH, with the file of its completion.

import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { writePluginFile } from '../image/plugin-file.ts';

/** Writes both into the folder. Returns the path of the plugin. */
export async function writePlugin(folder: string): Promise<string> {
  const path = join(folder, 'kubectl-davit');
  await writePluginFile(path);
  const { stdout: completion } = await promisify(execFile)(process.execPath, [path, 'completion', 'kubectl']);
  await writeFile(join(folder, 'kubectl_complete-davit'), completion, { mode: 0o755 });
  return path;
}
