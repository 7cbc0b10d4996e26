// Does PostgreSQL answer, and does Redis? The record's own ones are asked of their StatefulSet and its pods; external ones
// of the init containers that wait for them. The newest evidence counts: a pod that waits since the last one got through.

import { type ConditionType, STORE_CONDITIONS } from '../../kinds/app-deployment-conditions.ts';
import type { AppRevision } from '../../kinds/app-revision.ts';
import { conditionOf } from '../../kinds/conditions.ts';
import {
  CONTROLLER_REVISION_LABEL,
  EXTERNAL_POSTGRES_VARIABLE,
  EXTERNAL_REDIS_VARIABLE,
  MIGRATION,
  STORE_NAMES,
  STORE_PARTS,
  type StorePart,
  WAIT_FOR_DATABASE,
  WAIT_FOR_REDIS,
} from '../../kinds/meta.ts';
import type { Condition } from '../../kinds/primitives.ts';
import { doesWithout } from '../../kinds/runtime.ts';
import { quoted } from '../../kinds/text.ts';
import { databaseNumberIn } from '../record/names.ts';
import { partsOf } from '../record/parts.ts';
import { externalReference } from '../record/resolve.ts';
import { activeRevision, runsNothing } from '../record/revisions.ts';
import { podsIdOf } from '../record/shared-pods.ts';
import { isRestoringArchive } from './archive-restore.ts';
import {
  cloudNativePgMissing,
  clusterAnswers,
  instancesOf,
  ownCluster,
  phaseOf,
  readyInstances,
} from './database-cluster.ts';
import { VOLUME_UNUSABLE, volumeTrouble } from './database-volume.ts';
import { type Entry, fail, firstOf, pass, stalled } from './entry.ts';
import {
  type ActionFailure,
  dataHolderOf,
  failureAt,
  isNextDatabase,
  isOurs,
  isServing,
  isUnsettled,
  type Observed,
  type ObservedChildren,
  type ObservedRecord,
  type Pod,
  statefulSetOf,
  type Workload,
} from './observed.ts';
import { isUnended, podFailure, podsOf, VOLUME_FULL } from './pod-failures.ts';
import { lastPass, lateAt, logsOf } from './pod-inits.ts';
import { isResizing, resizeDeferred } from './resizing.ts';
import { howToRelease } from './terminating-pods.ts';

interface StoreKind {
  readonly what: string;
  readonly condition: ConditionType;
  /** Names an external one. */
  readonly variable: string;
  /** The init container that waits for it. */
  readonly waits: string;
}

const STORES: Readonly<Record<StorePart, StoreKind>> = {
  postgres: {
    what: STORE_NAMES.postgres,
    condition: STORE_CONDITIONS.postgres,
    variable: EXTERNAL_POSTGRES_VARIABLE,
    waits: WAIT_FOR_DATABASE,
  },
  redis: {
    what: STORE_NAMES.redis,
    condition: STORE_CONDITIONS.redis,
    variable: EXTERNAL_REDIS_VARIABLE,
    waits: WAIT_FOR_REDIS,
  },
};

interface Seen extends StoreKind {
  readonly part: StorePart;
  /** Name of the StatefulSet and of PostgreSQL's volume. */
  readonly name: string;
  readonly observed: Observed;
  readonly revision: AppRevision;
  readonly set: Workload | undefined;
  /** It is a Cluster of CloudNativePG. */
  readonly inCluster: boolean;
  readonly failures: readonly ActionFailure[];
}

type Check = (seen: Seen) => Entry | undefined;

const OWN_CHECKS: readonly Check[] = [
  volumeUnusable,
  passwordMissing,
  storeRefusesPods,
  ownAnswers,
  resizing,
  storeRefused,
  notCreated,
  storePodsFail,
  podStuck,
  restarting,
  stoppedAnswering,
];
/** The checks of a Cluster, whose pods CloudNativePG creates. */
const CLUSTER_CHECKS: readonly Check[] = [
  kindMissing,
  volumeUnusable,
  passwordMissing,
  storeRefusesPods,
  clusterReady,
  storeRefused,
  notCreated,
  clusterFull,
  storePodsFail,
  podStuck,
  clusterStopped,
  clusterStarts,
];
const EXTERNAL_CHECKS: readonly Check[] = [
  runningVolumeUnusable,
  notNeeded,
  aPodIsLate,
  aPodHasPassed,
  servesOn,
  notTried,
];

