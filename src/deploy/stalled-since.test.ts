import { expect, it } from 'vitest';
import type { AppDeploymentStatus } from '../kinds/app-deployment.ts';
import { stalledFrom, stalledReasonSince } from './stalled-since.ts';

const FIRST = '2026-01-01T00:00:00Z';
const CHANGED = '2026-01-02T00:00:00Z';
const NOW = new Date('2026-01-03T00:00:00Z');

type Conditions = NonNullable<AppDeploymentStatus['conditions']>;

function stalled(status: 'True' | 'False', reason: string, lastTransitionTime = FIRST): Conditions {
  return [{ type: 'Stalled', status, reason, message: '', lastTransitionTime }];
}

it.each<[string, AppDeploymentStatus | undefined, Conditions, string | undefined]>([
  ['a first status', undefined, stalled('True', 'Paused'), undefined],
  ['stalled now', { conditions: stalled('False', 'Settled') }, stalled('True', 'Paused'), undefined],
  ['the same reason', { conditions: stalled('True', 'Paused') }, stalled('True', 'Paused'), undefined],
  ['another reason', { conditions: stalled('True', 'Paused') }, stalled('True', 'PodsRefused'), '2026-01-03T00:00:00Z'],
  [
    'the same as at the last change',
    { conditions: stalled('True', 'PodsRefused'), stalledReasonSince: CHANGED },
    stalled('True', 'PodsRefused'),
    CHANGED,
  ],
  [
    'no longer stalled',
    { conditions: stalled('True', 'PodsRefused'), stalledReasonSince: CHANGED },
    stalled('False', 'Settled'),
    undefined,
  ],
])('%s', (_what, before, conditions, expected) => {
  expect(stalledReasonSince(before, conditions, NOW).stalledReasonSince).toBe(expected);
});

it.each<[AppDeploymentStatus | undefined, string | undefined]>([
  [undefined, undefined],
  [{ conditions: stalled('False', 'Settled'), stalledReasonSince: CHANGED }, undefined],
  [{ conditions: stalled('True', 'Paused') }, FIRST],
  [{ conditions: stalled('True', 'Paused'), stalledReasonSince: CHANGED }, CHANGED],
])('%j is stalled from %s', (status, expected) => {
  expect(stalledFrom(status)).toBe(expected === undefined ? undefined : Date.parse(expected));
});
