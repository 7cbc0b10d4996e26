import { pino } from 'pino';
import { afterEach, describe, expect, it } from 'vitest';
import { makeFakeClock } from '../../../test/support/fake-clock.ts';
import { makeFakeKube } from '../../../test/support/fake-kube/fake-kube.ts';
import { Forbidden, NotFound, Silent, Unavailable } from '../errors.ts';
import { CONFIG_MAPS, NAMESPACES, SECRETS } from '../kube/api-resources.ts';
import type { KubeClient, KubeObject } from '../kube/client.ts';
import { dropManagedFields } from './managed-fields.ts';
import { makeMetrics } from './metrics.ts';
import { makeReflector, type ReflectorOptions } from './reflector.ts';

const log = pino({ level: 'silent' });
let stopAll = new AbortController();
afterEach(() => {
  stopAll.abort();
  stopAll = new AbortController();
});

function aConfigMap(name: string, namespace = 't1', data: Record<string, string> = {}): KubeObject & { data: object } {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace, name }, data };
}

/** Code that changes an object of a cache fails. */
function frozen<T extends KubeObject>(object: T): T {
  const freeze = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    Object.values(value).forEach(freeze);
    Object.freeze(value);
  };
  freeze(dropManagedFields(object));
  return object;
}

function aReflector(options: Partial<ReflectorOptions<KubeObject>> = {}) {
  const kube = makeFakeKube();
  const clock = makeFakeClock();
  const client = options.client ?? kube;
  const settings = { client, resource: CONFIG_MAPS, log, clock, random: () => 0.5, transform: frozen, ...options };
  const reflector = makeReflector<KubeObject>(settings);
  const told: string[] = [];
  reflector.onChange(({ type, object }) => told.push(`${type} ${object.metadata.name}`));
  return { kube, clock, reflector, told, start: () => reflector.run(stopAll.signal) };
}

