// Enqueues builds when an object that affects them changes.

import type { Caches } from '../deploy/cluster/caches.ts';
import { isBuilt } from '../deploy/record/build-source.ts';
import type { AppRevision } from '../kinds/app-revision.ts';
import { isBegun, isUnderWay } from '../kinds/build.ts';
import { BUILD_LABEL, BUILD_TENANT_LABEL, DEPLOYMENT_LABEL, TENANT_LABEL } from '../kinds/meta.ts';
import type { Settings } from '../kinds/settings.ts';
import { keyOf } from '../runtime/controller/keys.ts';
import { endAll } from '../runtime/controller/store.ts';
import type { WorkQueue } from '../runtime/controller/work-queue.ts';
import type { KubeObject } from '../runtime/kube/client.ts';
import type { BuildCaches } from './caches.ts';
import { turnsNow } from './observe.ts';
import { isUnfinished } from './outcome.ts';

/**
 * Enqueues all unfinished builds, and from then on each build that a change affects. Returns a function that
 * unsubscribes.
 */
export function wakeBuilds(
  caches: Caches,
  builds: BuildCaches,
  { queue, settings }: { readonly queue: WorkQueue; readonly settings: Settings },
): () => void {
  const wake = ({ metadata, spec }: AppRevision): void => queue.add(keyOf(metadata.namespace, spec.id.toLowerCase()));
  const wakeOwner = ({ object: { metadata } }: { readonly object: KubeObject }): void => {
    const id = metadata.labels?.[BUILD_LABEL];
    if (id !== undefined) queue.add(keyOf(metadata.labels?.[BUILD_TENANT_LABEL], id));
  };
  const wakeTurns = (): void => turnsNow({ caches, builds, settings }).forEach(wake);
  const revisionsOf = (namespace: string | undefined, name: string): readonly AppRevision[] =>
    caches.revisions.byLabel(namespace ?? '', DEPLOYMENT_LABEL, name);
  const subscriptions = [
    caches.revisions.onChange(({ type, object, previous }) => {
      if (isBuilt(object)) wake(object);
      // A deletion that a list has shown has no previous state.
      const [before, after] = [
        (previous ?? (type === 'deleted' ? object : undefined))?.status?.build,
        object.status?.build,
      ];
      if (type === 'modified' && before?.phase === after?.phase && before?.commit === after?.commit) return;
      // An earlier build may be unwanted now, and a later one may wait for this one.
      revisionsOf(object.metadata.namespace, object.spec.deploymentName).filter(isUnfinished).forEach(wake);
      // A turn has become free, or was held for this build.
      if (isUnderWay(before) && (type === 'deleted' || !isBegun(after))) wakeTurns();
    }),
    // The record's build may be interrupted, or the record is paused, and others have its turn. If the record is being
    // deleted, finished builds lose their Jobs too.
    caches.records.onChange(({ object: { metadata } }) => {
      const affected = metadata.deletionTimestamp === undefined ? isUnfinished : isBuilt;
      const own = revisionsOf(metadata.namespace, metadata.name).filter(affected);
      own.forEach(wake);
      if (own.length > 0) wakeTurns();
    }),
    // The namespace has gained or lost its tenant label. Without it, finished builds lose their Jobs too.
    caches.namespaces.onChange(({ object, previous }) => {
      const [now, before] = [object, previous].map((one) => one?.metadata.labels?.[TENANT_LABEL]);
      if (now === before) return;
      caches.revisions.list(object.metadata.name).filter(isBuilt).forEach(wake);
      wakeTurns();
    }),
    builds.jobs.onChange((change) => {
      wakeOwner(change);
      if (change.type === 'deleted') wakeTurns();
    }),
    builds.pods.onChange(wakeOwner),
  ];
  caches.revisions.list().filter(isUnfinished).forEach(wake);
  for (const job of builds.jobs.list()) wakeOwner({ object: job });
  return endAll(subscriptions);
}
