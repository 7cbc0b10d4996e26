// Verifies the signature of a code host's webhook, and reads which repository was pushed to. Pure.

import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { z } from 'zod';

/** Headers with a hexadecimal signature. Gitea and Forgejo send GitHub's too. GitHub's older header uses SHA-1 and is not accepted. */
const SIGNATURES = { 'x-hub-signature-256': 'sha256=', 'x-gitea-signature': '', 'x-forgejo-signature': '' } as const;
const EVENTS = ['x-github-event', 'x-gitea-event', 'x-forgejo-event'] as const;

/** The signature of a request: 32 bytes. Undefined if there is none of valid form. */
export function signatureIn(headers: IncomingHttpHeaders): Buffer | undefined {
  for (const [name, prefix] of Object.entries(SIGNATURES)) {
    const value = headers[name];
    if (typeof value !== 'string' || !value.startsWith(prefix)) continue;
    const digits = value.slice(prefix.length);
    if (/^[0-9a-f]{64}$/i.test(digits)) return Buffer.from(digits, 'hex');
  }
  return undefined;
}

/** HMAC-SHA-256 of the body's bytes. */
export function isSignedBy(secret: string, body: Uint8Array, signature: Uint8Array): boolean {
  const expected = createHmac('sha256', secret).update(body).digest();
  return expected.length === signature.length && timingSafeEqual(expected, signature);
}

export function isPush(headers: IncomingHttpHeaders): boolean {
  return EVENTS.some((name) => headers[name] === 'push');
}

const Push = z.object({ repository: z.object({ full_name: z.string().min(1).max(512) }) });

/**
 * OWNER/NAME in lower case. Undefined if the event is not a push. Nothing else of the body is used: the commits are read from the
 * code host.
 */
export function repositoryPushed(body: Uint8Array): string | undefined {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8'));
  } catch {
    return undefined;
  }
  const push = Push.safeParse(value);
  return push.success ? push.data.repository.full_name.toLowerCase() : undefined;
}
