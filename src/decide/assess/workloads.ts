// Small named checks: observed state in, verdict out. Each answers one question that a condition asks.

import type { Reason } from '../../api/app-deployment-conditions.ts';
import type { AppRevision } from '../../api/app-revision.ts';
import { conditionOf } from '../../api/conditions.ts';
import {
  EXTERNAL_POSTGRES_VARIABLE,
  EXTERNAL_REDIS_VARIABLE,
  REVISION_LABEL,
  ROLES,
  type Role,
  TENANT_LABEL,
  WAIT_FOR_DATABASE,
  WAIT_FOR_REDIS,
} from '../../api/meta.ts';
import type { Settings } from '../../api/settings.ts';
import { isSourceTaken, SOURCE_RULES } from '../../api/source-rules.ts';
import { listed, quoted } from '../../api/text.ts';
import { buildsAnew, type CodeHostProblem, codeHostProblem } from '../../record/code-host.ts';
import { limitViolations } from '../../record/limits.ts';
import { type ListenerProblem, listenerProblem } from '../../record/listener-assignment.ts';
import { names } from '../../record/names.ts';
import { externalReference } from '../../record/resolve.ts';
import { imageOf } from '../../record/revision-image.ts';
import { rolesOf, scaleOf } from '../../record/scale.ts';
import { referencesOf } from '../../record/secret-references.ts';
import { notOffered, type Offered, templateFields } from '../../record/template-catalogue.ts';
import { wantedRevisionId } from '../../record/wanted-revision.ts';
import { type ActionFailure, childOf, isOurs, type Observed, type Workload } from '../observed.ts';
import { howToRelease } from '../terminating-pods.ts';
import { checkBuild } from './build.ts';
import { volumeTrouble } from './database-volume.ts';
import { hasPassed, isReadyPod, podFailure, podsOf } from './pod-failures.ts';
import { breachesOf, reachesOf } from './pod-policy.ts';
import { no, type Verdict, yes } from './verdict.ts';

/** Does the record keep the platform's rules? The same as admission says, for clusters where admission is not there. */
export function checkPolicy(observed: Observed, settings: Settings): Verdict {
  const { record, tenantId, revisions } = observed;
  if (tenantId === undefined) {
    const { namespace } = record.metadata;
    return no(
      'NotATenant',
      `Namespace ${namespace} is not a tenant: kubectl label namespace ${namespace} ${TENANT_LABEL}=true makes it one.`,
      true,
    );
  }
  const { source, sourceConfig } = record.spec;
  if (!isSourceTaken(source, settings.hosting, sourceConfig.listenerId !== undefined)) {
    return no(
      'SourceNotAllowed',
      `Source ${source} is for hosting mode ${SOURCE_RULES[source].hosting}; this platform's is ${settings.hosting}.`,
      true,
    );
  }
  const missing = notInCatalogue(observed);
  if (missing.length > 0) {
    return no(
      'TemplateNotFound',
      `No template offers ${listed(missing)}: kubectl get apptemplates -n ${settings.organizationNamespace} shows what there is. Choose one, or have it added; the deployment goes on by itself.`,
      true,
    );
  }
  const listener = listenerProblem(record.spec.sourceConfig, observed.listeners);
  if (listener !== undefined) return no('ListenerNotFound', listenerMessage(record, listener), true);
  const codeHost = codeHostProblemOf(observed);
  if (codeHost !== undefined)
    return no('IntegrationNotFound', integrationMessage(record, codeHost, settings.organizationNamespace), true);
  const isExternal = (variable: string): boolean => externalReference(record.spec, variable) !== undefined;
  const external = isExternal(EXTERNAL_POSTGRES_VARIABLE) && isExternal(EXTERNAL_REDIS_VARIABLE);
  if (!settings.database.own && !external) {
    return no(
      'OwnDatabaseForbidden',
      `This platform makes no databases of its own: give ${EXTERNAL_POSTGRES_VARIABLE} and ${EXTERNAL_REDIS_VARIABLE}.`,
      true,
    );
  }
  // A setting that was narrowed is for new revisions: what runs goes on.
  const isNew = !wantedRevisionId(record, revisions)?.made;
  const excesses = limitViolations(record.spec.sourceConfig.resourceSpec ?? {}, settings.limits);
  if (excesses.length > 0 && isNew)
    return no(
      'LimitExceeded',
      `This platform allows less: ${listed(excesses.map(({ field, most }) => `${field} at most ${most}`))}.`,
      true,
    );
  const reaches = isNew ? reachesOf(record.spec, settings.pods) : [];
  const breaches = [...breachesOf(record.spec, settings.pods.policy), ...reaches];
  if (breaches.length > 0)
    return no(
      'PodPolicyViolated',
      `The pod policy does not allow this: ${listed(breaches, '; ')}. Take it out of resource_spec.`,
      true,
    );
  return yes('Accepted', "The record keeps the platform's rules.");
}

