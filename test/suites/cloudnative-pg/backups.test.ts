// Backups of a PostgreSQL that is a Cluster: made as its user, verified, and loaded into databases of both drivers.

import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { realPods } from '../../cluster/machine.ts';
import { ensureDavitImage } from '../../image/davit-image.ts';
import type { Store } from '../../support/backup-store.ts';
import { runPlugin } from '../../support/run-plugin.ts';
import { eventually } from '../../support/running-davit.ts';
import { LONG_MS, type Stage, say, startStageWithStore } from './platform.ts';

const machine = await realPods(say);

describe.skipIf(!machine.ok)('backups of a Cluster', () => {
  let stage: Stage;
  let store: Store;

  beforeAll(async () => {
    const image = await ensureDavitImage(say);
    ({ stage, store } = await startStageWithStore([image], image.name));
  }, 900_000);
  afterAll(async () => {
    await stage?.stop();
  });

  const plugin = async (...args: readonly string[]): Promise<string> =>
    (await runPlugin(stage.cluster, [...args, '--namespace=team'])).stdout;
  const SUM = 'select count(*), sum(n), md5(string_agg(word, $$,$$ order by n)) from kept';
  /** Of a database of driver pod. */
  const inPod = (name: string, statement: string): Promise<string> =>
    stage
      .kubectl('exec', `${name}--postgres-0`, '--', 'psql', '-U', 'app', '-Atc', statement)
      .then((text) => text.trim());

  it('are made and verified by the Jobs that there are', async () => {
    await stage.apply(stage.record('shop', { backup: { verify: true } }));
    await stage.says('shop', 'Ready', 'True', 'Serving');
    // As the application does: its owner is not the superuser.
    await stage.sql(
      'shop',
      'set role app; create table kept as select n, md5(n::text) as word from generate_series(1, 5000) n; alter table kept add primary key (n)',
    );
    await eventually(() => stage.kubectl('get', 'cronjob', 'shop---backup'), LONG_MS);
    await stage.kubectl('create', 'job', '--from=cronjob/shop---backup', 'first');
    await stage.says('shop', 'BackupReady', 'True', 'BackedUp');
    await stage.kubectl('create', 'job', '--from=cronjob/shop---verify', 'verification');
    expect(await stage.says('shop', 'BackupVerified', 'True', 'Verified')).toMatch(/had all of its \d+ rows/);
    expect((await store.keys()).filter((key) => key.endsWith('/dump'))).toHaveLength(1);
  });

  it('begin a clone, which has all rows before its first pod, and belongs to its user', async () => {
    const began = Date.now();
    await plugin('clone', 'shop', '--to', 'copy');
    await stage.says('copy', 'DatabaseRestored', 'True', 'Restored');
    await stage.says('copy', 'Ready', 'True', 'Serving');
    say(`the clone is READY after ${((Date.now() - began) / 1000).toFixed(1)} s`);
    expect(await stage.sql('copy', SUM)).toBe(await stage.sql('shop', SUM));
    expect(await stage.sql('copy', "select tableowner from pg_tables where tablename = 'kept'")).toBe('app');
    await stage.kubectl('delete', 'appd', 'copy', '--timeout=400s');
  });

  it('are loaded into no database of the other driver', async () => {
    const database = { driver: 'pod', instances: 1, restore: { from: 'shop' } };
    await stage.apply(stage.record('plain', database));
    expect(await stage.says('plain', 'DatabaseRestored', 'False', 'RestoreNotPossible')).toContain(
      'The database of shop has driver cloudnative-pg, but this one has driver pod.',
    );
    await stage.kubectl('delete', 'appd', 'plain', '--timeout=400s');
  });

  it('move a database to a Cluster and back again, with all rows, and tell for how long nothing served', async () => {
    await stage.apply(stage.record('mover', { driver: 'pod', instances: 1, backup: {} }));
    await stage.says('mover', 'Ready', 'True', 'Serving');
    await inPod(
      'mover',
      'create table kept as select n, md5(n::text) as word from generate_series(1, 5000) n; alter table kept add primary key (n)',
    );
    await eventually(() => stage.kubectl('get', 'cronjob', 'mover---backup'), LONG_MS);
    await stage.kubectl('create', 'job', '--from=cronjob/mover---backup', 'of-mover');
    await stage.says('mover', 'BackupReady', 'True', 'BackedUp');
    await inPod('mover', "insert into kept values (5001, 'after the last backup')");
    const before = await inPod('mover', SUM);

    say((await plugin('database', 'move', 'mover', '--yes')).trim());
    await stage.says('mover', 'Ready', 'True', 'Serving');
    const inCluster = async (statement: string): Promise<string> => {
      const labels = 'cnpg.io/cluster=mover---pg1,cnpg.io/instanceRole=primary';
      const primary = (await stage.kubectl('get', 'pods', '-l', labels, '-o', 'name')).trim();
      return (
        await stage.kubectl('exec', primary, '-c', 'postgres', '--', 'psql', '-d', 'app', '-Atc', statement)
      ).trim();
    };
    expect(await inCluster(SUM)).toBe(before);
    await inCluster("insert into kept values (5002, 'in the Cluster')");
    expect(await stage.kubectl('get', 'pvc', 'mover--postgres', '-o', 'name')).toContain('mover--postgres');

    say((await plugin('database', 'return', 'mover', '--yes')).trim());
    await stage.says('mover', 'Ready', 'True', 'Serving');
    expect(await inPod('mover', SUM)).toBe(before);
    // The Cluster rests, with its volumes, and whoever goes back to it wakes it.
    await eventually(async () => {
      const annotations = await stage.kubectl(
        'get',
        'clusters.postgresql.cnpg.io',
        'mover---pg1',
        '-o',
        'jsonpath={.metadata.annotations}',
      );
      expect(JSON.parse(annotations)).toMatchObject({ 'cnpg.io/hibernation': 'on' });
      expect(await stage.kubectl('get', 'pods', '-l', 'cnpg.io/cluster=mover---pg1', '-o', 'name')).toBe('');
    }, LONG_MS);
    say((await plugin('database', 'return', 'mover', '--yes')).trim());
    await stage.says('mover', 'Ready', 'True', 'Serving');
    expect(await inCluster('select max(n) from kept')).toBe('5002');
    await plugin('database', 'return', 'mover', '--yes');
    await stage.says('mover', 'Ready', 'True', 'Serving');

    say((await plugin('database', 'delete-previous', 'mover', '--number', '1', '--yes')).trim());
    await stage.kubectl('wait', '--for=delete', 'clusters.postgresql.cnpg.io/mover---pg1', '--timeout=180s');
    expect(await inPod('mover', SUM)).toBe(before);
    await stage.kubectl('delete', 'appd', 'mover', '--timeout=400s');
  });

  it('are loaded when the operator is back that was removed midway', async () => {
    const rows = await stage.sql('shop', SUM);
    const { backup } = JSON.parse(await plugin('backup', 'shop', '-o', 'json')) as { backup: { name: string } };
    await stage.sql('shop', 'delete from kept where n > 100');
    const scaled = (replicas: number): Promise<string> =>
      stage.cluster.kubectl(['-n', 'cnpg-system', 'scale', 'deployment', '--all', `--replicas=${replicas}`]);
    await scaled(0);
    await stage.apply({
      apiVersion: 'davit.dev/v1alpha1',
      kind: 'DatastoreOperation',
      metadata: { name: 'restored', namespace: 'team' },
      spec: { deployment: 'shop', action: 'Restore', restore: { backup: backup.name } },
    });
    await stage.kubectl('wait', '--for=jsonpath={.status.phase}=Loading', '--timeout=300s', 'dsop/restored');
    // Its webhook is away too.
    await setTimeout(20_000);
    say((await stage.conditionOf('shop', 'Ready'))?.message ?? '');
    expect(await stage.kubectl('get', 'dsop', 'restored', '-o', 'jsonpath={.status.phase}')).toBe('Loading');
    await scaled(1);
    await stage.kubectl('wait', '--for=condition=Complete', '--timeout=600s', 'dsop/restored');
    await stage.says('shop', 'Ready', 'True', 'Serving');
    const labels = 'cnpg.io/cluster=shop---pg1,cnpg.io/instanceRole=primary';
    const primary = (await stage.kubectl('get', 'pods', '-l', labels, '-o', 'name')).trim();
    const sql = ['exec', primary, '-c', 'postgres', '--', 'psql', '-d', 'app', '-Atc', SUM];
    expect((await stage.kubectl(...sql)).trim()).toBe(rows);
    await stage.kubectl('delete', 'appd', 'shop', '--timeout=400s');
  });
});
