// Davit's own key for the digests of Secrets.

import type { KubeClient } from '../../kube/client.ts';
import { type DigestKey, digestKey } from '../../resources/secret-digest.ts';
import { makeKeySecret } from '../shared/key-secret.ts';

/** Reads or makes the key in `namespace` when it is first asked for. A failure is thrown, and the next call tries again. */
export function makeDigestKey(client: KubeClient, namespace: string): () => Promise<DigestKey> {
  const read = makeKeySecret({
    client,
    namespace,
    name: 'davit-hmac',
    field: 'key',
    bytes: 32,
    what: 'the digest key',
    anew: 'A new key restarts no pods',
  });
  return async () => digestKey(await read());
}
