// How many pods a role runs: a fixed number, or a range within which an autoscaler decides.

import type { AppRevisionSpec, Resolved } from '../../schema/app-revision.ts';
import { ROLES, type Role } from '../../schema/meta.ts';

export type Scale =
  | { readonly kind: 'fixed'; readonly replicas: number }
  /** `min` is below `max`, and at least 1 except for queue workers that follow the depth of the queue. */
  | { readonly kind: 'range'; readonly min: number; readonly max: number };

/**
 * No role runs if the main service is scaled to 0. If the maximum is above 0, at least one pod runs: an autoscaler does not
 * accept a minimum of 0, and nothing would start a pod on demand. The executor has one replica. `byDepth`: the queue workers
 * follow the depth of the queue, which starts pods from 0.
 */
export function scaleOf(resolved: Readonly<Resolved>, role: Role, byDepth = false): Scale {
  if (resolved.server.maxScale === 0) return fixed(0);
  const part = role === 'executor' ? undefined : resolved[role];
  if (part === undefined) return fixed(1);
  const least = byDepth && role === 'queue' ? 0 : 1;
  const min = Math.min(Math.max(part.minScale, least), part.maxScale);
  return part.maxScale > min ? { kind: 'range', min, max: part.maxScale } : fixed(min);
}

function fixed(replicas: number): Scale {
  return { kind: 'fixed', replicas };
}

/** The workloads of a revision with these values. */
export function rolesOf(resolved: Readonly<Resolved>): readonly Role[] {
  return ROLES.filter((role) => role === 'server' || resolved[role] !== undefined);
}

/** Whether the queue workers of a revision follow the depth of their queue. `keda`: whether the cluster has KEDA's kinds. */
export function followsDepth(
  { requested, resolved }: Readonly<Pick<AppRevisionSpec, 'requested' | 'resolved'>>,
  keda: boolean | undefined,
): boolean {
  const asks = requested.runtime?.queueDepth !== undefined && resolved.postgres !== undefined;
  return asks && keda === true && scaleOf(resolved, 'queue', true).kind === 'range' && resolved.queue !== undefined;
}

/** The roles with an autoscaler. */
export function autoscaledRoles(resolved: Readonly<Resolved>, byDepth = false): readonly Role[] {
  return rolesOf(resolved).filter((role) => scaleOf(resolved, role, byDepth).kind === 'range');
}

/** Roles with a minimum of 0 and a maximum above 0, which nevertheless keep one pod. */
export function raisedMinimums(resolved: Readonly<Resolved>, byDepth = false): readonly Role[] {
  if (resolved.server.maxScale === 0) return [];
  return rolesOf(resolved).filter((role) => {
    const part = role === 'executor' || (byDepth && role === 'queue') ? undefined : resolved[role];
    return part !== undefined && part.minScale === 0 && part.maxScale > 0;
  });
}
