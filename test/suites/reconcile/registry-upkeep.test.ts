// Upkeep of the registry on the in-memory API server, with a registry that collects garbage as CNCF Distribution does: it deletes
// manifests without a tag. A crash is a request to the registry that fails, and then another controller.

import fc from 'fast-check';
import { pino } from 'pino';
import { beforeEach, describe, expect, it } from 'vitest';
import type { RegistryClient } from '../../../src/builds/registry/client.ts';
import { ARGUMENT, COLLECT } from '../../../src/builds/registry/collection.ts';
import type { CollectionLook } from '../../../src/builds/registry/collection-guard.ts';
import { makeRegistryUpkeep, type RegistryUpkeep } from '../../../src/builds/registry/upkeep.ts';
import { keepTag } from '../../../src/deployments/record/registry-names.ts';
import { RegistryFailed } from '../../../src/lib/errors.ts';
import { CONFIG_MAPS, NAMESPACES, PODS } from '../../../src/lib/kube/api-resources.ts';
import type { KubeObject } from '../../../src/lib/kube/client.ts';
import { APP_DEPLOYMENTS } from '../../../src/schema/app-deployment.ts';
import { APP_REVISIONS, type AppRevision } from '../../../src/schema/app-revision.ts';
import { Settings } from '../../../src/schema/settings.ts';
import { aController, type MemoryController } from '../../kit/memory/controller.ts';
import { aServer, putRecord, record } from '../../kit/memory/record.ts';
import { aRevision } from '../../support/builders.ts';
import type { FakeKube } from '../../support/fake-kube/fake-kube.ts';

const HOST = 'registry.example.com';
const SETTINGS = Settings.parse({
  hosting: 'both',
  builds: {
    registry: { host: HOST, tokens: true, upkeep: {} },
    images: { builder: 'builder:1', davit: 'davit:1' },
  },
});
const HOUR = 3600 * 1000;
const DAY = 24 * HOUR;
const digest = (n: number): string => `sha256:${n.toString(16).padStart(64, '0')}`;
const revisionId = (n: number): string => `00000000-0000-4000-8000-${n.toString(16).padStart(12, '0')}`;

class Registry
  implements Pick<RegistryClient, 'repositories' | 'tags' | 'tag' | 'deleteTag' | 'digestOf' | 'ensureBlob'>
{
  /** Digests by repository and tag. */
  readonly byTag = new Map<string, Map<string, string>>();
  readonly manifests = new Map<string, Set<string>>();
  readonly withBlob = new Set<string>();
  readonly asks: string[] = [];
  /** Requests that succeed until one fails. */
  left = Infinity;
  /** Requests that the registry refuses or cannot answer: part of what is asked, and why. */
  readonly failing = new Map<string, RegistryFailed>();

  #ask(what: string): void {
    for (const [part, failure] of this.failing) if (what.includes(part)) throw failure;
    if (this.left <= 0) throw new RegistryFailed('unreachable', 'The registry cannot be reached.');
    this.left -= 1;
    this.asks.push(what);
  }
  push(repository: string, tag: string, of: string): void {
    this.manifests.set(repository, (this.manifests.get(repository) ?? new Set()).add(of));
    this.byTag.set(repository, (this.byTag.get(repository) ?? new Map<string, string>()).set(tag, of));
  }
  has(repository: string, of: string): boolean {
    return this.manifests.get(repository)?.has(of) === true;
  }
  collectGarbage(): void {
    for (const [repository, manifests] of this.manifests) {
      const tagged = new Set(this.byTag.get(repository)?.values());
      for (const one of manifests) if (!tagged.has(one)) manifests.delete(one);
    }
  }
  tagsOf(repository: string): string[] {
    return [...(this.byTag.get(repository)?.keys() ?? [])];
  }
  repositories = async (): Promise<string[]> => {
    this.#ask('repositories');
    return [...this.byTag.keys()];
  };
  tags = async (repository: string): Promise<string[]> => {
    this.#ask(`tags ${repository}`);
    return this.tagsOf(repository);
  };
  tag = async (repository: string, of: string, tag: string): Promise<boolean> => {
    this.#ask(`tag ${repository} ${tag}`);
    if (!this.has(repository, of)) return false;
    this.push(repository, tag, of);
    return true;
  };
  ensureBlob = async (repository: string): Promise<void> => {
    this.#ask(`blob ${repository}`);
    this.withBlob.add(repository);
  };
  digestOf = async (repository: string, reference: string): Promise<string | undefined> => {
    this.#ask(`digest ${repository}`);
    return this.byTag.get(repository)?.get(reference);
  };
  deleteTag = async (repository: string, tag: string): Promise<void> => {
    this.#ask(`delete ${tag}`);
    this.byTag.get(repository)?.delete(tag);
  };
}

