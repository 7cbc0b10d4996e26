// Upkeep of the registry on the in-memory API server, with a registry that collects garbage as CNCF Distribution does: it deletes
// manifests without a tag when its pod was replaced by one that collects. A crash is a request that fails, and then another controller.

import fc from 'fast-check';
import { pino } from 'pino';
import { beforeEach, describe, expect, it } from 'vitest';
import type { RegistryClient } from '../../../src/build/registry/client.ts';
import { ARGUMENT, COLLECT } from '../../../src/build/registry/collection.ts';
import type { OwnRegistry } from '../../../src/build/registry/metrics.ts';
import { makeRegistryUpkeep } from '../../../src/build/registry/upkeep.ts';
import { keepTag } from '../../../src/deploy/record/registry-names.ts';
import { APP_DEPLOYMENTS } from '../../../src/kinds/app-deployment.ts';
import { APP_REVISIONS, type AppRevision } from '../../../src/kinds/app-revision.ts';
import { Settings } from '../../../src/kinds/settings.ts';
import { RegistryFailed } from '../../../src/runtime/errors.ts';
import { CONFIG_MAPS, NAMESPACES, PODS } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
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
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
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

  /** Runs before each request. */
  before: ((what: string) => void) | undefined;

  #ask(what: string): void {
    this.before?.(what);
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
    this.#ask(`digest ${repository} ${reference}`);
    return this.byTag.get(repository)?.get(reference);
  };
  deleteTag = async (repository: string, tag: string): Promise<void> => {
    this.#ask(`delete ${tag}`);
    this.byTag.get(repository)?.delete(tag);
  };
}

interface Running {
  readonly harness: MemoryController;
  readonly shown: () => OwnRegistry;
  /** What was logged. */
  readonly lines: string[];
  /** Looks once, three minutes later: what the controller waits for has passed. */
  look(): Promise<void>;
}

let kube: FakeKube;
let registry: Registry;
let repository: string;
/** Milliseconds that have passed since 02:02 on 2 February 2026. */
let passed: number;

const SYSTEM = { namespace: 'davit-system' } as const;
const POD = { ...SYSTEM, name: 'davit-registry-0' };
const COLLECTION = { ...SYSTEM, name: 'davit-registry-collection' };
const UPKEEP = { ...SYSTEM, name: 'davit-registry-upkeep' };
/** The hour of collections begins, less the time of a look. */
const TO_ITS_HOUR = HOUR;
const LONG_AGO = '2026-01-01T03:10:00Z';

function begin(): void {
  kube = aServer();
  registry = new Registry();
  passed = 0;
  repository = `team-${kube.objects(NAMESPACES)[0]?.metadata.uid?.slice(0, 8)}/shop`;
  putRecord(kube);
  putPod({}, '2026-02-01T03:10:00Z');
  putConfigMap(UPKEEP);
  putConfigMap(COLLECTION, { creationTimestamp: LONG_AGO });
}
beforeEach(begin);

const image = (n: number, of = repository): string => `${HOST}/${of}@${digest(n)}`;
const isPodThere = (): boolean => kube.objects(PODS).some(({ metadata }) => metadata.name === POD.name);
const dataOf = ({ name }: { readonly name: string }): Record<string, string> =>
  (kube.objects(CONFIG_MAPS).find(({ metadata }) => metadata.name === name) as { data?: Record<string, string> })
    .data ?? {};
const state = (): object => JSON.parse(dataOf(COLLECTION)['state'] ?? '{}') as object;
const deletions = (): string[] => registry.asks.filter((ask) => ask.startsWith('delete '));