function listenerMessage({ metadata, spec }: Observed['record'], problem: ListenerProblem): string {
  const { listenerId, listenerConfig } = spec.sourceConfig;
  if (problem.is === 'unknown')
    return `${listenerId} is no Listener of namespace ${metadata.namespace}: kubectl get listeners -n ${metadata.namespace} -o wide shows what there is.`;
  return `The listener does not list namespace ${listenerConfig?.k8sNamespace}: it lists ${listed(problem.listed)}.`;
}

/** What a revision was already made of stays, though the integration has left or lists the tenant no longer. */
function codeHostProblemOf({ record, revisions, integrations }: Observed): CodeHostProblem | undefined {
  const { spec, metadata } = record;
  const isMade = revisions.some(
    (made) => !buildsAnew(made.spec.requested.sourceRevisionConfig, spec.sourceRevisionConfig),
  );
  return isMade ? undefined : codeHostProblem(spec, metadata.namespace ?? '', integrations);
}

function integrationMessage(
  { metadata, spec }: Observed['record'],
  problem: CodeHostProblem,
  organizationNamespace: string,
): string {
  const { integrationId, repoUrl } = spec.sourceConfig;
  if (problem.is === 'unknown')
    return `${integrationId} is no code host integration that lists namespace ${metadata.namespace} among its tenants: kubectl get codehostintegrations -n ${organizationNamespace} shows what there is.`;
  return `${repoUrl} is not a repository of the integration's host, ${problem.host}. Make the deployment anew with one that is.`;
}

/**
 * What the record asks for and no template offers, such as `imageUri templates/chat:2`. A template that has left the
 * catalogue takes nothing away from what was made of it.
 */
function notInCatalogue({ record, revisions, templates }: Observed): string[] {
  if (record.spec.source !== 'internal_template') return [];
  const wanted = templateFields(record.spec);
  const taken = (field: keyof Offered): boolean =>
    revisions.some(({ spec }) => field === 'repoUrl' || spec.requested.sourceRevisionConfig[field] === wanted[field]);
  return notOffered(wanted, templates)
    .filter((field) => !taken(field))
    .map((field) => `${field} ${wanted[field]}`);
}

/** Is every Secret and key there that the record names? All that is missing is named at once. */
export function checkReferences(observed: Observed): Verdict {
  const [unfixed] = observed.unfixedSecrets;
  if (unfixed !== undefined) return no('SecretNotFixed', notFixed(unfixed, observed), true);
  const missing: string[] = [];
  const { unread = [] } = observed;
  let reason: Reason = 'SecretKeyMissing';
  for (const { secretName, secretKey } of referencesOf(observed.record.spec)) {
    if (unread.some(({ object }) => object === `Secret ${secretName}`)) continue;
    const keys = Object.hasOwn(observed.secretKeys, secretName) ? observed.secretKeys[secretName] : undefined;
    if (keys === null || keys === undefined) {
      reason = 'SecretMissing';
      missing.push(`Secret ${secretName}`);
    } else if (!keys.includes(secretKey)) {
      missing.push(`key ${secretKey} in Secret ${secretName}`);
    }
  }
  if (missing.length === 0 && unread[0]) return no(unread[0].reason, unread[0].message);
  if (missing.length === 0) return yes('AllResolved', 'Every Secret and key that the record names is there.');
  const list = listed([...new Set(missing)].toSorted());
  return no(reason, `Missing: ${list}. Make it in the deployment's namespace; the deployment goes on by itself.`, true);
}

/** Of such a name it could be anything's, a service account's token among them: no pod gets it. */
function notFixed(secretName: string, { record }: Observed): string {
  const { name, namespace } = record.metadata;
  return `Secret ${secretName} has the name of values that editors of this deployment may use without reading them, so it must be of type Opaque and immutable. If it is Opaque and its values are right: kubectl patch secret ${secretName} -n ${namespace} -p '{"immutable":true}'. Otherwise name another Secret, without ${name}--vars-.`;
}

