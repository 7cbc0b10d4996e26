// A whole operator: each Greeting has a ConfigMap of its name with its text. src/runtime/README.md explains it.

import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { leaderOnly } from '../../../src/runtime/controller/clients/leader-only.ts';
import { overlayWrite, until } from '../../../src/runtime/controller/cluster.ts';
import { type ControllerDefinition, runControllers } from '../../../src/runtime/controller/definition.ts';
import { startHealthServer } from '../../../src/runtime/controller/health.ts';
import { keyOf, refOf } from '../../../src/runtime/controller/keys.ts';
import { leadAgainAndAgain } from '../../../src/runtime/controller/leading.ts';
import { makeMetrics } from '../../../src/runtime/controller/metrics.ts';
import { listedChecks, makeReflector, type Reflector } from '../../../src/runtime/controller/reflector.ts';
import { reportStatus } from '../../../src/runtime/controller/report-status.ts';
import { endAll } from '../../../src/runtime/controller/store.ts';
import { BUILT_IN_RESOURCES, CONFIG_MAPS, makeResourceRegistry } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeClient, KubeObject } from '../../../src/runtime/kube/client.ts';
import type { ClusterAccess } from '../../../src/runtime/kube/config.ts';
import { makeKubeClient } from '../../../src/runtime/kube/http-client.ts';

const GREETINGS = { group: 'example.dev', version: 'v1', kind: 'Greeting', plural: 'greetings', namespaced: true };
const [fieldManager, FINALIZER] = ['greeter', 'example.dev/greeter'];
type Greeting = KubeObject & { readonly spec: { readonly text: string }; readonly status?: object };
type ConfigMap = KubeObject & { readonly data?: Readonly<Record<string, string>> };

function observer(access: ClusterAccess) {
  const [log, metrics, client] = [
    pino({ level: 'warn' }),
    makeMetrics('greeter_'),
    makeKubeClient({ access, userAgent: 'greeter' }),
  ];
  const greetings: Reflector<Greeting> = makeReflector({ client, resource: GREETINGS, log, metrics });
  const labelSelector = FINALIZER;
  const maps: Reflector<ConfigMap> = makeReflector({ client, resource: CONFIG_MAPS, log, metrics, labelSelector });
  const registry = makeResourceRegistry([...BUILT_IN_RESOURCES, GREETINGS]);
  return { log, metrics, client, registry, caches: { all: [greetings, maps] as Reflector[], greetings, maps } };
}
type Home = Pick<ReturnType<typeof observer>, 'caches' | 'registry'> & { readonly client: KubeClient };

async function reconcile(key: string, home: Home): Promise<void> {
  const [{ caches, client }, ref] = [home, refOf(key)];
  const [greeting, map] = [caches.greetings.get(ref), caches.maps.get(ref)];
  if (!greeting) return;
  const { uid, resourceVersion, finalizers = [], deletionTimestamp, generation } = greeting.metadata;
  const finalizer = (wanted: readonly string[]): Promise<Greeting> =>
    client.mergePatch(GREETINGS, ref, { metadata: { uid, resourceVersion, finalizers: wanted } }, { fieldManager });
  if (deletionTimestamp !== undefined) {
    if (map) await client.remove(CONFIG_MAPS, ref, { uid: map.metadata.uid ?? '' });
    else await finalizer(finalizers.filter((name) => name !== FINALIZER));
    return;
  }
  if (!finalizers.includes(FINALIZER)) overlayWrite(caches, await finalizer([...finalizers, FINALIZER]));
  if (map?.data?.['text'] !== greeting.spec.text) {
    const metadata = { ...ref, labels: { [FINALIZER]: '' } };
    const wanted = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { text: greeting.spec.text } };
    overlayWrite(caches, await client.apply(CONFIG_MAPS, wanted, { fieldManager, force: true }));
  }
  await reportStatus(greeting, { observedGeneration: generation, text: greeting.spec.text }, home, { fieldManager });
}

const greeter: ControllerDefinition<Home> = {
  name: 'greetings',
  begin: (home, queue) => ({
    reconcile: async (key, signal) => (await reconcile(key, { ...home, ...until(home, signal) }), {}),
    wake() {
      const wake = ({ metadata: { namespace, name } }: KubeObject): void => queue.add(keyOf(namespace, name));
      for (const greeting of home.caches.greetings.list()) wake(greeting);
      return endAll(home.caches.all.map((cache) => cache.onChange(({ object }) => wake(object))));
    },
  }),
};

/** Runs until `signal` aborts. Resolves when the Lease is released. `namespace`: of the Lease. `port`: of /livez, /readyz and /metrics. */
export async function runOperator(access: ClusterAccess, namespace: string, port: number, signal: AbortSignal) {
  const { log, metrics, client, ...seen } = observer(access);
  const ready = listedChecks(seen.caches.all);
  const health = await startHealthServer({ port, ready, metrics: () => metrics.registry.metrics() });
  const watches = seen.caches.all.map((cache) => cache.run(signal));
  // The history of the server was replaced by an older one, so what is cached is wrong.
  const onRewound = (): never => process.exit(1);
  const lease = { leaseClient: client, namespace, name: 'greeter', identity: randomUUID(), leaseMs: 15_000, onRewound };
  const begin = (leading: AbortSignal, holds: () => boolean) => {
    const home = { ...seen, client: leaderOnly(client, leading, holds) };
    const running = runControllers([greeter], () => home, { backoffMs: 200, log, metrics });
    const synced = Promise.all(seen.caches.all.map((cache) => cache.waitForSync(leading)));
    void synced.then((all) => all.includes(false) || running.wake());
    return running;
  };
  await leadAgainAndAgain({ ...lease, log, metrics, signal, begin });
  await Promise.all([...watches, health.close(), client.close()]);
}
