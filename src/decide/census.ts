// The state of all records and builds as numbers, for the metrics. The number of groups is bounded by the tables of states and
// reasons, not by the number of records or tenants.

import type { AppDeployment } from '../api/app-deployment.ts';
import { REASONS } from '../api/app-deployment-conditions.ts';
import type { AppRevision } from '../api/app-revision.ts';
import { isUnderWay } from '../api/build.ts';
import { conditionOf } from '../api/conditions.ts';
import { reasonLabel } from './outcomes.ts';

/** The state of all records and builds, in groups of which there are as many as combinations of states and reasons. */
export interface Census {
  /** `ready` and `stalled` are the status of the condition, `reason` that of Ready. */
  readonly deployments: readonly {
    readonly state: string;
    readonly ready: string;
    readonly stalled: string;
    readonly reason: string;
    readonly count: number;
  }[];
  /** Since when the record that has been Stalled longest for each reason is so; seconds since 1970. */
  readonly stalledSince: readonly { readonly reason: string; readonly at: number }[];
  /** Builds that have not ended. */
  readonly builds: readonly { readonly phase: string; readonly count: number }[];
  /** Since when the build that has waited longest for its turn does so; seconds since 1970. */
  readonly queuedSince?: number;
}

/** Counts records and builds. */
export function censusOf(records: readonly AppDeployment[], revisions: readonly AppRevision[]): Census {
  const deployments = new Map<string, Census['deployments'][number]>();
  const stalledSince = new Map<string, number>();
  for (const { status } of records) {
    const ready = conditionOf(status?.conditions, 'Ready');
    const stalled = conditionOf(status?.conditions, 'Stalled');
    const group = {
      state: status?.state ?? 'UNKNOWN',
      ready: ready?.status ?? 'Unknown',
      stalled: stalled?.status ?? 'Unknown',
      reason: ready ? reasonLabel(ready.reason, REASONS) : 'NotObserved',
    };
    const key = `${group.state} ${group.ready} ${group.stalled} ${group.reason}`;
    deployments.set(key, { ...group, count: (deployments.get(key)?.count ?? 0) + 1 });
    if (stalled?.status !== 'True') continue;
    const seconds = Date.parse(stalled.lastTransitionTime) / 1000;
    const reason = reasonLabel(stalled.reason, REASONS);
    stalledSince.set(reason, Math.min(seconds, stalledSince.get(reason) ?? seconds));
  }
  const builds = new Map<string, number>();
  let queuedSince = Infinity;
  for (const { status } of revisions) {
    const build = status?.build;
    if (build === undefined || !isUnderWay(build)) continue;
    builds.set(build.phase, (builds.get(build.phase) ?? 0) + 1);
    if (build.phase === 'Queued' && build.queuedAt !== undefined)
      queuedSince = Math.min(queuedSince, Date.parse(build.queuedAt) / 1000);
  }
  return {
    deployments: [...deployments.values()],
    stalledSince: [...stalledSince].map(([reason, at]) => ({ reason, at })),
    builds: [...builds].map(([phase, count]) => ({ phase, count })),
    ...(queuedSince < Infinity && { queuedSince }),
  };
}
