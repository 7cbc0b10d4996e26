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
  const queues = makeQueues();
  const begun = new Map<string, number>();
  let underWay = 0;

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
    for (let wake = queues.next(isRoomFor); wake !== undefined; wake = queues.next(isRoomFor)) wake();
  }

  function take(group: string, signal?: AbortSignal): Promise<() => void> | undefined {
    if (signal?.aborted) return Promise.reject(signal.reason as Error);
    const before = queues.waitingOf(group);
    if (before === 0 && isRoomFor(group)) return Promise.resolve(begin(group));
    if (queues.waiting >= mostWaiting || before >= mostWaitingOfGroup) return undefined;
    return new Promise((resolve, reject) => {
      const wake = (): void => {
        signal?.removeEventListener('abort', giveUp);
        resolve(begin(group));
      };
      const giveUp = (): void => {
        queues.leave(group, wake);
        reject(signal?.reason as Error);
      };
      signal?.addEventListener('abort', giveUp, { once: true });
      queues.join(group, wake);
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
      return queues.waiting;
    },
  };
}

interface Queues {
  join(group: string, wake: () => void): void;
  leave(group: string, wake: () => void): void;
  /** Takes the first of the next group that there is room for out of its queue; the rest of its group goes to the end of the round. */
  next(isRoomFor: (group: string) => boolean): (() => void) | undefined;
  waitingOf(group: string): number;
  readonly waiting: number;
}

/** What waits, by group, in the order of their turns. */
function makeQueues(): Queues {
  const queues = new Map<string, readonly (() => void)[]>();
  let waiting = 0;
  function leave(group: string, wake: () => void): void {
    const others = (queues.get(group) ?? []).filter((other) => other !== wake);
    queues.delete(group);
    if (others.length > 0) queues.set(group, others);
    waiting -= 1;
  }
  return {
    join(group, wake) {
      queues.set(group, [...(queues.get(group) ?? []), wake]);
      waiting += 1;
    },
    leave,
    next(isRoomFor) {
      const group = [...queues.keys()].find(isRoomFor);
      const [wake] = (group !== undefined && queues.get(group)) || [];
      if (group !== undefined && wake) leave(group, wake);
      return wake;
    },
    waitingOf: (group) => queues.get(group)?.length ?? 0,
    get waiting() {
      return waiting;
    },
  };
}
