// The implementation of KubeClient: plain JSON over undici.

import type { Dispatcher } from 'undici';
import { Silent } from '../errors.ts';
import { type Connections, makeConnections } from './agents.ts';
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
  StreamOptions,
  WatchEvent,
  WatchOptions,
  WriteOptions,
} from './client.ts';
import {
  JSON_TYPE,
  type KubeClientOptions,
  makeRequests,
  type Outgoing,
  type RequestVerb,
  unavailable,
} from './requests.ts';
import { lines, parse, stillThere, typed, watchEvent } from './responses.ts';
import { collectionPath, named, objectPath, queryOf, requireNamespace, withSubresource, writeQuery } from './urls.ts';

export interface HttpKubeClient extends KubeClient {
  /** Closes all connections, including those of `withToken` clients. Requests in flight fail with Unavailable. */
  close(): Promise<void>;
}

const PARTIAL_OBJECT = 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io';
const PARTIAL_LIST = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io';

/** A client of the server of `access`. Sends nothing before the first call. */
export function makeKubeClient(options: KubeClientOptions): HttpKubeClient {
  const connections = makeConnections(options.maxConnections ?? 32);
  return { ...clientAs(undefined, options, connections), close: connections.close };
}

/** A client with `token`, or with Davit's own credentials if it is absent. */
function clientAs(token: string | undefined, options: KubeClientOptions, connections: Connections): KubeClient {
  const { onRequest } = options;
  const requests = makeRequests(token, options, connections);

  async function sendForObject<T extends KubeObject>(resource: Resource, out: Outgoing): Promise<T> {
    return typed<T>(resource, parse(out.doing, await requests.send(out)));
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
    const body = await requests.send({
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
      const out: Outgoing = {
        verb: 'watch',
        resource: resource.plural,
        doing,
        method: 'GET',
        path: collectionPath(doing, resource, namespace) + query,
        ...(watching.metadataOnly === true && { accept: PARTIAL_OBJECT }),
      };
      const body = await requests.open(out, AbortSignal.any([signal, silence.signal]));
      for await (const line of lines(doing, body, () => idle.refresh())) {
        if (signal.aborted) return;
        yield watchEvent<T>(doing, resource, line);
      }
    } catch (error) {
      if (signal.aborted) return;
      const failure = isOurs(error)
        ? error
        : silence.signal.aborted
          ? new Silent(`${doing}: no data for ${idleMs} ms`, { cause: error })
          : unavailable(doing, error);
      result = failure.name;
      throw failure;
    } finally {
      clearTimeout(idle);
      onRequest?.({ verb: 'watch', resource: resource.plural, result, durationMs: performance.now() - start });
    }
  }

  async function* stream(
    path: string,
    { signal = new AbortController().signal, isOpenEnded = false }: StreamOptions = {},
  ): AsyncGenerator<Uint8Array, void, undefined> {
    const doing = `read ${path}`;
    const kind = isOpenEnded
      ? ({ verb: 'watch', resource: 'pods/log' } as const)
      : ({ verb: 'text', resource: '' } as const);
    const out: Outgoing = { ...kind, doing, method: 'GET', path, accept: '*/*' };
    const start = performance.now();
    let result = 'ok';
    try {
      yield* await requests.open(out, signal, isOpenEnded ? { isOpenEnded } : { over: 'streams' });
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      const failure = isOurs(error) ? error : unavailable(doing, error);
      result = failure.name;
      throw failure;
    } finally {
      onRequest?.({ verb: out.verb, resource: out.resource, result, durationMs: performance.now() - start });
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

    apply: (resource, object, applying: ApplyOptions) => {
      const body = applying.onlyCreate === true ? onlyNew(object) : object;
      return run(() =>
        // A JSON document is also a YAML document except for some characters, and JSON is cheaper for both sides.
        write('apply', 'PATCH', resource, object.metadata, APPLY_TYPE, body, applying, {
          force: applying.force === true ? 'true' : undefined,
        }),
      );
    },

    mergePatch: (resource, ref, patch, writing: WriteOptions = {}) =>
      run(() => write('patch', 'PATCH', resource, ref, 'application/merge-patch+json', patch, writing)),

    jsonPatch: (resource, ref, patch, writing: WriteOptions = {}) =>
      run(() => write('patch', 'PATCH', resource, ref, 'application/json-patch+json', patch, writing)),

    async remove(resource: Resource, ref: ObjectRef, deleting: DeleteOptions): Promise<KubeObject | undefined> {
      const doing = `delete ${named(resource, ref)}`;
      const { uid, resourceVersion, propagationPolicy } = deleting;
      const body = await requests.send({
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
      run(() =>
        requests.send({ verb: 'text', resource: '', doing: `get ${path}`, method: 'GET', path, accept: '*/*', signal }),
      ),

    stream,

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
      body: bodyOf(body, contentType),
      signal: writing.signal,
      isStillWanted: writing.isStillWanted,
    });
  }
}

const APPLY_TYPE = 'application/apply-patch+yaml';
/** Characters that JSON allows unescaped in a string and YAML 1.2 (5.1, character set) does not. */
const NOT_IN_YAML = /[\u007F-\u009F\u2028\u2029\uFEFF\uFFFE\uFFFF]/g;

function bodyOf(body: object, contentType: string): string {
  const json = JSON.stringify(body);
  if (contentType !== APPLY_TYPE) return json;
  return json.replaceAll(NOT_IN_YAML, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

// The API server compares the version with that of an existing object, and ignores it if none exists. Version 1 is that of an
// empty etcd, so no object has it.
function onlyNew<T extends KubeObject>(object: T): T {
  return { ...object, metadata: { ...object.metadata, resourceVersion: '1' } };
}

function isOurs(error: unknown): error is Error {
  return error instanceof Error && 'serverMessage' in error;
}

/** Turns the exception for an invalid name or namespace into a rejection, like all other failures. */
async function run<T>(make: () => Promise<T>): Promise<T> {
  return make();
}
