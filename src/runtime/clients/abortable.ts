// A client whose requests are given up when one reconcile is: by its time limit, or with the leadership.

import type { KubeClient } from '../../kube/client.ts';

/** The same client; every request but a watch, which has a signal of its own, ends when `signal` aborts. */
export function abortable(client: KubeClient, signal: AbortSignal): KubeClient {
  return {
    watch: client.watch.bind(client),
    withToken: client.withToken.bind(client),
    get: (resource, ref, options) => client.get(resource, ref, { ...options, signal }),
    list: (resource, options) => client.list(resource, { ...options, signal }),
    listAll: (resource, options) => client.listAll(resource, { ...options, signal }),
    stream: (path, options) => client.stream(path, { ...options, signal }),
    text: (path, options) => client.text(path, { ...options, signal }),
    create: (resource, object, options) => client.create(resource, object, { ...options, signal }),
    replace: (resource, object, options) => client.replace(resource, object, { ...options, signal }),
    apply: (resource, object, options) => client.apply(resource, object, { ...options, signal }),
    mergePatch: (resource, ref, patch, options) => client.mergePatch(resource, ref, patch, { ...options, signal }),
    jsonPatch: (resource, ref, patch, options) => client.jsonPatch(resource, ref, patch, { ...options, signal }),
    remove: (resource, ref, options) => client.remove(resource, ref, { ...options, signal }),
  };
}
