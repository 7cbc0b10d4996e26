import { expect, it } from 'vitest';
import { aRecord, aRevision } from '../../../test/support/builders.ts';
import type { AppRevision, AppRevisionStatus } from '../../kinds/app-revision.ts';
import { type Outcome, outcomesOf } from './outcomes.ts';

const at = (seconds: number): string => new Date(Date.parse('2026-01-01T00:00:00Z') + seconds * 1000).toISOString();
function revision(status?: AppRevisionStatus): AppRevision {
  const made = aRevision(aRecord());
  return { ...made, metadata: { ...made.metadata, creationTimestamp: at(0) }, ...(status && { status }) };
}
const QUEUED = { phase: 'Queued', queuedAt: at(10) } as const;
const STARTED = { ...QUEUED, phase: 'Building', startedAt: at(40) } as const;
const BUILT = { ...STARTED, phase: 'Built', finishedAt: at(100) } as const;

it.each<{ reason: string; before?: AppRevisionStatus; after: AppRevisionStatus; outcomes: Outcome[] }>([
  { reason: 'a rollout that goes on has none', before: {}, after: { state: 'DEPLOYING' }, outcomes: [] },
  {
    reason: 'a rollout counts from the revision',
    before: { state: 'DEPLOYING' },
    after: { state: 'DEPLOYED', stateChangedAt: at(30) },
    outcomes: [{ of: 'rollout', result: 'deployed', seconds: 30 }],
  },
  {
    reason: 'that of a built revision counts from the image',
    before: { state: 'DEPLOYING', build: BUILT },
    after: { state: 'DEPLOYED', stateChangedAt: at(130), build: BUILT },
    outcomes: [{ of: 'rollout', result: 'deployed', seconds: 30 }],
  },
  {
    reason: 'one that failed',
    before: { state: 'DEPLOYING' },
    after: { state: 'DEPLOY_FAILED', stateChangedAt: at(600) },
    outcomes: [{ of: 'rollout', result: 'failed', seconds: 600 }],
  },
  {
    reason: 'one that recovers later is not counted again',
    before: { state: 'DEPLOY_FAILED', stateChangedAt: at(600) },
    after: { state: 'DEPLOYED', stateChangedAt: at(900) },
    outcomes: [],
  },
  {
    reason: 'a steady state has none',
    before: { state: 'DEPLOYED', stateChangedAt: at(30), build: BUILT },
    after: { state: 'DEPLOYED', stateChangedAt: at(30), build: BUILT, message: 'other' },
    outcomes: [],
  },
  {
    reason: 'a revision that was overtaken is no result',
    before: { state: 'DEPLOYING' },
    after: { state: 'SKIPPED', stateChangedAt: at(3) },
    outcomes: [],
  },
  {
    reason: 'a clock that went back gives no negative time',
    before: { state: 'DEPLOYING' },
    after: { state: 'DEPLOYED', stateChangedAt: at(-5) },
    outcomes: [{ of: 'rollout', result: 'deployed', seconds: 0 }],
  },
  {
    reason: 'a build that gets its turn',
    before: { build: QUEUED },
    after: { build: STARTED },
    outcomes: [{ of: 'build queue', seconds: 30 }],
  },
  {
    reason: 'a build that ends',
    before: { build: STARTED },
    after: { build: BUILT },
    outcomes: [{ of: 'build', result: 'built', seconds: 60 }],
  },
  {
    reason: 'an image that was there already took no time',
    before: { build: QUEUED },
    after: { build: { phase: 'Built', reason: 'ImageReused' } },
    outcomes: [],
  },
  {
    reason: 'a build that failed, with its reason',
    before: { build: STARTED },
    after: { build: { ...STARTED, phase: 'Failed', reason: 'PushFailed', finishedAt: at(50) } },
    outcomes: [
      { of: 'build', result: 'failed', seconds: 10 },
      { of: 'build failure', reason: 'PushFailed' },
    ],
  },
  {
    reason: 'a reason that no table has',
    before: { build: QUEUED },
    after: { build: { ...QUEUED, phase: 'Failed', reason: 'constructor' } },
    outcomes: [{ of: 'build failure', reason: 'Other' }],
  },
  {
    reason: 'one that somebody ended',
    before: { build: STARTED },
    after: { build: { ...STARTED, phase: 'Interrupted', finishedAt: at(45) } },
    outcomes: [{ of: 'build', result: 'interrupted', seconds: 5 }],
  },
])('$reason', ({ before, after, outcomes }) => {
  expect(outcomesOf(revision(before), revision(after))).toEqual(outcomes);
});

it('a revision that was not known before has none: it may have ended long ago', () => {
  expect(outcomesOf(undefined, revision({ state: 'DEPLOYED', stateChangedAt: at(30), build: BUILT }))).toEqual([]);
});
