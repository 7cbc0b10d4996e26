// Checks a process's prerequisites at the start and repeatedly until they are met. A missing one is reported in the log and at
// /readyz with what to do. The process does not exit: it would be restarted in a loop, and its message would be in the log of a
// previous container.

import type { Logger } from 'pino';
import { type Clock, sleep, systemClock } from '../../runtime/controller/clock.ts';
import type { Checks } from '../../runtime/controller/health.ts';

/** Resolves to undefined if it is met, otherwise to a message that says what to do. May throw. */
export type Requirement = (signal: AbortSignal) => Promise<string | undefined>;

export interface RequirementsOptions {
  readonly requirements: Readonly<Record<string, Requirement>>;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** Until it is met. */
  readonly retryMs?: number;
  /** Interval of further checks after it was met. Without it, it is not checked again. */
  readonly againMs?: number;
  readonly clock?: Clock;
}

export interface WatchedRequirements {
  readonly ready: Checks;
  /** Resolves when all were met at least once, or `signal` aborts. Never rejects. */
  readonly met: Promise<void>;
  /** Resolves after `signal` has aborted and all checks have ended. Never rejects. */
  readonly done: Promise<void>;
}

const RETRY_MS = 5000;

export function watchRequirements(options: RequirementsOptions): WatchedRequirements {
  const watched = Object.entries(options.requirements).map(([name, requirement]) =>
    watchOne(name, requirement, options),
  );
  const all = (promises: readonly Promise<void>[]): Promise<void> => Promise.all(promises).then(() => undefined);
  return {
    ready: Object.fromEntries(watched.map(({ name, check }) => [name, check])),
    met: all(watched.map(({ met }) => met)),
    done: all(watched.map(({ done }) => done)),
  };
}

interface Watched {
  readonly name: string;
  readonly check: () => string | undefined;
  readonly met: Promise<void>;
  readonly done: Promise<void>;
}

function watchOne(
  name: string,
  requirement: Requirement,
  { log, signal, retryMs = RETRY_MS, againMs, clock = systemClock }: RequirementsOptions,
): Watched {
  let missing: string | undefined = 'not checked yet';
  let isMet: () => void = () => undefined;
  const met = new Promise<void>((resolve) => {
    isMet = resolve;
  });

  async function look(): Promise<void> {
    const before = missing;
    missing = await requirement(signal).catch((error: unknown) =>
      error instanceof Error ? error.message : String(error),
    );
    if (signal.aborted || missing === before) return;
    if (missing === undefined) log.info({ requirement: name }, 'Requirement met');
    else log.error({ requirement: name, missing }, 'Requirement not met, will check again');
  }

  async function run(): Promise<void> {
    while (!signal.aborted) {
      await look();
      if (missing === undefined) isMet();
      if (missing === undefined && againMs === undefined) break;
      await sleep(clock, missing === undefined ? (againMs ?? retryMs) : retryMs, signal);
    }
    isMet();
  }

  return { name, check: () => missing, met, done: run() };
}
