// Writes statuses, each only if it says something new, and tells transitions as events.

import { isDeepStrictEqual } from 'node:util';
import type { AppDeployment, AppDeploymentStatus } from '../../api/app-deployment.ts';
import type { AppRevision, AppRevisionStatus } from '../../api/app-revision.ts';
import { type ConditionInput, conditionOf, mergeConditions } from '../../api/conditions.ts';
import { FIELD_MANAGER } from '../../api/meta.ts';
import type { TracingProject } from '../../api/tracing-project.ts';
import type { KubeObject } from '../../kube/client.ts';
import type { EventRecorder } from '../../runtime/events.ts';
import { overlayWrite } from './caches.ts';
import type { Cluster } from './cluster.ts';

/** Writes `status` unless it is there already. The answer goes into the cache. */
export async function reportStatus<T extends KubeObject & { readonly status?: object }>(
  object: T,
  status: object,
  shell: Cluster,
): Promise<boolean> {
  if (isDeepStrictEqual(object.status, status)) return false;
  const { name, namespace, uid } = object.metadata;
  const wanted = {
    apiVersion: object.apiVersion,
    kind: object.kind,
    metadata: { name, ...(namespace !== undefined && { namespace }), ...(uid !== undefined && { uid }) },
    status,
  };
  const written = await shell.client.apply(shell.registry.resourceOf(object), wanted, {
    fieldManager: FIELD_MANAGER,
    force: true,
    subresource: 'status',
  });
  overlayWrite(shell.caches, written);
  return true;
}

export async function reportRecord(
  record: AppDeployment,
  status: AppDeploymentStatus,
  shell: Cluster,
  events: EventRecorder,
): Promise<void> {
  const changed = await reportStatus(record, status, shell);
  if (!changed) return;
  const before = conditionOf(record.status?.conditions, 'Ready');
  const after = conditionOf(status.conditions, 'Ready');
  if (!after || (before?.status === after.status && before.reason === after.reason)) return;
  const stalled = conditionOf(status.conditions, 'Stalled')?.status === 'True';
  // That a new record is not ready yet is no news.
  if (!before && !stalled) return;
  events.record({
    regarding: record,
    type: stalled ? 'Warning' : 'Normal',
    reason: after.reason,
    action: 'Reconcile',
    note: after.message,
  });
}

export async function reportRevision(
  record: AppDeployment,
  revision: AppRevision,
  status: AppRevisionStatus,
  shell: Cluster,
  events: EventRecorder,
): Promise<void> {
  const changed = await reportStatus(revision, status, shell);
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

/** Says on the tracing project which deployment uses it. One that another record's uid stands on is taken over. */
export async function reportTracingProject(
  project: TracingProject,
  record: AppDeployment,
  shell: Cluster,
  now: Date,
): Promise<void> {
  const uid = record.metadata.uid ?? '';
  const generation = project.metadata.generation ?? 1;
  if (project.status?.deploymentUid === uid && project.status.observedGeneration === generation) return;
  const message = `Used by deployment ${record.metadata.name}.`;
  const ready: ConditionInput = { type: 'Ready', status: 'True', reason: 'Linked', message };
  const conditions = mergeConditions(project.status?.conditions, [ready], generation, now);
  await reportStatus(project, { deploymentUid: uid, observedGeneration: generation, conditions }, shell);
}
