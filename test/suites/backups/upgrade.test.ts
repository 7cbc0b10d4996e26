// A database that is upgraded to a newer major version of PostgreSQL, in real pods: all rows, the way back, and the time without service.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Cluster, startCluster } from '../../cluster/cluster.ts';
import { ensureImages } from '../../cluster/images/build.ts';
import { realPods } from '../../cluster/machine.ts';
import { ensureDavitImage } from '../../image/davit-image.ts';
import { BUCKET, type Store, startStore } from '../../support/backup-store.ts';
import { ensureNewerPostgres } from '../../support/newer-postgres.ts';
import { type Platform, startPlatform } from '../../support/platform.ts';
import { runPlugin } from '../../support/run-plugin.ts';
import { eventually } from '../../support/running-davit.ts';
import { SMALLEST } from '../../support/smallest-sizes.ts';

const say = (line: string): void => void process.stderr.write(`  ${line}\n`);
const machine = await realPods(say);
if (!machine.ok) say(`no real pods here: ${machine.reason}; the upgrade is left out`);

const READY_MS = 420_000;
const SUM = 'select count(*), sum(n), md5(string_agg(word, $$,$$ order by n)) from kept';

describe.skipIf(!machine.ok)('an upgrade to a newer PostgreSQL', () => {
  let cluster: Cluster;
  let platform: Platform;
  let store: Store;
  let sample: string;
  let values: Record<string, unknown>;
  let newer: string;

  beforeAll(async () => {
    const stores = await ensureImages(say);
    const image = await ensureDavitImage(say);
    const next = await ensureNewerPostgres(say);
    sample = stores.sample.name;
    newer = next.name;
    cluster = await startCluster({
      pods: 'on',
      images: [image, stores.postgres, next, stores.redis, stores.sample],
      progress: say,
    });
    store = await startStore(cluster, say);
    values = {
      'settings.images.postgres': stores.postgres.name,
      'settings.images.redis': stores.redis.name,
      'settings.backups.image': image.name,
      'settings.backups.store': { endpoint: store.endpoint, bucket: BUCKET, ca: store.ca },
    };
    platform = await startPlatform(cluster, { parts: ['controller'], progress: say, values });
    await platform.makeTenant('team');
    await apply({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'davit-backup-store', namespace: 'team' },
      stringData: store.credentials,
    });
    await apply({
      apiVersion: 'davit.dev/v1alpha1',
      kind: 'AppDeployment',
      metadata: { name: 'shop', namespace: 'team' },
      spec: {
        source: 'external_docker',
        sourceRevisionConfig: { imageUri: sample },
        // What it names itself does not change by an upgrade.
        sourceConfig: { resourceSpec: SMALLEST, database: { driver: 'pod', backup: {} } },
      },
    });
    await serves();
  }, 900_000);

  afterAll(async () => {
    await platform?.stop();
    await cluster?.stop();
  });

  const kubectl = (...args: readonly string[]): Promise<string> => cluster.kubectl(['-n', 'team', ...args]);
  const plugin = async (...args: readonly string[]): Promise<string> =>
    (await runPlugin(cluster, [...args, '--namespace=team'])).stdout.trim();
  async function apply(object: object): Promise<void> {
    await cluster.kubectl(['apply', '-f', '-'], { input: JSON.stringify(object) });
  }
  const says = (type: string, status: string, reason: string): Promise<void> =>
    eventually(async () => {
      const found = JSON.parse(await kubectl('get', 'appd', 'shop', '-o', 'json')) as {
        readonly status?: { readonly conditions?: readonly { readonly type: string }[] };
      };
      expect(found.status?.conditions?.find((one) => one.type === type)).toMatchObject({ status, reason });
    }, READY_MS);
  const serves = (): Promise<void> => says('Ready', 'True', 'Serving');
  const inPod = async (pod: string, statement: string): Promise<string> =>
    (await kubectl('exec', pod, '--', 'psql', '-h', '127.0.0.1', '-U', 'postgres', '-Atc', statement)).trim();
  const major = async (pod: string): Promise<number> =>
    Math.floor(Number(await inPod(pod, 'show server_version_num')) / 10_000);

  it('keeps all rows, goes back to what was there, and forgets it', async () => {
    const [first, second] = ['shop--postgres-0', 'shop---pg1-0'] as const;
    const before = await major(first);
    await inPod(
      first,
      'create table kept as select n, md5(n::text) as word from generate_series(1, 5000) n; alter table kept add primary key (n)',
    );
    await eventually(() => kubectl('get', 'cronjob', 'shop---backup'), READY_MS);
    await kubectl('create', 'job', '--from=cronjob/shop---backup', 'first');
    await says('BackupReady', 'True', 'BackedUp');
    await inPod(first, "insert into kept values (5001, 'after the last backup')");
    const rows = await inPod(first, SUM);

    await expect(plugin('database', 'upgrade', 'shop', '--yes')).rejects.toThrow(`is PostgreSQL ${before} already`);
    await expect(plugin('database', 'move', 'shop', '--driver', 'cloudnative-pg', '--yes')).rejects.toThrow(
      'This platform has no CloudNativePG',
    );
    await serves();
    expect(await inPod(first, SUM)).toBe(rows);

    await platform.stop();
    platform = await startPlatform(cluster, {
      parts: ['controller'],
      progress: say,
      values: { ...values, 'settings.images.postgres': newer },
    });
    await eventually(async () => {
      const drivers = await kubectl('get', 'appd', 'shop', '-o', 'jsonpath={.status.databaseDrivers}');
      expect(JSON.parse(drivers)).toEqual([{ driver: 'pod', postgresVersion: Number(newer.split(':')[1]) }]);
    }, READY_MS);
    expect(await major(first)).toBe(before);

    say(await plugin('database', 'upgrade', 'shop', '--yes'));
    await serves();
    expect([await major(second), await inPod(second, SUM)]).toEqual([Number(newer.split(':')[1]), rows]);
    await inPod(second, "insert into kept values (5002, 'in the newer one')");
    expect(await kubectl('get', 'pvc', 'shop--postgres', '-o', 'name')).toContain('shop--postgres');

    say(await plugin('database', 'back', 'shop', '--yes'));
    await serves();
    expect([await major(first), await inPod(first, SUM)]).toEqual([before, rows]);

    say(await plugin('database', 'back', 'shop', '--yes'));
    await serves();
    expect(await inPod(second, 'select max(n) from kept')).toBe('5002');
    await plugin('database', 'forget-old', 'shop', '--yes');
    await kubectl('wait', '--for=delete', 'pvc/shop--postgres', '--timeout=180s');
    await serves();
    expect(await inPod(second, 'select max(n) from kept')).toBe('5002');
  }, 1_500_000);
});
