// A client whose requests take turns, tenant by tenant.

import type { KubeClient } from '../../kube/client.ts';
import type { FairLimiter } from '../fair-limiter.ts';

/** The same client behind `gate`. Watches and texts, which take as long as they take, do not go through it. */
export function fairClient(client: KubeClient, gate: FairLimiter): KubeClient {
  const gated = <T>(
    { namespace = '' }: { readonly namespace?: string } = {},
    work: () => Promise<T>,
    signal?: AbortSignal,
  ): Promise<T> => gate.run(namespace, work, signal);
  return {
    list: (resource, options) => gated(options, () => client.list(resource, options), options?.signal),
    listAll: (resource, options) => gated(options, () => client.listAll(resource, options), options?.signal),
    watch: client.watch.bind(client),
    text: client.text.bind(client),
    stream: client.stream.bind(client),
    withToken: client.withToken.bind(client),
    get: (resource, ref, options) => gated(ref, () => client.get(resource, ref, options), options?.signal),
    create: (resource, object, options) =>
      gated(object.metadata, () => client.create(resource, object, options), options?.signal),
    replace: (resource, object, options) =>
      gated(object.metadata, () => client.replace(resource, object, options), options?.signal),
    apply: (resource, object, options) =>
      gated(object.metadata, () => client.apply(resource, object, options), options.signal),
    mergePatch: (resource, ref, patch, options) =>
      gated(ref, () => client.mergePatch(resource, ref, patch, options), options?.signal),
    jsonPatch: (resource, ref, patch, options) =>
      gated(ref, () => client.jsonPatch(resource, ref, patch, options), options?.signal),
    remove: (resource, ref, options) => gated(ref, () => client.remove(resource, ref, options), options.signal),
  };
}
