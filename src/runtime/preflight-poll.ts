// What a process needs of its cluster: asked at the start, and again and again until it is there. What is missing is
// said in the log and at /readyz, in words that tell what to do. Nothing ends because of it: a process that ended would
// be started again and again, and its words would be lost in its former runs' logs.

import type { Logger } from 'pino';
import { type Clock, sleep, systemClock } from './clock.ts';
import type { Checks } from './health.ts';

/** Resolves to undefined when it is met, else to one sentence that says what to do. May throw. */
export type Requirement = (signal: AbortSignal) => Promise<string | undefined>;

export interface RequirementsOptions {
  readonly requirements: Readonly<Record<string, Requirement>>;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** Until it is met. */
  readonly retryMs?: number;
  /** Once it was met: it may be taken away again. Without it, one that was met is believed for good. */
  readonly againMs?: number;
  readonly clock?: Clock;
}

export interface WatchedRequirements {
  readonly ready: Checks;
  /** Resolves when all were met at least once, or `signal` aborts. Never rejects. */
  readonly met: Promise<void>;
  /** Resolves after `signal`, when nothing is asked any more. Never rejects. */
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
      // oxlint-disable-next-line no-await-in-loop -- one look after the other
      await look();
      if (missing === undefined) isMet();
      if (missing === undefined && againMs === undefined) break;
      // oxlint-disable-next-line no-await-in-loop -- a pause before the next
      await sleep(clock, missing === undefined ? (againMs ?? retryMs) : retryMs, signal);
    }
    isMet();
  }

  return { name, check: () => missing, met, done: run() };
}
