// The processes of a world: Davit, on the hub and in its cluster, and the agent. Each has its real caches and what its controllers
// remember, and reconciles only the keys that its watches wake or that are due.

import { makeAgentCaches } from '../../../../src/clusters/agent/caches.ts';
import { makeAgentReconciler, wakeWorks } from '../../../../src/clusters/agent/works.ts';
import type { Settings } from '../../../../src/kinds/settings.ts';
import type { Reconcile } from '../../../../src/runtime/controller/controller.ts';
import { makeWorkQueue } from '../../../../src/runtime/controller/work-queue.ts';
import { Conflict, Terminal } from '../../../../src/runtime/errors.ts';
import { startProcess } from '../../../kit/memory/process.ts';
import { caughtUp } from '../../../support/fake-kube/caught-up.ts';
import { METRICS, SILENT } from '../caches.ts';
import { CLUSTER, HUB, hubClient, LISTENER, link, reachesHub, SHOPS } from '../listener-world.ts';
import type { LiveScene } from './live-scene.ts';

export interface Clock {
  ms: number;
}

export interface Actor {
  readonly name: string;
  /** When each key is due, such as `appdeployments team/shop`. */
  readonly due: ReadonlyMap<string, number>;
  /** One pass, which decides when its key is due again. Returns what it threw. */
  run(key: string): Promise<Error | undefined>;
  /** Its caches have seen everything, and its keys are woken. */
  settled(): Promise<void>;
  stop(): void;
}

type Add = (controller: string, key: string, delayMs: number) => void;
interface Parts {
  readonly reconcilers: ReadonlyMap<string, Reconcile>;
  readonly wake: () => void;
  readonly settled: () => Promise<void>;
  readonly stop: () => void;
}

const FIRST_RETRY_MS = 200;
const LAST_RETRY_MS = 300_000;

/** Keys are due as in a work queue: at the earliest time for which they were added, and later each time that they fail. */
async function anActor(name: string, clock: Clock, make: (add: Add) => Promise<Parts>): Promise<Actor> {
  const due = new Map<string, number>();
  const failures = new Map<string, number>();
  const { signal } = new AbortController();
  const add: Add = (controller, key, delayMs) => {
    const at = clock.ms + delayMs;
    const id = `${controller} ${key}`;
    due.set(id, Math.min(at, due.get(id) ?? at));
  };
  const { reconcilers, wake, settled, stop } = await make(add);
  wake();
  return {
    name,
    due,
    settled,
    stop,
    async run(id) {
      const [controller = '', key = ''] = id.split(' ');
      due.delete(id);
      try {
        const { requeueAfterMs } = (await reconcilers.get(controller)?.(key, signal, SILENT)) ?? {};
        failures.delete(id);
        if (requeueAfterMs !== undefined) add(controller, key, requeueAfterMs);
        return undefined;
      } catch (error) {
        if (error instanceof Terminal) return error;
        const times = failures.get(id) ?? 0;
        failures.set(id, times + 1);
        add(controller, key, Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** times));
        return error instanceof Conflict ? undefined : (error as Error);
      }
    },
  };
}

/** `codeHosts`: as the world answers. */
export function aDavit(
  name: string,
  { kube }: LiveScene,
  clock: Clock,
  settings: Settings,
  codeHosts: NonNullable<Parameters<typeof startProcess>[3]['codeHosts']>,
): Promise<Actor> {
  return anActor(name, clock, async (add) => {
    const { begun, settled, stop } = await startProcess(kube, settings, add, { codeHosts }, clock);
    const reconcilers = new Map([...begun].map(([controller, { reconcile }]) => [controller, reconcile]));
    return { reconcilers, settled, stop, wake: () => [...begun.values()].forEach((one) => one.wake()) };
  });
}

/** An agent that holds its Lease. While the link is cut, it sees nothing new of the hub. */
export function anAgent({ kube, scene }: LiveScene, clock: Clock): Promise<Actor> {
  return anActor('the agent', clock, async (add) => {
    const stopping = new AbortController();
    const hub = hubClient(scene);
    const here = { local: kube, namespace: HUB, served: [SHOPS], listenerId: LISTENER };
    const gated: typeof hub.watch = async function* watchWhileLinked(...args) {
      for await (const event of hub.watch(...args)) {
        while (!reachesHub(scene) && !stopping.signal.aborted) await new Promise((done) => setImmediate(done));
        yield event;
      }
    } as typeof hub.watch;
    const caches = makeAgentCaches({ ...here, hub: { ...hub, watch: gated }, log: SILENT, metrics: METRICS });
    for (const cache of caches.all) void cache.run(stopping.signal);
    // One that starts while the link is cut sees nothing of the hub yet.
    const reached = (): typeof caches.all =>
      caches.all.filter((cache) => (cache as unknown) !== caches.works || reachesHub(scene));
    await Promise.all(reached().map((cache) => cache.waitForSync(stopping.signal)));
    const controller = 'works';
    const addAfter = (key: string, delayMs: number): void => add(controller, key, delayMs);
    const queue = { ...makeWorkQueue({ name: controller }), add: (key: string) => addAfter(key, 0), addAfter };
    const epoch = (): number => Number(link(scene, 'epoch'));
    const reconcile = makeAgentReconciler({ ...here, hub, caches, clusterId: CLUSTER, epoch });
    return {
      reconcilers: new Map([[controller, reconcile]]),
      wake: () => wakeWorks(caches, queue),
      settled: () => caughtUp(kube, reached()),
      stop: () => stopping.abort(),
    };
  });
}
