// Reconciles one Listener: its namespace on the hub with the agent's account, rights and Lease, and whether its cluster reports.

import { withAppliedDigest } from '../../deploy/cluster/apply.ts';
import { type Caches, LISTENER_NAMED } from '../../deploy/cluster/caches.ts';
import type { Cluster } from '../../deploy/cluster/cluster.ts';
import { hasDrifted } from '../../deploy/plan/drift.ts';
import { LISTENERS, type Listener } from '../../kinds/listener.ts';
import { hubNamespace, LISTENER_AGENT } from '../../kinds/listener-names.ts';
import { LISTENER_WORKS, type ListenerWork } from '../../kinds/listener-work.ts';
import { FIELD_MANAGER, LISTENER_FINALIZER, LISTENER_LABEL } from '../../kinds/meta.ts';
import type { Settings } from '../../kinds/settings.ts';
import { overlayWrite, placeOf, until } from '../../runtime/controller/cluster.ts';
import type { Reconcile } from '../../runtime/controller/controller.ts';
import { keyOf, refOf } from '../../runtime/controller/keys.ts';
import { reportStatus } from '../../runtime/controller/report-status.ts';
import { earliestRequeue } from '../../runtime/controller/requeue.ts';
import type { WorkQueue } from '../../runtime/controller/work-queue.ts';
import { NotFound, undefinedIfNotFound } from '../../runtime/errors.ts';
import { LEASES, NAMESPACES } from '../../runtime/kube/api-resources.ts';
import type { KubeObject } from '../../runtime/kube/client.ts';
import type { ListenerCaches } from './caches.ts';
import { type Contact, contactOf, type Heard, listenerStatus } from './contact.ts';
import type { Hearing } from './hearing.ts';
import { type ControllerAccount, makeHubNamespace, makeHubObjects, makeLease } from './objects.ts';
import { dropFinalizer, isGone, releaseWork } from './works.ts';

export interface ListenersOptions {
  readonly home: Cluster;
  readonly listening: ListenerCaches;
  readonly settings: Settings;
  readonly hearing: Hearing;
  readonly account: ControllerAccount;
  readonly now: () => Date;
  /** Milliseconds of a clock that never jumps. */
  readonly elapsed: () => number;
}

/** The objects in a Listener's namespace are not watched. They are compared this often. */
const COMPARED_MS = 10 * 60_000;
/** How soon a Listener that has no room gets its namespace when another one is gone. */
const SURPLUS_MS = 60_000;
/** While the Leases cannot be watched. */
const LOOK_AGAIN_MS = 5000;

