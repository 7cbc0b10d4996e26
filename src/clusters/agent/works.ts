// Reconciles one work of the hub in a listener's cluster: the copy of the deployment with its Secrets, and the report to the hub.

import { isDeepStrictEqual } from 'node:util';
import { withAppliedDigest } from '../../deploy/cluster/apply.ts';
import { ownRevisions } from '../../deploy/cluster/caches.ts';
import { hasDrifted } from '../../deploy/plan/drift.ts';
import { APP_DEPLOYMENTS, type AppDeployment } from '../../kinds/app-deployment.ts';
import { LISTENER_WORKS, type ListenerWork } from '../../kinds/listener-work.ts';
import {
  APPLIED_ANNOTATION,
  DEPLOYMENT_LABEL,
  LISTENER_COPY_LABEL,
  ORIGIN_ID_ANNOTATION,
  ORIGIN_VERSION_ANNOTATION,
} from '../../kinds/meta.ts';
import { quoted, steadyMessage } from '../../kinds/text.ts';
import { abortable } from '../../runtime/controller/clients/wrap-client.ts';
import { placeOf } from '../../runtime/controller/cluster.ts';
import type { Reconcile } from '../../runtime/controller/controller.ts';
import type { WorkQueue } from '../../runtime/controller/work-queue.ts';
import {
  AlreadyExists,
  Conflict,
  isRefusal,
  NotFound,
  ServerError,
  undefinedIfNotFound,
} from '../../runtime/errors.ts';
import { SECRETS } from '../../runtime/kube/api-resources.ts';
import type { KubeClient, KubeObject, SecretObject } from '../../runtime/kube/client.ts';
import { applyOrReplace } from '../../runtime/kube/immutable-secret.ts';
import type { AgentCaches } from './caches.ts';
import { checkedStep, isAbsent, isGoneForSure } from './looks.ts';
import {
  type AgentSeen,
  type AgentStep,
  isCopyOf,
  type Rejection,
  refusal,
  reportFor,
  restoreFrom,
  type SecretToCopy,
  secretConflict,
} from './step.ts';

/** Server-side apply field manager of the agent, on both clusters. */
const MANAGER = 'davit-listener';

export interface AgentOptions {
  readonly hub: KubeClient;
  readonly local: KubeClient;
  readonly caches: AgentCaches;
  /** The hub's namespace of the Listener. */
  readonly namespace: string;
  /** Namespaces of this cluster that the agent serves. */
  readonly served: readonly string[];
  readonly clusterId: string;
  readonly listenerId: string;
  readonly epoch: () => number;
}

