// What the agent of a listener's cluster does for one work of its hub: bring the copy of the deployment, remove it, or reject
// the work. Nothing is removed because it is absent on the hub.

import { ownRequested } from '../../deploy/record/file-values.ts';
import { originGenerationOf } from '../../deploy/record/metadata.ts';
import { requestedOf, sameRevision } from '../../deploy/record/requested.ts';
import { APP_DEPLOYMENTS, type AppDeployment, type SourceConfig } from '../../kinds/app-deployment.ts';
import type { AppRevision } from '../../kinds/app-revision.ts';
import type { ListenerWork } from '../../kinds/listener-work.ts';
import {
  API_VERSION,
  LISTENER_COPY_LABEL,
  LISTENER_LABEL,
  ORIGIN_GENERATION_ANNOTATION,
  ORIGIN_HUB_ANNOTATION,
  ORIGIN_ID_ANNOTATION,
  ORIGIN_TENANT_ANNOTATION,
  ORIGIN_VERSION_ANNOTATION,
  PAUSED_ANNOTATION,
  TENANT_LABEL,
} from '../../kinds/meta.ts';
import { SOURCES, uses } from '../../kinds/source-rules.ts';
import { quoted } from '../../kinds/text.ts';
import type { ServerError } from '../../runtime/errors.ts';
import { asObject } from '../../runtime/json-value.ts';
import type { KubeObject } from '../../runtime/kube/client.ts';

export interface AgentSeen {
  readonly work: ListenerWork;
  /** uid of this cluster's namespace kube-system. */
  readonly clusterId: string;
  /** uid of the Listener. */
  readonly listenerId: string;
  /** Number of agents that have led before, by the Listener's Lease, and this one. */
  readonly epoch: number;
  /** The namespace that the work names. */
  readonly namespace: KubeObject | undefined;
  /** The AppDeployment of the work's name in there, if it has the Listener's label. */
  readonly copy: AppDeployment | undefined;
  /** The AppDeployment in there with whose backup the work's is to begin, if it has the Listener's label. */
  readonly restoredFrom: AppDeployment | undefined;
  /** Secrets in there that were copied for this deployment (metadata). */
  readonly secrets: readonly KubeObject[];
  /** Revisions of the copy, newest first. */
  readonly revisions: readonly AppRevision[];
  /** Whether the hub has a work of this deployment, by its id there. */
  readonly isOnHub: (id: string) => boolean;
}

type Report = NonNullable<ListenerWork['status']>;
export type Rejection = NonNullable<Report['rejection']>;

export interface SecretToCopy {
  readonly name: string;
  readonly copy: string;
  readonly version: string;
}

export type AgentStep =
  /** For another cluster, or for a newer agent to report on. */
  | { readonly do: 'ignore' }
  | { readonly do: 'reject'; readonly rejection: Rejection }
  | {
      readonly do: 'bring';
      readonly copy: AppDeployment;
      readonly secrets: readonly SecretToCopy[];
      /** Secrets that neither the deployment nor a stored revision uses. */
      readonly stale: readonly KubeObject[];
    }
  /** Secrets are removed only when the copy is gone. */
  | { readonly do: 'remove'; readonly copy: AppDeployment | undefined; readonly secrets: readonly KubeObject[] }
  | { readonly do: 'gone' };