interface Running {
  readonly harness: MemoryController;
  readonly keys: Set<string>;
  /** Delays that the reconciles asked for, by key. */
  readonly delays: Map<string, (number | undefined)[]>;
  /** Reconciles all keys that wait. Those of repositories that failed wait again. */
  settle(): Promise<void>;
  readonly upkeep: RegistryUpkeep;
  /** Looks at the registry as a whole, as it does every ten minutes, and settles. */
  look(): Promise<void>;
}

let kube: FakeKube;
let registry: Registry;
let repository: string;
/** Milliseconds that have passed. */
let passed: number;

beforeEach(() => {
  kube = aServer();
  registry = new Registry();
  passed = 0;
  const [team] = kube.objects(NAMESPACES);
  repository = `team-${team?.metadata.uid?.slice(0, 8)}/shop`;
  putRecord(kube);
});

const image = (n: number): string => `${HOST}/${repository}@${digest(n)}`;

function addRevision(n: number, more: Partial<AppRevision['status'] & object> = {}): void {
  const made = aRevision(record(kube), undefined, n);
  kube.seed<AppRevision>(APP_REVISIONS, {
    ...made,
    metadata: { ...made.metadata, name: `shop-${n}` },
    spec: {
      ...made.spec,
      id: revisionId(n),
      deploymentUid: record(kube).metadata.uid ?? '',
      resolved: { ...made.spec.resolved, image: image(n) },
    },
    status: { ...made.status, ...more } as AppRevision['status'] & object,
  });
}
const dropRevision = (n: number): void => kube.erase(APP_REVISIONS, { namespace: 'team', name: `shop-${n}` });

async function start(settings = SETTINGS): Promise<Running> {
  const harness = await aController(kube, settings);
  const { registry: where } = settings.builds;
  if (where?.upkeep === undefined) throw new Error('the settings have no upkeep');
  const keys = new Set<string>();
  const delays: Running['delays'] = new Map();
  const upkeep: RegistryUpkeep = makeRegistryUpkeep({
    shell: harness.home,
    settings,
    registry: where,
    upkeep: where.upkeep,
    client: registry,
    namespace: 'davit-system',
    queue: { add: (key) => void keys.add(key) },
    now: () => new Date(harness.clock.ms + passed),
    elapsed: () => passed,
  });
  upkeep.wake();
  async function settle(): Promise<void> {
    await harness.reconcile('team/none');
    const again: string[] = [];
    for (const key of keys) {
      keys.delete(key);
      // oxlint-disable-next-line no-await-in-loop -- one worker
      const { requeueAfterMs } = await upkeep.reconcile(key, new AbortController().signal, pino({ level: 'silent' }));
      delays.set(key, [...(delays.get(key) ?? []), requeueAfterMs]);
      if (key !== '' && requeueAfterMs !== undefined) again.push(key);
    }
    for (const key of again) keys.add(key);
  }
  return { harness, upkeep, keys, delays, settle, look: () => (keys.add(''), settle()) };
}

