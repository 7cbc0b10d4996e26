// Keys of the registry, in Secrets of Davit's own namespace: one that passwords are signed with, made once, and the ring that
// tokens are signed with, which is rotated. Whichever process needs one first makes it.

import { randomBytes } from 'node:crypto';
import { Conflict, Terminal } from '../errors.ts';
import { SECRETS } from '../kube/api-resources.ts';
import type { KubeClient, KubeObject } from '../kube/client.ts';
import { readOrCreate } from '../kube/read-or-create.ts';
import type { Logger } from '../logger.ts';
import { REGISTRY_KEY_BYTES, REGISTRY_KEY_FIELD, REGISTRY_KEY_SECRET } from '../record/registry-grant.ts';
import {
  KEY_RING_KEY,
  type KeyRing,
  keyRingData,
  makeSigningKey,
  parseKeyRing,
  rotatedKeyRing,
} from './signing-keys.ts';

/** The Secret whose `jwks.json` a registry that asks Davit for tokens is to mount. */
export const KEY_RING_SECRET = 'davit-registry-tokens';

export interface RegistryKeys {
  /** What passwords are signed with. */
  passwordKey(): Promise<Uint8Array>;
  keyRing(): Promise<KeyRing>;
}

export interface RegistryKeysOptions {
  readonly kube: KubeClient;
  /** Davit's own. */
  readonly namespace: string;
  readonly now: () => Date;
  readonly log: Logger;
}

interface SecretObject extends KubeObject {
  readonly type?: string;
  readonly immutable?: boolean;
  readonly data?: Readonly<Record<string, string>>;
}

/** So long a key is believed. Somebody may have restored another one. */
const REMEMBERED_MS = 60_000;

export function makeRegistryKeys({ kube, namespace, now, log }: RegistryKeysOptions): RegistryKeys {
  function secretOf(name: string, make: () => Pick<SecretObject, 'immutable' | 'data'>): Promise<SecretObject> {
    const metadata = { name, namespace, labels: { 'app.kubernetes.io/part-of': 'davit' } };
    return readOrCreate<SecretObject>(kube, SECRETS, { namespace, name }, () => ({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata,
      type: 'Opaque',
      ...make(),
    }));
  }

  async function passwordKey(): Promise<Uint8Array> {
    const { data } = await secretOf(REGISTRY_KEY_SECRET, () => ({
      immutable: true,
      data: { [REGISTRY_KEY_FIELD]: randomBytes(REGISTRY_KEY_BYTES).toString('base64') },
    }));
    const key = Buffer.from(data?.[REGISTRY_KEY_FIELD] ?? '', 'base64');
    if (key.length >= REGISTRY_KEY_BYTES) return key;
    throw new Terminal(
      `read the registry's password key: Secret ${REGISTRY_KEY_SECRET} in ${namespace} has no ${REGISTRY_KEY_BYTES} bytes under ${REGISTRY_KEY_FIELD}. Delete it: a new key ends the passwords that are in use, and they are renewed.`,
    );
  }

  async function keyRing(): Promise<KeyRing> {
    const rotated = (ring?: KeyRing): KeyRing => rotatedKeyRing(ring, now(), () => makeSigningKey(now()));
    const secret = await secretOf(KEY_RING_SECRET, () => ({ data: encoded(rotated()) }));
    const ring = ringIn(secret);
    const wanted = rotated(ring);
    if (wanted === ring) return ring;
    try {
      const { uid, resourceVersion } = secret.metadata;
      const patch = { metadata: { uid, resourceVersion }, data: encoded(wanted) };
      return ringIn(await kube.mergePatch<SecretObject>(SECRETS, { namespace, name: KEY_RING_SECRET }, patch));
    } catch (err) {
      // Another replica was faster, or the keys stay as they are until it can be done.
      if (!(err instanceof Conflict)) log.warn({ secret: KEY_RING_SECRET, err }, 'Signing keys were not rotated');
      return ring;
    }
  }

  return { passwordKey: remembered(passwordKey, now), keyRing: remembered(keyRing, now) };
}

/** Asks again after a while, and at once after a failure. */
function remembered<T>(ask: () => Promise<T>, now: () => Date): () => Promise<T> {
  let known: { readonly at: number; readonly value: Promise<T> } | undefined;
  return () => {
    const at = now().getTime();
    if (known !== undefined && at >= known.at && at - known.at < REMEMBERED_MS) return known.value;
    const value = ask();
    known = { at, value };
    value.catch(() => {
      if (known?.value === value) known = undefined;
    });
    return value;
  };
}

function encoded(ring: KeyRing): Record<string, string> {
  return Object.fromEntries(
    Object.entries(keyRingData(ring)).map(([key, text]) => [key, Buffer.from(text).toString('base64')]),
  );
}

function ringIn({ data }: SecretObject): KeyRing {
  return parseKeyRing(Buffer.from(data?.[KEY_RING_KEY] ?? '', 'base64').toString('utf8'));
}
