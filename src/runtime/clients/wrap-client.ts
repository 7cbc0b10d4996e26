// One way to put something around every request of a client: which verbs there are, and which of them write, stands here.

import type { KubeClient } from '../../kube/client.ts';

/** What can be said about giving a request up. Reads take no notice of `isStillWanted`. */
export interface Abandonable {
  readonly signal?: AbortSignal;
  readonly isStillWanted?: () => boolean;
}

/** One request, as a wrapper sees it. */
export interface Sending {
  readonly writes: boolean;
  /** '' for all namespaces, and for what is in none. */
  readonly namespace: string;
  readonly signal: AbortSignal | undefined;
}

/** Sends the request once; `changes` take the place of what its caller has said. */
export type Around = <T>(request: Sending, send: (changes?: Abandonable) => Promise<T>) => Promise<T>;

interface Placed {
  readonly namespace?: string;
}

/** The same client, each of whose requests goes through `around`. Watches, streams and texts, which take as long as they take, do not. */
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