describe('an image that is named', () => {
  it('has a tag at once, and outlives a tag that is pushed again', async () => {
    const running = await start();
    registry.push(repository, 'latest', digest(1));
    addRevision(1);
    await running.settle();
    expect(registry.tagsOf(repository)).toEqual(['latest', keepTag(digest(1))]);
    registry.push(repository, 'latest', digest(2));
    registry.collectGarbage();
    expect(registry.has(repository, digest(1))).toBe(true);
  });

  it('by a sidecar alone has one, also where the deployment that it is of is gone', async () => {
    const running = await start();
    registry.push(repository, 'latest', digest(1));
    addRevision(1);
    const other = repository.replace(/shop$/, 'proxy');
    registry.push(other, 'latest', digest(2));
    const [revision] = kube.objects<AppRevision>(APP_REVISIONS);
    if (revision === undefined) throw new Error('There is no revision.');
    const { requested } = revision.spec;
    const sidecars = [{ name: 'proxy', image: `${HOST}/${other}@${digest(2)}` }];
    const resourceSpec = { ...requested.resourceSpec, sidecars };
    kube.seed<AppRevision>(APP_REVISIONS, {
      ...revision,
      spec: { ...revision.spec, requested: { ...requested, resourceSpec } },
    });
    await running.settle();
    await running.look();
    registry.collectGarbage();
    expect([registry.tagsOf(other).includes(keepTag(digest(2))), registry.has(other, digest(2))]).toEqual([true, true]);
    // Each repository is asked for its own images alone.
    expect(registry.asks).not.toContain(`tag ${repository} ${keepTag(digest(2))}`);
  });

  it('has it although the registry did not answer at first', async () => {
    const running = await start();
    registry.push(repository, 'latest', digest(1));
    addRevision(1);
    registry.left = 0;
    await running.settle();
    expect(running.keys).toContain(repository);
    registry.left = Infinity;
    await running.settle();
    expect(registry.tagsOf(repository)).toContain(keepTag(digest(1)));
    expect([...running.keys]).toEqual([]);
  });

  it('has it also where only the record names it so far', async () => {
    const running = await start();
    registry.push(repository, 'latest', digest(1));
    const { spec, metadata } = record(kube);
    kube.seed(APP_DEPLOYMENTS, {
      ...record(kube),
      metadata,
      spec: { ...spec, sourceRevisionConfig: { imageUri: image(1) } },
    } as KubeObject);
    await running.settle();
    expect(registry.tagsOf(repository)).toContain(keepTag(digest(1)));
  });

  it('is asked about once, however often its revision changes, and after a restart by one list', async () => {
    const running = await start();
    registry.push(repository, 'latest', digest(1));
    addRevision(1);
    await running.settle();
    registry.asks.length = 0;
    for (const state of ['DEPLOYING', 'DEPLOYED'] as const) addRevision(1, { state });
    await running.settle();
    expect(registry.asks).toEqual([]);
    await (await start()).settle();
    expect(registry.asks.filter((ask) => !/^(tags|blob) /.test(ask))).toEqual(['repositories']);
  });

  it('of another registry is not asked about', async () => {
    const running = await start();
    const made = aRevision(record(kube));
    kube.seed(APP_REVISIONS, {
      ...made,
      spec: { ...made.spec, resolved: { ...made.spec.resolved, image: `other.example/${repository}@${digest(1)}` } },
    } as KubeObject);
    await running.settle();
    expect(registry.asks).toEqual(['repositories']);
  });
});

