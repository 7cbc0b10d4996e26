// What retention deletes, by what is in the store.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { archiveName, byHandKey, folderOf, keyOf, manifestKey, type Owner } from './archive.ts';
import { expiredKeys, type Retention } from './retention.ts';

const OWNER: Owner = { prefix: 'davit', namespace: 'team', tenant: 't1', deployment: 'shop', uid: 'u1' };
const OTHER: Owner = { ...OWNER, uid: 'u0' };
const dumpKey = (owner: Owner, name: string): string => keyOf(owner, name, 'dump');
const NOW = new Date('2026-02-10T00:00:00Z');
const day = (number: number): string => archiveName(`2026-02-${String(number).padStart(2, '0')}T02:00:00Z`, '0000000a');
const whole = (owner: Owner, ...numbers: number[]): string[] =>
  numbers.flatMap((number) => [dumpKey(owner, day(number)), manifestKey(owner, day(number))]);
const byHand = (...numbers: number[]): string[] => [
  ...whole(OWNER, ...numbers),
  ...numbers.map((number) => byHandKey(OWNER, day(number))),
];

/** The days whose backups are deleted. */
function deleted(keys: readonly string[], retention: Retention, made: number): number[] {
  const expired = expiredKeys(OWNER, keys, { ...retention, made: day(made), now: NOW });
  return Array.from({ length: 28 }, (_, index) => index + 1).filter((number) =>
    expired.includes(manifestKey(OWNER, day(number))),
  );
}

it.each<[string, string[], Retention, number, number[]]>([
  ['the oldest beyond the number', whole(OWNER, 1, 2, 3, 4), { keep: 2 }, 4, [1, 2]],
  ['nothing within the number', whole(OWNER, 1, 2, 3), { keep: 3 }, 3, []],
  ['nothing younger than the days', whole(OWNER, 1, 5, 6, 7, 8, 9), { keep: 2, keepDays: 5 }, 9, [1]],
  ['nothing that only the number keeps', whole(OWNER, 1, 2, 9), { keep: 3, keepDays: 2 }, 9, []],
  ['never the last verified one', whole(OWNER, 1, 2, 3, 4), { keep: 1, verified: day(2) }, 4, [1, 3]],
  [
    'never the last verified one, however old',
    whole(OWNER, 1, 8, 9),
    { keep: 1, keepDays: 1, verified: day(1) },
    9,
    [8],
  ],
  ['the others where the verified one is gone', whole(OWNER, 2, 3), { keep: 1, verified: day(1) }, 3, [2]],
  ['none by hand', [...byHand(1, 3), ...whole(OWNER, 2, 4)], { keep: 1 }, 4, [2]],
  ['as many scheduled ones after a run by hand', [...byHand(9), ...whole(OWNER, 1, 2, 3)], { keep: 2 }, 9, [1]],
  ['not the new one, although the clock has gone back', whole(OWNER, 1, 2, 3), { keep: 1 }, 1, [2, 3]],
  ['nothing of another life', [...whole(OTHER, 1, 2), ...whole(OWNER, 3)], { keep: 1 }, 3, []],
])('deletes %s', (_what, keys, retention, made, expected) => {
  expect(deleted(keys, retention, made)).toEqual(expected);
});

it('deletes each manifest before its dump, the newest first', () => {
  const keys = whole(OWNER, 1, 2, 3);
  expect(expiredKeys(OWNER, keys, { keep: 1, made: day(3), now: NOW })).toEqual([
    manifestKey(OWNER, day(2)),
    dumpKey(OWNER, day(2)),
    manifestKey(OWNER, day(1)),
    dumpKey(OWNER, day(1)),
  ]);
});

it('deletes all files of a dump, and nothing that somebody has put beside them', () => {
  const further = ['further-16400', 'roles.sql'].map((file) => keyOf(OWNER, day(1), file));
  const keys = [...whole(OWNER, 1, 3), ...further, keyOf(OWNER, day(1), 'notes.txt')];
  expect(expiredKeys(OWNER, keys, { keep: 1, made: day(3), now: NOW })).toEqual([
    manifestKey(OWNER, day(1)),
    dumpKey(OWNER, day(1)),
    ...further,
  ]);
});

it('deletes what is not complete only when nothing can be sending it any more', () => {
  const unfinished = [
    dumpKey(OWNER, day(1)),
    byHandKey(OWNER, day(1)),
    dumpKey(OWNER, day(8)),
    manifestKey(OWNER, day(2)),
  ];
  const others = [`${folderOf(OWNER)}t1/u1/notes.txt`, `${folderOf(OWNER)}t1/u1/x/dump`];
  expect(
    expiredKeys(OWNER, [...unfinished, ...others, ...whole(OWNER, 9)], { keep: 7, made: day(9), now: NOW }).toSorted(),
  ).toEqual([byHandKey(OWNER, day(1)), dumpKey(OWNER, day(1)), manifestKey(OWNER, day(2))].toSorted());
});

describe('whatever there is', () => {
  const days = fc.uniqueArray(fc.integer({ min: 1, max: 28 }), { minLength: 1, maxLength: 20 });
  it('as many as asked for are left, with the new one, the last verified one and those by hand', () => {
    fc.assert(
      fc.property(days, days, fc.integer({ min: 1, max: 10 }), fc.nat(), fc.nat(), (numbers, hand, keep, at, ok) => {
        const made = numbers[at % numbers.length] ?? 0;
        const verified = numbers[ok % numbers.length] ?? 0;
        const manual = hand.filter((number) => !numbers.includes(number));
        const keys = [...whole(OWNER, ...numbers), ...byHand(...manual)];
        const gone = deleted(keys, { keep, verified: day(verified) }, made);
        const left = numbers.filter((number) => !gone.includes(number));
        expect([left.includes(made), left.includes(verified), manual.some((one) => gone.includes(one))]).toEqual([
          true,
          true,
          false,
        ]);
        expect(left.length - Math.min(keep, numbers.length)).toBeOneOf([0, 1]);
      }),
    );
  });
});
