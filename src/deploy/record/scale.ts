// How many pods a part runs: a fixed number, or a range within which an autoscaler decides.

import type { AppRevisionSpec, Resolved, Scaled, Sized } from '../../kinds/app-revision.ts';
import { partsOf, sizeOf } from './parts.ts';

export type Scale =
  | { readonly kind: 'fixed'; readonly replicas: number }
  /** `min` is below `max`, and at least 1 except for queue workers that follow the depth of the queue. */
  | { readonly kind: 'range'; readonly min: number; readonly max: number };

/**
 * No part runs if the main service is scaled to 0. If the maximum is above 0, at least one pod runs: an autoscaler does not
 * accept a minimum of 0, and nothing would start a pod on demand. The executor has one replica, and so has a singleton. `byDepth`: the queue workers
 * follow the depth of the queue, which starts pods from 0.
 */
export function scaleOf(resolved: Readonly<Resolved>, role: string, byDepth = false): Scale {
  if (resolved.server.maxScale === 0) return fixed(0);
  const part = sizeOf(resolved, role);
  if (part === undefined || !isScaled(part)) return fixed(1);
  const least = byDepth && role === 'queue' ? 0 : 1;
  const min = Math.min(Math.max(part.minScale, least), part.maxScale);
  return part.maxScale > min ? { kind: 'range', min, max: part.maxScale } : fixed(min);
}

function fixed(replicas: number): Scale {
  return { kind: 'fixed', replicas };
}

/** Whether the queue workers of a revision follow the depth of their queue. `keda`: whether the cluster has KEDA's kinds. */
export function followsDepth(
  { requested, resolved }: Readonly<Pick<AppRevisionSpec, 'requested' | 'resolved'>>,
  keda: boolean | undefined,
): boolean {
  const asks = requested.runtime?.queueDepth !== undefined && resolved.postgres !== undefined;
  return asks && keda === true && scaleOf(resolved, 'queue', true).kind === 'range' && resolved.queue !== undefined;
}

/** The parts with an autoscaler. */
export function autoscaledParts(resolved: Readonly<Resolved>, byDepth = false): readonly string[] {
  return partsOf(resolved).filter((role) => scaleOf(resolved, role, byDepth).kind === 'range');
}

/** Parts with a minimum of 0 and a maximum above 0, which nevertheless keep one pod. */
export function raisedMinimums(resolved: Readonly<Resolved>, byDepth = false): readonly string[] {
  if (resolved.server.maxScale === 0) return [];
  return partsOf(resolved).filter((role) => {
    const part = byDepth && role === 'queue' ? undefined : sizeOf(resolved, role);
    return part !== undefined && isScaled(part) && part.minScale === 0 && part.maxScale > 0;
  });
}

function isScaled(part: Readonly<Sized | Scaled>): part is Scaled {
  return 'maxScale' in part;
}
