// A cluster with real pods, a store, and Davit's controller, for tests of deployments in namespace `team`, above all of `shop`.

import { expect } from 'vitest';
import { type Cluster, type ClusterOptions, startCluster } from '../../cluster/cluster.ts';
import { ensureImages, type Image } from '../../cluster/images/build.ts';
import { ensureDavitImage } from '../../image/davit-image.ts';
import { BUCKET, type Store, startStore } from '../../support/backup-store.ts';
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

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

export interface Stage {
  readonly cluster: Cluster;
  readonly store: Store;
  /** Name of the image of an application. */
  readonly sample: string;
  /** The images of PostgreSQL and Redis by the tags of two minor versions. */
  readonly minor: readonly [Values, Values];
  /** In the namespace. */
  kubectl(...args: readonly string[]): Promise<string>;
  /** What the plugin prints. */
  plugin(...args: readonly string[]): Promise<string>;
  apply(object: object): Promise<void>;
  makeSecret(name: string, stringData: object): Promise<void>;
  /** The keys of the store, with this one in place of the secret one if it is given. */
  putCredentials(secretAccessKey?: string): Promise<void>;
  conditionOf(name: string, type: string): Promise<Condition | undefined>;
  /** Resolves to the message of the condition once it says so. `name`: `shop` if it is not given. */
  says(type: string, status: string, reason: string, name?: string): Promise<string>;
  serves(): Promise<void>;
  /** In a pod of a database of driver pod. */
  inPod(pod: string, statement: string): Promise<string>;
  /** Ends Davit's controller and starts it again with further values. */
  restart(values: Values): Promise<void>;
  makeTenant(namespace: string): Promise<unknown>;
  stop(): Promise<void>;
}

export interface StageOptions {
  readonly cluster?: Pick<ClusterOptions, 'nodes' | 'networkPolicies'>;
  readonly values?: Values;
}

/** With a second PostgreSQL, of a newer major version; `newer` is the name of its image. The tenant has the keys of the store. */
export async function startMovingStage(): Promise<Stage & { readonly newer: string }> {
  const newer = await ensureNewerPostgres(say);
  const stage = await startStage([newer]);
  await stage.putCredentials();
  return { ...stage, newer: newer.name };
}

/** `further`: images that the nodes have besides. */
export async function startStage(further: readonly Image[] = [], options: StageOptions = {}): Promise<Stage> {
  const stores = await ensureImages(say);
  const image = await ensureDavitImage(say);
  const tags = ['.99', '.100'] as const;
  const tagged = (one: Image): Image & { readonly alsoNamed: readonly string[] } => ({
    ...one,
    alsoNamed: tags.map((tag) => `${one.name}${tag}`),
  });
  const [older, newer] = tags.map(
    (tag): Values => ({
      'settings.images.postgres': `${stores.postgres.name}${tag}`,
      'settings.images.redis': `${stores.redis.name}${tag}`,
    }),
  ) as [Values, Values];
  const images = [image, tagged(stores.postgres), tagged(stores.redis), stores.sample, ...further];
  const cluster = await startCluster({ ...options.cluster, pods: 'on', images, progress: say });
  const store = await startStore(cluster, say);
  const values: Values = {
    'settings.images.postgres': stores.postgres.name,
    'settings.images.redis': stores.redis.name,
    'settings.backups.image': image.name,
    'settings.backups.default.enabled': false,
    'settings.backups.store': { endpoint: store.endpoint, bucket: BUCKET, ca: store.ca },
    ...options.values,
  };
  const start = (others: Values = {}): ReturnType<typeof startPlatform> =>
    startPlatform(cluster, { parts: ['controller'], progress: say, values: { ...values, ...others } });
  let platform = await start();
  const kubectl = (...args: readonly string[]): Promise<string> => cluster.kubectl(['-n', 'team', ...args]);
  async function apply(object: object): Promise<void> {
    await cluster.kubectl(['apply', '-f', '-'], { input: JSON.stringify(object) });
  }
  const makeSecret = (name: string, stringData: object): Promise<void> =>
    apply({ apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace: 'team' }, stringData });
  async function conditionOf(name: string, type: string): Promise<Condition | undefined> {
    const { status } = JSON.parse(await kubectl('get', 'appd', name, '-o', 'json')) as {
      readonly status?: { readonly conditions?: readonly Condition[] };
    };
    return status?.conditions?.find((one) => one.type === type);
  }
  const says = (type: string, status: string, reason: string, name = 'shop'): Promise<string> =>
    eventually(async () => {
      const found = await conditionOf(name, type);
      expect(found).toMatchObject({ status, reason });
      return found?.message ?? '';
    }, READY_MS);
  await Promise.all(['team', 'staging'].map((tenant) => platform.makeTenant(tenant)));
  return {
    cluster,
    store,
    sample: stores.sample.name,
    minor: [older, newer],
    kubectl,
    apply,
    makeSecret,
    putCredentials: (secretAccessKey = store.credentials.secretAccessKey) =>
      makeSecret('davit-backup-store', { ...store.credentials, secretAccessKey }),
    conditionOf,
    says,
    serves: async () => void (await says('Ready', 'True', 'Serving')),
    plugin: async (...args) => (await runPlugin(cluster, [...args, '--namespace=team'])).stdout.trim(),
    inPod: async (pod, statement) => (await kubectl('exec', pod, '--', 'psql', '-U', 'app', '-Atc', statement)).trim(),
    makeTenant: (tenant) => platform.makeTenant(tenant),
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
