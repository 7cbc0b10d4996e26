// The image of a release: built by Buildah from the Dockerfile at one commit, for each platform, into one index. The same commit and bases
// give the same digest.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeBuildah } from '../image/davit-image.ts';
import type { Origin, Pinned } from './plan.ts';

export interface ImageOptions {
  readonly buildah: string;
  /** Folder for Buildah's layers. */
  readonly storage: string;
  /** The source at the commit. */
  readonly source: string;
  /** Folder in which the index is left, as an OCI layout. */
  readonly layout: string;
  readonly origin: Origin;
  readonly version: string;
  readonly platforms: readonly string[];
  /** As they are pulled: by digest. */
  readonly bases: { readonly build: string; readonly run: string };
  readonly isPlain: boolean;
}

/** Resolves to the digest of the index. */
export async function buildImage(options: ImageOptions): Promise<string> {
  const { storage, source, layout, origin, version, platforms, bases, isPlain } = options;
  const buildah = makeBuildah(options.buildah, storage, source);
  const name = `davit.local/release:${version}`;
  const labels = {
    'org.opencontainers.image.version': version,
    'org.opencontainers.image.revision': origin.commit,
    ...(origin.source !== undefined && { 'org.opencontainers.image.source': origin.source }),
  };
  // What an earlier run has left would be added to.
  await buildah('manifest', 'rm', name).catch(() => undefined);
  await buildah(
    'build',
    '--isolation=chroot',
    '--layers',
    `--tls-verify=${!isPlain}`,
    `--platform=${platforms.join(',')}`,
    `--manifest=${name}`,
    `--timestamp=${origin.epoch}`,
    '--identity-label=false',
    `--build-arg=BUILD_BASE=${bases.build}`,
    `--build-arg=RUN_BASE=${bases.run}`,
    ...Object.entries(labels).map(([label, value]) => `--label=${label}=${value}`),
    '.',
  );
  await buildah('manifest', 'push', '--quiet', '--all', '--format=oci', name, `oci:${layout}`);
  const index = JSON.parse(await readFile(join(layout, 'index.json'), 'utf8')) as {
    readonly manifests: readonly { readonly digest: string }[];
  };
  const [found, more] = index.manifests;
  if (found === undefined || more !== undefined)
    throw new Error(`${layout} has ${index.manifests.length} indexes, not one.`);
  return found.digest;
}

/** The bases that the Dockerfile names, which `--build-base` and `--run-base` replace. */
export function basesOf(dockerfile: string): Record<'build' | 'run', string> {
  const argument = (name: string): string => new RegExp(`^ARG ${name}=(\\S+)$`, 'm').exec(dockerfile)?.[1] ?? '';
  return { build: argument('BUILD_BASE'), run: argument('RUN_BASE') };
}

/** A name by digest, without its tag, which Buildah refuses beside one. */
export function byDigest({ name, digest }: Pinned): string {
  return `${name.replace(/:[^:/@]+$/, '')}@${digest}`;
}
