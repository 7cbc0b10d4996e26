// What `backups` shows of the backups that the status lists.

import { expect, it } from 'vitest';
import { aRecord, type CliRan } from '../../../test/support/cli-world.ts';
import { makeOwnCli } from '../../../test/support/own-cli.ts';

const stored = (day: string, more: object = {}): object => ({
  name: `202602${day}T020000Z-0123abcd`,
  takenAt: `2026-02-${day}T02:00:00Z`,
  sizeBytes: 2048,
  ...more,
});
const NEWEST = [
  stored('04', { number: 1, databases: 3, roles: 1 }),
  stored('02', { number: 0, verified: true, byHand: true }),
  stored('01', { earlier: true }),
];
const list = (count = NEWEST.length): object => ({ listedAt: '2026-02-04T02:00:09Z', count, newest: NEWEST });

const backups = (status: object, args: readonly string[] = []): Promise<CliRan> =>
  makeOwnCli({ record: aRecord({}, status) }).run(['backups', 'shop', ...args]);

it('shows what the store has and what is known of it, newest first', async () => {
  const baseBackups = {
    count: 1,
    newest: [{ name: 'shop--postgres-20260203', takenAt: '2026-02-03T02:00:00Z', number: 0 }],
  };
  const { code, out, err } = await backups({ databaseBackups: list(), databaseArchive: { baseBackups } });
  expect([code, err]).toEqual([0, '']);
  expect(out.split('\n').map((line) => line.replace(/ {2}\d+d {2}/, '  AGE  ').replaceAll(/ {2,}/g, ' | '))).toEqual([
    'BACKUP | TAKEN AT | AGE | SIZE | DATABASE | CONTENTS | VERIFIED | MADE',
    '20260204T020000Z-0123abcd | 2026-02-04T02:00:00Z | AGE | 2.0 KiB | 1 | 3 databases, 1 role | - | on schedule',
    'shop--postgres-20260203 | 2026-02-03T02:00:00Z | AGE | - | 0 | - | - | base backup of the archive',
    '20260202T020000Z-0123abcd | 2026-02-02T02:00:00Z | AGE | 2.0 KiB | 0 | - | yes | by hand',
    '20260201T020000Z-0123abcd | 2026-02-01T02:00:00Z | AGE | 2.0 KiB | - | - | - | by an earlier shop',
  ]);
});

it('prints JSON for programs', async () => {
  const { out } = await backups({ databaseBackups: list() }, ['-o', 'json']);
  expect((JSON.parse(out) as object[])[1]).toEqual({
    name: '20260202T020000Z-0123abcd',
    takenAt: '2026-02-02T02:00:00Z',
    sizeBytes: 2048,
    database: 0,
    databases: null,
    roles: null,
    isVerified: true,
    made: 'by hand',
  });
});

it.each([
  ['there are more', { databaseBackups: list(51) }, 'The store has 51 backups. These are the newest 3.'],
  [
    'there is an archive',
    { databaseBackups: list(), databaseArchive: { firstRecoverableAt: '2026-02-01T00:00:00Z' } },
    'The archive has every point in time from 2026-02-01T00:00:00Z until an unknown time',
  ],
  ['there is none', {}, 'shop has no known backups. To make one now: kubectl davit backup shop'],
  [
    'there is none, with the reason',
    { conditions: [{ type: 'BackupReady', status: 'False', reason: 'BackupFailing', message: 'It failed.' }] },
    'shop has no known backups. It failed. To make one now: kubectl davit backup shop',
  ],
  [
    'none can be made, with what to do',
    { conditions: [{ type: 'BackupReady', status: 'False', reason: 'NotConfigured', message: 'Backups are off.' }] },
    'shop has no known backups. Backups are off.',
  ],
])('says so on standard error where %s', async (_what, status, words) => {
  const { code, err } = await backups(status);
  expect([code, err]).toEqual([0, expect.stringMatching(new RegExp(`^${words}${words.startsWith('No') ? '$' : ''}`))]);
});
