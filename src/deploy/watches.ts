// What wakes which record. Only keys are handed on: what happened is looked up again by the reconciler.

import { isDeepStrictEqual } from 'node:util';
import type { AppDeployment } from '../kinds/app-deployment.ts';
import { BACKUPS_FOR_ANNOTATION, BACKUPS_OF_ANNOTATION, DEPLOYMENT_LABEL, HOSTS_ANNOTATION } from '../kinds/meta.ts';
import type { BackupSettings } from '../kinds/settings.ts';
import { uses } from '../kinds/source-rules.ts';
import { keyOf } from '../runtime/controller/keys.ts';
import { type Change, endAll } from '../runtime/controller/store.ts';
import type { WorkQueue } from '../runtime/controller/work-queue.ts';
import type { KubeObject } from '../runtime/kube/client.ts';
import { SECRETS_NAMED } from '../tokens/caches.ts';
import { type Caches, LISTENER_NAMED } from './cluster/caches.ts';
import type { HostRegistry } from './host-registry.ts';

/** Adds the keys of records to the queue from now on, until the returned function is called. */
export function enqueueOnChange(
  caches: Caches,
  queue: WorkQueue,
  hosts: HostRegistry,
  backups?: BackupSettings,
): () => void {
  const subscriptions = [
    caches.records.onChange(({ object }) => queue.add(keyOf(object.metadata.namespace, object.metadata.name))),
    caches.tracingProjects.onChange(({ object }) => wakeIfThere(object.metadata.namespace, object.metadata.name)),
    caches.operations.onChange(({ object }) => wakeIfThere(object.metadata.namespace, object.spec.deployment)),
    caches.revisions.onChange(wakeOwner),
    caches.pods.onChange(wakeOwner),
    ...[...caches.children.values()].map((cache) => cache.onChange(wakeOwner)),
    caches.secrets.onChange(({ object: { metadata } }) =>
      wake(caches.records.byIndex(metadata.namespace ?? '', SECRETS_NAMED, metadata.name)),
    ),
    // Backups wait for the credentials of their store, and the platform makes some for records that do not ask for them.
    caches.secrets.onChange(({ object: { metadata } }) => {
      if (metadata.name === backups?.store?.credentialsSecret) wakeThose(metadata.namespace, () => true);
    }),
    caches.templates.onChange(() => wakeThose(undefined, ({ spec }) => uses(spec.source, 'catalogue'))),
    caches.integrations.onChange((change) => {
      if (isOfSpec(change)) wakeThose(undefined, ({ spec }) => integrationIn(spec) === change.object.metadata.uid);
    }),
    // A host is free again, or the kind that addresses are made of is there.
    hosts.onFreed((key) => queue.add(key)),
    ...(caches.addresses ? [caches.addresses.onInstalled(() => wakeThose(undefined, () => true))] : []),
    // KEDA has been installed or removed.
    ...caches.keda.map((cache) =>
      cache.onInstalled(() => wakeThose(undefined, ({ spec }) => spec.sourceConfig.runtime?.queueDepth !== undefined)),
    ),
    // So has CloudNativePG. Without a driver of its own a record may have that of the platform.
    ...(caches.postgresClusters ? [caches.postgresClusters.onInstalled(() => wakeThose(undefined, () => true))] : []),
    // So has its plugin, or an archive with which a database is to begin has become known.
    ...(caches.objectStores
      ? [
          caches.objectStores.onInstalled(() => wakeThose(undefined, asksForArchive)),
          caches.objectStores.onChange(({ object: { metadata } }) => {
            const from = metadata.labels?.[DEPLOYMENT_LABEL];
            wakeThose(metadata.namespace, ({ spec }) => begunWith(spec) === from);
          }),
        ]
      : []),
    // A base backup has no label of its record's.
    ...(caches.baseBackups
      ? [
          caches.baseBackups.onChange(({ object: { metadata, spec } }) => {
            const place = { namespace: metadata.namespace ?? '', name: spec?.cluster?.name ?? '' };
            const owner = caches.postgresClusters?.get(place)?.metadata.labels?.[DEPLOYMENT_LABEL];
            if (owner !== undefined) wakeIfThere(metadata.namespace, owner);
          }),
        ]
      : []),
    caches.listeners.onChange(({ object: { metadata } }) =>
      wake(caches.records.byIndex(metadata.namespace ?? '', LISTENER_NAMED, metadata.uid ?? '')),
    ),
    // A namespace that becomes a tenant, or begins to go, concerns all of its records, and those that begin with a backup of one.
    caches.namespaces.onChange((change) => {
      if (concernsRecords(change)) wakeThose(undefined, (record) => isIn(change.object.metadata.name, record));
    }),
  ];
  return endAll([...subscriptions, onOrigin(caches, queue)]);

  // Whose it was concerns it as well: of Secrets, which are watched whatever their labels, a person may have taken those off.
  function wakeOwner({ object, previous }: Change<KubeObject>): void {
    const owners = [object, previous].map((one) => one?.metadata.labels?.[DEPLOYMENT_LABEL]);
    for (const owner of new Set(owners)) if (owner !== undefined) wakeIfThere(object.metadata.namespace, owner);
  }
  function wakeIfThere(namespace: string | undefined, name: string): void {
    if (namespace !== undefined && caches.records.get({ namespace, name })) queue.add(keyOf(namespace, name));
  }
  function wake(records: readonly AppDeployment[]): void {
    for (const { metadata } of records) queue.add(keyOf(metadata.namespace, metadata.name));
  }
  // For news of which every record, or nearly every one, has to know.
  function wakeThose(namespace: string | undefined, which: (record: AppDeployment) => boolean): void {
    wake(caches.records.list(namespace).filter(which));
  }
}

