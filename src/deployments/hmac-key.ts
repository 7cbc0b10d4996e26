// Davit's own key for the digests of Secrets.

import type { KubeClient } from '../../kube/client.ts';
import { type DigestKey, digestKey } from '../../resources/secret-digest.ts';
import { makeKeySecret } from '../shared/key-secret.ts';

/** Reads or creates the key in `namespace` at the first call. A failure is thrown, and the next call retries. */
export function makeDigestKey(client: KubeClient, namespace: string): () => Promise<DigestKey> {
  const read = makeKeySecret({
    client,
    namespace,
    name: 'davit-hmac',
    field: 'key',
    bytes: 32,
    what: 'the digest key',
    replaced: 'A new key restarts no pods',
  });
  return async () => digestKey(await read());
}
