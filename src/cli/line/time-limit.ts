// The time that a command has, where it asks again and again until something is there.

import { TimedOut } from '../transport/kubectl.ts';
import type { Context } from './command.ts';

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