export function agentStep(seen: AgentSeen): AgentStep {
  const { work, clusterId, epoch, copy, secrets, revisions } = seen;
  const { spec, status, metadata } = work;
  if (spec.clusterId !== clusterId || (status?.epoch ?? 0) > epoch) return { do: 'ignore' };
  const isOurs = isCopyOf(work, copy);
  if (isOurs) {
    const changed = hubChange(work, copy);
    if (changed !== undefined) return { do: 'reject', rejection: changed };
  }
  if (spec.removed === true) {
    const left = isOurs ? copy : undefined;
    return left !== undefined || secrets.length > 0 ? { do: 'remove', copy: left, secrets } : { do: 'gone' };
  }
  // Somebody deleted the work, or its namespace, and nobody the deployment: the hub hands it over again.
  if (metadata.deletionTimestamp !== undefined) return { do: 'ignore' };
  const refused = consentMissing(seen) ?? unfit(work) ?? foreignBackup(seen);
  if (refused !== undefined) return { do: 'reject', rejection: refused };
  if (copy !== undefined && !isOurs) return { do: 'reject', rejection: occupied(seen, copy) };
  const wanted = spec.secrets ?? [];
  // Pods of an earlier revision need its Secrets when they restart, and a failed rollout returns to it.
  const used = new Set(
    [...wanted, ...revisions.flatMap((revision) => revision.spec.requested.secrets)].map((secret) =>
      'secretName' in secret ? secret.secretName : secret.name,
    ),
  );
  const there = new Map(secrets.map((secret) => [secret.metadata.name, versionOf(secret)]));
  return {
    do: 'bring',
    copy: makeCopyOf(seen),
    secrets: wanted.filter(({ name, version }) => there.get(name) !== version),
    stale: secrets.filter(({ metadata: { name } }) => !used.has(name)),
  };
}

function versionOf({ metadata }: KubeObject): string | undefined {
  return metadata.annotations?.[ORIGIN_VERSION_ANNOTATION];
}

/** A hub that was restored from a backup has less than it had, and another hub has nothing to do with the copy. */
function hubChange({ spec }: ListenerWork, copy: AppDeployment): Rejection | undefined {
  const hub = copy.metadata.annotations?.[ORIGIN_HUB_ANNOTATION];
  const generation = originGenerationOf(copy);
  const place = `AppDeployment ${spec.name} in namespace ${spec.namespace} of the cluster`;
  if (hub !== spec.hubId)
    return {
      reason: 'HubChanged',
      message: `${place} was created for hub ${hub}, but this hub is ${spec.hubId}. Davit changes nothing. If this hub replaces that one, annotate the AppDeployment in the cluster with ${ORIGIN_HUB_ANNOTATION}=${spec.hubId}.`,
    };
  if (generation <= spec.generation) return undefined;
  return {
    reason: 'HubChanged',
    message: `${place} has generation ${generation} of the deployment, but the hub has ${spec.generation}, probably because it was restored from a backup. Davit changes nothing. To use the hub's state, annotate the AppDeployment in the cluster with ${ORIGIN_GENERATION_ANNOTATION}=${spec.generation}.`,
  };
}

function consentMissing({ work: { spec }, namespace, listenerId }: AgentSeen): Rejection | undefined {
  const labels = namespace?.metadata.labels;
  if (
    labels?.[LISTENER_LABEL] === listenerId &&
    labels[TENANT_LABEL] === 'true' &&
    namespace?.metadata.deletionTimestamp === undefined
  )
    return undefined;
  return {
    reason: 'NamespaceNotAllowed',
    message: `Namespace ${spec.namespace} of the cluster does not accept deployments of this listener. In that cluster: kubectl label namespace ${spec.namespace} ${TENANT_LABEL}=true ${LISTENER_LABEL}=${listenerId}.`,
  };
}

/** A hub hands over what runs an image, and nothing that this cluster would build or pass on with the ids that the hub says. */
function unfit({ spec: { deployment } }: ListenerWork): Rejection | undefined {
  // Nobody has validated it yet.
  const sourceConfig: Partial<SourceConfig> = deployment.sourceConfig ?? {};
  const taken = SOURCES.filter((source) => uses(source, 'listener'));
  if (!taken.includes(deployment.source))
    return {
      reason: 'ApplyRefused',
      message: `The deployment has source ${quoted(deployment.source)}. A listener's cluster runs only ${taken.join(', ')}: build the image elsewhere, and deploy that image.`,
    };
  if (sourceConfig.listenerId === undefined) return undefined;
  return {
    reason: 'ApplyRefused',
    message:
      "The deployment names a listener of the cluster itself, but a listener's cluster does not pass deployments on. On the hub, name the listener of the cluster that should run it.",
  };
}

/** The deployment with whose backup this one begins. Not validated yet. */
export function restoreFrom(deployment: { readonly sourceConfig?: unknown }): string | undefined {
  const { from } = restoreIn(deployment);
  return typeof from === 'string' ? from : undefined;
}

