// Authenticates a caller with one SelfSubjectReview that carries the caller's token, before anything else; the token of a pod with a
// TokenReview. The number of unknown tokens that are checked is limited, so that they do not affect callers with valid tokens.

import { LruMap } from 'toad-cache';
import { makeFairLimiter } from '../runtime/controller/fair-limiter.ts';
import { Forbidden, NotFound, Unauthorized } from '../runtime/errors.ts';
import { HttpError } from '../runtime/http/http-error.ts';
import { SELF_SUBJECT_REVIEWS } from '../runtime/kube/api-resources.ts';
import type { KubeClient, KubeObject } from '../runtime/kube/client.ts';
import type { Credentials } from './credentials.ts';
import { isForDavit, type PodUser } from './pod-tokens.ts';

export interface User {
  readonly username: string;
  /** Whose pod sent it, for the token of a pod. */
  readonly pod?: PodUser | undefined;
}

export interface Authentication {
  /** The user of a token that was valid recently. Sends no request. */
  known(sender: Credentials): User | undefined;
  /** The username of a token when it was last valid, at any time. Sends no request. */
  remembered(sender: Credentials): string | undefined;
  /** The user of a token. Rejects an invalid token with 401, and with 429 if too many unknown tokens are being checked. */
  authenticate(sender: Credentials, address: string): Promise<User>;
  /** Forgets a token that the API server rejected in another request. */
  forget(sender: Credentials): void;
}

export interface AuthenticationOptions {
  /** A client of the API server with the sender's token. */
  readonly clientOf: (sender: Credentials) => KubeClient;
  /** Reviews the token of a pod. Absent where the platform gives no tokens of people: then it is no token of a caller. */
  readonly podOf?: ((sender: Credentials) => Promise<PodUser>) | undefined;
  readonly now: () => Date;
}

/** How long a user name is cached. The access reviews, which expire after ten seconds, reveal a token that has expired. */
const GOOD_MS = 600_000;
/** Milliseconds for which a pod's token counts as valid after a review, as long as the API server caches it. */
const GOOD_POD_MS = 10_000;
const WRONG_MS = 10_000;
const REMEMBERED = 10_000;
const WINDOW_MS = 60_000;
/** Limit of tokens from one address in a window that were never valid. */
const MOST_TRIED = 300;
/** Concurrent reviews of unknown tokens, and as many of tokens that were valid once. It is a fraction of the connections to the API server. */
const SLOTS = { most: 8, mostOfGroup: 4, always: 0, mostWaiting: 64, mostWaitingOfGroup: 16 };

interface SelfSubjectReview extends KubeObject {
  readonly status?: { readonly userInfo?: { readonly username?: string } };
}

export function makeAuthentication({ now, ...reviews }: AuthenticationOptions): Authentication {
  // A separate cache, so that invented tokens evict no valid one.
  const good = new LruMap<User & { readonly at: number }>(REMEMBERED);
  const wrong = new LruMap<number>(REMEMBERED);
  const tried = new LruMap<{ readonly since: number; count: number }>(REMEMBERED);
  const underWay = new Map<string, Promise<User>>();
  const slots = { strangers: makeFairLimiter(SLOTS), acquaintances: makeFairLimiter(SLOTS) };

  const isWithin = (ms: number, at: number | undefined): boolean => {
    const time = now().getTime();
    return at !== undefined && time >= at && time - at < ms;
  };

  function known({ hash }: Credentials): User | undefined {
    const before = good.get(hash);
    return isWithin(before?.pod ? GOOD_POD_MS : GOOD_MS, before?.at) ? before : undefined;
  }

  /** Counts an attempt. The returned function takes it back, for a token that proves valid. */
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
      `More than ${MOST_TRIED} unknown tokens came from this address in a minute. A token that was valid before is still accepted. Try again in ${seconds} s.`,
      { 'retry-after': seconds },
    );
  }

  function forget(sender: Credentials): void {
    good.delete(sender.hash);
    wrong.set(sender.hash, now().getTime());
  }

  async function review(sender: Credentials, address: string): Promise<User> {
    // A token that was valid once does not wait behind unknown ones.
    const before = good.get(sender.hash)?.username;
    const uncount = before === undefined ? countTry(address) : undefined;
    const slot = before === undefined ? slots.strangers.take(address) : slots.acquaintances.take(before);
    const giveBack = await (slot ?? tooMany());
    try {
      const user = await userOf(sender, reviews);
      uncount?.();
      good.set(sender.hash, { ...user, at: now().getTime() });
      return user;
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
      const user = known(sender);
      if (user !== undefined) return user;
      if (isWithin(WRONG_MS, wrong.get(sender.hash)))
        throw new Unauthorized('review a token: it was invalid a moment ago');
      const before = underWay.get(sender.hash);
      if (before !== undefined) return before;
      const reviewing = review(sender, address).finally(() => underWay.delete(sender.hash));
      underWay.set(sender.hash, reviewing);
      return reviewing;
    },
  };
}

async function userOf(
  sender: Credentials,
  { clientOf, podOf }: Pick<AuthenticationOptions, 'clientOf' | 'podOf'>,
): Promise<User> {
  if (!podOf || !isForDavit(sender.token)) return { username: await usernameOf(clientOf(sender), sender) };
  const pod = await podOf(sender);
  return { username: pod.account.username, pod };
}

async function usernameOf(kube: KubeClient, sender: Credentials): Promise<string> {
  try {
    const review: SelfSubjectReview = await kube.create<SelfSubjectReview>(SELF_SUBJECT_REVIEWS, {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'SelfSubjectReview',
      metadata: { name: '' },
    });
    const username = review.status?.userInfo?.username;
    // An API server that allows anonymous requests answers an invalid token with this user.
    if (username === 'system:anonymous') throw new Unauthorized('review a token: the user is anonymous');
    return username === undefined || username === '' ? nameless(sender) : username;
  } catch (error) {
    // The user is authenticated but may not create reviews: the cluster removed a right that all users have by default.
    if (error instanceof Forbidden || error instanceof NotFound) return nameless(sender);
    throw error;
  }
}

/** The name of a user whose name the API server did not say. */
export function nameless({ hash }: Credentials): string {
  return `token ${hash}`;
}

function tooMany(): never {
  throw new HttpError(429, 'Too many unknown tokens are being checked. Try again in 1 s.', {
    'retry-after': '1',
  });
}