/** Reconciles one work, by its name. */
export function makeAgentReconciler(options: AgentOptions): Reconcile {
  const { caches, namespace, served, clusterId, listenerId, epoch } = options;

  function look(work: ListenerWork, live?: AppDeployment): AgentSeen {
    const place = work.spec.namespace;
    const copy = live ?? caches.copies.get({ namespace: place, name: work.spec.name });
    const { name } = work.metadata;
    const from = restoreFrom(work.spec.deployment);
    return {
      work,
      clusterId,
      listenerId,
      epoch: epoch(),
      namespace: served.includes(place) ? caches.namespaces.get({ name: place }) : undefined,
      copy,
      restoredFrom: from === undefined ? undefined : caches.copies.get({ namespace: place, name: from }),
      secrets: caches.secrets.byLabel(place, LISTENER_COPY_LABEL, name),
      revisions: copy ? ownRevisions(copy, caches) : [],
      isOnHub: (id) => caches.works.get({ namespace, name: id }) !== undefined,
    };
  }

  /** Name of a work → its generation at the last rejection. A changed work gets the new message. */
  const rejected = new Map<string, number>();

  async function report(work: ListenerWork, status: NonNullable<ListenerWork['status']>, to: Clusters): Promise<void> {
    const { metadata, spec } = work;
    const said = rejected.get(metadata.name) === spec.generation ? work.status?.rejection : undefined;
    const { rejection } = status;
    if (rejection === undefined) rejected.delete(metadata.name);
    else rejected.set(metadata.name, spec.generation);
    const steady = rejection && { ...rejection, message: steadyMessage(rejection.message, said?.message) };
    await sendReport(work, { ...status, ...(steady && { rejection: steady }) }, to);
  }

  return async function reconcile(key, signal) {
    const hub = abortable(options.hub, signal);
    const local = abortable(options.local, signal);
    const clusters = { hub, local, caches, namespace };
    const work = caches.works.get({ namespace, name: key });
    // Absence says nothing: what is here stays.
    if (work === undefined) return {};
    const cached = look(work);
    const { seen, step } = await checkedStep(cached, local, (copy) => look(work, copy));
    switch (step.do) {
      case 'ignore':
        return {};
      case 'reject': {
        const { rejection } = step;
        await report(work, reportFor(cached, { rejection, absent: await isAbsent(seen, options, local) }), clusters);
        // Nobody tells of the deletion of an object that the cache does not have.
        return seen === cached ? {} : { requeueAfterMs: RETRY_MS };
      }
      case 'gone':
      case 'remove': {
        const removed = await remove(seen, step, clusters);
        if (removed === 'gone') await report(work, reportFor(seen, { gone: true }), clusters);
        if (removed === 'gone') return {};
        // Nobody tells of the deletion of an object that the cache does not have.
        if (removed === 'asked for') return seen === cached ? {} : { requeueAfterMs: LOOK_AGAIN_MS };
        if (removed === 'still there') return { requeueAfterMs: LOOK_AGAIN_MS };
        await report(work, reportFor(seen, { rejection: removed }), clusters);
        return { requeueAfterMs: RETRY_MS };
      }
      case 'bring': {
        const rejection = await bring(seen, step, clusters).catch(async (error: unknown) => {
          if (isExplained(error)) await report(work, reportFor(look(work), { rejection: refusal(error) }), clusters);
          throw error;
        });
        const absent = !isCopyOf(work, seen.copy);
        await report(work, reportFor(look(work), { rejection, absent }), clusters);
        return rejection === undefined ? {} : { requeueAfterMs: RETRY_MS };
      }
    }
  };
}

/** Both clusters, as one reconcile writes to them. */
type Clusters = Pick<AgentOptions, 'hub' | 'local' | 'caches' | 'namespace'>;

/** What came of it; why the cluster refuses it, which another Listener's namespace or a policy there may be. */
async function remove(
  seen: AgentSeen,
  step: Extract<AgentStep, { readonly do: 'gone' | 'remove' }>,
  clusters: Clusters,
): Promise<'gone' | 'still there' | 'asked for' | Rejection> {
  const { work } = seen;
  const { local } = clusters;
  try {
    // The cache may lack a copy that was just created.
    if (step.do === 'gone') return (await isGoneForSure(seen, local)) ? 'gone' : 'still there';
    const isLeaving = step.copy?.metadata.deletionTimestamp !== undefined;
    if (step.copy === undefined) await removeSecrets(step.secrets, local);
    else if (!isLeaving) await removeCopy(step.copy, local);
    // What kept it from that before does not any more.
    if (work.status?.rejection !== undefined) await sendReport(work, reportFor(seen, {}), clusters);
    return 'asked for';
  } catch (error) {
    if (!isRefusal(error) && !isExplained(error)) throw error;
    return {
      reason: 'NamespaceNotAllowed',
      message: `The API server of the cluster does not allow the agent to delete objects in namespace ${work.spec.namespace} of the cluster (${quoted(error.words)}). In that cluster, add the namespace to listener.namespaces, and check which policies and webhooks deny the deletion.`,
    };
  }
}