/** Reconciles one Listener, by `namespace/name`. */
export function makeListenerReconciler(options: ListenersOptions): Reconcile {
  const { listening, settings, hearing, account, now, elapsed } = options;
  const { caches } = options.home;
  /** uid of the Listener → when its objects were last compared. */
  const compared = new Map<string, number>();

  return async function reconcile(key, signal) {
    const home = until(options.home, signal);
    const found = caches.listeners.get(refOf(key));
    if (found === undefined) return {};
    const { uid = '', namespace: tenant = '' } = found.metadata;
    const namespace = hubNamespace(uid);
    const there = caches.namespaces.get({ name: namespace });
    const isForeign = there !== undefined && there.metadata.labels?.[LISTENER_LABEL] !== uid;
    const isSurplus = there === undefined && !hasRoom(found, caches, settings.listeners.perTenant);
    const works = isForeign ? [] : listening.works.list(namespace);
    const records = caches.records.byIndex(tenant, LISTENER_NAMED, uid);
    if (!settings.paused) await settleWorks(works, there?.metadata.deletionTimestamp !== undefined, home);

    let isLeaving = false;
    const isUsed = works.length > 0 || records.length > 0;
    if (found.metadata.deletionTimestamp !== undefined && !isUsed) {
      if (!settings.paused) {
        isLeaving = (await dismantle(found, isForeign ? undefined : there, home)) === 'leaving';
        if (!isLeaving) return {};
      }
    } else if (!settings.paused && !isSurplus) {
      // Also of one that is being deleted: its records go through its namespace.
      if (found.metadata.deletionTimestamp === undefined) await ensureFinalizer(found, home);
      const isFresh = there !== undefined && elapsed() - (compared.get(uid) ?? -COMPARED_MS) < COMPARED_MS;
      // Nothing can be made in a namespace that goes.
      if (!isForeign && !isFresh && there?.metadata.deletionTimestamp === undefined) {
        await ensureObjects(found, there, account, home);
        compared.set(uid, elapsed());
      }
    }
    const listener = caches.listeners.get(refOf(key));
    if (listener?.metadata.uid !== uid) return {};
    const heard = hearing.of(namespace);
    if (heard === undefined) return { requeueAfterMs: LOOK_AGAIN_MS };
    const lease = listening.leases.get({ namespace, name: LISTENER_AGENT });
    const silentAfterMs = settings.listeners.silentAfterSeconds * 1000;
    const seen: Heard = { lease: isForeign ? undefined : lease, silentAfterMs, ...heard };
    const contact = isForeign
      ? foreign(namespace, listener)
      : isLeaving
        ? leaving(namespace, listener)
        : isSurplus
          ? surplus(listener, settings.listeners.perTenant)
          : contactOf(listener, seen);
    const status = listenerStatus(listener, { contact, heard: seen, namespace, records: records.length }, now());
    try {
      await reportStatus(listener, status, home, { fieldManager: FIELD_MANAGER });
    } catch (error) {
      // Deleted during the reconcile.
      if (!(error instanceof NotFound)) throw error;
    }
    return earliestRequeue(contact.silentInMs, isSurplus ? SURPLUS_MS : COMPARED_MS);
  };

  async function settleWorks(works: readonly ListenerWork[], isLeaving: boolean, home: Cluster): Promise<void> {
    for (const work of works) {
      const hasRecord = caches.records.byUid(work.metadata.name) !== undefined;
      // Somebody deleted it, and not its record. In a namespace that goes, no cluster can answer any more.
      const isLetGo = work.spec.removed !== true || (hasRecord && isLeaving);
      if (isLetGo && work.metadata.deletionTimestamp !== undefined) await dropFinalizer(work, home);
      // Otherwise a work with a record is the record's to settle.
      else if (!isLetGo && !hasRecord && isGone(work)) await releaseWork(work, home);
    }
  }
}

/** Whether the tenant's limit allows one more namespace. Those that have one keep it; the others come in the order of their creation. */
function hasRoom({ metadata }: Listener, caches: Caches, perTenant: number): boolean {
  const isBefore = ({ metadata: other }: Listener): boolean => {
    if (other.uid === metadata.uid) return false;
    if (caches.namespaces.get({ name: hubNamespace(other.uid ?? '') }) !== undefined) return true;
    const [first, second] = [other.creationTimestamp ?? '', metadata.creationTimestamp ?? ''];
    return first === second ? (other.uid ?? '') < (metadata.uid ?? '') : first < second;
  };
  return caches.listeners.list(metadata.namespace).filter(isBefore).length < perTenant;
}

function disconnected({ status }: Listener, reason: string, message: string): Contact {
  const connected = { type: 'Connected', status: 'False', reason, message } as const;
  return { connected, clusterId: status?.clusterId, silentInMs: undefined };
}

function surplus(listener: Listener, perTenant: number): Contact {
  return disconnected(
    listener,
    'TooManyListeners',
    `Namespace ${listener.metadata.namespace} has more than ${perTenant} Listeners, the limit of this platform. Delete another one, and this one continues automatically; or ask the platform team to raise settings.listeners.perTenant.`,
  );
}

/** The namespace may take long, or be held by somebody's finalizer: nothing can report in there meanwhile. */
function leaving(namespace: string, listener: Listener): Contact {
  return disconnected(
    listener,
    'Deleting',
    `The Listener is being deleted and waits for the deletion of its namespace ${namespace}. To see what blocks it: kubectl get namespace ${namespace} -o yaml.`,
  );
}

function foreign(namespace: string, listener: Listener): Contact {
  return disconnected(
    listener,
    'NameConflict',
    `Namespace ${namespace} was not created for this Listener. Delete it, or delete the Listener and create it again.`,
  );
}

async function ensureFinalizer(listener: Listener, home: Cluster): Promise<void> {
  const { finalizers = [] } = listener.metadata;
  if (!finalizers.includes(LISTENER_FINALIZER))
    await patchFinalizers(listener, [...finalizers, LISTENER_FINALIZER], home);
}

async function patchFinalizers(listener: Listener, finalizers: readonly string[], home: Cluster): Promise<void> {
  const { uid, resourceVersion } = listener.metadata;
  const patch = { metadata: { uid, resourceVersion, finalizers } };
  const written = await home.client
    .mergePatch<Listener>(LISTENERS, placeOf(listener), patch, { fieldManager: FIELD_MANAGER })
    .catch(undefinedIfNotFound);
  if (written !== undefined && listener.metadata.deletionTimestamp === undefined) overlayWrite(home.caches, written);
}

