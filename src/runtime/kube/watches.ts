// The answers of KubeClient that do not end on their own: watches, and text that grows.

import { Silent } from '../errors.ts';
import type { KubeClient, KubeObject, Resource, WatchEvent, WatchOptions } from './client.ts';
import { PARTIAL_OBJECT } from './reads.ts';
import { type KubeClientOptions, type Outgoing, type Requests, unavailable } from './requests.ts';
import { lines, watchEvent } from './responses.ts';
import { collectionPath, queryOf } from './urls.ts';

export function makeWatches(
  requests: Requests,
  onRequest: KubeClientOptions['onRequest'],
): Pick<KubeClient, 'watch' | 'stream'> {
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
    { signal = new AbortController().signal }: { readonly signal?: AbortSignal } = {},
  ): AsyncGenerator<Uint8Array, void, undefined> {
    const doing = `read ${path}`;
    const out: Outgoing = { verb: 'text', resource: '', doing, method: 'GET', path, accept: '*/*' };
    const start = performance.now();
    let result = 'ok';
    try {
      yield* await requests.open(out, signal, 'streams');
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      const failure = isOurs(error) ? error : unavailable(doing, error);
      result = failure.name;
      throw failure;
    } finally {
      onRequest?.({ verb: out.verb, resource: out.resource, result, durationMs: performance.now() - start });
    }
  }

  return { watch, stream };
}

function isOurs(error: unknown): error is Error {
  return error instanceof Error && 'serverMessage' in error;
}
