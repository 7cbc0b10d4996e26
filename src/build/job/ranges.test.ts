import { describe, expect, it } from 'vitest';
import { isWithin } from './namespace.ts';

describe('a range', () => {
  it.each([
    ['203.0.113.7/32', '0.0.0.0/0', true],
    ['203.0.113.0/24', '203.0.113.0/24', false],
    ['203.0.113.0/24', '203.0.113.7/32', false],
    ['203.0.113.0/25', '203.0.113.0/24', true],
    ['203.0.114.0/25', '203.0.113.0/24', false],
    ['255.255.255.255/32', '128.0.0.0/1', true],
    ['2001:db8::7/128', '::/0', true],
    ['2001:db8:0:1::/64', '2001:db8::/32', true],
    ['2001:db9::/64', '2001:db8::/32', false],
    ['::ffff:10.0.0.1/128', '::ffff:0:0/96', true],
    ['1:2:3:4:5:6:7:8/128', '1:2:3:4:5:6:7::/112', true],
    ['203.0.113.7/32', '::/0', false],
    ['2001:db8::7/128', '0.0.0.0/0', false],
  ])('%s within %s: %s', (inner, outer, within) => {
    expect(isWithin(inner, outer)).toBe(within);
  });
});