async function ensureObjects(
  listener: Listener,
  namespace: KubeObject | undefined,
  account: ControllerAccount,
  home: Cluster,
): Promise<void> {
  const { uid = '' } = listener.metadata;
  if (namespace === undefined)
    overlayWrite(
      home.caches,
      await home.client.apply(NAMESPACES, makeHubNamespace(uid), {
        fieldManager: FIELD_MANAGER,
        force: true,
        onlyCreate: true,
      }),
    );
  for (const object of makeHubObjects(listener, account)) {
    await ensureObject(withAppliedDigest(object), home);
  }
  const lease = makeLease(uid, (listener.status?.epoch ?? 0) + 1);
  const there = await home.client.get(LEASES, placeOf(lease)).catch(undefinedIfNotFound);
  if (there === undefined)
    await home.client.apply(LEASES, lease, { fieldManager: FIELD_MANAGER, force: true, onlyCreate: true });
}

/** Applies the object unless it is there as it was applied last, and nobody has changed it. */
async function ensureObject(wanted: KubeObject, home: Cluster): Promise<void> {
  const resource = home.registry.resourceOf(wanted);
  const there = await home.client.get(resource, placeOf(wanted)).catch(undefinedIfNotFound);
  if (there !== undefined && !hasDrifted(wanted, there)) return;
  const { uid } = there?.metadata ?? {};
  const object = uid === undefined ? wanted : { ...wanted, metadata: { ...wanted.metadata, uid } };
  await home.client.apply(resource, object, {
    fieldManager: FIELD_MANAGER,
    force: true,
    ...(there === undefined && { onlyCreate: true }),
  });
}

/** Deletes the namespace, and when that is gone lets go of the Listener. `used`: a work came that the cache does not have yet. */
async function dismantle(
  listener: Listener,
  namespace: KubeObject | undefined,
  home: Cluster,
): Promise<'gone' | 'leaving' | 'used'> {
  const { finalizers = [], uid = '' } = listener.metadata;
  if (!finalizers.includes(LISTENER_FINALIZER)) return 'gone';
  if (namespace !== undefined) {
    if (namespace.metadata.deletionTimestamp !== undefined) return 'leaving';
    const works = await home.client.listAll(LISTENER_WORKS, { namespace: hubNamespace(uid), metadataOnly: true });
    if (works.items.length > 0) return 'used';
    const left = await home.client
      .remove(NAMESPACES, { name: namespace.metadata.name }, { uid: namespace.metadata.uid ?? '' })
      .catch(undefinedIfNotFound);
    if (left !== undefined) overlayWrite(home.caches, left);
    return 'leaving';
  }
  await patchFinalizers(
    listener,
    finalizers.filter((name) => name !== LISTENER_FINALIZER),
    home,
  );
  return 'gone';
}

/** Adds the keys of Listeners to the queue: all first, then those that something concerns. Returns a function that stops it. */
export function wakeListeners(caches: Caches, listening: ListenerCaches, queue: WorkQueue): () => void {
  const wake = ({ metadata }: Listener): void => queue.add(keyOf(metadata.namespace, metadata.name));
  const wakeUid = (uid: string | undefined): void => {
    const listener = uid === undefined ? undefined : caches.listeners.byUid(uid.toLowerCase());
    if (listener !== undefined) wake(listener);
  };
  const wakeOwnerOf = (namespace: string | undefined): void =>
    wakeUid(caches.namespaces.get({ name: namespace ?? '' })?.metadata.labels?.[LISTENER_LABEL]);
  const subscriptions = [
    caches.listeners.onChange(({ object }) => wake(object)),
    caches.namespaces.onChange(({ object }) => wakeUid(object.metadata.labels?.[LISTENER_LABEL])),
    listening.leases.onChange(({ object }) => wakeOwnerOf(object.metadata.namespace)),
    listening.works.onChange(({ object }) => wakeOwnerOf(object.metadata.namespace)),
    // The number of records that name it.
    caches.records.onChange(({ type, object, previous }) => {
      if (type !== 'modified' || previous === undefined) wakeUid(object.spec.sourceConfig.listenerId);
    }),
  ];
  for (const listener of caches.listeners.list()) wake(listener);
  return () => {
    for (const unsubscribe of subscriptions) unsubscribe();
  };
}