function putPod(collect: object, startTime = '2026-02-02T03:02:00Z', uid = 'old'): void {
  if (isPodThere()) kube.erase(PODS, POD);
  const initContainerStatuses = [{ name: 'collect-garbage', restartCount: 0, ...collect }];
  const status = { startTime, initContainerStatuses };
  kube.seed(PODS, { apiVersion: 'v1', kind: 'Pod', metadata: { ...POD, uid }, status } as KubeObject);
}
function putConfigMap(ref: typeof COLLECTION, metadata: object = {}): void {
  const before = kube.objects(CONFIG_MAPS).find((one) => one.metadata.name === ref.name);
  if (before) kube.erase(CONFIG_MAPS, ref);
  kube.seed(CONFIG_MAPS, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    ...before,
    metadata: { ...ref, ...before?.metadata, ...metadata },
  } as KubeObject);
}
/** Somebody asks for a collection. */
const request = (): void => putConfigMap(COLLECTION, { annotations: { 'davit.dev/collect': 'now' } });
/** If the pod was replaced by one that collects, it collects. Returns whether it was. */
async function collected({ look }: Running): Promise<boolean> {
  if (isPodThere()) return false;
  if (dataOf(COLLECTION)[ARGUMENT] !== COLLECT) {
    // It reads its keys again.
    putPod({}, new Date(Date.parse('2026-02-02T02:02:02Z') + passed).toISOString(), `pod-${passed}`);
    return false;
  }
  registry.collectGarbage();
  putPod({ state: { terminated: { exitCode: 0 } } }, '2026-02-02T03:02:00Z', `pod-${passed}`);
  await look();
  expect(state()).toMatchObject({ phase: 'succeeded' });
  return true;
}

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
function setSource(sourceRevisionConfig: object): void {
  const { spec } = record(kube);
  kube.seed(APP_DEPLOYMENTS, { ...record(kube), spec: { ...spec, sourceRevisionConfig } } as KubeObject);
}

const withUpkeep = (upkeep: object, more: object = {}): Settings =>
  Settings.parse({
    ...SETTINGS,
    ...more,
    builds: { ...SETTINGS.builds, registry: { ...SETTINGS.builds.registry, upkeep } },
  });

async function start(settings = SETTINGS): Promise<Running> {
  const harness = await aController(kube, settings);
  const { registry: where } = settings.builds;
  if (where?.upkeep === undefined) throw new Error('the settings have no upkeep');
  const lines: string[] = [];
  const upkeep = makeRegistryUpkeep({
    shell: harness.home,
    settings,
    registry: where,
    upkeep: where.upkeep,
    client: registry,
    ...SYSTEM,
    log: pino(
      { level: 'info' },
      { write: (line: string) => void lines.push((JSON.parse(line) as { msg: string }).msg) },
    ),
    now: () => new Date(harness.clock.ms + passed),
    elapsed: () => passed,
  });
  return {
    harness,
    shown: upkeep.shown,
    lines,
    async look() {
      passed += 3 * MINUTE;
      await harness.reconcile('team/none');
      await upkeep.look(new AbortController().signal);
    },
  };
}
/** Sweeps, and then looks whether a collection is due. */
async function lookTwice({ look }: Running): Promise<void> {
  await look();
  await look();
}

describe("the registry's pod, which reads its keys when it starts,", () => {
  /** Whether it is replaced in the hour of collections so many days after its start, or so many hours later. */
  async function isReplaced(running: Running, days: number, hours = 0): Promise<boolean> {
    passed = days * DAY + TO_ITS_HOUR + hours * HOUR;
    await lookTwice(running);
    return !isPodThere();
  }
  beforeEach(() => {
    putPod({});
    putConfigMap(COLLECTION, { creationTimestamp: '2026-02-02T02:02:00Z' });
  });

  it('is replaced before a key signs that it has not read, however seldom garbage is collected', async () => {
    const running = await start(withUpkeep({ everyDays: 30 }));
    expect([await isReplaced(running, 6), await isReplaced(running, 7)]).toEqual([false, true]);
    expect(dataOf(COLLECTION)[ARGUMENT]).not.toBe(COLLECT);
    expect(running.lines).not.toContain("Replaced the registry's pod to collect garbage");
  });

  it('is replaced also where the registry does not answer', async () => {
    const running = await start();
    registry.left = 0;
    expect(await isReplaced(running, 7)).toBe(true);
  });

  it('is replaced a little before that while builds run all the time', async () => {
    addRevision(1, { build: { phase: 'Building' } } as never);
    const running = await start(withUpkeep({ everyDays: 30 }));
    expect([await isReplaced(running, 7), await isReplaced(running, 7, 23)]).toEqual([false, true]);
  });
});

