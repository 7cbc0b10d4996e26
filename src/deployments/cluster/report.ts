// Writes statuses that have changed, and records their transitions as events.

import { isDeepStrictEqual } from 'node:util';
import type { EventRecorder } from '../../lib/controller/events.ts';
import type { KubeObject } from '../../lib/kube/client.ts';
import type { AppDeployment, AppDeploymentStatus } from '../../schema/app-deployment.ts';
import { isFailure } from '../../schema/app-deployment-conditions.ts';
import type { AppRevision, AppRevisionStatus } from '../../schema/app-revision.ts';
import { type ConditionInput, conditionOf, mergeConditions } from '../../schema/conditions.ts';
import { FIELD_MANAGER } from '../../schema/meta.ts';
import type { TracingProject } from '../../schema/tracing-project.ts';
import { overlayWrite } from './caches.ts';
import type { Cluster } from './cluster.ts';

/** A field of a status that another field manager writes. */
type ForeignField = 'build' | 'pushes';

/**
 * Applies `status` unless the object already has it, and adds the response to the cache. `foreign` names a field of the
 * status that another field manager owns and that is not compared. Returns whether the status was written.
 */
export async function reportStatus<T extends KubeObject & { readonly status?: object }>(
  object: T,
  status: object,
  home: Cluster,
  foreign?: ForeignField,
): Promise<boolean> {
  if (isDeepStrictEqual(without(object.status, foreign), status)) return false;
  const { name, namespace, uid } = object.metadata;
  const wanted = {
    apiVersion: object.apiVersion,
    kind: object.kind,
    metadata: { name, ...(namespace !== undefined && { namespace }), ...(uid !== undefined && { uid }) },
    status,
  };
  const written = await home.client.apply(home.registry.resourceOf(object), wanted, {
    fieldManager: FIELD_MANAGER,
    force: true,
    subresource: 'status',
  });
  overlayWrite(home.caches, written);
  return true;
}

function without(status: object | undefined, field: ForeignField | undefined): object | undefined {
  if (status === undefined || field === undefined || !(field in status)) return status;
  const { [field]: _others, ...own } = status as Readonly<Record<string, unknown>>;
  return Object.keys(own).length === 0 ? undefined : own;
}

export async function reportRecord(
  record: AppDeployment,
  status: AppDeploymentStatus,
  home: Cluster,
  events: EventRecorder,
): Promise<void> {
  const changed = await reportStatus(record, status, home);
  if (!changed) return;
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
  events.record({
    regarding: record,
    type: isBad ? 'Warning' : 'Normal',
    reason: after.reason,
    action: 'Reconcile',
    note: after.message,
  });
}

/** Ready says the same, for example that the newest revision failed, while what served stops or serves again. */
function recordAvailability(record: AppDeployment, status: AppDeploymentStatus, events: EventRecorder): void {
  const before = conditionOf(record.status?.conditions, 'Available');
  const after = conditionOf(status.conditions, 'Available');
  if (!before || !after || before.status === after.status) return;
  const type = after.status === 'True' ? 'Normal' : 'Warning';
  events.record({ regarding: record, type, reason: after.reason, action: 'Reconcile', note: after.message });
}

export async function reportRevision(
  record: AppDeployment,
  revision: AppRevision,
  status: Omit<AppRevisionStatus, 'build'>,
  home: Cluster,
  events: EventRecorder,
): Promise<void> {
  const changed = await reportStatus(revision, status, home, 'build');
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
  await reportStatus(project, { deploymentUid: uid, observedGeneration: generation, conditions }, home);
}