function asksForArchive({ spec }: AppDeployment): boolean {
  return spec.sourceConfig.database?.archive !== undefined || begunWith(spec) !== undefined;
}

/** Wakes those that begin with a backup of a deployment when its consent or its driver changes, and when it goes. */
function onOrigin({ records }: Caches, queue: WorkQueue): () => void {
  const judged = (one?: AppDeployment): readonly (string | undefined)[] => [
    one?.metadata.annotations?.[BACKUPS_FOR_ANNOTATION],
    one?.status?.databaseDriver,
    one?.metadata.deletionTimestamp,
  ];
  return records.onChange(({ type, object, previous }) => {
    if (type !== 'deleted' && isDeepStrictEqual(judged(object), judged(previous))) return;
    const { namespace, name } = object.metadata;
    // Without its consent no other namespace loads its backups.
    const isShared = (judged(object)[0] ?? judged(previous)[0]) !== undefined;
    for (const { metadata, spec } of records.list(isShared ? undefined : namespace)) {
      const { restore } = spec.sourceConfig.database ?? {};
      const isOrigin = restore?.from === name && (restore.namespace ?? metadata.namespace) === namespace;
      if (isOrigin) queue.add(keyOf(metadata.namespace, metadata.name));
    }
  });
}

/** Whether the record, or the backup with which its database begins, is in this namespace. */
function isIn(namespace: string, { metadata, spec }: AppDeployment): boolean {
  return [metadata.namespace, spec.sourceConfig.database?.restore?.namespace].includes(namespace);
}

/** Whether the annotation has another value now. */
function isAnnotated({ object, previous }: Change<KubeObject>, name: string): boolean {
  return object.metadata.annotations?.[name] !== previous?.metadata.annotations?.[name];
}

/** Name of the deployment with whose archive the database begins. */
function begunWith({ sourceConfig }: AppDeployment['spec']): string | undefined {
  const { restore } = sourceConfig.database ?? {};
  return restore?.archive === true ? restore.from : undefined;
}

/** The status of an integration is written at each push. */
function isOfSpec({ type, object, previous }: Change<KubeObject>): boolean {
  return type === 'deleted' || previous?.metadata.generation !== object.metadata.generation;
}

/** uid; people write it in any case. */
function integrationIn({ sourceConfig }: AppDeployment['spec']): string | undefined {
  return sourceConfig.integrationId?.toLowerCase();
}

function concernsRecords(change: Change<KubeObject>): boolean {
  const { object, previous } = change;
  if (!previous) return true;
  return (
    JSON.stringify(object.metadata.labels) !== JSON.stringify(previous.metadata.labels) ||
    isAnnotated(change, HOSTS_ANNOTATION) ||
    isAnnotated(change, BACKUPS_OF_ANNOTATION) ||
    object.metadata.deletionTimestamp !== previous.metadata.deletionTimestamp
  );
}
