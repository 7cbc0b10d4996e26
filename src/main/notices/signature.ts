// Signs requests as Standard Webhooks has it: https://github.com/standard-webhooks/standard-webhooks, "Signature scheme".

import { createHmac } from 'node:crypto';

const PREFIX = 'whsec_';

/** The bytes of a signing secret; undefined for a text that is none. */
export function signingKey(secret: string): Buffer | undefined {
  const text = secret.trim();
  const key = text.startsWith(PREFIX) ? Buffer.from(text.slice(PREFIX.length), 'base64') : undefined;
  return key && key.length >= 24 && key.length <= 64 ? key : undefined;
}

/** `seconds`: since 1970. */
export function signedHeaders(key: Buffer, id: string, seconds: number, body: string): Record<string, string> {
  const signature = createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': String(seconds), 'webhook-signature': `v1,${signature}` };
}
