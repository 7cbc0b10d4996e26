// When this process last saw each Listener's Lease change.

import type { Reflector } from '../../runtime/controller/reflector.ts';
import type { Heard, Lease } from './contact.ts';

export interface Hearing {
  /** Undefined while the Leases cannot be watched: then nothing can be said about silence. `namespace`: that of the Listener's Lease. */
  of(namespace: string): Pick<Heard, 'renewedMsAgo' | 'watchedForMs' | 'takenInTurns'> | undefined;
  close(): void;
}

/** Two agents that renew one Lease take it from each other at each renewal; one that is restarted again and again does so less often. */
const TURNS = 5;
const TURNS_MS = 30_000;

/** `elapsed`: milliseconds of a clock that never jumps. */
export function makeHearing(leases: Reflector<Lease>, elapsed: () => number): Hearing {
  const heardAt = new Map<string, number>();
  /** When an agent took each Lease, the latest last. */
  const takenAt = new Map<string, readonly number[]>();
  let watchedSince = elapsed();
  const close = leases.onChange(({ type, object, previous }) => {
    const { namespace = '' } = object.metadata;
    if (type === 'deleted') {
      heardAt.delete(namespace);
      takenAt.delete(namespace);
      return;
    }
    // The first sight of a Lease does not say when it was renewed.
    if (previous === undefined || renewalOf(object) === renewalOf(previous)) return;
    heardAt.set(namespace, elapsed());
    if (object.spec?.leaseTransitions !== previous.spec?.leaseTransitions)
      takenAt.set(namespace, [...(takenAt.get(namespace) ?? []), elapsed()].slice(-TURNS));
  });
  return {
    of(namespace) {
      if (leases.status().failingForMs !== undefined) {
        // Renewals may have been missed: the time begins again.
        watchedSince = elapsed();
        heardAt.clear();
        return undefined;
      }
      const at = heardAt.get(namespace);
      return {
        renewedMsAgo: at === undefined ? undefined : elapsed() - at,
        watchedForMs: elapsed() - watchedSince,
        takenInTurns: isRecent(takenAt.get(namespace)?.at(-TURNS), elapsed()),
      };
    },
    close,
  };
}

function isRecent(at: number | undefined, now: number): boolean {
  return at !== undefined && now - at < TURNS_MS;
}

function renewalOf({ spec }: Lease): string {
  return JSON.stringify([spec?.holderIdentity, spec?.renewTime, spec?.leaseTransitions]);
}
