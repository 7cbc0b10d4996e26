// `davit backup send`: what is in the store afterwards, and what the termination message says.

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { type FakeS3, startFakeS3 } from '../../test/support/fake-s3.ts';
import { BackupReport } from '../kinds/database.ts';
import { MOST_LISTED } from '../kinds/database-names.ts';
import { backup } from './backup.ts';

let s3: FakeS3;
beforeAll(async () => {
  s3 = await startFakeS3('backups', 'key');
  vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  vi.spyOn(process.stdout, 'write').mockReturnValue(true);
});
afterAll(async () => {
  vi.restoreAllMocks();
  await s3.close();
});
beforeEach(() => {
  s3.objects.clear();
  s3.fault = undefined;
});

interface Run {
  readonly code: number;
  readonly message: string;
}

/** The options beside those that every run has; undefined leaves one out. `there`: more files. */
async function send(
  takenAt: string,
  options: Readonly<Record<string, string | undefined>> = {},
  there: Readonly<Record<string, string>> = {},
): Promise<Run> {
  const folder = mkdtempSync(join(tmpdir(), 'davit-backup-'));
  const file = (name: string, text: string): void => writeFileSync(join(folder, name), text);
  file('dump', `dump of ${takenAt}`);
  file('about', '{"extensions": []}\n');
  file('taken-at', `${takenAt}\n`);
  file('server-version', '170004\n');
  for (const [name, text] of Object.entries(there)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    file(name, text);
  }
  file('accessKeyId', 'key\n');
  file('secretAccessKey', 'secret\n');
  file('log', '');
  const more = Object.entries(options).filter(([name]) =>
    ['keep-days', 'verified', 'number', 'cluster-uid'].includes(name),
  );
  if (options['empty'] !== undefined) file('dump', '');
  if (options['without'] !== undefined) rmSync(join(folder, options['without']));
  const store = { endpoint: s3.url, bucket: 'backups', prefix: 'davit', region: 'us-east-1', pathStyle: true };
  const given = {
    store: JSON.stringify(store),
    credentials: folder,
    folder,
    namespace: 'team',
    deployment: 'shop',
    tenant: options['tenant'] ?? 't1',
    uid: options['uid'] ?? 'u1',
    keep: options['keep'] ?? '2',
    'termination-log': join(folder, 'log'),
  };
  const args = Object.entries(given).map(([name, value]) => `--${name}=${value}`);
  const others = more.map(([name, value]) => `--${name}=${value}`);
  const code = await backup(['send', ...args, ...others, ...(options['by-hand'] === undefined ? [] : ['--by-hand'])]);
  return { code, message: readFileSync(join(folder, 'log'), 'utf8') };
}

