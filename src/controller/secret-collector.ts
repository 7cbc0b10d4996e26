// Collects the Secrets of values that no record and no revision names. Decided on the caches, and once more on a live
// list before anything is deleted: a cache may not know a record that was made a moment ago.

import { APP_DEPLOYMENTS, type AppDeployment } from '../api/app-deployment.ts';
import { APP_REVISIONS, type AppRevision } from '../api/app-revision.ts';
import { DEPLOYMENT_LABEL, VARIABLES_LABEL } from '../api/meta.ts';
import { orphanhoodOf } from '../decide/orphans.ts';
import { NotFound } from '../errors.ts';
import type { KubeObject } from '../kube/client.ts';
import { SECRETS } from '../kube/resources.ts';
import type { Reconcile } from '../runtime/controller.ts';
import type { WorkQueue } from '../runtime/work-queue.ts';
import type { Shell } from './apply.ts';
import type { Caches } from './caches.ts';
import { keyOf } from './watches.ts';

/** Reconciles one Secret of values, by its key. `elapsed` are milliseconds of a clock that never goes back. */
export function makeSecretCollector(shell: Shell, elapsed: () => number): Reconcile {
  const { caches, client } = shell;
  /** Of every Secret of values that nothing named when it was last looked at, by its key: which one it is, since when. */
  const nobodys = new Map<string, { readonly uid: string; readonly since: number }>();

  function nobodysFor(key: string, uid: string): number {
    const before = nobodys.get(key);
    if (before?.uid === uid) return elapsed() - before.since;
    nobodys.set(key, { uid, since: elapsed() });
    return 0;
  }

  return async function collect(key, _signal, log) {
    const [namespace = '', name = ''] = key.split('/');
    const secret = caches.secrets.get({ namespace, name });
    if (!secret) {
      nobodys.delete(key);
      return {};
    }
    const { uid = '', resourceVersion = '' } = secret.metadata;
    const forMs = nobodysFor(key, uid);
    const seen = orphanhoodOf(secret, caches.records.list(namespace), caches.revisions.list(namespace), forMs);
    if (seen.is === 'young') return { requeueAfterMs: seen.forMs };
    if (seen.is === 'needed') {
      nobodys.delete(key);
      return {};
    }
    const [records, revisions] = await Promise.all([
      client.listAll<AppDeployment>(APP_DEPLOYMENTS, { namespace }),
      client.listAll<AppRevision>(APP_REVISIONS, { namespace }),
    ]);
    if (orphanhoodOf(secret, records.items, revisions.items, forMs).is !== 'orphan') return {};
    try {
      await client.remove(SECRETS, { namespace, name }, { uid, resourceVersion });
      log.info({ namespace, secret: name }, 'Collected a Secret of values that nothing names');
    } catch (error) {
      if (!(error instanceof NotFound)) throw error;
    }
    return {};
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
