// A PostgreSQL of two instances, in real pods: until it is ready, when its primary is killed and when it is exchanged, and what a
// deletion leaves.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { realPods } from '../../cluster/machine.ts';
import { startWriter } from '../../support/database-writer.ts';
import { eventually } from '../../support/running-davit.ts';
import { LONG_MS, type Pod, type Stage, say, startStage } from './platform.ts';

const machine = await realPods(say);
if (!machine.ok) say(`no real pods here: ${machine.reason}; CloudNativePG is left out`);

describe.skipIf(!machine.ok)('a deployment with a Cluster of CloudNativePG', () => {
  let stage: Stage;

  beforeAll(async () => {
    stage = await startStage();
  }, 900_000);
  afterAll(async () => {
    await stage?.stop();
  });

  const application = (): Promise<readonly Pod[]> => stage.pods('davit.dev/deployment=shop,davit.dev/component=server');
  const restartsOf = (pods: readonly Pod[]): number[] =>
    pods.flatMap(({ status }) => (status?.containerStatuses ?? []).map(({ restartCount }) => restartCount));
  const uidsOf = (pods: readonly Pod[]): string[] => pods.map(({ metadata }) => metadata.uid).toSorted();

  it('is READY as soon as the primary answers, and has its replica a little later', async () => {
    const began = Date.now();
    await stage.apply(stage.record('shop', { extensions: ['vector'] }));
    await stage.says('shop', 'Ready', 'True', 'Serving');
    const readyMs = Date.now() - began;
    await stage.says('shop', 'DatabaseReady', 'True', 'Answering');
    say(`READY after ${seconds(readyMs)}, two instances after ${seconds(Date.now() - began)}`);
    await stage.apply({ ...stage.record('plain', { driver: 'pod', instances: 1 }) });
    const plainBegan = Date.now();
    await stage.says('plain', 'Ready', 'True', 'Serving');
    say(`driver pod: READY after ${seconds(Date.now() - plainBegan)}`);
    const shown = await stage.kubectl('get', 'appd');
    say(shown);
    expect(shown).toMatch(/^shop\s+READY/m);
    await stage.kubectl('delete', 'appd', 'plain', '--timeout=240s');
  });

  it('writes nothing once it rests, and the database belongs to the application alone', async () => {
    expect(
      await stage.sql('shop', "select pg_get_userbyid(datdba), datcollate from pg_database where datname = 'app'"),
    ).toBe('app|C.UTF-8');
    expect(await stage.sql('shop', "select rolsuper from pg_roles where rolname = 'app'")).toBe('f');
    expect(await stage.sql('shop', "select extowner::regrole from pg_extension where extname = 'vector'")).toBe('app');
    const nearest = "select '[1,2,3]'::vector <-> '[1,2,5]'::vector";
    expect(await stage.sql('shop', nearest)).toBe('2');
    const versionOf = (kind: string): Promise<string> =>
      stage.kubectl(
        'get',
        kind,
        'shop--postgres',
        '-o',
        'jsonpath={.metadata.managedFields[?(@.manager=="davit-controller")].time}',
      );
    const before = await versionOf('clusters.postgresql.cnpg.io');
    await stage.kubectl('annotate', 'appd', 'shop', 'look=again');
    await eventually(async () => expect((await stage.conditionOf('shop', 'Ready'))?.status).toBe('True'));
    expect(await versionOf('clusters.postgresql.cnpg.io')).toBe(before);
  });

  /** A writer that tries again, while `disturb` happens. */
  async function disturbed(what: string, disturb: () => Promise<void>): Promise<{ lost: number; pauseMs: number }> {
    const pods = await application();
    await stage.sql('shop', 'drop table if exists kept');
    const writer = await startWriter(stage, 'shop');
    await writer.until(200);
    await disturb();
    const seen = await writer.count();
    await writer.until(seen + 200);
    const { acknowledged, pauseMs } = await writer.stop();
    await stage.says('shop', 'DatabaseReady', 'True', 'Answering');
    // It wrote on after it was asked, so only these rows count.
    const there = Number(await stage.sql('shop', `select count(*) from kept where n <= ${acknowledged}`));
    const lost = acknowledged - there;
    say(`${what}: ${acknowledged} rows acknowledged, ${lost} lost, the longest pause ${seconds(pauseMs)}`);
    const after = await application();
    expect([uidsOf(after), restartsOf(after)]).toEqual([uidsOf(pods), restartsOf(pods)]);
    await stage.says('shop', 'Ready', 'True', 'Serving');
    return { lost, pauseMs };
  }

  async function killPrimary(): Promise<void> {
    const primary = await stage.primaryOf('shop');
    await stage.kubectl('delete', 'pod', primary, '--grace-period=0', '--force', '--wait=false');
    await eventually(async () => {
      const now = await stage.primaryOf('shop');
      expect([now === '', now === primary]).toEqual([false, false]);
    }, LONG_MS);
  }

  it('loses nothing that it has acknowledged when the primary is killed, and no pod of the application restarts', async () => {
    const { lost } = await disturbed('the primary is killed, with a synchronous replica', killPrimary);
    expect(lost).toBe(0);
  });

  it('exchanges primary and replica without loss', async () => {
    const { lost } = await disturbed('the primary is exchanged', async () => {
      const primary = await stage.primaryOf('shop');
      const [other] = await stage.pods('cnpg.io/cluster=shop--postgres,cnpg.io/instanceRole=replica');
      const status = { targetPrimary: other?.metadata.name, phase: 'Switchover in progress', phaseReason: 'asked for' };
      // As kubectl cnpg promote does.
      const patch = JSON.stringify({ status });
      await stage.kubectl(
        'patch',
        'clusters.postgresql.cnpg.io',
        'shop--postgres',
        '--subresource=status',
        '--type=merge',
        '-p',
        patch,
      );
      await eventually(async () => {
        const now = await stage.primaryOf('shop');
        expect([now === '', now === primary]).toEqual([false, false]);
      }, LONG_MS);
    });
    expect(lost).toBe(0);
  });

  it('goes on without a synchronous replica too, and says how much it has lost', async () => {
    const names = (): Promise<string> => stage.sql('shop', 'show synchronous_standby_names');
    await disturbed('the primary is killed, without a synchronous replica', async () => {
      // As long as Davit does not put it back.
      await stage.kubectl('annotate', 'appd', 'shop', 'davit.dev/paused=true');
      const patch = JSON.stringify([{ op: 'remove', path: '/spec/postgresql/synchronous' }]);
      await stage.kubectl('patch', 'clusters.postgresql.cnpg.io', 'shop--postgres', '--type=json', '-p', patch);
      await eventually(async () => expect(await names()).toBe(''), LONG_MS);
      await killPrimary();
      await stage.kubectl('annotate', 'appd', 'shop', 'davit.dev/paused-');
    });
    await eventually(async () => expect(await names()).toContain('shop--postgres-'), LONG_MS);
  });

  it('takes a minor version with its next revision, without loss, and no pod of the application restarts', async () => {
    const { lost } = await disturbed('a minor version of PostgreSQL, and more memory', async () => {
      await stage.restart({ 'settings.images.cloudNativePg': stage.minorImage });
      const image = 'jsonpath={.spec.imageName}';
      const asked = (): Promise<string> =>
        stage.kubectl('get', 'clusters.postgresql.cnpg.io', 'shop--postgres', '-o', image);
      const before = await asked();
      // The setting changes nothing that runs.
      await stage.kubectl('annotate', 'appd', 'shop', 'look=once-more', '--overwrite');
      await stage.says('shop', 'Ready', 'True', 'Serving');
      expect(await asked()).toBe(before);
      const spec = { sourceConfig: { resourceSpec: { dbMemoryMb: 320 } } };
      await stage.kubectl('patch', 'appd', 'shop', '--type=merge', '-p', JSON.stringify({ spec }));
      await eventually(async () => {
        const instances = await stage.pods('cnpg.io/cluster=shop--postgres');
        expect(
          instances.map(({ spec: { containers } }) => containers.find(({ name }) => name === 'postgres')?.image),
        ).toEqual([stage.minorImage, stage.minorImage]);
        expect(instances.flatMap(({ status }) => status?.containerStatuses ?? []).every(({ ready }) => ready)).toBe(
          true,
        );
      }, LONG_MS);
    });
    expect(lost).toBe(0);
  });

  it('takes a newer image by a patch, without a revision, and no pod of the application restarts', async () => {
    const { lost } = await disturbed('a patch of PostgreSQL', async () => {
      await stage.restart({ 'settings.images.cloudNativePg': stage.patchImage });
      const status = (field: string): Promise<string> =>
        stage.kubectl('get', 'appd', 'shop', '-o', `jsonpath={.status.datastores.postgres.${field}}`);
      await eventually(async () => expect(await status('available')).toBe(stage.patchImage), LONG_MS);
      const revisions = await stage.kubectl('get', 'appr', '-o', 'name');
      await stage.apply({
        apiVersion: 'davit.dev/v1alpha1',
        kind: 'DatastoreOperation',
        metadata: { name: 'patched', namespace: 'team' },
        spec: { deployment: 'shop', action: 'Patch', patch: { datastore: 'postgres' }, accept: ['NoBackup'] },
      });
      await stage.kubectl('wait', '--for=condition=Complete', '--timeout=300s', 'dsop/patched');
      expect([await status('image'), await stage.kubectl('get', 'appr', '-o', 'name')]).toEqual([
        stage.patchImage,
        revisions,
      ]);
      await eventually(async () => expect(await status('version')).toMatch(/^\d+\.\d+$/), LONG_MS);
      const instances = await stage.pods('cnpg.io/cluster=shop--postgres');
      expect(
        instances.map(({ spec: { containers } }) => containers.find(({ name }) => name === 'postgres')?.image),
      ).toEqual([stage.patchImage, stage.patchImage]);
    });
    expect(lost).toBe(0);
  });

  it('retained, is kept hibernated, and adopted again with its data', async () => {
    await stage.sql('shop', 'drop table if exists kept; create table kept as select generate_series(1, 1000) n');
    const uid = await stage.kubectl('get', 'appd', 'shop', '-o', 'jsonpath={.metadata.uid}');
    const claims = await stage.kubectl('get', 'pvc', '-l', 'cnpg.io/cluster=shop--postgres', '-o', 'name');
    await stage.kubectl('patch', 'appd', 'shop', '--type=merge', '-p', '{"spec":{"databaseDeletionPolicy":"Retain"}}');
    await stage.kubectl('delete', 'appd', 'shop', '--timeout=400s');
    await eventually(async () => expect(await stage.pods('cnpg.io/cluster=shop--postgres')).toEqual([]), LONG_MS);
    expect(await stage.kubectl('get', 'pvc', '-l', 'cnpg.io/cluster=shop--postgres', '-o', 'name')).toBe(claims);
    await stage.apply(stage.record('shop'));
    expect(await stage.says('shop', 'Ready', 'False', 'DatabaseKept')).toContain('kubectl davit database adopt shop');
    await stage.kubectl('annotate', 'appd', 'shop', `davit.dev/adopt-database=${uid}`);
    await stage.says('shop', 'Ready', 'True', 'Serving');
    expect(await stage.sql('shop', 'select count(*) from kept')).toBe('1000');
  });

  it('deleted, leaves nothing', async () => {
    await stage.kubectl('patch', 'appd', 'shop', '--type=merge', '-p', '{"spec":{"databaseDeletionPolicy":"Delete"}}');
    await stage.kubectl('delete', 'appd', 'shop', '--timeout=400s');
    await eventually(
      async () =>
        expect(
          await stage.kubectl(
            'get',
            'clusters.postgresql.cnpg.io,pvc,pods,secrets',
            '-l',
            'davit.dev/deployment=shop',
            '-o',
            'name',
          ),
        ).toBe(''),
      LONG_MS,
    );
  });
});

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
