// Client of an OCI registry (OCI Distribution Specification 1.1). Blobs are streamed: nothing larger than a manifest is
// held in memory.

import { createHash } from 'node:crypto';
import { z } from 'zod';
import { RegistryFailed } from '../../lib/errors.ts';
import { jsonOf } from '../../lib/json-value.ts';
import { asFailure, type RegistryTransport, type Sent } from '../../lib/outbound/registry-transport.ts';
import type { Authorize } from './authorization.ts';
import type { Grant } from './tokens.ts';

export const MANIFEST_TYPE = 'application/vnd.oci.image.manifest.v1+json';
const MANIFEST_TYPES = [
  MANIFEST_TYPE,
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.v2+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
].join(', ');
/**
 * Bytes. A registry should accept manifests of at least this size (OCI Distribution Specification 1.1, Pushing
 * Manifests).
 */
const LARGEST_MANIFEST = 4 * 1024 * 1024;
/**
 * Bytes. The manifest of an image that a record names: thousands of layers, where runtimes take some hundred. A registry looks at each
 * entry when the image is tagged, which takes seconds for a mebibyte.
 */
const LARGEST_IMAGE = 512 * 1024;
/** Bytes. Manifests of artifacts, as Davit pushes them, have one layer. Others are not parsed: that would take long. */
const LARGEST_ARTIFACT = 16 * 1024;
const LARGEST_ERROR = 64 * 1024;
const MOST_REDIRECTS = 3;
const MOST_PAGES = 1000;

/** Content of a blob that stands for nothing (OCI Image Specification 1.1, Guidance for an Empty Descriptor). */
const EMPTY = '{}';
const EMPTY_DIGEST = `sha256:${createHash('sha256').update(EMPTY).digest('hex')}`;

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

/** Requests to one registry. Every method throws RegistryFailed, or the abort reason of `signal`. */
export interface RegistryClient {
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
  /** Returns the tags of a repository, at least `atMost` of them if it has more. Empty if there is no such repository. */
  tags(repository: string, signal: AbortSignal, atMost?: number): Promise<string[]>;
  /** Returns the names of all repositories, also of those that have become empty. */
  repositories(signal: AbortSignal): Promise<string[]>;
  /**
   * Uploads a stream as a blob and returns its digest and size in bytes. If the upload fails, cancels it at the
   * registry. Also throws the error with which `content` fails.
   */
  uploadBlob(
    repository: string,
    content: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
  ): Promise<{ readonly digest: string; readonly size: number }>;
  /** Uploads the smallest blob if the repository does not have it. */
  ensureBlob(repository: string, signal: AbortSignal): Promise<void>;
  /** Returns the content of a blob as a stream, or undefined if there is none. */
  blob(repository: string, digest: string, signal: AbortSignal): Promise<AsyncIterable<Uint8Array> | undefined>;
}

export interface RegistryClientOptions {
  /** https://HOST[:PORT], or http:// if the settings allow it. */
  readonly origin: string;
  readonly transport: RegistryTransport;
  readonly authorize: Authorize;
}

type Answer = Awaited<ReturnType<RegistryTransport['request']>>;

interface Asked extends Sent, Grant {}

