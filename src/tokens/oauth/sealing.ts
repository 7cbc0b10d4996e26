// Seals values with AES-256-GCM. The additional data says what a value is for: it opens only with the same, so a value that was
// moved, or whose provider has changed, stays closed.

import { createCipheriv, createDecipheriv } from 'node:crypto';
import type { OAuthProvider } from '../../kinds/oauth-provider.ts';
import { type KeyRing, newestKey } from './key-ring.ts';
import type { EntryKind, Subject } from './names.ts';
import { secretKeyOf } from './secret-keys.ts';

const ALGORITHM = 'aes-256-gcm';
const VERSION = 'v1';
const NONCE_BYTES = 12;

/** `mismatch`: sealed for something else, or altered. `unknown key`: sealed with a key that the ring does not have. */
export type Opened = { readonly text: string; readonly isNewest: boolean } | 'mismatch' | 'unknown key';

/** Returns `v1.KEY.NONCE.TAG.TEXT`. `nonce`: 12 random bytes, used once. */
export function seal(ring: KeyRing, nonce: Buffer, text: string, boundTo: string): string {
  if (nonce.length !== NONCE_BYTES) throw new TypeError(`a nonce has ${NONCE_BYTES} bytes`);
  const newest = newestKey(ring);
  const { id } = newest;
  const cipher = createCipheriv(ALGORITHM, secretKeyOf(newest, newest.key), nonce);
  cipher.setAAD(additional(id, boundTo));
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return [VERSION, id, ...[nonce, cipher.getAuthTag(), sealed].map((part) => part.toString('base64url'))].join('.');
}

/** Opens what `seal` returned. Never throws. */
export function open(ring: KeyRing, sealed: string, boundTo: string): Opened {
  const [version, id = '', nonce = '', tag = '', text = '', ...more] = sealed.split('.');
  if (version !== VERSION || text === '' || more.length > 0) return 'mismatch';
  const key = ring.keys.find((one) => one.id === id);
  if (key === undefined) return 'unknown key';
  try {
    const decipher = createDecipheriv(ALGORITHM, secretKeyOf(key, key.key), Buffer.from(nonce, 'base64url'), {
      authTagLength: 16,
    });
    decipher.setAAD(additional(id, boundTo));
    decipher.setAuthTag(Buffer.from(tag, 'base64url'));
    const opened = Buffer.concat([decipher.update(Buffer.from(text, 'base64url')), decipher.final()]);
    return { text: opened.toString('utf8'), isNewest: newestKey(ring).id === id };
  } catch {
    return 'mismatch';
  }
}

function additional(keyId: string, boundTo: string): Buffer {
  return Buffer.from(JSON.stringify([VERSION, keyId, boundTo]));
}

// What a sealed value is bound to: whose it is, and the client and addresses for which it was given. A change of one of them, or a
// provider that was deleted and made again under its name, leaves the value closed, so it is sent nowhere.

/** Additional data of the seal of one entry. */
export function boundTo(kind: EntryKind, id: string, subject: Subject, { metadata, spec }: OAuthProvider): string {
  const { tenant, tenantId, provider, user, slot } = subject;
  const { clientId, issuer, authUrl, tokenUrl, revocationUrl, mcpServerUrl } = spec;
  const whose = [tenant, tenantId, provider, user, slot];
  const from = [
    metadata.name,
    metadata.uid ?? '',
    clientId,
    issuer ?? '',
    authUrl,
    tokenUrl,
    revocationUrl ?? '',
    mcpServerUrl ?? '',
  ];
  return JSON.stringify([kind, id, whose, from]);
}
