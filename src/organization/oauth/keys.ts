// The key ring of tokens, in a Secret of Davit's namespace: it is created by the process that needs it first, and rotated.

import { randomBytes } from 'node:crypto';
import { Conflict } from '../../lib/errors.ts';
import { SECRETS } from '../../lib/kube/api-resources.ts';
import type { KubeClient, SecretObject } from '../../lib/kube/client.ts';
import { readOrCreate } from '../../lib/kube/read-or-create.ts';
import type { Logger } from '../../lib/logger.ts';
import { FACADE_FIELD_MANAGER } from '../../schema/meta.ts';
import { type KeyRing, parseKeyRing, rotatedKeyRing } from './key-ring.ts';

export const OAUTH_KEYS_SECRET = 'davit-oauth-keys';
const FIELD = 'keys.json';

/** Returns the key ring. `fresh`: reads it again, because another process may have rotated it. */
export type ReadKeys = (fresh?: boolean) => Promise<KeyRing>;

export interface KeysOptions {
  readonly kube: KubeClient;
  /** Davit's own namespace. */
  readonly namespace: string;
  readonly now: () => Date;
  readonly log: Logger;
}

const REMEMBERED_MS = 60_000;

export function makeKeys({ kube, namespace, now, log }: KeysOptions): ReadKeys {
  const ref = { namespace, name: OAUTH_KEYS_SECRET };
  let known: { readonly at: number; readonly ring: Promise<KeyRing> } | undefined;

  async function read(): Promise<KeyRing> {
    const secret = await readOrCreate<SecretObject>(kube, SECRETS, ref, () => ({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { ...ref, labels: { 'app.kubernetes.io/part-of': 'davit' } },
      type: 'Opaque',
      data: encoded(rotatedKeyRing(undefined, now(), randomBytes)),
    }));
    const ring = ringIn(secret);
    const wanted = rotatedKeyRing(ring, now(), randomBytes);
    if (wanted === ring) return ring;
    try {
      const { uid, resourceVersion } = secret.metadata;
      const patch = { metadata: { uid, resourceVersion }, data: encoded(wanted) };
      return ringIn(await kube.mergePatch(SECRETS, ref, patch, { fieldManager: FACADE_FIELD_MANAGER }));
    } catch (err) {
      // After a Conflict, another replica has rotated the keys. The next read has the new key, and until then the old one seals.
      if (!(err instanceof Conflict)) log.warn({ secret: OAUTH_KEYS_SECRET, err }, 'Keys of tokens were not rotated');
      return ring;
    }
  }

  return (fresh = false) => {
    const at = now().getTime();
    if (!fresh && known !== undefined && at >= known.at && at - known.at < REMEMBERED_MS) return known.ring;
    const reading = { at, ring: read() };
    known = reading;
    reading.ring.catch(() => {
      if (known === reading) known = undefined;
    });
    return reading.ring;
  };
}

function encoded(ring: KeyRing): Record<string, string> {
  return { [FIELD]: Buffer.from(JSON.stringify(ring)).toString('base64') };
}

function ringIn({ data }: SecretObject): KeyRing {
  return parseKeyRing(Buffer.from(data?.[FIELD] ?? '', 'base64').toString('utf8'));
}