/** `failures`: what came of the last try. */
export function checkStore(
  part: StorePart,
  observed: Observed,
  revision: AppRevision,
  failures: readonly ActionFailure[] = [],
): Entry {
  const seen: Seen = {
    ...STORES[part],
    part,
    name: observed.names[part],
    observed,
    revision,
    set: statefulSetOf(observed, part),
    inCluster: part === 'postgres' && revision.spec.resolved.postgres?.driver === 'cloudnative-pg',
    failures,
  };
  const { what, variable, waits, inCluster } = seen;
  if (doesWithout(part, revision.spec.requested.runtime))
    return pass('NotNeeded', `The record needs no ${what}.${keptVolume(seen)}`);
  if (inCluster && isRestoringArchive(observed, revision))
    return fail('Starting', `${what} does not answer until its archive has been restored.`);
  if (isOwn(part, revision))
    return tooLong(
      seen,
      firstOf(inCluster ? CLUSTER_CHECKS : OWN_CHECKS, seen) ??
        fail('Starting', `${what} has started but does not answer yet.`),
    );
  return withServing(
    seen,
    firstOf(EXTERNAL_CHECKS, seen) ??
      fail(
        'NotAnswering',
        `The ${what} in ${variable} does not answer. Check its address, password and network, and the log of init container ${waits}.`,
      ),
  );
}

/** Pods that serve have connected to it, or do without it: that a newer pod does not reach it says nothing of them. */
function withServing({ observed }: Seen, entry: Entry): Entry {
  const isOfPods = entry.is === 'fail' && !VOLUME_UNUSABLE.has(entry.reason as ActionFailure['reason']);
  return isOfPods && isServing(observed) ? { ...entry, serving: true } : entry;
}

/** Said of a store that a new pod does not reach. */
function connectedEarlier(observed: ObservedChildren): string {
  return isServing(observed) ? ' The running pods connected earlier.' : '';
}

/**
 * An own store that has not answered for too long waits for a person. That of a revision that is not deployed yet has the time of a
 * rollout: a migration, and a part that is rolled already, have no deadline of their own while they wait for it.
 */
function tooLong(seen: Seen, entry: Entry): Entry {
  const { observed, part, revision, condition, what } = seen;
  const { patience } = observed;
  const isDeployed = revision.status?.state === 'DEPLOYED';
  const over = isDeployed ? patience?.exhausted : patience?.overdue;
  // What was reported of the database before says nothing of the next one.
  const isOfAnother = part === 'postgres' && isNextDatabase(observed);
  const isOver = over?.has(condition) === true && !isOfAnother && !isUp(seen);
  if (!isOver || entry.is !== 'fail' || entry.reason === 'RequestFailed') return entry;
  const reason = entry.reason === 'Starting' || entry.reason === 'NotObserved' ? 'NotAnswering' : entry.reason;
  const seconds = isDeployed ? patience?.unavailableSeconds : patience?.progressDeadlineSeconds;
  const late = stalled(reason, `${what} has not answered for more than ${seconds} s. ${entry.message}`);
  return entry.serving === true ? { ...late, serving: true } : late;
}

/** Since when (milliseconds) every store has answered, as the last report says it; Infinity while one does not. */
export function storesAnswerSince({ record: { status } }: ObservedRecord): number {
  const times = STORE_PARTS.map((part) => {
    const condition = conditionOf(status?.conditions, STORES[part].condition);
    if (condition === undefined) return 0;
    return condition.status === 'True' ? Date.parse(condition.lastTransitionTime) : Infinity;
  });
  return Math.max(...times);
}

export function isOwn(part: StorePart, { spec: { resolved } }: AppRevision): boolean {
  return resolved[part] !== undefined;
}

/** Whether the record's own store answers, in its newest template. */
export function ownStoreAnswers(part: StorePart, observed: ObservedChildren): boolean {
  const set = statefulSetOf(observed, part);
  if (part === 'postgres' && ownCluster(observed)) return clusterAnswers(observed) && !volumeTrouble(observed);
  return set !== undefined && isReady(set) && !isRolling(set) && !(part === 'postgres' && volumeTrouble(observed));
}

/** Whether something of it answers, of whatever settings. */
function isUp({ inCluster, observed, part, set }: Seen): boolean {
  return inCluster ? clusterAnswers(observed) : isReady(set) && !storePodsOf(observed, part).some(isUnsettled);
}