describe('a record that names what the registry cannot tag', () => {
  const name = (imageUri: string): void => {
    const { spec, metadata } = record(kube);
    kube.seed(APP_DEPLOYMENTS, {
      ...record(kube),
      metadata,
      spec: { ...spec, sourceRevisionConfig: { imageUri } },
    } as KubeObject);
  };
  const failed = (path: string, why: 'unreachable' | 'malformed' = 'unreachable'): void =>
    void registry.failing.set(path, new RegistryFailed(why, 'The registry failed: it answered 500. Try again later.'));
  const pods = (): number => kube.objects(PODS).length;
  beforeEach(() => {
    const metadata = { name: 'davit-registry-0', namespace: 'davit-system' };
    // A week before the hour of the tests.
    const status = { startTime: '2026-01-26T03:10:00Z' };
    kube.seed(PODS, { apiVersion: 'v1', kind: 'Pod', metadata, status } as KubeObject);
  });
  const inItsHour = HOUR + 120_000;

  it.each(['a'.repeat(300), 'team-ffffffff/shop', 'base/python'])('is not followed to %s', async (path) => {
    failed(path);
    const running = await start();
    name(`${HOST}/${path}@${digest(1)}`);
    await running.settle();
    expect(registry.asks.filter((ask) => ask.startsWith('tag '))).toEqual([]);
    expect([...running.keys]).toEqual([]);
    passed = inItsHour;
    await running.look();
    await running.look();
    expect(pods()).toBe(0);
  });

  it.each(['unreachable', 'malformed'] as const)(
    'has it tried with a growing delay (%s), and the collection soon waits no longer',
    async (why) => {
      const running = await start();
      registry.push(repository, 'latest', digest(1));
      registry.push(repository, 'other', digest(2));
      failed(keepTag(digest(1)), why);
      addRevision(1);
      addRevision(2);
      for (let tries = 0; tries < 12; tries += 1) {
        /* oxlint-disable no-await-in-loop -- one try after the other */
        await running.settle();
        passed += running.delays.get(repository)?.at(-1) ?? 0;
        running.keys.add(repository);
        /* oxlint-enable no-await-in-loop */
      }
      // What is set aside is no longer waited for, and still fails.
      expect(running.upkeep.backlog()).toEqual({ waiting: 0, failing: 1, unneeded: 0 });
      const delays = (running.delays.get(repository) ?? []).map((ms) => (ms ?? 0) / 1000);
      expect(delays.slice(0, 10)).toEqual([15, 30, 60, 120, 240, 480, 960, 1920, 3600, 3600]);
      // The other image of the repository has its tag, and a failing one does not stop the collection.
      expect(registry.tagsOf(repository)).toContain(keepTag(digest(2)));
      passed = 7 * DAY + inItsHour;
      running.keys.delete(repository);
      await running.look();
      expect(pods()).toBe(0);
    },
  );

  it('has it forgotten as soon as nothing names it', async () => {
    const running = await start();
    failed(repository);
    addRevision(1);
    await running.settle();
    expect([...running.keys]).toEqual([repository]);
    expect(running.upkeep.backlog()).toEqual({ waiting: 1, failing: 1, unneeded: 0 });
    dropRevision(1);
    passed = inItsHour;
    running.keys.clear();
    await running.look();
    await running.look();
    expect(pods()).toBe(0);
    expect(running.upkeep.backlog()).toEqual({ waiting: 0, failing: 1, unneeded: 0 });
    running.keys.add(repository);
    await running.settle();
    expect([...running.keys]).toEqual([]);
    expect(running.upkeep.backlog()).toEqual({ waiting: 0, failing: 0, unneeded: 0 });
  });

  it('is not tried earlier because the record changes', async () => {
    const running = await start();
    failed(repository);
    addRevision(1);
    await running.settle();
    running.keys.clear();
    addRevision(1, { state: 'DEPLOYING' });
    await running.settle();
    expect(running.delays.get(repository)).toHaveLength(1);
  });

  it('holds the collection up while the registry as a whole does not answer', async () => {
    const running = await start();
    registry.push(repository, 'latest', digest(1));
    await running.look();
    addRevision(1);
    registry.left = 0;
    for (let tries = 0; tries < 12; tries += 1) {
      // oxlint-disable-next-line no-await-in-loop -- one try after the other
      await running.settle();
      passed += running.delays.get(repository)?.at(-1) ?? 0;
      running.keys.add(repository);
    }
    expect(running.delays.get(repository)?.at(-1)).toBe(120_000);
    registry.left = Infinity;
    running.keys.clear();
    passed = inItsHour;
    await running.look();
    expect(pods()).toBe(1);
  });

  describe('where always new ones come', () => {
    /** A revision whose image the registry refuses to tag. It was tried once, as any other is within seconds. */
    async function refusedOnce(running: Running, n: number): Promise<void> {
      registry.push(repository, `v${n}`, digest(n));
      failed(keepTag(digest(n)), 'malformed');
      addRevision(n);
      await running.settle();
    }
    /** The repository fails no more: what nothing names any longer is no failure. Its count begins again. */
    async function forgotten(running: Running, n: number): Promise<void> {
      dropRevision(n);
      running.keys.add(repository);
      await running.settle();
    }
    const swept = async (running: Running): Promise<void> => {
      await running.look();
      await running.look();
      running.keys.clear();
    };

    it('is waited for on time, and not a day later: it has failed once', async () => {
      const running = await start();
      await swept(running);
      passed = inItsHour;
      await refusedOnce(running, 1);
      await running.look();
      expect(pods()).toBe(1);
      await forgotten(running, 1);
      expect(running.upkeep.backlog()).toMatchObject({ waiting: 0, failing: 0 });
      passed += DAY;
      // All is swept again, which has its time.
      await swept(running);
      await refusedOnce(running, 2);
      await running.look();
      expect(pods()).toBe(0);
    });

    /** So many days late, all swept an hour ago. Two images are named, and the look comes before their repository's turn. */
    async function beforeItsTurn(running: Running, days: number): Promise<void> {
      passed = days * DAY;
      await swept(running);
      registry.push(repository, 'good', digest(1));
      registry.push(repository, 'refused', digest(2));
      failed(keepTag(digest(2)), 'malformed');
      addRevision(2);
      addRevision(1);
      await running.harness.reconcile('team/none');
      running.keys.clear();
      passed += inItsHour;
    }

    it('is waited for a day later, if it was not tried', async () => {
      const running = await start();
      await beforeItsTurn(running, 1);
      await running.look();
      expect(pods()).toBe(1);
    });

    it('is tried once two days later, with all others, and then nothing waits', async () => {
      const running = await start();
      await beforeItsTurn(running, 2);
      await running.look();
      expect(pods()).toBe(0);
      expect(registry.tagsOf(repository)).toContain(keepTag(digest(1)));
    });

    it('is waited for however late, while the registry does not answer', async () => {
      const running = await start();
      await beforeItsTurn(running, 9);
      registry.left = 0;
      await running.look();
      expect(pods()).toBe(1);
      registry.left = Infinity;
      await running.look();
      expect(pods()).toBe(0);
    });
  });
});