function restoreIn(deployment: { readonly sourceConfig?: unknown }): Readonly<Record<string, unknown>> {
  return asObject(asObject(asObject(deployment.sourceConfig)['database'])['restore']);
}

/**
 * The hub has checked its author's right to a volume of the hub, where a deployment of this cluster has none. What the database has begun
 * with is asked once: later that deployment may be gone.
 */
function foreignBackup({ work: { spec }, copy, restoredFrom }: AgentSeen): Rejection | undefined {
  const from = restoreFrom(spec.deployment);
  const { namespace } = restoreIn(spec.deployment);
  if (namespace !== undefined)
    return {
      reason: 'ApplyRefused',
      message:
        "The deployment begins with a backup of another namespace, which a hub cannot request. Remove source_config.database.restore, and restore the backup in the listener's cluster with kubectl davit database restore.",
    };
  if (from === undefined || (copy !== undefined && restoreFrom(copy.spec) === from)) return undefined;
  const { [ORIGIN_ID_ANNOTATION]: id, [ORIGIN_TENANT_ANNOTATION]: tenant } = restoredFrom?.metadata.annotations ?? {};
  if (id !== undefined && tenant === spec.tenantId) return undefined;
  return {
    reason: 'ApplyRefused',
    message: `The deployment begins with a backup of ${quoted(from)}, but namespace ${spec.namespace} of the cluster has no deployment with that name from the same tenant of the hub. Remove source_config.database.restore, and restore the backup there with kubectl davit database restore.`,
  };
}

/** Why an object that is not of this work keeps the name. */
function occupied({ work, listenerId, isOnHub }: AgentSeen, { metadata }: AppDeployment): Rejection {
  const { spec } = work;
  const what = `AppDeployment ${spec.name}`;
  const id = metadata.annotations?.[ORIGIN_ID_ANNOTATION];
  if (id === undefined || metadata.labels?.[LISTENER_LABEL] !== listenerId) return nameConflict(what, work);
  if (!isOnHub(id)) return forgotten(what, id, work);
  return {
    reason: 'NameConflict',
    message: `${what} in namespace ${spec.namespace} of the cluster belongs to another deployment of the hub. This deployment continues when the other one has been deleted there.`,
  };
}

/** Nobody on the hub can delete what keeps the name: a person does it in the cluster. `id`: of the deployment that the hub lacks. */
function forgotten(what: string, id: string, { spec }: ListenerWork): Rejection {
  const { namespace } = spec;
  return {
    reason: 'NameConflict',
    message: `${what} in namespace ${namespace} of the cluster belongs to deployment ${id}, which the hub does not have. The hub was probably restored from a backup. Davit changes nothing. If that deployment and its data are not needed, delete it there with its Secrets: kubectl delete appd ${spec.name} -n ${namespace}; ${deleteCopies(id, namespace)}. Otherwise create this one under another name.`,
  };
}

function deleteCopies(id: string, namespace: string): string {
  return `kubectl delete secret -n ${namespace} -l ${LISTENER_COPY_LABEL}=${id}`;
}

/** `owner`: id of the deployment for which the Secret was copied; undefined if it is no copy. */
export function secretConflict(name: string, owner: string | undefined, { work, isOnHub }: AgentSeen): Rejection {
  const what = `Secret ${name}`;
  if (owner === undefined || isOnHub(owner)) return nameConflict(what, work);
  const { namespace } = work.spec;
  return {
    reason: 'NameConflict',
    message: `${what} in namespace ${namespace} of the cluster is a copy for deployment ${owner}, which the hub does not have. If that deployment is not needed, delete its Secrets there: ${deleteCopies(owner, namespace)}. Otherwise create this one under another name.`,
  };
}

/** What the cluster's API server said. */
export function refusal(error: ServerError): Rejection {
  const words = quoted(error.words);
  const isUnknownField = /unknown field|field not declared in schema/.test(error.words);
  return {
    reason: isUnknownField ? 'ListenerTooOld' : 'ApplyRefused',
    message: isUnknownField
      ? `The cluster's Davit does not know a field of the deployment: ${words}. Upgrade that Davit.`
      : `The cluster's API server refused the deployment: ${words}`,
  };
}

