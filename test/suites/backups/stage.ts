// A cluster with real pods, a store, and Davit's controller, for tests that move the database of deployment `shop` in namespace `team`.

import { expect } from 'vitest';
import { type Cluster, startCluster } from '../../cluster/cluster.ts';
import { ensureImages } from '../../cluster/images/build.ts';
import { ensureDavitImage } from '../../image/davit-image.ts';
import { BUCKET, startStore } from '../../support/backup-store.ts';
import { ensureNewerPostgres } from '../../support/newer-postgres.ts';
import { startPlatform, type Values } from '../../support/platform.ts';
import { runPlugin } from '../../support/run-plugin.ts';
import { eventually } from '../../support/running-davit.ts';

export const say = (line: string): void => void process.stderr.write(`  ${line}\n`);

export const READY_MS = 420_000;
/** Of the rows that the tests make. */
export const SUM = 'select count(*), sum(n), md5(string_agg(word, $$,$$ order by n)) from kept';
/** Makes them. */
export const ROWS =
  'create table kept as select n, md5(n::text) as word from generate_series(1, 5000) n; alter table kept add primary key (n)';

export interface Stage {
  readonly cluster: Cluster;
  /** Names of images. */
  readonly sample: string;
  readonly newer: string;
  kubectl(...args: readonly string[]): Promise<string>;
  /** What the plugin prints. */
  plugin(...args: readonly string[]): Promise<string>;
  apply(object: object): Promise<void>;
  makeSecret(name: string, stringData: object): Promise<void>;
  says(type: string, status: string, reason: string): Promise<void>;
  serves(): Promise<void>;
  /** In a pod of a database of driver pod. */
  inPod(pod: string, statement: string): Promise<string>;
  /** Ends Davit's controller and starts it again with further values. */
  restart(values: Values): Promise<void>;
  stop(): Promise<void>;
}

/** The tenant has the keys of the store. */
export async function startStage(): Promise<Stage> {
  const stores = await ensureImages(say);
  const image = await ensureDavitImage(say);
  const newer = await ensureNewerPostgres(say);
  const images = [image, stores.postgres, newer, stores.redis, stores.sample];
  const cluster = await startCluster({ pods: 'on', images, progress: say });
  const store = await startStore(cluster, say);
  const values: Values = {
    'settings.images.postgres': stores.postgres.name,
    'settings.images.redis': stores.redis.name,
    'settings.backups.image': image.name,
    'settings.backups.store': { endpoint: store.endpoint, bucket: BUCKET, ca: store.ca },
  };
  const start = (further: Values = {}): ReturnType<typeof startPlatform> =>
    startPlatform(cluster, { parts: ['controller'], progress: say, values: { ...values, ...further } });
  let platform = await start();
  const kubectl = (...args: readonly string[]): Promise<string> => cluster.kubectl(['-n', 'team', ...args]);
  async function apply(object: object): Promise<void> {
    await cluster.kubectl(['apply', '-f', '-'], { input: JSON.stringify(object) });
  }
  const makeSecret = (name: string, stringData: object): Promise<void> =>
    apply({ apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace: 'team' }, stringData });
  const says = (type: string, status: string, reason: string): Promise<void> =>
    eventually(async () => {
      const found = JSON.parse(await kubectl('get', 'appd', 'shop', '-o', 'json')) as {
        readonly status?: { readonly conditions?: readonly { readonly type: string }[] };
      };
      expect(found.status?.conditions?.find((one) => one.type === type)).toMatchObject({ status, reason });
    }, READY_MS);
  await platform.makeTenant('team');
  await makeSecret('davit-backup-store', store.credentials);
  return {
    cluster,
    sample: stores.sample.name,
    newer: newer.name,
    kubectl,
    apply,
    makeSecret,
    says,
    serves: () => says('Ready', 'True', 'Serving'),
    plugin: async (...args) => (await runPlugin(cluster, [...args, '--namespace=team'])).stdout.trim(),
    inPod: async (pod, statement) =>
      (await kubectl('exec', pod, '--', 'psql', '-h', '127.0.0.1', '-U', 'postgres', '-Atc', statement)).trim(),
    async restart(further) {
      await platform.stop();
      platform = await start(further);
    },
    async stop() {
      await platform.stop();
      await cluster.stop();
    },
  };
}

/** The first backup after the rows were made, and a row after it. `pod`: of the database. */
export async function backUpAndGoOn({ kubectl, says, inPod }: Stage, pod: string): Promise<void> {
  await inPod(pod, ROWS);
  await eventually(() => kubectl('get', 'cronjob', 'shop---backup'), READY_MS);
  await kubectl('create', 'job', '--from=cronjob/shop---backup', 'first');
  await says('BackupReady', 'True', 'BackedUp');
  await inPod(pod, "insert into kept values (5001, 'after the last backup')");
}