export function makeRegistryClient({ origin, transport, authorize }: RegistryClientOptions): RegistryClient {
  /**
   * WWW-Authenticate header of the latest 401 response. A stream can be sent only once, so a request without a body
   * must have received the challenge before.
   */
  let challenge: string | undefined;

  async function ask(url: URL, { repository, actions, type, headers, ...sent }: Asked): Promise<Answer> {
    const send = async (): Promise<{ answer: Answer; isAuthorized: boolean }> => {
      const grant = { repository, actions, ...(type && { type }) };
      const authorization = await authorize.header(grant, challenge, sent.signal);
      const answer = await transport.request(url, { ...sent, headers: { ...headers, ...authorization } });
      return { answer, isAuthorized: authorization !== undefined };
    };
    const { answer, isAuthorized } = await send();
    const asked = answer.headers['www-authenticate'];
    if (answer.statusCode !== 401 || typeof asked !== 'string' || isAuthorized || isStream(sent.body)) return answer;
    challenge = asked;
    await discard(answer);
    return (await send()).answer;
  }

  function urlOf(repository: string, path: string): URL {
    return new URL(`${origin}/v2/${repository}/${path}`);
  }

  /** URL of the upload's next request. It must be on the same origin, because the request carries credentials. */
  function locationOf(answer: Answer, from: URL): URL {
    const { location } = answer.headers;
    const url = typeof location === 'string' ? URL.parse(location, from.href) : null;
    if (url === null || url.origin !== from.origin)
      throw new RegistryFailed('malformed', 'The registry sent an upload location that is missing or on another host.');
    return url;
  }

  async function uploadBlob(
    repository: string,
    content: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
  ): Promise<{ readonly digest: string; readonly size: number }> {
    const asked = { repository, actions: ['pull', 'push'] as const, signal };
    const start = urlOf(repository, 'blobs/uploads/');
    const begun = await ask(start, { ...asked, method: 'POST', body: '' });
    await need(begun, 202);
    let location = locationOf(begun, start);
    try {
      const hash = createHash('sha256');
      let size = 0;
      async function* counted(): AsyncGenerator<Uint8Array> {
        for await (const piece of content) {
          hash.update(piece);
          size += piece.length;
          yield piece;
        }
      }
      const headers = { 'content-type': 'application/octet-stream' };
      const sent = await ask(location, { ...asked, method: 'PATCH', headers, body: counted() });
      await need(sent, 202);
      location = locationOf(sent, location);
      const digest = `sha256:${hash.digest('hex')}`;
      const last = new URL(location);
      last.searchParams.set('digest', digest);
      await need(await ask(last, { ...asked, method: 'PUT', headers, body: '' }), 201);
      return { digest, size };
    } catch (error) {
      await giveUp(repository, location);
      throw error;
    }
  }

  /** Cancels an upload. If that fails, the registry deletes the partial upload after its own time limit. */
  async function giveUp(repository: string, location: URL): Promise<void> {
    const asked = { repository, actions: ['pull', 'push'] as const, signal: AbortSignal.timeout(5000) };
    try {
      await discard(await ask(location, { ...asked, method: 'DELETE' }));
    } catch {
      // The caller throws the error that made the upload fail.
    }
  }

  async function* followed(repository: string, digest: string, signal: AbortSignal): AsyncGenerator<Answer> {
    let url = urlOf(repository, `blobs/${digest}`);
    let answer = await ask(url, { repository, actions: ['pull'], signal });
    for (let redirects = 0; ; redirects += 1) {
      const { location } = answer.headers;
      if (answer.statusCode < 300 || answer.statusCode > 399 || typeof location !== 'string') break;
      // oxlint-disable-next-line no-await-in-loop -- each redirect depends on the previous response
      await discard(answer);
      const next = URL.parse(location, url.href);
      if (next === null || redirects === MOST_REDIRECTS)
        throw new RegistryFailed('malformed', 'The registry sent too many redirects, or one that is not a URL.');
      url = next;
      // Blob storage authorizes by a signed URL, so the registry's credentials are not sent.
      // oxlint-disable-next-line no-await-in-loop -- as above
      answer = await transport.request(url, { signal });
    }
    yield answer;
  }

  async function listed(
    first: URL,
    asked: Asked,
    namesOf: (page: z.output<typeof Page>) => readonly string[] | null | undefined,
    atMost = Infinity,
  ): Promise<string[]> {
    const found: string[] = [];
    let url: URL | undefined = first;
    for (let pages = 0; url !== undefined && found.length < atMost; pages += 1) {
      if (pages === MOST_PAGES)
        throw new RegistryFailed('malformed', `The registry has more than ${MOST_PAGES} pages of names.`);
      // oxlint-disable-next-line no-await-in-loop -- each page links to the next
      const answer: Answer = await ask(url, asked);
      if (answer.statusCode === 404) {
        // oxlint-disable-next-line no-await-in-loop -- the loop ends here
        await discard(answer);
        return found;
      }
      // oxlint-disable-next-line no-await-in-loop -- as above
      if (answer.statusCode !== 200) throw await registryFailure(answer);
      // oxlint-disable-next-line no-await-in-loop -- as above
      const page = Page.safeParse(jsonOf(await textOf(answer, LARGEST_MANIFEST, asked.signal)));
      if (!page.success) throw new RegistryFailed('malformed', 'The registry sent something other than a list.');
      found.push(...(namesOf(page.data) ?? []));
      url = nextOf(answer, url);
    }
    return found;
  }

  return {
    uploadBlob,

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
      const empty = await uploadBlob(repository, pieceOf(EMPTY), signal);
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

    tags: (repository, signal, atMost) =>
      listed(
        // As many as Distribution sends in one answer: it reads the names of all tags for each page.
        urlOf(repository, 'tags/list?n=1000'),
        { repository, actions: ['pull'], signal },
        ({ tags }) => tags,
        atMost,
      ),

    repositories: (signal) =>
      listed(
        new URL(`${origin}/v2/_catalog?n=100`),
        { type: 'registry', repository: 'catalog', actions: ['*'], signal },
        ({ repositories }) => repositories,
      ),

    async ensureBlob(repository, signal) {
      const url = urlOf(repository, `blobs/${EMPTY_DIGEST}`);
      const answer = await ask(url, { repository, actions: ['pull'], method: 'HEAD', signal });
      // A redirect leads to the storage that has it.
      const isThere = answer.statusCode >= 300 && answer.statusCode < 400;
      if (!isThere && answer.statusCode !== 404) return need(answer, 200);
      await discard(answer);
      if (!isThere) await uploadBlob(repository, pieceOf(EMPTY), signal);
    },

    async blob(repository, digest, signal) {
      const { value: answer } = (await followed(repository, digest, signal).next()) as { value: Answer };
      if (answer.statusCode === 404) {
        await discard(answer);
        return undefined;
      }
      if (answer.statusCode !== 200) throw await registryFailure(answer);
      return piecesOf(answer, signal);
    },
  };
}

