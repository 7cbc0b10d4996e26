// Which texts the patterns take that kinds, settings and command lines have in common.

import { expect, it } from 'vitest';
import { isTime } from './database-names.ts';
import { IMAGE_PATTERN } from './name-patterns.ts';

const IMAGE = new RegExp(IMAGE_PATTERN);
const DIGEST = `@sha256:${'0a'.repeat(32)}`;

it.each([
  'shop',
  'shop:1',
  'shop:V1.5-RC_1',
  'team/shop:1',
  'localhost:5000/shop',
  'Registry.Example.com/team/shop:1',
  'registry.example.com:5000/team/shop__web.a-b:1',
  `shop${DIGEST}`,
  `registry.example.com/shop:Latest${DIGEST}`,
])('takes %s for an image', (text) => {
  expect(text).toMatch(IMAGE);
});

it.each([
  '',
  'Shop',
  'Shop:1',
  `Shop${DIGEST}`,
  'Registry.Example.com',
  'team/Shop:1',
  'registry.example.com/Team/shop',
  'registry.example.com/team/shop:',
  'shop:-1',
  'shop@sha256:0a',
  `shop${DIGEST.toUpperCase()}`,
  'team//shop',
  '/shop',
  'shop/',
  'shop-:1',
  'http://registry.example.com/shop',
  'shop 1',
])('takes %j for no image', (text) => {
  expect(text).not.toMatch(IMAGE);
});

it('takes the days that there are, of every month and year', () => {
  for (let year = 1896; year <= 2104; year += 1)
    for (let month = 1; month <= 12; month += 1) {
      const last = new Date(Date.UTC(year, month, 0)).getUTCDate();
      const day = (number: number): string =>
        `${year}-${String(month).padStart(2, '0')}-${String(number).padStart(2, '0')}T00:00:00Z`;
      expect([day(1), day(last), day(28)].filter((text) => !isTime(text))).toEqual([]);
      const others = [0, last + 1, 31, 32, 99].filter((number) => number === 0 || number > last);
      expect(others.map(day).filter(isTime)).toEqual([]);
    }
});

it.each([
  ['2026-11-25T12:00:00Z', true],
  ['2026-11-25T23:59:59.123456789+05:30', true],
  ['2024-02-29T12:00:00-01:00', true],
  ['2000-02-29T00:00:00Z', true],
  ['1900-02-29T00:00:00Z', false],
  ['2026-13-01T00:00:00Z', false],
  ['2026-00-10T00:00:00Z', false],
  ['2026-11-25T24:00:00Z', false],
  ['2026-11-25T12:60:00Z', false],
  ['2026-11-25T12:00:60Z', false],
  ['2026-11-25T12:00:00', false],
  ['2026-11-25', false],
  ['noon', false],
  ['x2026-11-25T12:00:00Z', false],
  ['2026-11-25T12:00:00Zx', false],
])('%s is a time: %s', (text, is) => {
  expect(isTime(text)).toBe(is);
});
