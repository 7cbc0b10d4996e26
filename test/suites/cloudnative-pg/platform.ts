// A cluster with real pods, CloudNativePG and Davit's controller, for records whose PostgreSQL is a Cluster.

import { expect } from 'vitest';
import { type Cluster, startCluster } from '../../cluster/cluster.ts';
import { ensureImages, type Image } from '../../cluster/images/build.ts';
import { BUCKET, type Store, startStore } from '../../support/backup-store.ts';
import { ensureCloudNativePg, installCloudNativePg } from '../../support/cloudnative-pg.ts';
import { type Platform, startPlatform, type Values } from '../../support/platform.ts';
import { eventually } from '../../support/running-davit.ts';

export const say = (line: string): void => void process.stderr.write(`  ${line}\n`);

const SIZES = {
  cpu: 0.05,
  memoryMb: 128,
  dbCpu: 0.05,
  dbMemoryMb: 256,
  dbStorageGi: 1,
  redisCpu: 0.05,
  redisMemoryMb: 64,
};
/** A machine with other work takes minutes for what takes seconds. */
export const LONG_MS = 420_000;

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

export interface Pod {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly spec: { readonly containers: readonly { readonly name: string; readonly image: string }[] };
  readonly status?: {
    readonly containerStatuses?: readonly { readonly restartCount: number; readonly ready: boolean }[];
  };
}

export interface Stage {
  readonly cluster: Cluster;
  /** The image of Clusters by another tag, as a minor version has one. */
  readonly minorImage: string;
  /** The same by the tag of a later one. */
  readonly patchImage: string;
  /** Ends Davit's controller and starts it again with further values. */
  restart(values: Values): Promise<void>;
  kubectl(...args: readonly string[]): Promise<string>;
  apply(object: object): Promise<void>;
  /** A record of the sample with a Cluster. */
  record(name: string, database?: object, spec?: object): object;
  conditionOf(name: string, type: string): Promise<Condition | undefined>;
  /** Returns the message. */
  says(name: string, type: string, status: string, reason: string): Promise<string>;
  pods(selector: string): Promise<readonly Pod[]>;
  /** Name of the pod that is the primary now. */
  primaryOf(name: string): Promise<string>;
  /** In the database `app`, as its superuser, on the primary. */
  sql(name: string, statement: string): Promise<string>;
  stop(): Promise<void>;
}

interface StageOptions {
  /** Further images of the node. */
  readonly images?: readonly Image[];
  /** Further values of the chart. */
  valuesFor?(cluster: Cluster): Promise<Values>;
}

export async function startStage({ images = [], valuesFor }: StageOptions = {}): Promise<Stage> {
  const operator = await ensureCloudNativePg(say);
  const stores = await ensureImages(say);
  const minorImage = `${stores.postgres.name}.99`;
  const patchImage = `${stores.postgres.name}.100`;
  const cluster = await startCluster({
    pods: 'on',
    images: [
      operator,
      ...images,
      { ...stores.postgres, alsoNamed: [minorImage, patchImage] },
      stores.redis,
      stores.sample,
    ],
    progress: say,
  });
  await installCloudNativePg(cluster, operator);
  const values: Values = {
    'settings.images.postgres': stores.postgres.name,
    'settings.images.redis': stores.redis.name,
    'settings.images.cloudNativePg': stores.postgres.name,
    'settings.database.cloudNativePg.userId': 999,
    ...(await valuesFor?.(cluster)),
  };
  const start = (further: Values = {}): Promise<Platform> =>
    startPlatform(cluster, { parts: ['controller'], progress: say, values: { ...values, ...further } });
  let platform = await start();
  await platform.makeTenant('team');
  const kubectl = (...args: readonly string[]): Promise<string> => cluster.kubectl(['-n', 'team', ...args]);
  const list = async <T>(...args: readonly string[]): Promise<readonly T[]> =>
    (JSON.parse(await kubectl('get', ...args, '-o', 'json')) as { readonly items: readonly T[] }).items;

  async function conditionOf(name: string, type: string): Promise<Condition | undefined> {
    const { status } = JSON.parse(await kubectl('get', 'appd', name, '-o', 'json')) as {
      readonly status?: { readonly conditions?: readonly Condition[] };
    };
    return status?.conditions?.find((one) => one.type === type);
  }

  async function primaryOf(name: string): Promise<string> {
    const [pod] = await list<Pod>('pods', '-l', `cnpg.io/cluster=${name}--postgres,cnpg.io/instanceRole=primary`);
    return pod?.metadata.name ?? '';
  }

  return {
    cluster,
    minorImage,
    patchImage,
    async restart(further) {
      await platform.stop();
      platform = await start(further);
    },
    kubectl,
    conditionOf,
    primaryOf,
    async apply(object) {
      await cluster.kubectl(['apply', '-f', '-'], { input: JSON.stringify(object) });
    },
    record(name, database = {}, spec = {}) {
      return {
        apiVersion: 'davit.dev/v1alpha1',
        kind: 'AppDeployment',
        metadata: { name, namespace: 'team' },
        spec: {
          source: 'external_docker',
          sourceRevisionConfig: { imageUri: stores.sample.name },
          sourceConfig: { resourceSpec: SIZES, database: { driver: 'cloudnative-pg', instances: 2, ...database } },
          ...spec,
        },
      };
    },
    says(name, type, status, reason) {
      return eventually(async () => {
        const found = await conditionOf(name, type);
        expect(found).toMatchObject({ status, reason });
        return found?.message ?? '';
      }, LONG_MS);
    },
    pods: (selector) => list<Pod>('pods', '-l', selector),
    async sql(name, statement) {
      const exec = ['exec', await primaryOf(name), '-c', 'postgres', '--', 'psql', '-d', 'app', '-Atc', statement];
      return (await kubectl(...exec)).trim();
    },
    async stop() {
      await platform.stop();
      await cluster.stop();
    },
  };
}

interface StoreStage {
  readonly stage: Stage;
  readonly store: Store;
}

/** A stage with a store for backups. `backupImage`: what sends dumps. */
export async function startStageWithStore(images: readonly Image[], backupImage: string): Promise<StoreStage> {
  const stores: Store[] = [];
  const stage = await startStage({
    images,
    async valuesFor(cluster) {
      const store = await startStore(cluster, say);
      stores.push(store);
      return {
        'settings.backups.image': backupImage,
        'settings.backups.default.enabled': false,
        'settings.backups.store': { endpoint: store.endpoint, bucket: BUCKET, ca: store.ca },
      };
    },
  });
  const [store] = stores;
  if (!store) throw new Error('the platform was started without its store');
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'davit-backup-store', namespace: 'team' },
    stringData: store.credentials,
  };
  await stage.apply(secret).catch(async (error: unknown) => {
    await stage.stop();
    throw error;
  });
  return { stage, store };
}
