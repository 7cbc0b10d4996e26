// What this machine can do: whether real pods can run on it, and the system packages that they need.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { NotPreparedError, noteFailure, type Progress, refuseWithinTests } from './prepared.ts';

const run = promisify(execFile);

export type RealPods =
  | { readonly ok: true; readonly runc: string; readonly cniPlugins: string }
  | {
      readonly ok: false;
      readonly reason: string;
      /** What a person can do about it; empty when nothing helps. */
      readonly install: string;
    };

export interface Need {
  readonly package: string;
  /** Any of these programs or files is enough. */
  readonly found: readonly string[];
}

const cniFolders = ['/usr/lib/cni', '/opt/cni/bin', '/usr/libexec/cni'];
const systemFolders = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];

// Images need nothing of the machine: archives are written by test/cluster/images, and containerd unpacks them.
const needs: readonly Need[] = [
  { package: 'runc', found: ['runc'] },
  { package: 'containernetworking-plugins', found: cniFolders.map((folder) => join(folder, 'ptp')) },
  { package: 'nftables', found: ['nft'] },
  { package: 'iproute2', found: ['ip'] },
  { package: 'util-linux', found: ['unshare'] },
  { package: 'mount', found: ['mount'] },
];

/** A C compiler with libseccomp, for the one program that is linked to it. */
export const compilerNeeds: readonly Need[] = [
  { package: 'gcc', found: ['gcc'] },
  { package: 'libc6-dev', found: ['/usr/include/stdlib.h'] },
  { package: 'libseccomp-dev', found: ['/usr/include/seccomp.h'] },
  { package: 'pkg-config', found: ['pkg-config'] },
];

export const realPodPackages: readonly string[] = needs.map((need) => need.package);

/** Looks, and as root on Debian or Ubuntu installs what is missing, saying so. */
export async function realPods(progress: Progress): Promise<RealPods> {
  const obstacle = await findObstacle();
  if (obstacle !== undefined) return { ok: false, reason: obstacle, install: '' };
  const missing = needs.filter((need) => !need.found.some(isThere)).map((need) => need.package);
  if (missing.length > 0) {
    const command = `apt-get install --no-install-recommends ${missing.join(' ')}`;
    if (findProgram('apt-get') === undefined) {
      const install = `install what Debian calls ${missing.join(', ')}`;
      return { ok: false, reason: `missing on this machine: ${missing.join(', ')}`, install };
    }
    progress(`installing system packages for real pods: ${missing.join(' ')}`);
    const failure = await aptInstall(missing);
    if (failure !== undefined) {
      return { ok: false, reason: `${command} failed: ${failure}`, install: command };
    }
  }
  const runc = findProgram('runc');
  const cniPlugins = cniFolders.find((folder) => existsSync(join(folder, 'ptp')));
  if (runc === undefined || cniPlugins === undefined) {
    return {
      ok: false,
      reason: 'runc or the CNI plugins are missing',
      install: `install ${realPodPackages.join(', ')}`,
    };
  }
  if (findProgram('apt-get') === undefined && (await staticBusybox()) === undefined) {
    const reason = 'the sandbox image is made of a static busybox, and there is neither one nor apt-get to fetch it';
    return { ok: false, reason, install: 'install what Debian calls busybox-static' };
  }
  const refused = await namespacesRefused();
  if (refused !== undefined) return { ok: false, reason: refused, install: '' };
  return { ok: true, runc, cniPlugins };
}

/** The program's path; as root on Debian or Ubuntu it is installed when it is missing. Throws what a person can do. */
export async function ensureProgram(name: string, progress: Progress): Promise<string> {
  const found = findProgram(name);
  if (found !== undefined) return found;
  const command = `apt-get install --no-install-recommends ${name}`;
  if (findProgram('apt-get') === undefined) throw new Error(`${name} is missing: install what Debian calls ${name}`);
  progress(`installing the system package ${name}`);
  const failure = await aptInstall([name]);
  const installed = findProgram(name);
  if (installed === undefined) throw new Error(`${name} is missing, and ${command} failed: ${failure ?? 'no program'}`);
  return installed;
}