describe('an image that is named', () => {
  async function outlives(n: number, of = repository): Promise<void> {
    const running = await start();
    registry.push(of, 'latest', digest(n));
    registry.push(of, 'latest', digest(99));
    registry.push(of, 'latest', digest(98));
    passed = TO_ITS_HOUR;
    await lookTwice(running);
    expect(await collected(running)).toBe(true);
    expect([registry.has(of, digest(n)), registry.has(of, digest(99))]).toEqual([true, false]);
  }

  it('by a revision outlives a tag that is pushed again', async () => {
    addRevision(1);
    await outlives(1);
  });

  it('by a record alone does so', async () => {
    setSource({ imageUri: image(1) });
    await outlives(1);
  });

  it('by a sidecar alone does so, also where the deployment that it is of is gone', async () => {
    const other = repository.replace(/shop$/, 'proxy');
    addRevision(1);
    const [revision] = kube.objects<AppRevision>(APP_REVISIONS) as [AppRevision];
    const { requested } = revision.spec;
    const resourceSpec = { ...requested.resourceSpec, sidecars: [{ name: 'proxy', image: image(2, other) }] };
    kube.seed<AppRevision>(APP_REVISIONS, {
      ...revision,
      spec: { ...revision.spec, requested: { ...requested, resourceSpec } },
    });
    await outlives(2, other);
    // Each repository is asked for its own images alone.
    expect(registry.asks).not.toContain(`tag ${repository} ${keepTag(digest(2))}`);
  });

  it('while all are tagged does so, also where the caches do not show it yet', async () => {
    addRevision(1);
    registry.push(repository, 'latest', digest(1));
    registry.push(repository, 'moved', digest(2));
    registry.push(repository, 'moved', digest(3));
    const running = await start();
    await running.look();
    passed = TO_ITS_HOUR;
    registry.before = (what) => {
      if (!what.startsWith('tags')) return;
      registry.before = undefined;
      addRevision(2);
    };
    await running.look();
    expect(await collected(running)).toBe(true);
    expect([1, 2, 3].map((n) => registry.has(repository, digest(n)))).toEqual([true, true, true]);
  });

  it.each([
    ['another registry', (): string => `other.example/${repository}`],
    ['a name that no registry takes', (): string => `${HOST}/${'a'.repeat(300)}`],
    ['another tenant', (): string => `${HOST}/team-ffffffff/shop`],
    ['the platform', (): string => `${HOST}/base/python`],
  ])('is not tagged where it is of %s', async (_whose, name) => {
    setSource({ imageUri: `${name()}@${digest(1)}` });
    const running = await start();
    passed = TO_ITS_HOUR;
    await lookTwice(running);
    expect(registry.asks.filter((ask) => ask.startsWith('tag'))).toEqual([]);
    expect(await collected(running)).toBe(true);
  });
});

