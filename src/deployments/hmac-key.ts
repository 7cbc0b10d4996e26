// Davit's own key for the digests of Secrets.

import { makeKeySecret } from '../lib/controller/key-secret.ts';
import type { KubeClient } from '../lib/kube/client.ts';
import { type DigestKey, digestKey } from './children/secret-digest.ts';

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
