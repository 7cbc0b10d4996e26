// Signed requests to an S3-compatible store (AWS Signature Version 4). The digest of the body is signed too, so a body that changes
// on its way is refused.

import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { AwsV4Signer } from 'aws4fetch';
import { Agent, type Dispatcher, request } from 'undici';

export interface StoreAddress {
  readonly endpoint: string;
  readonly bucket: string;
  readonly region: string;
  /** Whether the bucket is in the path of URLs. If false, it is part of the host name. */
  readonly pathStyle: boolean;
  /** CA certificates (PEM) that are trusted instead of the system's. */
  readonly ca?: string | undefined;
}

export interface StoreCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/** The store refused a request, or could not be reached. */
export class StoreFailed extends Error {
  override readonly name = 'StoreFailed';
  /** Absent if there was no answer. */
  readonly status: number | undefined;

  constructor(message: string, status?: number, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
  }
}

export interface Sent {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  readonly key?: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: Buffer | string;
}

export interface StoreRequests {
  /** An answer of 200 to 299; undefined for 404 where `mayMiss`. Throws StoreFailed. */
  send(sent: Sent, mayMiss?: boolean): Promise<Dispatcher.ResponseData | undefined>;
  /** The body of the answer. */
  text(sent: Sent, mayMiss?: boolean): Promise<string | undefined>;
  close(): Promise<void>;
}

const MOST_TEXT = 4 * 1024 * 1024;
const TRIES = 5;

/** `firstWaitMs`: before the second try of a request; doubled for each further one. `silenceMs`: how long an answer may take to begin or go on. */
export function makeStoreRequests(
  address: StoreAddress,
  credentials: StoreCredentials,
  firstWaitMs: number,
  silenceMs: number,
): StoreRequests {
  const { endpoint, region, ca } = address;
  const { host } = new URL(endpoint);
  const dispatcher = new Agent({
    connect: { timeout: 10_000, ...(ca !== undefined && { ca }) },
    headersTimeout: silenceMs,
    bodyTimeout: silenceMs,
  });

  async function once({ method, key = '', query = {}, body }: Sent): Promise<Dispatcher.ResponseData> {
    const digest = createHash('sha256')
      .update(body ?? '')
      .digest('hex');
    const url = urlOf(address, key, query).href;
    const headers = { 'x-amz-content-sha256': digest };
    const signed = await new AwsV4Signer({ ...credentials, url, method, region, service: 's3', headers }).sign();
    return request(signed.url, {
      method,
      dispatcher,
      headers: Object.fromEntries(signed.headers),
      ...(body !== undefined && { body }),
    });
  }

  /** What a busy store may do on a later try is tried again. */
  async function send(sent: Sent, mayMiss = false): Promise<Dispatcher.ResponseData | undefined> {
    for (let tries = 1; ; tries += 1) {
      const answer = await once(sent).catch((error: unknown) => unreachable(host, error));
      const result = answer instanceof StoreFailed ? answer : await judged(sent, answer, mayMiss);
      if (!(result instanceof StoreFailed)) return result;
      if (tries === TRIES || !mayPass(result)) throw result;
      await sleep(firstWaitMs * 2 ** (tries - 1));
    }
  }

  return {
    send,
    async text(sent, mayMiss) {
      const answer = await send(sent, mayMiss);
      return answer && textOf(answer);
    },
    close: () => dispatcher.close(),
  };
}

function urlOf(
  { endpoint, bucket, pathStyle }: StoreAddress,
  key: string,
  query: Readonly<Record<string, string>>,
): URL {
  const url = new URL(endpoint);
  const root = url.pathname.replace(/\/$/, '');
  if (!pathStyle) url.hostname = `${bucket}.${url.hostname}`;
  url.pathname = pathStyle ? `${root}/${bucket}${key === '' ? '' : `/${key}`}` : `${root}/${key}`;
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  return url;
}

/** The answer, undefined for an object that is missing and may be, or why it is none. */
async function judged(
  { method, key = '' }: Sent,
  answer: Dispatcher.ResponseData,
  mayMiss: boolean,
): Promise<Dispatcher.ResponseData | StoreFailed | undefined> {
  const { statusCode } = answer;
  if (statusCode >= 200 && statusCode < 300) return answer;
  const text = await textOf(answer).catch(() => '');
  if (statusCode === 404 && mayMiss && !text.includes('NoSuchBucket')) return undefined;
  return new StoreFailed(refusal(`${method} ${key}`.trim(), statusCode, text), statusCode);
}

function mayPass({ status }: StoreFailed): boolean {
  return status === undefined || status === 429 || (status >= 500 && status !== 501 && status !== 507);
}

/** Throws StoreFailed if the body is too large. */
async function textOf({ body }: Dispatcher.ResponseData): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MOST_TEXT) throw new StoreFailed('The answer of the store is too large.');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** The text of an element of S3's answers, which have no attributes and no nested elements of one name. */
export function elementOf(xml: string, name: string): string | undefined {
  const text = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1];
  return text?.replaceAll(/&(amp|lt|gt|quot|apos|#34|#39);/g, (_all, entity: string) => ENTITIES[entity] ?? '');
}

const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  '#34': '"',
  '#39': "'",
};

const ADVICE: Readonly<Record<number, string>> = {
  401: 'Check the keys in the credentials Secret.',
  403: "Check the keys in the credentials Secret, and that they may list, read, write and delete below the tenant's prefix.",
  404: 'Check the bucket in settings.backups.store.',
  507: 'The store is full.',
};

export function refusal(what: string, status: number, text: string): string {
  const words = [elementOf(text, 'Code'), elementOf(text, 'Message')].filter((word) => word !== undefined);
  const said = words.length === 0 ? '' : `, ${words.join(': ').replace(/\.$/, '')}`;
  return `The store refused ${what} (${status}${said}). ${ADVICE[status] ?? ''}`.trim();
}

function unreachable(host: string, error: unknown): StoreFailed {
  if (error instanceof StoreFailed) return error;
  const cause = error instanceof Error ? error.message : String(error);
  return new StoreFailed(
    `The store at ${host} cannot be reached: ${cause}. Check settings.backups.store and the network.`,
    undefined,
    { cause: error },
  );
}