describe('an image that the registry does not tag', () => {
  const refuse = (n: number, why: RegistryFailed['why'] = 'malformed'): void =>
    void registry.failing.set(keepTag(digest(n)), new RegistryFailed(why, 'The registry failed.'));
  /** In the hour of the collection, so many days after it was due, with a sweep before. */
  async function onDay(running: Running, days: number): Promise<boolean> {
    passed = days * DAY + TO_ITS_HOUR;
    await lookTwice(running);
    return collected(running);
  }
  /** A week before the collection of this night. */
  beforeEach(() => {
    putConfigMap(COLLECTION, { creationTimestamp: '2026-01-26T03:00:00Z' });
  });
  function name(n: number, tags: readonly string[]): void {
    for (const tag of tags) registry.push(repository, tag, digest(n));
    if (tags.length === 0) {
      registry.push(repository, 'moved', digest(n));
      registry.push(repository, 'moved', digest(50));
    }
    addRevision(n);
  }

  it.each(['malformed', 'tooLarge', 'unreachable'] as const)(
    'and that no tag names holds the collection up for a day, while the others are tagged (%s)',
    async (why) => {
      name(1, []);
      name(2, []);
      refuse(1, why);
      const running = await start();
      expect(await onDay(running, 0)).toBe(false);
      expect(running.lines).toContain('The registry failed, upkeep will try again');
      expect(registry.tagsOf(repository)).toContain(keepTag(digest(2)));
      expect(await onDay(running, 1)).toBe(true);
      expect(registry.has(repository, digest(2))).toBe(true);
    },
  );

  it('holds up a collection that somebody asks for, until another tag names it', async () => {
    name(1, []);
    refuse(1);
    const running = await start();
    request();
    await lookTwice(running);
    expect(await collected(running)).toBe(false);
    registry.push(repository, 'again', digest(1));
    await running.look();
    expect(await collected(running)).toBe(true);
    expect(registry.has(repository, digest(1))).toBe(true);
  });

  it.each(['full', 'readOnly'] as const)(
    'because the registry is %s holds it up however late, and if asked',
    async (why) => {
      name(1, []);
      refuse(1, why);
      const running = await start();
      for (const days of [0, 1, 9]) {
        expect(await onDay(running, days)).toBe(false);
      }
      request();
      await running.look();
      expect(await collected(running)).toBe(false);
      registry.failing.clear();
      await running.look();
      expect(await collected(running)).toBe(true);
      expect(registry.has(repository, digest(1))).toBe(true);
    },
  );

  it('holds nothing up where another tag names it, of which one then stays', async () => {
    name(1, ['v1', 'v2', 'v3']);
    for (let n = 0; n < 60; n += 1) registry.push(repository, `w${n}`, digest(100 + n));
    refuse(1, 'full');
    const running = await start(withUpkeep({ maxTags: 50 }));
    expect(await onDay(running, 0)).toBe(true);
    expect(await onDay(running, 7)).toBe(true);
    expect(registry.tagsOf(repository)).toHaveLength(50);
    expect(registry.tagsOf(repository).filter((tag) => tag.startsWith('v'))).toEqual(['v1']);
    for (let n = 60; n < 200; n += 1) registry.push(repository, `a${n}`, digest(100 + n));
    expect(await onDay(running, 14)).toBe(true);
    expect(registry.tagsOf(repository)).toHaveLength(50);
    expect(registry.has(repository, digest(1))).toBe(true);
  });

  it('holds nothing up when nothing names it any more', async () => {
    name(1, []);
    refuse(1);
    const running = await start();
    expect(await onDay(running, 0)).toBe(false);
    dropRevision(1);
    await running.look();
    expect(await collected(running)).toBe(true);
  });

  it('because the registry answers nothing holds it up however late, and nothing is deleted', async () => {
    name(1, []);
    const running = await start();
    await lookTwice(running);
    registry.left = 0;
    for (const days of [0, 1, 9]) {
      expect(await onDay(running, days)).toBe(false);
    }
    registry.left = Infinity;
    passed += 3 * MINUTE;
    expect(await onDay(running, 10)).toBe(true);
    expect(registry.has(repository, digest(1))).toBe(true);
  });

  it('because its repository cannot be listed holds it up for a day, and what is elsewhere goes', async () => {
    name(1, ['latest']);
    registry.failing.set(repository, new RegistryFailed('malformed', 'The registry answers nonsense.'));
    const gone = repository.replace(/shop$/, 'gone');
    registry.push(gone, 'latest', digest(7));
    const running = await start();
    expect(await onDay(running, 0)).toBe(false);
    expect(await onDay(running, 1)).toBe(true);
    expect([registry.has(gone, digest(7)), registry.has(repository, digest(1))]).toEqual([false, true]);
  });
});