/** As root on Debian or Ubuntu what is missing is installed. Throws what a person can do. */
export async function ensurePackages(wanted: readonly Need[], progress: Progress): Promise<void> {
  const missing = wanted.filter((need) => !need.found.some(isThere)).map((need) => need.package);
  if (missing.length === 0) return;
  const names = missing.join(' ');
  if (findProgram('apt-get') === undefined) throw new Error(`missing: install what Debian calls ${names}`);
  progress(`installing system packages: ${names}`);
  const failure = await aptInstall(missing);
  if (failure === undefined) return;
  throw new Error(`${names}: apt-get install --no-install-recommends ${names} failed: ${failure}`);
}

/** What no package can change. */
async function findObstacle(): Promise<string | undefined> {
  if (process.platform !== 'linux') return `real pods need Linux, this is ${process.platform}`;
  if (process.getuid?.() !== 0) return 'real pods need root';
  if (!existsSync('/dev/kmsg')) return 'the kubelet needs /dev/kmsg, which this machine (a container?) does not have';
  const controllers = await cgroupControllers();
  const missing = ['cpu', 'memory', 'pids'].filter((name) => !controllers.includes(name));
  if (missing.length > 0) return `the control groups ${missing.join(', ')} are not there`;
  return undefined;
}

export async function cgroupControllers(): Promise<string[]> {
  const unified = await readFile('/sys/fs/cgroup/cgroup.controllers', 'utf8').catch(() => undefined);
  if (unified !== undefined) return unified.trim().split(' ');
  return ['cpu', 'memory', 'pids'].filter((name) => existsSync(`/sys/fs/cgroup/${name}/cgroup.procs`));
}

function isThere(programOrFile: string): boolean {
  return programOrFile.startsWith('/') ? existsSync(programOrFile) : findProgram(programOrFile) !== undefined;
}

/** A shell's PATH may lack the folders of the system administrator's programs. */
export function findProgram(name: string): string | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), ...systemFolders];
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path));
}

/** Its path, when it needs no dynamic linker: an ELF file that names none. */
export async function staticBusybox(): Promise<string | undefined> {
  const path = findProgram('busybox');
  if (path === undefined) return undefined;
  const start = (await readFile(path)).subarray(0, 4096).toString('latin1');
  return start.includes('/ld-linux') || start.includes('/ld-musl') || start.includes('/lib/ld') ? undefined : path;
}

async function aptInstall(packages: readonly string[]): Promise<string | undefined> {
  const names = packages.join(' ');
  try {
    refuseWithinTests(names);
  } catch (error) {
    // The machine does without them, and it is said why.
    if (error instanceof NotPreparedError && error.failure !== undefined) return error.failure;
    throw error;
  }
  const install = ['-y', '-qq', '--no-install-recommends', 'install', ...packages];
  try {
    // Lists may be missing altogether (a fresh container), or name versions that the mirror no longer has.
    await apt(install).catch(async () => {
      await apt(['-qq', 'update']);
      await apt(install);
    });
    return undefined;
  } catch (error) {
    const why = error instanceof Error ? error.message.trim().split('\n').slice(-3).join(' ') : String(error);
    noteFailure(names, why);
    return why;
  }
}

async function apt(args: readonly string[]): Promise<void> {
  // Another apt on the machine holds the lock for a while; waiting is better than failing.
  await run('apt-get', ['-o', 'DPkg::Lock::Timeout=120', ...args], {
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C' },
    maxBuffer: 64 << 20,
  });
}

/** Root in a container is often not allowed to make namespaces or to mount. */
async function namespacesRefused(): Promise<string | undefined> {
  try {
    await run('unshare', ['--net', '--mount', '--pid', '--fork', '--mount-proc', 'true']);
    return undefined;
  } catch (error) {
    const why = error instanceof Error ? error.message.trim().split('\n').at(-1) : String(error);
    return `this machine refuses new namespaces (${why})`;
  }
}
