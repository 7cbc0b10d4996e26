// Deletes Secrets of values that no record or revision names, and in the organization's namespace client secrets that no OAuth
// provider names. Decided on the caches and confirmed by a live list before a delete, because a cache may not contain a new
// record yet.

import { APP_DEPLOYMENTS, type AppDeployment } from '../kinds/app-deployment.ts';
import { APP_REVISIONS, type AppRevision } from '../kinds/app-revision.ts';
import { PROVIDER_LABEL, VARIABLES_LABEL } from '../kinds/meta.ts';
import { OAUTH_PROVIDERS, type OAuthProvider } from '../kinds/oauth-provider.ts';
import { abortable } from '../runtime/controller/clients/wrap-client.ts';
import type { Reconcile } from '../runtime/controller/controller.ts';
import { keyOf, refOf } from '../runtime/controller/keys.ts';
import type { Reflector } from '../runtime/controller/reflector.ts';
import { endAll } from '../runtime/controller/store.ts';
import type { WorkQueue } from '../runtime/controller/work-queue.ts';
import { NotFound } from '../runtime/errors.ts';
import { SECRETS } from '../runtime/kube/api-resources.ts';
import type { KubeClient, KubeObject } from '../runtime/kube/client.ts';
import type { Logger } from '../runtime/logger.ts';
import { SECRETS_NAMED } from '../tokens/caches.ts';
import type { Caches } from './cluster/caches.ts';
import type { Cluster } from './cluster/cluster.ts';
import { settleAll } from './cluster/settle-all.ts';
import {
  clientSecretOrphanhood,
  clientSecretsNamed,
  type Orphanhood,
  secretUsage,
  valuesNamed,
} from './plan/secret-garbage.ts';

/** Reconciles one Secret of values by its key. `elapsed`: milliseconds of a monotonic clock. */
export function makeSecretCollector({ caches, client }: Cluster, elapsed: () => number): Reconcile {
  return makeCollector(client, elapsed, {
    cache: caches.secrets,
    orphanhood: secretUsage,
    asCached: (namespace, name) =>
      valuesNamed(
        caches.records.byIndex(namespace, SECRETS_NAMED, name),
        caches.revisions.byIndex(namespace, SECRETS_NAMED, name),
      ),
    async asListed(namespace, live) {
      const [records, revisions] = await Promise.all([
        live.listAll<AppDeployment>(APP_DEPLOYMENTS, { namespace }),
        live.listAll<AppRevision>(APP_REVISIONS, { namespace }),
      ]);
      return valuesNamed(records.items, revisions.items);
    },
  });
}

/** Reconciles one client secret by its key. `elapsed` as above. */
export function makeClientSecretCollector({ caches, client }: Cluster, elapsed: () => number): Reconcile {
  return makeCollector(client, elapsed, {
    cache: caches.clientSecrets,
    orphanhood: clientSecretOrphanhood,
    asCached: (namespace, name) => clientSecretsNamed(caches.providers.byIndex(namespace, SECRETS_NAMED, name)),
    asListed: async (namespace, live) =>
      clientSecretsNamed((await live.listAll<OAuthProvider>(OAUTH_PROVIDERS, { namespace })).items),
  });
}

/** Functions that decide whether a Secret is needed. */
interface Judging {
  readonly cache: Reflector<KubeObject>;
  readonly orphanhood: (secret: KubeObject, named: ReadonlySet<string>, nobodysForMs: number) => Orphanhood;
  /** Includes this Secret if it is referenced; other references may be missing. */
  readonly asCached: (namespace: string, name: string) => ReadonlySet<string>;
  readonly asListed: (namespace: string, client: KubeClient) => Promise<ReadonlySet<string>>;
}

/** Minimum interval of live lists of a namespace, however many Secrets become unreferenced. */
const LIST_EVERY_MS = 10_000;

