// The one implementation of KubeClient: plain JSON over undici, straight to the API server.
// HTTP/1.1 with keep-alive, not HTTP/2: a connection that dies takes one request with it instead of all of them, there
// is no GOAWAY and no stream limit to handle, and a pool bounds what we have in flight. Watches have an agent of their
// own, so that no number of them can keep a request waiting for a socket.

import { setTimeout as delay } from 'node:timers/promises';
import { Agent, type Dispatcher } from 'undici';
import { Invalid, type ServerError, Unavailable } from '../errors.ts';
import type {
  ApplyOptions,
  DeleteOptions,
  GetOptions,
  KubeClient,
  KubeObject,
  ListOptions,
  ObjectList,
  ObjectRef,
  Resource,
  WatchEvent,
  WatchOptions,
  WriteOptions,
} from './client.ts';
import type { ClusterAccess, TlsSettings } from './config.ts';
import { errorFromAnswer, errorFromStatus, retryAfterMs } from './errors.ts';
import { apiVersionOf } from './resources.ts';

export type RequestVerb = 'get' | 'list' | 'watch' | 'create' | 'update' | 'apply' | 'patch' | 'delete' | 'text';

/** One request as seen from outside, its retries included; for metrics. */
export interface RequestReport {
  readonly verb: RequestVerb;
  /** Plural of the resource, with the subresource if there is one; '' for `text`. */
  readonly resource: string;
  /** `ok`, or the name of the error. */
  readonly result: string;
  readonly durationMs: number;
}

export interface KubeClientOptions {
  readonly access: ClusterAccess;
  readonly userAgent: string;
  /** For one attempt, waiting for a free connection included. Watches last longer. */
  readonly requestTimeoutMs?: number;
  /** Requests in flight at most; more wait for their turn. */
  readonly maxConnections?: number;
  readonly onRequest?: (report: RequestReport) => void;
}

export interface HttpKubeClient extends KubeClient {
  /** Closes every connection, those of `withToken` clients too. Requests under way fail as Unavailable. */
  close(): Promise<void>;
}

const MAX_ATTEMPTS = 4;
/** A server that wants to be left alone for longer is the caller's business: it has a queue to wait in. */
const LONGEST_WAIT_MS = 5_000;
/** A kept-alive connection may be closed by the server just as we use it; a read or an apply may then be sent again. */
const RECONNECT_WAIT_MS = 50;
/** As client-go: below the idle timeout of the load balancers that stand before API servers. */
const TCP_KEEP_ALIVE_MS = 30_000;

const JSON_TYPE = 'application/json';
const PARTIAL_OBJECT = 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io';
const PARTIAL_LIST = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io';

interface Outgoing {
  readonly verb: RequestVerb;
  readonly resource: string;
  readonly doing: string;
  readonly method: Dispatcher.HttpMethod;
  readonly path: string;
  readonly accept?: string;
  readonly contentType?: string;
  readonly body?: string;
  readonly signal?: AbortSignal | undefined;
  readonly isStillWanted?: (() => boolean) | undefined;
}

interface AgentPair {
  readonly tls: TlsSettings;
  readonly requests: Dispatcher;
  readonly watches: Dispatcher;
}

/** What came of one attempt. `retryInMs` is there when trying again is harmless. */
type Outcome = { readonly body: string } | { readonly error: ServerError; readonly code?: number; retryInMs?: number };

/** A client of the server that `access` leads to. Nothing is sent before the first call. */
export function makeKubeClient(options: KubeClientOptions): HttpKubeClient {
  const connections = makeConnections(options.maxConnections ?? 32);
  return { ...clientAs(undefined, options, connections), close: connections.close };
}

