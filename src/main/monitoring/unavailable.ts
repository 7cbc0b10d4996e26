// Since when a record with a deployed revision does not serve, or lacks some of its pods, although somebody wants it to.

import { type AppDeployment, deploymentTypeMeant } from '../../kinds/app-deployment.ts';
import { isFailure, REASONS, type Reason } from '../../kinds/app-deployment-conditions.ts';
import { conditionOf } from '../../kinds/conditions.ts';
import { reasonLabel } from './outcomes.ts';

/** States of records that run nothing as somebody wanted it, or of which nothing is known here. */
const WITHOUT_SERVICE: readonly string[] = ['UNUSED', 'AWAITING_DELETE'];
const NOT_HERE: readonly string[] = ['Paused', 'ListenerSilent'] satisfies Reason[];

/** `at`: seconds since 1970. */
export interface Trouble {
  readonly reason: string;
  readonly at: number;
}

export function unavailable({ status }: AppDeployment): Trouble | undefined {
  const available = conditionOf(status?.conditions, 'Available');
  if (available?.status !== 'False' || status?.activeRevisionId === undefined) return undefined;
  if (NOT_HERE.includes(available.reason)) return undefined;
  if (WITHOUT_SERVICE.includes(status.state ?? '')) return undefined;
  return { reason: reasonLabel(available.reason, REASONS), at: Date.parse(available.lastTransitionTime) / 1000 };
}

/** The same of a record that serves, and lacks pods of a part outside of a rollout. A record that is Stalled counts as that. */
export function degraded({ status }: AppDeployment): Trouble | undefined {
  const [available, stalled, workloads] = (['Available', 'Stalled', 'WorkloadsReady'] as const).map((type) =>
    conditionOf(status?.conditions, type),
  );
  const isLacking =
    workloads?.status === 'False' && (workloads.reason === 'Progressing' || isFailure(workloads.reason));
  if (!isLacking || available?.status !== 'True' || stalled?.status === 'True') return undefined;
  return { reason: reasonLabel(workloads.reason, REASONS), at: Date.parse(workloads.lastTransitionTime) / 1000 };
}

/** The deployment_type as a label, by which alerts tell what is in production. */
export function typeLabel({ spec }: AppDeployment): string {
  return deploymentTypeMeant(spec.sourceConfig.deploymentType) ?? 'none';
}