describe('a tag of Davit that nothing needs', () => {
  const upload = `upload-${'1'.repeat(32)}`;
  function unneeded(): void {
    registry.push(repository, 'latest', digest(1));
    registry.push(repository, keepTag(digest(1)), digest(1));
    registry.push(repository, `revision-${revisionId(1)}`, digest(1));
    registry.push(repository, `log-${revisionId(1)}`, digest(9));
    registry.push(repository, upload, digest(8));
  }

  it('goes after a day, and what people pushed stays', async () => {
    const running = await start();
    unneeded();
    await running.look();
    expect(running.shown()).toMatchObject({ unneeded: 4 });
    passed += 20 * HOUR;
    await running.look();
    expect(registry.tagsOf(repository)).toHaveLength(5);
    passed += 4 * HOUR;
    await running.look();
    expect(registry.tagsOf(repository)).toEqual(['latest']);
    expect(running.shown()).toMatchObject({ unneeded: 0 });
  });

  it('goes after a day although the controller restarts every six hours', async () => {
    unneeded();
    for (let hours = 0; hours <= 24; hours += 6) {
      const running = await start();
      passed = hours * HOUR;
      await running.look();
      registry.push(repository, `log-${revisionId(100 + hours)}`, digest(9));
      running.harness.stop();
      expect(registry.tagsOf(repository).includes('revision-' + revisionId(1))).toBe(hours < 24);
    }
    // At rest nothing is written.
    const running = await start();
    passed = 3 * DAY;
    for (const _day of [1, 2, 3]) {
      await running.look();
      passed += DAY;
    }
    expect(registry.tagsOf(repository)).toEqual(['latest']);
    running.harness.writes();
    await running.look();
    expect(running.harness.writes()).toEqual([]);
  });

  it('goes a day later where a clock was wrong', async () => {
    unneeded();
    passed = 400 * DAY;
    const wrong = await start();
    await wrong.look();
    wrong.harness.stop();
    passed = 0;
    const running = await start();
    await running.look();
    expect(registry.tagsOf(repository)).toHaveLength(5);
    passed += DAY;
    await running.look();
    expect(registry.tagsOf(repository)).toEqual(['latest']);
  });

  it('stays where a record names it meanwhile, also while others go', async () => {
    const running = await start();
    unneeded();
    await running.look();
    passed += DAY;
    registry.before = (what) => {
      if (!what.startsWith('delete')) return;
      setSource({ sourceTarballPath: `uploads/${'1'.repeat(32)}` });
      running.harness.caches.records.overlay(record(kube));
    };
    await running.look();
    expect(registry.tagsOf(repository)).toEqual(['latest', upload]);
  });

  it.each<[string, Settings]>([
    ['Davit is paused', { ...SETTINGS, paused: true }],
    ['garbage is kept', withUpkeep({ enabled: false })],
  ])('stays while %s', async (_why, settings) => {
    const running = await start(settings);
    unneeded();
    registry.push('base/python', '3', digest(3));
    for (let days = 0; days < 4; days += 1) {
      await running.look();
      passed += DAY;
    }
    expect(registry.asks).toEqual([]);
  });
});

