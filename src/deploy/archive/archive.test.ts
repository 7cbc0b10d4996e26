import { describe, expect, it } from 'vitest';
import {
  ArchiveManifest,
  archiveName,
  backupsAmong,
  byHandKey,
  chosenBackup,
  folderOf,
  keyOf,
  manifestKey,
  missingNewest,
  type Owner,
  storedAmong,
  timeOf,
  unfitness,
} from './archive.ts';

const OWNER: Owner = { prefix: 'davit', namespace: 'team', tenant: 't1', deployment: 'shop', uid: 'u1' };
const OTHER: Owner = { ...OWNER, uid: 'u0' };
/** Of an earlier namespace of the name. */
const ELSEWHERE: Owner = { ...OWNER, tenant: 't0', uid: 'u9' };
const dumpKey = (owner: Owner, name: string): string => keyOf(owner, name, 'dump');
const day = (number: number): string => archiveName(`2026-02-${String(number).padStart(2, '0')}T02:00:00Z`, '0000000a');
const whole = (owner: Owner, ...names: string[]): string[] =>
  names.flatMap((name) => [dumpKey(owner, name), manifestKey(owner, name)]);

it('a name sorts by time and is read back', () => {
  const name = archiveName('2026-11-25T02:00:00Z', '1a2b3c4d');
  expect(name).toBe('20261125T020000Z-1a2b3c4d');
  expect(timeOf(name)).toBe(Date.parse('2026-11-25T02:00:00Z'));
  for (const other of ['', 'dump', '20261125T020000Z', '20261325T020000Z-1a2b3c4d', `${name}x`])
    expect(timeOf(other)).toBeUndefined();
});

describe('the backup that is asked for', () => {
  const keys = [
    ...whole(OTHER, day(1)),
    ...whole(OWNER, day(3), day(5)),
    dumpKey(OWNER, day(7)),
    manifestKey(OWNER, day(8)),
    `${folderOf(OWNER)}t1/u1/notes.txt`,
    ...whole({ ...OWNER, deployment: 'shop-2' }, day(9)),
  ];
  const all = backupsAmong(keys, OWNER);
  const which = `Complete backups: ${day(5)}, ${day(3)}, ${day(1)}.`;

  it('is among those of all lives, and of this deployment alone', () => {
    expect(all.map(({ name, owner, isComplete }) => [name, owner.uid, isComplete])).toEqual([
      [day(8), 'u1', false],
      [day(7), 'u1', false],
      [day(5), 'u1', true],
      [day(3), 'u1', true],
      [day(1), 'u0', true],
    ]);
  });

  it.each([
    ['the newest', {}, day(5)],
    ['one of this name', { backup: day(1) }, day(1)],
    ['one of a time between two', { at: '2026-02-04T00:00:00Z' }, day(3)],
    ['one of its very time', { at: '2026-02-03T02:00:00Z' }, day(3)],
    ['none of this name', { backup: day(2) }, `Backup ${day(2)} does not exist. ${which}`],
    [
      'one without a manifest',
      { backup: day(7) },
      `Backup ${day(7)} is not complete: it has no dump or no manifest. ${which}`,
    ],
    [
      'one without a dump',
      { backup: day(8) },
      `Backup ${day(8)} is not complete: it has no dump or no manifest. ${which}`,
    ],
    [
      'none so old',
      { at: '2026-01-01T00:00:00Z' },
      `There is no complete backup from 2026-01-01T00:00:00Z or before. ${which}`,
    ],
  ])('%s', (_what, asked, expected) => {
    const found = chosenBackup(all, asked);
    expect(typeof found === 'string' ? found : found.name).toBe(expected);
  });

  it.each<[string, string | undefined, RegExp | undefined]>([
    ['none was known', undefined, undefined],
    ['it is the newest', day(5), undefined],
    ['a newer one is there', day(4), undefined],
    [
      'it has gone',
      day(6),
      /^Backup .*6T.* is missing or incomplete in the store\. The newest complete backup is .*5T/,
    ],
    ['it lacks its dump', day(8), /^Backup .*8T.* is missing or incomplete in the store/],
  ])('that is known is missed unless %s', (_what, known, words) => {
    const said = missingNewest(all, known);
    if (words === undefined) expect(said).toBeUndefined();
    else expect(said).toMatch(words);
    expect(missingNewest([], known) === undefined).toBe(known === undefined);
  });

  it('is listed with its size and what it is, where it is complete', () => {
    const sized = [...keys, byHandKey(OWNER, day(3))].map((key, index) => ({ key, size: index }));
    const sizeOf = (owner: Owner, number: number): number =>
      sized.find(({ key }) => key === dumpKey(owner, day(number)))?.size ?? -1;
    expect(storedAmong(sized, OWNER)).toEqual({
      count: 3,
      newest: [
        [day(5), sizeOf(OWNER, 5), ''],
        [day(3), sizeOf(OWNER, 3), 'h'],
        [day(1), sizeOf(OTHER, 1), 'e'],
      ],
    });
  });

  it('is not listed where it is of an earlier namespace of the name', () => {
    const theirs = whole(ELSEWHERE, day(6)).map((key) => ({ key, size: 1 }));
    expect(storedAmong(theirs, OWNER)).toEqual({ count: 0, newest: [] });
    expect(storedAmong(theirs, { ...ELSEWHERE, uid: 'u8' })).toEqual({ count: 1, newest: [[day(6), 1, 'e']] });
  });

  it('is none where there is none', () => {
    expect(chosenBackup([], {})).toBe('The store has no complete backup.');
  });
});

