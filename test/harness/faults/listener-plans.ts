// The plans between a hub, the agent of a listener's cluster and that cluster: which of the three connections is disturbed, and how.

import type { Fault } from './fault.ts';

/** `hub`: the hub's controller to its API server; `link`: the agent to the hub; `remote`: the agent to its own API server. */
export const SIDES = ['hub', 'link', 'remote'] as const;
export type Side = (typeof SIDES)[number];

export const LISTENER_WORKLOADS = [
  'listener-life',
  'listener-cut',
  'listener-away',
  'listener-clone',
  'listener-revoked',
  'listener-taken',
  'listener-restored',
] as const;
export type ListenerWorkload = (typeof LISTENER_WORKLOADS)[number];

export interface ListenerPlan {
  readonly workload: ListenerWorkload;
  readonly side: Side;
  readonly fault: Fault;
  /** A bug that is put into controller and agent for this plan (mutants.ts). */
  readonly seed?: string;
}

/** The labels of the writes of an undisturbed `listener-life`. */
export type SideLabels = Readonly<Record<Side, readonly string[]>>;

const NONE: Fault = { kind: 'none' };
const TEN_MINUTES = 600_000;

/** What each connection watches besides what `npm run faults` disturbs elsewhere. */
const WATCHED: Readonly<Record<Side, readonly string[]>> = {
  hub: ['listeners', 'listenerworks', 'appdeployments', 'namespaces', 'leases'],
  link: ['listenerworks'],
  remote: ['appdeployments', 'apprevisions', 'secrets', 'namespaces'],
};

export function listenerPlans(labels: SideLabels): ListenerPlan[] {
  const plans: ListenerPlan[] = LISTENER_WORKLOADS.filter((workload) => workload !== 'listener-life').map(
    (workload) => ({ workload, side: 'link', fault: NONE }),
  );
  const add = (side: Side, fault: Fault): void => void plans.push({ workload: 'listener-life', side, fault });
  for (const side of SIDES) {
    for (const fault of faultsAtWrites(labels[side])) add(side, fault);
    for (const resource of WATCHED[side]) for (const fault of faultsOfWatch(resource)) add(side, fault);
    for (const status of [500, 429] as const) add(side, { kind: 'outage', phase: 'change', status });
    add(side, { kind: 'slow', ms: 150 });
  }
  // One for each process: that of the agent is the link's.
  for (const side of ['hub', 'link'] as const)
    for (const ms of [TEN_MINUTES, -TEN_MINUTES]) add(side, { kind: 'clock-skew', ms });
  return plans;
}

/** All that may happen at the first write of a kind, and at later ones the crash of which most is lost. */
function faultsAtWrites(labels: readonly string[]): Fault[] {
  const seen = new Set<string>();
  return labels.flatMap((at, index): Fault[] => {
    const kind = at.replace(/^[^/]*\//, '').replace(/#\d+$/, '');
    const isFirst = !seen.has(kind);
    seen.add(kind);
    if (!isFirst) return [{ kind: 'crash-lost', at }];
    const others: Fault[] = [
      { kind: 'refused', at, status: 409 },
      { kind: 'refused-committed', at, status: 500 },
      { kind: 'lost', at },
      { kind: 'throttled', at },
      { kind: 'refused', at, status: 503 },
    ];
    return [
      { kind: 'crash-before', at },
      { kind: 'crash-lost', at },
      { kind: 'crash-after', at },
      others[index % others.length] as Fault,
    ];
  });
}

function faultsOfWatch(resource: string): Fault[] {
  const event = 2;
  return [
    { kind: 'watch-delay', resource, ms: 300 },
    { kind: 'watch-half-open', resource, event },
    { kind: 'relist-short', resource, event },
    { kind: 'relist-empty', resource, event },
    { kind: 'watch-gap', resource, event },
  ];
}