const keys = (): string[] => [...s3.objects.keys()].map((key) => key.replace(/-[0-9a-f]{8}\//, '/')).toSorted();

it('puts the dump and then its manifest into the store, and says so', async () => {
  const { code, message } = await send('2026-02-02T02:00:00Z', { number: '3', 'cluster-uid': 'c1' });
  expect(code).toBe(0);
  const { name, takenAt, sizeBytes, number, ...others } = JSON.parse(message) as BackupReport;
  const sent = { name, takenAt, sizeBytes, number };
  expect({ ...sent, ...others }).toEqual({
    name: expect.stringMatching(/^20260202T020000Z-[0-9a-f]{8}$/) as string,
    takenAt: '2026-02-02T02:00:00Z',
    sizeBytes: 28,
    postgresVersion: 17,
    number: 3,
    stored: { count: 1, newest: [[sent.name, 28, '']] },
  });
  expect(keys()).toEqual([
    'davit/team/shop/t1/u1/20260202T020000Z/dump',
    'davit/team/shop/t1/u1/20260202T020000Z/manifest.json',
  ]);
  const manifest = s3.objects.get(`davit/team/shop/t1/u1/${sent.name}/manifest.json`)?.toString();
  expect(JSON.parse(manifest ?? '')).toMatchObject({
    ...sent,
    version: 1,
    namespace: 'team',
    deployment: 'shop',
    tenant: 't1',
    cluster: 'c1',
    uid: 'u1',
    serverVersion: 170_004,
    files: [
      {
        name: 'dump',
        sizeBytes: 28,
        sha256: createHash('sha256').update('dump of 2026-02-02T02:00:00Z').digest('hex'),
      },
    ],
  });
});

it('keeps the newest, and all that another life of the deployment has', async () => {
  await send('2026-01-01T02:00:00Z', { uid: 'u0' });
  for (const day of ['01', '02', '03']) expect((await send(`2026-02-${day}T02:00:00Z`)).code).toBe(0);
  expect(keys().filter((key) => key.endsWith('dump'))).toEqual([
    'davit/team/shop/t1/u0/20260101T020000Z/dump',
    'davit/team/shop/t1/u1/20260202T020000Z/dump',
    'davit/team/shop/t1/u1/20260203T020000Z/dump',
  ]);
});

it('two of one second are two backups', async () => {
  await send('2026-02-02T02:00:00Z');
  await send('2026-02-02T02:00:00Z');
  expect(s3.objects.size).toBe(4);
});

describe('is no backup', () => {
  it('without what the server says of itself', async () => {
    const { code, message } = await send('2026-02-02T02:00:00Z', {}, { about: '' });
    expect([code, message, keys()]).toEqual([1, expect.stringContaining('invalid'), []]);
  });

  it('without a manifest, if the store does not take it', async () => {
    s3.fault = (request) => (request.startsWith('PUT') && request.includes('manifest') ? 403 : undefined);
    const { code, message } = await send('2026-02-02T02:00:00Z');
    expect([code, message]).toEqual([1, expect.stringMatching(/^The store refused PUT .*manifest\.json \(403/)]);
    expect(keys()).toEqual(['davit/team/shop/t1/u1/20260202T020000Z/dump']);
  });

  it('if the store has less of it than was sent', async () => {
    s3.fault = (request) => {
      for (const [key, content] of s3.objects)
        if (request.startsWith('HEAD') && key.endsWith('dump')) s3.objects.set(key, content.subarray(1));
      return undefined;
    };
    const { code, message } = await send('2026-02-02T02:00:00Z');
    expect([code, message]).toEqual([1, expect.stringContaining('The store has 27 of 28 bytes')]);
    expect(keys()).not.toContain('davit/team/shop/t1/u1/20260202T020000Z/manifest.json');
  });

  it.each([
    ['an empty dump', { empty: '' }, 'The dump is empty'],
    ['no access key', { without: 'accessKeyId' }, 'The credentials Secret has no key accessKeyId.'],
    ['no dump', { without: 'dump' }, 'ENOENT'],
  ])('%s', async (_what, options, words) => {
    const { code, message } = await send('2026-02-02T02:00:00Z', options);
    expect([code, message]).toEqual([1, expect.stringContaining(words)]);
    expect(s3.objects.size).toBe(0);
  });
});

it('is a backup although old ones cannot be deleted', async () => {
  s3.fault = (request) => (request.startsWith('DELETE') ? 403 : undefined);
  for (const day of ['01', '02', '03']) expect((await send(`2026-02-${day}T02:00:00Z`)).code).toBe(0);
  expect(keys()).toHaveLength(6);
});

it('keeps the last verified one and those by hand, and reports what the store has then, newest first', async () => {
  await send('2026-01-01T02:00:00Z', { uid: 'u0' });
  const first = JSON.parse((await send('2026-02-01T02:00:00Z')).message) as BackupReport;
  const asked = JSON.parse((await send('2026-02-02T02:00:00Z', { 'by-hand': '' })).message) as BackupReport;
  await send('2026-02-03T02:00:00Z');
  s3.objects.set('davit/team/shop/t1/u1/20260204T020000Z-00000000/dump', Buffer.from('cut'));
  const { message } = await send('2026-02-05T02:00:00Z', { keep: '1', verified: first.name });
  const { name, stored } = BackupReport.parse(JSON.parse(message));
  expect(asked.byHand).toBe(true);
  expect(stored).toEqual({
    count: 4,
    newest: [
      [name, 28, ''],
      [asked.name, 28, 'h'],
      [first.name, 28, ''],
      [expect.stringMatching(/^20260101/) as string, 28, 'e'],
    ],
  });
});

it('reports the backup alone where the store cannot be listed', async () => {
  s3.fault = (request) => (request.includes('list-type') ? 403 : undefined);
  const { code, message } = await send('2026-02-02T02:00:00Z');
  expect([code, JSON.parse(message)]).toEqual([
    0,
    expect.not.objectContaining({ stored: expect.anything() as object }),
  ]);
});

it('a report of the most that is listed fits into a termination message', () => {
  const name = '20260202T020000Z-0123abcd';
  const newest = Array.from({ length: MOST_LISTED }, () => [name, Number.MAX_SAFE_INTEGER, 'he']);
  const stored = { count: Number.MAX_SAFE_INTEGER, newest };
  const most = Number.MAX_SAFE_INTEGER;
  const report = { name, takenAt: '2026-02-02T02:00:00Z', sizeBytes: most, number: 9999, postgresVersion: 9999 };
  const text = JSON.stringify(BackupReport.parse({ ...report, databases: most, roles: most, byHand: true, stored }));
  expect(Buffer.byteLength(text)).toBeLessThan(4096);
});

const STORE = { bucket: 'backups', prefix: 'davit', region: 'us-east-1', pathStyle: true };

/** Fetches into a folder that has these files. */
async function reading(
  files: Readonly<Record<string, string>>,
  more: readonly string[] = [],
): Promise<Run & { readonly folder: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'davit-fetch-'));
  const all = { accessKeyId: 'key', secretAccessKey: 'secret', log: '', ...files };
  for (const [name, text] of Object.entries(all)) writeFileSync(join(folder, name), text);
  const code = await backup([
    'fetch',
    `--store=${JSON.stringify({ endpoint: s3.url, ...STORE })}`,
    `--credentials=${folder}`,
    `--folder=${folder}`,
    '--namespace=team',
    '--deployment=shop',
    ...(more.some((option) => option.startsWith('--tenant')) ? [] : ['--tenant=t1']),
    `--termination-log=${join(folder, 'log')}`,
    ...more,
  ]);
  return { code, message: readFileSync(join(folder, 'log'), 'utf8'), folder };
}

describe('fetch', () => {
  interface Fetched extends Run {
    readonly dump: string | undefined;
    /** What the database is to say of it. */
    readonly found: string | undefined;
  }
  /** `there`: files that the folder has beside the usual ones. */
  const fetched = (...more: readonly string[]): Promise<Fetched> => fetchedInto({}, ...more);
  async function fetchedInto(there: Readonly<Record<string, string>>, ...more: readonly string[]): Promise<Fetched> {
    const { code, message, folder } = await reading({ 'server-version': '170006\n', ...there }, more);
    const [dump, found] = ['dump', 'fetched'].map((name) =>
      existsSync(join(folder, name)) ? readFileSync(join(folder, name), 'utf8') : undefined,
    );
    return { code, message, dump, found };
  }
  const dumpOf = (day: string): string => `dump of 2026-02-${day}T02:00:00Z`;
  beforeEach(async () => {
    await send('2026-02-01T02:00:00Z', { uid: 'u0' });
    await send('2026-02-03T02:00:00Z');
  });

  it('writes the newest, or the newest of a time, of any life', async () => {
    const newest = await fetched();
    expect(newest).toMatchObject({ code: 0, dump: dumpOf('03') });
    expect(JSON.parse(newest.found ?? '')).toEqual({ from: 'shop', ...(JSON.parse(newest.message) as object) });
    const earlier = await fetched('--at=2026-02-02T00:00:00Z');
    expect(earlier).toMatchObject({ code: 0, dump: dumpOf('01') });
    const { name } = JSON.parse(earlier.message) as { readonly name: string };
    expect(await fetched(`--backup=${name}`)).toMatchObject({ code: 0, dump: dumpOf('01') });
  });

  it.each([
    ['with another content', /the SHA-256 of its file/, (content: Buffer) => Buffer.from(content).fill(0)],
    ['that is shorter', /is damaged: its file dump has 27 of 28 bytes/, (content: Buffer) => content.subarray(1)],
  ])('leaves nothing of a dump %s', async (_what, words, change) => {
    for (const [key, content] of s3.objects) if (key.endsWith('/dump')) s3.objects.set(key, change(content));
    const { code, message, dump } = await fetched();
    expect([code, dump]).toEqual([4, undefined]);
    expect(message).toMatch(words);
  });

  it('refuses what is not there, and a manifest that is none', async () => {
    expect(await fetched('--backup=20260101T000000Z-00000000')).toMatchObject({
      code: 4,
      message: expect.stringMatching(/^Backup 20260101T000000Z-00000000 does not exist\. Complete backups: /) as string,
    });
    for (const key of s3.objects.keys()) if (key.endsWith('.json')) s3.objects.set(key, Buffer.from('{}'));
    expect((await fetched()).message).toMatch(/^The manifest of backup .* cannot be read\.$/);
  });

  it('fetches nothing where the database says what it began with, although the store is away', async () => {
    s3.fault = () => 503;
    const loaded = { from: 'old', name: '20260101T000000Z-00000000', takenAt: '2026-01-01T00:00:00Z', sizeBytes: 9 };
    const { code, message, dump, found } = await fetchedInto({ loaded: JSON.stringify(loaded) });
    const { from: _from, ...sent } = loaded;
    expect([code, JSON.parse(message), dump, found]).toEqual([0, sent, undefined, undefined]);
  });

  it('takes one of this life alone, and misses one that is known', async () => {
    expect(await fetched('--tenant=t1/u0')).toMatchObject({ code: 0, dump: dumpOf('01') });
    const { message } = await fetched();
    const { name } = JSON.parse(message) as { readonly name: string };
    expect(await fetched('--tenant=t1/u1', `--known=${name}`)).toMatchObject({ code: 0, dump: dumpOf('03') });
    expect(await fetched('--tenant=t1/u0', `--known=${name}`)).toMatchObject({
      code: 4,
      dump: undefined,
      message: expect.stringMatching(
        /^Backup .* is in the status of the deployment, but is missing or incomplete/,
      ) as string,
    });
    expect(await fetched('--tenant=t1/u2')).toMatchObject({ code: 4, dump: undefined });
  });

  it('takes no backup of an earlier namespace of the name, nor of one in another cluster, and says whose word it needs', async () => {
    const sent = await send('2026-02-05T02:00:00Z', { tenant: 't0', uid: 'u9' });
    const { name } = JSON.parse(sent.message) as BackupReport;
    expect(await fetched()).toMatchObject({ code: 0, dump: dumpOf('03') });
    const refused = {
      code: 4,
      dump: undefined,
      message: `Backup ${name} belongs to an earlier namespace team or to another cluster (uid t0), perhaps to another tenant. A platform administrator can allow the restore in the namespace of the new deployment: kubectl annotate namespace NAMESPACE davit.dev/backups-of=team/t0. Then set the namespace of the restore to team.`,
    };
    expect(await fetched(`--backup=${name}`)).toMatchObject(refused);
    expect(await fetched('--tenant=t2')).toMatchObject(refused);
    expect(await fetched(`--backup=${name}`, '--tenant=t1', '--tenant=t0')).toMatchObject({
      code: 0,
      dump: dumpOf('05'),
    });
    expect(await fetched('--tenant=t0/u1')).toMatchObject({ code: 4, dump: undefined });
    for (const [key, content] of s3.objects) s3.objects.set(key.replace('/t0/', '/t1/'), content);
    expect(await fetched(`--backup=${name}`)).toMatchObject({
      code: 4,
      dump: undefined,
      message: `Backup ${name} belongs to another tenant: namespace team, uid t0.`,
    });
  });

  it('has all files of a server, and passwords for the deployment itself alone', async () => {
    const further = { 'further-16400/dump': 'further', 'further-16400/name': 'odd\nname ' };
    const about = '{"roles": 2, "extensions": ["hstore"]}';
    const sent = await send('2026-02-04T02:00:00Z', { uid: 'u1' }, { about, 'roles.sql': 'roles', ...further });
    expect(JSON.parse(sent.message)).toMatchObject({ sizeBytes: 40, databases: 2, roles: 2 });
    const manifest = [...s3.objects].findLast(([key]) => key.endsWith('manifest.json'))?.[1].toString();
    expect(JSON.parse(manifest ?? '')).toMatchObject({ roles: 2, extensions: ['hstore'] });
    const files = async (...more: readonly string[]): Promise<(string | undefined)[]> => {
      const { folder } = await reading({ 'server-version': '170006\n' }, more);
      return ['further-16400/dump', 'further-16400/name', 'roles.sql', 'foreign'].map((name) =>
        existsSync(join(folder, name)) ? readFileSync(join(folder, name), 'utf8') : undefined,
      );
    };
    expect(await files('--into=u1')).toEqual(['further', 'odd\nname ', 'roles', undefined]);
    expect(await files('--into=u2')).toEqual(['further', 'odd\nname ', 'roles', '']);
    expect(await files()).toEqual(['further', 'odd\nname ', 'roles', '']);
    expect(await fetched('--cluster')).toMatchObject({
      code: 4,
      dump: undefined,
      message: expect.stringMatching(
        /^Backup \S+ has 1 further database and 1 further role, but a Cluster gets/,
      ) as string,
    });
    for (const [key, content] of s3.objects)
      if (key.endsWith('/further-16400')) s3.objects.set(key, Buffer.from(content).fill(0));
    expect((await fetched()).message).toMatch(/the SHA-256 of its file further-16400 differs/);
  });

  it('leaves the roles of a server where a Cluster is restored', async () => {
    await send('2026-02-04T02:00:00Z', {}, { about: '{"roles": 1, "extensions": []}', 'roles.sql': 'roles' });
    const { code, folder } = await reading({ 'server-version': '170006\n' }, ['--cluster']);
    expect([code, existsSync(join(folder, 'dump')), existsSync(join(folder, 'roles.sql'))]).toEqual([0, true, false]);
  });

  it('tries again what the store refuses now', async () => {
    s3.fault = () => 403;
    expect((await fetched()).code).toBe(1);
  });
});

describe('list', () => {
  it('has the backups of all tenants and lives, by the store of the settings', async () => {
    await send('2026-02-01T02:00:00Z', { tenant: 't0', uid: 'u0' });
    await send('2026-02-02T02:00:00Z');
    const { message } = await send('2026-02-03T02:00:00Z', { uid: 'u2' });
    s3.objects.set('davit/team/shop--archive/u1/shop--postgres/wals/0/1', Buffer.from('wal'));
    s3.objects.set('davit/team/shop/t9/u9/20260204T020000Z-00000000/dump', Buffer.from('cut'));
    const folder = mkdtempSync(join(tmpdir(), 'davit-list-'));
    const { bucket } = STORE;
    const files = {
      accessKeyId: 'key',
      secretAccessKey: 'secret',
      log: '',
      settings: JSON.stringify({ backups: { store: { endpoint: s3.url, bucket, insecure: true } } }),
    };
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    vi.stubEnv('DAVIT_SETTINGS', join(folder, 'settings'));
    const log = join(folder, 'log');
    expect(await backup(['list', `--credentials=${folder}`, `--termination-log=${log}`])).toBe(0);
    const { newest } = { newest: (JSON.parse(message) as BackupReport).name };
    const { backups } = JSON.parse(readFileSync(log, 'utf8')) as { backups: { tenant: string; count: number }[] };
    expect(backups).toEqual([
      expect.objectContaining({ namespace: 'team', tenant: 't0', deployment: 'shop', count: 1 }),
      expect.objectContaining({ namespace: 'team', tenant: 't1', deployment: 'shop', count: 2, newest }),
    ]);
    vi.stubEnv('DAVIT_SETTINGS', undefined);
    expect(await backup(['list', `--credentials=${folder}`])).toBe(2);
    vi.unstubAllEnvs();
  });
});

describe('compare', () => {
  const CONTENTS = `{"table": "public.a", "rows": "3", "sum": "7"}
{"largeObjects": "0", "sum": "0"}
{"objects": "tables", "count": "1"}
`;
  /** Sends a dump with these files beside it, fetches it, and compares it with what a restore has. */
  async function compared(there: Readonly<Record<string, string>>, restored: string | undefined): Promise<Run> {
    await send('2026-02-02T02:00:00Z', {}, there);
    const folder = mkdtempSync(join(tmpdir(), 'davit-compare-'));
    const [, manifest] = [...s3.objects].find(([key]) => key.endsWith('manifest.json')) ?? [];
    const files = { manifest: manifest?.toString(), contents: restored, log: '' };
    for (const [name, text] of Object.entries(files)) if (text !== undefined) writeFileSync(join(folder, name), text);
    const code = await backup(['compare', `--folder=${folder}`, `--termination-log=${join(folder, 'log')}`]);
    return { code, message: readFileSync(join(folder, 'log'), 'utf8') };
  }

  it('reports what has all of its rows', async () => {
    const { code, message } = await compared({ contents: CONTENTS, 'contents-problem': '' }, CONTENTS);
    expect([code, JSON.parse(message)]).toEqual([
      0,
      {
        name: expect.stringMatching(/^20260202T020000Z-[0-9a-f]{8}$/) as string,
        takenAt: '2026-02-02T02:00:00Z',
        comparedAt: expect.stringMatching(/Z$/) as string,
        tables: 1,
        rows: 3,
      },
    ]);
  });

  it.each([
    ['was counted', {}, /verification was off when it was made$/],
    [
      'could be counted',
      { 'contents-problem': 'psql:<stdin>:9: ERROR:  out of shared memory\nHINT:  a row' },
      /counting failed: ERROR: {2}out of shared memory$/,
    ],
    [
      'was counted to its end',
      { contents: CONTENTS.slice(0, 20), 'contents-problem': '' },
      /the counts are incomplete$/,
    ],
  ])('verifies nothing of a backup of which nothing %s', async (_what, there, words) => {
    const { code, message } = await compared(there, CONTENTS);
    expect([code, JSON.parse(message)]).toEqual([
      0,
      expect.objectContaining({ uncompared: expect.stringMatching(words) as string }),
    ]);
  });

  it.each([
    [
      'other rows',
      CONTENTS.replace('"7"', '"8"'),
      4,
      /was restored, but differs from its database: table public\.a has 3 rows/,
    ],
    ['nothing', '', 1, /The restore did not report what it restored/],
    ['half of it', CONTENTS.slice(0, 40), 1, /The restore did not report what it restored/],
  ])('fails where a restore has %s', async (_what, restored, wanted, words) => {
    const { code, message } = await compared({ contents: CONTENTS }, restored);
    expect(code).toBe(wanted);
    expect(message).toMatch(words);
  });
});

it.each([
  [[]],
  [['fetch']],
  [['compare']],
  [['send']],
  [
    [
      'send',
      '--store={}',
      '--credentials=/x',
      '--folder=/x',
      '--namespace=a',
      '--deployment=b',
      '--tenant=d',
      '--uid=c',
      '--keep=0',
    ],
  ],
  [
    [
      'send',
      '--store={}',
      '--credentials=/x',
      '--folder=/x',
      '--namespace=a',
      '--deployment=b',
      '--tenant=d',
      '--uid=c',
      '--keep=1',
    ],
  ],
  [['send', '--store={}', '--credentials=/x', '--folder=/x', '--namespace=a', '--deployment=b', '--uid=c', '--keep=1']],
  [['send', '--unknown']],
])('%j is refused with the usage', async (args) => {
  expect(await backup(args)).toBe(2);
});
