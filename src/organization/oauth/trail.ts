// What became of people's tokens: a line of the log for each event, and the last events of a tenant in an entry of the vault, so that they
// survive the process.

import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { Logger } from '../../lib/logger.ts';
import { deploymentOf } from './ends.ts';
import type { ReadKeys } from './keys.ts';
import { idOf, type Requester, type Subject } from './names.ts';
import { put, type Vault } from './vault.ts';

export const TRAIL_EVENTS = ['link', 'consented', 'refused', 'given', 'refreshed', 'expired', 'revoked'] as const;

export const TrailEvent = z.object({
  event: z.enum(TRAIL_EVENTS),
  /** RFC 3339. */
  at: z.string(),
  provider: z.string(),
  user: z.string(),
  agentId: z.string().optional(),
  /** The account that asked. Absent where Davit acted on its own. */
  account: z.string().optional(),
  /** The deployment of the agent. `name` is absent where only its uid is known. */
  deployment: z.object({ name: z.string().optional(), uid: z.string() }).optional(),
  tokenId: z.string().optional(),
});
export type TrailEvent = z.output<typeof TrailEvent>;

const TrailAbout = z.object({ events: z.array(TrailEvent) });

export interface Noted {
  readonly event: TrailEvent['event'];
  readonly subject: Subject;
  readonly agentId?: string | undefined;
  readonly requester?: Requester | undefined;
  readonly tokenId?: string | undefined;
}

export interface Trail {
  /** Never fails. Resolves to whether the event is stored; `given` is, once in a while for each token and requester. */
  note(noted: Noted): Promise<boolean>;
  /** The last events of a tenant, newest first. */
  events(tenant: Tenant): Promise<readonly TrailEvent[]>;
}

type Tenant = Pick<Subject, 'tenant' | 'tenantId'>;

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

  function isNews(event: TrailEvent): boolean {
    if (event.event !== 'given') return true;
    const key = JSON.stringify([event.tokenId, event.account, event.deployment?.uid]);
    const time = now().getTime();
    if (time - (given.get(key) ?? 0) < GIVEN_AGAIN_MS) return false;
    if (given.size >= MOST_REMEMBERED) given.clear();
    given.set(key, time);
    return true;
  }

  return {
    async note({ subject, requester, ...noted }) {
      const event = eventOf({ subject, requester, ...noted }, now());
      const { user, at: _at, ...said } = event;
      log.info({ tenant: subject.tenant, ...said, person: digestOfPerson(user) }, 'Token event');
      if (!isNews(event) || !hasTenant(subject)) return false;
      try {
        await put(vault, await entryOf(subject), (before) => ({
          events: withEvent(TrailAbout.safeParse(before).data?.events ?? [], event),
        }));
        return true;
      } catch (err) {
        log.warn({ err, tenant: subject.tenant }, 'A token event is in the log alone');
        return false;
      }
    },
    async events(tenant) {
      const { kind, id } = await entryOf(tenant);
      return (await vault.read(kind, id, TrailAbout))?.about.events.toReversed() ?? [];
    },
  };
}

function eventOf({ event, subject, agentId, requester, tokenId }: Noted, now: Date): TrailEvent {
  const uid = deploymentOf(subject);
  const deployment = requester?.deployment ?? (uid === undefined ? undefined : { uid });
  return {
    event,
    at: now.toISOString(),
    provider: subject.provider,
    user: subject.user,
    ...(agentId !== undefined && { agentId }),
    ...(requester && { account: requester.username }),
    ...(deployment && { deployment }),
    ...(tokenId !== undefined && { tokenId }),
  };
}

/** A `given` or `refreshed` replaces the one before of its token and requester, so that what repeats itself drives nothing else out. */
export function withEvent(before: readonly TrailEvent[], event: TrailEvent): TrailEvent[] {
  const repeats = event.event === 'given' || event.event === 'refreshed';
  const events = [...before.filter((one) => !repeats || !isRepeat(one, event)), event].slice(-MOST_EVENTS);
  while (Buffer.byteLength(JSON.stringify(events)) > MOST_BYTES) events.shift();
  return events;
}

function isRepeat(one: TrailEvent, other: TrailEvent): boolean {
  return (
    (['event', 'tokenId', 'account'] as const).every((field) => one[field] === other[field]) &&
    one.deployment?.uid === other.deployment?.uid
  );
}

/** Logs go further than tokens do: `printf %s NAME | sha256sum` finds a person. */
function digestOfPerson(user: string): string {
  return createHash('sha256').update(user).digest('hex').slice(0, 16);
}
