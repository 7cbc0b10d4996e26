// The controller of a Davit in memory, as tests drive it: a test says which key is reconciled.

import { onTestFinished } from 'vitest';
import { defaultSettings, type Settings } from '../../../src/kinds/settings.ts';
import type { ControllerCaches } from '../../../src/main/caches.ts';
import type { FakeKube, Write } from '../../support/fake-kube/fake-kube.ts';
import { type Begun, type Context, type ProcessOptions, startProcess } from './process.ts';

export type Result = Awaited<ReturnType<Begun['reconcile']>>;

const START = Date.parse('2026-02-02T02:02:02Z');
/** Namespace and name of the record that most tests have, and its key. */
export const SHOP = { namespace: 'team', name: 'shop' } as const;
export const KEY = `${SHOP.namespace}/${SHOP.name}`;
const RECORDS = 'appdeployments';

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
  options: ProcessOptions = {},
): Promise<MemoryController> {
  const clock = { ms: START };
  const woken = new Map<string, Set<string>>();
  const add = (controller: string, key: string): void => void woken.get(controller)?.add(key);
  const { caches, home, events, begun, leading, log, settled, stop } = await startProcess(
    kube,
    settings,
    add,
    options,
    clock,
  );
  kube.clearWrites();
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
    home,
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
