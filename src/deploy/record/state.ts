// The state of a record, as one table for the controller's report and for the facade before the first report.

import type { AppDeploymentSpec, State } from '../../kinds/app-deployment.ts';
import { awaitsSource } from './requested.ts';

/** Inputs of the table. Each is false before anything has been observed. */
export interface Seen {
  readonly isLeaving: boolean;
  /** Intentionally not running: scaled to zero, or without a pushed image or source. */
  readonly runsNothing: boolean;
  /** A listener's cluster runs it, or will run it. */
  readonly isElsewhere: boolean;
  /** It violates the platform's rules, and has no revision that could run. */
  readonly isRefused: boolean;
  readonly storesAnswer: boolean;
  /** A revision has been deployed, and its main service is available now. */
  readonly isServing: boolean;
}

/** The first matching row decides. */
export function stateFrom(seen: Seen): State {
  if (seen.isLeaving) return 'AWAITING_DELETE';
  if (seen.runsNothing) return 'UNUSED';
  if (seen.isElsewhere || seen.isRefused) return 'UNKNOWN';
  if (!seen.storesAnswer) return 'AWAITING_DATABASE';
  return seen.isServing ? 'READY' : 'UNKNOWN';
}

/** For a record without a revision: whether its author intends that. */
export function asksForNothing(spec: Readonly<AppDeploymentSpec>): boolean {
  return spec.sourceConfig.resourceSpec?.maxScale === 0 || awaitsSource(spec);
}
