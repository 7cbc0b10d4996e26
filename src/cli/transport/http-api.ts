// Davit's HTTP API, for what kubectl alone cannot do: uploads, secrets and the logs of builds.

import { createReadStream } from 'node:fs';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest, type RequestOptions } from 'node:https';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { OWN_CLIENT_HEADER } from '../../kinds/meta.ts';
import type { OwnAnswer as Answer, OwnRequest } from '../../main/own-facade.ts';
import type { FieldError } from '../../runtime/http/http-error.ts';
import { Failure } from './kubectl.ts';

export interface Connection {
  /** Origin, and a base path if there is one; without a slash at the end. */
  readonly server: string;
  readonly token: string;
  /** A tenant's namespace; if absent, the API chooses the only one that the token may use. */
  readonly namespace?: string;
  /** Options of TLS for this server. */
  readonly tls?: Pick<RequestOptions, 'rejectUnauthorized'>;
  /** Absent where address and token were given. */
  readonly again?: {
    /** Whether the port that was forwarded has ended. */
    isOver(): boolean;
    /** Another one in its place, with a new token. Throws Failure. */
    connect(): Promise<Connection>;
  };
}

/** An answer other than 2xx. */
export class Refused extends Failure {
  readonly status: number;
  /** Seconds after which the server expects the next attempt, if it says so. */
  readonly retryAfter: number | undefined;
  /** What is wrong with the request, if that is why. */
  readonly findings: readonly FieldError[];
  constructor({ status, headers }: Omit<Answer, 'body'>, message: string, findings: readonly FieldError[] = []) {
    super(message);
    const retryAfter = Number(headers['retry-after']);
    this.status = status;
    this.retryAfter = Number.isFinite(retryAfter) ? retryAfter : undefined;
    this.findings = findings;
  }
}

/** For a catch: undefined where the answer has this status. */
export function undefinedIf(status: number): (error: unknown) => undefined {
  return (error) => {
    if (!(error instanceof Refused) || error.status !== status) throw error;
  };
}

/** The server cannot be reached, or broke the connection. */
export class Unreachable extends Failure {}

export interface HttpApi {
  /** The tenant's, where it is known. */
  readonly namespace?: string | undefined;
  /** Resolves to the answer's body. `ifMatch`: an ETag; Refused with 412 where it is no longer current. Throws Refused and Unreachable. */
  call<T>(method: string, path: string, body?: object, ifMatch?: string): Promise<T>;
  /** A GET, with the ETag of its answer. */
  tagged<T>(path: string): Promise<Tagged<T>>;
  /** Sends a request that may be repeated, and waits for the end of an outage of up to a minute. */
  patiently<T>(method: string, path: string, body?: object): Promise<T>;
  /** Sends a file to an address that carries its own credential. */
  upload(url: string, headers: Readonly<Record<string, string>>, file: UploadFile): Promise<void>;
}

export interface Tagged<T> {
  readonly body: T;
  readonly etag: string | undefined;
}

export interface UploadFile {
  readonly path: string;
  /** Bytes. */
  readonly size: number;
}

export interface HttpApiOptions {
  /** How long outages are waited for. */
  readonly patienceMs?: number;
  readonly everyMs?: number;
  readonly clock?: { now(): number; sleep(ms: number): Promise<unknown> };
}

/** Longer than the server takes to answer. */
const ANSWER_MS = 75_000;
const UPLOAD_MS = 310_000;
const PATIENCE_MS = 60_000;
/** Answers that a later attempt may not get. */
const PASSING: ReadonlySet<number> = new Set([429, 502, 503, 504]);

