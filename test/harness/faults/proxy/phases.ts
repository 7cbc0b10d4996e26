// Faults that last from the beginning of a phase on.

import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault } from '../fault.ts';
import { ghost } from '../watch-faults.ts';
import type { ProxyState } from './state.ts';

/** Each is two events: five thousand a second. */
const GHOSTS_AT_ONCE = 25;
const MS_BETWEEN_GHOSTS = 10;

/** The fault whose phase it is, if it is one that the proxy commits from then on. */
export async function beginPhase({ options: { fault }, trace, watches }: ProxyState): Promise<void> {
  if (fault.kind === 'compactions') {
    for (let time = 0; time < fault.times; time += 1) {
      await sleep(fault.every);
      trace.fired = true;
      for (const watch of watches) watch.expire();
    }
  }
  if (fault.kind === 'event-storm') {
    const end = performance.now() + (fault.ms ?? 2000);
    for (let serial = 0; performance.now() < end; serial += GHOSTS_AT_ONCE) {
      await sleep(MS_BETWEEN_GHOSTS);
      for (const { resource, namespace, version, write: send } of watches) {
        if (resource !== 'pods') continue;
        trace.fired = true;
        for (let one = 0; one < GHOSTS_AT_ONCE; one += 1) send(ghost(namespace, String(version), serial + one));
      }
    }
  }
}

type Outage = Extract<Fault, { readonly kind: 'outage' }>;

/** Whether the API server is out now. An outage that is over stays over. */
export function makeOutage(state: ProxyState): (outage: Outage) => boolean {
  let isOver = false;
  return ({ phase, ms = 1500, quietMs = 0 }) => {
    const outAt = state.entered.get(phase);
    if (outAt === undefined || isOver) return false;
    const now = performance.now();
    isOver = now - outAt >= ms && now - state.toldAt >= quietMs;
    return !isOver;
  };
}
