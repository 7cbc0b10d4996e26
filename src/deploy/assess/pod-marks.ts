// What only the time says of pods, for the report. Pure.

import type { Pod } from './observed.ts';
import { withLongHeld } from './pod-inits.ts';
import { withUnsettled } from './pod-settling.ts';
import { withJustStarted } from './pod-startup.ts';
import { withOverdue } from './terminating-pods.ts';

export function withMarks(pods: readonly Pod[], now: Date): readonly Pod[] {
  return withUnsettled(withLongHeld(withJustStarted(withOverdue(pods, now), now), now), now);
}