/** Such as a webhook that is down. The other two are races. */
function isExplained(error: unknown): error is ServerError {
  const isRace = error instanceof Conflict || error instanceof AlreadyExists;
  return error instanceof ServerError && error.serverMessage !== undefined && !isRace;
}

async function bring(
  seen: AgentSeen,
  step: { copy: AppDeployment; secrets: readonly SecretToCopy[]; stale: readonly KubeObject[] },
  clusters: Clusters,
): Promise<Rejection | undefined> {
  const { work, copy: existing } = seen;
  const { local, caches } = clusters;
  try {
    for (const secret of step.secrets) {
      const copied = await copySecret(work, secret, clusters);
      if (copied === undefined) return lostOnHub(secret.name, work);
      if (copied !== 'copied') return secretConflict(secret.name, copied.of, seen);
    }
    const wanted = withAppliedDigest(step.copy) as AppDeployment;
    const isApplied =
      existing?.metadata.annotations?.[APPLIED_ANNOTATION] === wanted.metadata.annotations?.[APPLIED_ANNOTATION] &&
      !hasDrifted(wanted, existing);
    if (!isApplied) caches.copies.overlay(await applyCopy(wanted, existing?.metadata.uid, local));
    await removeSecrets(step.stale, local);
    return undefined;
  } catch (error) {
    if (isRefusal(error)) return refusal(error);
    throw error;
  }
}

/** Undefined if the hub has lost it. Otherwise another has the name: `of` is the id of the deployment for which that was copied, if it was. */
async function copySecret(
  work: ListenerWork,
  { name, copy, version }: SecretToCopy,
  { hub, local, caches, namespace }: Clusters,
): Promise<'copied' | { readonly of: string | undefined } | undefined> {
  const original = await hub.get<SecretObject>(SECRETS, { namespace, name: copy }).catch(undefinedIfNotFound);
  if (original === undefined) return undefined;
  const place = { namespace: work.spec.namespace, name };
  const there = await local.get(SECRETS, place, { metadataOnly: true }).catch(undefinedIfNotFound);
  const owner = there?.metadata.labels?.[LISTENER_COPY_LABEL];
  if (there !== undefined && owner !== work.metadata.name) return { of: owner };
  const secret: SecretObject & { type: string } = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      ...place,
      ...(there?.metadata.uid !== undefined && { uid: there.metadata.uid }),
      labels: { [LISTENER_COPY_LABEL]: work.metadata.name },
      annotations: { [ORIGIN_VERSION_ANNOTATION]: version },
    },
    type: 'Opaque',
    data: original.data ?? {},
    ...(original.immutable === true && { immutable: true }),
  };
  const written = await applyOrReplace(local, secret, {
    fieldManager: MANAGER,
    force: true,
    ...(there === undefined && { onlyCreate: true }),
  });
  caches.secrets.overlay({ apiVersion: written.apiVersion, kind: written.kind, metadata: written.metadata });
  return 'copied';
}

async function sendReport(
  work: ListenerWork,
  status: NonNullable<ListenerWork['status']>,
  { hub, caches, namespace }: Pick<Clusters, 'hub' | 'caches' | 'namespace'>,
): Promise<void> {
  if (saysTheSame(work.status, status)) return;
  const { name, uid, resourceVersion } = work.metadata;
  try {
    const written = await hub.apply<KubeObject>(
      LISTENER_WORKS,
      {
        apiVersion: work.apiVersion,
        kind: work.kind,
        // The version: a report on what the hub has changed meanwhile is not sent.
        metadata: { name, namespace, ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) },
        status,
      } as KubeObject,
      { fieldManager: MANAGER, force: true, subresource: 'status' },
    );
    caches.works.overlay(written as ListenerWork);
  } catch (error) {
    if (!(error instanceof NotFound)) throw error;
  }
}