/** A client that acts with `token`, or, without one, with our own credentials. */
function clientAs(token: string | undefined, options: KubeClientOptions, connections: Connections): KubeClient {
  const { access, userAgent, requestTimeoutMs = 30_000, onRequest } = options;
  const server = new URL(access.server);
  const prefix = server.pathname.replace(/\/+$/, '');

  /** Who is asking, and over which connections. A foreign token never travels over a connection that has our client certificate. */
  async function identity(): Promise<{ headers: Readonly<Record<string, string>>; agents: AgentPair }> {
    const own = await access.credentials();
    if (token === undefined) return { headers: own.headers, agents: connections.own(own.tls) };
    return { headers: { authorization: `Bearer ${token}` }, agents: connections.foreign(own.tls) };
  }

  function dispatchOptions(
    out: Outgoing,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Dispatcher.RequestOptions {
    return {
      origin: server.origin,
      path: prefix + out.path,
      method: out.method,
      headers: {
        ...headers,
        'user-agent': userAgent,
        accept: out.accept ?? JSON_TYPE,
        ...(out.contentType !== undefined && { 'content-type': out.contentType }),
      },
      signal,
      ...(out.body !== undefined && { body: out.body }),
    };
  }

  async function attempt(out: Outgoing): Promise<Outcome> {
    const timeout = AbortSignal.timeout(requestTimeoutMs);
    const signal = out.signal === undefined ? timeout : AbortSignal.any([timeout, out.signal]);
    try {
      const { headers, agents } = await identity();
      const answer = await agents.requests.request({
        ...dispatchOptions(out, headers, signal),
        headersTimeout: requestTimeoutMs,
        bodyTimeout: requestTimeoutMs,
        ...(out.isStillWanted !== undefined && { isStillWanted: out.isStillWanted }),
      });
      const body = await answer.body.text();
      if (answer.statusCode >= 200 && answer.statusCode < 300) return { body };
      const retryAfter = headerOf(answer, 'retry-after');
      const error = errorFromAnswer(out.doing, { code: answer.statusCode, body, retryAfter });
      const wait = retryAfterMs(retryAfter);
      const retry = (answer.statusCode === 429 || answer.statusCode === 503) && wait !== undefined;
      return { error, code: answer.statusCode, ...(retry && { retryInMs: wait }) };
    } catch (cause) {
      if (out.signal?.aborted) throw out.signal.reason;
      if (cause instanceof Unwanted) return { error: unavailable(out.doing, cause) };
      if (isDistrust(cause)) access.refresh();
      const error = unavailable(out.doing, cause, timeout.aborted ? `no answer in ${requestTimeoutMs} ms` : undefined);
      return { error, ...(!timeout.aborted && { retryInMs: RECONNECT_WAIT_MS }) };
    }
  }

  async function sendWithRetries(out: Outgoing): Promise<string> {
    const mayRepeat = out.method === 'GET' || out.verb === 'apply';
    let refreshed = false;
    for (let attempts = 1; ; attempts++) {
      // oxlint-disable-next-line no-await-in-loop -- an attempt is made because the one before it failed
      const outcome = await attempt(out);
      if ('body' in outcome) return outcome.body;
      if (outcome.code === 401 && token === undefined && !refreshed) {
        // Our token may have been rotated since it was read. A request that was refused has done nothing.
        refreshed = true;
        access.refresh();
        continue;
      }
      const wait = outcome.retryInMs;
      if (!mayRepeat || wait === undefined || wait > LONGEST_WAIT_MS || attempts >= MAX_ATTEMPTS) throw outcome.error;
      // oxlint-disable-next-line no-await-in-loop -- the server asked for this pause
      await pause(wait * (1 + Math.random() / 4), out.signal);
    }
  }

  async function send(out: Outgoing): Promise<string> {
    const start = performance.now();
    let result = 'ok';
    try {
      return await sendWithRetries(out);
    } catch (error) {
      result = error instanceof Error ? error.name : 'Error';
      throw error;
    } finally {
      onRequest?.({ verb: out.verb, resource: out.resource, result, durationMs: performance.now() - start });
    }
  }

  async function sendForObject<T extends KubeObject>(resource: Resource, out: Outgoing): Promise<T> {
    return typed<T>(resource, parse(out.doing, await send(out)));
  }

  async function list<T extends KubeObject>(resource: Resource, listing: ListOptions = {}): Promise<ObjectList<T>> {
    const { namespace, metadataOnly, signal } = listing;
    const doing = `list ${resource.plural}${namespace === undefined ? '' : ` in ${namespace}`}`;
    const query = queryOf({
      labelSelector: listing.labelSelector,
      fieldSelector: listing.fieldSelector,
      limit: listing.limit,
      continue: listing.continueToken,
      resourceVersion: listing.resourceVersion,
    });
    const body = await send({
      verb: 'list',
      resource: resource.plural,
      doing,
      method: 'GET',
      path: collectionPath(doing, resource, namespace) + query,
      ...(metadataOnly === true && { accept: PARTIAL_LIST }),
      signal,
    });
    const answer = parse(doing, body) as {
      readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string };
      readonly items?: unknown[] | null;
    };
    const next = answer.metadata?.continue;
    return {
      items: (answer.items ?? []).map((item) => typed<T>(resource, item)),
      resourceVersion: answer.metadata?.resourceVersion ?? '',
      ...(next !== undefined && next !== '' && { continueToken: next }),
    };
  }

  async function* watch<T extends KubeObject>(
    resource: Resource,
    watching: WatchOptions,
  ): AsyncGenerator<WatchEvent<T>, void, undefined> {
    const { namespace, signal, idleMs } = watching;
    const doing = `watch ${resource.plural}${namespace === undefined ? '' : ` in ${namespace}`}`;
    const query = queryOf({
      watch: 1,
      allowWatchBookmarks: 'true',
      labelSelector: watching.labelSelector,
      fieldSelector: watching.fieldSelector,
      resourceVersion: watching.resourceVersion,
      timeoutSeconds: watching.timeoutSeconds,
    });
    if (signal.aborted) return;
    const silence = new AbortController();
    const idle = setTimeout(() => silence.abort(), idleMs);
    const start = performance.now();
    let result = 'ok';
    try {
      const { headers, agents } = await identity();
      const out: Outgoing = {
        verb: 'watch',
        resource: resource.plural,
        doing,
        method: 'GET',
        path: collectionPath(doing, resource, namespace) + query,
        ...(watching.metadataOnly === true && { accept: PARTIAL_OBJECT }),
      };
      const answer = await agents.watches.request({
        ...dispatchOptions(out, headers, AbortSignal.any([signal, silence.signal])),
        headersTimeout: requestTimeoutMs,
        bodyTimeout: 0,
      });
      if (answer.statusCode !== 200) {
        const body = await answer.body.text();
        if (answer.statusCode === 401 && token === undefined) access.refresh();
        throw errorFromAnswer(doing, {
          code: answer.statusCode,
          body,
          retryAfter: headerOf(answer, 'retry-after'),
        });
      }
      const body = answer.body as AsyncIterable<Uint8Array>;
      for await (const line of lines(doing, body, () => idle.refresh())) {
        if (signal.aborted) return;
        yield watchEvent<T>(doing, resource, line);
      }
    } catch (error) {
      if (signal.aborted) return;
      if (isDistrust(error)) access.refresh();
      const failure = isOurs(error)
        ? error
        : unavailable(doing, error, silence.signal.aborted ? `nothing heard for ${idleMs} ms` : undefined);
      result = failure.name;
      throw failure;
    } finally {
      clearTimeout(idle);
      onRequest?.({ verb: 'watch', resource: resource.plural, result, durationMs: performance.now() - start });
    }
  }

  return {
    get: (resource, ref, getting: GetOptions = {}) => {
      const doing = `get ${named(resource, ref)}`;
      return run(() =>
        sendForObject(resource, {
          verb: 'get',
          resource: resource.plural,
          doing,
          method: 'GET',
          path: objectPath(doing, resource, ref),
          ...(getting.metadataOnly === true && { accept: PARTIAL_OBJECT }),
          signal: getting.signal,
        }),
      );
    },

    list,

    async listAll<T extends KubeObject>(resource: Resource, listing: ListOptions = {}): Promise<ObjectList<T>> {
      const first = await list<T>(resource, listing);
      const items = [...first.items];
      let continueToken = first.continueToken;
      while (continueToken !== undefined) {
        const { resourceVersion: _, ...rest } = listing;
        // oxlint-disable-next-line no-await-in-loop -- each page names the next
        const page = await list<T>(resource, { ...rest, continueToken });
        for (const item of page.items) items.push(item);
        continueToken = page.continueToken;
      }
      return { items, resourceVersion: first.resourceVersion };
    },

    watch,

    create: (resource, object, writing: WriteOptions = {}) => {
      const { namespace, name } = object.metadata;
      const doing = `create ${named(resource, object.metadata)}`;
      return run(() =>
        sendForObject(resource, {
          verb: 'create',
          resource: withSubresource(resource, writing),
          doing,
          method: 'POST',
          path:
            (writing.subresource === undefined
              ? collectionPath(doing, resource, requireNamespace(doing, resource, namespace))
              : `${objectPath(doing, resource, { ...(namespace !== undefined && { namespace }), name })}/${writing.subresource}`) +
            writeQuery(writing),
          contentType: JSON_TYPE,
          body: JSON.stringify(object),
          signal: writing.signal,
          isStillWanted: writing.isStillWanted,
        }),
      );
    },

    replace: (resource, object, writing: WriteOptions = {}) =>
      run(() => write('update', 'PUT', resource, object.metadata, JSON_TYPE, object, writing)),

    apply: (resource, object, applying: ApplyOptions) =>
      run(() =>
        // A JSON document is a YAML document, and JSON is cheaper on both sides.
        write('apply', 'PATCH', resource, object.metadata, 'application/apply-patch+yaml', object, applying, {
          force: applying.force === true ? 'true' : undefined,
        }),
      ),

    mergePatch: (resource, ref, patch, writing: WriteOptions = {}) =>
      run(() => write('patch', 'PATCH', resource, ref, 'application/merge-patch+json', patch, writing)),

    jsonPatch: (resource, ref, patch, writing: WriteOptions = {}) =>
      run(() => write('patch', 'PATCH', resource, ref, 'application/json-patch+json', patch, writing)),

    async remove(resource: Resource, ref: ObjectRef, deleting: DeleteOptions): Promise<KubeObject | undefined> {
      const doing = `delete ${named(resource, ref)}`;
      const { uid, resourceVersion, propagationPolicy } = deleting;
      const body = await send({
        verb: 'delete',
        resource: resource.plural,
        doing,
        method: 'DELETE',
        path: objectPath(doing, resource, ref) + queryOf({ dryRun: deleting.dryRun === true ? 'All' : undefined }),
        contentType: JSON_TYPE,
        body: JSON.stringify({
          apiVersion: 'v1',
          kind: 'DeleteOptions',
          preconditions: { uid, ...(resourceVersion !== undefined && { resourceVersion }) },
          ...(propagationPolicy !== undefined && { propagationPolicy }),
        }),
        signal: deleting.signal,
        isStillWanted: deleting.isStillWanted,
      });
      return stillThere(resource, parse(doing, body));
    },

    text: (path, { signal } = {}) =>
      run(() => send({ verb: 'text', resource: '', doing: `get ${path}`, method: 'GET', path, accept: '*/*', signal })),

    withToken: (other) => clientAs(other, options, connections),
  };

  function write<T extends KubeObject>(
    verb: RequestVerb,
    method: Dispatcher.HttpMethod,
    resource: Resource,
    ref: ObjectRef,
    contentType: string,
    body: object,
    writing: WriteOptions,
    more: Readonly<Record<string, string | undefined>> = {},
  ): Promise<T> {
    const doing = `${verb} ${named(resource, ref)}${writing.subresource === undefined ? '' : `/${writing.subresource}`}`;
    const subresource = writing.subresource === undefined ? '' : `/${writing.subresource}`;
    return sendForObject<T>(resource, {
      verb,
      resource: withSubresource(resource, writing),
      doing,
      method,
      path: objectPath(doing, resource, ref) + subresource + writeQuery(writing, more),
      contentType,
      body: JSON.stringify(body),
      signal: writing.signal,
      isStillWanted: writing.isStillWanted,
    });
  }
}