function makeCollector(client: KubeClient, elapsed: () => number, judging: Judging): Reconcile {
  const { cache, orphanhood } = judging;
  /** By namespace and name, for every Secret that was unreferenced at the last check: its uid and since when. */
  const nobodys = new Map<string, Map<string, { readonly uid: string; readonly since: number }>>();
  const listedAt = new Map<string, number>();

  function nobodysFor(namespace: string, name: string, uid: string): number {
    const there = nobodys.get(namespace) ?? new Map();
    nobodys.set(namespace, there);
    const before = there.get(name);
    if (before?.uid === uid) return elapsed() - before.since;
    there.set(name, { uid, since: elapsed() });
    return 0;
  }

  function forget(namespace: string, name: string): void {
    const there = nobodys.get(namespace);
    there?.delete(name);
    if (there?.size === 0) nobodys.delete(namespace);
  }

  function noteList(namespace: string): void {
    for (const [listed, at] of listedAt) if (elapsed() - at >= LIST_EVERY_MS) listedAt.delete(listed);
    listedAt.set(namespace, elapsed());
  }

  function judge(secret: KubeObject, named: ReadonlySet<string>): Orphanhood {
    const { namespace = '', name, uid = '' } = secret.metadata;
    return orphanhood(secret, named, nobodysFor(namespace, name, uid));
  }

  /** All Secrets that are unreferenced according to the caches: one live list covers them. */
  function candidates(namespace: string): KubeObject[] {
    return [...(nobodys.get(namespace)?.keys() ?? [])].flatMap((name) => {
      const secret = cache.get({ namespace, name });
      return secret && judge(secret, judging.asCached(namespace, name)).is === 'orphan' ? [secret] : [];
    });
  }

  return async function collect(key, signal, log) {
    const { namespace, name } = refOf(key);
    const secret = cache.get({ namespace, name });
    const seen = secret && judge(secret, judging.asCached(namespace, name));
    if (seen?.is === 'young') return { requeueAfterMs: seen.forMs };
    if (seen?.is !== 'orphan') {
      forget(namespace, name);
      return {};
    }
    const waitMs = (listedAt.get(namespace) ?? -Infinity) + LIST_EVERY_MS - elapsed();
    if (waitMs > 0) return { requeueAfterMs: waitMs };
    noteList(namespace);
    const live = abortable(client, signal);
    const found = candidates(namespace);
    const named = await judging.asListed(namespace, live);
    const orphans = found.filter((one) => judge(one, named).is === 'orphan');
    await settleAll(orphans.map((orphan) => removeOrphan(orphan, cache, live, log)));
    return {};
  };
}

async function removeOrphan(
  { metadata }: KubeObject,
  cache: Reflector<KubeObject>,
  client: KubeClient,
  log: Logger,
): Promise<void> {
  const { namespace = '', name, uid = '', resourceVersion = '' } = metadata;
  try {
    await client.remove(SECRETS, { namespace, name }, { uid, resourceVersion });
    log.info({ namespace, secret: name }, 'Deleted an unused Secret');
  } catch (error) {
    if (!(error instanceof NotFound)) throw error;
  }
  // The later reconcile of its own key needs no list.
  cache.overlayDeleted(uid, resourceVersion);
}

/** Adds the keys of client secrets to the queue when they, or the providers that name them, change. Returns how to stop. */
export function wakeClientSecretCollector(caches: Caches, queue: WorkQueue): () => void {
  const wake = ({ metadata }: KubeObject): void => {
    if (metadata.labels?.[PROVIDER_LABEL] !== undefined) queue.add(keyOf(metadata.namespace, metadata.name));
  };
  const wakeThoseOf = ({ metadata }: KubeObject): void => {
    for (const secret of caches.clientSecrets.byLabel(metadata.namespace ?? '', PROVIDER_LABEL, metadata.name))
      wake(secret);
  };
  const subscriptions = [
    caches.clientSecrets.onChange(({ object }) => wake(object)),
    caches.providers.onChange(({ object }) => wakeThoseOf(object)),
  ];
  for (const secret of caches.clientSecrets.list(caches.organizationNamespace)) wake(secret);
  return endAll(subscriptions);
}

/** Adds the keys of Secrets of values to the queue when they, or what names them, change. Returns how to stop. */
export function wakeCollector(caches: Caches, queue: WorkQueue): () => void {
  const wake = ({ metadata }: KubeObject): void => {
    if (metadata.labels?.[VARIABLES_LABEL] !== undefined) queue.add(keyOf(metadata.namespace, metadata.name));
  };
  const wakeNamed = (namespace: string | undefined, named: ReadonlySet<string>): void => {
    for (const name of named) {
      const secret = caches.secrets.get({ namespace: namespace ?? '', name });
      if (secret) wake(secret);
    }
  };
  const subscriptions = [
    caches.secrets.onChange(({ object }) => wake(object)),
    // A reference ends when its object is deleted or names another Secret, which may be one of another deployment.
    caches.records.onChange(({ type, object, previous = object }) => {
      const changed = previous.metadata.generation !== object.metadata.generation;
      if (type === 'deleted' || changed) wakeNamed(object.metadata.namespace, valuesNamed([previous, object], []));
    }),
    caches.revisions.onChange(({ type, object }) => {
      if (type === 'deleted') wakeNamed(object.metadata.namespace, valuesNamed([], [object]));
    }),
  ];
  for (const secret of caches.secrets.list()) wake(secret);
  return endAll(subscriptions);
}
