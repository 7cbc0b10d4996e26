// The folder of one run, and the removal of everything a run can leave behind: processes, mounts, control groups and
// the folder. Used by the keeper for its own run and at the next start for runs whose keeper was killed as well.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const prefix = 'davit-cluster-';
const ownerFile = 'owner';
const freshMs = 60_000;
const keptLogsMs = 24 * 3600 * 1000;

/** In the environment of every process of a run, so that they are found even when nobody remembers them. */
export const runVariable = 'DAVIT_CLUSTER_RUN';

export async function makeRun(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), prefix));
  // Volumes of pods lie below it, and pods run as any user; what is private has its own mode.
  await chmod(folder, 0o711);
  await mkdir(join(folder, 'logs'));
  return folder;
}

export async function writeOwner(folder: string, pid: number): Promise<void> {
  await writeFile(join(folder, ownerFile), `${pid}\n`);
}

/** Removes the runs on this machine whose keeper is dead, and logs kept longer than a day. */
export async function removeDeadRuns(): Promise<void> {
  const names = await readdir(tmpdir());
  const folders = names.filter((name) => name.startsWith(prefix)).map((name) => join(tmpdir(), name));
  await Promise.all(
    folders.map(async (folder) => {
      if (await isDead(folder)) await removeRun(folder, false);
    }),
  );
}

async function isDead(folder: string): Promise<boolean> {
  const info = await stat(folder).catch(() => undefined);
  // Not ours to judge, or to remove.
  if (info === undefined || info.uid !== process.getuid?.()) return false;
  const age = Date.now() - info.mtimeMs;
  const names = await readdir(folder).catch(() => []);
  if (names.length === 1 && names[0] === 'logs') return age > keptLogsMs;
  const owner = Number(await readFile(join(folder, ownerFile), 'utf8').catch(() => ''));
  // Another launcher may just be between making the folder and its keeper's first line.
  if (!(owner > 0)) return age > freshMs;
  return !(await isKeeper(owner, folder));
}

/** A number alone proves nothing: it may have been given to another process since. */
async function isKeeper(pid: number, folder: string): Promise<boolean> {
  const command = await commandOf(pid);
  return command.includes(folder);
}

async function commandOf(pid: number): Promise<string> {
  if (existsSync('/proc/self/cmdline')) return readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
  const { stdout } = await run('ps', ['-o', 'command=', '-p', String(pid)]).catch(() => ({ stdout: '' }));
  return stdout;
}

export async function removeRun(folder: string, keepLogs: boolean): Promise<void> {
  await killProcesses(folder);
  await unmountBelow(folder);
  const names = await readdir(folder).catch(() => []);
  const doomed = keepLogs ? names.filter((name) => name !== 'logs') : names;
  await Promise.all(doomed.map((name) => removeTree(join(folder, name))));
  if (!keepLogs) await removeTree(folder);
}

/** A process that is just ending may still write a file into a folder that is being removed. */
async function removeTree(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
}

async function killProcesses(folder: string): Promise<void> {
  const marker = `${runVariable}=${folder}\0`;
  for (let round = 0; round < 50; round += 1) {
    const pids = await processesWith(marker);
    if (pids.length === 0) return;
    for (const pid of pids) tryKill(pid);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function processesWith(marker: string): Promise<number[]> {
  const names = await readdir('/proc').catch(() => []);
  const pids = names.map(Number).filter((pid) => pid > 0 && pid !== process.pid);
  const found = await Promise.all(
    pids.map(async (pid) => {
      const environment = await readFile(`/proc/${pid}/environ`, 'latin1').catch(() => '');
      return `${environment}\0`.includes(marker) ? [pid] : [];
    }),
  );
  return found.flat();
}

export function tryKill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended on its own.
  }
}

/** Deepest first. Normally there are none: the node's mounts live in a namespace that ends with it. */
async function unmountBelow(folder: string): Promise<void> {
  const mounts = await readFile('/proc/self/mounts', 'utf8').catch(() => '');
  const below = mounts
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '')
    .filter((path) => path.startsWith(`${folder}/`))
    .toReversed();
  for (const path of below) {
    await run('umount', ['-l', path]).catch(() => undefined);
  }
}

const cgroupRoot = '/sys/fs/cgroup';

/** The places where a control group has to exist: one for each controller in version 1, one in all in version 2. */
export async function cgroupFolders(name: string): Promise<string[]> {
  if (existsSync(join(cgroupRoot, 'cgroup.controllers'))) return [join(cgroupRoot, name)];
  const mounts = await readFile('/proc/self/mounts', 'utf8');
  return (
    mounts
      .split('\n')
      .map((line) => line.split(' '))
      // Also the unified hierarchy that systemd mounts beside those of version 1: runc makes its groups there as well.
      .filter(([, path, type]) => (type === 'cgroup' || type === 'cgroup2') && path?.startsWith(`${cgroupRoot}/`))
      .map(([, path = '']) => join(path, name))
  );
}

/** Ends what still runs in them, too. */
export async function removeCgroups(name: string): Promise<void> {
  const folders = await cgroupFolders(name);
  for (let round = 0; round < 50 && folders.some((folder) => existsSync(folder)); round += 1) {
    await Promise.all(folders.map(removeCgroup));
    if (folders.some((folder) => existsSync(folder))) await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function removeCgroup(folder: string): Promise<void> {
  if (!existsSync(folder)) return;
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const below = entries.filter((entry) => entry.isDirectory());
  await Promise.all(below.map((entry) => removeCgroup(join(folder, entry.name))));
  const pids = await readFile(join(folder, 'cgroup.procs'), 'utf8').catch(() => '');
  for (const pid of pids.split('\n').map(Number)) if (pid > 0) tryKill(pid);
  await rmdir(folder).catch(() => undefined);
}