interface Connections {
  own(tls: TlsSettings): AgentPair;
  foreign(tls: TlsSettings): AgentPair;
  close(): Promise<void>;
}

/** The agents, kept as long as CA and client certificate stay what they are; a rotation makes new ones. */
function makeConnections(maxConnections: number): Connections {
  let ownPair: AgentPair | undefined;
  let foreignPair: AgentPair | undefined;

  function make(tls: TlsSettings): AgentPair {
    const connect = { ...tls, keepAlive: true, keepAliveInitialDelay: TCP_KEEP_ALIVE_MS };
    const common = { connect, allowH2: false, pipelining: 1 };
    const requests = new Agent({ ...common, connections: maxConnections }).compose(askBeforeSending);
    return { tls, requests, watches: new Agent(common) };
  }

  function current(pair: AgentPair | undefined, tls: TlsSettings): AgentPair {
    if (pair !== undefined && sameTls(pair.tls, tls)) return pair;
    // What is under way over the old connections ends in peace; nothing new is sent over them.
    if (pair !== undefined) void closeAgents(pair, 'close');
    return make(tls);
  }

  return {
    own(tls) {
      ownPair = current(ownPair, tls);
      return ownPair;
    },
    foreign(tls) {
      if (tls.cert === undefined && tls.key === undefined) return this.own(tls);
      const { cert: _cert, key: _key, ...anonymous } = tls;
      foreignPair = current(foreignPair, anonymous);
      return foreignPair;
    },
    async close() {
      const pairs = [ownPair, foreignPair].filter((pair) => pair !== undefined);
      await Promise.all(pairs.map((pair) => closeAgents(pair, 'destroy')));
    },
  };
}

