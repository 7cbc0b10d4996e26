// The image of pod sandboxes, which a runtime normally pulls, made of the machine's static busybox. The same image
// serves tests as a small shell.

import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheRoot } from './images/cache.ts';
import { makeRoot, openApt, unpack } from './images/debian.ts';
import { writeImage, writeLayer } from './images/oci.ts';
import { staticBusybox } from './machine.ts';
import { refuseWithinTests } from './prepared.ts';

export const sandboxImage = 'davit.local/busybox:1';

const applets = [
  'sh',
  'cat',
  'echo',
  'env',
  'false',
  'httpd',
  'id',
  'ls',
  'nc',
  'nslookup',
  'sleep',
  'tail',
  'touch',
  'true',
];

/** The archive's path. */
export async function prepareSandboxImage(): Promise<string> {
  const folder = join(cacheRoot(), 'nodes');
  const archive = join(folder, `sandbox-${await recipeKey()}.tar`);
  if (existsSync(archive)) return archive;
  refuseWithinTests('sandbox image');
  await mkdir(folder, { recursive: true });
  const making = await mkdtemp(join(folder, '.sandbox-'));
  try {
    const root = join(making, 'root');
    await mkdir(join(root, 'bin'), { recursive: true });
    const busybox = (await staticBusybox()) ?? (await fetchBusybox(making));
    await mkdir(join(root, 'tmp'));
    await copyFile(busybox, join(root, 'bin', 'busybox'));
    await Promise.all(applets.map((name) => symlink('busybox', join(root, 'bin', name))));
    await mkdir(join(root, 'etc'));
    // Statically linked, glibc can only use what it has built in; without this it looks for a library and crashes.
    await writeFile(
      join(root, 'etc', 'nsswitch.conf'),
      'hosts: files dns\nservices: files\npasswd: files\ngroup: files\n',
    );
    const layer = await writeLayer(root, join(making, 'layer'), () => ({ uid: 0, gid: 0 }));
    const made = join(making, 'image.tar');
    await writeImage(made, sandboxImage, [layer], {
      Env: ['PATH=/bin'],
      // As the first process of a sandbox it holds the namespaces, and has to go when told to.
      Entrypoint: ['/bin/sh', '-c', "trap 'exit 0' TERM INT; while :; do sleep 1000000 & wait; done"],
    });
    await rename(made, archive);
  } finally {
    await rm(making, { recursive: true, force: true });
  }
  return archive;
}

/** Unpacked, not installed: the package busybox-static would remove busybox from the machine. */
async function fetchBusybox(folder: string): Promise<string> {
  const apt = await openApt(join(folder, 'apt'));
  const packages = (await apt.resolve(['busybox-static'])).filter(({ name }) => name === 'busybox-static');
  const root = join(folder, 'busybox');
  await makeRoot(root);
  for (const file of await apt.download(packages)) {
    await unpack(file, root, []);
  }
  return join(root, 'bin', 'busybox');
}

/** Whatever changes here, or in the machine's busybox, makes another archive. */
async function recipeKey(): Promise<string> {
  const hash = createHash('sha256').update(await readFile(import.meta.filename));
  const busybox = await staticBusybox();
  if (busybox !== undefined) hash.update(await readFile(busybox));
  return hash.digest('hex').slice(0, 16);
}
