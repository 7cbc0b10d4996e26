// The images that the test cluster's pods run, made on this machine: nothing is pulled and no image tool is needed.
// They are kept in a cache folder outside the repository, under a name that changes with whatever goes into them.
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { basename, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { refuseWithinTests } from '../prepared.ts';
import { ensureTools } from '../tools.ts';
import { cacheRoot, whileWaiting, withLock } from './cache.ts';
import { type Apt, type DebianPackage, makeRoot, openApt, unpack } from './debian.ts';
import { productionPackages } from './npm-packages.ts';
import { type Layer, writeImage, writeLayer } from './oci.ts';
import {
  type BaseImageName,
  type BuildImageName,
  baseImageNames,
  basePackages,
  buildImageNames,
  finishBase,
  type ImageName,
  leftOutFiles,
  type NodeImageName,
  nodeImageNames,
  nodeVersion,
  recipes,
  repositoryRoot,
  sampleDependencies,
  sampleFiles,
  sampleFolder,
  unwantedPackages,
} from './recipes.ts';

export interface Image {
  /** With its tag, as a pod names it. */
  readonly name: string;
  /** An OCI archive. It holds the image under `name` and under its repository with `@digest`. */
  readonly archive: string;
  readonly digest: string;
}

export type Images<N extends ImageName = NodeImageName> = Readonly<Record<N, Image>>;

const registryModule = join(import.meta.dirname, '../go/registry');
/** Recipes of images that have keys of their own. */
const OWN_KEYS: ReadonlySet<string> = new Set(['builder.ts', 'programs.ts']);
const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;

/** Makes what is missing. Two processes may call it at once: one works, the other waits and finds it done. */
export function ensureImages(progress: (message: string) => void): Promise<Images> {
  return ensureThese(nodeImageNames, progress);
}

/** What the Dockerfile is given as its bases where no image can be pulled. */
export function ensureBaseImages(progress: (message: string) => void): Promise<Images<BaseImageName>> {
  return ensureThese(baseImageNames, progress);
}

/** Compiles the registry first where it is not there yet. */
export async function ensureBuildImages(progress: (message: string) => void): Promise<Images<BuildImageName>> {
  await ensureTools(['registry'], progress);
  return ensureThese(buildImageNames, progress);
}

async function ensureThese<N extends ImageName>(
  names: readonly N[],
  progress: (message: string) => void,
): Promise<Images<N>> {
  const folder = join(cacheRoot(), 'images');
  const keys = await contentKeys();
  const isComplete = (found: Found): found is Images<N> => names.every((name) => found[name] !== undefined);
  const found = await findImages(folder, keys, names);
  if (isComplete(found)) return found;

  refuseWithinTests(imagesOf(names));
  await mkdir(folder, { recursive: true });
  return withLock(`images ${folder}`, whileWaiting(progress, 'Images: another process is making them'), async () => {
    const again = await findImages(folder, keys, names);
    const missing = names.filter((name) => again[name] === undefined);
    if (missing.length > 0) await makeImages(folder, keys, missing, progress);
    const made = await findImages(folder, keys, names);
    if (!isComplete(made)) throw new Error('images: made, but not found in the cache');
    return made;
  });
}

/** As a need of tests. */
export function imagesOf(names: readonly ImageName[]): string {
  return `images ${names.join(', ')}`;
}

type Keys = Readonly<Record<ImageName | 'base', string>>;
type Found = Partial<Record<ImageName, Image>>;

async function findImages(folder: string, keys: Keys, names: readonly ImageName[]): Promise<Found> {
  const found: Found = {};
  for (const name of names) {
    const entry = join(folder, `${name}-${keys[name]}`);
    const image = await readImage(entry);
    if (image !== undefined) found[name] = image;
  }
  return found;
}

export async function readImage(entry: string): Promise<Image | undefined> {
  const recorded = await readRecord<{ name: string; digest: string }>(entry);
  return recorded && { name: recorded.name, digest: recorded.digest, archive: join(entry, 'image.tar') };
}

async function readRecord<T>(entry: string): Promise<T | undefined> {
  try {
    const record = JSON.parse(await readFile(join(entry, 'record.json'), 'utf8')) as T;
    // Its age says how long nobody has asked for it.
    await utimes(entry, new Date(), new Date()).catch(() => undefined);
    return record;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Hashes of what goes in. Debian's own versions are not among them: a cached image stays good until the recipe changes. */
async function contentKeys(): Promise<Keys> {
  const recipe = await readdir(import.meta.dirname);
  const common = [
    process.arch,
    ...(await contents(
      import.meta.dirname,
      recipe.filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts') && !OWN_KEYS.has(file)),
    )),
  ];
  const node = await nodeVersion();
  const { versions } = await productionPackages(repositoryRoot, sampleDependencies);
  return {
    base: key(common),
    postgres: key([...common, ...(await contents(import.meta.dirname, ['postgres/docker-entrypoint.sh']))]),
    redis: key([...common, ...(await contents(import.meta.dirname, ['redis/docker-entrypoint.sh']))]),
    pause: key([...common, ...(await contents(import.meta.dirname, ['pause/pause']))]),
    sample: key([...common, ...versions, node, ...(await contents(sampleFolder, await sampleFiles()))]),
    'build-base': key([...common, node]),
    'run-base': key([...common, node]),
    python: key(common),
    node: key([...common, node]),
    registry: key([...common, ...(await contents(registryModule, ['go.mod', 'go.sum']))]),
  };
}

export async function contents(folder: string, files: readonly string[]): Promise<string[]> {
  return Promise.all(files.toSorted().map(async (file) => `${file}\n${await readFile(join(folder, file), 'utf8')}`));
}

export function key(parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 16);
}

async function makeImages(
  folder: string,
  keys: Keys,
  missing: readonly ImageName[],
  progress: (message: string) => void,
): Promise<void> {
  await sweep(folder);
  const work = await mkdtemp(join(folder, '.making-'));
  try {
    const debian = openDebian(join(work, 'apt'), progress);
    const base = await ensureBase(folder, keys.base, work, debian, missing);
    const wanted = await debian.plan(missing, base);
    await Promise.all(
      missing.map(async (name) => {
        const recipe = recipes[name];
        const root = join(work, name, 'root');
        const entry = join(work, name, 'entry');
        await mkdir(entry, { recursive: true });
        await makeRoot(root);
        const packages = wanted.get(name) ?? [];
        await debian.unpackInto(root, packages);
        const { tag, config } = await recipe.finish(root, packages);
        const own = await writeLayer(root, join(work, name, 'layer.tar.zst'), recipe.ownerOf);
        const full = `davit.local/${name}:${tag}`;
        const layers = recipe.onBase && base ? [base.layer, own] : [own];
        const digest = await writeImage(join(entry, 'image.tar'), full, layers, config);
        await settle(entry, join(folder, `${name}-${keys[name]}`), { name: full, digest });
        const { size } = await stat(join(folder, `${name}-${keys[name]}`, 'image.tar'));
        progress(`Images: ${full} made, ${Math.round(size / 1e6)} MB`);
      }),
    );
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

interface Base {
  readonly layer: Layer;
  readonly packages: readonly string[];
}

async function ensureBase(
  folder: string,
  baseKey: string,
  work: string,
  debian: Debian,
  missing: readonly ImageName[],
): Promise<Base | undefined> {
  if (!missing.some((name) => recipes[name].onBase)) return undefined;
  const entry = join(folder, `base-${baseKey}`);
  const file = join(entry, 'layer.tar.zst');
  const known = await readRecord<{ layer: Omit<Layer, 'file'>; packages: readonly string[] }>(entry);
  if (known) return { packages: known.packages, layer: { ...known.layer, file } };

  const packages = await debian.resolve(basePackages);
  const root = join(work, 'base', 'root');
  const made = join(work, 'base', 'entry');
  await mkdir(made, { recursive: true });
  await makeRoot(root);
  await debian.unpackInto(root, packages);
  await finishBase(root);
  const { file: _, ...layer } = await writeLayer(root, join(made, 'layer.tar.zst'), () => ({ uid: 0, gid: 0 }));
  const names = packages.map((p) => p.name);
  await settle(made, entry, { layer, packages: names });
  return { packages: names, layer: { ...layer, file } };
}

/** The record goes in last and the folder moves in whole: an entry that can be read is complete. */
async function settle(from: string, to: string, record: object): Promise<void> {
  await writeFile(join(from, 'record.json'), JSON.stringify(record));
  await rm(to, { recursive: true, force: true });
  await rename(from, to);
}

/** Removes what a crash left and what nobody has asked for in a while, so that the cache doesn't grow with every edit. */
async function sweep(folder: string): Promise<void> {
  const now = Date.now();
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    const age = now - (await stat(path)).mtimeMs;
    if (age > (name.startsWith('.making-') ? 10 * minuteMs : 14 * dayMs))
      await rm(path, { recursive: true, force: true });
  }
}

export interface Debian {
  resolve(names: readonly string[]): Promise<DebianPackage[]>;
  /** What each image needs beyond the base. */
  plan(missing: readonly ImageName[], base: Base | undefined): Promise<Map<ImageName, DebianPackage[]>>;
  unpackInto(root: string, packages: readonly DebianPackage[]): Promise<void>;
}

export function openDebian(folder: string, progress: (message: string) => void): Debian {
  refuseWithinTests('packages of Debian');
  let opened: Promise<Apt> | undefined;
  const apt = () => (opened ??= openApt(folder));
  const files = new Map<string, string>();

  async function resolve(names: readonly string[]): Promise<DebianPackage[]> {
    const packages = await (await apt()).resolve(names);
    return packages.filter((p) => names.includes(p.name) || !unwantedPackages.test(p.name));
  }

  async function download(packages: readonly DebianPackage[]): Promise<void> {
    const missing = packages.filter((p) => !files.has(p.name));
    if (missing.length === 0) return;
    progress(`Images: downloading ${missing.length} Debian packages`);
    const paths = await (await apt()).download(missing);
    for (const path of paths) files.set(basename(path).split('_')[0] ?? '', path);
  }

  return {
    resolve,
    async plan(missing, base) {
      const wanted = new Map<ImageName, DebianPackage[]>();
      for (const name of missing) {
        const { packages, onBase } = recipes[name];
        if (packages.length === 0) continue;
        const below = onBase ? basePackages : [];
        const all = await resolve([...below, ...packages]);
        wanted.set(
          name,
          all.filter((p) => (onBase ? !base?.packages.includes(p.name) : packages.includes(p.name))),
        );
      }
      await download(uniqueByName([...wanted.values()].flat()));
      return wanted;
    },
    async unpackInto(root, packages) {
      await download(packages);
      const queue = packages.map((p) => files.get(p.name)).filter((file) => file !== undefined);
      await Promise.all(
        Array.from({ length: availableParallelism() }, async () => {
          for (let file = queue.pop(); file !== undefined; file = queue.pop()) {
            await unpack(file, root, leftOutFiles);
          }
        }),
      );
    },
  };
}

function uniqueByName(packages: readonly DebianPackage[]): DebianPackage[] {
  return [...new Map(packages.map((p) => [p.name, p])).values()];
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const images = await ensureImages((message) => process.stderr.write(`${message}\n`));
  process.stdout.write(`${JSON.stringify(images, null, 2)}\n`);
}