function isReady(set: Workload | undefined): boolean {
  return (set?.status?.readyReplicas ?? 0) > 0;
}

/** What answers is still, or may be, of older settings. */
function isRolling(set: Workload): boolean {
  const { metadata, status = {} } = set;
  const { observedGeneration = 0, currentRevision, updateRevision, updatedReplicas = 0 } = status;
  if (isResizing(set)) return true;
  if (observedGeneration < (metadata.generation ?? 1) || currentRevision !== updateRevision) return true;
  // A correction makes both the older one again, while the pod is still of the one between.
  return updateRevision !== undefined && updatedReplicas === 0;
}

function volumeUnusable(seen: Seen): Entry | undefined {
  const { part, observed, failures } = seen;
  const trouble =
    part === 'postgres'
      ? (volumeTrouble(observed) ?? failures.find(({ reason }) => reason === 'VolumeMissing'))
      : undefined;
  if (!trouble) return undefined;
  const entry = stalled(trouble.reason, trouble.message);
  // The volume stays as long as the pod that uses it, and its PostgreSQL answers until then.
  return trouble.reason === 'VolumeTerminating' && isUp(seen) ? { ...entry, serving: true } : entry;
}

// Running pods have the password in their environment, so PostgreSQL may answer; its next pod does not start.
function passwordMissing({ part, observed, what, failures }: Seen): Entry | undefined {
  const { postgresSecret, redisSecret } = observed.names;
  const secret = part === 'postgres' ? postgresSecret : redisSecret;
  const lost = failures.find(({ reason, ref }) => reason === 'PasswordMissing' && ref.name === secret);
  if (!lost) return undefined;
  if (!ownStoreAnswers(part, observed)) return stalled(lost.reason, lost.message);
  return pass(lost.reason, `${what} answers. ${lost.message}`);
}

/** It runs, and a pod that started since does not get in: the password was changed in it, or the network is in the way. */
function storeRefusesPods(seen: Seen): Entry | undefined {
  const { part, observed, what, waits } = seen;
  const late = ownStoreAnswers(part, observed) ? lateAt(podsWithImage(seen), waits) : undefined;
  if (!late) return undefined;
  const { name } = late.metadata;
  const message = `${what} is running, but pod ${name} cannot connect to it. Check its password, users and network: ${logsOf(late, waits)} shows the cause.${connectedEarlier(observed)}`;
  return withServing(seen, fail('NotAnswering', message));
}

function ownAnswers({ part, observed, what }: Seen): Entry | undefined {
  return ownStoreAnswers(part, observed) && !storePodsOf(observed, part).some(isUnsettled)
    ? pass('Answering', `${what} answers.`)
    : undefined;
}

function kindMissing({ observed, failures }: Seen): Entry | undefined {
  const isKnown = failures.some(({ reason }) => reason === 'CloudNativePgMissing');
  if (!isKnown && observed.cloudNativePg === true) return undefined;
  const { reason, message } = cloudNativePgMissing(observed);
  return stalled(reason, message);
}

function clusterReady({ observed, what }: Seen): Entry | undefined {
  if (!ownStoreAnswers('postgres', observed)) return undefined;
  const { ready, wanted } = readyInstances(observed);
  if (ready >= wanted) return pass('Answering', `${what} answers.`);
  const said = `${what} answers, but only ${ready} of ${wanted} instances are ready.${phaseOf(observed)}`;
  const pods = storePodsOf(observed, 'postgres').filter(isUnended);
  const overdue = pods.find((pod) => pod.overdue);
  const cause = overdue ? howToRelease(overdue) : podFailure(pods)?.message;
  return pass('InstancesMissing', cause === undefined ? said : `${said} ${cause}`);
}

function clusterStopped({ observed, condition, what, name }: Seen): Entry | undefined {
  const before = conditionOf(observed.record.status?.conditions, condition);
  if (!hasAnswered(before)) return undefined;
  const { namespace } = observed.record.metadata;
  return fail(
    'NotAnswering',
    `${what} no longer answers.${phaseOf(observed)} Run kubectl describe clusters.postgresql.cnpg.io ${name} -n ${namespace}.`,
  );
}

function clusterStarts({ observed, what }: Seen): Entry | undefined {
  return fail('Starting', `${what} has started but does not answer yet.${phaseOf(observed)}`);
}

