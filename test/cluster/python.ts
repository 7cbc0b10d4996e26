// Programs in Python, from packages pinned by hash, each in a virtual environment in the cache outside the repository.

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheRoot, whileWaiting, withLock } from './images/cache.ts';
import type { Progress } from './prepared.ts';
import { needsPrepared, refuseWithinTests } from './prepared.ts';

/**
 * Path of the program `name`, one of those that the packages of the file `requirements` bring, installed once for its
 * content and this Python.
 */
export async function ensurePython(name: string, requirements: string, progress: Progress): Promise<string> {
  const key = createHash('sha256')
    .update(await readFile(requirements))
    .update(pythonVersion())
    .digest('hex')
    .slice(0, 16);
  const folder = join(cacheRoot(), 'tools', `${name}-${key}`);
  const program = join(folder, 'bin', name);
  needsPrepared(name);
  if (!existsSync(program)) refuseWithinTests(name);
  await mkdir(join(cacheRoot(), 'tools'), { recursive: true });
  const wait = whileWaiting(progress, `${name}: another process is installing it`);
  await withLock(folder, wait, async () => {
    if (existsSync(program)) return;
    progress(`${name}: installing (once per machine and version)`);
    // Programs in a virtual environment know its path: it is made where it stays, and whole once it has the program.
    await rm(folder, { recursive: true, force: true });
    execFileSync('python3', ['-m', 'venv', folder], { stdio: 'inherit' });
    const install = ['-m', 'pip', 'install', '--quiet', '--require-hashes', '--requirement', requirements];
    execFileSync(join(folder, 'bin', 'python'), install, { stdio: 'inherit' });
  });
  return program;
}

function pythonVersion(): string {
  try {
    return execFileSync('python3', ['-c', 'import sys, venv, ensurepip; print(sys.version)'], {
      stdio: ['ignore', 'pipe', 'pipe'],
    }).toString();
  } catch (cause) {
    throw new Error(
      'Python 3.10 or newer with venv is missing. On Debian and Ubuntu: apt-get install python3-venv; elsewhere get it from your distribution.',
      { cause },
    );
  }
}
