// Which backup a request means, by the list of the status.

import { expect, it } from 'vitest';
import type { DatabaseBackupsStatus, StoredBackup } from '../../kinds/database.ts';
import { listedBackup, type Wanted } from './stored-backups.ts';

const nameOf = (day: number): string => `2026020${day}T020000Z-0000000a`;
const stored = (day: number, more: Partial<StoredBackup> = {}): StoredBackup => ({
  name: nameOf(day),
  takenAt: `2026-02-0${day}T02:00:00Z`,
  sizeBytes: 1,
  ...more,
});
const list = (newest: readonly StoredBackup[], count = newest.length): DatabaseBackupsStatus => ({
  listedAt: '2026-02-09T00:00:00Z',
  count,
  newest: [...newest],
});
const WHOLE = list([stored(6, { postgresVersion: 18 }), stored(4), stored(2, { earlier: true })]);

it.each<[string, DatabaseBackupsStatus | undefined, Partial<Wanted>, number | undefined | RegExp]>([
  ['the newest', WHOLE, {}, 6],
  ['one of this name', WHOLE, { backup: nameOf(4) }, 4],
  ['the newest of a time', WHOLE, { at: '2026-02-05T00:00:00Z' }, 4],
  ['one of its very time', WHOLE, { at: '2026-02-04T02:00:00Z' }, 4],
  ['one of an earlier deployment, where those count', WHOLE, { at: '2026-02-03T00:00:00Z', ofAllLives: true }, 2],
  [
    'none of an earlier deployment, where those do not count',
    WHOLE,
    { backup: nameOf(2) },
    /^Backup .* belongs to an earlier deployment shop\. .* --from shop\.$/,
  ],
  [
    'none so old',
    WHOLE,
    { at: '2026-02-01T00:00:00Z', ofAllLives: true },
    /^The store has no backup from 2026-02-01T00:00:00Z or before of shop\. The earliest is from 2026-02-02T02:00:00Z, the latest from 2026-02-06T02:00:00Z\. To list them: kubectl davit backups shop$/,
  ],
  ['none of this name', WHOLE, { backup: nameOf(5) }, /^The store has no backup 20260205T020000Z-0000000a of shop\./],
  ['none where there is none', list([]), {}, /^The store has no backup of shop\.$/],
  ['one of the same version', WHOLE, { postgresVersion: 18 }, 6],
  ['one whose version is not known', WHOLE, { backup: nameOf(4), postgresVersion: 17 }, 4],
  [
    'none of a newer version',
    WHOLE,
    { postgresVersion: 17 },
    /^Backup .* was made by PostgreSQL 18, but the new database would have the older version 17\./,
  ],
  ['what nobody has listed', undefined, { backup: nameOf(4) }, undefined],
  ['what is older than all that is listed', list([stored(6)], 9), { backup: nameOf(4) }, undefined],
  ['a time before all that is listed', list([stored(6)], 9), { at: '2026-02-05T00:00:00Z' }, undefined],
  ['none that should be listed', list([stored(6), stored(4)], 9), { backup: nameOf(5) }, /^The store has no backup/],
])('%s', (_what, all, wanted, expected) => {
  const chosen = listedBackup(all, { from: 'shop', ofAllLives: false, ...wanted });
  if (expected instanceof RegExp) expect(chosen).toEqual({ refused: expect.stringMatching(expected) as string });
  else
    expect(chosen).toEqual({
      backup: expected === undefined ? undefined : all?.newest.find(({ name }) => name === nameOf(expected)),
    });
});
