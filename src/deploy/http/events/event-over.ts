// Which warnings of the cluster need nobody: probes fail while a pod starts, and the API server keeps the events of that for an hour.

import { conditionOf } from '../../../kinds/conditions.ts';
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
 * Whether it is a warning about one of these pods, which has become ready since and is, or about a run that was started by hand: a CronJob warns of each
 * Job that it did not create itself.
 */
export function isOver(
  { type, reason, kind, name, at = '' }: Warning,
  pods: readonly Pick<Pod, 'metadata' | 'status'>[],
): boolean {
  if (kind === 'CronJob' && reason === 'UnexpectedJob') return true;
  if (type !== 'Warning' || kind !== 'Pod') return false;
  const pod = pods.find(({ metadata }) => metadata.name === name);
  const ready = conditionOf(pod?.status?.conditions, 'Ready');
  // Both are of whole seconds; without one of them nothing is known.
  return ready?.status === 'True' && Date.parse(at) <= Date.parse(ready.lastTransitionTime ?? '');
}
