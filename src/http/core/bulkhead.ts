// So many at once of something that is dear, shared fairly, with a bounded queue: what is beyond it is refused rather than
// kept waiting.

export interface BulkheadOptions {
  /** Under way at once: of all, and of one group. */
  readonly most: number;
  readonly mostOfGroup: number;
  /** Waiting: of all, and of one group. */
  readonly mostWaiting: number;
  readonly mostWaitingOfGroup: number;
}

export interface Bulkhead {
  /** Resolves to what gives the slot back, in turn; rejects with the reason of `signal`. Undefined: too many wait already. */
  take(group: string, signal?: AbortSignal): Promise<() => void> | undefined;
}

interface Waiting {
  readonly group: string;
  readonly begin: () => void;
}

export function makeBulkhead({ most, mostOfGroup, mostWaiting, mostWaitingOfGroup }: BulkheadOptions): Bulkhead {
  const taken = new Map<string, number>();
  const queue: Waiting[] = [];
  let underWay = 0;

  const isRoomFor = (group: string): boolean => underWay < most && (taken.get(group) ?? 0) < mostOfGroup;

  function begin(group: string): () => void {
    underWay += 1;
    taken.set(group, (taken.get(group) ?? 0) + 1);
    let isGivenBack = false;
    return () => {
      if (isGivenBack) return;
      isGivenBack = true;
      underWay -= 1;
      const left = (taken.get(group) ?? 1) - 1;
      if (left === 0) taken.delete(group);
      else taken.set(group, left);
      letIn();
    };
  }

  function letIn(): void {
    for (let at = 0; at < queue.length && underWay < most; ) {
      const next = queue[at] as Waiting;
      if (isRoomFor(next.group)) {
        queue.splice(at, 1);
        next.begin();
      } else at += 1;
    }
  }

  return {
    take(group, signal) {
      if (signal?.aborted) return Promise.reject(signal.reason as Error);
      if (isRoomFor(group)) return Promise.resolve(begin(group));
      if (queue.length >= mostWaiting) return undefined;
      if (queue.filter((one) => one.group === group).length >= mostWaitingOfGroup) return undefined;
      return new Promise((resolve, reject) => {
        const onAbort = (): void => {
          queue.splice(queue.indexOf(waiting), 1);
          reject(signal?.reason as Error);
        };
        const waiting: Waiting = {
          group,
          begin() {
            signal?.removeEventListener('abort', onAbort);
            resolve(begin(group));
          },
        };
        signal?.addEventListener('abort', onAbort, { once: true });
        queue.push(waiting);
      });
    },
  };
}
