// Does every pod of every part run the revision, and is it ready?

import type { AppDeploymentStatus } from '../../kinds/app-deployment.ts';
import { isFailure } from '../../kinds/app-deployment-conditions.ts';
import type { AppRevision } from '../../kinds/app-revision.ts';
import { ROLES, STORE_PARTS, type StorePart } from '../../kinds/meta.ts';
import { listed, quoted } from '../../kinds/text.ts';
import { databaseNumberOf } from '../record/database-move.ts';
import { healthOf } from '../record/health.ts';
import { isSingleton, partsOf } from '../record/parts.ts';
import { imageOf } from '../record/revision-image.ts';
import { runsNothing } from '../record/revisions.ts';
import { followsDepth, scaleOf } from '../record/scale.ts';
import { podsIdOf, sharesPods } from '../record/shared-pods.ts';
import { checkBuild } from './build.ts';
import { type Entry, entryOf, fail, firstOf, firstProblem, pass, stalled } from './entry.ts';
import { checkMigration, mayRun } from './migration.ts';
import { withMissingStores } from './missing-stores.ts';
import {
  type ActionFailure,
  availableOf,
  type Observed,
  type ObservedChildren,
  type ObservedRecord,
  type Pod,
  rollsNothing,
  type Workload,
  workersThere,
  workloadOf,
} from './observed.ts';
import { hasNoDeadline, hasTimeLeft } from './pod-deadline.ts';
import { crashedOften, isReadyPod, living, podFailure, podsOf, type Trouble } from './pod-failures.ts';
import { hasStarted, heldWords } from './pod-inits.ts';
import { mayStartPods } from './pod-starts.ts';
import { healthWords, probeWords } from './probe-failures.ts';
import { checkRestore } from './restore.ts';
import {
  activeBefore,
  awaitsServer,
  hasBeenReady,
  hasExceededDeadline,
  hasTemplateOf,
  isRoleRolled,
  isRolled,
  isSeen,
  isStoreOf,
} from './rolled-parts.ts';
import { isOwn, storesAnswerSince } from './stores.ts';
import { howToRelease } from './terminating-pods.ts';

interface Seen {
  readonly observed: Observed;
  readonly revision: AppRevision;
  readonly role: string;
  readonly workload: Workload | undefined;
  /** PostgreSQL and Redis: what the pods may be waiting for. */
  readonly stores: readonly Entry[];
  readonly failures: readonly ActionFailure[];
}

const CHECKS: readonly ((seen: Seen) => Entry | undefined)[] = [
  podsRefused,
  waitsForLostPod,
  notRolledYet,
  justBegun,
  scaledByHand,
  serves,
  rolloutPaused,
  crashed,
  deadlineExceeded,
  podsFail,
];

/** `stores`: how PostgreSQL and Redis are; `failures`: what came of the last try. */
export function checkWorkloads(
  observed: Observed,
  revision: AppRevision,
  stores: readonly Entry[],
  failures: readonly ActionFailure[] = [],
): Entry {
  if (imageOf(revision) === undefined) return checkBuild(observed, revision);
  const restore = checkRestore(observed, revision, failures);
  if (restore && restore.is !== 'pass') return restore;
  const migration = checkMigration(observed, revision, failures);
  if (migration) return migration;
  const { failure } = revision.status ?? {};
  if (failure) return stalled(failure.reason as Entry['reason'], failureText(revision, failure.message));
  return checkParts(observed, revision, stores, failures);
}

/** A failure is of a time when something ran, which nothing does at a scale of zero. */
function failureText(revision: AppRevision, message: string): string {
  return runsNothing(revision) ? `Scaled to zero, so nothing serves. Before that: ${message}` : message;
}

/** Checks only the pods, regardless of builds and migrations. */
function checkParts(
  observed: Observed,
  revision: AppRevision,
  stores: readonly Entry[],
  failures: readonly ActionFailure[],
): Entry {
  const roles = partsOf(revision.spec.resolved).map((role) =>
    checkRole({ observed, revision, role, workload: workloadOf(observed, role), stores, failures }),
  );
  const parts = [...roles, ...checkOthers(observed, revision, failures)];
  // What a person must mend is said before what fails, and that before what goes on.
  const gravest = parts.find(({ is }) => is === 'stalled') ?? parts.find(({ reason }) => isFailure(reason));
  const all = runsNothing(revision)
    ? 'Scaled to zero, so no part has a pod.'
    : 'Every pod of every part runs the latest revision and is ready.';
  return gravest ?? firstProblem(parts) ?? pass('Serving', all);
}

