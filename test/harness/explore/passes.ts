// One pass of a reconciler on a scene. Each pass has reconcilers of its own, as by a controller that has just started: what
// they remember between passes is not part of a state.

import { judgeCodeFile } from '../../../src/build/code-file-judge.ts';
import { makeBuildReconciler } from '../../../src/build/reconciler.ts';
import { makeSourceAccess } from '../../../src/build/source-access.ts';
import { makeOperationReconciler } from '../../../src/databases/reconciler.ts';
import { POD_CONTRACTS } from '../../../src/deploy/children/contracts.ts';
import { digestKey } from '../../../src/deploy/children/secret-digest.ts';
import type { Cluster } from '../../../src/deploy/cluster/cluster.ts';
import { makeHostRegistry } from '../../../src/deploy/host-registry.ts';
import { makeReconciler } from '../../../src/deploy/reconcile.ts';
import type { FileNeed, ReadCodeFile } from '../../../src/deploy/record/code-file.ts';
import { makeSecretFingerprints } from '../../../src/deploy/secret-fingerprints.ts';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../../src/kinds/app-deployment.ts';
import { APP_REVISIONS } from '../../../src/kinds/app-revision.ts';
import { APP_TEMPLATES } from '../../../src/kinds/app-template.ts';
import { CODE_HOST_INTEGRATIONS } from '../../../src/kinds/code-host-integration.ts';
import { DATASTORE_OPERATIONS } from '../../../src/kinds/datastore-operation.ts';
import { LISTENERS } from '../../../src/kinds/listener.ts';
import { LISTENER_WORKS } from '../../../src/kinds/listener-work.ts';
import { OAUTH_PROVIDERS } from '../../../src/kinds/oauth-provider.ts';
import type { Settings } from '../../../src/kinds/settings.ts';
import { TRACING_PROJECTS } from '../../../src/kinds/tracing-project.ts';
import type { ControllerCaches } from '../../../src/main/caches.ts';
import type { Reconcile, Result } from '../../../src/runtime/controller/controller.ts';
import { CodeHostFailed } from '../../../src/runtime/errors.ts';
import { BUILT_IN_RESOURCES, makeResourceRegistry } from '../../../src/runtime/kube/api-resources.ts';
import type { Resource } from '../../../src/runtime/kube/client.ts';
import { makeOrganizationReconciler } from '../../../src/tokens/reconciler.ts';
import type { FakeRequest, Write } from '../../support/fake-kube/fake-kube.ts';
import { openCaches, SILENT } from './caches.ts';
import type { Cast } from './cast.ts';
import type { Controllers } from './pass-seen.ts';
import { MARKS, type Scene, timeOf } from './scene.ts';

const OWN_RESOURCES = [
  APP_DEPLOYMENTS,
  APP_REVISIONS,
  APP_TEMPLATES,
  TRACING_PROJECTS,
  OAUTH_PROVIDERS,
  CODE_HOST_INTEGRATIONS,
  DATASTORE_OPERATIONS,
  LISTENERS,
  LISTENER_WORKS,
];
/** All resources that a state may hold. */
export const RESOURCES: readonly Resource[] = [...BUILT_IN_RESOURCES, ...OWN_RESOURCES, MARKS];
const REGISTRY = makeResourceRegistry([...BUILT_IN_RESOURCES, ...OWN_RESOURCES]);
const DIGEST_KEY = digestKey(Buffer.alloc(32, 7));

export interface Pass {
  /** Of the pass, refused ones included, dry runs not. */
  readonly writes: readonly Write[];
  readonly error: Error | undefined;
  readonly result: Result;
}

export interface PassOptions {
  readonly settings: Settings;
  /** Namespaces of tenants. */
  readonly namespaces: readonly string[];
  /** The error with which the API server answers a request. */
  readonly refuse: (scene: Scene, request: FakeRequest) => Error | undefined;
  readonly cast?: Cast | undefined;
}

export const clockOf =
  (scene: Scene): (() => Date) =>
  () =>
    new Date(timeOf(scene));
/** A cluster of which the caches are those of a controller. */
export interface Home extends Cluster {
  readonly caches: ControllerCaches;
}
export const EVENTS = { record: () => undefined, flush: () => Promise.resolve() };

