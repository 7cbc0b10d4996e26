// Wraps every request of a client. Only this file knows the verbs and which of them write.

import type { KubeClient } from '../../kube/client.ts';
import type { FairLimiter } from '../fair-limiter.ts';

/** Options that abort a request. Reads ignore `isStillWanted`. */
export interface Abandonable {
  readonly signal?: AbortSignal;
  readonly isStillWanted?: () => boolean;
}

/** One request from a wrapper's point of view. */
export interface Sending {
  readonly writes: boolean;
  /** '' for all namespaces and for cluster-scoped objects. */
  readonly namespace: string;
  readonly signal: AbortSignal | undefined;
}

/** Sends the request once; `changes` override the caller's options. */
export type Around = <T>(request: Sending, send: (changes?: Abandonable) => Promise<T>) => Promise<T>;

interface Placed {
  readonly namespace?: string;
}

/** The same client, with `around` for each request except watches, streams and texts, whose duration is unlimited. */
export function wrapClient(client: KubeClient, around: Around): KubeClient {
  const read = <T, O extends Abandonable>(
    { namespace = '' }: Placed,
    options: O | undefined,
    send: (options: O) => Promise<T>,
    writes = false,
  ): Promise<T> =>
    around({ writes, namespace, signal: options?.signal }, (changes) => send({ ...options, ...changes } as O));
  const write = <T, O extends Abandonable>(
    place: Placed,
    options: O | undefined,
    send: (options: O) => Promise<T>,
  ): Promise<T> => read(place, options, send, true);
  return {
    watch: client.watch.bind(client),
    text: client.text.bind(client),
    stream: client.stream.bind(client),
    withToken: client.withToken.bind(client),
    get: (resource, ref, options) => read(ref, options, (given) => client.get(resource, ref, given)),
    list: (resource, options = {}) => read(options, options, (given) => client.list(resource, given)),
    listAll: (resource, options = {}) => read(options, options, (given) => client.listAll(resource, given)),
    create: (resource, object, options) =>
      write(object.metadata, options, (given) => client.create(resource, object, given)),
    replace: (resource, object, options) =>
      write(object.metadata, options, (given) => client.replace(resource, object, given)),
    apply: (resource, object, options) =>
      write(object.metadata, options, (given) => client.apply(resource, object, given)),
    mergePatch: (resource, ref, patch, options) =>
      write(ref, options, (given) => client.mergePatch(resource, ref, patch, given)),
    jsonPatch: (resource, ref, patch, options) =>
      write(ref, options, (given) => client.jsonPatch(resource, ref, patch, given)),
    remove: (resource, ref, options) => write(ref, options, (given) => client.remove(resource, ref, given)),
  };
}

/** The same client, whose requests wait for their turn at `gate`. */
export function fairClient(client: KubeClient, gate: FairLimiter): KubeClient {
  return wrapClient(client, ({ namespace, signal }, send) => gate.run(namespace, send, signal));
}

/** The same client; `signal` aborts every request. A watch has its own signal. */
export function abortable(client: KubeClient, signal: AbortSignal): KubeClient {
  return wrapClient(client, (_, send) => send({ signal }));
}
