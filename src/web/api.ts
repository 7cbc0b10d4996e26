// The documented HTTP API (docs/api.md) as functions. Nothing else of the page sends a request.

import type * as schema from '../kinds/findings.ts';
import { OWN_CLIENT_HEADER } from '../kinds/meta.ts';
import type { DeployLogs, DeployLogsQuery, LogLine } from '../logs/payloads.ts';
import type { Credentials } from './credentials.ts';

/** Kept in memory alone: no storage, no cookie, no URL. */
export interface Session {
  /** Others after the person has signed in again. */
  credentials: Credentials;
  /** Id or namespace; empty for a caller who may use only one. */
  readonly tenant: string;
}

/** Which log: of a deployment's pods, of the pods of one of its revisions, or of that revision's build. */
export interface LogSource {
  readonly kind: 'pods' | 'build';
  /** Absent for the pods of all revisions. */
  readonly revisionId?: string;
}

export type LogFilter = Pick<DeployLogsQuery, 'level' | 'query' | 'component' | 'run'>;

/** What is wrong with a field. `loc` begins with the part of the request. */
export interface Finding extends schema.Finding {
  /** Of a file, from 1. */
  readonly line?: number;
}

/** What the API refused, or why it could not be asked, as a sentence. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  /** HTTP status; 0 if there was no answer. */
  readonly status: number;
  readonly retryAfterSeconds: number | undefined;
  /** What is wrong with the fields of a request, if the answer says so. */
  readonly findings: readonly Finding[];

  constructor(status: number, sentence: string, retryAfterSeconds?: number, findings: readonly Finding[] = []) {
    super(sentence);
    this.status = status;
    this.retryAfterSeconds = retryAfterSeconds;
    this.findings = findings;
  }
}

/** What is new since the last answer. */
export interface News<T> {
  /** Absent if nothing is. */
  readonly value?: T | undefined;
  /** `at once`: there is more already. `never`: nothing will be new. */
  readonly next?: 'at once' | 'never';
}

/** Asks for what is new, each time it is called; throws ApiError. What it shows has no values of secrets. */
export type Poll<T> = (signal: AbortSignal) => Promise<News<T>>;

/** What was written, oldest first. */
export interface Written {
  readonly lines: readonly LogLine[];
  /** Whether lines may be missing. */
  readonly isTruncated: boolean;
}

export interface Versioned<T> {
  readonly value: T;
  readonly etag: string;
}

export interface Api {
  /** Resolves if the token and the tenant may be used. */
  check(): Promise<void>;
  /** Any request. Resolves to the body of the answer. With an `idempotency-key`, a repeated request changes nothing more. */
  ask<T>(method: string, path: string, body?: unknown, headers?: Readonly<Record<string, string>>): Promise<T>;
  /** Any GET, again and again. */
  poll<T>(path: string): Poll<T>;
  /** What is at a path, with its version for If-Match. */
  read<T>(path: string): Promise<Versioned<T>>;
  /** Whether the caller may use a method at a path. */
  allows(path: string): Promise<(method: string) => boolean>;
  /** Sends a file to an address that the API has given, without a token. `onSent`: hears how many bytes have left. */
  upload(
    url: string,
    file: Blob,
    headers: Readonly<Record<string, string>>,
    onSent?: (bytes: number) => void,
  ): Promise<void>;
  /** The newest lines of pods, or a build's from its first on; then those that are written. */
  logs(id: string, source: LogSource, filter: LogFilter): Poll<Written>;
  /** What changes the present version of a deployment, at `rest` of it: it is refused if somebody else changes the deployment first. */
  changing(id: string): (method: string, rest: string, body?: unknown) => Promise<void>;
}

