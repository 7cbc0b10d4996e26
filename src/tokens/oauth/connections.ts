// Which of a person's tokens an agent may use: one of each provider.

import { z } from 'zod';
import { HttpError } from '../../runtime/http/http-error.ts';
import type { ReadKeys } from './keys.ts';
import { agentSlot, idOf, type Requester, type Subject } from './names.ts';
import { isOf, ownerOf, type Person } from './people.ts';
import type { TokenEntry } from './token-store.ts';
import { type Entry, put, type Vault } from './vault.ts';

const ConnectionAbout = z.object({ agentId: z.string(), tokenId: z.string(), createdAt: z.string() });
export type ConnectionEntry = Entry<z.output<typeof ConnectionAbout>>;

export interface Connections {
  /** Throws HttpError 409 for a token that the person has given to another agent. */
  connect(person: Person, requester: Requester, agentId: string, token: TokenEntry): Promise<ConnectionEntry>;
  /** The connections of an agent of this caller. */
  connections(person: Person, requester: Requester, agentId: string): Promise<readonly ConnectionEntry[]>;
  /** The connection of the agent whose slot the subject has. */
  connectionOf(subject: Subject): Promise<ConnectionEntry | undefined>;
  disconnect(connection: ConnectionEntry): Promise<void>;
}

export interface ConnectionsOptions {
  readonly vault: Vault;
  readonly keys: ReadKeys;
  readonly now: () => Date;
}

export function makeConnections({ vault, keys, now }: ConnectionsOptions): Connections {
  return {
    async connect(person, requester, agentId, token) {
      const { provider } = token.subject;
      const slot = agentSlot(requester, agentId);
      if (token.about.agentId !== undefined && token.subject.slot !== slot)
        throw new HttpError(
          409,
          `The person gave this token to another agent. Request a token for agent "${agentId}".`,
        );
      const subject = { ...ownerOf(person), provider, slot };
      const about = { agentId, tokenId: token.id, createdAt: now().toISOString() };
      return put(vault, { kind: 'connection', id: idOf(await keys(), 'connection', subject), subject, about });
    },
    async connections(person, requester, agentId) {
      const slot = agentSlot(requester, agentId);
      const all = await vault.list('connection', { owner: ownerOf(person) }, ConnectionAbout);
      return all.filter((entry) => isOf(person, entry) && entry.subject.slot === slot);
    },
    async connectionOf(subject) {
      return vault.read('connection', idOf(await keys(), 'connection', subject), ConnectionAbout);
    },
    async disconnect(connection) {
      await vault.take(connection);
    },
  };
}
