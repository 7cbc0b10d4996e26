// Refusals as they were reported, where only their numbers and ids differ.

import type { AppDeployment } from '../kinds/app-deployment.ts';
import { steadyMessage } from '../kinds/text.ts';
import type { ActionFailure } from './assess/observed.ts';

/** Reasons whose messages quote a server. */
const QUOTING: ReadonlySet<string> = new Set<ActionFailure['reason']>([
  'RequestFailed',
  'ApplyRefused',
  'PodsRefused',
  'FileUnread',
]);

/** Keeps the reported message of a refusal that differs only in numbers and ids. A changed record gets the new message. */
export function withStableMessages(
  refusals: readonly ActionFailure[],
  { metadata, status }: AppDeployment,
): ActionFailure[] {
  const reported = (status?.conditions ?? []).filter(
    ({ reason, observedGeneration }) => QUOTING.has(reason) && observedGeneration === metadata.generation,
  );
  return refusals.map((refusal) => {
    const same = reported.find(
      ({ reason, message }) => reason === refusal.reason && steadyMessage(refusal.message, message) === message,
    );
    return same ? { ...refusal, message: same.message } : refusal;
  });
}
