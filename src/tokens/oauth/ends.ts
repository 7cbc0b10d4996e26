// What ends what is kept for people: the tenant, the provider or the deployment is gone, or nobody has finished an authorization. Pure.

import { jsonOf } from '../../runtime/json-value.ts';
import type { EntryKind, Subject } from './names.ts';

/** As much of an entry as is judged. */
export interface Judged {
  readonly kind: EntryKind;
  readonly subject: Subject;
  readonly about: {
    /** Uid of the provider that gave a token or knows a client. A connection has none. */
    readonly providerUid?: string | undefined;
    /** A flow, state or confirmation ends then, RFC 3339. */
    readonly expiresAt?: string | undefined;
    /** The token of a connection. */
    readonly tokenId?: string | undefined;
  };
}

export interface World {
  /** Uid of a namespace. Undefined if it is gone. */
  namespaceUid(name: string): string | undefined;
  /** Uid of a provider. Undefined if it is gone. */
  providerUid(id: string): string | undefined;
  hasDeployment(uid: string): boolean;
  hasToken(id: string): boolean;
  readonly now: Date;
}

export type End = 'tenant' | 'provider' | 'deployment' | 'token' | 'time';

/** Undefined while it lasts. A provider that was changed ends nothing: the change may be taken back. */
export function endOf({ kind, subject, about }: Judged, world: World): End | undefined {
  const { tenant, tenantId, provider } = subject;
  if (kind === 'flow' || kind === 'state' || kind === 'confirmation')
    return Date.parse(about.expiresAt ?? '') <= world.now.getTime() ? 'time' : undefined;
  if (kind !== 'client' && world.namespaceUid(tenant) !== tenantId) return 'tenant';
  if (kind === 'trail') return undefined;
  const uid = world.providerUid(provider);
  if (uid === undefined || (about.providerUid !== undefined && about.providerUid !== uid)) return 'provider';
  const deployment = deploymentOf(subject);
  if (deployment !== undefined && !world.hasDeployment(deployment)) return 'deployment';
  return kind === 'connection' && !world.hasToken(about.tokenId ?? '') ? 'token' : undefined;
}

/** Uid of the deployment whose agent it is for. See `agentSlot`. */
export function deploymentOf({ slot }: Subject): string | undefined {
  const parsed = slot === '' ? undefined : jsonOf(slot);
  return Array.isArray(parsed) && parsed[0] === 'deployment' ? String(parsed[1]) : undefined;
}
