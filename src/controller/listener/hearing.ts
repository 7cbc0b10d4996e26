// When this process last saw each Listener's Lease change.

import type { Heard, Lease } from '../../decide/listener/contact.ts';
import type { Reflector } from '../../runtime/reflector.ts';

export interface Hearing {
  /** Undefined while the Leases cannot be watched: then nothing can be said about silence. `namespace`: that of the Listener's Lease. */
  of(namespace: string): Pick<Heard, 'renewedMsAgo' | 'watchedForMs'> | undefined;
  close(): void;
}

/** `elapsed`: milliseconds of a clock that never jumps. */
export function makeHearing(leases: Reflector<Lease>, elapsed: () => number): Hearing {
  const heardAt = new Map<string, number>();
  let watchedSince = elapsed();
  const close = leases.onChange(({ type, object, previous }) => {
    const { namespace = '' } = object.metadata;
    if (type === 'deleted') heardAt.delete(namespace);
    // The first sight of a Lease does not say when it was renewed.
    else if (previous !== undefined && renewalOf(object) !== renewalOf(previous)) heardAt.set(namespace, elapsed());
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
      };
    },
    close,
  };
}

function renewalOf({ spec }: Lease): string {
  return JSON.stringify([spec?.holderIdentity, spec?.renewTime, spec?.leaseTransitions]);
}