describe('a tag of Davit that nothing needs', () => {
  async function unneeded(running: Running): Promise<void> {
    registry.push(repository, 'latest', digest(1));
    addRevision(1);
    registry.push(repository, `revision-${revisionId(1)}`, digest(1));
    registry.push(repository, `log-${revisionId(1)}`, digest(9));
    await running.settle();
    dropRevision(1);
  }

  it('goes after a day, and what people pushed stays', async () => {
    const running = await start();
    await unneeded(running);
    passed += 7 * HOUR;
    await running.look();
    expect(registry.tagsOf(repository)).toHaveLength(4);
    passed += DAY;
    await running.look();
    expect(registry.tagsOf(repository)).toEqual(['latest']);
  });

  it('goes after a day although the controller restarts every six hours', async () => {
    kube.seed(CONFIG_MAPS, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'davit-registry-upkeep', namespace: 'davit-system' },
    } as KubeObject);
    let running = await start();
    await unneeded(running);
    for (let days = 0; days < 2; days += 0.25) {
      /* oxlint-disable no-await-in-loop -- one life after the other */
      await running.look();
      passed += 600_000;
      await running.look();
      passed += 6 * HOUR - 600_000;
      running.harness.stop();
      running = await start();
      /* oxlint-enable no-await-in-loop */
      if (days === 0.5) expect(registry.tagsOf(repository)).toHaveLength(4);
    }
    expect(registry.tagsOf(repository)).toEqual(['latest']);
    // At rest nothing is written.
    running.harness.writes();
    await running.look();
    await running.look();
    expect(running.harness.writes()).toEqual([]);
  });

  it('stays if it is needed again within the day', async () => {
    const running = await start();
    await unneeded(running);
    passed += 7 * HOUR;
    await running.look();
    addRevision(1);
    passed += 7 * HOUR;
    await running.look();
    dropRevision(1);
    passed += DAY - HOUR;
    await running.look();
    expect(registry.tagsOf(repository)).toHaveLength(4);
  });

  it('is put back if it is needed just when it goes', async () => {
    const running = await start();
    await unneeded(running);
    passed += 7 * HOUR;
    await running.look();
    passed += DAY;
    const remove = registry.deleteTag;
    registry.deleteTag = async (of, tag) => {
      await remove(of, tag);
      if (tag !== keepTag(digest(1))) return;
      addRevision(1);
      await running.harness.reconcile('team/none');
    };
    await running.look();
    await running.settle();
    expect(registry.tagsOf(repository)).toContain(keepTag(digest(1)));
  });

  it.each<[string, Settings]>([
    ['Davit is paused', { ...SETTINGS, paused: true }],
    [
      'garbage is kept',
      Settings.parse({
        ...SETTINGS,
        builds: { ...SETTINGS.builds, registry: { ...SETTINGS.builds.registry, upkeep: { enabled: false } } },
      }),
    ],
  ])('stays while %s, and images are tagged all the same', async (_why, settings) => {
    const running = await start(settings);
    await unneeded(running);
    passed += 7 * HOUR;
    await running.look();
    passed += 2 * DAY;
    await running.look();
    expect(registry.tagsOf(repository)).toHaveLength(4);
  });
});