describe('a manifest', () => {
  const manifest = {
    version: 1,
    name: day(3),
    namespace: 'team',
    deployment: 'shop',
    tenant: '3f2c0f3e-6f0e-4f7e-9f43-2f9d6d1c1a11',
    uid: '8b5c0f3e-6f0e-4f7e-9f43-2f9d6d1c1a11',
    takenAt: '2026-02-03T02:00:00Z',
    serverVersion: 170_004,
    sizeBytes: 10,
    files: [{ name: 'dump', sizeBytes: 10, sha256: 'a'.repeat(64) }],
  };
  it.each<[string, object, boolean]>([
    ['as Davit writes it', {}, true],
    ['a deployment that nobody can have', { deployment: 'shop. Run this: curl' }, false],
    ['a namespace that nobody can have', { namespace: 'Team' }, false],
    ['an id that none is', { uid: '8b5c\n0f3e' }, false],
    ['no tenant', { tenant: undefined }, false],
    ['a cluster', { cluster: '1c0f3e00-6f0e-4f7e-9f43-2f9d6d1c1a11' }, true],
    ['the name of no backup', { name: 'newest' }, false],
    ['a file outside of its folder', { files: [{ name: '../dump', sizeBytes: 1, sha256: 'a'.repeat(64) }] }, false],
  ])('with %s: %j', (_what, more, isRead) => {
    expect(ArchiveManifest.safeParse({ ...manifest, ...more }).success).toBe(isRead);
  });
});

describe('a backup is not loaded', () => {
  const manifest: ArchiveManifest = {
    version: 1,
    name: day(3),
    namespace: 'team',
    deployment: 'shop',
    tenant: 't1',
    uid: 'u1',
    takenAt: '2026-02-03T02:00:00Z',
    serverVersion: 170_004,
    sizeBytes: 10,
    files: [{ name: 'dump', sizeBytes: 10, sha256: 'a'.repeat(64) }],
  };
  const found = { name: day(3), owner: OWNER, isComplete: true, isByHand: false };
  const why = (more: Partial<ArchiveManifest>, stored = 10, serverVersion = 170_006): unknown =>
    unfitness(found, { ...manifest, ...more }, { stored: new Map([[dumpKey(OWNER, day(3)), stored]]), serverVersion });

  it('unless it fits', () => {
    expect(why({})).toBeUndefined();
    expect(why({}, 10, 180_001)).toBeUndefined();
  });

  it.each([
    ['of another tenant', why({ namespace: 'other' }), /another tenant: namespace other, uid t1/],
    ['of an earlier namespace', why({ tenant: 't0' }), /belongs to another tenant: namespace team, uid t0/],
    ['under another name', why({ name: day(4) }), /describes another backup:/],
    ['of another life', why({ uid: 'u0' }), /describes another backup: .* \(u0\)/],
    [
      'of a newer major version',
      why({}, 10, 160_010),
      /was made by PostgreSQL 17, but the database has the older version 16/,
    ],
    ['that was cut', why({}, 9), /is damaged: its file dump has 9 of 10 bytes/],
    [
      'of another time than its name',
      why({ takenAt: '2026-02-03T02:00:01Z' }),
      /has a different time: 2026-02-03T02:00:01Z/,
    ],
  ])('%s', (_what, words, expected) => {
    expect(words).toMatch(expected);
  });
});
