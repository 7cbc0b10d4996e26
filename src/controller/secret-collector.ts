// Collects the Secrets of values that no record and no revision names, and in the organization's namespace the client
// secrets that no OAuth provider names. Decided on the
// caches, and once more on a live list before anything is deleted: a cache may not know a record that was made a moment ago.

import { APP_DEPLOYMENTS, type AppDeployment } from '../api/app-deployment.ts';
import { APP_REVISIONS, type AppRevision } from '../api/app-revision.ts';
import { DEPLOYMENT_LABEL, PROVIDER_LABEL, VARIABLES_LABEL } from '../api/meta.ts';
import { OAUTH_PROVIDERS, type OAuthProvider } from '../api/oauth-provider.ts';
import { clientSecretOrphanhood, type Orphanhood, orphanhoodOf } from '../decide/orphans.ts';
import { NotFound } from '../errors.ts';
import type { KubeClient, KubeObject } from '../kube/client.ts';
import { SECRETS } from '../kube/resources.ts';
import type { Logger } from '../logger.ts';
import type { Reconcile } from '../runtime/controller.ts';
import type { Store } from '../runtime/store.ts';
import type { WorkQueue } from '../runtime/work-queue.ts';
import type { Shell } from './apply.ts';
import type { Caches } from './caches.ts';
import { keyOf, refOf } from './keys.ts';

/** Reconciles one Secret of values, by its key. `elapsed` are milliseconds of a clock that never goes back. */
export function makeSecretCollector({ caches, client }: Shell, elapsed: () => number): Reconcile {
  return makeCollector(client, elapsed, {
    cache: caches.secrets,
    asCached: (secret, namespace, forMs) =>
      orphanhoodOf(secret, caches.records.list(namespace), caches.revisions.list(namespace), forMs),
    async asListed(secret, namespace, forMs) {
      const [records, revisions] = await Promise.all([
        client.listAll<AppDeployment>(APP_DEPLOYMENTS, { namespace }),
        client.listAll<AppRevision>(APP_REVISIONS, { namespace }),
      ]);
      return orphanhoodOf(secret, records.items, revisions.items, forMs);
    },
  });
}

/** Reconciles one client secret, by its key. `elapsed` as above. */
export function makeClientSecretCollector({ caches, client }: Shell, elapsed: () => number): Reconcile {
  return makeCollector(client, elapsed, {
    cache: caches.clientSecrets,
    asCached: (secret, namespace, forMs) => clientSecretOrphanhood(secret, caches.providers.list(namespace), forMs),
    async asListed(secret, namespace, forMs) {
      const providers = await client.listAll<OAuthProvider>(OAUTH_PROVIDERS, { namespace });
      return clientSecretOrphanhood(secret, providers.items, forMs);
    },
  });
}

/** How it is told whether a Secret is needed, after nothing has named it for so many milliseconds. */
interface Judging {
  readonly cache: Store;
  readonly asCached: (secret: KubeObject, namespace: string, forMs: number) => Orphanhood;
  readonly asListed: (secret: KubeObject, namespace: string, forMs: number) => Promise<Orphanhood>;
}

function makeCollector(client: KubeClient, elapsed: () => number, judging: Judging): Reconcile {
  /** Of every Secret that nothing named when it was last looked at, by its key: which one it is, since when. */
  const nobodys = new Map<string, { readonly uid: string; readonly since: number }>();

  function nobodysFor(key: string, uid: string): number {
    const before = nobodys.get(key);
    if (before?.uid === uid) return elapsed() - before.since;
    nobodys.set(key, { uid, since: elapsed() });
    return 0;
  }

  return async function collect(key, _signal, log) {
    const { namespace, name } = refOf(key);
    const secret = judging.cache.get({ namespace, name });
    if (!secret) {
      nobodys.delete(key);
      return {};
    }
    const forMs = nobodysFor(key, secret.metadata.uid ?? '');
    const seen = judging.asCached(secret, namespace, forMs);
    if (seen.is === 'young') return { requeueAfterMs: seen.forMs };
    if (seen.is === 'needed') {
      nobodys.delete(key);
      return {};
    }
    const live = await judging.asListed(secret, namespace, forMs);
    if (live.is === 'orphan') await removeOrphan(secret, client, log);
    return {};
  };
}

async function removeOrphan({ metadata }: KubeObject, client: KubeClient, log: Logger): Promise<void> {
  const { namespace = '', name, uid = '', resourceVersion = '' } = metadata;
  try {
    await client.remove(SECRETS, { namespace, name }, { uid, resourceVersion });
    log.info({ namespace, secret: name }, 'Collected a Secret that nothing names');
  } catch (error) {
    if (!(error instanceof NotFound)) throw error;
  }
}

/** Adds the keys of client secrets to the queue when they, or the providers that name them, change. Returns how to stop. */
export function wakeClientSecretCollector(caches: Caches, queue: WorkQueue): () => void {
  const wake = ({ metadata }: KubeObject): void => {
    if (metadata.labels?.[PROVIDER_LABEL] !== undefined) queue.add(keyOf(metadata.namespace, metadata.name));
  };
  const wakeThoseOf = ({ metadata }: KubeObject): void => {
    for (const secret of caches.clientSecrets.list(metadata.namespace)) {
      if (secret.metadata.labels?.[PROVIDER_LABEL] === metadata.name) wake(secret);
    }
  };
  const subscriptions = [
    caches.clientSecrets.onChange(({ object }) => wake(object)),
    caches.providers.onChange(({ object }) => wakeThoseOf(object)),
  ];
  for (const secret of caches.clientSecrets.list(caches.organizationNamespace)) wake(secret);
  return () => {
    for (const unsubscribe of subscriptions) unsubscribe();
  };
}

/** Adds the keys of Secrets of values to the queue when they, or what names them, change. Returns how to stop. */
export function wakeCollector(caches: Caches, queue: WorkQueue): () => void {
  const wake = ({ metadata }: KubeObject): void => {
    if (metadata.labels?.[VARIABLES_LABEL] !== undefined) queue.add(keyOf(metadata.namespace, metadata.name));
  };
  const wakeThoseOf = (namespace: string | undefined, deployment: string | undefined): void => {
    if (namespace === undefined || deployment === undefined) return;
    for (const secret of caches.secrets.byLabel(namespace, DEPLOYMENT_LABEL, deployment)) wake(secret);
  };
  const subscriptions = [
    caches.secrets.onChange(({ object }) => wake(object)),
    // What names a Secret frees it in two ways: it goes, or it names another.
    caches.records.onChange(({ type, object: { metadata }, previous }) => {
      const changed = previous !== undefined && previous.metadata.generation !== metadata.generation;
      if (type === 'deleted' || changed) wakeThoseOf(metadata.namespace, metadata.name);
    }),
    caches.revisions.onChange(({ type, object }) => {
      if (type === 'deleted') wakeThoseOf(object.metadata.namespace, object.spec.deploymentName);
    }),
  ];
  for (const secret of caches.secrets.list()) wake(secret);
  return () => {
    for (const unsubscribe of subscriptions) unsubscribe();
  };
}
