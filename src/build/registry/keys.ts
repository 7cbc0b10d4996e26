// Davit's keys for the registry, in Secrets of Davit's namespace: the key that signs passwords, which is created once,
// and the key ring that signs tokens, which is rotated. The process that needs a key first creates it.

import { readKey } from '../../runtime/controller/key-secret.ts';
import type { KubeClient } from '../../runtime/kube/client.ts';
import { readKeyRing } from '../../runtime/kube/key-ring-secret.ts';
import type { Logger } from '../../runtime/logger.ts';
import { makeRemembered } from '../../runtime/remembered.ts';
import { PASSWORD_KEY } from './registry-grant.ts';
import {
  KEY_RING_KEY,
  type KeyRing,
  keyRingData,
  makeSigningKey,
  parseKeyRing,
  rotatedKeyRing,
} from './signing-keys.ts';

/** The Secret whose `jwks.json` a registry mounts if it uses Davit's token server. */
export const KEY_RING_SECRET = 'davit-registry-tokens';

export interface RegistryKeys {
  /** Returns the key that signs registry passwords. Throws Terminal if its Secret is malformed. */
  passwordKey(): Promise<Uint8Array>;
  /**
   * Returns the key ring that signs tokens, and rotates it if that is due. Throws an Error if its Secret is malformed.
   */
  keyRing(): Promise<KeyRing>;
}

export interface RegistryKeysOptions {
  readonly kube: KubeClient;
  /** Davit's own namespace. */
  readonly namespace: string;
  readonly now: () => Date;
  readonly log: Logger;
}

/** Keys are cached for this time. They are read again because a person may have restored another Secret. */
const REMEMBERED_MS = 60_000;
/** Anybody can ask for a token: during an outage that must not become as many requests to the API server. */
const FAILED_MS = 1000;

export function makeRegistryKeys({ kube, namespace, now, log }: RegistryKeysOptions): RegistryKeys {
  const passwordKey = (): Promise<Uint8Array> => readKey({ client: kube, namespace, ...PASSWORD_KEY });
  const keyRing = (): Promise<KeyRing> =>
    readKeyRing({
      kube,
      ref: { namespace, name: KEY_RING_SECRET },
      log,
      what: 'Signing keys',
      field: KEY_RING_KEY,
      rotated: (ring) => rotatedKeyRing(ring, now(), () => makeSigningKey(now())),
      fieldsOf: keyRingData,
      parse: parseKeyRing,
    });

  const remembering = { now, forMs: REMEMBERED_MS, failedMs: FAILED_MS };
  const [keys, rings] = [makeRemembered<Uint8Array>(remembering), makeRemembered<KeyRing>(remembering)];
  return { passwordKey: () => keys('', passwordKey), keyRing: () => rings('', keyRing) };
}
