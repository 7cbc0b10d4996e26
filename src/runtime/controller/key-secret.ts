// A key of Davit's own in a Secret of Davit's namespace. The process that needs it first creates it. It is never
// changed or deleted: it outlives the chart and belongs in backups.

import { randomBytes } from 'node:crypto';
import { Terminal } from '../errors.ts';
import type { KubeClient } from '../kube/client.ts';
import { readOrCreateSecret } from '../kube/key-ring-secret.ts';

export interface KeySecretOptions {
  readonly client: KubeClient;
  readonly namespace: string;
  readonly name: string;
  readonly field: string;
  readonly bytes: number;
  /**
   * For error messages: what the key is (`the digest key`), and the effect of a new key (`A new key does not restart pods`).
   */
  readonly what: string;
  readonly replaced: string;
}

/**
 * Returns a function that reads or creates the key on its first call. If that fails, it throws, and the next call
 * retries.
 */
export function makeKeySecret(options: KeySecretOptions): () => Promise<Buffer> {
  let known: Promise<Buffer> | undefined;
  return () => {
    known ??= readKey(options).catch((error: unknown) => {
      known = undefined;
      throw error;
    });
    return known;
  };
}

export async function readKey(options: KeySecretOptions): Promise<Buffer> {
  const { client, namespace, name, field, bytes, what, replaced } = options;
  const { data } = await readOrCreateSecret(client, { namespace, name }, () => ({
    immutable: true,
    data: { [field]: randomBytes(bytes).toString('base64') },
  }));
  const key = Buffer.from(data?.[field] ?? '', 'base64');
  if (key.length < bytes)
    throw new Terminal(
      `read ${what}: Secret ${name} in ${namespace} does not have ${bytes} bytes under ${field}. Delete the Secret and restart the controller. ${replaced}.`,
    );
  return key;
}
