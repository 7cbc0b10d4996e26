// One choice for all times of a clock: in UTC, as logs of servers are read, or local.

import { useEffect, useState } from 'preact/hooks';

export type Zone = 'UTC' | 'local time';

let zone: Zone = 'UTC';
const listeners = new Set<(zone: Zone) => void>();

/** The choice, and what changes it everywhere. */
export function useZone(): readonly [Zone, (zone: Zone) => void] {
  const [shown, setShown] = useState(zone);
  useEffect(() => {
    listeners.add(setShown);
    return () => {
      listeners.delete(setShown);
    };
  }, []);
  return [shown, choose];
}

function choose(chosen: Zone): void {
  zone = chosen;
  for (const tell of listeners) tell(chosen);
}

/** Hours, minutes and seconds of a moment, in RFC 3339. */
export function clock(timestamp: string, shown: Zone): string {
  if (shown === 'UTC') return timestamp.slice(11, 19);
  return new Date(timestamp).toLocaleTimeString('en-GB');
}

/** Day and minute of a moment, as everything is shown now. */
export function dayOf(timestamp: string): string {
  return zone === 'UTC' ? `${timestamp.slice(0, 16).replace('T', ' ')} UTC` : new Date(timestamp).toLocaleString();
}
