// The documented HTTP API (docs/api.md) as functions. Nothing else of the page sends a request.

import type { Deployment, DeploymentList, PatchDeployment } from '../http/deployments/payloads.ts';
import type { DeployLogs, DeployLogsQuery } from '../http/logs/payloads.ts';
import type { Revision } from '../http/revisions/payloads.ts';

/** Kept in memory alone: no storage, no cookie, no URL. */
export interface Session {
  readonly token: string;
  /** Id or namespace; empty for a caller who may use only one. */
  readonly tenant: string;
}

export interface ListQuery {
  readonly nameContains: string;
  /** Empty for all. */
  readonly status: string;
  readonly offset: number;
  readonly limit: number;
}

/** Which log: of a deployment's pods, of the pods of one of its revisions, or of that revision's build. */
export interface LogSource {
  readonly kind: 'pods' | 'build';
  /** Absent for the pods of all revisions. */
  readonly revisionId?: string;
}

/** What the API refused, or why it could not be asked, as a sentence. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  /** HTTP status; 0 if there was no answer. */
  readonly status: number;
  readonly retryAfterSeconds: number | undefined;

  constructor(status: number, sentence: string, retryAfterSeconds?: number) {
    super(sentence);
    this.status = status;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

export interface Api {
  list(query: ListQuery, signal?: AbortSignal): Promise<readonly Deployment[]>;
  /** Undefined if there is none. Taken from the list, whose secrets have no values: the page never holds one. */
  find(id: string, signal?: AbortSignal): Promise<Deployment | undefined>;
  revisions(id: string, signal?: AbortSignal): Promise<readonly Revision[]>;
  logs(id: string, source: LogSource, query: DeployLogsQuery, signal?: AbortSignal): Promise<DeployLogs>;
  /** Runs `change` of the present version: it is refused if somebody else changes the deployment first. */
  scale(id: string, scale: { readonly min: number; readonly max: number }): Promise<void>;
  redeploy(id: string, revisionId: string): Promise<void>;
  remove(id: string): Promise<void>;
}

interface RequestOptions {
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
  readonly ifMatch?: string | undefined;
}

const LONGEST_MS = 75_000;

/** The page's script is at BASE/assets/. */
const BASE = new URL('../', import.meta.url);

/** Where the API is, for examples. */
export const API_URL = BASE.href.replace(/\/$/, '');

/** `onRefused` hears the sentence of every 401. */
export function makeApi(session: Session, onRefused: (sentence: string) => void): Api {
  async function send(method: string, path: string, { body, signal, ifMatch }: RequestOptions): Promise<Response> {
    const signals = [AbortSignal.timeout(LONGEST_MS), ...(signal ? [signal] : [])];
    try {
      return await fetch(new URL(path, BASE), {
        method,
        headers: {
          accept: 'application/json',
          authorization: `Bearer ${session.token}`,
          ...(session.tenant !== '' && { 'x-tenant-id': session.tenant }),
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...(ifMatch !== undefined && { 'if-match': ifMatch }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        signal: AbortSignal.any(signals),
        cache: 'no-store',
        credentials: 'omit',
        redirect: 'error',
      });
    } catch (error) {
      signal?.throwIfAborted();
      const isLate = error instanceof DOMException && error.name === 'TimeoutError';
      throw new ApiError(
        0,
        isLate
          ? `The API did not answer within ${LONGEST_MS / 1000} s.`
          : 'The API cannot be reached. Check the network, and that Davit is running.',
      );
    }
  }

  async function request<T>(method: string, path: string, options: RequestOptions = {}): Promise<T> {
    const response = await send(method, path, options);
    if (!response.ok) throw await refused(response);
    return (response.status === 204 ? undefined : await response.json()) as T;
  }

  async function refused(response: Response): Promise<ApiError> {
    const sentence = sentenceOf(response.status, await response.text().catch(() => ''));
    if (response.status === 401) onRefused(sentence);
    const seconds = Number(response.headers.get('retry-after') ?? Number.NaN);
    return new ApiError(response.status, sentence, Number.isFinite(seconds) ? seconds : undefined);
  }

  /** HEAD has the ETag of GET and no values of secrets. */
  async function change(method: string, id: string, rest = '', body?: unknown): Promise<void> {
    const path = `v2/deployments/${id}`;
    const head = await send('HEAD', path, {});
    // The answer to HEAD has no sentence; that of the change has.
    await request(method, `${path}${rest}`, { body, ifMatch: head.headers.get('etag') ?? undefined });
  }

  const listed = async (query: URLSearchParams, signal: AbortSignal | undefined): Promise<readonly Deployment[]> =>
    (await request<DeploymentList>('GET', `v2/deployments?${query}`, { signal })).resources;

  return {
    list({ nameContains, status, offset, limit }, signal) {
      const query = new URLSearchParams({ limit: String(limit), offset: String(offset) });
      if (nameContains !== '') query.set('name_contains', nameContains);
      if (status !== '') query.set('status', status);
      return listed(query, signal);
    },
    async find(id, signal) {
      return (await listed(new URLSearchParams({ deployment_ids: id }), signal))[0];
    },
    async revisions(id, signal) {
      const path = `v2/deployments/${id}/revisions?limit=100`;
      return (await request<{ resources: Revision[] }>('GET', path, { signal })).resources;
    },
    logs(id, { kind, revisionId }, query, signal) {
      const revision = revisionId === undefined ? '' : `/revisions/${revisionId}`;
      const path = `v1/projects/${id}${revision}/${kind === 'build' ? 'build_logs' : 'deploy_logs'}`;
      return request('POST', path, { body: query, signal });
    },
    scale(id, { min, max }) {
      const body: PatchDeployment = { source_config: { resource_spec: { min_scale: min, max_scale: max } } };
      return change('PATCH', id, '', body);
    },
    redeploy: (id, revisionId) => change('POST', id, `/revisions/${revisionId}/redeploy`),
    remove: (id) => change('DELETE', id),
  };
}

interface Finding {
  readonly loc: readonly (string | number)[];
  readonly msg: string;
}

/** `{"detail": ...}` as the API answers every failure; a proxy in front of it answers otherwise. */
function sentenceOf(status: number, text: string): string {
  try {
    const { detail } = JSON.parse(text) as { readonly detail?: string | readonly Finding[] };
    if (typeof detail === 'string') return detail;
    if (Array.isArray(detail))
      return (detail as Finding[]).map(({ loc, msg }) => `${loc.slice(1).join('.')} ${msg}.`).join(' ');
  } catch {
    // Not the API's answer.
  }
  return `The answer was HTTP ${status} without a reason. Something between this page and Davit may have given it.`;
}
