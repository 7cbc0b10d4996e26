import { describe, expect, it } from 'vitest';
import type { Measure } from './measure.ts';
import { chosen, sizeOf } from './options.ts';

const measures: readonly Measure[] = ['P1', 'P4', 'P10'].map((key) => ({
  key,
  goal: { atMost: 1 },
  run: async () => [],
}));

describe('--only', () => {
  it.each([
    { reason: 'nothing is everything', only: undefined, want: ['P1', 'P4', 'P10'] },
    { reason: 'their own order', only: 'P10,P1', want: ['P1', 'P10'] },
    { reason: 'P1 is not P10', only: 'p1', want: ['P1'] },
  ])('$reason', ({ only, want }) => {
    expect(chosen(measures, only).map(({ key }) => key)).toEqual(want);
  });
  it('names what there is', () => {
    expect(() => chosen(measures, 'P1,P99')).toThrow('P99: there are P1, P4, P10');
  });
});

describe('sizes', () => {
  it('are small when it is to be quick, and what is said is taken', () => {
    expect(sizeOf({ quick: false })).toEqual({ quick: false, records: 1000, repeats: 5, workers: 8 });
    expect(sizeOf({ quick: true, repeats: '2' })).toEqual({ quick: true, records: 60, repeats: 2, workers: 8 });
  });
  it.each(['0', '-3', '1e9', 'many', ''])('refuses %j', (records) => {
    expect(() => sizeOf({ quick: false, records })).toThrow('--records');
  });
});
