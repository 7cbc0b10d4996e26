// Blobs of a registry, as streams.

import { createHash } from 'node:crypto';
import { RegistryFailed } from '../../../runtime/errors.ts';
import { type Answer, discard, need, piecesOf, registryFailure } from './answers.ts';
import type { RegistryRequests } from './requests.ts';

const MOST_REDIRECTS = 3;

/** Content of a blob that stands for nothing (OCI Image Specification 1.1, Guidance for an Empty Descriptor). */
const EMPTY = '{}';
const EMPTY_DIGEST = `sha256:${createHash('sha256').update(EMPTY).digest('hex')}`;

export interface RegistryBlobs {
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
  /** Uploads the smallest blob. Returns its digest and size in bytes. */
  uploadEmpty(repository: string, signal: AbortSignal): ReturnType<RegistryBlobs['uploadBlob']>;
}

export function makeBlobs(requests: RegistryRequests): RegistryBlobs {
  const { ask, urlOf } = requests;

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

  const uploadEmpty: RegistryBlobs['uploadEmpty'] = (repository, signal) =>
    uploadBlob(repository, pieceOf(EMPTY), signal);

  return {
    uploadBlob,
    uploadEmpty,

    async ensureBlob(repository, signal) {
      const url = urlOf(repository, `blobs/${EMPTY_DIGEST}`);
      const answer = await ask(url, { repository, actions: ['pull'], method: 'HEAD', signal });
      // A redirect leads to the storage that has it.
      const isThere = answer.statusCode >= 300 && answer.statusCode < 400;
      if (!isThere && answer.statusCode !== 404) return need(answer, 200);
      await discard(answer);
      if (!isThere) await uploadEmpty(repository, signal);
    },

    async blob(repository, digest, signal) {
      const answer = await followed(requests, repository, digest, signal);
      if (answer.statusCode === 404) {
        await discard(answer);
        return undefined;
      }
      if (answer.statusCode !== 200) throw await registryFailure(answer);
      return piecesOf(answer, signal);
    },
  };
}

/** URL of the upload's next request. It must be on the same origin, because the request carries credentials. */
function locationOf(answer: Answer, from: URL): URL {
  const { location } = answer.headers;
  const url = typeof location === 'string' ? URL.parse(location, from.href) : null;
  if (url === null || url.origin !== from.origin)
    throw new RegistryFailed('malformed', 'The registry sent an upload location that is missing or on another host.');
  return url;
}

/** The answer with the blob, after redirects. */
async function followed(
  { ask, urlOf, transport }: RegistryRequests,
  repository: string,
  digest: string,
  signal: AbortSignal,
): Promise<Answer> {
  let url = urlOf(repository, `blobs/${digest}`);
  let answer = await ask(url, { repository, actions: ['pull'], signal });
  for (let redirects = 0; ; redirects += 1) {
    const { location } = answer.headers;
    if (answer.statusCode < 300 || answer.statusCode > 399 || typeof location !== 'string') return answer;
    await discard(answer);
    const next = URL.parse(location, url.href);
    if (next === null || redirects === MOST_REDIRECTS)
      throw new RegistryFailed('malformed', 'The registry sent too many redirects, or one that is not a URL.');
    url = next;
    // Blob storage authorizes by a signed URL, so the registry's credentials are not sent.
    answer = await transport.request(url, { signal });
  }
}

async function* pieceOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}
