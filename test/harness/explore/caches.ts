// The controller's real caches over a scene: a cache is filled when it is first read, so that only what is read counts.

import { BUILD_LABEL, DEPLOYMENT_LABEL } from '../../../src/kinds/meta.ts';
import type { Settings } from '../../../src/kinds/settings.ts';
import { type ControllerCaches, makeControllerCaches } from '../../../src/main/caches.ts';
import type { RuntimeMetrics } from '../../../src/runtime/controller/metrics.ts';
import type { Reflector } from '../../../src/runtime/controller/reflector.ts';
import { POSTGRES_CLUSTERS } from '../../../src/runtime/kube/api-resources.ts';
import type { KubeObject } from '../../../src/runtime/kube/client.ts';
import type { Logger } from '../../../src/runtime/logger.ts';
import { CNPG_MARK } from './postgres-cluster.ts';
import type { Scene } from './scene.ts';

export const SILENT = {
  child: () => SILENT,
  trace: () => undefined,
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  fatal: () => undefined,
  level: 'silent',
} as unknown as Logger;
export const METRICS = new Proxy({}, { get: () => () => undefined }) as RuntimeMetrics;

/** Kinds of which the controller watches all objects; of the others only those with Davit's label. */
const WHOLE: ReadonlySet<string> = new Set([
  'AppDeployment',
  'AppRevision',
  'AppTemplate',
  'Backup',
  'CodeHostIntegration',
  'DatastoreOperation',
  'Lease',
  'Listener',
  'ListenerWork',
  'Namespace',
  'OAuthProvider',
  'Secret',
  'TracingProject',
]);

export function openCaches(scene: Scene, settings: Settings, namespaces: readonly string[]): ControllerCaches {
  const caches = makeControllerCaches({
    client: scene.kube,
    settings,
    log: SILENT,
    metrics: METRICS,
  });
  const wrapped = new Map<Reflector, Reflector>();
  const of = <Cache>(cache: Cache): Cache => {
    const real = cache as unknown as Reflector;
    const found = wrapped.get(real);
    if (found) return found as Cache;
    const isBuilds = [caches.builds?.jobs, caches.builds?.pods].includes(real as never);
    const inOrganization = ([caches.templates, caches.providers, caches.integrations] as readonly unknown[]).includes(
      real,
    );
    const own = isBuilds
      ? [settings.builds.namespace]
      : inOrganization
        ? [settings.organizationNamespace]
        : real.resource.kind === 'Secret'
          ? [...namespaces, settings.organizationNamespace]
          : real.resource.namespaced
            ? namespaces
            : [''];
    const label = isBuilds ? BUILD_LABEL : DEPLOYMENT_LABEL;
    const isWhole = WHOLE.has(real.resource.kind);
    const isOfCluster = real.resource === POSTGRES_CLUSTERS;
    const made = lazily(real, own, (namespace) =>
      scene
        .cached(real.resource, namespace)
        .filter(({ metadata }) => isWhole || metadata.labels?.[label] !== undefined),
    );
    wrapped.set(real, isOfCluster ? withOperator(made, scene, namespaces) : made);
    return wrapped.get(real) as Cache;
  };
  return {
    ...caches,
    records: of(caches.records),
    revisions: of(caches.revisions),
    operations: of(caches.operations),
    tracingProjects: of(caches.tracingProjects),
    namespaces: of(caches.namespaces),
    pods: of(caches.pods),
    secrets: of(caches.secrets),
    addresses: caches.addresses && of(caches.addresses),
    keda: caches.keda.map(of),
    postgresClusters: caches.postgresClusters && of(caches.postgresClusters),
    baseBackups: caches.baseBackups && of(caches.baseBackups),
    children: new Map([...caches.children].map(([kind, cache]) => [kind, of(cache)])),
    templates: of(caches.templates),
    listeners: of(caches.listeners),
    providers: of(caches.providers),
    integrations: of(caches.integrations),
    clientSecrets: of(caches.clientSecrets),
    builds: caches.builds && { ...caches.builds, jobs: of(caches.builds.jobs), pods: of(caches.builds.pods) },
    listening: caches.listening && { works: of(caches.listening.works), leases: of(caches.listening.leases) },
    all: caches.all.map(of),
  };
}

function withOperator(cache: Reflector, scene: Scene, namespaces: readonly string[]): Reflector {
  return { ...cache, isInstalled: () => namespaces.every((one) => scene.mark(one, CNPG_MARK) !== 'absent') };
}

/** `contentOf`: what a namespace has, of the `namespaces` that are watched. */
export function lazily(
  real: Reflector,
  namespaces: readonly string[],
  contentOf: (namespace: string) => readonly KubeObject[],
): Reflector {
  const filled = new Set<string>();
  const fill = (namespace: string): void => {
    if (filled.has(namespace) || !namespaces.includes(namespace)) return;
    filled.add(namespace);
    for (const object of contentOf(namespace)) real.overlay(object);
  };
  const fillAll = (): void => namespaces.forEach(fill);
  return {
    ...real,
    resource: real.resource,
    get(ref) {
      fill(ref.namespace ?? '');
      return real.get(ref);
    },
    byUid(uid) {
      fillAll();
      return real.byUid(uid);
    },
    list(namespace) {
      if (namespace === undefined) fillAll();
      else fill(namespace);
      return real.list(namespace);
    },
    byLabel(namespace, ...rest) {
      fill(namespace);
      return real.byLabel(namespace, ...rest);
    },
    byIndex(namespace, ...rest) {
      fill(namespace);
      return real.byIndex(namespace, ...rest);
    },
    overlay(object) {
      fill(object.metadata.namespace ?? '');
      real.overlay(object);
    },
    isInstalled: () => true,
  };
}
