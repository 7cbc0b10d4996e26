// Writes statuses of a record that have changed, and records their transitions as events.

import type { AppDeployment, AppDeploymentStatus } from '../../kinds/app-deployment.ts';
import { isFailure } from '../../kinds/app-deployment-conditions.ts';
import type { AppRevision, AppRevisionStatus } from '../../kinds/app-revision.ts';
import { type ConditionInput, conditionOf, mergeConditions } from '../../kinds/conditions.ts';
import { EMPTY_DATABASE_ANNOTATION, FIELD_MANAGER } from '../../kinds/meta.ts';
import type { Condition } from '../../kinds/primitives.ts';
import type { TracingProject } from '../../kinds/tracing-project.ts';
import type { EventRecorder } from '../../runtime/controller/events.ts';
import { reportStatus } from '../../runtime/controller/report-status.ts';
import type { Cluster } from './cluster.ts';

const OWN = { fieldManager: FIELD_MANAGER };

export async function reportRecord(
  record: AppDeployment,
  status: AppDeploymentStatus,
  home: Cluster,
  events: EventRecorder,
): Promise<void> {
  const changed = await reportStatus(record, status, home, OWN);
  if (!changed) return;
  recordTasks(record, status, events);
  recordGivenUp(record, status, events);
  const before = conditionOf(record.status?.conditions, 'Ready');
  const after = conditionOf(status.conditions, 'Ready');
  if (!after) return;
  if (before?.status === after.status && before.reason === after.reason) {
    recordAvailability(record, status, events);
    return;
  }
  const stalled = conditionOf(status.conditions, 'Stalled')?.status === 'True';
  const isBad = stalled || isFailure(after.reason);
  // A new record is expected not to be ready: no event.
  if (!before && !isBad) return;
  recordCondition(record, after, isBad, events);
}

/** An empty database is used instead of the one that a person gave up. Ready says nothing of that: the data is gone, and all is well. */
function recordGivenUp(record: AppDeployment, status: AppDeploymentStatus, events: EventRecorder): void {
  const given = (note: string): void =>
    events.record({ regarding: record, type: 'Warning', reason: 'DatabaseGivenUp', action: 'Replace', note });
  const { databaseVolumeUid: before, databaseNumber } = record.status ?? {};
  const { databaseVolumeUid: after } = status;
  const isGivenUp = before !== undefined && record.metadata.annotations?.[EMPTY_DATABASE_ANNOTATION] === before;
  if (!isGivenUp || after === undefined || after === before || status.databaseNumber !== databaseNumber) return;
  given(
    `The lost database ${before} was replaced by ${after}, which began empty, as annotation ${EMPTY_DATABASE_ANNOTATION} requested.`,
  );
}

/** A task that fails, and one that succeeds again. Ready says nothing of them. */
function recordTasks(record: AppDeployment, status: AppDeploymentStatus, events: EventRecorder): void {
  const before = conditionOf(record.status?.conditions, 'TasksReady');
  const after = conditionOf(status.conditions, 'TasksReady');
  if (!after || before?.reason === after.reason) return;
  const isBad = isFailure(after.reason);
  if (!isBad && !isFailure(before?.reason ?? 'NotObserved')) return;
  recordCondition(record, after, isBad, events);
}

/** Ready says the same, for example that the newest revision failed, while what served stops or serves again. */
function recordAvailability(record: AppDeployment, status: AppDeploymentStatus, events: EventRecorder): void {
  const before = conditionOf(record.status?.conditions, 'Available');
  const after = conditionOf(status.conditions, 'Available');
  if (!before || !after || before.status === after.status) return;
  recordCondition(record, after, after.status !== 'True', events);
}

function recordCondition(
  regarding: AppDeployment,
  { reason, message: note }: Condition,
  isBad: boolean,
  events: EventRecorder,
): void {
  events.record({ regarding, type: isBad ? 'Warning' : 'Normal', reason, action: 'Reconcile', note });
}

export async function reportRevision(
  record: AppDeployment,
  revision: AppRevision,
  status: Omit<AppRevisionStatus, 'build'>,
  home: Cluster,
  events: EventRecorder,
): Promise<void> {
  const changed = await reportStatus(revision, status, home, { ...OWN, foreign: 'build' });
  if (!changed || revision.status?.state === status.state) return;
  if (status.state === 'DEPLOYED')
    events.record({
      regarding: record,
      type: 'Normal',
      reason: 'RevisionDeployed',
      action: 'Deploy',
      note: `Revision ${revision.spec.id} is deployed.`,
    });
  if (status.state === 'DEPLOY_FAILED')
    events.record({
      regarding: record,
      type: 'Warning',
      reason: 'RevisionFailed',
      action: 'Deploy',
      note: status.message ?? '',
    });
}

/** Writes the record's uid to the status of the tracing project that it uses, replacing the uid of any other record. */
export async function reportTracingProject(
  project: TracingProject,
  record: AppDeployment,
  home: Cluster,
  now: Date,
): Promise<void> {
  const uid = record.metadata.uid ?? '';
  const generation = project.metadata.generation ?? 1;
  if (project.status?.deploymentUid === uid && project.status.observedGeneration === generation) return;
  const message = `Used by deployment ${record.metadata.name}.`;
  const ready: ConditionInput = { type: 'Ready', status: 'True', reason: 'Linked', message };
  const conditions = mergeConditions(project.status?.conditions, [ready], generation, now);
  await reportStatus(project, { deploymentUid: uid, observedGeneration: generation, conditions }, home, OWN);
}