export function checkDatabase(
  observed: Observed,
  revision: AppRevision,
  refusals: readonly ActionFailure[] = [],
): Verdict {
  const name = names(observed.record.metadata.name).postgres;
  return checkStore(observed, revision, {
    what: 'PostgreSQL',
    condition: 'DatabaseReady',
    component: 'postgres',
    own: revision.spec.resolved.postgres !== undefined,
    name,
    variable: EXTERNAL_POSTGRES_VARIABLE,
    waits: WAIT_FOR_DATABASE,
    refusals,
  });
}

export function checkRedis(
  observed: Observed,
  revision: AppRevision,
  refusals: readonly ActionFailure[] = [],
): Verdict {
  const name = names(observed.record.metadata.name).redis;
  return checkStore(observed, revision, {
    what: 'Redis',
    condition: 'RedisReady',
    component: 'redis',
    own: revision.spec.resolved.redis !== undefined,
    name,
    variable: EXTERNAL_REDIS_VARIABLE,
    waits: WAIT_FOR_REDIS,
    refusals,
  });
}

interface StoreQuestion {
  readonly what: string;
  readonly condition: string;
  readonly component: string;
  readonly own: boolean;
  readonly name: string;
  readonly variable: string;
  readonly waits: string;
  readonly refusals: readonly ActionFailure[];
}

function checkStore(observed: Observed, revision: AppRevision, ask: StoreQuestion): Verdict {
  if (!ask.own) return checkExternal(observed, revision, ask);
  const trouble = ask.component === 'postgres' ? unusableVolume(observed, ask.refusals) : undefined;
  if (trouble) return no(trouble.reason, trouble.message, true);
  const set = childOf(observed, 'StatefulSet', ask.name) as Workload | undefined;
  const isReady = (set?.status?.readyReplicas ?? 0) > 0;
  if (set && isReady && !isRolling(set)) return yes('Answering', `${ask.what} answers.`);
  const refusal = ask.refusals.find(({ object }) => object === `StatefulSet ${ask.name}`);
  if (refusal) return no(refusal.reason, refusal.message);
  if (!set) return no('NotObserved', `${ask.what} has not been made yet.`);
  const failure = podFailure(podsOf(observed, ask.component));
  if (failure) return no(failure.reason, `${ask.what}: ${failure.message}`);
  const overdue = podsOf(observed, ask.component).find((pod) => pod.overdue);
  if (overdue) return no('PodStuckTerminating', `${ask.what}: ${howToRelease(overdue)}`, true);
  if (isReady) return no('Starting', `${ask.what} is being restarted with its new settings.`);
  const before = conditionOf(observed.record.status?.conditions, ask.condition);
  const answered = before?.status === 'True' || before?.reason === 'NotAnswering';
  if (answered)
    return no('NotAnswering', `${ask.what} answered before and does not answer now. Look at pod ${ask.name}-0.`);
  return no('Starting', `${ask.what} was started and has not answered yet.`);
}

function unusableVolume(observed: Observed, refusals: readonly ActionFailure[]): ActionFailure | undefined {
  return volumeTrouble(observed) ?? refusals.find(({ reason }) => reason === 'VolumeMissing');
}

/** What answers is still, or may be, of older settings. */
function isRolling({ metadata, status = {} }: Workload): boolean {
  const { observedGeneration = 0, currentRevision, updateRevision, updatedReplicas = 0 } = status;
  if (observedGeneration < (metadata.generation ?? 1) || currentRevision !== updateRevision) return true;
  // A correction makes both the older one again, while the pod is still of the one between.
  return updateRevision !== undefined && updatedReplicas === 0;
}

function checkExternal(observed: Observed, revision: AppRevision, ask: StoreQuestion): Verdict {
  if (revision.spec.resolved.server.maxScale === 0)
    return yes('NotNeeded', `Nothing runs that would need ${ask.what}.`);
  const pods = ROLES.flatMap((role) => podsOf(observed, role, revision.spec.id));
  const answers = yes('Answering', `The ${ask.what} that ${ask.variable} names answers.${keptVolume(observed, ask)}`);
  if (hasPassed(pods, ask.waits)) return answers;
  const server = childOf(observed, 'Deployment', names(observed.record.metadata.name).server) as Workload | undefined;
  const before = conditionOf(observed.record.status?.conditions, ask.condition);
  // Old pods that serve are proof enough while the new revision's pods still start.
  if (before?.status === 'True' && (server?.status?.availableReplicas ?? 0) > 0) return answers;
  if (pods.length === 0) return no('NotObserved', `No pod has tried the ${ask.what} that ${ask.variable} names yet.`);
  return no(
    'NotAnswering',
    `The ${ask.what} that ${ask.variable} names has not answered. Check its address, password and network; the log of init container ${ask.waits} says more.`,
  );
}

