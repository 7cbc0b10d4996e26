// Davit's own image for the tests: built by buildah from the Dockerfile in the repository, on bases made of this
// machine's packages, for no image can be pulled here. Kept in the cache folder outside the repository under a name
// that changes with whatever goes in; what the packages alone decide is kept apart, so that a change in src costs
// seconds.

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { contents, ensureBaseImages, type Image, key } from '../cluster/images/build.ts';
import { cacheRoot, whileWaiting, withLock } from '../cluster/images/cache.ts';
import { ensureProgram } from '../cluster/machine.ts';
import { refuseWithinTests } from '../cluster/prepared.ts';
import { lastLines } from '../cluster/tools.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');
const dayMs = 24 * 60 * 60_000;

/** What the Dockerfile copies besides src; .dockerignore lets in no more. */
const PACKAGE_FILES = ['Dockerfile', '.dockerignore', 'package.json', 'package-lock.json', '.npmrc'];
const BUILD_FILES = [
  'LICENSE',
  'tsconfig.json',
  'test/image/bundle.ts',
  'test/image/in-ascii.ts',
  'test/image/inventory.ts',
  'test/image/plugin-file.ts',
];

/** What an image is built from, and what is put behind the version in its tag. */
export interface ImageSource {
  readonly folder: string;
  readonly suffix: string;
}
const THIS: ImageSource = { folder: root, suffix: '' };

/** Builds the image unless it is there. Throws what a person can do where this machine cannot build one. */
export async function ensureDavitImage(progress: (line: string) => void, source = THIS): Promise<Image> {
  const contentsOf = (files: readonly string[]): Promise<string[]> => contents(source.folder, files);
  const bases = await ensureBaseImages(progress);
  const common = [
    process.arch,
    bases['build-base'].digest,
    bases['run-base'].digest,
    ...(await contentsOf(PACKAGE_FILES)),
  ];
  const sources = (await readdir(join(source.folder, 'src'), { recursive: true })).filter((file) =>
    /(?<!\.test)\.(ts|tsx|css|svg|json)$/.test(file),
  );
  // An earlier release builds without some of them.
  const others = BUILD_FILES.filter((file) => existsSync(join(source.folder, file)));
  const own = [source.suffix, ...(await contentsOf([...others, ...sources.map((file) => `src/${file}`)]))];
  const folder = join(cacheRoot(), 'davit-image');
  const entry = join(folder, `image-${key([...common, ...own])}`);
  const layers = join(folder, `layers-${key(common)}`);
  await mkdir(folder, { recursive: true });
  return withLock(
    `image of davit ${folder}`,
    whileWaiting(progress, 'Image: another process is building it'),
    async () => {
      const known = await readImage(entry);
      if (known) return known;
      refuseWithinTests('image of Davit');
      await sweep(folder);
      const began = Date.now();
      progress('Image: building it with the Dockerfile (about a minute the first time)');
      await mkdir(layers, { recursive: true });
      await utimes(layers, new Date(), new Date());
      const buildah = makeBuildah(await ensureProgram('buildah', progress), layers, source.folder);
      const making = await mkdtemp(join(folder, '.making-'));
      try {
        await buildImage(buildah, [bases['build-base'], bases['run-base']], making, await tagOf(source));
        await rename(making, entry);
      } finally {
        await rm(making, { recursive: true, force: true });
      }
      const made = await readImage(entry);
      if (!made) throw new Error('the image of davit was built, but is not in the cache');
      const { size } = await stat(made.archive);
      progress(
        `Image: ${made.name} built in ${Math.round((Date.now() - began) / 1000)} s, ${Math.round(size / 1e6)} MB packed`,
      );
      return made;
    },
  );
}

export type Buildah = (...args: readonly string[]) => Promise<string>;

/** Its storage is a folder of the cache: the machine's own images are not touched. */
export function makeBuildah(program: string, storage: string, cwd: string): Buildah {
  async function call(driver: string, args: readonly string[]): Promise<string> {
    const where = ['--root', join(storage, driver), '--runroot', join(storage, 'run'), '--storage-driver', driver];
    try {
      const { stdout } = await run(program, [...where, ...args], { cwd, maxBuffer: 64 << 20 });
      return stdout;
    } catch (error) {
      const { stderr, stdout } = error as { stderr?: string; stdout?: string };
      throw new Error(`buildah ${args[0]} failed:\n${lastLines(`${stdout ?? ''}${stderr ?? String(error)}`, 25)}`, {
        cause: error,
      });
    }
  }
  // A machine that cannot mount an overlay copies every layer instead: slower, and larger.
  let driver: Promise<string> | undefined;
  const chooseDriver = (): Promise<string> =>
    call('overlay', ['info']).then(
      () => 'overlay',
      () => 'vfs',
    );
  return async (...args) => {
    driver ??= chooseDriver();
    return call(await driver, args);
  };
}

async function buildImage(
  buildah: Buildah,
  bases: readonly [Image, Image],
  folder: string,
  tag: string,
): Promise<void> {
  for (const { name, archive } of bases) {
    await buildah('pull', '--quiet', `oci-archive:${archive}:${name}`);
  }
  const [buildBase, runBase] = bases;
  const name = `davit.local/davit:${tag}`;
  await buildah(
    'build',
    '--isolation=chroot',
    '--pull=never',
    '--layers',
    `--build-arg=BUILD_BASE=${buildBase.name}`,
    `--build-arg=RUN_BASE=${runBase.name}`,
    `--tag=${name}`,
    '.',
  );
  const digestFile = join(folder, 'digest');
  await buildah(
    'push',
    '--quiet',
    `--digestfile=${digestFile}`,
    name,
    `oci-archive:${join(folder, 'image.tar')}:${name}`,
  );
  const digest = (await readFile(digestFile, 'utf8')).trim();
  await writeFile(join(folder, 'record.json'), JSON.stringify({ name, digest }));
}

async function tagOf({ folder, suffix }: ImageSource): Promise<string> {
  const { version } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as { version: string };
  return `${version}${suffix}`;
}

async function readImage(entry: string): Promise<Image | undefined> {
  try {
    const { name, digest } = JSON.parse(await readFile(join(entry, 'record.json'), 'utf8')) as Omit<Image, 'archive'>;
    return { name, digest, archive: join(entry, 'image.tar') };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Removes what is old: every change of src makes an image, every change of the packages a gigabyte of layers. */
async function sweep(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    const { mtimeMs } = await stat(path);
    if (Date.now() - mtimeMs < 3 * dayMs) continue;
    // A build that was killed leaves folders mounted until the machine restarts: no reason not to build.
    await rm(path, { recursive: true, force: true }).catch(() => undefined);
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const image = await ensureDavitImage((line) => process.stderr.write(`${line}\n`));
  process.stdout.write(`${JSON.stringify(image, null, 2)}\n`);
}
