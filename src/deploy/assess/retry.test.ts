import { describe, expect, it } from 'vitest';
import { aRecord } from '../../../test/support/builders.ts';
import type { ActionFailure } from './observed.ts';
import { retryAfterMs } from './retry.ts';

const NOW = new Date('2026-02-02T02:02:02Z');

function stalledSince(lastTransitionTime: string, status: 'True' | 'False' = 'True') {
  const condition = { type: 'Stalled', status, reason: 'ApplyRefused', message: '', lastTransitionTime };
  return aRecord({}, { status: { conditions: [condition] } });
}

function whileHeld(since: string) {
  const [stalled] = stalledSince('2026-02-02T01:00:00Z', 'False').status?.conditions ?? [];
  const ready = {
    type: 'Ready',
    status: 'False' as const,
    reason: 'Operating',
    message: '',
    lastTransitionTime: since,
  };
  return aRecord({}, { status: { conditions: stalled ? [stalled, ready] : [] } });
}

function refused(reason: ActionFailure['reason']): ActionFailure[] {
  return [{ reason, ref: { kind: 'Service', name: 'shop' }, message: '' }];
}

describe('retryAfterMs', () => {
  it.each([
    { name: 'nothing refused', record: aRecord(), refusals: [], want: undefined },
    {
      name: 'only a change of the record can help',
      record: aRecord(),
      refusals: refused('StorageCannotShrink'),
      want: undefined,
    },
    { name: 'refused for the first time', record: aRecord(), refusals: refused('ApplyRefused'), want: 1_000 },
    {
      name: 'not said yet',
      record: stalledSince('2026-02-02T01:00:00Z', 'False'),
      refusals: refused('ApplyRefused'),
      want: 1_000,
    },
    {
      name: 'while an operation holds the record, which is not Stalled then',
      record: whileHeld('2026-02-02T02:01:54Z'),
      refusals: refused('ApplyRefused'),
      want: 8_000,
    },
    {
      name: 'for eight seconds',
      record: stalledSince('2026-02-02T02:01:54Z'),
      refusals: refused('NameConflict'),
      want: 8_000,
    },
    {
      name: 'for a day',
      record: stalledSince('2026-02-01T02:02:02Z'),
      refusals: refused('ApplyRefused'),
      want: 60_000,
    },
    {
      name: 'in the future, by a clock that was wrong',
      record: stalledSince('2026-02-03T02:02:02Z'),
      refusals: refused('ApplyRefused'),
      want: 1_000,
    },
  ])('$name', ({ record, refusals, want }) => {
    expect(retryAfterMs(record, refusals, NOW)).toBe(want);
  });
});
