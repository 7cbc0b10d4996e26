// Images of docs/examples, as their Dockerfiles make them, without an image tool: Python of Debian 13, packages of PyPI
// pinned by hash, and the files that the Dockerfile copies. Kept in the cache outside the repository.

import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { contents, type Image, key, openDebian, readImage } from '../../cluster/images/build.ts';
import { cacheRoot, whileWaiting, withLock } from '../../cluster/images/cache.ts';
import { makeRoot } from '../../cluster/images/debian.ts';
import { writeImage, writeLayer } from '../../cluster/images/oci.ts';
import { basePackages, finishBase, repositoryRoot, trustPublicAuthorities } from '../../cluster/images/recipes.ts';
import type { Progress } from '../../cluster/prepared.ts';
import { refuseWithinTests } from '../../cluster/prepared.ts';

const run = promisify(execFile);

export const examples = join(repositoryRoot, 'docs/examples');
/** The release's. Aegra needs 3.12. */
const PYTHON = '3.13';
const packages = [...basePackages, 'ca-certificates', 'python3'];
const machines: Partial<Record<NodeJS.Architecture, string>> = { x64: 'x86_64', arm64: 'aarch64' };
/** Newest C library that a wheel may ask for: that of the release. */
const NEWEST_GLIBC_MINOR = 41;

/** Tags of an example's image. They differ in GRAPH_VERSION, which the graph notes in each step. */
export const VERSIONS = ['1', '2'] as const;
export type Versions = Readonly<Record<(typeof VERSIONS)[number], Image>>;

/** Makes the images of the example `name` unless they are there. Two processes may call it at once. */
export async function ensureExampleImages(name: string, progress: Progress): Promise<Versions> {
  const folder = join(cacheRoot(), 'example-images');
  const dockerfile = await readFile(join(examples, name, 'image/Dockerfile'), 'utf8');
  const own = ['image/Dockerfile', 'image/requirements.txt'].map((file) => `${name}/${file}`);
  const parts = await contents(examples, [...own, ...copied(dockerfile)]);
  const recipe = await contents(import.meta.dirname, ['python-image.ts']);
  const entry = join(folder, `${name}-${key([process.arch, ...recipe, ...parts])}`);
  await mkdir(folder, { recursive: true });
  return withLock(
    `example images ${entry}`,
    whileWaiting(progress, `Images: another process is making those of ${name}`),
    async () => {
      const known = await readVersions(entry);
      if (known) return known;
      refuseWithinTests(`application ${name}`);
      progress(`Images: making those of ${name} (once per machine and version)`);
      for (const old of await readdir(folder))
        if (old.startsWith(`${name}-`)) await rm(join(folder, old), { recursive: true, force: true });
      const work = await mkdtemp(join(folder, '.making-'));
      try {
        await make(name, dockerfile, work);
        await rename(join(work, 'entry'), entry);
      } finally {
        await rm(work, { recursive: true, force: true });
      }
      const made = await readVersions(entry);
      if (!made) throw new Error(`the images of ${name} were made, but are not in the cache`);
      return made;
    },
  );
}

async function readVersions(entry: string): Promise<Versions | undefined> {
  const [first, second] = await Promise.all(VERSIONS.map((version) => readImage(join(entry, version))));
  return first && second && { 1: first, 2: second };
}

/** The files of the last COPY, in the build's context. */
function copied(dockerfile: string): string[] {
  const [, files = ''] = /^COPY (.+) \.\/$/m.exec(dockerfile) ?? [];
  return files.split(' ');
}

async function make(name: string, dockerfile: string, work: string): Promise<void> {
  const root = join(work, 'root');
  await makeRoot(root);
  const debian = openDebian(join(work, 'apt'), () => undefined);
  await debian.unpackInto(root, await debian.resolve(packages));
  await finishBase(root);
  await symlink('python3', join(root, 'usr/bin/python'));
  await trustPublicAuthorities(root);
  await installPackages(root, join(examples, name, 'image/requirements.txt'));
  await mkdir(join(root, 'app'));
  for (const file of copied(dockerfile)) await copyFile(join(examples, file), join(root, 'app', basename(file)));
  const layer = await writeLayer(root, join(work, 'layer.tar.zst'), () => ({ uid: 0, gid: 0 }));
  for (const version of VERSIONS) {
    const entry = join(work, 'entry', version);
    const full = `davit.local/${name}:${version}`;
    await mkdir(entry, { recursive: true });
    const digest = await writeImage(join(entry, 'image.tar'), full, [layer], {
      Env: [
        'PATH=/usr/local/bin:/usr/bin:/bin',
        'LANG=C.UTF-8',
        'HOME=/tmp',
        'PYTHONDONTWRITEBYTECODE=1',
        `GRAPH_VERSION=${version}`,
        ...environmentOf(dockerfile),
      ],
      User: '1000:1000',
      WorkingDir: '/app',
      Cmd: commandOf(dockerfile),
    });
    await writeFile(join(entry, 'record.json'), JSON.stringify({ name: full, digest }));
  }
}

/** `NAME=value` of the ENV lines, without the quotes that a shell would take away. */
function environmentOf(dockerfile: string): string[] {
  const [, text = ''] = /^ENV ((?:.*\\\n)*.*)$/m.exec(dockerfile) ?? [];
  return text.split(/\s*\\\n\s*/).map((line) => line.trim().replace(/='(.*)'$/, '=$1'));
}

function commandOf(dockerfile: string): string[] {
  const [, text = '[]'] = /^CMD (.*)$/m.exec(dockerfile) ?? [];
  return JSON.parse(text) as string[];
}

/** What `pip install` in the image would do, by the pip of this machine for the Python there. */
async function installPackages(root: string, requirements: string): Promise<void> {
  const machine = machines[process.arch];
  if (machine === undefined) throw new Error(`no images for the architecture ${process.arch}`);
  const minors = Array.from({ length: NEWEST_GLIBC_MINOR - 4 }, (_, index) => NEWEST_GLIBC_MINOR - index);
  const platforms = [
    ...minors.map((minor) => `manylinux_2_${minor}_${machine}`),
    `manylinux2014_${machine}`,
    `linux_${machine}`,
  ];
  const target = join(root, `usr/local/lib/python${PYTHON}/dist-packages`);
  await run(
    'python3',
    [
      '-m',
      'pip',
      'install',
      '--quiet',
      '--no-deps',
      // It would compare them with the Python that it runs on.
      '--ignore-requires-python',
      '--no-compile',
      '--require-hashes',
      '--requirement',
      requirements,
      '--target',
      target,
      '--implementation',
      'cp',
      '--python-version',
      PYTHON,
      ...platforms.flatMap((platform) => ['--platform', platform]),
    ],
    { maxBuffer: 64 << 20 },
  );
  // Programs are installed beside the packages, and name the Python that installed them.
  const programs = join(target, 'bin');
  await mkdir(join(root, 'usr/local/bin'), { recursive: true });
  for (const name of await readdir(programs)) {
    const path = join(root, 'usr/local/bin', name);
    const text = await readFile(join(programs, name));
    const isScript = text.subarray(0, 2).toString() === '#!';
    const rest = text.subarray(text.indexOf('\n'));
    await writeFile(path, isScript ? Buffer.concat([Buffer.from('#!/usr/bin/python3'), rest]) : text, { mode: 0o755 });
  }
  await rm(programs, { recursive: true });
}

/** Folder of an example's records. */
export function exampleFile(name: string, extension: 'yaml' | 'json'): string {
  return join(examples, name, `${name}.${extension}`);
}