/**
 * How the revision is that should serve while the latest one is not rolled out: built, migrated, or given up. Undefined
 * where that is the latest one, or nobody.
 */
export function checkHeld(
  observed: Observed,
  latest: AppRevision,
  stores: readonly Entry[],
  failures: readonly ActionFailure[],
): Entry | undefined {
  const held = heldRevision(observed, latest);
  if (!held || held.spec.id === latest.spec.id) return undefined;
  const entry = checkParts(observed, held, stores, failures);
  return { ...entry, message: `Revision ${held.spec.id} should be serving: ${entry.message}` };
}

/** What the pods of a revision that shares some do not say: whether its stores are as it wants them, and other parts gone. */
function checkOthers(observed: ObservedChildren, revision: AppRevision, failures: readonly ActionFailure[]): Entry[] {
  if (revision.status?.state === 'DEPLOYED') return [];
  const parts = partsOf(revision.spec.resolved);
  const stores = STORE_PARTS.filter((part) => !isStoreOf(observed, revision, part));
  const others = partsThere(observed).filter((role) => !parts.includes(role));
  const failure = failures.find(rollsNothing) ?? failures.find(startsNoPods);
  const refused = failure && entryOf(failure);
  return [
    ...stores.map((part) => refused ?? fail('Progressing', `The ${part} waits for revision ${revision.spec.id}.`)),
    ...(sharesPods(revision, 'server') ? others : []).map(
      (role) => stuckPod(observed, role) ?? fail('Progressing', `The ${role} is being removed.`),
    ),
  ];
}

/** The parts of which there is a workload, whatever revision made it. */
function partsThere(observed: ObservedChildren): readonly string[] {
  return [...ROLES.filter((role) => workloadOf(observed, role)), ...workersThere(observed)];
}

function checkRole(seen: Seen): Entry {
  const { revision, role } = seen;
  const [pod] = unreadyPods(seen);
  const subject = pod ? `Pod ${pod.metadata.name}` : 'A pod';
  const how = hasBeenReady(revision, role) ? `${subject} of the ${role} is not ready.` : `Rolling out the ${role}.`;
  return unavailable(seen, firstOf(CHECKS, seen) ?? fail('Progressing', `${how} ${waitingFor(seen)}`));
}

/** A part that was deployed and has had no ready pod for too long waits for a person, whatever its Deployment says. */
function unavailable({ observed, revision, role, workload }: Seen, entry: Entry): Entry {
  const { exhausted, unavailableSeconds } = observed.patience ?? {};
  const isOver = exhausted?.has(role === 'server' ? 'Available' : 'WorkloadsReady') === true;
  const isMended = entry.is !== 'fail' || entry.reason === 'RequestFailed';
  if (!isOver || isMended || !hasBeenReady(revision, role) || !workload) return entry;
  if ((workload.spec?.replicas ?? 1) === 0 || availableOf(observed, role) > 0) return entry;
  return stalled(
    entry.reason === 'Progressing' ? 'NoReadyPod' : entry.reason,
    `The ${role} has had no ready pod for more than ${unavailableSeconds} s. ${entry.message}`,
  );
}

function podsRefused({ observed, workload, revision, role, failures }: Seen): Entry | undefined {
  if (hasTemplateOf(workload, revision, role)) return undefined;
  const name = observed.names.part(role);
  const failure =
    failures.find(
      (failure) =>
        rollsNothing(failure) ||
        failure.ref.kind === 'Deployment' ||
        (failure.ref.kind === 'StatefulSet' && failure.ref.name === name),
    ) ?? failures.find(startsNoPods);
  return failure && entryOf(failure);
}

/** Whether no pods are started because of it (plan/plan.ts). */
function startsNoPods(failure: ActionFailure): boolean {
  return !mayStartPods([failure]);
}

/** A singleton starts only when the pod before it has ended; so does the Deployment that follows one. */
function waitsForLostPod({ observed, workload, revision, role }: Seen): Entry | undefined {
  const isAlone = workload?.kind === 'StatefulSet' || isSingleton(revision.spec.resolved, role);
  return isAlone ? stuckPod(observed, role) : undefined;
}

