// Verifies the signature of a code host's webhook, and reads which repository was pushed to. Pure.

import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { stringAt } from '../../../lib/http/json-scan.ts';
import type { Turns } from '../../../lib/http/turns.ts';

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

/** Bytes that are looked at between two questions whether the turn is over. */
const STEP = 256 * 1024;

/** HMAC-SHA-256 of the body's bytes. */
export async function isSignedBy(
  secret: string,
  body: Uint8Array,
  signature: Uint8Array,
  turns: Turns,
): Promise<boolean> {
  const hmac = createHmac('sha256', secret);
  for (let at = 0; at < body.length; at += STEP) {
    const over = turns.over();
    // oxlint-disable-next-line no-await-in-loop -- one step after the other
    if (over !== undefined) await over;
    hmac.update(body.subarray(at, at + STEP));
  }
  const expected = hmac.digest();
  return expected.length === signature.length && timingSafeEqual(expected, signature);
}

export function isPush(headers: IncomingHttpHeaders): boolean {
  return EVENTS.some((name) => headers[name] === 'push');
}

const LONGEST_NAME = 512;

/**
 * OWNER/NAME in lower case. Undefined if the event is not a push. Nothing else of the body is used: the commits are read from the
 * code host.
 */
export async function repositoryPushed(body: Uint8Array, turns: Turns): Promise<string | undefined> {
  for (const name of stringAt(body, ['repository', 'full_name'], STEP)) {
    if (name !== undefined) return name.length > 0 && name.length <= LONGEST_NAME ? name.toLowerCase() : undefined;
    const over = turns.over();
    // oxlint-disable-next-line no-await-in-loop -- one step after the other
    if (over !== undefined) await over;
  }
  return undefined;
}