function nameConflict(what: string, { spec }: ListenerWork): Rejection {
  return {
    reason: 'NameConflict',
    message: `${what} in namespace ${spec.namespace} of the cluster exists and does not belong to this deployment. Delete it there, or create the deployment under another name.`,
  };
}

function makeCopyOf({ work, listenerId }: AgentSeen): AppDeployment {
  const { spec, metadata } = work;
  return {
    apiVersion: API_VERSION,
    kind: APP_DEPLOYMENTS.kind,
    metadata: {
      name: spec.name,
      namespace: spec.namespace,
      labels: { [LISTENER_LABEL]: listenerId },
      annotations: {
        [ORIGIN_ID_ANNOTATION]: metadata.name,
        [ORIGIN_GENERATION_ANNOTATION]: String(spec.generation),
        [ORIGIN_TENANT_ANNOTATION]: spec.tenantId,
        [ORIGIN_HUB_ANNOTATION]: spec.hubId,
        ...(spec.paused === true && { [PAUSED_ANNOTATION]: 'true' }),
      },
    },
    spec: spec.deployment,
  };
}

const REPORTED_REVISIONS = 20;

/** Whether this is the copy of the work's deployment. */
export function isCopyOf(work: ListenerWork, copy: AppDeployment | undefined): copy is AppDeployment {
  return copy?.metadata.annotations?.[ORIGIN_ID_ANNOTATION] === work.metadata.name;
}

export interface Outcome {
  /** Why the work is not applied. */
  readonly rejection?: Rejection | undefined;
  /** The cluster has no copy of a work that it rejects. */
  readonly absent?: boolean;
  /** The cluster has no objects of it left. */
  readonly gone?: boolean;
}

/** The report on the work. */
export function reportFor(seen: AgentSeen, { rejection, absent = false, gone = false }: Outcome): Report {
  const { work, clusterId, epoch, copy } = seen;
  const { status: before } = work;
  const isOurs = isCopyOf(work, copy);
  // A hub that was restored does not believe a report on what it has not asked for.
  const isKnown = isOurs && originGenerationOf(copy) <= work.spec.generation;
  const current = isKnown ? observedBy(copy) : undefined;
  const kept = before?.clusterId === clusterId ? before : undefined;
  const word = current ?? {
    ...(kept?.generation !== undefined && { generation: kept.generation }),
    ...(kept?.deployment !== undefined && { deployment: kept.deployment }),
  };
  const ofThis = isKnown ? originGenerationOf(copy) : 0;
  const revisions = isOurs
    ? seen.revisions
        .slice(0, REPORTED_REVISIONS)
        .map((one, index) => revisionReport(one, index === 0 && isOf(copy, one) ? ofThis : 0))
    : (kept?.revisions ?? []);
  return {
    clusterId,
    epoch,
    ...word,
    ...(revisions.length > 0 && { revisions }),
    ...(rejection !== undefined && { rejection }),
    ...(rejection !== undefined && absent && { absent }),
    ...(gone && { gone }),
  };
}

/** Once the cluster's controller has observed the copy as it is. */
function observedBy(copy: AppDeployment | undefined): Pick<Report, 'generation' | 'deployment'> | undefined {
  const { status, metadata } = copy ?? {};
  if (copy === undefined || status === undefined || status.conditions === undefined) return undefined;
  if ((status.observedGeneration ?? 0) < (metadata?.generation ?? 0)) return undefined;
  const { hostClaim: _claim, ...deployment } = status;
  return { generation: originGenerationOf(copy), deployment };
}

function isOf(copy: AppDeployment, { spec }: AppRevision): boolean {
  return sameRevision(requestedOf(copy.spec), ownRequested(spec));
}

function revisionReport({ spec, status }: AppRevision, generation: number): NonNullable<Report['revisions']>[number] {
  return {
    id: spec.id,
    generation,
    state: status?.state ?? 'CREATING',
    ...(status?.message !== undefined && { message: status.message }),
    resolved: spec.resolved,
  };
}
