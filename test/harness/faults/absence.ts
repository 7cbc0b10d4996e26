// A controller that is frozen at a write, and comes back when another may lead.

import { setTimeout as sleep } from 'node:timers/promises';
import { LEASE_MS } from './ground.ts';
import type { Actor } from './proxy/trace.ts';
import type { Cast } from './run-processes.ts';
import type { Stage } from './workloads/stage.ts';

/** Longer than the lease, so that it has to be acquired again. */
const SHORTEST_AWAY_MS = 2 * LEASE_MS;

/** Whatever becomes of the run. */
const LONGEST_ABSENCE_MS = 60_000;

export interface Leaver {
  readonly leaveAt: NonNullable<Stage['leaveAt']>;
  /** A write has arrived. */
  at(label: string, actor: Actor): void;
}

/** Freezes whoever asks for a write, until it is to come back. */
export function leaver(cast: () => Cast): Leaver {
  let awaited: string | undefined;
  let gone: { readonly actor: Actor; readonly since: number } | undefined;
  return {
    leaveAt(write) {
      awaited = write;
      return {
        isAway: () => gone !== undefined,
        async back() {
          if (!gone) return;
          await sleep(Math.max(0, gone.since + SHORTEST_AWAY_MS - performance.now()));
          cast().wake(gone.actor);
        },
      };
    },
    at(label, actor) {
      if (awaited === undefined || !label.includes(`/${awaited}#`)) return;
      awaited = undefined;
      gone = { actor, since: performance.now() };
      cast().pause(actor, LONGEST_ABSENCE_MS);
    },
  };
}
