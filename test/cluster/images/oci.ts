// Image archives in the OCI layout, written without any image tool: layers, a configuration, a manifest, an index.
import { createHash, type Hash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, createZstdCompress } from 'node:zlib';
import { type Entry, fileOf, fixedTime, header, type Owner, padding, tarOf } from './tar.ts';

export interface Layer {
  readonly file: string;
  /** Of the file as it is. */
  readonly digest: string;
  /** Of the tar inside. */
  readonly diffId: string;
  readonly size: number;
}

/** The part of an image's configuration that a runtime obeys, in its own words. */
export interface RunConfig {
  readonly Env: readonly string[];
  readonly User?: string;
  readonly Entrypoint?: readonly string[];
  readonly Cmd?: readonly string[];
  readonly WorkingDir?: string;
  readonly Volumes?: Readonly<Record<string, Record<string, never>>>;
  readonly ExposedPorts?: Readonly<Record<string, Record<string, never>>>;
  readonly StopSignal?: string;
}

const architectures: Partial<Record<NodeJS.Architecture, string>> = { x64: 'amd64', arm64: 'arm64' };
const layerType = 'application/vnd.oci.image.layer.v1.tar+zstd';
const manifestType = 'application/vnd.oci.image.manifest.v1+json';

export async function writeLayer(root: string, file: string, ownerOf: (path: string) => Owner): Promise<Layer> {
  const inner = createHash('sha256');
  const outer = createHash('sha256');
  await pipeline(
    Readable.from(hashed(tarOf(root, ownerOf), inner)),
    // Level 3 packs as fast as the disk writes, and keeps the archives at a third.
    createZstdCompress({ params: { [constants.ZSTD_c_compressionLevel]: 3 } }),
    (packed: AsyncIterable<Buffer>) => hashed(packed, outer),
    createWriteStream(file),
  );
  const { size } = await stat(file);
  return { file, size, digest: `sha256:${outer.digest('hex')}`, diffId: `sha256:${inner.digest('hex')}` };
}

async function* hashed(chunks: AsyncIterable<Buffer>, hash: Hash): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    hash.update(chunk);
    yield chunk;
  }
}

/** Writes the archive, and answers with the image's digest: what `name@sha256:…` means. */
export async function writeImage(
  file: string,
  name: string,
  layers: readonly Layer[],
  config: RunConfig,
): Promise<string> {
  const architecture = architectures[process.arch];
  if (architecture === undefined) throw new Error(`no images for the architecture ${process.arch}`);
  const platform = { architecture, os: 'linux' };
  const created = new Date(fixedTime * 1000).toISOString();
  const configuration = json({
    ...platform,
    created,
    config,
    rootfs: { type: 'layers', diff_ids: layers.map((layer) => layer.diffId) },
    history: layers.map(() => ({ created, created_by: 'davit test/cluster/images' })),
  });
  const manifest = json({
    schemaVersion: 2,
    mediaType: manifestType,
    config: { mediaType: 'application/vnd.oci.image.config.v1+json', ...reference(configuration) },
    layers: layers.map(({ digest, size }) => ({ mediaType: layerType, digest, size })),
  });
  const { digest, size } = reference(manifest);
  // Twice, by tag and by digest, so that an import makes both names and pods may use either.
  const repository = name.replace(/:[^:/]*$/, '');
  const index = json({
    schemaVersion: 2,
    mediaType: 'application/vnd.oci.image.index.v1+json',
    manifests: [name, `${repository}@${digest}`].map((full) => ({
      mediaType: manifestType,
      digest,
      size,
      platform,
      // For containerd, and for every other program that reads such archives.
      annotations: { 'io.containerd.image.name': full, 'org.opencontainers.image.ref.name': full },
    })),
  });

  async function* archive(): AsyncGenerator<Buffer> {
    yield* small('oci-layout', json({ imageLayoutVersion: '1.0.0' }));
    yield* small('index.json', index);
    yield* small(blobPath(digest), manifest);
    yield* small(blobPath(reference(configuration).digest), configuration);
    for (const layer of layers) {
      yield* header(plainFile(blobPath(layer.digest), layer.size));
      yield* fileOf(layer.file, layer.size);
    }
    yield Buffer.alloc(1024);
  }
  await pipeline(Readable.from(archive()), createWriteStream(file));
  return digest;
}

function json(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}

function reference(content: Buffer): { digest: string; size: number } {
  return { digest: `sha256:${createHash('sha256').update(content).digest('hex')}`, size: content.length };
}

function blobPath(digest: string): string {
  return `blobs/sha256/${digest.replace('sha256:', '')}`;
}

function plainFile(path: string, size: number): Entry {
  return { path, size, type: 'file', mode: 0o644, owner: { uid: 0, gid: 0 }, target: '' };
}

function* small(path: string, content: Buffer): Generator<Buffer> {
  yield* header(plainFile(path, content.length));
  yield content;
  yield padding(content.length);
}
