// Names of the Secrets that hold tokens, and of what leads to one. A name is an HMAC: it is found by one read, and says nothing.

import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { KeyRing } from './key-ring.ts';
import { secretKeyOf } from './secret-keys.ts';

/** What a Secret of the namespace is. Policy davit-api of the chart lists the same. */
export const ENTRY_KINDS = ['token', 'connection', 'flow', 'state', 'confirmation', 'client', 'trail'] as const;
export type EntryKind = (typeof ENTRY_KINDS)[number];

/** Whose token it is. */
export interface Subject {
  /** Namespace of the tenant. */
  readonly tenant: string;
  /** Uid of that namespace: a new namespace of the same name inherits nothing. */
  readonly tenantId: string;
  /** provider_id. */
  readonly provider: string;
  readonly user: string;
  /** Which of the person's tokens: '' is the default one. See `agentSlot` and `ownSlot`. */
  readonly slot: string;
}

/** Who asks for tokens: an account of the cluster or, with the credential of a pod, the deployment of that pod. */
export interface Requester {
  /** Verified name of the account. */
  readonly username: string;
  readonly deployment?: { readonly name: string; readonly uid: string } | undefined;
}

/**
 * The slot of an agent's token. agent_id alone is no identity, because unrelated projects use the same: it counts together with the
 * verified account or, for a pod, with the uid of its deployment.
 */
export function agentSlot({ username, deployment }: Requester, agentId: string): string {
  return JSON.stringify(deployment ? ['deployment', deployment.uid, agentId] : ['agent', username, agentId]);
}

/**
 * Whether what was asked for this agent, if for one, is the requester's to get: of the same account or deployment. What is for no agent is
 * for all who have the right.
 */
export function isFor(requester: Requester, { slot }: Subject, agentId: string | undefined): boolean {
  return agentId === undefined || slot === agentSlot(requester, agentId);
}

/** The slot of a token that is no default. It is reached by its id alone. */
export function ownSlot(random: string): string {
  return JSON.stringify(['own', random]);
}

/** A UUID that follows from the subject; `further`: what else distinguishes it, such as scopes. */
export function idOf(ring: KeyRing, kind: EntryKind, subject: Subject, further: readonly string[] = []): string {
  const { tenant, tenantId, provider, user, slot } = subject;
  const hex = hmac(ring, [kind, tenant, tenantId, provider, user, slot, ...further]);
  // Version 8 of RFC 9562: its other bits are free.
  const parts = [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `a${hex.slice(17, 20)}`];
  return [...parts, hex.slice(20, 32)].join('-');
}

/** Label value that all entries of a person in a tenant share. */
export function ownerLabel(ring: KeyRing, { tenant, tenantId, user }: Omit<Subject, 'provider' | 'slot'>): string {
  return hmac(ring, ['owner', tenant, tenantId, user]).slice(0, 40);
}

export function entryName(kind: EntryKind, id: string): string {
  return `${kind}-${id}`;
}

/** Id of the entry of a state. The state itself is not stored. */
export function stateId(state: string): string {
  return digestOf(state);
}

/** SHA-256 of a random value, in hexadecimal digits. */
export function digestOf(value: string): string {
  return createHash('sha256').update(value).digest('hex');
}

const HALF = 16;

/**
 * A value for one person's link or redirect, as 43 characters of base64url: 128 random bits and a tag, by which a request shows
 * without any read that Davit made its value.
 */
export function linkValue(ring: KeyRing): string {
  const random = randomBytes(HALF);
  return Buffer.concat([random, tagOf(ring, random)]).toString('base64url');
}

/** The random half of such a value; undefined for any other text. */
export function linkOf(ring: KeyRing, text: string): string | undefined {
  const bytes = Buffer.from(text, 'base64url');
  const random = bytes.subarray(0, HALF);
  const isMade = bytes.length === 2 * HALF && timingSafeEqual(bytes.subarray(HALF), tagOf(ring, random));
  return isMade ? random.toString('hex') : undefined;
}

function tagOf(ring: KeyRing, random: Buffer): Buffer {
  return Buffer.from(hmac(ring, ['link', random.toString('hex')]), 'hex').subarray(0, HALF);
}

function hmac(ring: KeyRing, parts: readonly string[]): string {
  return createHmac('sha256', secretKeyOf(ring, ring.names)).update(JSON.stringify(parts)).digest('hex');
}
