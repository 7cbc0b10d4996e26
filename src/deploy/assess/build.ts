// What a record says while the image of its latest revision is still to be built.

import type { AppRevision } from '../../kinds/app-revision.ts';
import { type BuildPhase, FINAL_PHASES } from '../../kinds/build.ts';
import { type Entry, fail, stalled } from './entry.ts';
import type { Observed } from './observed.ts';

export const NO_BUILDER =
  'The source has to be built, but no builder is configured. Deploy an image, or ask the platform team to set builds in its settings.';

/** For a revision without an image. */
export function checkBuild({ canBuild }: Pick<Observed, 'canBuild'>, { status }: AppRevision): Entry {
  const { phase, message = '' } = status?.build ?? {};
  if (canBuild !== true && !(phase && FINAL_PHASES.has(phase))) return stalled('BuilderNotConfigured', NO_BUILDER);
  switch (phase) {
    case 'Failed':
      return stalled('BuildFailed', message);
    case 'Interrupted':
      return stalled('BuildInterrupted', message);
    case 'AwaitingBuild':
    case 'Building':
      return fail('Building', message);
    case undefined:
    case 'Queued':
    case 'Skipped':
    case 'Built':
      return fail('BuildQueued', message || 'The build is about to be queued.');
    default:
      return phase satisfies never;
  }
}

/** How far a revision is, by its build alone: of one that has no image. */
export const STATES_OF_BUILDS = {
  Queued: 'QUEUED',
  AwaitingBuild: 'AWAITING_BUILD',
  Building: 'BUILDING',
  Built: 'AWAITING_DEPLOY',
  Failed: 'BUILD_FAILED',
  Skipped: 'SKIPPED',
  Interrupted: 'INTERRUPTED',
} as const satisfies Record<BuildPhase, string>;
