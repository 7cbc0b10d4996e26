// Which archive a database begins with, of all lives of a name that a namespace knows.

import { describe, expect, it } from 'vitest';
import { aRecord } from '../../../test/support/builders.ts';
import {
  archiveOriginName,
  archivePath,
  archivesAmong,
  chosenArchive,
  isOfArchive,
  type ObjectStoreSeen,
  originIn,
  walArchiveName,
} from './wal-archive.ts';

const FEBRUARY = '2026-02-01T00:00:00Z';

function life(name: string, windows: Readonly<Record<string, string>>, annotations = {}): ObjectStoreSeen {
  return {
    apiVersion: 'barmancloud.cnpg.io/v1',
    kind: 'ObjectStore',
    metadata: { name, annotations },
    spec: { configuration: { destinationPath: `s3://b/${name}` } },
    status: {
      serverRecoveryWindow: Object.fromEntries(
        Object.entries(windows).map(([server, at]) => [server, { firstRecoverabilityPoint: at }]),
      ),
    },
  };
}

const OLD = life('old', { 'shop--postgres': '2026-01-01T00:00:00Z', 'shop---pg1': '2026-01-20T00:00:00Z' });
const NEW = life('new', { 'shop--postgres': FEBRUARY });

describe('the archive of a time', () => {
  it.each([
    ['is the one that began last before it', '2026-02-02T00:00:00Z', 's3://b/new', 'shop--postgres'],
    ['is that of the moment at which it begins', FEBRUARY, 's3://b/new', 'shop--postgres'],
    [
      'is of an earlier life, and there of the database after a move',
      '2026-01-31T00:00:00Z',
      's3://b/old',
      'shop---pg1',
    ],
    ['is of the database before a move', '2026-01-02T00:00:00+01:00', 's3://b/old', 'shop--postgres'],
  ])('%s', (_what, at, destinationPath, server) => {
    expect(chosenArchive([OLD, NEW], { from: 'shop', at, archive: true })).toEqual({ destinationPath, server, at });
  });

  it('without a time is the newest', () => {
    expect(chosenArchive([NEW, OLD], { from: 'shop' })).toEqual({
      destinationPath: 's3://b/new',
      server: 'shop--postgres',
    });
  });

  it('is none before the first one begins, and none where there is no base backup', () => {
    expect(chosenArchive([OLD, NEW], { from: 'shop', at: '2025-12-31T23:59:59Z' })).toBe(
      'No archive of shop has the state of 2025-12-31T23:59:59Z: the earliest begins at 2026-01-01T00:00:00Z.',
    );
    for (const stores of [[], [life('empty', {})], [life('odd', { 'shop--postgres': 'soon' })]])
      expect(chosenArchive(stores, { from: 'shop' })).toContain('This namespace has no archive of shop');
  });

  it('is of no server whose name leads elsewhere', () => {
    const odd = life('odd', { '../../rivals/shop--archive/1/shop--postgres': FEBRUARY });
    expect(chosenArchive([odd], { from: 'shop' })).toContain('This namespace has no archive of shop');
  });

  it('is never what a deployment began with itself', () => {
    const origin = life('origin', { 'shop--postgres': FEBRUARY }, { 'davit.dev/archive-server': 'old--postgres' });
    expect(originIn(origin)).toEqual({ destinationPath: 's3://b/origin', server: 'old--postgres' });
    expect(chosenArchive([origin], { from: 'shop' })).toContain('This namespace has no archive of shop');
  });
});

it('each life of a name has names and a folder of its own, and no folder is within that of dumps', () => {
  const [first, second] = ['11111111-2222', '33333333-2222'].map((uid) => {
    const record = aRecord();
    return { ...record, metadata: { ...record.metadata, uid } };
  });
  expect([walArchiveName(first ?? aRecord()), archiveOriginName(second ?? aRecord())]).toEqual([
    'shop---archive-11111111',
    'shop---origin-33333333',
  ]);
  expect(archivePath(first ?? aRecord(), { bucket: 'b', prefix: 'davit' })).toBe(
    's3://b/davit/team/shop--archive/11111111-2222',
  );
});

it('takes no ObjectStore for an archive of a name that leads to the data of another one', () => {
  const at = (destinationPath: string): ObjectStoreSeen => ({ ...NEW, spec: { configuration: { destinationPath } } });
  const own = at('s3://b/davit/team/shop--archive/1');
  const others = [
    'team/shop-2--archive/1',
    'team/other--archive/1',
    'rivals/shop--archive/1',
    'team/shop/1',
    'team/shop--archive/../../rivals/shop--archive/1',
    'team/shop--archive/..',
    'team/shop--archive/1/../../other--archive/1',
    'team/shop--archive/1?versionId=1',
    'team/shop--archive/',
  ];
  const all = [own, ...others.map((path) => at(`s3://b/davit/${path}`)), { ...NEW, spec: {} }];
  const from = { namespace: 'team', name: 'shop' };
  expect(archivesAmong(all, from, { bucket: 'b', prefix: 'davit' })).toEqual([own]);
});

it('knows what belongs to an archive', () => {
  const object = (kind: string, name: string) => ({ apiVersion: 'v1', kind, metadata: { name } });
  expect(
    [object('ObjectStore', 'any'), object('Secret', 'shop---store-0123abcd'), object('Secret', 'shop--postgres')].map(
      (one) => isOfArchive(one, 'shop'),
    ),
  ).toEqual([true, true, false]);
});
