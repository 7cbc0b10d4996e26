// Creates the public keys of registry tokens at start: the registry's pod mounts their Secret and waits for it, so the keys cannot
// be created with the first token.

import { type Clock, sleep } from '../../runtime/controller/clock.ts';
import type { Logger } from '../../runtime/logger.ts';

const RETRY_MS = 5000;

export interface PublishKeysOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** Reads the key ring, which creates it, until that succeeds or `signal` aborts. Never rejects. */
export async function publishKeys(
  keyRing: () => Promise<unknown>,
  { clock, log, signal }: PublishKeysOptions,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await keyRing();
      return;
    } catch (err) {
      log.warn({ err }, 'Cannot create the keys of registry tokens yet, the registry waits for them');
    }
    await sleep(clock, RETRY_MS, signal);
  }
}
