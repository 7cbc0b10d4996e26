// Davit's key for the digests of Secrets, in a Secret in Davit's namespace. The first replica that needs it creates it. It is
// never changed or deleted, outlives the chart, and belongs in backups.

import { randomBytes } from 'node:crypto';
import { AlreadyExists, NotFound, Terminal } from '../../errors.ts';
import { SECRETS } from '../../kube/api-resources.ts';
import type { KubeClient, KubeObject } from '../../kube/client.ts';
import { type DigestKey, digestKey } from '../../resources/secret-digest.ts';

const NAME = 'davit-hmac';
const FIELD = 'key';
const BYTES = 32;

interface KeySecret extends KubeObject {
  readonly type?: string;
  readonly immutable?: boolean;
  readonly data?: Readonly<Record<string, string>>;
}

/** Reads or creates the key in `namespace` at the first call. A failure is thrown, and the next call retries. */
export function makeDigestKey(client: KubeClient, namespace: string): () => Promise<DigestKey> {
  let known: Promise<DigestKey> | undefined;
  return () => {
    known ??= readOrMake(client, namespace).catch((error: unknown) => {
      known = undefined;
      throw error;
    });
    return known;
  };
}

async function readOrMake(client: KubeClient, namespace: string): Promise<DigestKey> {
  const read = (): Promise<KeySecret> => client.get<KeySecret>(SECRETS, { namespace, name: NAME });
  try {
    return keyIn(await read());
  } catch (error) {
    if (!(error instanceof NotFound)) throw error;
  }
  try {
    return keyIn(await client.create(SECRETS, aKey(namespace)));
  } catch (error) {
    if (!(error instanceof AlreadyExists)) throw error;
    return keyIn(await read());
  }
}

function aKey(namespace: string): KeySecret {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: NAME, namespace, labels: { 'app.kubernetes.io/part-of': 'davit' } },
    type: 'Opaque',
    immutable: true,
    data: { [FIELD]: randomBytes(BYTES).toString('base64') },
  };
}

function keyIn({ metadata, data }: KeySecret): DigestKey {
  const bytes = Buffer.from(data?.[FIELD] ?? '', 'base64');
  if (bytes.length < BYTES)
    throw new Terminal(
      `read the digest key: Secret ${metadata.name} in ${metadata.namespace} does not have ${BYTES} bytes under ${FIELD}. Delete the Secret and restart the controller. A new key restarts no pods.`,
    );
  return digestKey(bytes);
}
