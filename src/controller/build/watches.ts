// Enqueues builds when an object that affects them changes.

import type { AppRevision } from '../../api/app-revision.ts';
import { FINAL_PHASES, isBegun } from '../../api/build.ts';
import { BUILD_LABEL, BUILD_TENANT_LABEL, DEPLOYMENT_LABEL } from '../../api/meta.ts';
import type { KubeObject } from '../../kube/client.ts';
import { isBuilt } from '../../record/build-source.ts';
import { endAll } from '../../runtime/store.ts';
import type { WorkQueue } from '../../runtime/work-queue.ts';
import type { BuildCaches, Caches } from '../shared/caches.ts';
import { keyOf } from '../shared/keys.ts';

/**
 * Enqueues all unfinished builds, and from then on each build that a change affects. Returns a function that
 * unsubscribes.
 */
export function wakeBuilds(caches: Caches, builds: BuildCaches, queue: WorkQueue): () => void {
  const wake = ({ metadata, spec }: AppRevision): void => queue.add(keyOf(metadata.namespace, spec.id.toLowerCase()));
  const wakeOwner = ({ object: { metadata } }: { readonly object: KubeObject }): void => {
    const id = metadata.labels?.[BUILD_LABEL];
    if (id !== undefined) queue.add(keyOf(metadata.labels?.[BUILD_TENANT_LABEL], id));
  };
  const wakeQueued = (): void =>
    caches.revisions
      .list()
      .filter(({ status }) => status?.build?.phase === 'Queued')
      .forEach(wake);
  const subscriptions = [
    caches.revisions.onChange(({ type, object, previous }) => {
      if (isBuilt(object)) wake(object);
      // A build slot has become free.
      if (isBegun(previous?.status?.build) && (type === 'deleted' || !isBegun(object.status?.build))) wakeQueued();
    }),
    // The record's build may be interrupted, or the record is being deleted.
    caches.records.onChange(({ object: { metadata } }) => {
      const own = caches.revisions.byLabel(metadata.namespace ?? '', DEPLOYMENT_LABEL, metadata.name);
      own.filter(isUnfinished).forEach(wake);
    }),
    builds.jobs.onChange(wakeOwner),
    builds.pods.onChange(wakeOwner),
  ];
  caches.revisions.list().filter(isUnfinished).forEach(wake);
  for (const job of builds.jobs.list()) wakeOwner({ object: job });
  return endAll(subscriptions);
}

function isUnfinished(revision: AppRevision): boolean {
  const phase = revision.status?.build?.phase;
  return isBuilt(revision) && (phase === undefined || !FINAL_PHASES.has(phase));
}
