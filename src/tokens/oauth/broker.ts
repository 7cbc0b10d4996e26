// Which token answers a request, and what a person is asked for where none does.

import type { OAuthProvider } from '../../kinds/oauth-provider.ts';
import { providerIdOf } from '../../kinds/provider-id.ts';
import type { Connections } from './connections.ts';
import type { Flows, OpenFlow, Request } from './flow.ts';
import type { ReadKeys } from './keys.ts';
import { agentSlot, idOf, ownSlot, type Requester, type Subject } from './names.ts';
import { isOf, ownerOf, type Person } from './people.ts';
import { randomValue } from './random.ts';
import type { Grant } from './server.ts';
import { TokenAbout } from './token.ts';
import type { TokenEntry } from './token-store.ts';
import type { Obtained, Tokens } from './tokens.ts';
import type { Trail } from './trail.ts';
import type { Vault } from './vault.ts';

/** A caller that requests a person's token. */
export interface Asking extends Person {
  readonly requester: Requester;
  readonly scopes: readonly string[];
  readonly agentId?: string | undefined;
  readonly tokenId?: string | undefined;
  readonly forceNew: boolean;
  readonly isDefault: boolean;
}

export type Outcome =
  | { readonly status: 'completed'; readonly token: string; readonly entry: TokenEntry }
  | { readonly status: 'pending' | 'connection_required' | 'token_expired'; readonly flow: OpenFlow };

export interface Broker {
  /** Throws GrantFailed or CodeHostFailed if a refresh fails, HttpError 429 with too many unfinished authorizations. */
  authenticate(asking: Asking, provider: OAuthProvider): Promise<Outcome>;
  /** A person's tokens, by the time of their consent. */
  list(person: Person): Promise<readonly TokenEntry[]>;
  /** Undefined if it is not this person's. */
  find(person: Person, id: string): Promise<TokenEntry | undefined>;
  /** An agent gets the token. */
  give(entry: TokenEntry, requester: Requester, agentId: string | undefined): Promise<void>;
  /** Stores the token for which the person has consented, and connects the agent. */
  keep(subject: Subject, provider: OAuthProvider, request: Request, grant: Grant): Promise<TokenEntry>;
}

export interface BrokerOptions {
  readonly vault: Vault;
  readonly keys: ReadKeys;
  readonly flows: Flows;
  readonly tokens: Tokens;
  readonly connections: Connections;
  readonly trail: Trail;
  readonly now: () => Date;
}

type Found = TokenEntry | 'not connected' | undefined;

export function makeBroker({ vault, keys, flows, tokens, connections, trail, now }: BrokerOptions): Broker {
  async function find(person: Person, id: string): Promise<TokenEntry | undefined> {
    const entry = await tokens.read(id);
    return entry && isOf(person, entry) ? entry : undefined;
  }

  /** By its id, otherwise the default token. What a person gave to one agent is for that agent alone. */
  async function ownToken(asking: Asking, subject: Subject): Promise<TokenEntry | undefined> {
    const entry = await find(asking, asking.tokenId ?? idOf(await keys(), 'token', { ...subject, slot: '' }));
    return entry?.subject.provider === subject.provider && entry.about.agentId === undefined ? entry : undefined;
  }

  /** Only what is connected to the agent. */
  async function agentToken(asking: Asking, subject: Subject): Promise<Found> {
    const connected = (await connections.connectionOf(subject))?.about.tokenId;
    if (connected === undefined && asking.tokenId === undefined)
      return (await ownToken(asking, subject)) && 'not connected';
    if (connected === undefined || (asking.tokenId ?? connected) !== connected) return 'not connected';
    const entry = await find(asking, connected);
    return entry?.subject.provider === subject.provider ? entry : 'not connected';
  }

  async function tokenFor(asking: Asking, subject: Subject): Promise<Found> {
    if (asking.forceNew) return undefined;
    return asking.agentId === undefined ? ownToken(asking, subject) : agentToken(asking, subject);
  }

  const give = giverOf({ trail, tokens });

  return {
    find,
    give,
    async authenticate(asking, provider) {
      const { agentId, requester, scopes } = asking;
      const slot = agentId === undefined ? '' : agentSlot(requester, agentId);
      const subject = { ...ownerOf(asking), provider: providerIdOf(provider), slot };
      const found = await tokenFor(asking, subject);
      const entry = found === 'not connected' ? undefined : found;
      const obtained = entry && (await tokens.obtain(entry, provider, scopes));
      if (obtained?.kind === 'token') {
        await give(obtained.entry, requester, agentId);
        return { status: 'completed', token: obtained.token, entry: obtained.entry };
      }
      // What the person has granted already stays granted.
      const before = obtained?.kind === 'narrow' && entry ? entry.about.scopes : [];
      const flow = await flows.begin(subject, provider, {
        scopes: [...new Set([...before, ...scopes])],
        ...(agentId !== undefined && { agentId }),
        requester,
        // An agent has one token of each person and provider.
        isDefault: asking.isDefault || agentId !== undefined,
      });
      if (flow.isNew === true) await trail.note({ event: 'link', subject, agentId, requester });
      return { status: statusOf(found, obtained), flow };
    },
    async list(person) {
      const all = await vault.list('token', { owner: ownerOf(person) }, TokenAbout);
      return all
        .filter((entry) => isOf(person, entry))
        .toSorted((a, b) => a.about.createdAt.localeCompare(b.about.createdAt) || a.id.localeCompare(b.id));
    },
    async keep(asked, provider, request, grant) {
      const { agentId, requester, isDefault } = request;
      const subject = isDefault ? asked : { ...asked, slot: ownSlot(randomValue()) };
      const about = newAbout(provider, request, grant, now().toISOString());
      const kept = await tokens.keep({ id: idOf(await keys(), 'token', subject), subject, about }, provider, grant);
      if (agentId !== undefined) {
        const person = { tenant: { id: subject.tenantId, namespace: subject.tenant }, user: subject.user };
        await connections.connect(person, requester, agentId, kept);
      }
      await trail.note({ event: 'consented', subject: kept.subject, agentId, requester, tokenId: kept.id });
      return kept;
    },
  };
}

function giverOf({ trail, tokens }: Pick<BrokerOptions, 'trail' | 'tokens'>): Broker['give'] {
  return async (entry, requester, agentId) => {
    const { id: tokenId, subject } = entry;
    await trail.note({ event: 'given', subject, agentId, requester, tokenId }, () => tokens.used(entry));
  };
}

function newAbout(
  provider: OAuthProvider,
  { scopes, agentId, isDefault }: Request,
  { metadata }: Grant,
  time: string,
): TokenAbout {
  const { uid: providerUid } = provider.metadata;
  return {
    scopes,
    createdAt: time,
    updatedAt: time,
    isDefault,
    ...(agentId !== undefined && { agentId }),
    ...(providerUid !== undefined && { providerUid }),
    metadata: { ...metadata },
  };
}

function statusOf(found: Found, obtained: Obtained | undefined): 'pending' | 'connection_required' | 'token_expired' {
  if (obtained?.kind === 'expired') return 'token_expired';
  return found === undefined ? 'pending' : 'connection_required';
}
