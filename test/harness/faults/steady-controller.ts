// One controller that nobody disturbs behind a proxy that counts, in a namespace of its own: for what is measured over
// many records and a longer time.

import type { Cluster } from '../../cluster/cluster.ts';
import { bundledDavit } from './bundle.ts';
import { makeRunFolder, makeRunTenant } from './ground.ts';
import type { Census } from './object-history.ts';
import { type Proxy, startProxy } from './proxy.ts';
import { type Cast, startCast } from './run-processes.ts';
import { childIn, hasCondition, type Scene, until } from './workloads/stage.ts';

export interface Station {
  readonly scene: Scene;
  readonly proxy: Proxy;
  readonly cast: Cast;
  /** Makes records, some at a time, and resolves when all are ready. */
  make(names: readonly string[]): Promise<void>;
  /** Resolves when all are gone, and what they had. */
  remove(names: readonly string[]): Promise<void>;
  close(): Promise<void>;
}

/** As in production: on a busy machine a short one would be lost, and everything would be read again. */
const LEASE_MS = 15_000;
const PATIENCE_MS = 300_000;
const AT_ONCE = 10;

export async function openStation(cluster: Cluster, census: Census, namespace: string): Promise<Station> {
  await makeRunTenant(cluster, namespace);
  const { server, ca } = cluster;
  const proxy = await startProxy({
    server,
    ca,
    fault: { kind: 'none' },
    leaseMs: LEASE_MS,
    actors: ['a'],
    kill: () => undefined,
    pause: () => undefined,
    atWrite: () => Promise.resolve(),
  });
  const folder = await makeRunFolder(cluster, { namespace, authority: proxy.ca, seconds: 24 * 3600 });
  const cast = await startCast(['a'], {
    cluster,
    proxy,
    namespace,
    directory: folder.directory,
    keys: await folder.keysOf('davit-controller'),
    leaseMs: LEASE_MS,
    main: await bundledDavit(cluster),
    imports: [],
    env: { DAVIT_LOG_LEVEL: 'info' },
    letItEnd: false,
  });
  const scene: Scene = { api: cluster.api, census, namespace, patienceMs: PATIENCE_MS };
  const records = `/apis/davit.dev/v1alpha1/namespaces/${namespace}/appdeployments`;

  return {
    scene,
    proxy,
    cast,
    make: (names) =>
      someAtATime(names, async (name) => {
        await cluster.api.call('POST', records, {
          apiVersion: 'davit.dev/v1alpha1',
          kind: 'AppDeployment',
          metadata: { name },
          spec: {
            source: 'external_docker',
            databaseDeletionPolicy: 'Delete',
            sourceRevisionConfig: { imageUri: 'registry.example/one:1' },
          },
        });
        await until(scene, `${name}: ready`, () => hasCondition(scene, 'Ready', 'Serving', 'True', name));
      }),
    remove: (names) =>
      someAtATime(names, async (name) => {
        await cluster.api.call('DELETE', `${records}/${name}`);
        await until(scene, `${name}: gone`, () => childIn(scene, 'AppDeployment', name) === undefined);
      }),
    async close() {
      await cast.stop();
      proxy.close();
      await folder.remove();
      // No controller is left to take the finalizers off.
      for (const { kind, object } of census.current(namespace)) {
        if (kind !== 'AppDeployment') continue;
        const patch = { metadata: { finalizers: [] } };
        await cluster.api
          .call('PATCH', `${records}/${object.metadata.name}`, patch, 'application/merge-patch+json')
          .catch(() => undefined);
      }
      await cluster.api.call('DELETE', `/api/v1/namespaces/${namespace}`).catch(() => undefined);
      census.forget(namespace);
    },
  };
}

async function someAtATime(names: readonly string[], work: (name: string) => Promise<void>): Promise<void> {
  const queue = [...names];
  async function worker(): Promise<void> {
    for (let name = queue.shift(); name !== undefined; name = queue.shift()) await work(name);
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

/** Of so many records, the names. */
export function namesOf(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}-${index + 1}`);
}
