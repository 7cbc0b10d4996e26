// A longer sample of the sequences that are driven by wakes, in every bound.

import { expect, it } from 'vitest';
import { WAKE_BOUNDS } from './bounds.ts';
import { walkAll } from './walk.ts';

/** The test beside this one runs the first seeds of three bounds. */
const FROM = 10;
/** Sequences of each bound. The first ones run every part of Davit at once, and find the most. */
const MANY: ReadonlySet<string> = new Set(['whole', 'source', 'source-files', 'hub']);

it.each(WAKE_BOUNDS.map((bound) => ({ bound, name: bound.name, walks: MANY.has(bound.name) ? 3 : 1 })))(
  'no property is broken in $walks sequences of $name',
  async ({ bound, walks }) => {
    const { violations, passes } = await walkAll(bound, { from: FROM, walks });
    expect(violations).toEqual([]);
    expect(passes).toBeGreaterThan(walks);
  },
  600_000,
);