describe('reflector', () => {
  it('lists in pages, then follows', async () => {
    const { kube, clock, reflector, told, start } = aReflector({ pageSize: 2 });
    for (const name of ['a', 'b', 'c']) kube.seed(CONFIG_MAPS, aConfigMap(name));
    const synced = reflector.waitForSync();
    void start();
    await clock.advance(0);
    expect(await synced).toBe(true);
    const made = await kube.create(CONFIG_MAPS, aConfigMap('d'));
    await kube.remove(CONFIG_MAPS, made.metadata, { uid: String(made.metadata.uid) });
    kube.bookmark();
    await clock.advance(0);
    expect(told).toEqual(['added a', 'added b', 'added c', 'added d', 'deleted d']);
    expect(reflector.observedResourceVersion()).toBe(kube.resourceVersion());
    expect(reflector.list()[0]?.metadata.managedFields).toBeUndefined();
  });

  it('sees a name that was deleted and recreated while it was away as two objects', async () => {
    const { kube, clock, told, start } = aReflector();
    kube.seed(CONFIG_MAPS, aConfigMap('a'));
    void start();
    await clock.advance(0);
    kube.endWatches(new Unavailable('connection reset'));
    kube.erase(CONFIG_MAPS, { namespace: 't1', name: 'a' });
    kube.seed(CONFIG_MAPS, aConfigMap('a'));
    kube.compact();
    await clock.advance(60_000);
    expect(told).toEqual(['added a', 'deleted a', 'added a']);
  });

  it('reopens a watch of a quiet kind, however often, without a pause', async () => {
    const failed: string[] = [];
    const metrics = { ...makeMetrics(), watchFailed: (_: string, error: string) => failed.push(error) };
    const { kube, clock, reflector, told, start } = aReflector({ metrics });
    void start();
    await clock.advance(0);
    for (let times = 0; times < 10; times += 1) {
      await clock.advance(90_000);
      kube.endWatches(new Silent('watch configmaps: no data for 90000 ms'));
      await clock.advance(0);
    }
    kube.seed(CONFIG_MAPS, aConfigMap('a'));
    await clock.advance(0);
    expect(told).toEqual(['added a']);
    expect([failed, reflector.status().failingForMs]).toEqual([[], undefined]);
  });

  it('is not failing any more once a watch is only silent', async () => {
    const { kube, clock, reflector, start } = aReflector();
    void start();
    await clock.advance(0);
    for (let times = 0; times < 8; times += 1) {
      kube.endWatches(new Unavailable('connection reset'));
      await clock.advance(500);
      await clock.advance(90_000);
      kube.endWatches(new Silent('watch configmaps: no data for 90000 ms'));
      await clock.advance(0);
      expect(reflector.status()).toEqual({ synced: true });
    }
  });

  it('lists once more after 410, with what was missed', async () => {
    const { kube, clock, told, start } = aReflector();
    let lists = 0;
    kube.failOn(({ verb }) => {
      if (verb === 'list') lists += 1;
      return undefined;
    });
    kube.seed(CONFIG_MAPS, aConfigMap('a'));
    void start();
    await clock.advance(0);
    kube.endWatches();
    kube.seed(CONFIG_MAPS, aConfigMap('b'));
    kube.compact();
    await clock.advance(30_000);
    expect(told).toEqual(['added a', 'added b']);
    // Between the two, the look whether the server's history is still the one that was watched.
    expect(lists).toBe(3);
  });

  it.each([
    { name: 'Forbidden at the list', verb: 'list', error: new Forbidden('no') },
    { name: 'Unavailable at the list', verb: 'list', error: new Unavailable('busy') },
    { name: 'Forbidden at the watch', verb: 'watch', error: new Forbidden('no') },
    { name: 'a surprise', verb: 'watch', error: new TypeError('bug') },
  ])('outlasts $name', async ({ verb, error }) => {
    const { kube, clock, reflector, start } = aReflector();
    let failures = 0;
    kube.failOn((request) => (request.verb === verb && failures++ < 5 ? error : undefined));
    void start();
    await clock.advance(0);
    expect(reflector.status().lastError).toBe(error.message);
    await clock.advance(120_000);
    kube.seed(CONFIG_MAPS, aConfigMap('a'));
    await clock.advance(0);
    expect(reflector.list()).toHaveLength(1);
    expect(reflector.status()).not.toHaveProperty('lastError');
    expect(failures).toBeGreaterThanOrEqual(5);
  });

  it('an optional kind that is not installed is empty, and is there as soon as it is installed', async () => {
    const { kube, clock, reflector, told, start } = aReflector({ optional: true });
    const installed: boolean[] = [];
    reflector.onInstalled(() => installed.push(reflector.isInstalled()));
    const unknown = new NotFound('the server could not find the requested resource');
    kube.failOn(({ verb }) => (verb === 'list' || verb === 'watch' ? unknown : undefined));
    const synced = reflector.waitForSync();
    void start();
    await clock.advance(0);
    expect([await synced, reflector.isInstalled()]).toEqual([true, false]);
    expect(reflector.status()).not.toHaveProperty('lastError');
    kube.seed(CONFIG_MAPS, aConfigMap('a'));
    kube.failOn(undefined);
    await clock.advance(20_000);
    expect([told, reflector.isInstalled()]).toEqual([['added a'], true]);
    // Taken out again: its objects go with it.
    kube.failOn(({ verb }) => (verb === 'list' || verb === 'watch' ? unknown : undefined));
    kube.endWatches();
    await clock.advance(60_000);
    expect([told, installed]).toEqual([
      ['added a', 'deleted a'],
      [false, true, false],
    ]);
  });

  it('of a namespace that was deleted with its Role is empty, and is there again with it', async () => {
    const { kube, clock, reflector, told, start } = aReflector({ namespace: 't1' });
    kube.seed(CONFIG_MAPS, aConfigMap('a'));
    kube.failOn(({ verb }) => (verb === 'list' || verb === 'watch' ? new Forbidden('no Role') : undefined));
    const aNamespace = kube.seed(NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 't1' } });
    void start();
    await clock.advance(60_000);
    expect([reflector.hasSynced(), reflector.status().lastError]).toEqual([false, 'no Role']);
    await kube.remove(NAMESPACES, { name: 't1' }, { uid: kube.objects(NAMESPACES)[0]?.metadata.uid ?? '' });
    await clock.advance(60_000);
    expect([reflector.hasSynced(), reflector.isInstalled(), reflector.list()]).toEqual([true, true, []]);
    kube.seed(NAMESPACES, aNamespace);
    kube.failOn(undefined);
    await clock.advance(20_000);
    expect(told).toEqual(['added a']);
  });

  it('waits as long as the server asks', async () => {
    const { kube, clock, reflector, start } = aReflector();
    let asked = 0;
    kube.failOn(({ verb }) =>
      verb === 'list' && asked++ === 0 ? new Unavailable('busy', { retryAfterMs: 40_000 }) : undefined,
    );
    void start();
    await clock.advance(39_000);
    expect(asked).toBe(1);
    await clock.advance(1_500);
    expect(reflector.hasSynced()).toBe(true);
  });

  it('does not go back to an older list', async () => {
    const kube = makeFakeKube();
    let shift = 0;
    const client: KubeClient = {
      ...kube,
      async list(resource, options) {
        const list = await kube.list(resource, options);
        const items = shift === 0 ? list.items : [];
        return { ...list, items: items as never, resourceVersion: String(Number(list.resourceVersion) - shift) };
      },
    };
    const { clock, reflector, start } = aReflector({ client });
    kube.seed(CONFIG_MAPS, aConfigMap('a'));
    void start();
    await clock.advance(0);
    shift = 500;
    kube.compact();
    await clock.advance(60_000);
    expect(reflector.list()).toHaveLength(1);
    expect(reflector.status().lastError).toContain('older');
    shift = 0;
    await clock.advance(60_000);
    expect(reflector.list()).toHaveLength(1);
    expect(reflector.status().lastError).toBeUndefined();
  });

  describe('a server that has gone back in time', () => {
    /** As after a restore: what is listed is older by `by`, the list itself too unless its revision was bumped. */
    function aRewoundServer(what: 'all' | 'objects') {
      const kube = makeFakeKube();
      let by = 0;
      let wholeLists = 0;
      const client: KubeClient = {
        ...kube,
        async list(resource, options) {
          if (options?.limit !== 1) wholeLists += 1;
          const list = await kube.list(resource, options);
          const older = (version: string | undefined): string => String(Number(version) - by);
          const items = list.items.map((item) => ({
            ...item,
            metadata: { ...item.metadata, resourceVersion: older(item.metadata.resourceVersion) },
          }));
          return {
            ...list,
            items: items as never,
            resourceVersion: what === 'all' ? older(list.resourceVersion) : list.resourceVersion,
          };
        },
      };
      const rewound: string[] = [];
      const { clock, reflector, start } = aReflector({ client, onRewound: (said) => rewound.push(said) });
      for (let i = 0; i < 20; i++) kube.seed(CONFIG_MAPS, aConfigMap(`a${i}`));
      void start();
      return {
        kube,
        clock,
        reflector,
        rewound,
        lists: () => wholeLists,
        goBack: (versions: number) => void (by = versions),
      };
    }

    it.each(['all', 'objects'] as const)('is told of when it lasts (%s)', async (what) => {
      const { kube, clock, reflector, rewound, goBack } = aRewoundServer(what);
      await clock.advance(0);
      goBack(5);
      kube.compact();
      await clock.advance(10_000);
      expect(rewound).toEqual([]);
      await clock.advance(20_000);
      expect(rewound[0]).toContain('list configmaps');
      expect(reflector.status().lastError).toContain('older');
    });

    it('is not told of when it passes', async () => {
      const { kube, clock, rewound, goBack } = aRewoundServer('all');
      await clock.advance(0);
      for (let i = 0; i < 3; i++) {
        goBack(5);
        kube.compact();
        await clock.advance(10_000);
        goBack(0);
        await clock.advance(20_000);
      }
      expect(rewound).toEqual([]);
    });

    it('is listed again when it has caught up before the next look: no watch tells what happened on its way', async () => {
      const { kube, clock, rewound, lists, goBack } = aRewoundServer('all');
      await clock.advance(0);
      goBack(5);
      kube.endWatches();
      await clock.advance(600);
      expect(lists()).toBe(1);
      goBack(0);
      await clock.advance(30_000);
      expect(lists()).toBe(2);
      expect(rewound).toEqual([]);
    });

    it('is noticed before the watch goes on from a version that is still to come', async () => {
      const { kube, clock, rewound, goBack } = aRewoundServer('all');
      await clock.advance(0);
      goBack(5);
      kube.endWatches();
      await clock.advance(30_000);
      expect(rewound[0]).toContain('is older than');
    });
  });

  it.each([{ known: 20 }, { known: 1 }])(
    'asks again before it believes a list that lacks any of $known',
    async ({ known }) => {
      const kube = makeFakeKube();
      let short = 0;
      const client: KubeClient = {
        ...kube,
        async list(resource, options) {
          const list = await kube.list(resource, options);
          return short-- > 0 ? { ...list, items: [] } : (list as never);
        },
      };
      const { clock, told, reflector, start } = aReflector({ client });
      for (let i = 0; i < known; i++) kube.seed(CONFIG_MAPS, aConfigMap(`c${i}`));
      void start();
      await clock.advance(0);
      told.length = 0;
      short = 1;
      kube.compact();
      await clock.advance(30_000);
      expect(told).toEqual([]);
      expect(reflector.list()).toHaveLength(known);
    },
  );

  it('is not harmed by a listener that throws', async () => {
    const { kube, clock, reflector, told, start } = aReflector();
    reflector.onChange(() => {
      throw new Error('listener');
    });
    const later: string[] = [];
    reflector.onChange(({ object }) => later.push(object.metadata.name));
    void start();
    await clock.advance(0);
    kube.seed(CONFIG_MAPS, aConfigMap('a'));
    await clock.advance(0);
    expect([told, later]).toEqual([['added a'], ['a']]);
  });

  it('holds metadata alone, of overlays too', async () => {
    const { kube, clock, reflector, start } = aReflector({ resource: SECRETS, metadataOnly: true });
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { namespace: 't1', name: 's' }, data: { k: 'dg==' } };
    kube.seed(SECRETS, secret);
    void start();
    await clock.advance(0);
    reflector.overlay(await kube.create(SECRETS, { ...secret, metadata: { namespace: 't1', name: 's2' } }));
    expect(reflector.list().map((object) => Object.keys(object).sort())).toEqual([
      ['apiVersion', 'kind', 'metadata'],
      ['apiVersion', 'kind', 'metadata'],
    ]);
  });

  it('leaves the answer of a write to its caller as it was', async () => {
    const { clock, reflector, start } = aReflector();
    void start();
    await clock.advance(0);
    const answer = {
      ...aConfigMap('a'),
      metadata: { ...aConfigMap('a').metadata, uid: 'u', resourceVersion: '999', managedFields: [{ manager: 'me' }] },
    };
    reflector.overlay(answer);
    expect(reflector.byUid('u')?.metadata.managedFields).toBeUndefined();
    expect(answer.metadata.managedFields).toEqual([{ manager: 'me' }]);
  });

  it('shows a write at once and tells it once', async () => {
    const { kube, clock, reflector, told, start } = aReflector();
    void start();
    await clock.advance(0);
    const made = await kube.create(CONFIG_MAPS, aConfigMap('a'));
    expect(reflector.isAtLeast(made.metadata, String(made.metadata.resourceVersion))).toBe(false);
    reflector.overlay(made);
    expect(reflector.list()).toHaveLength(1);
    expect(reflector.isAtLeast(made.metadata, String(made.metadata.resourceVersion))).toBe(true);
    await clock.advance(0);
    expect(told).toEqual(['added a']);
    reflector.overlayDeleted(String(made.metadata.uid), String(made.metadata.resourceVersion));
    expect(reflector.list()).toHaveLength(0);
  });

  it('ends when its signal aborts', async () => {
    const { clock, start, reflector } = aReflector();
    const ended = start();
    await clock.advance(0);
    stopAll.abort();
    await ended;
    expect(clock.pending).toBe(0);
    expect(await reflector.waitForSync(stopAll.signal)).toBe(true);
  });
});