interface Sent {
  readonly method: string;
  readonly headers: Readonly<Record<string, string | number>>;
  readonly body?: string | UploadFile;
}
export function makeHttpApi(connection: Connection, options: HttpApiOptions = {}): HttpApi {
  let now = connection;
  const ask = ({ method, path, headers, body }: OwnRequest): Promise<Answer> =>
    send(now, `${now.server}${path}`, {
      method,
      headers: {
        'x-api-key': now.token,
        [OWN_CLIENT_HEADER]: 'plugin',
        ...(now.namespace !== undefined && { 'x-tenant-id': now.namespace }),
        ...headers,
        ...(body !== undefined && { 'content-length': Buffer.byteLength(body) }),
      },
      ...(body !== undefined && { body }),
    });
  const exchange = async (request: OwnRequest): Promise<Answer> => {
    const { again } = now;
    if (again?.isOver())
      now = await again.connect().catch((error: unknown) => {
        throw error instanceof Failure ? new Unreachable(error.message) : error;
      });
    const answer = await ask(request);
    if (answer.status !== 401 || now.again === undefined) return answer;
    // A token of the kubeconfig may have expired meanwhile.
    now = await now.again.connect();
    return ask(request);
  };
  return {
    ...apiOver(exchange, connection, options),
    async upload(url, headers, file) {
      const answer = await send(now, reachable(url, now.server), {
        method: 'PUT',
        headers: { ...headers, 'content-length': file.size },
        body: file,
      });
      if (answer.status < 200 || answer.status >= 300)
        throw new Refused(answer, `The upload failed. ${sentenceOf(answer, connection)}`);
    },
  };
}

/** The API over what sends its requests, whether to another process or to this one. `exchange` throws Unreachable. */
export function apiOver(
  exchange: (request: OwnRequest) => Promise<Answer>,
  about: Pick<Connection, 'server' | 'namespace'>,
  options: HttpApiOptions = {},
): Omit<HttpApi, 'upload'> {
  const { patienceMs = PATIENCE_MS, everyMs = 1000, clock = { now: Date.now, sleep } } = options;

  async function ask<T>(method: string, path: string, body?: object, ifMatch?: string): Promise<T> {
    return (await answered<T>(method, path, body, ifMatch)).body;
  }

  async function answered<T>(method: string, path: string, body?: object, ifMatch?: string): Promise<Tagged<T>> {
    const sent = body === undefined ? undefined : JSON.stringify(body);
    // A field that the API does not know would be ignored.
    const query = sent === undefined ? '' : `${path.includes('?') ? '&' : '?'}fieldValidation=Strict`;
    const answer = await exchange({
      method,
      path: `${path}${query}`,
      headers: {
        accept: 'application/json',
        ...(ifMatch !== undefined && { 'if-match': ifMatch }),
        ...(sent !== undefined && { 'content-type': 'application/json' }),
      },
      body: sent,
    });
    const { etag } = answer.headers;
    if (answer.status >= 200 && answer.status < 300)
      return { body: parsed<T>(answer.body, about.server), etag: typeof etag === 'string' ? etag : undefined };
    throw new Refused(answer, sentenceOf(answer, about), findingsOf(detailOf(answer.body)));
  }

  return {
    namespace: about.namespace,
    call: ask,
    tagged: (path) => answered('GET', path),
    async patiently(method, path, body) {
      const end = clock.now() + patienceMs;
      for (;;) {
        try {
          return await ask(method, path, body);
        } catch (error) {
          const passes = error instanceof Unreachable || (error instanceof Refused && PASSING.has(error.status));
          if (!passes || clock.now() >= end) throw error;
          const { retryAfter = 0 } = error instanceof Refused ? error : {};
          await clock.sleep(Math.min(Math.max(everyMs, retryAfter * 1000), patienceMs));
        }
      }
    },
  };
}

/** The API may not know that a proxy before it speaks TLS. */
function reachable(url: string, server: string): string {
  const [upload, base] = [new URL(url), new URL(server)];
  if (upload.host === base.host) upload.protocol = base.protocol;
  return upload.href;
}