/** What was asked for is no longer wanted, and was not sent. */
class Unwanted extends Error {}

/** A request may wait long for a free connection: whether it is still wanted is asked when it has got one. */
const askBeforeSending: Dispatcher.DispatcherComposeInterceptor = (dispatch) => (options, handler) => {
  const { isStillWanted } = options as { isStillWanted?: () => boolean };
  return dispatch(options, isStillWanted === undefined ? handler : asking(handler, isStillWanted));
};

function asking(handler: Dispatcher.DispatchHandler, isStillWanted: () => boolean): Dispatcher.DispatchHandler {
  return {
    onRequestStart(...all) {
      if (!isStillWanted()) throw new Unwanted('no longer wanted, and not sent');
      handler.onRequestStart?.(...all);
    },
    onRequestUpgrade: (...all) => handler.onRequestUpgrade?.(...all),
    onResponseStart: (...all) => handler.onResponseStart?.(...all),
    onResponseData: (...all) => handler.onResponseData?.(...all),
    onResponseEnd: (...all) => handler.onResponseEnd?.(...all),
    onResponseError: (...all) => handler.onResponseError?.(...all),
  };
}

async function closeAgents(pair: AgentPair, how: 'close' | 'destroy'): Promise<void> {
  await Promise.allSettled([pair.requests[how](), pair.watches[how]()]);
}