describe('a repository', () => {
  async function sweptTwice(settings?: Settings): Promise<Running> {
    const running = await start(settings);
    await running.look();
    passed += DAY;
    await running.look();
    return running;
  }

  it('of a deployment that is gone loses all its tags after a day', async () => {
    registry.push(repository, 'latest', digest(1));
    registry.push('team-00000000/shop', 'latest', digest(1));
    kube.erase(APP_DEPLOYMENTS, { namespace: 'team', name: 'shop' });
    await sweptTwice();
    expect([...registry.byTag.values()].flatMap((tags) => [...tags.keys()])).toEqual([]);
  });

  it('that is no deployment’s, or is of a namespace that this Davit does not serve, is left alone', async () => {
    const repositories = ['base/python', 'tools', repository];
    for (const name of repositories) registry.push(name, 'cache', digest(1));
    kube.erase(APP_DEPLOYMENTS, { namespace: 'team', name: 'shop' });
    await sweptTwice({ ...SETTINGS, namespaces: ['other'] });
    expect(repositories.map((name) => registry.tagsOf(name))).toEqual([['cache'], ['cache'], ['cache']]);
    // A collection on a volume fails at one without a blob.
    expect([...registry.withBlob]).toEqual(repositories);
  });

  it('with too many tags is cut to its bound a day later, the oldest first, also after a restart', async () => {
    const settings = withUpkeep({ maxTags: 50 });
    registry.push(repository, 'zebra', digest(7));
    for (let n = 0; n < 29; n += 1) registry.push(repository, `v${n}`, digest(1000 + n));
    addRevision(1003);
    const first = await start(settings);
    await first.look();
    first.harness.stop();
    for (let n = 0; n < 30; n += 1) registry.push(repository, `a${n}`, digest(n));
    const second = await start(settings);
    passed += 20 * HOUR;
    await second.look();
    expect(deletions()).toEqual([]);
    passed += 4 * HOUR;
    await second.look();
    // keep-… is one of the tags.
    expect(deletions()).toEqual(Array.from({ length: 11 }, (_, n) => `delete v${n}`));
    registry.collectGarbage();
    expect(registry.has(repository, digest(1003))).toBe(true);
    // At rest nothing is deleted, and nothing is written.
    passed += DAY;
    await second.look();
    registry.asks.length = 0;
    second.harness.writes();
    passed += 2 * DAY;
    await second.look();
    expect([deletions(), second.harness.writes()]).toEqual([[], []]);
  });

  it('that is full of tags is cut at once', async () => {
    for (let n = 0; n < 1700; n += 1) registry.push(repository, `v${n}`, digest(1000 + n));
    const running = await start(withUpkeep({ maxTags: 50 }));
    await running.look();
    expect(registry.tagsOf(repository)).toHaveLength(50);
    expect(running.lines).toContain('The repository has too many tags, deleting the oldest');
  });
});

