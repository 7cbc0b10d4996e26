// The time that a command has, where it asks kubectl again and again until something is there.

import { type Kubectl, TimedOut } from '../transport/kubectl.ts';
import type { Clock, Context } from './command.ts';

interface TimeLimit {
  /** A time of the clock. */
  readonly until: number;
  readonly over: () => TimedOut;
}

interface Over {
  /** What is said after so many seconds. */
  readonly message: (seconds: number) => string;
  /** The command that comes next. */
  readonly hint: string;
}

/** That of --timeout, from now on; undefined if it is not given. */
export function timeLimit(
  { clock, flags }: Pick<Context, 'clock' | 'flags'>,
  { message, hint }: Over,
): TimeLimit | undefined {
  const seconds = flags.number('timeout');
  if (seconds === undefined) return undefined;
  const outcome = { result: 'undecided', reason: null, message: null, hint } as const;
  return { until: clock.now() + seconds * 1000, over: () => new TimedOut(message(seconds), outcome) };
}

/** A kubectl that reads nothing after that time: it throws TimedOut. What is written and removed is so after the time, too. */
export function limitedKubectl(kubectl: Kubectl, clock: Clock, limit: TimeLimit | undefined): Kubectl {
  if (limit === undefined) return kubectl;
  return async (args, input) => {
    if (args[0] === 'get' && clock.now() >= limit.until) throw limit.over();
    return kubectl(args, input);
  };
}

/** The context of what may last as long as --timeout says. */
export function withinTime(context: Context, over: Over): Context {
  return { ...context, kubectl: limitedKubectl(context.kubectl, context.clock, timeLimit(context, over)) };
}
