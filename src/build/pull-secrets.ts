// Maintains the image pull Secret of each tenant namespace. With Davit's token server, its credential may only pull the
// tenant's own repositories, and is renewed long before it expires. Otherwise the Secret is a copy of the platform's
// pull Secret.

import { withAppliedDigest } from '../deploy/cluster/apply.ts';
import type { Caches } from '../deploy/cluster/caches.ts';
import type { Cluster } from '../deploy/cluster/cluster.ts';
import { usesRegistry } from '../deploy/record/build-source.ts';
import { PULL_SECRET } from '../deploy/record/names.ts';
import { imageIn, type RegistrySettings, tenantRepositories } from '../deploy/record/registry-names.ts';
import { imagesOfRevision } from '../deploy/record/revision-image.ts';
import type { AppDeployment } from '../kinds/app-deployment.ts';
import type { AppRevision } from '../kinds/app-revision.ts';
import { rfc3339 } from '../kinds/conditions.ts';
import {
  APPLIED_ANNOTATION,
  FIELD_MANAGER,
  PULL_SECRET_LABEL,
  REGISTRY_EXPIRES_ANNOTATION,
  TENANT_LABEL,
} from '../kinds/meta.ts';
import type { Settings } from '../kinds/settings.ts';
import { abortable } from '../runtime/controller/clients/wrap-client.ts';
import { overlayWrite } from '../runtime/controller/cluster.ts';
import type { Reconcile } from '../runtime/controller/controller.ts';
import { endAll } from '../runtime/controller/store.ts';
import type { WorkQueue } from '../runtime/controller/work-queue.ts';
import { undefinedIfNotFound } from '../runtime/errors.ts';
import { SECRETS } from '../runtime/kube/api-resources.ts';
import type { KubeObject } from '../runtime/kube/client.ts';
import type { RegistryAccess } from './registry/access.ts';

/**
 * Validity of a credential. It is much longer than the renewal interval, since pods pull images even while no
 * controller runs.
 */
const VALID_MS = 7 * 24 * 3600 * 1000;
const RENEWED_AFTER_MS = 24 * 3600 * 1000;
const CLOCKS_DIFFER_MS = 300_000;
/** Interval at which a copied Secret is compared with its original. */
const COMPARED_MS = 300_000;

export interface PullSecretOptions {
  readonly shell: Cluster;
  readonly settings: Settings;
  readonly registry: RegistrySettings;
  readonly registryAccess: RegistryAccess;
  readonly now: () => Date;
}

/** Returns a reconciler whose keys are namespaces. */
export function makePullSecretReconciler(options: PullSecretOptions): Reconcile {
  const { registry, registryAccess, settings, now } = options;
  const { caches } = options.shell;
  return async function reconcile(namespace, signal) {
    const client = abortable(options.shell.client, signal);
    const secret = caches.secrets.get({ namespace, name: PULL_SECRET });
    const isOurs = secret?.metadata.labels?.[PULL_SECRET_LABEL] === 'true';
    // A foreign Secret of this name is not changed.
    if (settings.paused || (secret && !isOurs)) return {};
    const tenant = caches.namespaces.get({ name: namespace })?.metadata;
    const isTenant = tenant?.labels?.[TENANT_LABEL] === 'true' && tenant.deletionTimestamp === undefined;
    const isConfigured = registry.tokens || registry.pullSecret !== undefined;
    // Pods of a kept revision pull its image again, also after its record has changed to another source of images.
    const isRun = (revision: AppRevision): boolean =>
      imagesOfRevision(revision).some((image) => imageIn(registry, image) !== undefined);
    const isNeeded =
      isConfigured &&
      isTenant &&
      (caches.records.list(namespace).some(({ spec }) => usesRegistry(spec, registry)) ||
        caches.revisions.list(namespace).some(isRun));
    if (!isNeeded) {
      if (secret && tenant?.deletionTimestamp === undefined && secret.metadata.deletionTimestamp === undefined) {
        const { uid = '', resourceVersion = '' } = secret.metadata;
        await client
          .remove(SECRETS, { namespace, name: PULL_SECRET }, { uid, resourceVersion })
          .catch(undefinedIfNotFound);
      }
      return {};
    }
    const expires = Date.parse(secret?.metadata.annotations?.[REGISTRY_EXPIRES_ANNOTATION] ?? '');
    const freshForMs = expires - VALID_MS + RENEWED_AFTER_MS - now().getTime();
    // A later one is not Davit's: somebody made the Secret before, or changed it.
    if (registry.tokens && freshForMs > 0 && freshForMs <= RENEWED_AFTER_MS + CLOCKS_DIFFER_MS)
      return { requeueAfterMs: freshForMs };
    const repositories = `${tenantRepositories(registry, { namespace, tenantId: tenant.uid ?? '' })}/*`;
    const config = await registryAccess.pull(repositories, VALID_MS / 1000);
    // The platform's Secret does not exist yet.
    if (config === undefined) return { requeueAfterMs: COMPARED_MS };
    const until = registry.tokens ? rfc3339(new Date(now().getTime() + VALID_MS)) : undefined;
    const wanted = withAppliedDigest(pullSecret(namespace, config, until));
    const isThere =
      secret?.metadata.annotations?.[APPLIED_ANNOTATION] === wanted.metadata.annotations?.[APPLIED_ANNOTATION];
    if (!isThere)
      overlayWrite(
        caches,
        await client.apply(SECRETS, wanted, {
          fieldManager: FIELD_MANAGER,
          force: true,
          ...(!secret && { onlyCreate: true }),
        }),
      );
    return { requeueAfterMs: registry.tokens ? RENEWED_AFTER_MS : COMPARED_MS };
  };
}

function pullSecret(namespace: string, config: string, until: string | undefined): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: PULL_SECRET,
      namespace,
      labels: {
        'app.kubernetes.io/part-of': 'davit',
        'app.kubernetes.io/managed-by': 'davit',
        [PULL_SECRET_LABEL]: 'true',
      },
      ...(until !== undefined && { annotations: { [REGISTRY_EXPIRES_ANNOTATION]: until } }),
    },
    type: 'kubernetes.io/dockerconfigjson',
    data: { '.dockerconfigjson': Buffer.from(config).toString('base64') },
  } as KubeObject;
}

/**
 * Enqueues all namespaces, and from then on each namespace whose pull Secret may have to change. Returns a function
 * that unsubscribes.
 */
export function wakePullSecrets(caches: Caches, queue: WorkQueue, registry: RegistrySettings): () => void {
  const needsIt = ({ spec }: AppDeployment): boolean => usesRegistry(spec, registry);
  const subscriptions = [
    caches.records.onChange(({ type, object, previous }) => {
      // A record may change from an image of another registry to one of this, or from an image to a repository, and back.
      const changes = type !== 'modified' || !previous || needsIt(previous) !== needsIt(object);
      if (changes && [object, previous].some((one) => one && needsIt(one))) queue.add(object.metadata.namespace ?? '');
    }),
    caches.revisions.onChange(({ type, object }) => {
      if (type === 'deleted') queue.add(object.metadata.namespace ?? '');
    }),
    caches.secrets.onChange(({ object: { metadata } }) => {
      if (metadata.name === PULL_SECRET) queue.add(metadata.namespace ?? '');
    }),
    caches.namespaces.onChange(({ object, previous }) => {
      const [now, before] = [object, previous].map((one) => one?.metadata.labels?.[TENANT_LABEL]);
      if (now !== before) queue.add(object.metadata.name);
    }),
  ];
  for (const { metadata } of caches.namespaces.list()) queue.add(metadata.name);
  return endAll(subscriptions);
}