function storeRefused({ name, inCluster, failures }: Seen): Entry | undefined {
  const failure = failureAt({ kind: inCluster ? 'Cluster' : 'StatefulSet', name }, failures);
  return failure && fail(failure.reason, failure.message);
}

function notCreated({ set, inCluster, observed, what }: Seen): Entry | undefined {
  return set || (inCluster && ownCluster(observed))
    ? undefined
    : fail('NotObserved', `${what} has not been created yet.`);
}

function storePodsFail({ part, observed, what }: Seen): Entry | undefined {
  const failure = podFailure(storePodsOf(observed, part));
  // Only more room ends it.
  const is = failure?.reason === 'VolumeFull' ? stalled : fail;
  return failure && is(failure.reason, `${what}: ${failure.message}`);
}

/** CloudNativePG stops an instance before its disk is full to the last byte. */
function clusterFull({ observed, what }: Seen): Entry | undefined {
  if (ownCluster(observed)?.status?.phase !== 'Not enough disk space') return undefined;
  return stalled('VolumeFull', `${what} does not run.${phaseOf(observed)} ${VOLUME_FULL}`);
}

/** Without those of a database that the record was moved from. Jobs of CloudNativePG have pods as well. */
export function storePodsOf(observed: ObservedChildren, part: StorePart): readonly Pod[] {
  const { record, names } = observed;
  const own = podsOf(observed, part).filter(({ metadata }) => {
    const of = databaseNumberIn(record.metadata.name, metadata.name.replace(/-\d+$/, ''));
    return of === undefined || of === names.databaseNumber;
  });
  return part === 'postgres' ? [...instancesOf(observed), ...own] : own;
}

function podStuck({ part, observed, what }: Seen): Entry | undefined {
  const overdue = storePodsOf(observed, part).find((pod) => pod.overdue);
  return overdue && stalled('PodStuckTerminating', `${what}: ${howToRelease(overdue)}`);
}

/** A store answers while its pod is resized, and counts as ready; its revision is not deployed before the sizes are in force (`unfinished`). */
function resizing({ observed, set, what, part, condition }: Seen): Entry | undefined {
  if (!set || !isReady(set)) return undefined;
  const deferred = isResizing(set) ? resizeDeferred(set, observed) : undefined;
  if (deferred) {
    const { name, namespace } = deferred.pod.metadata;
    return pass(
      'ResizeDeferred',
      `${what} runs with its previous sizes, because its node has no room for the new ones: ${quoted(deferred.words)}. Its pod is resized as soon as the node has room for them. Smaller sizes may fit now. If another node has room, kubectl delete pod ${name} -n ${namespace} restarts ${what} there${part === 'redis' ? ', without its data' : ''}.`,
    );
  }
  const before = conditionOf(observed.record.status?.conditions, condition)?.reason;
  // The StatefulSet is being given back its way of updating, and has not said yet that its pod is of the newest template.
  const isEnding =
    (before === 'Resizing' || before === 'ResizeDeferred') &&
    hasNewestPod(set.status?.updateRevision, storePodsOf(observed, part));
  return isResizing(set) || isEnding
    ? pass('Resizing', `${what} answers. Its pod is being resized, without a restart.`)
    : undefined;
}

function restarting({ observed, part, set, what }: Seen): Entry | undefined {
  if (!set || !isReady(set)) return undefined;
  const how = replacesPods(set, storePodsOf(observed, part))
    ? 'is restarting with its new settings'
    : 'is being restarted, because its pod was evicted or deleted; its settings have not changed';
  return fail('Starting', `${what} ${how}.`);
}

function hasNewestPod(updateRevision: string | undefined, pods: readonly Pod[]): boolean {
  return pods.every(({ metadata: { labels } }) => labels?.[CONTROLLER_REVISION_LABEL] === updateRevision);
}

function replacesPods({ metadata, status = {} }: Workload, pods: readonly Pod[]): boolean {
  const { observedGeneration = 0, currentRevision, updateRevision } = status;
  if (observedGeneration < (metadata.generation ?? 1) || currentRevision !== updateRevision) return true;
  return !hasNewestPod(updateRevision, pods);
}

function stoppedAnswering({ observed, condition, what, name }: Seen): Entry | undefined {
  const before = conditionOf(observed.record.status?.conditions, condition);
  return hasAnswered(before) ? fail('NotAnswering', `${what} no longer answers. Check pod ${name}-0.`) : undefined;
}

