// The verifier of a password, as PostgreSQL stores it. Source: RFC 5802 and 7677, and PostgreSQL's pg_authid. The password itself is
// thereby in no statement, and in no log of the server.

import { createHash, createHmac, pbkdf2Sync } from 'node:crypto';

const ITERATIONS = 4096;
const BYTES = 32;

/** `password`: printable ASCII, which SASLprep leaves as it is. `salt`: 16 random bytes. */
export function scramVerifier(password: string, salt: Buffer): string {
  const salted = pbkdf2Sync(password, salt, ITERATIONS, BYTES, 'sha256');
  const keyOf = (what: string): Buffer => createHmac('sha256', salted).update(what).digest();
  const stored = createHash('sha256').update(keyOf('Client Key')).digest('base64');
  const server = keyOf('Server Key').toString('base64');
  return `SCRAM-SHA-256$${ITERATIONS}:${salt.toString('base64')}$${stored}:${server}`;
}
