// A process of Davit over the in-memory API server: its real caches, what its controllers remember, and the keys that they are woken for.
// Nothing runs on its own. Another one on the same server is a restarted process.

import { pino } from 'pino';
import { CODE_FILES, makeCodeFiles } from '../../../src/build/code-files.ts';
import { pushedCommit } from '../../../src/build/pushes.ts';
import { ownResources } from '../../../src/kinds/kinds.ts';
import type { Settings } from '../../../src/kinds/settings.ts';
import { type ControllerCaches, makeControllerCaches } from '../../../src/main/caches.ts';
import { CONTROLLERS } from '../../../src/main/controller.ts';
import { makeAllMetrics } from '../../../src/main/metrics.ts';
import { makeWorkQueue } from '../../../src/runtime/controller/work-queue.ts';
import { CodeHostFailed } from '../../../src/runtime/errors.ts';
import { BUILT_IN_RESOURCES, makeResourceRegistry } from '../../../src/runtime/kube/api-resources.ts';
import { caughtUp } from '../../support/fake-kube/caught-up.ts';
import type { FakeKube } from '../../support/fake-kube/fake-kube.ts';

type Begin = (typeof CONTROLLERS)[number]['begin'];
export type Context = Parameters<Begin>[0];
export type Begun = NonNullable<ReturnType<Begin>>;

const START = Date.parse('2026-02-02T02:02:02Z');
/** Monitors a registry over the network as soon as it begins. */
const OUTBOUND = 'registry-upkeep';

export interface ProcessOptions {
  /** Those of this version, if not given. */
  readonly contracts?: Context['contracts'];
  /** The code hosts of builds. Without them the controllers of builds do not begin. */
  readonly codeHosts?: Context['codeHosts'];
  /** CA certificates (PEM) that builds trust. */
  readonly authorities?: string | undefined;
  /** Sends events. Without it every host is refused. */
  readonly post?: Context['post'];
}

function noHost(): Promise<never> {
  return Promise.reject(new CodeHostFailed('forbidden', 'The settings list no host of a webhook.'));
}

export interface MemoryProcess extends Pick<Context, 'leading' | 'log'> {
  readonly caches: ControllerCaches;
  readonly home: Context['home'];
  /** Type and reason of each event. */
  readonly events: string[];
  /** The controllers that the settings need, by name. */
  readonly begun: ReadonlyMap<string, Begun>;
  /** Resolves when the caches have seen everything. */
  settled(): Promise<void>;
  stop(): void;
}

/** `add` gets each key that a controller is woken for, and when: it is due after the delay. */
export async function startProcess(
  kube: FakeKube,
  settings: Settings,
  add: (controller: string, key: string, delayMs: number) => void,
  { contracts, codeHosts, authorities, post = noHost }: ProcessOptions,
  clock: { readonly ms: number } = { ms: START },
): Promise<MemoryProcess> {
  const stopping = new AbortController();
  const { signal: leading } = stopping;
  const log = pino({ level: 'silent' });
  const metrics = makeAllMetrics();
  const caches = makeControllerCaches({ client: kube, settings, log, metrics });
  for (const cache of caches.all) void cache.run(leading);
  await Promise.all(caches.all.map((cache) => cache.waitForSync()));
  const events: string[] = [];
  const known: Context['known'] = new Map();
  const files = makeCodeFiles(settings);
  const enqueue = (controller: string, key: string): void => add(controller, key, 0);
  const context: Context = {
    home: { client: kube, caches, registry: makeResourceRegistry([...BUILT_IN_RESOURCES, ...ownResources()]) },
    building: caches.builds,
    listening: caches.listening,
    notifiers: caches.notifiers,
    post,
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
    codeFile: (record, need) => files.lookup(record, need, (key) => enqueue(CODE_FILES, key)),
    authorities,
    codeHosts,
    ...(contracts && { contracts }),
    enqueue,
  };
  const begun = new Map(
    CONTROLLERS.filter(({ name }) => name !== OUTBOUND).flatMap(({ name, begin }) => {
      const addAfter = (key: string, delayMs: number): void => add(name, key, delayMs);
      const one = begin(context, { ...makeWorkQueue({ name }), add: (key) => addAfter(key, 0), addAfter });
      return one ? [[name, one] as const] : [];
    }),
  );
  const settled = (): Promise<void> => caughtUp(kube, caches.all);
  return { caches, home: context.home, events, begun, leading, log, settled, stop: () => stopping.abort() };
}
