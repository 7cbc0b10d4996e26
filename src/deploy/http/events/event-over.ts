// Which warnings of the cluster need nobody: probes fail while a pod starts, a build has failed before the one that serves, and the API
// server keeps the events of that for an hour.

import { REASONS } from '../../../kinds/app-deployment-conditions.ts';
import { conditionOf } from '../../../kinds/conditions.ts';
import type { Condition } from '../../../kinds/primitives.ts';
import type { Pod } from '../../assess/observed.ts';

interface Warning {
  readonly type: string | undefined;
  readonly reason: string;
  /** The object that it is about. */
  readonly kind: string | undefined;
  readonly name: string | undefined;
  /** When it happened last, RFC 3339. */
  readonly at: string | undefined;
}

/**
 * Whether it is a warning about one of these pods or a failure of the deployment, which has become ready since and is, or about a run that
 * was started by hand: a CronJob warns of each Job that it did not create itself. `conditions`: the deployment's conditions.
 */
export function isOver(
  { type, reason, kind, name, at = '' }: Warning,
  pods: readonly Pick<Pod, 'metadata' | 'status'>[],
  conditions: readonly Condition[] = [],
): boolean {
  if (kind === 'CronJob' && reason === 'UnexpectedJob') return true;
  const isOwn = kind === 'AppDeployment' && (Object.hasOwn(REASONS, reason) || reason === 'RevisionFailed');
  if (type !== 'Warning' || (kind !== 'Pod' && !isOwn)) return false;
  const pod = pods.find(({ metadata }) => metadata.name === name);
  const ready = isOwn ? conditionOf(conditions, 'Ready') : conditionOf(pod?.status?.conditions, 'Ready');
  // Both are of whole seconds; without one of them nothing is known.
  return ready?.status === 'True' && Date.parse(at) <= Date.parse(ready.lastTransitionTime ?? '');
}
