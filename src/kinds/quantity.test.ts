import { describe, expect, it } from 'vitest';
import { quantity } from './quantity.ts';

describe('quantity', () => {
  it.each([
    ['100m', 0.1],
    [0.1, 0.1],
    ['1Gi', 1_073_741_824],
    ['1k', 1000],
    ['129e6', 129_000_000],
    ['129E+6', 129_000_000],
    ['5e-1', 0.5],
    ['2E', 2e18],
    ['1e', '1e'],
    ['nonsense', 'nonsense'],
  ])('%s is %s', (text, want) => {
    expect(quantity(text)).toBe(want);
  });
});
