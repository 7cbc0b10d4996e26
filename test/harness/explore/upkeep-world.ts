// The platform's registry, in memory, and days of its upkeep. The registry is marks; it collects, as the chart's does, when its pod was
// replaced by one that collects: what has no tag then goes. A pass is a whole day: time is what upkeep is about. After it all times are a day earlier.

import type { RegistryClient } from '../../../src/build/registry/client.ts';
import { ARGUMENT, COLLECT } from '../../../src/build/registry/collection.ts';
import { makeRegistryUpkeep } from '../../../src/build/registry/upkeep.ts';
import { imageIn } from '../../../src/deploy/record/registry-names.ts';
import { imageOf } from '../../../src/deploy/record/revision-image.ts';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../../src/kinds/app-deployment.ts';
import { APP_REVISIONS, type AppRevision } from '../../../src/kinds/app-revision.ts';
import { TENANT_LABEL } from '../../../src/kinds/meta.ts';
import { Settings } from '../../../src/kinds/settings.ts';
import type { Reconcile } from '../../../src/runtime/controller/controller.ts';
import { RegistryFailed } from '../../../src/runtime/errors.ts';
import { CONFIG_MAPS, NAMESPACES, PODS } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import { aSpec } from '../../support/builders.ts';
import { SILENT } from './caches.ts';
import { openHome } from './passes.ts';
import type { Scene } from './scene.ts';
import { sortedText } from './world.ts';

export const TEAM = 'team';
export const SYSTEM = 'davit-system';
const HOST = 'registry.example.com';
export const BUILT = Settings.parse({
  hosting: 'both',
  keda: { enabled: false },
  builds: {
    registry: { host: HOST, tokens: true, upkeep: { everyDays: 1, hour: 3 } },
    images: { builder: 'builder:1', davit: 'davit:1' },
  },
});
const { registry: PLATFORM } = BUILT.builds;
const HOUR_MS = 3_600_000;
/** When every day begins. */
const MORNING = Date.parse('2026-02-02T02:00:00Z');
/** Older than this is as old as this. */
const LONG_HOURS = 72;

/** Tags with their digests, and manifests. */
export interface Repository {
  readonly tags: Readonly<Record<string, string>>;
  readonly manifests: readonly string[];
}
const EMPTY: Repository = { tags: {}, manifests: [] };
const REPOSITORIES = 'repositories';

export function repositoriesOf(scene: Scene): Readonly<Record<string, Repository>> {
  return JSON.parse(scene.mark(SYSTEM, REPOSITORIES) ?? '{}') as Record<string, Repository>;
}
export function change(scene: Scene, name: string, edit: (before: Repository) => Repository): void {
  const all = repositoriesOf(scene);
  scene.setMark(SYSTEM, REPOSITORIES, sortedText({ ...all, [name]: edit(all[name] ?? EMPTY) }));
}
export function push(scene: Scene, name: string, tag: string, of: string): void {
  change(scene, name, ({ tags, manifests }) => ({
    tags: { ...tags, [tag]: of },
    manifests: [...new Set([...manifests, of])].toSorted(),
  }));
}
/** What has no tag goes. */
function collect(scene: Scene): void {
  for (const name of Object.keys(repositoriesOf(scene)))
    change(scene, name, ({ tags, manifests }) => {
      const tagged = new Set(Object.values(tags));
      return { tags, manifests: manifests.filter((one) => tagged.has(one)) };
    });
}
export const digestOf = (what: string): string => `sha256:${Buffer.from(what).toString('hex').padStart(64, '0')}`;
export const repositoryOf = (scene: Scene, name: string): string =>
  `${TEAM}-${scene.get(NAMESPACES, '', TEAM)?.metadata.uid?.slice(0, 8)}/${name}`;
export const imageUri = (scene: Scene, name: string, digest: string): string =>
  `${HOST}/${repositoryOf(scene, name)}@${digest}`;

/** Troubles of the registry: `down` or `full`; a digest that it refuses to tag; a repository that it cannot list. */
export type Trouble = 'registry' | 'refuses' | 'broken';
export const trouble = (scene: Scene, which: Trouble): string | undefined => scene.mark(SYSTEM, which);

class Crash extends Error {}

/** `left`: changes until the controller crashes. */
function clientOf(
  scene: Scene,
  left: { changes: number },
): Pick<RegistryClient, 'repositories' | 'tags' | 'tag' | 'deleteTag' | 'digestOf' | 'ensureBlob'> {
  async function ask(repository?: string): Promise<Repository> {
    if (trouble(scene, 'registry') === 'down') throw new RegistryFailed('unreachable', 'The registry does not answer.');
    if (repository !== undefined && trouble(scene, 'broken') === repository)
      throw new RegistryFailed('malformed', 'The registry answers nonsense.');
    return repositoriesOf(scene)[repository ?? ''] ?? EMPTY;
  }
  function changing(): void {
    if (left.changes <= 0) throw new Crash();
    left.changes -= 1;
  }
  return {
    repositories: async () => {
      await ask();
      return Object.keys(repositoriesOf(scene));
    },
    tags: async (repository) => Object.keys((await ask(repository)).tags),
    digestOf: async (repository, reference) => (await ask(repository)).tags[reference],
    async tag(repository, digest, tag) {
      const { manifests } = await ask(repository);
      if (trouble(scene, 'registry') === 'full') throw new RegistryFailed('full', 'The registry is full.');
      if (trouble(scene, 'refuses') === digest)
        throw new RegistryFailed('refused', 'The registry refuses the manifest.');
      if (!manifests.includes(digest)) return false;
      changing();
      push(scene, repository, tag, digest);
      return true;
    },
    // A blob is nothing that upkeep can lose.
    ensureBlob: async (repository) => void (await ask(repository)),
    async deleteTag(repository, tag) {
      await ask(repository);
      changing();
      change(scene, repository, ({ tags: { [tag]: _gone, ...tags }, manifests }) => ({ tags, manifests }));
    },
  };
}

