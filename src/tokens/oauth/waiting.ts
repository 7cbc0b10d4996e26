// Waits for authorizations to end. All waiters of a process share one list a second of the metadata of their tenants' flows, so a
// waiter costs no request of its own, and a replica sees what another has finished.

import type { Logger } from '../../runtime/logger.ts';
import { FlowAbout } from './flow.ts';
import type { Entry, Vault } from './vault.ts';

const EVERY_MS = 1000;

export interface Waiting {
  /**
   * Resolves to false when `ms` are over, the signal aborts, or too many wait, of whom the tenant with the most gives up first; to true when the
   * flow has ended in any way.
   */
  untilEnded(flow: Entry<FlowAbout>, ms: number, signal: AbortSignal): Promise<boolean>;
  /** Ends all that wait, because the process stops. */
  endAll(): void;
}

/** Requests that may wait at once in a process. */
const MOST = 2000;

interface Waiter {
  readonly flow: Entry<FlowAbout>;
  readonly end: (ended: boolean) => void;
}

export function makeWaiting(vault: Vault, log: Logger): Waiting {
  const waiters = new Set<Waiter>();
  let timer: NodeJS.Timeout | undefined;

  /** Whether one more of the tenant may wait. Where there is no room, the longest wait of the tenant with the most makes some. */
  function hasRoom(tenant: string): boolean {
    if (waiters.size < MOST) return true;
    const groups = Map.groupBy(waiters, ({ flow }) => flow.subject.tenant);
    const [most = []] = [...groups.values()].toSorted((a, b) => b.length - a.length);
    if ((groups.get(tenant)?.length ?? 0) + 1 >= most.length) return false;
    most[0]?.end(false);
    return true;
  }

  async function poll(): Promise<void> {
    // Those that begin to wait meanwhile are in the next list.
    const asking = [...waiters];
    const tenants = new Set(asking.map(({ flow }) => flow.subject.tenant));
    const lists = await Promise.all([...tenants].map((tenant) => vault.list('flow', { tenant }, FlowAbout)));
    const open = new Set(
      lists.flat().flatMap(({ about, version }) => (about.tokenId !== undefined ? [] : [version?.uid])),
    );
    for (const waiter of asking) if (!open.has(waiter.flow.version?.uid)) waiter.end(true);
  }

  function schedule(): void {
    if (timer !== undefined || waiters.size === 0) return;
    timer = setTimeout(() => {
      poll()
        .catch((err: unknown) => log.warn({ err }, 'Unfinished authorizations cannot be listed'))
        .finally(() => {
          timer = undefined;
          schedule();
        });
    }, EVERY_MS).unref();
  }

  return {
    endAll() {
      for (const waiter of waiters) waiter.end(false);
    },
    untilEnded(flow, ms, signal) {
      if (signal.aborted || !hasRoom(flow.subject.tenant)) return Promise.resolve(false);
      return new Promise((resolve) => {
        const onAbort = (): void => waiter.end(false);
        const timeout = setTimeout(onAbort, ms);
        const waiter: Waiter = {
          flow,
          end(ended) {
            waiters.delete(waiter);
            clearTimeout(timeout);
            signal.removeEventListener('abort', onAbort);
            resolve(ended);
          },
        };
        signal.addEventListener('abort', onAbort);
        waiters.add(waiter);
        schedule();
      });
    },
  };
}
