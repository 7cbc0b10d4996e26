// Debian packages into a folder, without installing anything on this machine: the machine's own apt resolves and
// downloads, dpkg-deb unpacks, no maintainer script runs.
import { execFile } from 'node:child_process';
import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ensurePackages, type Need } from '../machine.ts';
import { cacheRoot, withLock } from './cache.ts';

const run = promisify(execFile);

export interface DebianPackage {
  readonly name: string;
  readonly version: string;
}

export interface Apt {
  /** What these names need, themselves included, on a machine that has nothing; recommendations left out. */
  resolve(names: readonly string[]): Promise<DebianPackage[]>;
  /** Downloads them, and answers with the path of each. */
  download(packages: readonly DebianPackage[]): Promise<string[]>;
}

/** The release whose packages the images are made of, whatever release the machine runs. */
export const RELEASE = 'trixie';
const KEYS = '/usr/share/keyrings/debian-archive-keyring.gpg';
const keyringNeeds: readonly Need[] = [{ package: 'debian-archive-keyring', found: [KEYS] }];

/** `folder` takes apt's state and the downloads; the machine's own apt state is read, never written. */
export async function openApt(folder: string): Promise<Apt> {
  const downloads = join(folder, 'downloads');
  // Shared by all that are opened: a second update asks whether anything has changed.
  const lists = join(cacheRoot(), 'debian', RELEASE);
  await mkdir(downloads, { recursive: true });
  await mkdir(join(lists, 'partial'), { recursive: true });
  await ensurePackages(keyringNeeds, () => undefined);
  await writeFile(join(folder, 'sources.list'), `deb [signed-by=${KEYS}] ${await archive()} ${RELEASE} main\n`);
  // An empty status file: apt then plans for an empty machine, not for this one.
  await writeFile(join(folder, 'status'), '');
  const options = [
    ['Dir::State::status', join(folder, 'status')],
    ['Dir::State::lists', lists],
    ['Dir::Etc::sourcelist', join(folder, 'sources.list')],
    ['Dir::Etc::sourceparts', '/dev/null'],
    ['Dir::Cache', folder],
    ['APT::Install-Recommends', 'false'],
    ['APT::Get::AllowUnauthenticated', 'false'],
    ['APT::Sandbox::User', ''],
    ['Debug::NoLocking', 'true'],
  ].flatMap(([name, value]) => ['-o', `${name}=${value}`]);

  async function apt(...args: string[]): Promise<string> {
    const { stdout } = await run('apt-get', ['-qq', '-y', ...options, ...args], {
      cwd: downloads,
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C' },
      maxBuffer: 64 << 20,
    });
    return stdout;
  }

  await withLock(
    `lists ${lists}`,
    () => undefined,
    () => apt('update'),
  );
  return {
    async resolve(names) {
      return parseUris(await apt('--print-uris', 'install', ...names));
    },
    async download(packages) {
      // Named with their version: a second look at the lists must not choose otherwise.
      await apt('download', ...packages.map((p) => `${p.name}=${p.version}`));
      const files = await readdir(downloads);
      return packages.map((p) => {
        const file = files.find((f) => f.startsWith(`${p.name}_${p.version.replaceAll(':', '%3a')}_`));
        if (file === undefined) throw new Error(`apt-get download left no file for ${p.name} ${p.version}`);
        return join(downloads, file);
      });
    },
  };
}

async function archive(): Promise<string> {
  const format = ['--format', '$(REPO_URI)', 'Created-By: Packages'];
  const { stdout } = await run('apt-get', ['indextargets', ...format]).catch((cause: unknown) => {
    throw new Error('apt-get is missing: the images of the test cluster are made of packages of Debian', { cause });
  });
  return archiveIn(stdout, process.env['DAVIT_DEBIAN_ARCHIVE']);
}

/** URL of the archive of Debian, which may be a mirror: the one that was asked for, or among the URLs of apt's `targets`, one a line. */
export function archiveIn(targets: string, asked?: string): string {
  const url = asked || /^\S+\/debian\/?$/m.exec(targets)?.[0];
  if (url !== undefined) return url;
  throw new Error(
    'The apt of this machine has no archive of Debian, and the images of the test cluster are made of packages of Debian. Set DAVIT_DEBIAN_ARCHIVE to the URL of a mirror, or DAVIT_PODS=off to run no pods.',
  );
}

/** `'http://…/libc6_2.36-9_amd64.deb' libc6_2.36-9_amd64.deb 2759320 SHA256:…`, one a line. */
export function parseUris(printed: string): DebianPackage[] {
  return printed.split('\n').flatMap((line) => {
    const file = /^'[^']*' (\S+)\.deb /.exec(line)?.[1];
    const [name, version] = file?.split('_') ?? [];
    return name && version ? [{ name, version: decodeURIComponent(version) }] : [];
  });
}

/** Makes a root folder in which `/bin`, `/lib` and the like lead into `/usr`, as in every Debian since 12. */
export async function makeRoot(root: string): Promise<void> {
  for (const folder of ['bin', 'sbin', 'lib', 'lib64']) {
    await mkdir(join(root, 'usr', folder), { recursive: true });
    await symlink(`usr/${folder}`, join(root, folder));
  }
}

export async function unpack(file: string, root: string, leaveOut: readonly string[]): Promise<void> {
  const excludes = leaveOut.map((pattern) => `--exclude=./${pattern}`);
  // By hand and not `dpkg-deb --extract`, which would put a folder in the place of the links into /usr.
  const script =
    'set -o pipefail; dpkg-deb --fsys-tarfile "$1" | tar -x -p --no-same-owner --keep-directory-symlink "${@:3}" -C "$2"';
  await run('bash', ['-c', script, 'unpack', file, root, ...excludes]);
}
