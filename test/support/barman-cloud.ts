// The plugin of CloudNativePG that archives to an object store, from its Go module: its manager in a pod, and the sidecar that it adds to
// instances, with barman of PyPI on Debian's Python. Its certificates are made here, where it asks for cert-manager.

import { execFileSync } from 'node:child_process';
import { chmod, copyFile, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { makeAuthority } from '../cluster/certificates.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { type Image, key, openDebian, readImage } from '../cluster/images/build.ts';
import { cacheRoot, whileWaiting, withLock } from '../cluster/images/cache.ts';
import { makeRoot, RELEASE } from '../cluster/images/debian.ts';
import { writeImage, writeLayer } from '../cluster/images/oci.ts';
import { ensureProgramImage } from '../cluster/images/programs.ts';
import { basePackages, finishBase, trustPublicAuthorities } from '../cluster/images/recipes.ts';
import { type Progress, refuseWithinTests } from '../cluster/prepared.ts';
import { ensureTools, moduleFolder, toolPath } from '../cluster/tools.ts';
import { applyManifests, renderedModule } from './module-manifests.ts';

export const BARMAN_CLOUD = 'plugin-barman-cloud';
const SYSTEM = 'cnpg-system';
const REQUIREMENTS = join(import.meta.dirname, 'barman-cloud.txt');
const PACKAGES = [...basePackages, 'ca-certificates', 'python3', 'python3-psycopg2'];
/** For the Python of the image, which is newer than this machine's. */
const INSTALL =
  '-m pip install --quiet --no-compile --no-deps --only-binary=:all: --python-version 3.13 --require-hashes'.split(' ');
const NAMED = { server: 'barman-cloud-server-tls', client: 'barman-cloud-client-tls' } as const;

export interface BarmanCloud {
  readonly plugin: Image;
  readonly sidecar: Image;
}

export async function ensureBarmanCloud(progress: Progress): Promise<BarmanCloud> {
  const plugin = await ensureProgramImage(BARMAN_CLOUD, { manager: 'manager' }, progress);
  const tools = await ensureTools([BARMAN_CLOUD], progress);
  const parent = join(cacheRoot(), 'program-images');
  const parts = [plugin.digest, await readFile(REQUIREMENTS, 'utf8'), ...PACKAGES, ...INSTALL, RELEASE];
  const entry = join(parent, `${BARMAN_CLOUD}-sidecar-${key(parts)}`);
  const known = await readImage(entry);
  if (known) return { plugin, sidecar: known };
  refuseWithinTests(BARMAN_CLOUD);
  await mkdir(parent, { recursive: true });
  const waiting = whileWaiting(progress, 'Image: another process is making that of the sidecar');
  return withLock(`image of the sidecar ${parent}`, waiting, async () => {
    const made = await readImage(entry);
    if (made) return { plugin, sidecar: made };
    const making = await mkdtemp(join(parent, '.making-'));
    try {
      await makeSidecar(making, toolPath(tools, BARMAN_CLOUD, 'manager'), progress);
      await rename(join(making, 'entry'), entry);
    } finally {
      await rm(making, { recursive: true, force: true });
    }
    const image = await readImage(entry);
    if (!image) throw new Error('the image of the sidecar was made, but is not in the cache');
    return { plugin, sidecar: image };
  });
}

/** As containers/Dockerfile.sidecar of the module makes it: the manager, Python, and the programs of barman on the path. */
async function makeSidecar(making: string, manager: string, progress: Progress): Promise<void> {
  const [root, entry] = [join(making, 'root'), join(making, 'entry')];
  await makeRoot(root);
  const debian = openDebian(join(making, 'apt'), progress);
  await debian.unpackInto(root, await debian.resolve(PACKAGES));
  await finishBase(root);
  await trustPublicAuthorities(root);
  await copyFile(manager, join(root, 'manager'));
  await chmod(join(root, 'manager'), 0o755);
  const packages = join(root, 'usr/local/lib/barman');
  execFileSync('python3', [...INSTALL, '--target', packages, '--requirement', REQUIREMENTS]);
  // Each start would otherwise compile it again, which is seconds of work on a busy machine.
  execFileSync('chroot', [root, 'python3', '-m', 'compileall', '-q', '/usr/local/lib/barman']);
  await linkPrograms(root, packages);
  await mkdir(entry);
  const layer = await writeLayer(root, join(making, 'layer.tar.zst'), () => ({ uid: 0, gid: 0 }));
  const name = `davit.local/${BARMAN_CLOUD}-sidecar:1`;
  const digest = await writeImage(join(entry, 'image.tar'), name, [layer], {
    Env: ['PATH=/usr/local/bin:/usr/bin:/bin', 'PYTHONPATH=/usr/local/lib/barman', 'PYTHONDONTWRITEBYTECODE=1'],
    User: '26:26',
    Entrypoint: ['/manager'],
  });
  await writeFile(join(entry, 'record.json'), JSON.stringify({ name, digest }));
}

/** They name the Python that installed them. */
async function linkPrograms(root: string, packages: string): Promise<void> {
  for (const name of await readdir(join(packages, 'bin'))) {
    if (!name.startsWith('barman-cloud-')) continue;
    const text = await readFile(join(packages, 'bin', name), 'utf8');
    const path = join(root, 'usr/local/bin', basename(name));
    await writeFile(path, text.replace(/^#!.*/, '#!/usr/bin/python3'), { mode: 0o755 });
  }
}

/** In the namespace of CloudNativePG, as its own manifests have it, without cert-manager. Resolves when it answers. */
export async function installBarmanCloud(cluster: Cluster, { plugin, sidecar }: BarmanCloud): Promise<void> {
  const module = await moduleFolder(BARMAN_CLOUD, 'github.com/cloudnative-pg/plugin-barman-cloud');
  const authority = makeAuthority('davit-barman-cloud');
  const certificates = {
    [NAMED.server]: authority.serving('barman-cloud', ['barman-cloud']),
    [NAMED.client]: authority.client('barman-cloud-client', []),
  };
  const secrets = Object.entries(certificates).map(([name, { certificate, key: own }]) => ({
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'kubernetes.io/tls',
    metadata: { name, namespace: SYSTEM },
    // Each side asks for a certificate of an issuer that it finds in the file of the other one.
    stringData: { 'tls.crt': certificate + authority.certificate, 'tls.key': own },
  }));
  const manifests = (await renderedModule(cluster, join(module, 'kubernetes'), plugin)).filter(
    ({ kind }) => kind !== 'Certificate' && kind !== 'Issuer',
  );
  const named = manifests.find(({ kind }) => kind === 'Secret');
  if (!named) throw new Error('the manifests of the plugin have no Secret with the image of the sidecar');
  const image = { ...named, data: undefined, stringData: { SIDECAR_IMAGE: sidecar.name } };
  await applyManifests(cluster, [...secrets, ...manifests.map((one) => (one === named ? image : one))]);
  await cluster.kubectl(['rollout', 'status', 'deployment/barman-cloud', '-n', SYSTEM, '--timeout=240s']);
}