function stuckPod(observed: ObservedChildren, role: string): Entry | undefined {
  const overdue = podsOf(observed, role).find((pod) => pod.overdue);
  return (
    overdue &&
    stalled('PodStuckTerminating', `The ${role} is waiting for a pod that does not terminate. ${howToRelease(overdue)}`)
  );
}

function notRolledYet({ observed, workload, revision, role }: Seen): Entry | undefined {
  if (hasTemplateOf(workload, revision, role)) return undefined;
  const { id } = revision.spec;
  return fail(
    'Progressing',
    awaitsServer(observed, revision, role)
      ? `The ${role} is waiting for the server of revision ${id} to be ready.`
      : `The ${role} is waiting for the rollout of revision ${id}.`,
  );
}

function justBegun({ workload, revision, role }: Seen): Entry | undefined {
  if (isSeen(workload)) return undefined;
  // It may be another number of pods, which replaces none.
  const what = hasBeenReady(revision, role) ? `A change of the ${role}` : `The rollout of the ${role}`;
  return fail('Progressing', `${what} is starting.`);
}

/** A person has taken pods away, and Davit may not bring them back (a pause), or has not yet. */
function scaledByHand({ observed, workload, revision, role }: Seen): Entry | undefined {
  const scale = scaleOf(revision.spec.resolved, role, followsDepth(revision.spec, observed.keda));
  // Within a range an autoscaler brings the others, but never the first.
  const least = scale.kind === 'fixed' ? scale.replicas : Math.min(1, scale.min);
  const there = workload?.spec?.replicas ?? 1;
  if (workload === undefined || there >= least) return undefined;
  return fail('Progressing', `The ${role} was scaled to ${there}, but the record specifies ${least} or more.`);
}

function serves({ observed, revision, role }: Seen): Entry | undefined {
  return isRoleRolled(observed, revision, role) ? pass('Serving', `The ${role} runs the latest revision.`) : undefined;
}

// Somebody's tool in an incident, like davit.dev/paused: it is named, and not undone.
function rolloutPaused({ workload, role }: Seen): Entry | undefined {
  if (!workload?.spec?.paused) return undefined;
  const { name, namespace } = workload.metadata;
  return stalled(
    'RolloutPaused',
    `The rollout of the ${role} is paused. To resume it: kubectl rollout resume deployment ${name} -n ${namespace}.`,
  );
}

/**
 * A container that exits again and again. A new revision has failed by it: where another one is active, its pods serve and these go. The
 * pods of a deployed one stay, and Kubernetes restarts them, until each container has settled. Exits prove nothing while PostgreSQL or
 * Redis does not answer, nor does a run that began before the stores answered. About a new revision they prove nothing while the active one
 * crashes as well, nor do those of pods that served before.
 */
function crashed({ observed, revision, role, stores }: Seen): Entry | undefined {
  const { maxCrashes } = observed.patience ?? {};
  const isDeployed = revision.status?.state === 'DEPLOYED';
  if (maxCrashes === undefined || (!isDeployed && sharesPods(revision, role)) || firstProblem(stores)) return undefined;
  const pods = podsOf(observed, role, podsIdOf(revision, role));
  const crash = withMissingStores(crashedOften(pods, maxCrashes, storesAnswerSince(observed)), revision.spec.requested);
  if (!crash) return undefined;
  const { name, namespace } = revision.metadata;
  const log = `Its log: kubectl davit logs ${observed.record.metadata.name} --revision ${name} -n ${namespace}`;
  const often = `exited at least ${maxCrashes} times`;
  if (isDeployed)
    return stalled('ContainerCrashed', `The ${role} ${often}, and Kubernetes restarts it. ${crash.message} ${log}`);
  const active = activeBefore(observed, revision);
  // Davit opens no connection to an external store: pods that worked with it say that it is away.
  if (active && podFailure(podsOf(observed, role, podsIdOf(active, role)))?.reason === 'ContainerCrashed')
    return undefined;
  const failed = `Revision ${revision.spec.id} failed: the ${role} ${often}.`;
  if (!active)
    return stalled(
      'ContainerCrashed',
      `${failed} No earlier revision serves, so its pods stay, and Kubernetes restarts them. ${crash.message} ${log}`,
    );
  // After an operation on the database, or at a scale of zero before, it has no pods yet.
  const how = availableOf(observed, 'server') > 0 ? 'is still serving' : 'runs instead';
  return {
    ...stalled(
      'ContainerCrashed',
      `${failed} Its pods were removed, and revision ${active.spec.id} ${how}. ${crash.message} ${log}`,
    ),
    final: true,
  };
}