// A switch to an external database deletes nothing; who looks should know that there is something to go back to.
function keptVolume(observed: Observed, { component, name }: StoreQuestion): string {
  const claim = component === 'postgres' ? childOf(observed, 'PersistentVolumeClaim', name) : undefined;
  if (!claim || !isOurs(claim, observed)) return '';
  return ` The volume of its own one, ${name}, is kept as it was.`;
}

function workloadOf(observed: Observed, role: Role): Workload | undefined {
  return childOf(observed, 'Deployment', names(observed.record.metadata.name)[role]) as Workload | undefined;
}

/** The revision that the main service was last rolled to, or is being rolled to; undefined before the first. */
export function runningRevision(observed: Observed): AppRevision | undefined {
  const id = workloadOf(observed, 'server')?.spec?.template?.metadata?.labels?.[REVISION_LABEL];
  return observed.revisions.find((revision) => revision.spec.id === id);
}

/** Has every pod of an earlier revision, and with it the need of what this one no longer wants, gone? */
export function isRolled(observed: Observed, revision: AppRevision): boolean {
  if (imageOf(revision) === undefined) return runningRevision(observed) === undefined;
  return checkWorkloads(observed, revision).status === 'True';
}

/**
 * Is this revision rolled out whole: its own PostgreSQL and Redis in their newest template and ready, and every pod of every
 * part? Asked of the latest revision, for stores have the template of that one.
 */
export function checkRollout(
  observed: Observed,
  revision: AppRevision,
  refusals: readonly ActionFailure[] = [],
): Verdict {
  const workloads = checkWorkloads(observed, revision, refusals);
  if (workloads.status !== 'True') return workloads;
  const { postgres, redis } = revision.spec.resolved;
  for (const verdict of [
    ...(postgres ? [checkDatabase(observed, revision, refusals)] : []),
    ...(redis ? [checkRedis(observed, revision, refusals)] : []),
  ])
    if (verdict.status !== 'True') return { ...verdict, stalled: false };
  // What answers is of the settings before.
  const refused = refusals.find(({ object }) => object.startsWith('StatefulSet '));
  return refused ? no(refused.reason, refused.message) : workloads;
}

/**
 * Did this revision, which a newer one has overtaken, come to serve? `before` is what was there when the pass began: in it the
 * workloads may still be those of this revision. After a crash its pods tell.
 */
export function hasServed(before: Observed, after: Observed, revision: AppRevision): boolean {
  if (imageOf(revision) === undefined) return false;
  if (isLatestThere(before, revision) && checkRollout(before, revision).status === 'True') return true;
  return [before, after].some((observed) => podsServe(observed, revision));
}

/** No newer revision has touched the stores yet. */
function isLatestThere(observed: Observed, revision: AppRevision): boolean {
  return runningRevision(observed)?.spec.id === revision.spec.id;
}

/** Every part has as many Ready pods of this revision as it must have at least, and none that is not Ready. */
function podsServe(observed: Observed, revision: AppRevision): boolean {
  const { resolved, id } = revision.spec;
  if (resolved.server.maxScale === 0) return false;
  const isOnly = !observed.revisions.some(({ status }) => status?.state === 'DEPLOYED');
  return rolesOf(resolved).every((role) => {
    const pods = podsOf(observed, role, id).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    const scale = scaleOf(resolved, role);
    const fewest = scale.kind === 'range' ? scale.min : scale.replicas;
    // Of one that nothing served before, fewer are proof enough: its surplus may have given way to the newer already.
    return pods.length >= (isOnly ? Math.min(1, fewest) : fewest) && pods.every(isReadyPod);
  });
}

/** Does every pod of every part run this revision, and is it ready? `refusals`: what came of the last try. */
export function checkWorkloads(
  observed: Observed,
  revision: AppRevision,
  refusals: readonly ActionFailure[] = [],
): Verdict {
  if (imageOf(revision) === undefined) return checkBuild(observed, revision);
  for (const role of rolesOf(revision.spec.resolved)) {
    const verdict = checkRole(observed, revision, role, refusals);
    if (verdict.status !== 'True') return verdict;
  }
  return yes('Serving', 'Every pod of every part runs the latest revision and is ready.');
}

