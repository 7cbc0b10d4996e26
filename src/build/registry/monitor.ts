// Looks at the platform's registry each minute, for the metrics: whether it answers with the platform's credential. Nothing waits for it.

import { type Clock, sleep } from '../../runtime/controller/clock.ts';
import { RegistryFailed } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { OwnRegistry, RegistryMetrics } from './metrics.ts';

const EVERY_MS = 60_000;
/** Time limit of a look. */
const LONGEST_MS = 10_000;

export interface RegistryMonitorOptions {
  /** Sends one request with the platform's credential. Throws RegistryFailed. */
  readonly probe: (signal: AbortSignal) => Promise<unknown>;
  /** Undefined for a registry that is not the chart's own. */
  readonly own: (() => OwnRegistry) | undefined;
  readonly metrics: RegistryMetrics;
  readonly clock: Clock;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** Looks until `signal` aborts. The metrics show what was found last. Resolves when it has ended. Never rejects. */
export async function monitorRegistry(options: RegistryMonitorOptions): Promise<void> {
  const { probe, own, metrics, clock, log, signal } = options;
  let isUp: boolean | undefined;

  async function lookAtRegistry(): Promise<void> {
    try {
      await withinTime(probe, clock, signal);
      if (isUp === false) log.info('The registry answers again');
      isUp = true;
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof RegistryFailed) {
        if (isUp !== false) log.warn({ reason: error.message }, 'The registry does not answer as it should');
        isUp = false;
        return;
      }
      // An API server that does not give the credential says nothing about the registry.
      log.debug({ err: error }, 'Could not send a request to the registry');
      isUp = undefined;
    }
  }

  const hide = metrics.showRegistry(() => ({ isUp, ...own?.() }));
  while (!signal.aborted) {
    await lookAtRegistry();
    await sleep(clock, EVERY_MS, signal);
  }
  hide();
}

/** Rejects after LONGEST_MS, and when `signal` aborts, also if what is asked does not heed its signal. */
async function withinTime<T>(ask: (signal: AbortSignal) => Promise<T>, clock: Clock, signal: AbortSignal): Promise<T> {
  const ending = new AbortController();
  const end = new Promise<never>((_, reject) => {
    const rejectWith = ({ reason }: AbortSignal): void => {
      reject(reason instanceof RegistryFailed ? reason : new Error('stopped', { cause: reason }));
    };
    ending.signal.addEventListener('abort', () => rejectWith(ending.signal), { once: true });
  });
  const stop = (): void => ending.abort(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  const cancel = clock.schedule(LONGEST_MS, () =>
    ending.abort(new RegistryFailed('timeout', `No answer within ${LONGEST_MS / 1000} s.`)),
  );
  try {
    return await Promise.race([ask(ending.signal), end]);
  } finally {
    cancel();
    signal.removeEventListener('abort', stop);
  }
}
