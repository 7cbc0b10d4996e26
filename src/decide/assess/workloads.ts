// Does every pod of every part run the revision, and is it ready?

import type { AppRevision } from '../../api/app-revision.ts';
import { REVISION_LABEL, type Role } from '../../api/meta.ts';
import { quoted } from '../../api/text.ts';
import { healthOf } from '../../record/health.ts';
import { imageOf } from '../../record/revision-image.ts';
import { followsDepth, rolesOf, scaleOf } from '../../record/scale.ts';
import { type ActionFailure, deploymentOf, type Observed, type Workload } from '../observed.ts';
import { checkBuild } from './build.ts';
import { type Entry, entryOf, fail, firstOf, firstProblem, pass, stalled } from './entry.ts';
import { checkMigration } from './migration.ts';
import { podFailure, podsOf, type Trouble } from './pod-failures.ts';

interface Seen {
  readonly observed: Observed;
  readonly revision: AppRevision;
  readonly role: Role;
  readonly workload: Workload | undefined;
  /** PostgreSQL and Redis: what the pods may be waiting for. */
  readonly stores: readonly Entry[];
  readonly failures: readonly ActionFailure[];
}

const CHECKS: readonly ((seen: Seen) => Entry | undefined)[] = [
  podsRefused,
  notRolledYet,
  justBegun,
  serves,
  rolloutPaused,
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
  const migration = checkMigration(observed, revision, failures);
  if (migration) return migration;
  const roles = rolesOf(revision.spec.resolved).map((role) =>
    checkRole({ observed, revision, role, workload: deploymentOf(observed, role), stores, failures }),
  );
  return firstProblem(roles) ?? pass('Serving', 'Every pod of every part runs the latest revision and is ready.');
}

function checkRole(seen: Seen): Entry {
  return (
    firstOf(CHECKS, seen) ??
    fail('Progressing', `The ${seen.role} is being rolled to the latest revision. ${waitingFor(seen)}`)
  );
}

function podsRefused({ workload, revision, failures }: Seen): Entry | undefined {
  if (hasTemplateOf(workload, revision)) return undefined;
  const failure = failures.find(
    ({ reason, ref }) => reason === 'PodsRefused' || reason === 'NoNodeFits' || ref.kind === 'Deployment',
  );
  return failure && entryOf(failure);
}

function notRolledYet({ workload, revision, role }: Seen): Entry | undefined {
  if (hasTemplateOf(workload, revision)) return undefined;
  return fail('Progressing', `The ${role} is waiting for the rollout of revision ${revision.spec.id}.`);
}

function justBegun({ workload, role }: Seen): Entry | undefined {
  return isSeen(workload) ? undefined : fail('Progressing', `The rollout of the ${role} is starting.`);
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
    `Somebody has paused the rollout of the ${role}: kubectl rollout resume deployment ${name} -n ${namespace} lets it go on.`,
  );
}

function deadlineExceeded(seen: Seen): Entry | undefined {
  const { workload, revision, role } = seen;
  const progress = workload?.status?.conditions?.find(({ type }) => type === 'Progressing');
  if (progress?.status !== 'False' || progress.reason !== 'ProgressDeadlineExceeded') return undefined;
  const trouble = troubleOf(seen);
  const { progressDeadlineSeconds } = revision.spec.resolved;
  return stalled(
    trouble?.reason ?? 'ProgressDeadlineExceeded',
    `The rollout of the ${role} made no progress in ${progressDeadlineSeconds} s. ${trouble?.message ?? waitingFor(seen)}`,
  );
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
    : podFailure(podsOf(observed, role, revision.spec.id));
}

function waitingFor({ stores, revision, role }: Seen): string {
  const { port, path, command } = healthOf(revision.spec, role);
  const condition = command
    ? 'Its health command must succeed in its pods'
    : `Its pods must answer ${path} on port ${port}`;
  return firstProblem(stores)?.message ?? `${condition}. See the log of container ${role}.`;
}

function hasTemplateOf(workload: Workload | undefined, revision: AppRevision): boolean {
  return workload?.spec?.template?.metadata?.labels?.[REVISION_LABEL] === revision.spec.id;
}

/** Whether its controller has looked at the workload as it is: before that its status is of another. */
function isSeen(workload: Workload | undefined): boolean {
  return workload !== undefined && (workload.status?.observedGeneration ?? 0) >= (workload.metadata.generation ?? 1);
}

function isRoleRolled(observed: Observed, revision: AppRevision, role: Role): boolean {
  const workload = deploymentOf(observed, role);
  if (!workload || !hasTemplateOf(workload, revision) || !isSeen(workload)) return false;
  const wanted = workload.spec?.replicas ?? 1;
  const { replicas = 0, updatedReplicas = 0, availableReplicas = 0 } = workload.status ?? {};
  if (updatedReplicas === wanted && replicas === wanted && availableReplicas === wanted) return true;
  // An autoscaler that asks for more pods begins no rollout: what counts is that those there are run this revision, and
  // are at least as many as they must be. The first time all of them have to be ready.
  const scale = scaleOf(revision.spec.resolved, role, followsDepth(revision.spec, observed.keda));
  if (scale.kind !== 'range') return false;
  const enough = revision.status?.state === 'DEPLOYED' || availableReplicas === replicas;
  return updatedReplicas === replicas && enough && availableReplicas >= scale.min;
}

/** Has every pod of an earlier revision, and with it the need of what this one no longer wants, gone? */
export function isRolled(observed: Observed, revision: AppRevision): boolean {
  if (imageOf(revision) === undefined) return runningRevision(observed) === undefined;
  return rolesOf(revision.spec.resolved).every((role) => isRoleRolled(observed, revision, role));
}

/** The revision that the main service was last rolled to, or is being rolled to; undefined before the first. */
export function runningRevision(observed: Observed): AppRevision | undefined {
  const workload = deploymentOf(observed, 'server');
  return workload && observed.revisions.find((revision) => hasTemplateOf(workload, revision));
}

/** Is the main service available now, by whatever revision's pods? */
export function isServing(observed: Observed): boolean {
  return (deploymentOf(observed, 'server')?.status?.availableReplicas ?? 0) > 0;
}

/** Ready and wanted pods of the main service, such as `1/2`; undefined before it is made. */
export function replicasOf(observed: Observed): string | undefined {
  const workload = deploymentOf(observed, 'server');
  if (!workload) return undefined;
  return `${workload.status?.readyReplicas ?? 0}/${workload.spec?.replicas ?? 1}`;
}
