// A client that writes only while this process leads: what leadership was lost under must not reach the server.

import { Unavailable } from '../../errors.ts';
import type { KubeClient } from '../../kube/client.ts';

/** What every write can be told about being given up. */
interface Abandonable {
  readonly signal?: AbortSignal;
  readonly isStillWanted?: () => boolean;
}

/**
 * The same client, whose writes are refused as Unavailable once `leading` has aborted or the lease no longer `holds`. A
 * write under way is given up in that moment: one that waits for a connection, or to be tried again, is not sent any
 * more. Reads go on.
 */
export function leaderOnly(client: KubeClient, leading: AbortSignal, holds: () => boolean): KubeClient {
  /** One for all the writes of a reconcile, which share a signal. */
  const together = new WeakMap<AbortSignal, AbortSignal>();

  function either(signal: AbortSignal): AbortSignal {
    const known = together.get(signal);
    if (known) return known;
    const any = AbortSignal.any([leading, signal]);
    together.set(signal, any);
    return any;
  }

  function held<O extends Abandonable>(options: O): O & Required<Abandonable> {
    if (!holds()) throw new Unavailable('write: this process no longer leads');
    const { signal } = options;
    return {
      ...options,
      signal: signal === undefined ? leading : either(signal),
      isStillWanted: holds,
    };
  }
  return {
    get: client.get.bind(client),
    list: client.list.bind(client),
    listAll: client.listAll.bind(client),
    watch: client.watch.bind(client),
    text: client.text.bind(client),
    stream: client.stream.bind(client),
    withToken: client.withToken.bind(client),
    create: async (resource, object, options = {}) => client.create(resource, object, held(options)),
    replace: async (resource, object, options = {}) => client.replace(resource, object, held(options)),
    apply: async (resource, object, options) => client.apply(resource, object, held(options)),
    mergePatch: async (resource, ref, patch, options = {}) => client.mergePatch(resource, ref, patch, held(options)),
    jsonPatch: async (resource, ref, patch, options = {}) => client.jsonPatch(resource, ref, patch, held(options)),
    remove: async (resource, ref, options) => client.remove(resource, ref, held(options)),
  };
}
