// When a record is reconciled again although no watch wakes it.

import { untilLogExpiredMs } from './assess/ended-logs.ts';
import { untilPodsMissedMs } from './assess/jobs.ts';
import type { Observed } from './assess/observed.ts';
import { untilExhaustedMs } from './assess/patience.ts';
import { untilLateMs } from './assess/pod-deadline.ts';
import { untilLongHeldMs } from './assess/pod-inits.ts';
import { untilSettledMs } from './assess/pod-settling.ts';
import { recheckAfterMs } from './assess/pod-startup.ts';
import { retryAfterMs } from './assess/retry.ts';
import { untilMissedMs } from './assess/task-runs.ts';
import { untilOverdueMs } from './assess/terminating-pods.ts';
import type { PassOutcome, ReconcilerOptions } from './pass.ts';
import { untilStuckMs } from './plan/pod-dry-run.ts';
import { untilGivenUpMs } from './plan/pod-resize.ts';

/** Milliseconds until something may change of which no watch informs; undefined for what is not waited for. */
export function waitsOf(
  before: Observed,
  after: Observed,
  { refusals }: PassOutcome,
  { settings, now }: Pick<ReconcilerOptions, 'settings' | 'now'>,
): readonly (number | undefined)[] {
  const { record, pods } = after;
  return [
    retryAfterMs(record, [...refusals, ...(before.unread ?? [])], now()),
    recheckAfterMs(pods, now()),
    untilLongHeldMs(pods, now()),
    untilSettledMs(pods, now()),
    untilExhaustedMs(record, settings, now()),
    untilLateMs(pods, settings.pods.progressDeadlineSeconds, now()),
    untilMissedMs(after, now()),
    untilStuckMs(after, now()),
    untilLogExpiredMs(after, now()),
    untilGivenUpMs(after, now()),
    untilOverdueMs(pods, now()),
    untilPodsMissedMs(after, now()),
  ];
}
