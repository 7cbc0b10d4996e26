// The key ring of tokens, in a Secret of Davit's namespace: it is created by the process that needs it first, and rotated.

import { randomBytes } from 'node:crypto';
import { throwAsOurs } from '../../api/organization-secrets.ts';
import { FACADE_FIELD_MANAGER } from '../../kinds/meta.ts';
import type { KubeClient } from '../../runtime/kube/client.ts';
import { readKeyRing } from '../../runtime/kube/key-ring-secret.ts';
import type { Logger } from '../../runtime/logger.ts';
import { makeRemembered } from '../../runtime/remembered.ts';
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
  const remembered = makeRemembered<KeyRing>({ now, forMs: REMEMBERED_MS });

  const read = (): Promise<KeyRing> =>
    readKeyRing({
      kube,
      ref: { namespace, name: OAUTH_KEYS_SECRET },
      log,
      what: 'Keys of tokens',
      field: FIELD,
      rotated: (ring) => rotatedKeyRing(ring, now(), randomBytes),
      fieldsOf: (ring) => ({ [FIELD]: JSON.stringify(ring) }),
      parse: parseKeyRing,
      writing: { fieldManager: FACADE_FIELD_MANAGER },
    }).catch(throwAsOurs);

  return (fresh) => remembered('', read, fresh);
}
