import { expect, it } from 'vitest';
import { withShortIds } from './short-ids.ts';

const ID = '3f0c9b1e-5d3a-5f0e-8a11-0123456789ab';

it.each([
  [`Revision ${ID} is serving.`, 'Revision 3f0c9b1e is serving.'],
  [`It is removed, and revision ${ID} stays active.`, 'It is removed, and revision 3f0c9b1e stays active.'],
  [`Pod shop-${ID} and key ${ID}`, `Pod shop-${ID} and key ${ID}`],
])('%s', (message, shown) => {
  expect(withShortIds(message)).toBe(shown);
});
