// The builder's image for the tests, made by BuildKit from docs/builder/Dockerfile: on packages of Debian and
// programs compiled on it, since no image can be pulled. Kept in the cache outside the repository.
import { execFile } from 'node:child_process';
import { chmod, copyFile, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { ensureTools, lastLines, moduleFolder, toolPath } from '../tools.ts';
import { contents, type Image, key, openDebian, readImage } from './build.ts';
import { cacheRoot, whileWaiting, withLock } from './cache.ts';
import { makeRoot, RELEASE } from './debian.ts';
import { basePackages, finishBase, repositoryRoot, trustPublicAuthorities } from './recipes.ts';

const run = promisify(execFile);

export const builderFolder = join(repositoryRoot, 'docs/builder');
/** What the Dockerfile would install on a Debian base. */
const packages = [...basePackages, 'ca-certificates', 'curl', 'git', 'libcap2-bin', 'tar', 'uidmap'];
const imageName = 'davit.local/builder:1';

/** Builds it unless it is there; compiles BuildKit first where that is not there either. */
export async function ensureBuilderImage(progress: (line: string) => void): Promise<Image> {
  const tools = await ensureTools(['buildkit', 'rootlesskit', 'runc'], progress);
  const programs = {
    buildctl: toolPath(tools, 'buildkit', 'buildctl'),
    buildkitd: toolPath(tools, 'buildkit', 'buildkitd'),
    'buildkit-runc': toolPath(tools, 'runc', 'runc'),
    rootlesskit: toolPath(tools, 'rootlesskit', 'rootlesskit'),
    'buildctl-daemonless.sh': join(
      await moduleFolder('buildkit', 'github.com/moby/buildkit'),
      'examples/buildctl-daemonless/buildctl-daemonless.sh',
    ),
  };
  const recipe = await contents(import.meta.dirname, ['builder.ts', 'debian.ts', 'recipes.ts']);
  const parts = [...recipe, ...(await contents(builderFolder, await readdir(builderFolder)))];
  const compiled = Object.values(tools).map((folder) => basename(folder));
  const folder = join(cacheRoot(), 'builder-image');
  const entry = join(folder, key([process.arch, RELEASE, ...parts, ...compiled]));
  await mkdir(folder, { recursive: true });
  return withLock(
    `builder image ${folder}`,
    whileWaiting(progress, 'Builder image: another process is making it'),
    async () => {
      const known = await readImage(entry);
      if (known) return known;
      const began = Date.now();
      const old = await readdir(folder);
      await Promise.all(old.map((name) => rm(join(folder, name), { recursive: true, force: true })));
      const making = await mkdtemp(join(folder, '.making-'));
      try {
        await make(making, programs, progress);
        await rename(join(making, 'entry'), entry);
      } finally {
        await rm(making, { recursive: true, force: true });
      }
      const made = await readImage(entry);
      if (!made) throw new Error('the builder image was made, but is not in the cache');
      const { size } = await stat(made.archive);
      progress(
        `Builder image: made in ${Math.round((Date.now() - began) / 1000)} s, ${Math.round(size / 1e6)} MB packed`,
      );
      return made;
    },
  );
}

async function make(
  folder: string,
  programs: Readonly<Record<string, string>>,
  progress: (line: string) => void,
): Promise<void> {
  const base = join(folder, 'base');
  const binaries = join(folder, 'buildkit');
  const entry = join(folder, 'entry');
  await Promise.all([mkdir(entry), mkdir(join(binaries, 'usr/bin'), { recursive: true })]);
  for (const [name, path] of Object.entries(programs)) {
    const copy = join(binaries, 'usr/bin', name);
    await copyFile(path, copy);
    await chmod(copy, 0o755);
  }
  await makeRoot(base);
  const debian = openDebian(join(folder, 'apt'), progress);
  await debian.unpackInto(base, await debian.resolve(packages));
  await finishBase(base);
  await trustPublicAuthorities(base);
  // Never run on this machine, only as far as the Dockerfile's RUN lines go.
  await build(folder, programs, [
    `--local=context=${builderFolder}`,
    `--local=dockerfile=${builderFolder}`,
    `--local=base=${base}`,
    `--local=programs=${binaries}`,
    '--opt=context:builder-base=local:base',
    '--opt=context:buildkit-programs=local:programs',
    '--opt=build-arg:BUILDER_BASE=builder-base',
    '--opt=build-arg:BUILDKIT=buildkit-programs',
    `--output=type=oci,name=${imageName},dest=${join(entry, 'image.tar')}`,
    `--metadata-file=${join(folder, 'metadata.json')}`,
  ]);
  const metadata = JSON.parse(await readFile(join(folder, 'metadata.json'), 'utf8')) as Record<string, string>;
  const record = { name: imageName, digest: metadata['containerimage.digest'] };
  await writeFile(join(entry, 'record.json'), JSON.stringify(record));
}

/** In namespaces of its own, whose end takes daemon, containers and mounts along. */
async function build(
  folder: string,
  programs: Readonly<Record<string, string>>,
  args: readonly string[],
): Promise<void> {
  const flags = [
    `--root=${join(folder, 'state')}`,
    '--containerd-worker=false',
    // Without control groups, of which it would leave some behind.
    '--rootless',
    `--oci-worker-binary=${programs['buildkit-runc']}`,
  ];
  const env = {
    PATH: process.env['PATH'],
    HOME: folder,
    BUILDCTL: programs['buildctl'],
    BUILDKITD: programs['buildkitd'],
    BUILDKITD_FLAGS: flags.join(' '),
    BUILDCTL_CONNECT_RETRIES_MAX: '50',
  };
  const apart = ['--mount', '--pid', '--net', '--fork', '--kill-child=KILL', '--mount-proc'];
  // Its socket is always below /run, where this machine may have a BuildKit of its own.
  const inside = [
    'sh',
    '-c',
    'mount -t tmpfs tmpfs /run && exec sh "$@"',
    'sh',
    programs['buildctl-daemonless.sh'] ?? '',
  ];
  const command = ['build', '--progress=plain', '--frontend=dockerfile.v0', ...args];
  try {
    await run('unshare', [...apart, ...inside, ...command], { env, maxBuffer: 64 << 20 });
  } catch (error) {
    const { stderr, stdout } = error as { stderr?: string; stdout?: string };
    throw new Error(`the builder image: ${lastLines(`${stdout ?? ''}${stderr ?? String(error)}`, 30)}`, {
      cause: error,
    });
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const image = await ensureBuilderImage((line) => process.stderr.write(`${line}\n`));
  process.stdout.write(`${JSON.stringify(image, null, 2)}\n`);
}