describe("the registry's pod", () => {
  it('is replaced in its hour by one that collects, once, and at rest nothing is written', async () => {
    const running = await start();
    await lookTwice(running);
    expect(isPodThere()).toBe(true);
    passed = TO_ITS_HOUR;
    await running.look();
    expect(isPodThere()).toBe(false);
    expect(state()).toMatchObject({ phase: 'armed' });
    putPod({ state: { running: { startedAt: '2026-02-02T03:02:10Z' } } }, undefined, 'new');
    registry.asks.length = 0;
    await running.look();
    // It is not replaced again meanwhile, and the registry is not asked.
    expect([isPodThere(), registry.asks]).toEqual([true, []]);
    expect(running.shown()).toMatchObject({ collection: { state: 'running' } });
    putPod({ state: { terminated: { exitCode: 0 } } }, undefined, 'new');
    await running.look();
    expect(state()).toMatchObject({ phase: 'succeeded' });
    expect(dataOf(COLLECTION)[ARGUMENT]).toBe('--help');
    running.harness.writes();
    await running.look();
    expect(running.harness.writes()).toEqual([]);
    expect(running.shown()).toMatchObject({ collection: { state: 'succeeded' } });
    // A pod that is young for another reason delays nothing.
    passed = 7 * DAY + TO_ITS_HOUR;
    putPod({}, '2026-02-09T02:00:00Z', 'young');
    await lookTwice(running);
    expect(isPodThere()).toBe(false);
  });

  it.each([false, true])(
    'that collects longer than its limit is replaced by one that does not (paused: %s)',
    async (paused) => {
      const before = await start();
      passed = TO_ITS_HOUR;
      await lookTwice(before);
      before.harness.stop();
      const running = await start({ ...SETTINGS, paused });
      putPod({ state: { running: { startedAt: '2026-02-02T03:02:10Z' } } }, undefined, 'new');
      passed += 31 * MINUTE;
      await running.look();
      expect(state()).toMatchObject({ phase: 'timed_out' });
      expect([isPodThere(), dataOf(COLLECTION)[ARGUMENT]]).toEqual([false, '--help']);
    },
  );

  it('collects again a day after it failed', async () => {
    const running = await start();
    passed = TO_ITS_HOUR;
    await lookTwice(running);
    const lastState = { terminated: { exitCode: 1, message: 'odd' } };
    putPod({ restartCount: 2, state: {}, lastState }, undefined, 'new');
    await lookTwice(running);
    expect(state()).toMatchObject({ phase: 'failing', reason: 'odd' });
    expect(isPodThere()).toBe(true);
    passed = DAY + TO_ITS_HOUR;
    await lookTwice(running);
    expect(isPodThere()).toBe(false);
  });

  it('is replaced at any hour and during builds if somebody asks for it, and once', async () => {
    request();
    addRevision(1, { build: { phase: 'Building' } });
    const running = await start();
    await lookTwice(running);
    expect(await collected(running)).toBe(true);
    await lookTwice(running);
    expect(isPodThere()).toBe(true);
  });

  it('is not replaced soon after a sweep, nor after the controller has started', async () => {
    const running = await start();
    request();
    await running.look();
    expect(isPodThere()).toBe(true);
    passed -= 2 * MINUTE;
    await running.look();
    expect(isPodThere()).toBe(true);
  });

  it.each([
    ['while a build runs', (): void => addRevision(1, { build: { phase: 'Building' } })],
    [
      'before the collection is due',
      (): void => {
        putConfigMap(COLLECTION, { creationTimestamp: '2026-02-01T03:00:00Z' });
      },
    ],
  ])('is not replaced %s', async (_what, prepare) => {
    putConfigMap(COLLECTION, { creationTimestamp: '2026-01-26T03:10:00Z' });
    prepare();
    const running = await start();
    passed = TO_ITS_HOUR;
    await lookTwice(running);
    expect(isPodThere()).toBe(true);
  });

  it('is replaced once a week also where nothing is collected, so that it reads its keys again', async () => {
    const running = await start(withUpkeep({ enabled: false }));
    passed = TO_ITS_HOUR;
    putPod({}, '2026-01-30T03:10:00Z', 'young');
    await running.look();
    expect(isPodThere()).toBe(true);
    putPod({}, '2026-01-26T03:10:00Z', 'week');
    await running.look();
    expect([isPodThere(), dataOf(COLLECTION)]).toEqual([false, {}]);
  });
});

type Step = readonly [what: 'push' | 'name' | 'drop' | 'time' | 'crash' | 'collect' | 'work', which: number];

it('no order of pushes, revisions, crashes and collections loses an image that is named', async () => {
  const step: fc.Arbitrary<Step> = fc.tuple(
    fc.constantFrom('push', 'name', 'name', 'drop', 'time', 'crash', 'collect', 'work', 'work'),
    fc.integer({ min: 0, max: 5 }),
  );
  let collections = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40 }), async (steps) => {
      begin();
      const named = new Set<number>();
      let running = await start();
      for (const [what, n] of steps) {
        if (what === 'push') registry.push(repository, 'latest', digest(n));
        else if (what === 'name' && registry.has(repository, digest(n)) && !named.has(n)) {
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
        } else if (what === 'collect' && isPodThere()) request();
        if (await collected(running)) collections += 1;
        const lost = [...named].filter((one) => !registry.has(repository, digest(one)));
        expect(lost).toEqual([]);
      }
    }),
    { numRuns: 60 },
  );
  expect(collections).toBeGreaterThan(10);
});