describe('a repository', () => {
  it('of a deployment that is gone loses all its tags after a day', async () => {
    const running = await start();
    registry.push(repository, 'latest', digest(1));
    registry.push('team-00000000/shop', 'latest', digest(1));
    kube.erase(APP_DEPLOYMENTS, { namespace: 'team', name: 'shop' });
    await running.look();
    passed += DAY;
    await running.look();
    expect([...registry.byTag.values()].flatMap((tags) => [...tags.keys()])).toEqual([]);
  });

  it('that is no deployment’s, or is of a namespace that this Davit does not serve, is left alone', async () => {
    const running = await start({ ...SETTINGS, namespaces: ['other'] });
    const repositories = ['base/python', 'tools', repository];
    for (const name of repositories) registry.push(name, 'cache', digest(1));
    kube.erase(APP_DEPLOYMENTS, { namespace: 'team', name: 'shop' });
    await running.look();
    passed += 2 * DAY;
    await running.look();
    expect(repositories.map((name) => registry.tagsOf(name))).toEqual([['cache'], ['cache'], ['cache']]);
  });
});

describe('a repository with too many tags', () => {
  const few = (maxTags = 50): Settings =>
    Settings.parse({
      ...SETTINGS,
      builds: { ...SETTINGS.builds, registry: { ...SETTINGS.builds.registry, upkeep: { maxTags } } },
    });
  const pushMany = (count: number, of = (index: number) => digest(1000 + index)): void => {
    for (let index = 0; index < count; index += 1) registry.push(repository, `v${index}`, of(index));
  };
  const deletions = (): string[] => registry.asks.filter((ask) => ask.startsWith('delete '));
  beforeEach(() => {
    kube.seed(CONFIG_MAPS, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'davit-registry-upkeep', namespace: 'davit-system' },
    } as KubeObject);
  });

  it('is cut to its bound a day later, and what a revision runs stays', async () => {
    const running = await start(few());
    pushMany(60);
    addRevision(1003);
    await running.look();
    passed += 23 * HOUR;
    await running.look();
    expect(deletions()).toEqual([]);
    registry.push(repository, 'a-new-one', digest(7));
    passed += 7 * HOUR;
    await running.look();
    // keep-… is one of the tags.
    expect(deletions()).toEqual(Array.from({ length: 12 }, (_, index) => `delete v${index}`));
    expect(registry.tagsOf(repository)).toHaveLength(50);
    registry.collectGarbage();
    expect(registry.has(repository, digest(1003))).toBe(true);
    // At rest nothing is deleted, and nothing is written.
    await running.look();
    registry.asks.length = 0;
    running.harness.writes();
    passed += 2 * DAY;
    await running.look();
    await running.look();
    expect([deletions(), running.harness.writes()]).toEqual([[], []]);
  });

  it('knows the oldest after a restart', async () => {
    const first = await start(few());
    registry.push(repository, 'zebra', digest(7));
    pushMany(29);
    await first.look();
    await first.look();
    first.harness.stop();
    passed += 30 * HOUR;
    const second = await start(few());
    for (let index = 0; index < 30; index += 1) registry.push(repository, `a${index}`, digest(index));
    await second.look();
    expect(deletions()).toEqual(Array.from({ length: 10 }, (_, index) => `delete v${index}`));
  });

  it('far more of them is cut in passes, between which other repositories have their turn', async () => {
    const running = await start(few());
    pushMany(1700);
    await running.look();
    expect(deletions()).toHaveLength(500);
    expect(running.delays.get(repository)).toEqual([1000]);
    expect(running.upkeep.backlog()).toMatchObject({ waiting: 1 });
    for (let passes = 0; passes < 10 && running.keys.size > 0; passes += 1)
      // oxlint-disable-next-line no-await-in-loop -- one pass after the other
      await running.settle();
    expect(registry.tagsOf(repository)).toHaveLength(50);
    expect(running.upkeep.backlog()).toMatchObject({ waiting: 0 });
    expect([...running.keys]).toEqual([]);
  });

  it('is cut although an image of it cannot be tagged, and keeps one tag of that', async () => {
    const running = await start(few());
    pushMany(120, (index) => digest(index % 2 === 0 ? 1 : 2));
    addRevision(1);
    registry.failing.set(keepTag(digest(1)), new RegistryFailed('tooLarge', 'The manifest of the image is too large.'));
    await running.look();
    expect(registry.tagsOf(repository).length).toBeLessThan(60);
    registry.collectGarbage();
    expect(registry.has(repository, digest(1))).toBe(true);
  });

  it.each([{ paused: true }, { enabled: false }])(
    'is left as it is: %o',
    async ({ paused = false, enabled = true }) => {
      const settings = few();
      const { builds } = settings;
      const upkeep = { ...builds.registry?.upkeep, enabled };
      const running = await start(
        Settings.parse({ ...settings, paused, builds: { ...builds, registry: { ...builds.registry, upkeep } } }),
      );
      pushMany(120);
      await running.look();
      expect(deletions()).toEqual([]);
    },
  );
});

