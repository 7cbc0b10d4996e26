// Detects that the API server's history was rewound by a restore from backup, after which resourceVersions are assigned a second
// time. A client that repeatedly reads one object, such as the lease, detects it immediately.

import type { KubeClient, KubeObject } from '../../kube/client.ts';
import { versionOf } from '../object-cache.ts';

/**
 * The same client, for a single object. `onRewound` is called, possibly repeatedly, when the object is read, created or
 * replaced at a resourceVersion below an earlier one.
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