function sameTls(a: TlsSettings, b: TlsSettings): boolean {
  return (
    a.ca === b.ca &&
    a.cert === b.cert &&
    a.key === b.key &&
    a.servername === b.servername &&
    a.rejectUnauthorized === b.rejectUnauthorized
  );
}

/** The lines of a body. A last line without its end is an error: the connection broke in the middle of it. */
async function* lines(
  doing: string,
  body: AsyncIterable<Uint8Array>,
  onBytes: () => void,
): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder();
  let parts: string[] = [];
  for await (const chunk of body) {
    onBytes();
    const text = decoder.decode(chunk, { stream: true });
    let start = 0;
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
      parts.push(text.slice(start, end));
      const line = parts.join('');
      parts = [];
      start = end + 1;
      if (line.trim() !== '') yield line;
    }
    if (start < text.length) parts.push(text.slice(start));
  }
  if (parts.join('').trim() !== '') throw new Unavailable(`${doing}: the connection broke in the middle of a line`);
}

function watchEvent<T extends KubeObject>(doing: string, resource: Resource, line: string): WatchEvent<T> {
  const event = parse(doing, line) as { readonly type?: unknown; readonly object?: unknown };
  switch (event.type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
    case 'BOOKMARK':
      return { type: event.type, object: typed<T>(resource, event.object) };
    case 'ERROR':
      throw errorFromStatus(doing, event.object);
    default:
      throw new Unavailable(`${doing}: a line is not a watch event`);
  }
}