interface RequestOptions {
  readonly body?: unknown;
  /** Ends it before the time limit of an answer. */
  readonly signal?: AbortSignal | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The API answers within 60 s. */
const LONGEST_MS = 75_000;
/** Lines of an answer: the newest that a log begins with, and those that were written since. */
const [NEWEST, FURTHER] = [300, 1000];

/** The page's script is at BASE/assets/. */
const BASE = new URL('../', import.meta.url);

/** Where the API is, for examples. */
export const API_URL = BASE.href.replace(/\/$/, '');

/** `onRefused` hears the sentence of every 401 of the session's present token. */
export function makeApi(session: Session, onRefused: (sentence: string) => void): Api {
  async function send(method: string, path: string, options: RequestOptions): Promise<Response> {
    const { credentials } = session;
    const token = await credentials.token();
    const response = await sendWith(token, method, path, options);
    if (response.status !== 401) return response;
    // A refusal changes nothing, so that the request can be sent once more.
    const now = await session.credentials.token();
    const last = now === token ? response : await sendWith(now, method, path, options);
    // The answer to HEAD has no sentence; that of the change has.
    if (last.status === 401 && method !== 'HEAD') {
      const { sentence } = refusalOf(
        401,
        await last
          .clone()
          .text()
          .catch(() => ''),
      );
      if (session.credentials === credentials) onRefused(sentence);
    }
    return last;
  }

  async function sendWith(
    token: string,
    method: string,
    path: string,
    { body, signal, headers }: RequestOptions,
  ): Promise<Response> {
    const limit = AbortSignal.timeout(LONGEST_MS);
    const within = signal ? AbortSignal.any([signal, limit]) : limit;
    try {
      return await fetch(new URL(path, BASE), {
        method,
        headers: {
          accept: 'application/json',
          authorization: `Bearer ${token}`,
          [OWN_CLIENT_HEADER]: 'page',
          ...(session.tenant !== '' && { 'x-tenant-id': session.tenant }),
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        signal: within,
        cache: 'no-store',
        credentials: 'omit',
        redirect: 'error',
      });
    } catch (error) {
      const reason: unknown = within.aborted ? within.reason : error;
      const isLate = reason instanceof DOMException && reason.name === 'TimeoutError';
      throw new ApiError(
        0,
        isLate
          ? `The API did not answer within ${LONGEST_MS / 1000} s.`
          : 'The API cannot be reached. Check the network, and that Davit is running.',
      );
    }
  }

  async function accepted(method: string, path: string, options: RequestOptions = {}): Promise<Response> {
    const response = await send(method, path, options);
    if (!response.ok) throw await refused(response);
    return response;
  }

  async function request(method: string, path: string, options: RequestOptions = {}): Promise<void> {
    await (await accepted(method, path, options)).body?.cancel();
  }

  async function read<T>(path: string): Promise<Versioned<T>> {
    const response = await accepted('GET', path);
    return { value: (await response.json()) as T, etag: response.headers.get('etag') ?? '' };
  }

  /** HEAD has the ETag of GET. No answer has values of secrets. */
  function changing(id: string): ReturnType<Api['changing']> {
    const path = `v2/deployments/${id}`;
    const versionNow = async (): Promise<string | null> =>
      (await send('HEAD', `${path}?secrets=names`, {})).headers.get('etag');
    const opened = versionNow().catch(() => null);
    return async (method, rest, body) => {
      const etag = (await opened) ?? (await versionNow());
      const query = method === 'DELETE' && rest === '' ? '' : '?secrets=names';
      const headers = etag === null ? {} : { 'if-match': etag };
      await request(method, `${path}${rest}${query}`, { body, headers }).catch((error: unknown) => {
        if (!(error instanceof ApiError) || error.status !== 412) throw error;
        throw new Error('Somebody has changed the deployment. Close this dialog, and look at what has changed.');
      });
    };
  }

  /** A GET whose answer is 304, without a body, while nothing has changed. */
  function polled<T>(path: string): Poll<T> {
    let etag: string | null = null;
    return async (signal) => {
      const headers = etag === null ? {} : { 'if-none-match': etag };
      const response = await send('GET', path, { signal, headers });
      if (response.status === 304) return {};
      if (!response.ok) throw await refused(response);
      const value = (await response.json()) as T;
      etag = response.headers.get('etag');
      return { value };
    };
  }

  /** Reads a log on from where the last answer has read each container to. */
  function readOn(path: string, begin: DeployLogsQuery, filter: DeployLogsQuery): Poll<Written> {
    let position: string | null | undefined;
    let wasTruncated = false;
    return async (signal) => {
      const isFirst = position === undefined;
      const body = { ...filter, ...(isFirst ? begin : { limit: FURTHER, position }) };
      const page = (await (await accepted('POST', path, { body, signal })).json()) as DeployLogs;
      const isNewestFirst = isFirst && begin.order !== 'asc';
      const lines = isNewestFirst ? page.logs.toReversed() : page.logs;
      const isNew = isFirst || lines.length > 0 || page.truncated !== wasTruncated;
      ({ position, truncated: wasTruncated } = page);
      const hasMore = page.next_offset !== null && !isNewestFirst;
      return {
        ...(isNew && { value: { lines, isTruncated: page.truncated } }),
        ...(position === null ? { next: 'never' } : hasMore && { next: 'at once' }),
      };
    };
  }

  return {
    check: () => request('GET', 'v2/deployments?limit=1'),
    async ask<T>(method: string, path: string, body?: unknown, headers: Readonly<Record<string, string>> = {}) {
      const text = await (await accepted(method, path, { body, headers })).text();
      return (text === '' ? undefined : JSON.parse(text)) as T;
    },
    read,
    async allows(path) {
      const allow = (await accepted('HEAD', path)).headers.get('allow');
      return (method) => allow?.includes(method) ?? true;
    },
    poll: polled,
    upload,
    logs(id, { kind, revisionId }, filter) {
      const revision = revisionId === undefined ? '' : `/revisions/${revisionId}`;
      const path = `v1/projects/${id}${revision}`;
      return kind === 'build'
        ? readOn(`${path}/build_logs`, { order: 'asc', limit: FURTHER }, filter)
        : readOn(`${path}/deploy_logs`, filter.run ? { order: 'asc', limit: FURTHER } : { limit: NEWEST }, filter);
    },
    changing,
  };
}

/**
 * The address has the scheme and the host that a proxy told Davit; the browser may ask its own alone. Without a limit of time. Not by
 * fetch, which does not say how far it is.
 */
async function upload(
  url: string,
  file: Blob,
  headers: Readonly<Record<string, string>>,
  onSent?: (bytes: number) => void,
): Promise<void> {
  const { pathname, search } = new URL(url);
  const request = new XMLHttpRequest();
  request.open('PUT', new URL(pathname + search, BASE));
  for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
  request.upload.onprogress = ({ loaded }) => onSent?.(loaded);
  await new Promise<void>((resolve, reject) => {
    request.onload = () => resolve();
    request.onerror = () => {
      const sentence = 'The upload failed. Check the network, and that the file has not changed.';
      reject(new ApiError(0, sentence));
    };
    request.send(file);
  });
  if (request.status >= 300) throw await refused(new Response(request.responseText, { status: request.status }));
}

/** What an answer that is no success says. */
async function refused(response: Response): Promise<ApiError> {
  const { sentence, findings } = refusalOf(response.status, await response.text().catch(() => ''));
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN);
  return new ApiError(response.status, sentence, Number.isFinite(seconds) ? seconds : undefined, findings);
}

/** `{"detail": ...}` as the API answers every failure; a proxy in front of it answers otherwise. */
function refusalOf(
  status: number,
  text: string,
): { readonly sentence: string; readonly findings?: readonly Finding[] } {
  try {
    const { detail } = JSON.parse(text) as { readonly detail?: string | readonly Finding[] };
    if (typeof detail === 'string') return { sentence: detail };
    if (Array.isArray(detail)) {
      const findings = detail as readonly Finding[];
      return { sentence: findings.map(({ loc, msg }) => `${loc.slice(1).join('.')} ${msg}.`).join(' '), findings };
    }
  } catch {
    // Not the API's answer.
  }
  return {
    sentence: `The answer was HTTP ${status} without a reason. It may come from a proxy between this page and Davit.`,
  };
}
