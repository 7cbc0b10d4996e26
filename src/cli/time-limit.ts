// The time that a command has, where it asks kubectl again and again until something is there.

import type { Clock } from './command.ts';
import type { Kubectl, TimedOut } from './kubectl.ts';

export interface TimeLimit {
  /** A time of the clock. */
  readonly until: number;
  readonly over: () => TimedOut;
}

/** `seconds`: undefined for no limit. */
export function timeLimit(clock: Clock, seconds: number | undefined, over: () => TimedOut): TimeLimit | undefined {
  return seconds === undefined ? undefined : { until: clock.now() + seconds * 1000, over };
}

/** A kubectl that reads nothing after that time: it throws TimedOut. What is written and removed is so after the time, too. */
export function limitedKubectl(kubectl: Kubectl, clock: Clock, limit: TimeLimit | undefined): Kubectl {
  if (limit === undefined) return kubectl;
  return async (args, input) => {
    if (args[0] === 'get' && clock.now() >= limit.until) throw limit.over();
    return kubectl(args, input);
  };
}
