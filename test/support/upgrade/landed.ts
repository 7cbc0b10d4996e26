// The state that landed last, as the upgrade tests need it: its source and its chart, taken out of the repository's own
// history. A recipe instead of files: nothing of it can be changed by mistake, and it costs the repository nothing.

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rename, rm, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cacheRoot } from '../../cluster/images/cache.ts';
import { refuseWithinTests } from '../../cluster/prepared.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../../..');

/** What people run before they upgrade to this source. Moved on when a release lands: then upgrades begin there. */
export const LANDED = 'fb2de9645c1ac0cefb5c267497e7f3dc4e872216';

/**
 * A folder with the source and the chart of `commit`, ready to run, kept in the cache. Throws what a person can do where
 * the repository's history does not reach back that far.
 */
export async function landedSource(commit = LANDED, repository = root): Promise<string> {
  const lock = await gitShow(commit, 'package-lock.json', repository);
  const ours = await readFile(join(root, 'package-lock.json'), 'utf8');
  // Of the same packages those that are here serve both.
  const packages = hashOf(lock === ours ? root : lock);
  const folder = join(cacheRoot(), 'landed', `${commit.slice(0, 12)}-${packages}`);
  if (await isThere(folder)) return folder;
  refuseWithinTests('release to upgrade from');
  await mkdir(join(cacheRoot(), 'landed'), { recursive: true });
  const making = await mkdtemp(join(cacheRoot(), 'landed', '.making-'));
  try {
    await unpack(commit, making, repository);
    if (lock === ours) await symlink(join(root, 'node_modules'), join(making, 'node_modules'));
    else await run('npm', ['ci', '--no-audit', '--no-fund'], { cwd: making, maxBuffer: 64 << 20 });
    await rename(making, folder).catch(async (error: unknown) => {
      // Another run of the tests was faster.
      if (!(await isThere(folder))) throw error;
    });
    return folder;
  } finally {
    await rm(making, { recursive: true, force: true });
  }
}

async function gitShow(commit: string, path: string, repository: string): Promise<string> {
  try {
    return (await run('git', ['show', `${commit}:${path}`], { cwd: repository, maxBuffer: 64 << 20 })).stdout;
  } catch (error) {
    throw new Error(
      `The upgrade tests start from commit ${commit}, and it is not in the history of ${repository}. A shallow clone gets it by \`git fetch --unshallow\` (or \`git fetch origin ${commit}\`); a source without history has to be exchanged for a clone.`,
      { cause: error },
    );
  }
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 8);
}

async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

async function unpack(commit: string, folder: string, repository: string): Promise<void> {
  const archive = join(folder, 'source.tar');
  await run('git', ['archive', `--output=${archive}`, commit], { cwd: repository });
  await run('tar', ['-xf', archive, '-C', folder]);
  await rm(archive);
}