async function send({ server, tls }: Connection, url: string, { method, headers, body }: Sent): Promise<Answer> {
  const target = new URL(url);
  const isOurs = target.origin === new URL(server).origin;
  const request = target.protocol === 'https:' ? httpsRequest : httpRequest;
  const outgoing = request(target, { method, headers, ...(isOurs && tls) });
  const limitMs = typeof body === 'object' ? UPLOAD_MS : ANSWER_MS;
  outgoing.setTimeout(limitMs, () => outgoing.destroy(new Error(`no answer within ${limitMs / 1000} s`)));
  // A server may refuse before it has read everything: its answer counts, and not that sending failed then.
  const answered = new Promise<Answer>((resolve, reject) => {
    outgoing.once('response', (response) => answerOf(response).then(resolve, reject)).once('error', reject);
  });
  if (typeof body === 'object')
    createReadStream(body.path)
      .on('error', (error) => outgoing.destroy(error))
      .pipe(outgoing);
  else outgoing.end(body);
  try {
    return await answered;
  } catch (error) {
    throw new Unreachable(unreachableSentence(target.origin, method, error));
  } finally {
    outgoing.destroy();
  }
}

async function answerOf(response: IncomingMessage): Promise<Answer> {
  const { statusCode: status = 0, headers } = response;
  return { status, headers, body: await text(response) };
}

function unreachableSentence(origin: string, method: string, error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  // Of the others, each may be sent again.
  const next = method === 'POST' ? 'The request may or may not have been carried out.' : 'Try again.';
  if (code === 'ECONNRESET' || code === 'EPIPE') return `${origin} broke the connection. ${next}`;
  if (code?.startsWith('ERR_TLS') || /certificate|self-signed/i.test(message))
    return `The certificate of ${origin} is not trusted: ${message}. Name the file of its authority in NODE_EXTRA_CA_CERTS.`;
  return `${origin} cannot be reached: ${message || code || 'unknown error'}. Check the address of Davit's HTTP API in --server or DAVIT_SERVER.`;
}

function parsed<T>(body: string, server: string): T {
  try {
    return (body === '' ? undefined : JSON.parse(body)) as T;
  } catch {
    throw new Failure(`${server} did not answer with JSON. Is it the address of Davit's HTTP API?`);
  }
}

/** What a refusal says, with one line for each finding. */
function sentenceOf({ status, body }: Answer, { server, namespace }: Pick<Connection, 'server' | 'namespace'>): string {
  const detail = detailOf(body);
  if (typeof detail === 'string' && namespace !== undefined && /X-Tenant-Id/.test(detail))
    return unusableSentence(namespace);
  if (typeof detail === 'string') return detail + (HINTS.find(({ sign }) => sign.test(detail))?.hint ?? '');
  if (Array.isArray(detail)) return findingsOf(detail).map(findingLine).join('\n');
  return `${server} answered ${status}, which does not come from Davit's HTTP API. Set its address with --server or DAVIT_SERVER.`;
}

/** For a caller who cannot know which of these it is. */
export function unusableSentence(namespace: string): string {
  return `Namespace ${namespace} does not exist, is not a tenant, or you have no role there. Name another one with --namespace, or ask for davit-viewer or davit-editor in it.`;
}

/** What the answer calls by the names of HTTP. */
const HINTS = [
  { sign: /X-Api-Key/, hint: ' kubectl davit takes it from --token, DAVIT_TOKEN or the kubeconfig.' },
  { sign: /X-Tenant-Id/, hint: ' kubectl davit takes it from --namespace or the kubeconfig.' },
];

function findingsOf(detail: unknown): readonly FieldError[] {
  return Array.isArray(detail) ? (detail as readonly FieldError[]) : [];
}

export function findingLine({ loc = [], msg = '' }: Partial<FieldError>): string {
  return `${loc.slice(1).join('.') || 'The request'} ${msg}`;
}

function detailOf(body: string): unknown {
  try {
    return (JSON.parse(body) as { readonly detail?: unknown }).detail;
  } catch {
    return undefined;
  }
}
