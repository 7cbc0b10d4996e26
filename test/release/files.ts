// The files of a release, besides the image: each the same for the same commit, whoever makes it and when.

import { createHash } from 'node:crypto';
import { chmod, copyFile, mkdir, readFile, rename, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Pinned, pluginManifest, releasedChart, releasedValues } from './plan.ts';
import { programAt } from './programs.ts';

export interface FileOptions {
  /** The source at the commit. */
  readonly source: string;
  /** A folder for what goes into the files. */
  readonly scratch: string;
  readonly out: string;
  readonly version: string;
  readonly epoch: number;
}

/** Packs a folder, in one order, with one time and one owner. */
async function pack(
  file: string,
  { folder, name, epoch }: { folder: string; name: string; epoch: number },
): Promise<void> {
  const tar = programAt('tar');
  const fixed = ['--sort=name', `--mtime=@${epoch}`, '--owner=0', '--group=0', '--numeric-owner', '--format=ustar'];
  const plain = `${file}.plain`;
  await tar(...fixed, '--create', `--file=${plain}`, `--directory=${folder}`, name);
  await programAt('gzip')('--no-name', '--force', '--best', plain);
  await rename(`${plain}.gz`, file);
  // helm push writes it into the manifest of the chart.
  await utimes(file, epoch, epoch);
}

/** Resolves to the path of the chart's archive. */
export async function writeChart(
  { source, scratch, out, version, epoch }: FileOptions,
  image: Pinned,
  others: readonly Pinned[],
): Promise<string> {
  const folder = join(scratch, 'chart');
  await mkdir(folder, { recursive: true });
  await programAt('cp')('--recursive', '--dereference', join(source, 'charts/davit'), folder);
  const edit = async (name: string, change: (text: string) => string): Promise<void> => {
    const path = join(folder, 'davit', name);
    await writeFile(path, change(await readFile(path, 'utf8')));
  };
  await edit('Chart.yaml', (text) => releasedChart(text, version));
  await edit('values.yaml', (text) => releasedValues(text, image, others));
  await programAt('chmod')('--recursive', 'u=rwX,go=rX', folder);
  const file = join(out, `davit-${version}.tgz`);
  await pack(file, { folder, name: 'davit', epoch });
  return file;
}

/**
 * The plugin, as an archive and as a package of npm: the same files. `clone`: where its packages are installed, which start.mjs has compared
 * with the lockfile. Resolves to the path of the archive.
 */
export async function writePlugin(
  { source, scratch, out, version, epoch }: FileOptions,
  clone: string,
  repository: string | undefined,
): Promise<string> {
  await programAt(process.execPath, { cwd: clone })('test/image/bundle.ts', '--plugin', '--dir', join(scratch, 'dist'));
  const files = {
    'kubectl-davit': join(scratch, 'dist/kubectl-davit'),
    'THIRD-PARTY-NOTICES': join(scratch, 'dist/kubectl-davit.THIRD-PARTY-NOTICES'),
    'sbom.cdx.json': join(scratch, 'dist/kubectl-davit.cdx.json'),
    LICENSE: join(source, 'LICENSE'),
  };
  const completion = await programAt(process.execPath)(files['kubectl-davit'], 'completion', 'kubectl');
  const write = async (folder: string): Promise<void> => {
    await mkdir(folder, { recursive: true });
    for (const [name, from] of Object.entries(files)) {
      await copyFile(from, join(folder, name));
      await chmod(join(folder, name), name === 'kubectl-davit' ? 0o755 : 0o644);
    }
    await writeFile(join(folder, 'kubectl_complete-davit'), completion, { mode: 0o755 });
  };
  const [archive, npm] = [join(out, `kubectl-davit-${version}.tar.gz`), join(out, `davit-npm-${version}.tgz`)];
  await write(join(scratch, 'archive'));
  await pack(archive, { folder: join(scratch, 'archive'), name: '.', epoch });
  await write(join(scratch, 'npm/package'));
  const manifest = JSON.stringify(pluginManifest(version, repository), null, 2);
  await writeFile(join(scratch, 'npm/package/package.json'), `${manifest}\n`);
  await pack(npm, { folder: join(scratch, 'npm'), name: 'package', epoch });
  return archive;
}

export async function sha256Of(file: string): Promise<string> {
  return createHash('sha256')
    .update(await readFile(file))
    .digest('hex');
}