function deadlineExceeded(seen: Seen): Entry | undefined {
  const { observed, workload, revision, role } = seen;
  if (!hasExceededDeadline(observed, workload, revision, role) && !isOverdue(seen)) return undefined;
  const trouble = troubleOf(seen);
  const { progressDeadlineSeconds } = revision.spec.resolved;
  return stalled(
    trouble?.reason ?? 'ProgressDeadlineExceeded',
    `The rollout of the ${role} made no progress in ${progressDeadlineSeconds} s. ${trouble?.message ?? waitingFor(seen)}${unstartedParts(seen)}`,
  );
}

/** The same where Kubernetes sets no deadline. What was rolled out and lost its pods is no rollout (`unavailable`). */
function isOverdue({ observed, workload, revision, role }: Seen): boolean {
  if (!workload || !hasNoDeadline(workload)) return false;
  const isRollout =
    !hasBeenReady(revision, role) || (workload.kind === 'StatefulSet' && availableOf(observed, role) > 0);
  const isLate = observed.patience?.overdue.has('WorkloadsReady') === true;
  return isRollout && isLate && !hasTimeLeft(podsOf(observed, role, podsIdOf(revision, role)), observed.patience);
}

/** The server may need a part to become ready that has no pod, because earlier revisions lack it. */
function unstartedParts({ observed, revision, role }: Seen): string {
  const isNew = (part: string): boolean => !workloadOf(observed, part) && awaitsServer(observed, revision, part);
  const parts = role === 'server' ? partsOf(revision.spec.resolved).filter(isNew) : [];
  return parts.length === 0
    ? ''
    : ` New parts start when the server is ready: ${listed(parts)}. If the server needs one of them, deploy that part in a revision of its own first.`;
}

function podsFail(seen: Seen): Entry | undefined {
  const trouble = troubleOf(seen);
  return trouble && fail(trouble.reason, trouble.message);
}

function troubleOf({ observed, revision, role, workload }: Seen): Trouble | undefined {
  const refused = workload?.status?.conditions?.find(
    ({ type, status }) => type === 'ReplicaFailure' && status === 'True',
  );
  return refused
    ? {
        reason: 'PodsRefused',
        message: `The API server rejects the pods: ${quoted(refused.message)}. Correct the cause; the pods are then created automatically.`,
      }
    : withMissingStores(podFailure(podsOf(observed, role, podsIdOf(revision, role))), revision.spec.requested);
}

/** The pods of a part that are waited for, by name. */
function unreadyPods({ observed, revision, role }: Seen): readonly Pod[] {
  return living(podsOf(observed, role, podsIdOf(revision, role))).filter((pod) => !isReadyPod(pod));
}

function waitingFor(seen: Seen): string {
  const { stores, revision, role } = seen;
  const store = firstProblem(stores);
  if (store) return store.message;
  const health = healthOf(revision.spec, role);
  const pods = unreadyPods(seen);
  const log = pods.some(hasStarted) ? ` See the log of container ${role}.` : '';
  return heldWords(pods) ?? `${healthWords(health)}${probeWords(pods, health)}.${log}`;
}

/**
 * The revision that the main service was last rolled to, or is being rolled to; undefined before the first. Where
 * several share its pods, it is the newest to whose parts the others are rolled as well.
 */
export function runningRevision(observed: ObservedChildren): AppRevision | undefined {
  const workload = workloadOf(observed, 'server');
  return (
    workload &&
    observed.revisions.find(
      (revision) =>
        hasTemplateOf(workload, revision, 'server') &&
        (!sharesPods(revision, 'server') || hasAllParts(observed, revision)),
    )
  );
}

/** Whether every part is of the revision, ready or not, and there is no other. One that was deployed has lost or kept a part since. */
function hasAllParts(observed: ObservedChildren, revision: AppRevision): boolean {
  const { state, failure } = revision.status ?? {};
  const parts = partsOf(revision.spec.resolved);
  const isRight = (role: string): boolean => {
    const workload = workloadOf(observed, role);
    if (parts.includes(role) !== (workload !== undefined)) return state === 'DEPLOYED';
    return workload === undefined || hasTemplateOf(workload, revision, role);
  };
  // A newer revision that failed has left its own settings in the stores.
  const hasStores = state === 'DEPLOYED' || STORE_PARTS.every((part) => isStoreOf(observed, revision, part));
  const all = new Set([...parts, ...partsThere(observed)]);
  return failure === undefined && [...all].every(isRight) && hasStores;
}

