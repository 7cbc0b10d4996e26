// Whose request is next, and how many of one group may be under way. What a server with few processors has been asked it
// answers at its own pace: whoever comes then waits behind all of it.

import { count } from './counter.ts';

export interface FairLimiterOptions {
  /** So many may be under way at once; beyond it only what of its group is one of the first two. */
  readonly most?: number;
  /** So many of groups that are there together and unequal, shared between them, two each at least. */
  readonly mostTogether?: number;
}

/**
 * - Groups take turns: one that asks for little does not wait behind all that another asks for. Within a group it is
 *   first come, first served.
 * - While a group does much at once beside one that does little, none has more under way than its share, also while the
 *   other is between two requests: what has been let in cannot be called back, and would be ahead of it in the server.
 *   Groups that do equally much are held back by nothing but `most`.
 * - No group waits for others' answers alone: two of its requests are let in whatever is under way. Where one tenant's
 *   requests hang, in a webhook say, another's do not wait for them.
 * - What has come in is always run, also after a failure, unless its signal aborts while it waits: whether it is still
 *   wanted is the work's own question.
 */
export interface FairLimiter {
  /** Runs `work` when it is its turn; rejects with the reason of `signal` if that aborts before. */
  run<T>(group: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T>;
  /** The group does one thing more, of which requests are parts, until the returned function is called. */
  enter(group: string): () => void;
  readonly underWay: number;
  readonly waiting: number;
}

/** So that no server is idle where many groups ask for one thing after the other. */
const SMALLEST_SHARE = 2;

export function makeFairLimiter({ most = 32, mostTogether = 8 }: FairLimiterOptions = {}): FairLimiter {
  /** What waits, by group; the group whose turn it is comes first. */
  const queues = new Map<string, (() => void)[]>();
  /** By group: how much it does at once, and how many of its requests are under way. */
  const doing = new Map<string, number>();
  const begun = new Map<string, number>();
  let underWay = 0;
  let waiting = 0;

  function shareOfEach(): number {
    const much = [...doing.values()];
    const isUnequal = Math.max(...much) - Math.min(...much) > 1;
    return isUnequal ? Math.max(SMALLEST_SHARE, Math.ceil(mostTogether / doing.size)) : most;
  }

  function isRoomFor(group: string, share: number): boolean {
    const ofGroup = begun.get(group) ?? 0;
    return ofGroup < SMALLEST_SHARE || (underWay < most && ofGroup < share);
  }

  function begin(group: string): void {
    underWay += 1;
    count(begun, group, 1);
  }

  function letIn(): void {
    if (waiting === 0) return;
    const share = shareOfEach();
    for (let found = next(share); found !== undefined; found = next(share)) {
      waiting -= 1;
      begin(found.group);
      found.wake();
    }
  }

  function next(share: number): { readonly group: string; readonly wake: () => void } | undefined {
    for (const [group, queue] of queues) {
      const [wake] = queue;
      if (wake === undefined || !isRoomFor(group, share)) continue;
      queue.shift();
      queues.delete(group);
      // To the end of the round.
      if (queue.length > 0) queues.set(group, queue);
      return { group, wake };
    }
    return undefined;
  }

  function turn(group: string, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const wake = (): void => {
        signal?.removeEventListener('abort', giveUp);
        resolve();
      };
      const giveUp = (): void => {
        leaveQueue(group, wake);
        reject(signal?.reason as Error);
      };
      if (signal?.aborted) {
        reject(signal.reason as Error);
        return;
      }
      signal?.addEventListener('abort', giveUp, { once: true });
      const queue = queues.get(group);
      if (queue) queue.push(wake);
      else queues.set(group, [wake]);
      waiting += 1;
    });
  }

  function leaveQueue(group: string, wake: () => void): void {
    const queue = queues.get(group) ?? [];
    queue.splice(queue.indexOf(wake), 1);
    if (queue.length === 0) queues.delete(group);
    waiting -= 1;
  }

  return {
    async run(group, work, signal) {
      if (!queues.has(group) && isRoomFor(group, shareOfEach())) begin(group);
      else await turn(group, signal);
      try {
        return await work();
      } finally {
        underWay -= 1;
        count(begun, group, -1);
        letIn();
      }
    },
    enter(group) {
      count(doing, group, 1);
      return () => {
        count(doing, group, -1);
        letIn();
      };
    },
    get underWay() {
      return underWay;
    },
    get waiting() {
      return waiting;
    },
  };
}
