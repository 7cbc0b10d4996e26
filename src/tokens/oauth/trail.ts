// What became of people's tokens: a line of the log for each event, and the last events of a tenant in an entry of the vault, so that they
// survive the process.

import { createHash } from 'node:crypto';
import { z } from 'zod';
import { time } from '../../api/payload-fields.ts';
import type { Logger } from '../../runtime/logger.ts';
import { deploymentOf } from './ends.ts';
import type { ReadKeys } from './keys.ts';
import { idOf, type Requester, type Subject } from './names.ts';
import { put, type Vault } from './vault.ts';

const text = (description: string): z.ZodNullable<z.ZodString> => z.string().nullable().describe(description);

/** As it is stored and answered. */
export const TokenEvent = z.object({
  event: z
    .enum(['link', 'consented', 'refused', 'given', 'refreshed', 'expired', 'revoked'])
    .describe(
      'link: an agent got a link to the page of consent. consented: the token is stored. refused: the person or the provider refused, or another person was confirmed. given: an agent got the token. refreshed: the provider issued a new one. expired: the provider refuses to refresh it. revoked: it was deleted.',
    ),
  at: time,
  provider_id: z.string(),
  user_id: z.string(),
  agent_id: text('The agent, as its caller names it.'),
  account: text('The account that requested it. null if Davit acted on its own.'),
  deployment_id: text('The deployment that requested it, if its pod did so with its own token.'),
  deployment: text('Its name. null where only its id is known.'),
  token_id: text('The token, if there is one.'),
});
export type TokenEvent = z.output<typeof TokenEvent>;

const TrailAbout = z.object({ events: z.array(TokenEvent) });

export interface Noted {
  readonly event: TokenEvent['event'];
  readonly subject: Subject;
  readonly agentId?: string | undefined;
  readonly requester?: Requester | undefined;
  readonly tokenId?: string | undefined;
}

type Tenant = Pick<Subject, 'tenant' | 'tenantId'>;

export interface Trail {
  /** Never fails. `given` is stored once in a while for each token and requester. `also`: what is written together with the event. */
  note(noted: Noted, also?: () => Promise<unknown>): Promise<void>;
  /** The last events of a tenant, newest first. */
  events(tenant: Tenant): Promise<readonly TokenEvent[]>;
}

export interface TrailOptions {
  readonly vault: Vault;
  readonly keys: ReadKeys;
  /** Whether the tenant is still there. */
  readonly hasTenant: (tenant: Tenant) => boolean;
  readonly now: () => Date;
  readonly log: Logger;
}

/** How exact the stored time of the last use is. */
const GIVEN_AGAIN_MS = 300_000;
/** Tokens and requesters that a process remembers. */
const MOST_REMEMBERED = 10_000;
const MOST_EVENTS = 200;
/** An annotation holds 256 KiB. */
const MOST_BYTES = 128 * 1024;

export function makeTrail({ vault, keys, hasTenant, now, log }: TrailOptions): Trail {
  const given = new Map<string, number>();
  const entryOf = async ({ tenant, tenantId }: Tenant): Promise<{ kind: 'trail'; id: string; subject: Subject }> => {
    const subject = { tenant, tenantId, provider: '', user: '', slot: '' };
    return { kind: 'trail', id: idOf(await keys(), 'trail', subject), subject };
  };

  function isNews(event: TokenEvent): boolean {
    if (event.event !== 'given') return true;
    const key = JSON.stringify([event.token_id, event.account, event.deployment_id]);
    const ms = now().getTime();
    if (ms - (given.get(key) ?? 0) < GIVEN_AGAIN_MS) return false;
    if (given.size >= MOST_REMEMBERED) given.clear();
    given.set(key, ms);
    return true;
  }

  return {
    async note({ event: name, subject, agentId, requester, tokenId }, also) {
      const event: TokenEvent = {
        event: name,
        at: now().toISOString(),
        provider_id: subject.provider,
        user_id: subject.user,
        agent_id: agentId ?? null,
        account: requester?.username ?? null,
        deployment_id: requester?.deployment?.uid ?? deploymentOf(subject) ?? null,
        deployment: requester?.deployment?.name ?? null,
        token_id: tokenId ?? null,
      };
      const { tenant } = subject;
      const { user_id: user, at: _at, ...said } = event;
      // Logs go further than tokens do, and the digest of a name finds a person all the same.
      const person = createHash('sha256').update(user).digest('hex').slice(0, 16);
      log.info({ tenant, ...said, person }, 'Token event');
      try {
        if (!isNews(event) || !hasTenant(subject)) return;
        await put(vault, await entryOf(subject), (before) => ({
          events: withEvent(TrailAbout.safeParse(before).data?.events ?? [], event),
        }));
        await also?.();
      } catch (err) {
        log.warn({ err, tenant }, 'Could not store a token event, it is only in this log');
      }
    },
    async events(tenant) {
      const { kind, id } = await entryOf(tenant);
      return (await vault.read(kind, id, TrailAbout))?.about.events.toReversed() ?? [];
    },
  };
}

const SAME = ['event', 'token_id', 'account', 'deployment_id'] as const;

/** A `given` or `refreshed` replaces the one before of its token and requester, so that what repeats itself drives nothing else out. */
export function withEvent(before: readonly TokenEvent[], event: TokenEvent): TokenEvent[] {
  const repeats = event.event === 'given' || event.event === 'refreshed';
  const kept = before.filter((one) => !repeats || SAME.some((field) => one[field] !== event[field]));
  const events = [...kept, event].slice(-MOST_EVENTS);
  while (Buffer.byteLength(JSON.stringify(events)) > MOST_BYTES) events.shift();
  return events;
}
