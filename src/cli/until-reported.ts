// Waits until the controller has told in the status of a record what has happened.

import type { AppDeployment } from '../schema/app-deployment.ts';
import type { Context } from './command.ts';
import { readRecord } from './records.ts';

const EVERY_MS = 1000;

interface Reported<T> {
  readonly forMs: number;
  /** Undefined until it is told. */
  readonly find: (record: AppDeployment) => T | undefined;
}

/** Undefined if it is not told in time; it is looked for once at least. Throws Failure. */
export async function untilReported<T>(
  { kubectl, clock }: Pick<Context, 'kubectl' | 'clock'>,
  name: string,
  { forMs, find }: Reported<T>,
): Promise<T | undefined> {
  const end = clock.now() + forMs;
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- asked until it is told
    const found = find(await readRecord(kubectl, name));
    if (found !== undefined || clock.now() >= end) return found;
    // oxlint-disable-next-line no-await-in-loop -- the time between two questions
    await clock.sleep(EVERY_MS);
  }
}
