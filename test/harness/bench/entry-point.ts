// How the image starts Davit's processes, for arms that are to run as it does.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../../..');

/**
 * The arguments of node for one of Davit's processes, bundled: the Dockerfile's, with the script where it is here. With
 * `profileInto` it leaves a CPU profile in that folder.
 */
export async function entryPoint(command: 'controller' | 'api' | 'listener', profileInto?: string): Promise<string[]> {
  const [, list] = /^ENTRYPOINT (\[.*\])$/m.exec(await readFile(join(root, 'Dockerfile'), 'utf8')) ?? [];
  if (list === undefined) throw new Error('the Dockerfile has no ENTRYPOINT in one line');
  const [, ...args] = JSON.parse(list) as string[];
  const profiling = profileInto === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileInto}`];
  return [...profiling, ...args.map((arg) => (arg.startsWith('-') ? arg : join(root, arg))), command];
}