describe('a repository without a blob, at which a collection on a volume fails,', () => {
  it('gets one, also if it is no deployment’s, and is asked about once', async () => {
    const running = await start();
    const names = ['base/python', repository];
    for (const name of names) registry.push(name, 'latest', digest(1));
    await running.look();
    expect([...registry.withBlob]).toEqual(names);
    registry.asks.length = 0;
    passed += 7 * HOUR;
    await running.look();
    expect(registry.asks.filter((ask) => ask.startsWith('blob'))).toEqual([]);
  });

  it('is left as it is while Davit is paused', async () => {
    const running = await start({ ...SETTINGS, paused: true });
    registry.push(repository, 'latest', digest(1));
    await running.look();
    expect(registry.withBlob.size).toBe(0);
  });
});

describe("the registry's pod", () => {
  const pods = (): string[] => kube.objects(PODS).map(({ metadata }) => metadata.name);
  beforeEach(() => {
    kube.seed(PODS, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'davit-registry-0', namespace: 'davit-system' },
      status: { startTime: '2026-01-01T03:10:00Z' },
    } as KubeObject);
  });
  // The clock stands at 02:02 on 2 February.
  const inItsHour = HOUR + 120_000;

  it('is replaced in its hour once it is a week old', async () => {
    const running = await start();
    await running.look();
    expect(pods()).toEqual(['davit-registry-0']);
    passed = inItsHour;
    await running.look();
    expect(pods()).toEqual([]);
  });

  describe('where the chart has the ConfigMap of collections', () => {
    const configMap = { namespace: 'davit-system', name: 'davit-registry-collection' };
    const stored = (): Record<string, string> =>
      (
        kube.objects(CONFIG_MAPS).find(({ metadata }) => metadata.name === configMap.name) as {
          data?: Record<string, string>;
        }
      ).data ?? {};
    const state = (): object => JSON.parse(stored()['state'] ?? '{}') as object;
    const collecting = async (running: Running, status: object, uid = 'new'): Promise<CollectionLook> => {
      if (pods().length > 0) kube.erase(PODS, { namespace: 'davit-system', name: 'davit-registry-0' });
      const metadata = { name: 'davit-registry-0', namespace: 'davit-system', uid };
      const initContainerStatuses = [{ name: 'collect-garbage', restartCount: 0, ...status }];
      kube.seed(PODS, {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata,
        status: { startTime: '2026-02-02T03:02:00Z', initContainerStatuses },
      } as KubeObject);
      return running.upkeep.collections.look(new AbortController().signal);
    };
    const begin = (
      annotations: Record<string, string> = {},
      creationTimestamp = '2026-01-01T03:10:00Z',
    ): Promise<Running> => {
      kube.seed(CONFIG_MAPS, {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { ...configMap, creationTimestamp, annotations },
      } as KubeObject);
      return start();
    };

    it('is replaced by one that collects, once, and at rest nothing is written', async () => {
      const running = await begin();
      await running.look();
      expect(stored()).toEqual({});
      passed = inItsHour;
      await running.look();
      expect(pods()).toEqual([]);
      expect(stored()[ARGUMENT]).toBe(COLLECT);
      expect(state()).toMatchObject({ phase: 'armed' });
      expect(await collecting(running, { state: { running: { startedAt: '2026-02-02T03:02:10Z' } } })).toEqual({
        isArmed: true,
        isRequested: false,
      });
      // It is not replaced again meanwhile.
      await running.look();
      expect(pods()).toEqual(['davit-registry-0']);
      const { ended } = await collecting(running, { state: { terminated: { exitCode: 0 } } });
      expect(ended).toMatchObject({ ending: 'succeeded' });
      expect(stored()[ARGUMENT]).toBe('--help');
      running.harness.writes();
      await running.look();
      await running.upkeep.collections.look(new AbortController().signal);
      expect(running.harness.writes()).toEqual([]);
      expect(await running.upkeep.collection(new AbortController().signal)).toMatchObject({ state: 'succeeded' });
      // A pod that is young for another reason delays nothing.
      passed += 7 * DAY;
      await running.look();
      expect(pods()).toEqual([]);
    });

    it('that collects longer than its limit is replaced by one that does not', async () => {
      const running = await begin();
      passed = inItsHour;
      await running.look();
      passed += 31 * 60_000;
      const { ended } = await collecting(running, { state: { running: { startedAt: '2026-02-02T03:02:10Z' } } });
      expect(ended).toMatchObject({ ending: 'timedOut' });
      expect(stored()[ARGUMENT]).toBe('--help');
      expect(pods()).toEqual([]);
    });

    it('collects again a day after it failed', async () => {
      const running = await begin();
      passed = inItsHour;
      await running.look();
      await collecting(running, {
        restartCount: 2,
        state: {},
        lastState: { terminated: { exitCode: 1, message: 'odd' } },
      });
      expect(state()).toMatchObject({ ending: 'failed', reason: 'odd' });
      await running.look();
      expect(pods()).toEqual(['davit-registry-0']);
      passed += DAY;
      await running.look();
      expect(pods()).toEqual([]);
    });

    it('is replaced at any hour if somebody asks for it, and once', async () => {
      const running = await begin({ 'davit.dev/collect': 'now' }, '2026-02-02T01:00:00Z');
      const { isRequested } = await running.upkeep.collections.look(new AbortController().signal);
      expect(isRequested).toBe(true);
      await running.look();
      expect(pods()).toEqual([]);
      expect(stored()[ARGUMENT]).toBe(COLLECT);
      expect(await collecting(running, { state: { terminated: { exitCode: 0 } } })).toMatchObject({
        isRequested: false,
      });
      await running.look();
      expect(pods()).toEqual(['davit-registry-0']);
    });
  });

  it('is not, while an image that is named has no tag', async () => {
    const running = await start();
    registry.push(repository, 'latest', digest(1));
    addRevision(1);
    passed = inItsHour;
    registry.left = 1;
    await running.look();
    await running.look();
    expect(pods()).toEqual(['davit-registry-0']);
    registry.left = Infinity;
    running.keys.add(repository);
    await running.settle();
    await running.look();
    expect(pods()).toEqual([]);
  });

  it.each([
    ['while a build runs', (): void => addRevision(1, { build: { phase: 'Building' } })],
    [
      'that is young',
      (): void =>
        void kube.seed(PODS, {
          ...kube.objects(PODS)[0],
          status: { startTime: '2026-02-01T03:00:00Z' },
        } as unknown as KubeObject),
    ],
  ])('is not, %s', async (_what, prepare) => {
    kube.seed(PODS, {
      ...kube.objects(PODS)[0],
      status: { startTime: '2026-01-26T03:10:00Z' },
    } as unknown as KubeObject);
    prepare();
    const running = await start();
    registry.push(repository, 'latest', digest(1));
    passed = inItsHour;
    await running.look();
    await running.look();
    expect(pods()).toEqual(['davit-registry-0']);
  });
});

