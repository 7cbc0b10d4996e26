// The documented HTTP API (docs/api.md) as functions. Nothing else of the page sends a request.

import type { DeploymentEvents } from '../deployments/http/events/payloads.ts';
import type { Deployment, PatchDeployment } from '../deployments/http/payloads.ts';
import type { RevisionDiff } from '../deployments/http/revisions/payloads.ts';
import type { TaskStatusList } from '../deployments/http/task-runs/payloads.ts';
import type { DeployLogsQuery } from '../logs/payloads.ts';
import type { Credentials } from './credentials.ts';
import { makeEventParser, type ServerEvent } from './events.ts';
import type { ListState } from './route.ts';

type TaskRun = TaskStatusList['resources'][number]['runs'][number];

/** Kept in memory alone: no storage, no cookie, no URL. */
export interface Session {
  /** Others after the person has signed in again. */
  credentials: Credentials;
  /** Id or namespace; empty for a caller who may use only one. */
  readonly tenant: string;
}

export interface ListQuery extends ListState {
  readonly limit: number;
}

/** Which log: of a deployment's pods, of the pods of one of its revisions, or of that revision's build. */
export interface LogSource {
  readonly kind: 'pods' | 'build';
  /** Absent for the pods of all revisions. */
  readonly revisionId?: string;
}

