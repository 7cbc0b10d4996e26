// A database that is upgraded to a newer major version of PostgreSQL and restored, in real pods: all rows, the way back, and the time without
// service.

import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { realPods } from '../../cluster/machine.ts';
import { eventually } from '../../support/running-davit.ts';
import { SMALLEST } from '../../support/smallest-sizes.ts';
import { backUpAndGoOn, READY_MS, ROWS, SUM, say, startMovingStage } from './stage.ts';

const machine = await realPods(say);
if (!machine.ok) say(`no real pods here: ${machine.reason}; the upgrade is left out`);

describe.skipIf(!machine.ok)('an upgrade to a newer PostgreSQL', () => {
  let stage: Awaited<ReturnType<typeof startMovingStage>>;

  beforeAll(async () => {
    stage = await startMovingStage();
    await stage.apply(recordOf('shop'));
    await stage.serves();
  }, 900_000);

  afterAll(() => stage?.stop());

  const recordOf = (name: string, spec: object = {}): object => ({
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'AppDeployment',
    metadata: { name, namespace: 'team' },
    spec: {
      source: 'external_docker',
      sourceRevisionConfig: { imageUri: stage.sample },
      // What it names itself does not change by an upgrade.
      sourceConfig: { resourceSpec: SMALLEST, database: { driver: 'pod', backup: {} } },
      ...spec,
    },
  });

  const major = async (pod: string): Promise<number> =>
    Math.floor(Number(await stage.inPod(pod, 'show server_version_num')) / 10_000);

  it('keeps all rows, returns to what was there, is restored, and loses what is deleted', async () => {
    // A GitOps tool that writes the record back all the time takes nothing of it back.
    const gitops = setInterval(() => void stage.apply(recordOf('shop')).catch(() => undefined), 10_000);
    onTestFinished(() => clearInterval(gitops));
    const { inPod, kubectl, newer, plugin, serves } = stage;
    const [first, second, third] = ['shop--postgres-0', 'shop---pg1-0', 'shop---pg2-0'] as const;
    const before = await major(first);
    await backUpAndGoOn(stage, first);
    const rows = await inPod(first, SUM);

    await expect(plugin('database', 'upgrade', 'shop', '--yes')).rejects.toThrow(`already is PostgreSQL ${before}`);
    await expect(plugin('database', 'move', 'shop', '--yes')).rejects.toThrow('This platform has no CloudNativePG');
    await serves();
    expect(await inPod(first, SUM)).toBe(rows);

    await stage.restart({ 'settings.images.postgres': newer });
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

    say(await plugin('database', 'return', 'shop', '--yes'));
    await serves();
    expect([await major(first), await inPod(first, SUM)]).toEqual([before, rows]);

    say(await plugin('database', 'return', 'shop', '--yes'));
    await serves();
    expect(await inPod(second, 'select max(n) from kept')).toBe('5002');

    // The way back after a bad DELETE: the database with the gap is kept too.
    const { backup } = JSON.parse(await plugin('backup', 'shop', '-o', 'json')) as { backup: { name: string } };
    await inPod(second, 'delete from kept where n > 100');
    say(await plugin('database', 'restore', 'shop', '--backup', backup.name, '--yes'));
    await serves();
    expect(await inPod(third, 'select max(n) from kept')).toBe('5002');
    const unknown = plugin('database', 'restore', 'shop', '--backup', '20260101T000000Z-0000dead', '--yes');
    await expect(unknown).rejects.toThrow('The store has no backup 20260101T000000Z-0000dead of shop');
    await serves();
    expect(await inPod(third, 'select max(n) from kept')).toBe('5002');

    await plugin('database', 'delete-previous', 'shop', '--number', '0', '--yes');
    await kubectl('wait', '--for=delete', 'pvc/shop--postgres', '--timeout=180s');
    await serves();
    expect(await inPod(third, 'select max(n) from kept')).toBe('5002');
  }, 1_500_000);

  it.each([
    ['Retain', true],
    ['Delete', false],
  ] as const)(
    'whose deployment is deleted midway leaves what %s says',
    async (policy, isKept) => {
      const { inPod, kubectl, plugin, says } = stage;
      const name = `gone-${policy.toLowerCase()}`;
      await stage.apply(recordOf(name, { databaseDeletionPolicy: policy }));
      await says('Ready', 'True', 'Serving', name);
      await inPod(`${name}--postgres-0`, ROWS);
      const rows = await inPod(`${name}--postgres-0`, SUM);
      const { backup } = JSON.parse(await plugin('backup', name, '-o', 'json')) as { backup: { name: string } };
      await stage.apply({
        apiVersion: 'davit.dev/v1alpha1',
        kind: 'DatastoreOperation',
        metadata: { name, namespace: 'team' },
        spec: { deployment: name, action: 'Restore', restore: { backup: backup.name } },
      });
      await kubectl('wait', '--for=jsonpath={.status.phase}=Loading', '--timeout=180s', `dsop/${name}`);
      await eventually(() => kubectl('get', 'pvc', `${name}---pg1`, '-o', 'name'), READY_MS);
      await kubectl('delete', 'appd', name, '--timeout=240s');
      const left = await kubectl('get', 'dsop,pvc,statefulset,job', '-o', 'name');
      expect(left).not.toContain(`datastoreoperation.davit.dev/${name}`);
      expect(left.includes(`persistentvolumeclaim/${name}--postgres\n`)).toBe(isKept);
      if (!isKept) {
        expect(left).not.toContain(name);
        return;
      }
      await stage.apply(recordOf(name));
      await says('Ready', 'False', 'DatabaseKept', name);
      await plugin('database', 'adopt', name, '--number', '0');
      await says('Ready', 'True', 'Serving', name);
      expect(await inPod(`${name}--postgres-0`, SUM)).toBe(rows);
    },
    900_000,
  );
});
