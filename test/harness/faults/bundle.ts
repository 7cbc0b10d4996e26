// The controller as few files: a start then takes less than half the time, and most of a short run is starting.

import { join } from 'node:path';
import { rolldown } from 'rolldown';
import type { Cluster } from '../../cluster/cluster.ts';

const made = new Map<string, Promise<string>>();

/** The file to start, made once for each cluster. */
export function bundledDavit({ runDir }: Cluster): Promise<string> {
  const file = made.get(runDir) ?? bundleDavit(join(runDir, 'davit'));
  made.set(runDir, file);
  return file;
}

async function bundleDavit(directory: string): Promise<string> {
  const input = join(import.meta.dirname, '../../../src/main.ts');
  const bundle = await rolldown({ input, platform: 'node', logLevel: 'silent' });
  await bundle.write({
    dir: directory,
    format: 'esm',
    entryFileNames: 'main.mjs',
    chunkFileNames: '[name]-[hash].mjs',
  });
  await bundle.close();
  return join(directory, 'main.mjs');
}
