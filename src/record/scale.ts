// How many pods a role runs: a fixed number, or a range within which an autoscaler decides.

import type { Resolved } from '../api/app-revision.ts';
import { ROLES, type Role } from '../api/meta.ts';

export type Scale =
  | { readonly kind: 'fixed'; readonly replicas: number }
  /** Both at least 1, `min` below `max`. */
  | { readonly kind: 'range'; readonly min: number; readonly max: number };

/**
 * No role runs if the main service is scaled to 0. If the maximum is above 0, at least one pod runs: an autoscaler does not
 * accept a minimum of 0, and nothing would start a pod on demand. The executor has one replica.
 */
export function scaleOf(resolved: Readonly<Resolved>, role: Role): Scale {
  if (resolved.server.maxScale === 0) return fixed(0);
  const part = role === 'executor' ? undefined : resolved[role];
  if (part === undefined) return fixed(1);
  const min = Math.min(Math.max(part.minScale, 1), part.maxScale);
  return part.maxScale > min ? { kind: 'range', min, max: part.maxScale } : fixed(min);
}

function fixed(replicas: number): Scale {
  return { kind: 'fixed', replicas };
}

/** The workloads of a revision with these values. */
export function rolesOf(resolved: Readonly<Resolved>): readonly Role[] {
  return ROLES.filter((role) => role === 'server' || resolved[role] !== undefined);
}

/** The roles with an autoscaler. */
export function autoscaledRoles(resolved: Readonly<Resolved>): readonly Role[] {
  return rolesOf(resolved).filter((role) => scaleOf(resolved, role).kind === 'range');
}

/** Roles with a minimum of 0 and a maximum above 0, which nevertheless keep one pod. */
export function raisedMinimums(resolved: Readonly<Resolved>): readonly Role[] {
  if (resolved.server.maxScale === 0) return [];
  return rolesOf(resolved).filter((role) => {
    const part = role === 'executor' ? undefined : resolved[role];
    return part !== undefined && part.minScale === 0 && part.maxScale > 0;
  });
}