/**
 * The revision whose children stay while `latest` cannot be rolled out: the running one or, if a person deleted the main
 * service, the newest that was deployed. Undefined also if the running one is not known any more.
 */
export function heldRevision(observed: ObservedChildren, latest: AppRevision): AppRevision | undefined {
  return ofSameDatabase(heldWhatever(observed, latest), latest);
}

/**
 * The revision that a part runs while it waits for the server of `latest`: the one that its pods run, unless that has failed or the part
 * has no pods. Otherwise the one that serves.
 */
export function keptFor(part: string, observed: ObservedChildren, latest: AppRevision): AppRevision | undefined {
  const workload = workloadOf(observed, part);
  const there = observed.revisions.find(
    (one) => one.spec.id !== latest.spec.id && one.status?.failure === undefined && hasTemplateOf(workload, one, part),
  );
  const hasPods = workload?.spec?.replicas !== 0;
  return ofSameDatabase((hasPods ? there : undefined) ?? activeBefore(observed, latest), latest);
}

/** A revision with another database would write into the one that was moved from. */
function ofSameDatabase(revision: AppRevision | undefined, latest: AppRevision): AppRevision | undefined {
  return revision && databaseNumberOf(revision) === databaseNumberOf(latest) ? revision : undefined;
}

function heldWhatever(observed: ObservedChildren, latest: AppRevision): AppRevision | undefined {
  if (latest.status?.failure) return activeBefore(observed, latest);
  if (workloadOf(observed, 'server')) {
    const running = runningRevision(observed);
    // At a scale of zero its template was there before its migration.
    if (running && (running.status?.failure || !mayRun(observed, running))) return activeBefore(observed, latest);
    // A revision that was deleted is made again under its id, and has no image until it is built.
    return running && imageOf(running) !== undefined ? running : undefined;
  }
  return activeBefore(observed, latest);
}

/**
 * The revision by which a store is judged: the one that serves, held or until the latest one is rolled out, while it has an own
 * store that the latest one does not have.
 */
export function revisionOfStore(part: StorePart, observed: Observed, latest: AppRevision): AppRevision {
  if (isOwn(part, latest)) return latest;
  const held = heldRevision(observed, latest);
  const isRolling = held?.spec.id === latest.spec.id && !isRolled(observed, latest);
  const serving = isRolling ? activeBefore(observed, latest) : held;
  return serving && isOwn(part, serving) ? serving : latest;
}

/**
 * What keeps a revision at a scale of zero from being one that was deployed: nothing shows that its pods would start, so what was
 * deployed before stays the active one. Undefined if nothing does.
 */
export function checkUnstarted(observed: ObservedRecord, latest: AppRevision, rollout: Entry): Entry | undefined {
  const isDeployed = latest.status?.state === 'DEPLOYED' || latest.spec.resolved.server.maxScale > 0;
  if (rollout.is !== 'pass' || isDeployed || !activeBefore(observed, latest)) return undefined;
  return pass('ScaledToZero', 'Scaled to zero. No pod of this revision has started yet.');
}

/** Ready and wanted pods of the main service, such as `1/2`; undefined before it is made. */
export function replicasOf(observed: ObservedChildren, part = 'server'): string | undefined {
  const workload = workloadOf(observed, part);
  if (!workload) return undefined;
  return `${workload.status?.readyReplicas ?? 0}/${workload.spec?.replicas ?? 1}`;
}

/** The workers of a revision with their scale in force, in the form of the status. */
export function workersOf(
  observed: ObservedChildren,
  latest: AppRevision | undefined,
): Pick<AppDeploymentStatus, 'workers'> {
  const workers = Object.entries(latest?.spec.resolved.workers ?? {}).map(([name, { minScale, maxScale }]) => {
    const replicas = replicasOf(observed, name);
    return [name, { minScale, maxScale, ...(replicas !== undefined && { replicas }) }] as const;
  });
  return workers.length > 0 ? { workers: Object.fromEntries(workers) } : {};
}
