// The archive of a Cluster, by the Barman Cloud plugin in real pods: it begins, a deployment begins with the state of one moment, and what
// is said while the store is away.

import { rename } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { realPods } from '../../cluster/machine.ts';
import type { Store } from '../../support/backup-store.ts';
import { type BarmanCloud, ensureBarmanCloud, installBarmanCloud } from '../../support/barman-cloud.ts';
import { runPlugin } from '../../support/run-plugin.ts';
import { eventually } from '../../support/running-davit.ts';
import { LONG_MS, type Stage, say, startStageWithStore } from './platform.ts';

const machine = await realPods(say);

describe.skipIf(!machine.ok)('the archive of a Cluster', () => {
  let stage: Stage;
  let store: Store;
  let barman: BarmanCloud;
  /** When only the first rows were there, RFC 3339. */
  let moment: string;

  beforeAll(async () => {
    barman = await ensureBarmanCloud(say);
    // No dumps are made here, so nothing runs the image that sends them.
    ({ stage, store } = await startStageWithStore([barman.plugin, barman.sidecar], 'davit.local/none:1'));
  }, 900_000);
  afterAll(async () => {
    await stage?.stop();
  });

  const ROWS = "select string_agg(word, ' ' order by n) from kept";
  const podUids = async (name: string): Promise<string[]> =>
    (await stage.pods(`davit.dev/deployment=${name},davit.dev/component=server`)).map(({ metadata }) => metadata.uid);
  const record = (name: string, database: object): object => stage.record(name, { instances: 1, ...database });
  const began = (name: string): Promise<string> => stage.says(name, 'DatabaseRestored', 'True', 'Restored');
  /** Every change until now is in the store. */
  async function archivedAll(name: string): Promise<void> {
    const file = await stage.sql(name, 'select pg_walfile_name(pg_switch_wal())');
    await eventually(async () => {
      const keys = await store.keys();
      expect(keys.some((key) => key.includes(file))).toBe(true);
    }, LONG_MS);
  }

  it('waits for the plugin, and begins without a restart of the application when it is there', async () => {
    await stage.apply(record('shop', { archive: { keepDays: 2 } }));
    expect(await stage.says('shop', 'ArchiveReady', 'False', 'ArchivePluginMissing')).toContain('Barman Cloud plugin');
    await stage.says('shop', 'Ready', 'True', 'Serving');
    const pods = await podUids('shop');
    const since = Date.now();
    await installBarmanCloud(stage.cluster, barman);
    const words = await stage.says('shop', 'ArchiveReady', 'True', 'Archived');
    say(`archived ${((Date.now() - since) / 1000).toFixed(1)} s after the plugin was installed: ${words}`);
    expect(await podUids('shop')).toEqual(pods);
    await stage.says('shop', 'Ready', 'True', 'Serving');
    const keys = await store.keys();
    expect(keys.filter((key) => /^davit\/team\/shop--archive\/[^/]+\/shop--postgres\/base\//.test(key))).not.toEqual(
      [],
    );
    const shown = JSON.parse(await stage.kubectl('get', 'appd', 'shop', '-o', 'json')) as {
      status: { databaseArchive: Record<string, string> };
    };
    expect(Date.parse(shown.status.databaseArchive['firstRecoverableAt'] ?? '')).toBeGreaterThan(since - 60_000);
  });

  it('gets a base backup by a command, which waits until the status has it', async () => {
    const since = Date.now();
    const { stdout } = await runPlugin(stage.cluster, ['backup', 'shop', '--namespace=team', '-o', 'json']);
    const { operation, backup } = JSON.parse(stdout) as { operation: string; backup: { takenAt: string } };
    say(`base backup of operation ${operation} after ${((Date.now() - since) / 1000).toFixed(1)} s`);
    const shown = JSON.parse(await stage.kubectl('get', 'appd', 'shop', '-o', 'json')) as {
      status: { databaseArchive: Record<string, string> };
    };
    expect(Date.parse(shown.status.databaseArchive['lastBackupAt'] ?? '')).toBeGreaterThanOrEqual(
      Date.parse(backup.takenAt) - 60_000,
    );
  });

  it('is where a clone gets the state of one moment from, exactly', async () => {
    await stage.sql('shop', 'set role app; create table kept (n serial primary key, word text)');
    await stage.sql('shop', "insert into kept (word) values ('one'), ('two')");
    moment = await stage.sql(
      'shop',
      `select to_char(clock_timestamp() at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`,
    );
    await stage.sql(
      'shop',
      "select pg_sleep(1); delete from kept where word = 'one'; insert into kept (word) values ('three')",
    );
    await archivedAll('shop');
    const since = Date.now();
    const { stdout } = await runPlugin(stage.cluster, [
      'clone',
      'shop',
      '--to',
      'copy',
      '--at',
      moment,
      '--namespace=team',
    ]);
    expect(stdout).toContain(`It begins with the state of ${moment} in the archive of shop.`);
    say(await began('copy'));
    await stage.says('copy', 'Ready', 'True', 'Serving');
    say(`the clone is READY after ${((Date.now() - since) / 1000).toFixed(1)} s`);
    expect(await stage.sql('copy', ROWS)).toBe('one two');
    expect(await stage.sql('shop', ROWS)).toBe('two three');
    await stage.sql('copy', "set role app; insert into kept (word) values ('of the copy')");
    // It has an archive of its own, in a folder of its own.
    await stage.says('copy', 'ArchiveReady', 'True', 'Archived');
    await stage.kubectl('delete', 'appd', 'copy', '--timeout=400s');
  });

  it('says what is wrong while the store is away, and goes on when it is back', async () => {
    const bucket = store.fileOf('');
    await rename(bucket, `${bucket.replace(/\/$/, '')}-away`);
    await stage.sql('shop', "insert into kept (word) values ('meanwhile'); select pg_switch_wal()");
    const words = await stage.says('shop', 'ArchiveReady', 'False', 'ArchiveFailing');
    say(words);
    expect(words).toContain('PostgreSQL keeps them until its volume is full');
    await stage.says('shop', 'Ready', 'True', 'Serving');
    await rename(`${bucket.replace(/\/$/, '')}-away`, bucket);
    await stage.says('shop', 'ArchiveReady', 'True', 'Archived');
    await archivedAll('shop');
  });

  it('outlives its deployment, and another one begins with it', async () => {
    await stage.kubectl('delete', 'appd', 'shop', '--timeout=400s');
    await stage.apply(record('early', { restore: { from: 'shop', at: '2020-01-01T00:00:00Z', archive: true } }));
    expect(await stage.says('early', 'DatabaseRestored', 'False', 'ArchiveMissing')).toContain(
      'the earliest begins at',
    );
    expect(await stage.kubectl('get', 'clusters.postgresql.cnpg.io', '-o', 'name')).not.toContain('early');
    await stage.kubectl('delete', 'appd', 'early', '--timeout=400s');
    await stage.apply(record('shop', { restore: { from: 'shop', archive: true } }));
    await began('shop');
    await stage.says('shop', 'Ready', 'True', 'Serving');
    expect(await stage.sql('shop', ROWS)).toBe('two three meanwhile');
  });

  it('says so when a moment is asked for that is not archived, and starts no pod on other data', async () => {
    const at = new Date(Date.now() + 3_600_000).toISOString();
    await stage.apply(record('late', { restore: { from: 'shop', at, archive: true } }));
    await eventually(async () => {
      const found = await stage.conditionOf('late', 'DatabaseRestored');
      // After seven tries of CloudNativePG the reason is RestoreFailed.
      expect(found).toMatchObject({
        status: 'False',
        message: expect.stringMatching(/tries again|trying again/) as string,
      });
      say(found?.message ?? '');
    }, LONG_MS);
    expect(await stage.pods('davit.dev/deployment=late,davit.dev/component=server')).toEqual([]);
    await stage.kubectl('delete', 'appd', 'late', '--timeout=400s');
  });
});
