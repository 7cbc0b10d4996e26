// Whether the API server still tells of the history that it has told of before. After the restore of a backup it does not:
// resourceVersions are those of then, and will be given a second time. Who reads one object again and again from the
// source, as the lease is, notices at once.

import type { KubeClient, KubeObject } from '../../kube/client.ts';
import { versionOf } from '../object-cache.ts';

/**
 * The same client, for a single object. `onRewound` is told when the object is read, made or replaced at a
 * resourceVersion below one that it had before; perhaps more than once.
 */
export function rewindGuarded(client: KubeClient, onRewound: (what: string) => void): KubeClient {
  let highest: string | undefined;

  function seen<T extends KubeObject>(object: T): T {
    const { name, resourceVersion } = object.metadata;
    if (versionOf(resourceVersion) < versionOf(highest))
      onRewound(
        `${object.kind} ${name}: resourceVersion ${resourceVersion} is older than ${highest}, which was seen before`,
      );
    else highest = resourceVersion;
    return object;
  }

  return {
    ...client,
    get: async (...all) => seen(await client.get(...all)),
    create: async (...all) => seen(await client.create(...all)),
    replace: async (...all) => seen(await client.replace(...all)),
  };
}