type Step = readonly [what: 'push' | 'name' | 'drop' | 'time' | 'crash' | 'collect' | 'work', which: number];

it('no order of pushes, revisions, crashes and collections loses an image that is named', async () => {
  const step: fc.Arbitrary<Step> = fc.tuple(
    fc.constantFrom('push', 'name', 'name', 'drop', 'time', 'crash', 'collect', 'work', 'work'),
    fc.integer({ min: 0, max: 5 }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40 }), async (steps) => {
      kube = aServer();
      putRecord(kube);
      repository = `team-${kube.objects(NAMESPACES)[0]?.metadata.uid?.slice(0, 8)}/shop`;
      registry = new Registry();
      passed = 0;
      const named = new Set<number>();
      let running = await start();
      for (const [what, n] of steps) {
        /* oxlint-disable no-await-in-loop -- one step after the other */
        if (what === 'push') registry.push(repository, 'latest', digest(n));
        else if (what === 'name' && registry.has(repository, digest(n)) && !named.has(n)) {
          // As the HTTP API does before it writes the record.
          registry.push(repository, keepTag(digest(n)), digest(n));
          addRevision(n);
          named.add(n);
        } else if (what === 'drop' && named.delete(n)) dropRevision(n);
        else if (what === 'time') passed += 9 * HOUR;
        else if (what === 'work') await running.look();
        else if (what === 'crash') {
          registry.left = n;
          await running.look();
          registry.left = Infinity;
          running.harness.stop();
          running = await start();
        } else if (what === 'collect') registry.collectGarbage();
        const lost = [...named].filter((one) => !registry.has(repository, digest(one)));
        expect(lost).toEqual([]);
        /* oxlint-enable no-await-in-loop */
      }
    }),
    { numRuns: 60 },
  );
});
