// An S3-compatible store, as far as backups need it: list, read, write and delete objects.

import { createWriteStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import {
  elementOf,
  makeStoreRequests,
  refusal,
  type StoreAddress,
  type StoreCredentials,
  StoreFailed,
  type StoreRequests,
} from './store-requests.ts';

export interface StoredObject {
  readonly key: string;
  readonly size: number;
}

/** All methods throw StoreFailed. Keys have the characters a-z, A-Z, 0-9, hyphen, underscore, dot and slash. */
export interface ObjectStore {
  /** All objects whose keys begin with `prefix`. */
  list(prefix: string): Promise<readonly StoredObject[]>;
  /** In bytes; undefined if there is no such object. */
  sizeOf(key: string): Promise<number | undefined>;
  /** Text of at most 4 MiB; undefined if there is no such object. */
  read(key: string): Promise<string | undefined>;
  put(key: string, text: string): Promise<void>;
  /** A file of this size, in parts. */
  upload(key: string, file: string, size: number): Promise<void>;
  /** Writes the object into a new file. */
  download(key: string, file: string): Promise<void>;
  remove(key: string): Promise<void>;
  close(): Promise<void>;
}

/** Smallest part; S3 allows 10,000 parts. */
const PART_BYTES = 16 * 1024 * 1024;
const MOST_PARTS = 9000;

/**
 * `firstWaitMs`: before the second try of a request; doubled for each further one. Default: 500. `silenceMs`: how long an answer may take
 * to begin or to go on. Default: a minute.
 */
export function makeObjectStore(
  address: StoreAddress,
  credentials: StoreCredentials,
  firstWaitMs = 500,
  silenceMs = 60_000,
): ObjectStore {
  const requests = makeStoreRequests(address, credentials, firstWaitMs, silenceMs);
  return {
    list: (prefix) => list(requests, prefix),
    sizeOf: (key) => sizeOf(requests, key),
    read: (key) => requests.text({ method: 'GET', key }, true),
    async put(key, text) {
      await requests.text({ method: 'PUT', key, body: text });
    },
    upload: (key, file, size) => upload(requests, key, file, size),
    async download(key, file) {
      const answer = await requests.send({ method: 'GET', key });
      if (!answer) return;
      await pipeline(answer.body, createWriteStream(file, { flags: 'wx', mode: 0o600 })).catch((error: unknown) => {
        throw new StoreFailed(`The download of ${key} was interrupted: ${String(error)}`, undefined, { cause: error });
      });
    },
    async remove(key) {
      await requests.text({ method: 'DELETE', key }, true);
    },
    close: () => requests.close(),
  };
}

async function list(requests: StoreRequests, prefix: string): Promise<readonly StoredObject[]> {
  const found: StoredObject[] = [];
  for (let token: string | undefined, isFirst = true; isFirst || token !== undefined; isFirst = false) {
    const query = { 'list-type': '2', prefix, ...(token !== undefined && { 'continuation-token': token }) };
    const page = (await requests.text({ method: 'GET', query })) ?? '';
    for (const entry of page.split('<Contents>').slice(1))
      found.push({ key: elementOf(entry, 'Key') ?? '', size: Number(elementOf(entry, 'Size') ?? 0) });
    token = elementOf(page, 'IsTruncated') === 'true' ? elementOf(page, 'NextContinuationToken') : undefined;
  }
  return found;
}

async function sizeOf(requests: StoreRequests, key: string): Promise<number | undefined> {
  const answer = await requests.send({ method: 'HEAD', key }, true).catch(async (error: unknown) => {
    // An answer to HEAD has no body, so only a request with one says why the store refuses.
    await list(requests, key);
    throw error;
  });
  await answer?.body.dump();
  return answer && Number(answer.headers['content-length'] ?? 0);
}

async function upload(requests: StoreRequests, key: string, file: string, size: number): Promise<void> {
  const started = (await requests.text({ method: 'POST', key, query: { uploads: '' } })) ?? '';
  const uploadId = elementOf(started, 'UploadId');
  if (uploadId === undefined) throw new StoreFailed(`The store did not begin the upload of ${key}.`);
  try {
    const parts = await sendParts(requests, { key, uploadId }, file, size);
    const listed = parts.map((tag, at) => `<Part><PartNumber>${at + 1}</PartNumber><ETag>${tag}</ETag></Part>`);
    const body = `<CompleteMultipartUpload>${listed.join('')}</CompleteMultipartUpload>`;
    // S3 answers 200 before it has put the parts together, and writes an error into the answer.
    const ended = await requests.text({ method: 'POST', key, query: { uploadId }, body }, true);
    // Without the upload, an earlier try has completed it, and its answer was lost.
    if (ended === undefined && (await sizeOf(requests, key)) !== size)
      throw new StoreFailed(`The store ended the upload of ${key} before it was complete.`);
    if (ended?.includes('<Error>')) throw new StoreFailed(refusal(`POST ${key}`, 200, ended));
  } catch (error) {
    // Parts of an upload that nobody completes are paid for.
    await requests.text({ method: 'DELETE', key, query: { uploadId } }, true).catch(() => undefined);
    throw error;
  }
}

interface Upload {
  readonly key: string;
  readonly uploadId: string;
}

/** Returns the ETags of the parts. */
async function sendParts(
  requests: StoreRequests,
  { key, uploadId }: Upload,
  file: string,
  size: number,
): Promise<readonly string[]> {
  const length = Math.max(PART_BYTES, Math.ceil(size / MOST_PARTS));
  const tags: string[] = [];
  await using handle = await open(file);
  for (let at = 0; at < size; at += length) {
    const body = Buffer.alloc(Math.min(length, size - at));
    const { bytesRead } = await handle.read(body, 0, body.length, at);
    if (bytesRead !== body.length) throw new StoreFailed(`${file} became shorter during the upload.`);
    const query = { partNumber: String(tags.length + 1), uploadId };
    const answer = await requests.send({ method: 'PUT', key, query, body });
    await answer?.body.dump();
    const tag = answer?.headers['etag'];
    if (typeof tag !== 'string') throw new StoreFailed(`The store did not confirm a part of ${key}.`);
    tags.push(tag);
  }
  return tags;
}
