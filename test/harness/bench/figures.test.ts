import { describe, expect, it } from 'vitest';
import { growth, isMet, median, quantile, ratios, summary, verdict } from './figures.ts';

describe('quantile', () => {
  it.each([
    { reason: 'one sample is every quantile', samples: [7], share: 0.99, want: 7 },
    { reason: 'order does not matter', samples: [3, 1, 2], share: 0.5, want: 2 },
    { reason: 'between the middle two', samples: [1, 2, 10, 20], share: 0.5, want: 6 },
    { reason: 'numbers, not texts', samples: [10, 9, 100], share: 1, want: 100 },
  ])('$reason', ({ samples, share, want }) => {
    expect(quantile(samples, share)).toBe(want);
  });
  it('has none of nothing', () => {
    expect(() => median([])).toThrow('no samples');
  });
});

describe('ratios', () => {
  it('are of the same repeat, not of the medians', () => {
    expect(ratios([10, 40], [5, 40])).toEqual([2, 1]);
  });
  it.each([
    { reason: 'a repeat without its other half', ours: [1, 2], theirs: [1] },
    { reason: 'nothing measured', ours: [1], theirs: [0] },
  ])('refuses $reason', ({ ours, theirs }) => {
    expect(() => ratios(ours, theirs)).toThrow(RangeError);
  });
});

describe('a goal', () => {
  it.each([
    { reason: 'is met by the median', goal: { atMost: 1.1 }, samples: [1, 1.1, 9], want: true },
    { reason: 'is missed by the median', goal: { atMost: 1.1 }, samples: [1, 1.2, 1.2], want: false },
    { reason: 'may ask for more', goal: { atLeast: 20 }, samples: [20], want: true },
    { reason: 'may be zero', goal: { atMost: 0 }, samples: [0], want: true },
  ])('$reason', ({ goal, samples, want }) => {
    expect(isMet({ key: 'P1', goal, samples })).toBe(want);
  });
  it('is not met by what was not measured', () => {
    expect(isMet({ key: 'P1', goal: { atMost: 1 }, why: 'no Go here' })).toBe(false);
  });
});

describe('the summary', () => {
  it('is one line of JSON with a key for each figure', () => {
    const line = summary([
      { key: 'P1', goal: { atMost: 1.1 }, samples: [1.2, 1, 1.04567], absolutes: { wallMs: 1234 } },
      { key: 'P8', goal: { atLeast: 0.5 }, why: 'no facade' },
    ]);
    expect(line).not.toContain('\n');
    expect(JSON.parse(line)).toEqual({
      P1: { goal: 1.1, better: 'lower', median: 1.046, min: 1, max: 1.2, samples: 3, ok: true, wallMs: 1234 },
      P8: { goal: 0.5, better: 'higher', ok: false, why: 'no facade' },
    });
  });
  it('never lets one figure hide another', () => {
    const figure = { key: 'P1', goal: { atMost: 1 }, samples: [1] };
    expect(() => summary([figure, figure])).toThrow('P1');
  });
});

describe('growth', () => {
  it.each([
    { reason: 'flat', costs: [50, 50, 50], want: 1 },
    { reason: 'by the most, not by the last', costs: [50, 60, 55], want: 1.2 },
    { reason: 'from the cheapest before it', costs: [80, 50, 60], want: 1.2 },
    { reason: 'what gets cheaper does not grow', costs: [100, 50, 40], want: 0.8 },
  ])('is $reason', ({ costs, want }) => {
    expect(growth(costs)).toBe(want);
  });
  it('is between two sizes at least', () => {
    expect(() => growth([1])).toThrow('two sizes');
  });
});

it.each([
  {
    reason: 'a goal for 1,000 records says nothing of 60',
    goal: { atMost: 1 },
    samples: [2],
    small: true,
    want: 'not judged',
  },
  { reason: 'nothing may be written at any size', goal: { atMost: 0 }, samples: [2], small: true, want: 'not met' },
  { reason: 'nothing was written', goal: { atMost: 0 }, samples: [0], small: true, want: 'met' },
  { reason: 'the size is that of the goal', goal: { atMost: 1 }, samples: [2], small: false, want: 'not met' },
])('$want: $reason', ({ goal, samples, small, want }) => {
  const figure = { key: 'P1', goal, samples };
  expect(verdict(figure, small)).toBe(want);
  expect(JSON.parse(summary([figure], small))).toMatchObject({
    P1: { ok: want === 'not judged' ? null : want === 'met' },
  });
});

it('a figure that was not taken is not met at any size', () => {
  expect(verdict({ key: 'P1', goal: { atMost: 1 }, why: 'no Go here' }, true)).toBe('not met');
});