/** The object as its resource's own kind: items of a list come without, metadata alone comes as PartialObjectMetadata. */
function typed<T extends KubeObject>(resource: Resource, value: unknown): T {
  const object = value as { apiVersion: string; kind: string };
  object.apiVersion = apiVersionOf(resource);
  object.kind = resource.kind;
  return object as T;
}

/** Some resources answer a delete with what they deleted; only a finalizer or a grace period keeps it there. */
function stillThere(resource: Resource, answer: unknown): KubeObject | undefined {
  const object = answer as KubeObject & { readonly metadata?: { readonly deletionGracePeriodSeconds?: number } };
  if (object.kind === 'Status' || object.metadata?.deletionTimestamp === undefined) return undefined;
  const held = (object.metadata.finalizers?.length ?? 0) > 0 || (object.metadata.deletionGracePeriodSeconds ?? 0) > 0;
  return held ? typed(resource, object) : undefined;
}

function parse(doing: string, text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new Unavailable(`${doing}: the answer is not whole JSON`, { cause });
  }
  if (typeof value !== 'object' || value === null) throw new Unavailable(`${doing}: the answer is not an object`);
  return value;
}

function collectionPath(doing: string, resource: Resource, namespace: string | undefined): string {
  const { group, version, plural } = resource;
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  if (!resource.namespaced || namespace === undefined) return `${root}/${plural}`;
  return `${root}/namespaces/${segment(doing, namespace)}/${plural}`;
}

function objectPath(doing: string, resource: Resource, ref: ObjectRef): string {
  const namespace = requireNamespace(doing, resource, ref.namespace);
  return `${collectionPath(doing, resource, namespace)}/${segment(doing, ref.name)}`;
}

/** Without its namespace the path of an object would be that of something else. */
function requireNamespace(doing: string, resource: Resource, namespace: string | undefined): string | undefined {
  if (resource.namespaced && namespace === undefined) throw new Invalid(`${doing}: no namespace`);
  return namespace;
}

/** One segment of a path. What Kubernetes itself takes for no name at all must not reach a URL, where `..` has a meaning. */
function segment(doing: string, name: string): string {
  if (name === '' || name === '.' || name === '..' || /[/%]/.test(name)) {
    throw new Invalid(`${doing}: ${JSON.stringify(name)} cannot be a name`);
  }
  return encodeURIComponent(name);
}

function writeQuery(writing: WriteOptions, more: Readonly<Record<string, string | undefined>> = {}): string {
  return queryOf({
    fieldManager: writing.fieldManager,
    dryRun: writing.dryRun === true ? 'All' : undefined,
    fieldValidation: writing.strict === true ? 'Strict' : undefined,
    ...more,
  });
}

function queryOf(parameters: Readonly<Record<string, string | number | undefined>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined) query.set(name, String(value));
  }
  return query.size === 0 ? '' : `?${query.toString()}`;
}

function named(resource: Resource, ref: ObjectRef): string {
  return `${resource.plural} ${ref.namespace === undefined ? '' : `${ref.namespace}/`}${ref.name}`;
}

function withSubresource(resource: Resource, writing: WriteOptions): string {
  return writing.subresource === undefined ? resource.plural : `${resource.plural}/${writing.subresource}`;
}

function headerOf(answer: Dispatcher.ResponseData, name: string): string | undefined {
  const value = answer.headers[name];
  return Array.isArray(value) ? value[0] : value;
}

function unavailable(doing: string, cause: unknown, what?: string): Unavailable {
  const reason = what ?? (cause instanceof Error ? cause.message || cause.name : String(cause));
  return new Unavailable(`${doing}: ${reason}`, { cause });
}

/** The server's certificate is not signed by an authority that we know: ours may have been rotated since it was read. */
function isDistrust(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return /CERT|ISSUER|SIGNATURE/.test(code);
}

function isOurs(error: unknown): error is Error {
  return error instanceof Error && 'serverMessage' in error;
}

/** So that a bad name or namespace is a rejection, as everything else that goes wrong, and not a throw. */
async function run<T>(make: () => Promise<T>): Promise<T> {
  return make();
}

async function pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  try {
    await delay(milliseconds, undefined, signal === undefined ? {} : { signal });
  } catch {
    throw signal?.reason;
  }
}
