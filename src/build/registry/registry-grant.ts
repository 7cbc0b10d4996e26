// A registry password of Davit's own: which repository it is for, what may be done there, and until when, signed with a key
// that both processes read. The API takes it for a token of the registry; nothing is kept of it.

import { createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { jsonOf } from '../../runtime/json-value.ts';

export const REGISTRY_ACTIONS = ['pull', 'push'] as const;
export type RegistryAction = (typeof REGISTRY_ACTIONS)[number];

export interface RegistryGrant {
  /** As the registry names it; one that ends in `/*` is for every repository below. */
  readonly repository: string;
  readonly actions: readonly RegistryAction[];
  /** Seconds since 1970. */
  readonly expires: number;
  /** For people: nothing is pushed to a repository that is full of tags. Builds push a bounded number. */
  readonly isLimited?: boolean;
}

const Payload = z.strictObject({
  r: z.string().min(1).max(512),
  a: z.array(z.enum(REGISTRY_ACTIONS)).min(1).max(REGISTRY_ACTIONS.length),
  e: z.int().min(0),
  l: z.literal(true).optional(),
});

/** Where the key is in Davit's own namespace. */
export const PASSWORD_KEY = {
  name: 'davit-registry-key',
  field: 'key',
  bytes: 32,
  what: 'the key that signs registry passwords',
  replaced: 'This invalidates all passwords that the key signed; Davit issues its own again',
} as const;
/** The user name that goes with every such password. It means nothing. */
export const REGISTRY_USER = 'davit';

const PREFIX = 'davit-registry-1';

/** The password. It has no character that a shell, a header or a docker configuration would have to quote. */
export function registryPassword(key: Uint8Array, grant: RegistryGrant): string {
  const { repository: r, actions: a, expires: e, isLimited } = grant;
  const payload = Buffer.from(JSON.stringify({ r, a, e, ...(isLimited === true && { l: true }) })).toString(
    'base64url',
  );
  return `${PREFIX}.${payload}.${signature(key, payload)}`;
}

/** Characters: the payload names one repository. */
const LONGEST_PASSWORD = 2048;

/** Whether text has the form of a password, so that its signature is worth a look. */
export function mayBePassword(text: string): boolean {
  return text.length <= LONGEST_PASSWORD && text.startsWith(`${PREFIX}.`);
}

/** What a password grants at `now`; undefined for one that is not signed with `key`, or has expired. */
export function registryGrant(key: Uint8Array, password: string, now: Date): RegistryGrant | undefined {
  const [prefix, payload = '', signed = '', ...more] = password.split('.');
  if (prefix !== PREFIX || more.length > 0) return undefined;
  const expected = Buffer.from(signature(key, payload));
  const given = Buffer.from(signed);
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined;
  const read = Payload.safeParse(jsonOf(Buffer.from(payload, 'base64url').toString()));
  if (!read.success || read.data.e * 1000 <= now.getTime()) return undefined;
  const { r, a, e, l } = read.data;
  return { repository: r, actions: a, expires: e, ...(l && { isLimited: true }) };
}

/** Whether a grant is for this repository. */
export function coversRepository({ repository }: Pick<RegistryGrant, 'repository'>, asked: string): boolean {
  if (!repository.endsWith('/*')) return asked === repository;
  return asked.startsWith(repository.slice(0, -1)) && asked.length > repository.length - 1;
}

function signature(key: Uint8Array, payload: string): string {
  return createHmac('sha256', key).update(`${PREFIX}.${payload}`).digest('base64url');
}