/** What is wrong with a field. `loc` begins with the part of the request. */
export interface Finding {
  readonly loc: readonly (string | number)[];
  readonly msg: string;
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

/**
 * Connects, and yields what came together: at once nothing, then events. Ends where the API asks to connect again with the id of the last event; throws
 * ApiError where it refuses. What it shows has no values of secrets.
 */
export type OpenStream = (
  lastEventId: string | undefined,
  signal: AbortSignal,
) => AsyncGenerator<readonly ServerEvent[], { readonly retryMs: number | undefined }>;

export interface Api {
  /** Resolves if the token and the tenant may be used. */
  check(): Promise<void>;
  /** Any request, for a script that is loaded when it is wanted. Resolves to the body of the answer. */
  ask<T>(method: string, path: string, body?: unknown): Promise<T>;
  /** Sends a file to an address that the API has given, without a token. */
  upload(url: string, file: Blob, headers: Readonly<Record<string, string>>): Promise<void>;
  /** `deployments`. */
  list(query: ListQuery): OpenStream;
  /** `deployment`, and `gone`. */
  deployment(id: string): OpenStream;
  /** `revisions`, and `gone`. */
  revisions(id: string): OpenStream;
  /** `log` for each line, `truncated`, `complete` and `gone`. */
  logs(id: string, source: LogSource, query: DeployLogsQuery): OpenStream;
  /** A change of the present version: it is refused if somebody else changes the deployment first. */
  patch(id: string, body: PatchDeployment): Promise<void>;
  /** A change that is made from the present version, and refused if somebody else changes the deployment first. */
  patchFrom(id: string, bodyOf: (now: Deployment) => PatchDeployment): Promise<void>;
  /** A new revision, with or without a change. */
  revise(id: string, body: PatchDeployment): Promise<void>;
  setSecret(id: string, name: string, value: string): Promise<void>;
  removeSecret(id: string, name: string): Promise<void>;
  /** What a rollback to the revision changes. */
  diff(id: string, revisionId: string): Promise<RevisionDiff>;
  /** The events of its objects, and its pods. */
  events(id: string): Promise<DeploymentEvents>;
  /** The tasks of the active revision with their last runs. */
  tasks(id: string): Promise<TaskStatusList>;
  /** A run of a task now. A repeated request with the same key is the same run. */
  runTask(id: string, task: string, key: string): Promise<TaskRun>;
  interrupt(id: string, revisionId: string): Promise<void>;
  /** `at`: RFC 3339. */
  clone(id: string, wanted: { readonly name: string; readonly at?: string }): Promise<void>;
  redeploy(id: string, revisionId: string): Promise<void>;
  remove(id: string): Promise<void>;
}

interface RequestOptions {
  readonly body?: unknown;
  /** Other than the time limit of an answer. */
  readonly signal?: AbortSignal | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Data of the last event of a stream. */
interface StreamEnd {
  readonly reason: string;
  readonly detail: string;
  readonly status?: number;
}

/** The API answers within 60 s. */
const LONGEST_MS = 75_000;
/** A stream has a comment every 15 s. */
const SILENCE_MS = 45_000;

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
    try {
      return await fetch(new URL(path, BASE), {
        method,
        headers: {
          accept: 'application/json',
          authorization: `Bearer ${token}`,
          ...(session.tenant !== '' && { 'x-tenant-id': session.tenant }),
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        signal: signal ?? AbortSignal.timeout(LONGEST_MS),
        cache: 'no-store',
        credentials: 'omit',
        redirect: 'error',
      });
    } catch (error) {
      const reason: unknown = signal?.aborted === true ? signal.reason : error;
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

  /** The body of the answer to a GET of something of the deployment. */
  async function get<T>(id: string, path: string): Promise<T> {
    return (await (await accepted('GET', `v2/deployments/${id}/${path}`)).json()) as T;
  }

  /** HEAD has the ETag of GET. No answer has values of secrets. */
  async function change(method: string, id: string, rest = '', body?: unknown): Promise<void> {
    const path = `v2/deployments/${id}`;
    const head = await send('HEAD', `${path}?secrets=names`, {});
    const etag = head.headers.get('etag');
    const query = method === 'DELETE' && rest === '' ? '' : '?secrets=names';
    await request(method, `${path}${rest}${query}`, { body, ...(etag !== null && { headers: { 'if-match': etag } }) });
  }

  async function* stream(
    method: string,
    path: string,
    body: unknown,
    lastEventId: string | undefined,
    left: AbortSignal,
  ): AsyncGenerator<readonly ServerEvent[], { readonly retryMs: number | undefined }> {
    const silence = new AbortController();
    const silent = (ms: number): ReturnType<typeof setTimeout> =>
      setTimeout(() => silence.abort(new DOMException('Silent', 'TimeoutError')), ms);
    let timer = silent(LONGEST_MS);
    const { credentials } = session;
    const token = await credentials.token();
    try {
      const headers = {
        accept: 'text/event-stream',
        ...(lastEventId !== undefined && { 'last-event-id': lastEventId }),
      };
      const response = await send(method, path, { body, headers, signal: AbortSignal.any([left, silence.signal]) });
      if (!response.ok) throw await refused(response);
      // Something in between may have another mind; an answer with values of secrets is not read.
      if (response.body === null || !response.headers.get('content-type')?.startsWith('text/event-stream')) {
        await response.body?.cancel();
        throw new ApiError(
          0,
          'The answer is not a stream of events. Something between this page and Davit changes it.',
        );
      }
      const parser = makeEventParser();
      yield [];
      for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
        clearTimeout(timer);
        timer = silent(SILENCE_MS);
        const came = parser.push(text);
        const last = came.find(({ event }) => event === 'end')?.data as StreamEnd | undefined;
        // The stream's token has ended, and there is another one.
        if (last?.status === 401 && (await session.credentials.token()) !== token) return { retryMs: 0 };
        if (last?.status === 401 && session.credentials === credentials) onRefused(last.detail);
        const events = came.map(read);
        if (events.length > 0) yield events;
        if (last !== undefined) break;
      }
      return { retryMs: parser.retryMs };
    } catch (error) {
      // A connection that breaks or is silent is opened again, as one that ends.
      if (error instanceof ApiError || left.aborted) throw error;
      return { retryMs: undefined };
    } finally {
      clearTimeout(timer);
    }
  }

  /** The end of a stream that is a refusal is thrown, and one that is for good has a name of its own. */
  function read(one: ServerEvent): ServerEvent {
    if (one.event !== 'end') return one;
    const { reason, detail, status } = one.data as StreamEnd;
    if (reason === 'refused' || reason === 'failed') throw new ApiError(status ?? 500, detail);
    return reason === 'complete' ? { ...one, event: 'complete' } : one;
  }

  const opening =
    (method: string, path: string, body?: unknown): OpenStream =>
    (lastEventId, signal) =>
      stream(method, path, body, lastEventId, signal);

  return {
    check: () => request('GET', 'v2/deployments?limit=1'),
    ask: async <T>(method: string, path: string, body?: unknown) =>
      (await (await accepted(method, path, { body })).json()) as T,
    upload,
    list({ nameContains, status, offset, limit }) {
      const query = new URLSearchParams({ limit: String(limit), offset: String(offset) });
      if (nameContains !== '') query.set('name_contains', nameContains);
      if (status !== '') query.set('status', status);
      return opening('GET', `v2/deployments?${query}`);
    },
    deployment: (id) => opening('GET', `v2/deployments/${id}`),
    revisions: (id) => opening('GET', `v2/deployments/${id}/revisions?limit=100`),
    logs(id, { kind, revisionId }, query) {
      const revision = revisionId === undefined ? '' : `/revisions/${revisionId}`;
      return opening('POST', `v1/projects/${id}${revision}/${kind === 'build' ? 'build_logs' : 'deploy_logs'}`, query);
    },
    patch: (id, body) => change('PATCH', id, '', body),
    async patchFrom(id, bodyOf) {
      const path = `v2/deployments/${id}?secrets=names`;
      const now = await accepted('GET', path);
      const [etag, body] = [now.headers.get('etag') ?? '', bodyOf((await now.json()) as Deployment)];
      await request('PATCH', path, { body, headers: { 'if-match': etag } });
    },
    revise: (id, body) => change('POST', id, '/revisions', body),
    setSecret: (id, name, value) => change('PUT', id, `/secrets/${encodeURIComponent(name)}`, { value }),
    removeSecret: (id, name) => change('DELETE', id, `/secrets/${encodeURIComponent(name)}`),
    diff: (id, revisionId) => get(id, `revisions/${revisionId}/diff`),
    events: (id) => get(id, 'events'),
    tasks: (id) => get(id, 'tasks'),
    async runTask(id, task, key) {
      const path = `v2/deployments/${id}/tasks/${encodeURIComponent(task)}/runs`;
      return (await (await accepted('POST', path, { headers: { 'idempotency-key': key } })).json()) as TaskRun;
    },
    interrupt: (id, revisionId) => request('POST', `v2/deployments/${id}/revisions/${revisionId}/interrupt`),
    clone: (id, wanted) => change('POST', id, '/clone', wanted),
    redeploy: (id, revisionId) => change('POST', id, `/revisions/${revisionId}/redeploy`),
    remove: (id) => change('DELETE', id),
  };
}

/** The address has the scheme and the host that a proxy told Davit; the browser may ask its own alone. Without a limit of time. */
async function upload(url: string, file: Blob, headers: Readonly<Record<string, string>>): Promise<void> {
  const { pathname, search } = new URL(url);
  const response = await fetch(new URL(pathname + search, BASE), {
    method: 'PUT',
    body: file,
    headers,
    cache: 'no-store',
    credentials: 'omit',
    redirect: 'error',
  }).catch(() => {
    throw new ApiError(0, 'The upload did not arrive. Check the network, and that the file has not changed meanwhile.');
  });
  if (!response.ok) throw await refused(response);
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
    sentence: `The answer was HTTP ${status} without a reason. Something between this page and Davit may have given it.`,
  };
}
