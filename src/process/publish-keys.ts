// The registry's pod mounts the Secret with the public keys of tokens and waits until it is there. Nobody asks a registry
// that does not run for anything, so the keys cannot wait for the first token.

import type { Logger } from '../logger.ts';
import { type Clock, sleep } from '../runtime/clock.ts';

const RETRY_MS = 5000;

export interface PublishKeysOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** Asks for the key ring, which creates it, until it is there. Resolves then, or when `signal` aborts; never rejects. */
export async function publishKeys(
  keyRing: () => Promise<unknown>,
  { clock, log, signal }: PublishKeysOptions,
): Promise<void> {
  while (!signal.aborted) {
    try {
      // oxlint-disable-next-line no-await-in-loop -- one try after the other
      await keyRing();
      return;
    } catch (err) {
      log.warn({ err }, 'The keys of registry tokens cannot be created yet; the registry waits for them');
    }
    // oxlint-disable-next-line no-await-in-loop -- as above
    await sleep(clock, RETRY_MS, signal);
  }
}
