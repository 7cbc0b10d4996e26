// An image with programs of others, from npm, on the Debian base and the Node of the sample's image. Kept in the cache outside
// the repository, and never pushed anywhere.

import { execFile } from 'node:child_process';
import { chmod, copyFile, mkdir, mkdtemp, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { contents, type Image, key, openDebian, readImage } from '../cluster/images/build.ts';
import { cacheRoot, whileWaiting, withLock } from '../cluster/images/cache.ts';
import { makeRoot, RELEASE } from '../cluster/images/debian.ts';
import { writeImage, writeLayer } from '../cluster/images/oci.ts';
import { basePackages, finishBase, nodeVersion, repositoryRoot } from '../cluster/images/recipes.ts';
import type { Progress } from '../cluster/prepared.ts';
import { refuseWithinTests } from '../cluster/prepared.ts';

const run = promisify(execFile);

export interface NpmApplication {
  /** Of the image. */
  readonly name: string;
  /** Exact versions of the packages, without install scripts: what they would compile is not needed here. */
  readonly packages: Readonly<Record<string, string>>;
  /** Variables of the image, such as `NAME=value`. */
  readonly env?: readonly string[];
}

/** The image, whose programs are on the PATH, and whose user may write to its home. Installed once per machine and version. */
export async function ensureNpmApplication(application: NpmApplication, progress: Progress): Promise<Image> {
  const { name } = application;
  const folder = join(cacheRoot(), 'applications');
  const recipe = await contents(import.meta.dirname, ['npm-application.ts']);
  const parts = [process.arch, await nodeVersion(), JSON.stringify(application), RELEASE, ...recipe];
  const entry = join(folder, `${name}-${key(parts)}`);
  await mkdir(folder, { recursive: true });
  return withLock(
    `application ${entry}`,
    whileWaiting(progress, `${name}: another process is making its image`),
    async () => {
      const known = await readImage(entry);
      if (known) return known;
      refuseWithinTests(`application ${name}`);
      await removeOlder(folder, name);
      const began = Date.now();
      const making = await mkdtemp(join(folder, `.${name}~`));
      try {
        await make(making, application, progress);
        await rename(join(making, 'entry'), entry);
      } finally {
        await rm(making, { recursive: true, force: true });
      }
      const made = await readImage(entry);
      if (!made) throw new Error(`the image of ${name} was made, but is not in the cache`);
      const { size } = await stat(made.archive);
      progress(`${name}: made in ${Math.round((Date.now() - began) / 1000)} s, ${Math.round(size / 1e6)} MB packed`);
      return made;
    },
  );
}

async function removeOlder(folder: string, name: string): Promise<void> {
  const old = (await readdir(folder)).filter((entry) => entry.startsWith(`${name}-`) || entry.startsWith(`.${name}~`));
  await Promise.all(old.map((entry) => rm(join(folder, entry), { recursive: true, force: true })));
}

async function make(folder: string, { name, packages, env = [] }: NpmApplication, progress: Progress): Promise<void> {
  const [base, own, entry] = ['base', 'own', 'entry'].map((part) => join(folder, part)) as [string, string, string];
  const application = join(own, 'app');
  await Promise.all([mkdir(entry), mkdir(application, { recursive: true }), makeRoot(base)]);
  const debian = openDebian(join(folder, 'apt'), progress);
  await debian.unpackInto(base, await debian.resolve(basePackages));
  await finishBase(base);
  const node = join(base, 'usr/local/bin/node');
  await copyFile(join(repositoryRoot, `node_modules/node-linux-${process.arch}/bin/node`), node);
  await chmod(node, 0o755);
  progress(`${name}: installing from npm (once per machine and version; some minutes)`);
  const manifest = { name: 'application', private: true, type: 'module', dependencies: packages };
  await writeFile(join(application, 'package.json'), JSON.stringify(manifest));
  await run('npm', ['install', '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: application,
    maxBuffer: 64 << 20,
  });
  // Half of n8n's 270,000 files, which no program reads.
  const unread = ['*.d.ts', '*.d.mts', '*.d.cts', '*.map'].flatMap((pattern) => ['-o', '-name', pattern]).slice(1);
  await run('find', [application, '-type', 'f', '(', ...unread, ')', '-delete']);
  await mkdir(join(own, 'home/node'), { recursive: true });
  const root = { uid: 0, gid: 0 };
  const layers = [
    await writeLayer(base, join(folder, 'base.tar.zst'), () => root),
    await writeLayer(own, join(folder, 'own.tar.zst'), (path) =>
      path.startsWith('home/node') ? { uid: 1000, gid: 1000 } : root,
    ),
  ];
  const image = `davit.local/${name}:1`;
  const digest = await writeImage(join(entry, 'image.tar'), image, layers, {
    Env: [
      'PATH=/app/node_modules/.bin:/usr/local/bin:/usr/bin:/bin',
      'LANG=C.UTF-8',
      'HOME=/home/node',
      'NODE_ENV=production',
      ...env,
    ],
    User: '1000:1000',
    WorkingDir: '/app',
    Cmd: ['node'],
  });
  await writeFile(join(entry, 'record.json'), JSON.stringify({ name: image, digest }));
}