/** A cluster as a controller sees it that has just started. */
export function openHome(scene: Scene, settings: Settings, namespaces: readonly string[]): Home {
  return { client: scene.kube, caches: openCaches(scene, settings, namespaces), registry: REGISTRY };
}

/** The reconciler of records that run in the cluster itself. */
export function recordsOf(scene: Scene, home: Home, settings: Settings): Reconcile {
  const { caches, client } = home;
  const elapsed = (): number => timeOf(scene);
  const now = clockOf(scene);
  return makeReconciler({
    home,
    vanished: { sweep: () => Promise.resolve({}), close: () => undefined },
    contents: makeSecretFingerprints({ client, caches, digestKey: () => Promise.resolve(DIGEST_KEY), elapsed }),
    hosts: {
      take: (record, host) => makeHostRegistry(caches, settings.address).take(record, host),
      settled: () => undefined,
      onFreed: () => () => undefined,
      close: () => undefined,
    },
    settings,
    events: EVENTS,
    now,
    contracts: POD_CONTRACTS,
    pushedCommit: (record: AppDeployment) =>
      record.spec.sourceConfig.buildOnPush === true ? { commit: headOf(scene) } : undefined,
    codeFile: ({ spec }: AppDeployment, { path, commit = headOf(scene) }: FileNeed): ReturnType<ReadCodeFile> =>
      scene.mark('', 'code host') === 'down'
        ? { waits: `${path} cannot be read yet.` }
        : judgeCodeFile(spec, { path, commit: { commit }, content: contentAt(commit) }, settings),
  });
}

export async function runPass(
  scene: Scene,
  controller: Controllers,
  key: string,
  { settings, namespaces, refuse, cast }: PassOptions,
): Promise<Pass> {
  const { kube } = scene;
  const now = clockOf(scene);
  const make = (): Reconcile => {
    if (cast) return cast.make(scene, controller);
    const home = openHome(scene, settings, namespaces);
    const { caches } = home;
    if (controller === 'operations') return makeOperationReconciler({ home, settings, now });
    if (controller === 'organization') return makeOrganizationReconciler(home, settings, now);
    if (controller === 'builds') {
      const { registry } = settings.builds;
      if (!registry || !caches.builds) throw new Error('nothing is built');
      const answer = <Value>(value: Value): Promise<Value> =>
        scene.mark('', 'code host') === 'down'
          ? Promise.reject(new CodeHostFailed('unreachable', 'The code host does not answer.'))
          : Promise.resolve(value);
      const sources = makeSourceAccess({
        client: kube,
        caches,
        settings,
        codeHosts: {
          commit: () => answer({ commit: headOf(scene) }),
          file: () => answer({ text: '' }),
          token: () => answer('token'),
          status: () => Promise.resolve(),
        },
      });
      const credential = (): Promise<string> => Promise.resolve('{"auths":{}}');
      const registryAccess = { push: credential, pull: credential };
      return makeBuildReconciler({
        shell: home,
        settings,
        registry,
        registryAccess,
        sources,
        authorities: undefined,
        builds: caches.builds,
        events: EVENTS,
        now,
      });
    }
    return recordsOf(scene, home, settings);
  };
  kube.failOn((request) => refuse(scene, request));
  kube.clearWrites();
  let error: Error | undefined;
  let result: Result = {};
  try {
    result = await make()(key, new AbortController().signal, SILENT);
  } catch (thrown) {
    error = thrown as Error;
  }
  kube.failOn(undefined);
  const writes = kube.writes.filter(({ dryRun }) => dryRun !== true);
  return { writes, error, result };
}

/** The commit of the branch that all records build. */
/** The davit.yaml of a commit: that of commit b is not valid. */
export function contentAt(commit: string): { readonly text: string } {
  const value = commit.slice(0, 1);
  return { text: value === 'b' ? 'resource_spec: {cpu: many}' : `env: [{name: COMMIT, value: ${value}}]` };
}

export function headOf(scene: Scene): string {
  return (scene.mark('', 'head') ?? 'a').repeat(40);
}
