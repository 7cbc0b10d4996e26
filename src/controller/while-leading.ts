// A client that writes only while this process leads: what leadership was lost under must not reach the server.

import { Unavailable } from '../errors.ts';
import type { KubeClient } from '../kube/client.ts';

/** The same client, whose writes are refused as Unavailable once `leading` has aborted. Reads go on. */
export function whileLeading(client: KubeClient, leading: AbortSignal): KubeClient {
  function checked<A extends unknown[], R>(write: (...args: A) => Promise<R>): (...args: A) => Promise<R> {
    return async (...args) => {
      if (leading.aborted) throw new Unavailable('write: this process no longer leads');
      return write(...args);
    };
  }
  return {
    get: client.get.bind(client),
    list: client.list.bind(client),
    listAll: client.listAll.bind(client),
    watch: client.watch.bind(client),
    text: client.text.bind(client),
    withToken: client.withToken.bind(client),
    create: checked(client.create.bind(client)) as KubeClient['create'],
    replace: checked(client.replace.bind(client)) as KubeClient['replace'],
    apply: checked(client.apply.bind(client)) as KubeClient['apply'],
    mergePatch: checked(client.mergePatch.bind(client)) as KubeClient['mergePatch'],
    jsonPatch: checked(client.jsonPatch.bind(client)) as KubeClient['jsonPatch'],
    remove: checked(client.remove.bind(client)),
  };
}
