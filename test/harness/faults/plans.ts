// Which plans there are: every write of every workload times the crash points, and the rest.

import { BUILD_WORKLOADS, isBuildWorkload } from './build-workloads.ts';
import { exclusivePlans } from './control-plane-faults.ts';
import { type Fault, type Plan, WORKLOADS, type WorkloadName } from './fault.ts';
import { editsOf, REFUSABLE, squattersOf } from './interference.ts';
import { doomedPlans } from './namespace-deletion.ts';
import type { Sighting } from './object-history.ts';
import { chance } from './watch-faults.ts';

const WATCHED = [
  'appdeployments',
  'apprevisions',
  'tracingprojects',
  'pods',
  'secrets',
  'deployments',
  'statefulsets',
  'services',
  'persistentvolumeclaims',
  'networkpolicies',
  'horizontalpodautoscalers',
  'poddisruptionbudgets',
] as const;

/** So many lines later there is enough of it for a second page of two. */
const EVENTS_BEFORE_LIST: Readonly<Record<string, number>> = { services: 3, secrets: 3, pods: 8, statefulsets: 5 };

/**
 * The writes that a workload adds to those of `create`, which all the others begin with. What `recreate` deletes,
 * `delete` does.
 */
export function ownWrites(workload: WorkloadName, labels: readonly string[]): readonly string[] {
  if (workload === 'create') return labels;
  const own = labels.filter((label) => !/^(?:create|stopping)\//.test(label) && !label.startsWith('recreate/delete '));
  // What `moves` does too, they say again and again.
  if (OF_MOVES.has(workload)) return thinned(own);
  if (!isBuildWorkload(workload)) return own;
  // One failure after another is written in the same way; of what a webhook is told, only its own writes are new.
  if (workload === 'builds-fail' || workload === 'builds-overdue' || workload === 'builds-notices')
    return own.filter((label, index) => index % 7 === 0 || label.includes(' notifiers/'));
  // One build after another tells the same steps, and what it makes run are the children that other workloads have.
  return thinned(own, (label) => workload === 'builds' || !CHILD.test(label));
}

const OF_MOVES: ReadonlySet<string> = new Set(['moves-kept', 'moves-deleted']);

/** Each third report of a step, and those others that `isMeant`. */
function thinned(labels: readonly string[], isMeant: (label: string) => boolean = () => true): readonly string[] {
  const steps = labels.filter((label) => STEP.test(label));
  const others = labels.filter((label) => !STEP.test(label) && isMeant(label));
  return [...others, ...steps.filter((_, index) => index % 3 === 0)];
}

const STEP = /\/apply app(deployments|revisions)\/status /;
const CHILD = /\/(apply|create) (?!secrets build-|jobs )[a-z/]+ shop/;

/** As much of a workload's reference as plans are made from. */
export interface Learned {
  readonly labels: readonly string[];
  readonly children: readonly Sighting[];
}

/** Every plan there is, given each workload's reference. */
export function allPlans(references: ReadonlyMap<WorkloadName, Learned>): Plan[] {
  const plans: Plan[] = [];
  for (const [workload, { labels, children }] of references) {
    if (workload === 'doomed') {
      plans.push(...doomedPlans(labels));
      continue;
    }
    for (const [index, at] of ownWrites(workload, labels).entries())
      plans.push(...faultsAt(at, index).map((fault) => ({ workload, fault })));
    plans.push(...plansOfWorkload(workload));
    // Who plays the pods that build does so on this server alone.
    if (!isBuildWorkload(workload))
      plans.push(...exclusivePlans(workload, LAST_PHASE[workload] ?? 'create', ownWrites(workload, labels)));
    if (workload === 'create') plans.push(...plansOfChildren(children));
  }
  return plans;
}

/**
 * Three crash points at every write. The other faults are alike from one write to the next, so they take turns: each
 * write has one of them, and every fourth one of those with two controllers.
 */
function faultsAt(at: string, index: number): Fault[] {
  const turn = <T>(items: readonly T[], count: number): T => items[count % items.length] as T;
  const others: Fault[] = [
    { kind: 'lost-blind', at },
    { kind: 'refused-committed', at, status: 500 },
    { kind: 'lost', at },
    { kind: 'refused', at, status: 500 },
    { kind: 'throttled', at },
    { kind: 'refused', at, status: 409 },
    { kind: 'refused-committed', at, status: 503 },
    { kind: 'refused', at, status: 503 },
    { kind: 'throttled-long', at },
  ];
  const leaders = (['leader-killed', 'leader-stopped', 'leader-paused'] as const).map((kind): Fault => ({ kind, at }));
  return [
    ...(['crash-before', 'crash-lost', 'crash-after'] as const).map((kind): Fault => ({ kind, at })),
    turn(others, index),
    // Before the first phase the one that would take over is not there.
    ...(index % 4 === 0 && !at.startsWith('/') ? [turn(leaders, index / 4)] : []),
  ];
}

/** The finalizer. */
const FIRST_WRITE = 'create/patch appdeployments shop#1';

/** What others may do to each child, and what a cluster may refuse. */
function plansOfChildren(children: readonly Sighting[]): Plan[] {
  const faults: Fault[] = [...editsOf(children), ...squattersOf(children)];
  for (const refused of REFUSABLE) {
    faults.push({ kind: 'admission', of: refused });
    faults.push({ kind: 'denied', resource: refused, status: 422 });
    faults.push({ kind: 'denied', resource: refused, status: 403, ms: 6000 });
    faults.push({ kind: 'denied', resource: refused, status: 500, ms: 4000 });
  }
  for (const full of ['deployments', 'services', 'persistentvolumeclaims', 'secrets', 'pods'] as const)
    faults.push({ kind: 'quota', of: full });
  faults.push({ kind: 'second-manager', does: 'takes' }, { kind: 'raced', at: FIRST_WRITE });
  return faults.map((fault) => ({ workload: 'create', fault }));
}

function plansOfWorkload(workload: WorkloadName): Plan[] {
  const phase = LAST_PHASE[workload] ?? 'create';
  const faults: Fault[] = [
    { kind: 'slow', ms: 150 },
    { kind: 'leases-blocked', phase },
    { kind: 'leader-cut', phase },
    { kind: 'token-rotated', phase },
    { kind: 'ca-rotated', phase },
    { kind: 'clock-skew', ms: 3_600_000 },
    { kind: 'clock-skew', ms: -3_600_000 },
    { kind: 'outage', phase, status: 500 },
    { kind: 'outage', phase, status: 429 },
    { kind: 'events-refused' },
    { kind: 'crash-loop', every: 1200, times: 3 },
    { kind: 'conflict-storm', ms: 2000 },
    { kind: 'child-storm', ms: 2000 },
    { kind: 'event-storm', phase },
    { kind: 'compactions', phase, every: 1000, times: 5 },
    { kind: 'second-manager', does: 'adds' },
    { kind: 'monster' },
  ];
  for (const seed of [1, 2, 3]) faults.push({ kind: 'shuffled', seed });
  if (workload === 'create') faults.push({ kind: 'slow', ms: 2000 });
  if (workload === 'delete')
    for (const resources of [['persistentvolumeclaims', 'secrets'], ['persistentvolumeclaims'], ['secrets']])
      faults.push({ kind: 'blind-takeover', at: 'delete/apply appdeployments/status shop#1', resources, ms: 10_000 });
  faults.push({ kind: 'quiet', ms: 60_000 });
  if (isBuildWorkload(workload)) faults.push(...faultsOfBuilds(workload));
  const hasAll = workload === 'create' || workload === 'delete';
  for (const [index, resource] of WATCHED.entries()) {
    // Each workload has a third of the kinds, the next one another.
    if (hasAll || index % 3 === WORKLOADS.indexOf(workload) % 3)
      faults.push({ kind: 'watch-delay', resource, ms: 300 });
    if (!hasAll) continue;
    faults.push({ kind: 'watch-gap', resource, event: 2 });
    faults.push({ kind: 'watch-410', resource, event: 2 }, { kind: 'watch-cut', resource, event: 2 });
    faults.push({ kind: 'watch-half-open', resource, event: 2 });
    for (const kind of ['relist-short', 'relist-empty', 'relist-410'] as const)
      faults.push({ kind, resource, event: EVENTS_BEFORE_LIST[resource] ?? 2 });
    if (workload === 'create') faults.push({ kind: 'connect-410', resource }, { kind: 'list-410', resource });
  }
  return faults.map((fault) => ({ workload, fault }));
}

/** Of the kind that only builds have, and of whom only they ask. */
function faultsOfBuilds(phase: string): Fault[] {
  const faults: Fault[] = [];
  // Where the code host fails anyway, the two would be at odds.
  if (phase !== 'builds-fail')
    for (const says of ['down', 'slow', 500] as const) faults.push({ kind: 'code-host', phase, says, ms: 2500 });
  faults.push({ kind: 'watch-delay', resource: 'jobs', ms: 300 });
  if (phase !== 'builds' && phase !== 'builds-delete') return faults;
  for (const kind of [
    'watch-gap',
    'watch-410',
    'watch-cut',
    'watch-half-open',
    'relist-short',
    'relist-empty',
  ] as const)
    faults.push({ kind, resource: 'jobs', event: 3 });
  for (const kind of ['connect-410', 'list-410'] as const) faults.push({ kind, resource: 'jobs' });
  return faults;
}

const LAST_PHASE: Readonly<Partial<Record<WorkloadName, string>>> = {
  image: 'image',
  hasty: 'hasty',
  scale: 'scale',
  resize: 'resize',
  impossible: 'impossible',
  rotate: 'rotate',
  pair: 'pair',
  autoscaled: 'autoscaled',
  referenced: 'referenced',
  unfixed: 'unfixed',
  external: 'external',
  drift: 'drift',
  taken: 'create',
  delete: 'delete',
  recreate: 'recreate',
  undone: 'undone',
  reformed: 'reformed',
  upgraded: 'upgraded',
  overtaken: 'overtaken',
  unmounted: 'unmounted',
  held: 'held',
  migrated: 'migrated',
  workers: 'workers',
  tasks: 'tasks',
  backups: 'backups',
  moves: 'moves',
  'moves-kept': 'moves-kept',
  'moves-deleted': 'moves-deleted',
  claims: 'claims',
  ...Object.fromEntries(BUILD_WORKLOADS.map((workload) => [workload, workload])),
};

/** One plan of every kind of fault, another choice for every `sample`, but always the same for the same. */
export function oneOfEach(plans: readonly Plan[], sample: string): Plan[] {
  const byFault = Map.groupBy(plans, ({ fault }) => fault.kind);
  return [...byFault.values()].flatMap((same) => shuffled(same, sample).slice(0, 1));
}

/** In an order that depends on `sample` alone. */
export function shuffled<T>(items: readonly T[], sample: string): T[] {
  const ranked = items.map((item) => ({ item, rank: chance(`${sample} ${JSON.stringify(item)}`) }));
  return ranked.toSorted((a, b) => a.rank - b.rank).map(({ item }) => item);
}
