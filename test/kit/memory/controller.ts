// The controller of a Davit in memory: the caches and the list of controllers that the process has, on the in-memory API server.
// Nothing runs on its own: a test says which key is reconciled. Another one on the same server is a restarted process.

import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import { type ControllerCaches, makeControllerCaches } from '../../../src/app/caches.ts';
import { CONTROLLERS } from '../../../src/app/controller.ts';
import { makeAllMetrics } from '../../../src/app/metrics.ts';
import { CODE_FILES, makeCodeFiles } from '../../../src/builds/code-files.ts';
import { pushedCommit } from '../../../src/builds/pushes.ts';
import { sharedKnowledgeOf } from '../../../src/deployments/controller.ts';
import { makeWorkQueue } from '../../../src/lib/controller/work-queue.ts';
import { BUILT_IN_RESOURCES, makeResourceRegistry } from '../../../src/lib/kube/api-resources.ts';
import { ownResources } from '../../../src/schema/kinds.ts';
import { defaultSettings, type Settings } from '../../../src/schema/settings.ts';
import { caughtUp } from '../../support/fake-kube/caught-up.ts';
import type { FakeKube, Write } from '../../support/fake-kube/fake-kube.ts';

type Begin = (typeof CONTROLLERS)[number]['begin'];
type Context = Parameters<Begin>[0];
type Begun = NonNullable<ReturnType<Begin>>;
export type Result = Awaited<ReturnType<Begun['reconcile']>>;

const START = Date.parse('2026-02-02T02:02:02Z');
/** Namespace and name of the record that most tests have, and its key. */
export const SHOP = { namespace: 'team', name: 'shop' } as const;
export const KEY = `${SHOP.namespace}/${SHOP.name}`;
const RECORDS = 'appdeployments';
/** Monitors a registry over the network as soon as it begins. */
const OUTBOUND = 'registry-upkeep';

export interface ControllerOptions {
  /** Those of this version, if not given. */
  readonly contracts?: Context['contracts'];
  /** The code hosts of builds. Without them the controllers of builds do not begin. */
  readonly codeHosts?: Context['codeHosts'];
  /** CA certificates (PEM) that builds trust. */
  readonly authorities?: string | undefined;
  /** The server of driver shared. */
  readonly makeServer?: Context['makeServer'];
}

/** Keys that a controller's watches enqueue. */
export interface Woken {
  /** Those since the last call, in order, once the caches have seen everything; at first those that were there. */
  take(): Promise<string[]>;
  stop(): void;
}

export interface MemoryController {
  readonly kube: FakeKube;
  readonly caches: ControllerCaches;
  readonly home: Context['home'];
  /** Type and reason of each event. */
  readonly events: string[];
  readonly clock: { ms: number };
  /** One pass of the controller of this name: of records, if none is given. The caches have seen everything before and after it. */
  reconcile(key?: string, controller?: string): Promise<Result>;
  /** The same without waiting for the caches. */
  pass(key: string, controller?: string): Promise<Result>;
  /** A controller's reconcile as its workers call it. Throws if the settings do not need the controller. */
  reconciler(controller?: string): Begun['reconcile'];
  /** Begins the watches of the controller of this name: of records, if none is given. */
  wake(controller?: string): Woken;
  /** The writes since the last call, as `apply Service shop` or `apply AppDeployment shop/status`. */
  writes(): string[];
  stop(): void;
}

/** Stopped, unless the test does that itself, when the test is over. */
export async function aController(
  kube: FakeKube,
  settings: Settings = defaultSettings(),
  { contracts, codeHosts, authorities, makeServer }: ControllerOptions = {},
): Promise<MemoryController> {
  const stopping = new AbortController();
  const { signal: leading } = stopping;
  const log = pino({ level: 'silent' });
  const metrics = makeAllMetrics();
  const caches = makeControllerCaches({ client: kube, settings, log, metrics });
  for (const cache of caches.all) void cache.run(leading);
  await Promise.all(caches.all.map((cache) => cache.waitForSync()));
  const events: string[] = [];
  const clock = { ms: START };
  const known: Context['known'] = new Map();
  const files = makeCodeFiles(settings);
  const woken = new Map<string, Set<string>>();
  const add = (controller: string, key: string): void => void woken.get(controller)?.add(key);
  const context: Context = {
    home: { client: kube, caches, registry: makeResourceRegistry([...BUILT_IN_RESOURCES, ...ownResources()]) },
    building: caches.builds,
    listening: caches.listening,
    settings,
    namespace: 'davit-system',
    workers: 1,
    events: {
      record: ({ type, reason }) => void events.push(`${type} ${reason}`),
      flush: () => Promise.resolve(),
    },
    now: () => new Date(clock.ms),
    elapsed: () => clock.ms,
    leading,
    log,
    metrics,
    known,
    pushedCommit: (record) => pushedCommit(known, record),
    files,
    codeFile: (record, need) => files.lookup(record, need, (key) => add(CODE_FILES, key)),
    sharedKnowledge: sharedKnowledgeOf(settings, add),
    authorities,
    codeHosts,
    ...(contracts && { contracts }),
    ...(makeServer && { makeServer }),
    enqueue: add,
  };
  const begun = new Map(
    CONTROLLERS.filter(({ name }) => name !== OUTBOUND).map(({ name, begin }) => [
      name,
      begin(context, { ...makeWorkQueue({ name }), add: (key) => add(name, key) }),
    ]),
  );
  const settled = (): Promise<void> => caughtUp(kube, caches.all);
  kube.clearWrites();
  const stop = (): void => stopping.abort();
  onTestFinished(stop);

  function controllerOf(name: string): Begun {
    const found = begun.get(name);
    if (found === undefined) throw new Error(`The settings need no controller ${name}.`);
    return found;
  }

  const pass = (key: string, controller = RECORDS): Promise<Result> =>
    controllerOf(controller).reconcile(key, leading, log);
  return {
    kube,
    caches,
    home: context.home,
    events,
    clock,
    async reconcile(key = KEY, controller = RECORDS) {
      await settled();
      try {
        return await pass(key, controller);
      } finally {
        await settled();
      }
    },
    pass,
    reconciler: (controller = RECORDS) => controllerOf(controller).reconcile,
    wake(controller = RECORDS) {
      const keys = new Set<string>();
      woken.set(controller, keys);
      const end = controllerOf(controller).wake();
      return {
        async take() {
          await settled();
          const taken = [...keys];
          keys.clear();
          return taken;
        },
        stop: end,
      };
    },
    writes() {
      const written = kube.writes.map(describeWrite);
      kube.clearWrites();
      return written;
    },
    stop,
  };
}

function describeWrite({ verb, kind, ref, subresource, error, dryRun }: Write): string {
  if (dryRun) return `try ${kind} ${ref.name}${error === undefined ? '' : ` (${error})`}`;
  return `${verb} ${kind} ${ref.name}${subresource === undefined ? '' : `/${subresource}`}${error === undefined ? '' : ` (${error})`}`;
}
