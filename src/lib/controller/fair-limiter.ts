// Whose request is next, and how many of one group may be under way. A server with few processors answers its backlog in
// order: whoever comes late waits behind all of it.

import { count } from './counter.ts';

export interface FairLimiterOptions {
  /** So many may be under way at once, of all and of one group. */
  readonly most?: number;
  readonly mostOfGroup?: number;
  /** So many of each group are let in whatever is under way. */
  readonly always?: number;
  /** So many may wait, of all and of one group. */
  readonly mostWaiting?: number;
  readonly mostWaitingOfGroup?: number;
}

/**
 * - Groups take turns: one that asks for little does not wait behind all that another asks for. Within a group it is
 *   first come, first served.
 * - No group waits for others' answers alone: two of its requests are let in whatever is under way, unless the options say
 *   otherwise. Where one tenant's requests hang, in a webhook say, another's do not wait for them.
 * - What has come in is always run, also after a failure, unless its signal aborts before: whether it is still wanted is
 *   the work's own question.
 */
export interface FairLimiter {
  /** Resolves, in turn, to what gives the slot back; rejects with the reason of `signal`. Undefined: too many wait already. */
  take(group: string, signal?: AbortSignal): Promise<() => void> | undefined;
  /** Runs `work` when it is its turn; rejects with the reason of `signal` if that aborts before. For limiters without bounded queues. */
  run<T>(group: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T>;
  readonly underWay: number;
  readonly waiting: number;
}

/** So that no server is idle where many groups ask for one thing after the other. */
const SMALLEST_SHARE = 2;

export function makeFairLimiter({
  most = 32,
  mostOfGroup = most,
  always = SMALLEST_SHARE,
  mostWaiting = Infinity,
  mostWaitingOfGroup = Infinity,
}: FairLimiterOptions = {}): FairLimiter {
  /** What waits, by group; the group whose turn it is comes first. */
  const queues = new Map<string, (() => void)[]>();
  const begun = new Map<string, number>();
  let underWay = 0;
  let waiting = 0;

  function isRoomFor(group: string): boolean {
    const ofGroup = begun.get(group) ?? 0;
    return ofGroup < always || (underWay < most && ofGroup < mostOfGroup);
  }

  function begin(group: string): () => void {
    underWay += 1;
    count(begun, group, 1);
    let isGivenBack = false;
    return () => {
      if (isGivenBack) return;
      isGivenBack = true;
      underWay -= 1;
      count(begun, group, -1);
      letIn();
    };
  }

  function letIn(): void {
    for (let group = next(); group !== undefined; group = next()) {
      const [wake] = queues.get(group) ?? [];
      if (wake) leaveQueue(group, wake);
      wake?.();
    }
  }

  function next(): string | undefined {
    return [...queues.keys()].find(isRoomFor);
  }

  /** What else its group waits for is at the end of the round. */
  function leaveQueue(group: string, wake: () => void): void {
    const others = (queues.get(group) ?? []).filter((other) => other !== wake);
    queues.delete(group);
    if (others.length > 0) queues.set(group, others);
    waiting -= 1;
  }

  function take(group: string, signal?: AbortSignal): Promise<() => void> | undefined {
    if (signal?.aborted) return Promise.reject(signal.reason as Error);
    const queue = queues.get(group) ?? [];
    if (queue.length === 0 && isRoomFor(group)) return Promise.resolve(begin(group));
    if (waiting >= mostWaiting || queue.length >= mostWaitingOfGroup) return undefined;
    return new Promise((resolve, reject) => {
      const wake = (): void => {
        signal?.removeEventListener('abort', giveUp);
        resolve(begin(group));
      };
      const giveUp = (): void => {
        leaveQueue(group, wake);
        reject(signal?.reason as Error);
      };
      signal?.addEventListener('abort', giveUp, { once: true });
      queue.push(wake);
      queues.set(group, queue);
      waiting += 1;
    });
  }

  return {
    take,
    async run(group, work, signal) {
      const giveBack = await take(group, signal);
      try {
        return await work();
      } finally {
        giveBack?.();
      }
    },
    get underWay() {
      return underWay;
    },
    get waiting() {
      return waiting;
    },
  };
}