/** The epoch is that of the agent that reported first. */
function saysTheSame(
  before: ListenerWork['status'],
  { epoch: _epoch, ...report }: NonNullable<ListenerWork['status']>,
): boolean {
  const { epoch, ...sent } = before ?? {};
  return epoch !== undefined && isDeepStrictEqual(sent, report);
}

const LOOK_AGAIN_MS = 1000;
/** Milliseconds until a refused request is retried: the cluster's policies may change without an event. */
const RETRY_MS = 30_000;

function lostOnHub(name: string, { metadata }: ListenerWork): Rejection {
  return {
    reason: 'ApplyRefused',
    message: `The hub has lost its copy of Secret ${name}. To have it copied again, on the hub: kubectl delete lsnw ${metadata.name} -n ${metadata.namespace}.`,
  };
}

/** `uid`: of the object that is there. Without it, an object that another created meanwhile is a Conflict. */
function applyCopy(wanted: AppDeployment, uid: string | undefined, local: KubeClient): Promise<AppDeployment> {
  const writing = { fieldManager: MANAGER, force: true, strict: true } as const;
  if (uid === undefined) return local.apply(APP_DEPLOYMENTS, wanted, { ...writing, onlyCreate: true });
  return local.apply(APP_DEPLOYMENTS, { ...wanted, metadata: { ...wanted.metadata, uid } }, writing);
}

async function removeCopy(copy: AppDeployment, local: KubeClient): Promise<void> {
  await local.remove(APP_DEPLOYMENTS, placeOf(copy), { uid: copy.metadata.uid ?? '' }).catch(undefinedIfNotFound);
}

async function removeSecrets(secrets: readonly KubeObject[], local: KubeClient): Promise<void> {
  for (const secret of secrets) {
    const { uid = '', resourceVersion = '' } = secret.metadata;
    await local.remove(SECRETS, placeOf(secret), { uid, resourceVersion }).catch(undefinedIfNotFound);
  }
}

/**
 * A change of the hub becomes several writes of the cluster's Davit within a moment: a revision, its status, that of the one before,
 * the copy's. One report tells of all.
 */
const COLLECT_MS = 200;

/** Adds the names of works to the queue: all first, then those that something concerns. Returns a function that stops it. */
export function wakeWorks(caches: AgentCaches, queue: WorkQueue): () => void {
  const { works, copies, revisions, secrets, namespaces } = caches;
  const wakeCopy = (copy: KubeObject | undefined): void => {
    const id = copy?.metadata.annotations?.[ORIGIN_ID_ANNOTATION];
    if (id !== undefined) queue.addAfter(id, COLLECT_MS);
  };
  const wakePlace = (
    namespace: string | undefined,
    concerns: (spec: ListenerWork['spec']) => boolean = () => true,
  ): void => {
    for (const { metadata, spec } of works.list())
      if (spec.namespace === namespace && concerns(spec)) queue.add(metadata.name);
  };
  const subscriptions = [
    works.onChange(({ object }) => queue.add(object.metadata.name)),
    copies.onChange(({ type, object }) => {
      wakeCopy(object);
      const { namespace, name } = object.metadata;
      // The name is free again.
      if (type === 'deleted') wakePlace(namespace, (spec) => spec.name === name);
      if (type === 'added') wakePlace(namespace, ({ deployment }) => restoreFrom(deployment) === name);
    }),
    revisions.onChange(({ object }) =>
      wakeCopy(
        copies.get({
          namespace: object.metadata.namespace ?? '',
          name: object.metadata.labels?.[DEPLOYMENT_LABEL] ?? '',
        }),
      ),
    ),
    secrets.onChange(({ object }) => {
      const id = object.metadata.labels?.[LISTENER_COPY_LABEL];
      if (id !== undefined) queue.add(id);
    }),
    namespaces.onChange(({ object }) => wakePlace(object.metadata.name)),
  ];
  for (const { metadata } of works.list()) queue.add(metadata.name);
  return () => {
    for (const unsubscribe of subscriptions) unsubscribe();
  };
}
