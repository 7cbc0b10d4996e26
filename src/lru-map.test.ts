import { describe, expect, it } from 'vitest';
import { LruMap } from './lru-map.ts';

describe('LruMap', () => {
  it.each([1, 4, 5, 6, 9, 10, 11, 15, 99, 100])(
    'of %i has never more than its limit, and the half that came last',
    (count) => {
      const map = new LruMap<number, string>(10);
      for (let index = 0; index < count; index += 1) {
        map.set(index, `value ${index}`);
        expect(map.size).toBeLessThanOrEqual(10);
      }
      const last = Array.from({ length: Math.min(5, count) }, (_, back) => count - 1 - back);
      expect(last.map((index) => map.get(index))).toEqual(last.map((index) => `value ${index}`));
    },
  );

  it('keeps what is used however much comes and goes', () => {
    const map = new LruMap<string, number>(4);
    map.set('used', 1);
    for (let index = 0; index < 100; index += 1) {
      map.set(`passing ${index}`, index);
      expect(map.get('used')).toBe(1);
    }
    expect(map.get('passing 0')).toBeUndefined();
  });

  it('has the last value of a key, in whichever generation the one before was', () => {
    const map = new LruMap<string, number>(4);
    for (const [index, key] of ['a', 'b', 'c', 'a', 'd', 'a'].entries()) map.set(key, index);
    expect(map.get('a')).toBe(5);
    map.set('e', 6);
    map.set('a', 7);
    expect([map.get('a'), map.size <= 4]).toEqual([7, true]);
  });

  it('drops an entry only as it was seen', () => {
    const map = new LruMap<string, number>(4);
    for (const key of ['a', 'b', 'c']) map.set(key, 1);
    map.drop('a', 2);
    expect(map.get('a')).toBe(1);
    map.drop('a', 1);
    map.drop('c', 1);
    expect([map.get('a'), map.get('b'), map.get('c')]).toEqual([undefined, 1, undefined]);
  });
});