const Page = z.object({
  tags: z.array(z.string()).nullish(),
  repositories: z.array(z.string()).nullish(),
});

function nextOf({ headers }: Answer, from: URL): URL | undefined {
  const { link } = headers;
  const [, next] = /<([^>]+)>;\s*rel="?next"?/.exec([link ?? ''].flat().join(',')) ?? [];
  const url = next === undefined ? null : URL.parse(next, from.href);
  return url?.origin === from.origin ? url : undefined;
}

function isStream(body: Sent['body']): boolean {
  return body !== undefined && typeof body !== 'string';
}

async function* pieceOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

async function* piecesOf(answer: Answer, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  try {
    for await (const piece of answer.body as AsyncIterable<Buffer>) yield piece;
  } catch (error) {
    throw asFailure(error, signal);
  }
}

async function textOf(answer: Answer, most: number, signal: AbortSignal): Promise<string> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of piecesOf(answer, signal)) {
    size += piece.length;
    if (size > most) throw new RegistryFailed('malformed', `The registry's answer is larger than ${most} bytes.`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString('utf8');
}

async function discard(answer: Answer): Promise<void> {
  await answer.body.dump({ limit: LARGEST_ERROR });
}

async function need(answer: Answer, status: number): Promise<void> {
  if (answer.statusCode !== status) throw await registryFailure(answer);
  await discard(answer);
}

/** Converts an unsuccessful response to an error. The registry's error text is evaluated, but not passed on. */
async function registryFailure(answer: Answer): Promise<RegistryFailed> {
  const { statusCode: status } = answer;
  const words = await textOf(answer, LARGEST_ERROR, AbortSignal.timeout(5000)).catch(() => '');
  if (status === 401 || status === 403)
    return new RegistryFailed(
      'refused',
      "The registry refused Davit's credentials. Ask the platform's administrator to correct them.",
    );
  if (status === 405 || /\bread-?only\b/i.test(words))
    return new RegistryFailed('readOnly', 'The registry is read-only while it is being cleaned up. Try again later.');
  if (status === 507 || status === 413 || /no space left|disk quota exceeded|"Err":28\b/i.test(words))
    return new RegistryFailed(
      'full',
      "The registry has no room left. Ask the platform's administrator to give it more storage.",
    );
  if (status === 429 || status >= 500)
    return new RegistryFailed('unreachable', `The registry failed: it answered ${status}. Try again later.`);
  return new RegistryFailed('malformed', `The registry answered with the unexpected status ${status}.`);
}
