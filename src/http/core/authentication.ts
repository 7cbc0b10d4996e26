// Authenticates a caller with one SelfSubjectReview that carries the caller's token, before anything else. The number of
// unknown tokens that are checked is limited, so that they do not affect callers with valid tokens.

import { LruMap } from 'toad-cache';
import { Forbidden, NotFound, Unauthorized } from '../../errors.ts';
import { SELF_SUBJECT_REVIEWS } from '../../kube/api-resources.ts';
import type { KubeClient, KubeObject } from '../../kube/client.ts';
import { makeFairLimiter } from '../../runtime/fair-limiter.ts';
import { HttpError } from './http-error.ts';

/** Whoever sent the token. `hash` stands for the token wherever something is remembered. */
export interface Credentials {
  readonly token: string;
  readonly hash: string;
}

export interface Authentication {
  /** Whose token it is, of one that was good lately; asks nobody. */
  known(sender: Credentials): string | undefined;
  /** Whose token it was when it was last good, however long ago that is; asks nobody. */
  remembered(sender: Credentials): string | undefined;
  /** Whose token it is. Refuses with 401 a token of nobody, with 429 and 503 what would be too many to find out. */
  authenticate(sender: Credentials, address: string): Promise<string>;
  /** The API server has refused the token for something else. */
  forget(sender: Credentials): void;
}

export interface AuthenticationOptions {
  /** A client of the API server with the sender's token. */
  readonly clientOf: (sender: Credentials) => KubeClient;
  readonly now: () => Date;
}

/** So long a user's name is believed. What it may do is asked every ten seconds, which tells of a token that has ended. */
const GOOD_MS = 600_000;
const WRONG_MS = 10_000;
const REMEMBERED = 10_000;
const WINDOW_MS = 60_000;
/** Tokens of one address in a window that were never good. */
const MOST_TRIED = 300;
/** A fraction of the connections to the API server: for tokens that nobody knows, and as many for those that were good once. */
const SLOTS = { most: 8, mostOfGroup: 4, always: 0, mostWaiting: 64, mostWaitingOfGroup: 16 };

interface SelfSubjectReview extends KubeObject {
  readonly status?: { readonly userInfo?: { readonly username?: string } };
}

export function makeAuthentication({ clientOf, now }: AuthenticationOptions): Authentication {
  // Apart, so that made-up tokens push no good one out.
  const good = new LruMap<{ readonly username: string; readonly at: number }>(REMEMBERED);
  const wrong = new LruMap<number>(REMEMBERED);
  const tried = new LruMap<{ readonly since: number; count: number }>(REMEMBERED);
  const underWay = new Map<string, Promise<string>>();
  const slots = { strangers: makeFairLimiter(SLOTS), acquaintances: makeFairLimiter(SLOTS) };

  const isWithin = (ms: number, at: number | undefined): boolean => {
    const time = now().getTime();
    return at !== undefined && time >= at && time - at < ms;
  };

  function known({ hash }: Credentials): string | undefined {
    const before = good.get(hash);
    return isWithin(GOOD_MS, before?.at) ? before?.username : undefined;
  }

  /** Returns what takes the count back: a token that turns out good is no try. */
  function countTry(address: string): () => void {
    const at = now().getTime();
    let counted = tried.get(address);
    if (counted === undefined || !isWithin(WINDOW_MS, counted.since)) {
      counted = { since: at, count: 0 };
      tried.set(address, counted);
    }
    const counting = counted;
    counting.count += 1;
    if (counting.count <= MOST_TRIED) return () => void (counting.count -= 1);
    const seconds = String(Math.max(1, Math.ceil((counted.since + WINDOW_MS - at) / 1000)));
    throw new HttpError(
      429,
      `More than ${MOST_TRIED} tokens that nobody knows came from this address in a minute. A token that was good before is still taken. Try again in ${seconds} s.`,
      { 'retry-after': seconds },
    );
  }

  function forget(sender: Credentials): void {
    good.delete(sender.hash);
    wrong.set(sender.hash, now().getTime());
  }

  async function review(sender: Credentials, address: string): Promise<string> {
    // One that was good once is no stranger's, and does not wait behind strangers.
    const before = good.get(sender.hash)?.username;
    const uncount = before === undefined ? countTry(address) : undefined;
    const slot = before === undefined ? slots.strangers.take(address) : slots.acquaintances.take(before);
    const giveBack = await (slot ?? tooMany());
    try {
      const username = await usernameOf(clientOf(sender), sender);
      uncount?.();
      good.set(sender.hash, { username, at: now().getTime() });
      return username;
    } catch (error) {
      if (error instanceof Unauthorized) forget(sender);
      throw error;
    } finally {
      giveBack();
    }
  }

  return {
    known,
    remembered: ({ hash }) => good.get(hash)?.username,
    forget,
    async authenticate(sender, address) {
      const username = known(sender);
      if (username !== undefined) return username;
      if (isWithin(WRONG_MS, wrong.get(sender.hash)))
        throw new Unauthorized('review a token: it was wrong a moment ago');
      const before = underWay.get(sender.hash);
      if (before !== undefined) return before;
      const reviewing = review(sender, address).finally(() => underWay.delete(sender.hash));
      underWay.set(sender.hash, reviewing);
      return reviewing;
    },
  };
}

async function usernameOf(kube: KubeClient, sender: Credentials): Promise<string> {
  try {
    const review: SelfSubjectReview = await kube.create<SelfSubjectReview>(SELF_SUBJECT_REVIEWS, {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'SelfSubjectReview',
      metadata: { name: '' },
    });
    const username = review.status?.userInfo?.username;
    // Where anonymous requests are served, one who is nobody has no token that counts.
    if (username === 'system:anonymous') throw new Unauthorized('review a token: it is nobody');
    return username === undefined || username === '' ? nameless(sender) : username;
  } catch (error) {
    // Known, and not allowed to ask: a cluster may have taken the right away that everybody has by default.
    if (error instanceof Forbidden || error instanceof NotFound) return nameless(sender);
    throw error;
  }
}

function nameless({ hash }: Credentials): string {
  return `token ${hash}`;
}

function tooMany(): never {
  throw new HttpError(503, 'Too many callers who are not known yet are asked about. Try again in 1 s.', {
    'retry-after': '1',
  });
}