const POD = { namespace: SYSTEM, name: 'davit-registry-0' };
const LONG_AGO = '2026-01-01T03:00:00Z';
/** What the init container has done, if the pod has replaced another one. */
function putPod(scene: Scene, uid: string, startTime = LONG_AGO): void {
  const initContainerStatuses = [{ name: 'collect-garbage', state: { terminated: { exitCode: 0 } } }];
  const metadata = { ...POD, uid };
  scene.put(PODS, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata,
    status: { startTime, initContainerStatuses },
  } as KubeObject);
}
type Data = KubeObject & { readonly data?: Readonly<Record<string, string>> };
const COLLECTION = 'davit-registry-collection';
const UPKEEP = 'davit-registry-upkeep';
function putConfigMap(scene: Scene, name: string): void {
  const metadata = { namespace: SYSTEM, name, creationTimestamp: LONG_AGO };
  scene.put(CONFIG_MAPS, { apiVersion: 'v1', kind: 'ConfigMap', metadata });
}

/** Interval of the looks: all that a day has to do is done in two. */
const LOOK_MS = HOUR_MS / 3;

/** One controller, from its start until so many hours later. */
export async function live(scene: Scene, from: number, hours: number, changes = Infinity): Promise<void> {
  const { registry } = BUILT.builds;
  if (registry?.upkeep === undefined) throw new Error('nothing is kept up');
  let passed = 0;
  const upkeep = makeRegistryUpkeep({
    shell: openHome(scene, BUILT, [TEAM]),
    settings: BUILT,
    registry,
    upkeep: registry.upkeep,
    client: clientOf(scene, { changes }),
    namespace: SYSTEM,
    log: SILENT,
    now: () => new Date(from + passed),
    elapsed: () => passed,
  });
  for (passed = LOOK_MS; passed <= hours * HOUR_MS; passed += LOOK_MS) {
    try {
      await upkeep.look(new AbortController().signal);
    } catch (error) {
      if (error instanceof Crash) break;
    }
    if (scene.get(PODS, SYSTEM, POD.name) === undefined) {
      if (scene.get<Data>(CONFIG_MAPS, SYSTEM, COLLECTION)?.data?.[ARGUMENT] === COLLECT) collect(scene);
      putPod(scene, 'new', new Date(from + passed).toISOString());
    }
  }
}

/** All times are so many hours earlier, and the last collection was long ago. */
function age(scene: Scene, hours: number): void {
  putPod(scene, 'old');
  for (const name of [COLLECTION, UPKEEP]) {
    const kept = scene.get<Data>(CONFIG_MAPS, SYSTEM, name);
    if (kept?.data === undefined) continue;
    if (name === COLLECTION) {
      scene.erase(CONFIG_MAPS, kept);
      putConfigMap(scene, name);
      continue;
    }
    const noted = JSON.parse(kept.data['noted'] ?? '{}') as { since: string };
    const since = Math.max(MORNING - LONG_HOURS * HOUR_MS, Date.parse(noted.since) - hours * HOUR_MS);
    scene.change(CONFIG_MAPS, kept, {
      data: { noted: JSON.stringify({ ...noted, since: new Date(since).toISOString() }) },
    });
  }
}

/** A day and a restart at noon, or two days of one controller: what it remembers counts in the second day. */
export const DAYS = { 'a day with a restart': [12, 12], 'two days': [48] } as const;

export function makeUpkeepPass(scene: Scene): Reconcile {
  return async (key) => {
    const lives = DAYS[(key.split('/')[1] ?? '') as keyof typeof DAYS];
    let hours = 0;
    for (const one of lives) {
      await live(scene, MORNING + hours * HOUR_MS, one);
      hours += one;
    }
    age(scene, hours);
    return {};
  };
}
/** The controller starts in the hour of the collection, and crashes after so many changes of the registry. */
export async function liveShortly(scene: Scene, changes: number): Promise<void> {
  await live(scene, MORNING + HOUR_MS, 0.8, changes);
  age(scene, 24);
}

export function aBuiltRecord(name: string, image?: string): AppDeployment {
  return {
    apiVersion: 'davit.dev/v1alpha1',
    kind: 'AppDeployment',
    metadata: { name, namespace: TEAM, generation: 1 },
    spec: aSpec(image === undefined ? {} : { sourceRevisionConfig: { imageUri: image } }),
  };
}

export function beginUpkeep(scene: Scene): void {
  scene.put(NAMESPACES, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: TEAM, labels: { [TENANT_LABEL]: 'true' } },
  });
  putConfigMap(scene, COLLECTION);
  putConfigMap(scene, UPKEEP);
  putPod(scene, 'old');
  scene.put(APP_DEPLOYMENTS, aBuiltRecord('shop'), 'person');
}

/** Digests that records and revisions name, by repository. */
export function namedIn(scene: Scene): ReadonlyMap<string, ReadonlySet<string>> {
  const uris = [
    ...scene.all<AppDeployment>(APP_DEPLOYMENTS, TEAM).map(({ spec }) => spec.sourceRevisionConfig.imageUri),
    ...scene.all<AppRevision>(APP_REVISIONS, TEAM).map(imageOf),
  ];
  const named = new Map<string, Set<string>>();
  for (const uri of uris) {
    const image = uri === undefined || PLATFORM === undefined ? undefined : imageIn(PLATFORM, uri);
    if (image?.digest === undefined) continue;
    named.set(image.repository, (named.get(image.repository) ?? new Set()).add(image.digest));
  }
  return named;
}
