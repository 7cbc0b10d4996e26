// Manifests of a registry, and the tags that name them.

import { createHash } from 'node:crypto';
import { z } from 'zod';
import { RegistryFailed } from '../../../runtime/errors.ts';
import { jsonOf } from '../../../runtime/json-value.ts';
import { discard, LARGEST_MANIFEST, need, registryFailure, textOf } from './answers.ts';
import type { RegistryBlobs } from './blobs.ts';
import type { RegistryRequests } from './requests.ts';

export const MANIFEST_TYPE = 'application/vnd.oci.image.manifest.v1+json';
const MANIFEST_TYPES = [
  MANIFEST_TYPE,
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.v2+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
].join(', ');
/**
 * Bytes. The manifest of an image that a record names: thousands of layers, where runtimes take some hundred. A registry looks at each
 * entry when the image is tagged, which takes seconds for a mebibyte.
 */
const LARGEST_IMAGE = 512 * 1024;
/** Bytes. Manifests of artifacts, as Davit pushes them, have one layer. Others are not parsed: that would take long. */
const LARGEST_ARTIFACT = 16 * 1024;

const DIGEST = /^sha256:[0-9a-f]{64}$/;
const Descriptor = z.object({ mediaType: z.string(), digest: z.string().regex(DIGEST), size: z.int().min(0) });
export type Descriptor = z.output<typeof Descriptor>;

/** The fields of an image manifest that Davit reads. `layers` is empty for an image index. */
const Manifest = z.object({
  mediaType: z.string().optional(),
  artifactType: z.string().optional(),
  layers: z.array(Descriptor).default([]),
});
export type Manifest = z.output<typeof Manifest>;

/** An artifact with one layer (OCI Image Specification 1.1, artifactType). */
export interface Artifact {
  readonly artifactType: string;
  readonly layer: Descriptor;
}

export interface RegistryManifests {
  /** Returns the digest of the manifest that `reference` (a tag or digest) names, or undefined if there is none. */
  digestOf(repository: string, reference: string, signal: AbortSignal): Promise<string | undefined>;
  /**
   * Returns the manifest that `reference` (a tag or digest) names, or undefined if there is none. It must be that of an
   * artifact: a manifest of more than 16 KiB is malformed.
   */
  manifest(repository: string, reference: string, signal: AbortSignal): Promise<Manifest | undefined>;
  /**
   * Pushes a manifest for the artifact, whose layer must be in the repository, and tags it. Returns the manifest's
   * digest.
   */
  tagArtifact(repository: string, tag: string, artifact: Artifact, signal: AbortSignal): Promise<string>;
  /** Tags the manifest with this digest. Returns false if there is none. */
  tag(repository: string, digest: string, tag: string, signal: AbortSignal): Promise<boolean>;
  /** Deletes a tag and keeps its manifest. Succeeds if there is no such tag. */
  deleteTag(repository: string, tag: string, signal: AbortSignal): Promise<void>;
}

export function makeManifests(
  { ask, urlOf }: RegistryRequests,
  blobs: Pick<RegistryBlobs, 'uploadEmpty'>,
): RegistryManifests {
  return {
    async digestOf(repository, reference, signal) {
      const headers = { accept: MANIFEST_TYPES };
      const url = urlOf(repository, `manifests/${reference}`);
      const answer = await ask(url, { repository, actions: ['pull'], method: 'HEAD', headers, signal });
      if (answer.statusCode === 404) return undefined;
      await need(answer, 200);
      const digest = answer.headers['docker-content-digest'];
      if (typeof digest === 'string' && DIGEST.test(digest)) return digest;
      throw new RegistryFailed('malformed', 'The registry sent no digest of a manifest.');
    },

    async manifest(repository, reference, signal) {
      const headers = { accept: MANIFEST_TYPES };
      const url = urlOf(repository, `manifests/${reference}`);
      const answer = await ask(url, { repository, actions: ['pull'], headers, signal });
      if (answer.statusCode === 404) {
        await discard(answer);
        return undefined;
      }
      if (answer.statusCode !== 200) throw await registryFailure(answer);
      const parsed = Manifest.safeParse(jsonOf(await textOf(answer, LARGEST_ARTIFACT, signal)));
      if (parsed.success) return parsed.data;
      throw new RegistryFailed('malformed', 'The registry sent something other than a manifest.');
    },

    async tagArtifact(repository, tag, { artifactType, layer }, signal) {
      const empty = await blobs.uploadEmpty(repository, signal);
      const manifest = JSON.stringify({
        schemaVersion: 2,
        mediaType: MANIFEST_TYPE,
        artifactType,
        config: { mediaType: 'application/vnd.oci.empty.v1+json', ...empty },
        layers: [layer],
      });
      const url = urlOf(repository, `manifests/${tag}`);
      const headers = { 'content-type': MANIFEST_TYPE };
      const asked = { repository, actions: ['pull', 'push'] as const, headers, signal };
      await need(await ask(url, { ...asked, method: 'PUT', body: manifest }), 201);
      return `sha256:${createHash('sha256').update(manifest).digest('hex')}`;
    },

    async tag(repository, digest, tag, signal) {
      const accept = { accept: MANIFEST_TYPES };
      const from = urlOf(repository, `manifests/${digest}`);
      const answer = await ask(from, { repository, actions: ['pull'], headers: accept, signal });
      if (answer.statusCode === 404) {
        await discard(answer);
        return false;
      }
      if (answer.statusCode !== 200) throw await registryFailure(answer);
      const type = [answer.headers['content-type'] ?? MANIFEST_TYPE].flat()[0] ?? MANIFEST_TYPE;
      const body = await textOf(answer, LARGEST_MANIFEST, signal);
      if (body.length > LARGEST_IMAGE)
        throw new RegistryFailed(
          'tooLarge',
          `The manifest of the image is larger than ${LARGEST_IMAGE / 1024} KiB. Push an image with fewer layers, platforms or annotations.`,
        );
      const headers = { 'content-type': type };
      const asked = { repository, actions: ['pull', 'push'] as const, headers, signal };
      await need(await ask(urlOf(repository, `manifests/${tag}`), { ...asked, method: 'PUT', body }), 201);
      return true;
    },

    async deleteTag(repository, tag, signal) {
      const url = urlOf(repository, `manifests/${tag}`);
      const answer = await ask(url, { repository, actions: ['delete'], method: 'DELETE', signal });
      if (answer.statusCode !== 404) await need(answer, 202);
      else await discard(answer);
    },
  };
}