function checkRole(observed: Observed, revision: AppRevision, role: Role, refusals: readonly ActionFailure[]): Verdict {
  const workload = workloadOf(observed, role);
  const id = revision.spec.id;
  if (!workload || workload.spec?.template?.metadata?.labels?.[REVISION_LABEL] !== id) {
    const refusal = refusals.find(
      ({ reason, object }) => reason === 'PodsRefused' || reason === 'NoNodeFits' || object.startsWith('Deployment '),
    );
    if (refusal) return no(refusal.reason, refusal.message, refusal.reason !== 'RequestFailed');
    return no('Progressing', `The ${role} is about to be rolled to revision ${id}.`);
  }
  const status = workload.status ?? {};
  if ((status.observedGeneration ?? 0) < (workload.metadata.generation ?? 1))
    return no('Progressing', `The rollout of the ${role} begins.`);
  const wanted = workload.spec.replicas ?? 1;
  const { replicas = 0, updatedReplicas = 0, availableReplicas = 0 } = status;
  if (updatedReplicas === wanted && replicas === wanted && availableReplicas === wanted)
    return yes('Serving', `The ${role} runs the latest revision.`);
  if (isWithinRange(status, revision, role)) return yes('Serving', `The ${role} runs the latest revision.`);
  if (workload.spec.paused) return rolloutPaused(workload, role);

  const refused = status.conditions?.find(
    (condition) => condition.type === 'ReplicaFailure' && condition.status === 'True',
  );
  const progress = status.conditions?.find((condition) => condition.type === 'Progressing');
  const overdue = progress?.status === 'False' && progress.reason === 'ProgressDeadlineExceeded';
  const trouble = refused
    ? { reason: 'PodsRefused' as const, message: `The API server refuses to make pods: ${quoted(refused.message)}.` }
    : podFailure(podsOf(observed, role, id));
  if (overdue) {
    const why = trouble?.message ?? waitingFor(observed, revision, role);
    return no(
      trouble?.reason ?? 'ProgressDeadlineExceeded',
      `The rollout of the ${role} made no progress in ${revision.spec.resolved.progressDeadlineSeconds} s. ${why}`,
      true,
    );
  }
  if (trouble) return no(trouble.reason, trouble.message);
  return no(
    'Progressing',
    `The ${role} is being rolled to the latest revision. ${waitingFor(observed, revision, role)}`,
  );
}

// Somebody's tool in an incident, like davit.dev/paused: it is named, and not undone.
function rolloutPaused({ metadata }: Workload, role: Role): Verdict {
  return no(
    'RolloutPaused',
    `Somebody has paused the rollout of the ${role}: kubectl rollout resume deployment ${metadata.name} -n ${metadata.namespace} lets it go on.`,
    true,
  );
}

// An autoscaler that asks for more pods begins no rollout: what counts is that those there are run this revision, and
// are at least as many as they must be. The first time all of them have to be ready.
function isWithinRange(status: NonNullable<Workload['status']>, revision: AppRevision, role: Role): boolean {
  const scale = scaleOf(revision.spec.resolved, role);
  if (scale.kind !== 'range') return false;
  const { replicas = 0, updatedReplicas = 0, availableReplicas = 0 } = status;
  const enough = revision.status?.state === 'DEPLOYED' || availableReplicas === replicas;
  return updatedReplicas === replicas && enough && availableReplicas >= scale.min;
}

function waitingFor(observed: Observed, revision: AppRevision, role: Role): string {
  for (const check of [checkDatabase, checkRedis]) {
    const verdict = check(observed, revision);
    if (verdict.status !== 'True') return verdict.message;
  }
  const { port, healthPath } = revision.spec.resolved;
  return `Its pods have to answer ${healthPath} on port ${port}; the log of container ${role} says more.`;
}

/** Is the main service available now, by whatever revision's pods? */
export function isServing(observed: Observed): boolean {
  return (workloadOf(observed, 'server')?.status?.availableReplicas ?? 0) > 0;
}

/** Ready and wanted pods of the main service, such as `1/2`; undefined before it is made. */
export function replicasOf(observed: Observed): string | undefined {
  const workload = workloadOf(observed, 'server');
  if (!workload) return undefined;
  return `${workload.status?.readyReplicas ?? 0}/${workload.spec?.replicas ?? 1}`;
}