/** NotNeeded is True too, and says nothing of a store that the record has only now. */
function hasAnswered(before: Condition | undefined): boolean {
  return (before?.status === 'True' && before.reason !== 'NotNeeded') || before?.reason === 'NotAnswering';
}

/** The running pods still need a volume of their own. The rollout that replaces them does not, so the record is not Stalled by it. */
function runningVolumeUnusable({ part, failures }: Seen): Entry | undefined {
  const trouble = part === 'postgres' ? failures.find(({ reason }) => VOLUME_UNUSABLE.has(reason)) : undefined;
  return trouble && fail(trouble.reason, trouble.message);
}

function notNeeded({ revision, what }: Seen): Entry | undefined {
  return runsNothing(revision) ? pass('NotNeeded', `No running part needs ${what}.`) : undefined;
}

/**
 * The newest evidence: a pod has tried since the last one got through. One of an earlier revision counts if it has the same store: a
 * part keeps such pods while the server of the next revision does not start.
 */
function aPodIsLate(seen: Seen): Entry | undefined {
  const { observed, revision, what, variable, waits } = seen;
  const revisions = [revision, ...observed.revisions.filter((other) => namesSameStore(other, seen))];
  const pods = revisions.flatMap((one) => podsWithImage({ ...seen, revision: one }));
  const late = lateAt(pods, waits);
  if (!late) return undefined;
  return fail(
    'NotAnswering',
    `The ${what} in ${variable} does not answer. Check its address, password and network. Pod ${late.metadata.name} waits for it: ${logsOf(late, waits)} shows the cause.${connectedEarlier(observed)}`,
  );
}

function aPodHasPassed(seen: Seen): Entry | undefined {
  const passed = lastPass(podsWithImage(seen), seen.waits);
  if (!passed) return undefined;
  const { pod, at } = passed;
  return answered(seen, `when pod ${pod.metadata.name} started${at && `, at ${at}`}`);
}

// Old pods that serve are proof enough while the new revision's pods still start, if they use the same store.
function servesOn(seen: Seen): Entry | undefined {
  const { observed, condition } = seen;
  const before = conditionOf(observed.record.status?.conditions, condition);
  // A deployed revision has had pods that got through.
  const isAnswered = before?.status === 'True' || (before?.reason === 'NotObserved' && isActiveRevision(seen));
  return isAnswered && isServing(observed) && !isNewStore(seen) ? answered(seen, 'the running pods') : undefined;
}

function isActiveRevision({ observed, revision }: Seen): boolean {
  return activeRevision(observed.revisions)?.spec.id === revision.spec.id;
}

/** Whether the active revision has another store, external or its own. */
function isNewStore(seen: Seen): boolean {
  const active = activeRevision(seen.observed.revisions);
  return active !== undefined && !namesSameStore(active, seen);
}

function namesSameStore(other: AppRevision, { revision, variable, part }: Seen): boolean {
  if (isOwn(part, other)) return false;
  const [one, two] = [other, revision].map(({ spec }) => externalReference(spec.requested, variable));
  return one?.secretName === two?.secretName && one?.secretKey === two?.secretKey;
}

function notTried(seen: Seen): Entry | undefined {
  const { observed, what, variable } = seen;
  if (podsWithImage(seen).length > 0 && !isNewStore(seen)) return undefined;
  const pod = isServing(observed) ? 'pod of the latest revision' : 'pod';
  return fail('NotObserved', `No ${pod} has connected to the ${what} in ${variable} yet.${connectedEarlier(observed)}`);
}

function podsWithImage({ observed, revision }: Seen): readonly Pod[] {
  const components = [...partsOf(revision.spec.resolved), MIGRATION];
  return components.flatMap((component) => podsOf(observed, component, podsIdOf(revision, component)));
}

/** Davit opens no connection to an external store, so all that is known is when a pod last did. */
function answered(seen: Seen, whom: string): Entry {
  return pass('Answering', `The ${seen.what} in ${seen.variable} answered ${whom}.${keptVolume(seen)}`);
}

// A switch to an external database, or to none, deletes nothing; who looks should know that there is something to go back to.
function keptVolume({ observed, part, name }: Seen): string {
  const holder = part === 'postgres' ? dataHolderOf(observed) : undefined;
  if (!holder || !isOurs(holder, observed)) return '';
  return ` The record's own ${holder.kind === 'Cluster' ? 'Cluster' : 'volume'}, ${name}, is kept.`;
}
