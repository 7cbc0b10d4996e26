// Messages that would change at every try though nothing has: a server's message may carry a port or a request id.

import type { AppDeployment } from '../schema/app-deployment.ts';
import { shortened } from '../schema/text.ts';
import type { ActionFailure } from './assess/observed.ts';

/**
 * A failure that differs from the reported one in numbers and ids alone keeps the reported message. Every change of a
 * status wakes the record: each try would call for the next one.
 */
export function withStableMessages(refusals: readonly ActionFailure[], { status }: AppDeployment): ActionFailure[] {
  const reported = (status?.conditions ?? []).filter(({ reason }) => reason === 'RequestFailed');
  return refusals.map((refusal) => {
    if (refusal.reason !== 'RequestFailed') return refusal;
    const kind = withoutIds(shortened(refusal.message));
    const same = reported.find(({ message }) => withoutIds(message) === kind);
    return same ? { ...refusal, message: same.message } : refusal;
  });
}

/** Every word that has a digit in it stands for any other. */
function withoutIds(message: string): string {
  return message.replaceAll(/[A-Za-z0-9]+/g, (word) => (/\d/.test(word) ? '#' : word));
}
