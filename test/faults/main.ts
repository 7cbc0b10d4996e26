// `npm run faults`: learns what undisturbed runs look like, disturbs them, judges, and says what was found.
//
//   npm run faults -- --quick              a sample of the plans, and every seeded bug
//   npm run faults -- --plan '<json>'      one plan, as a violation prints it
//   npm run faults -- --match '<regexp>'   the plans whose JSON matches
//   npm run faults -- --seeds              only the seeded bugs
//   --lanes N                              runs side by side

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Cluster, startCluster } from '../cluster/cluster.ts';
import { startPlatform } from '../platform.ts';
import { type Census, startCensus } from './census.ts';
import { isExclusive } from './exclusive.ts';
import { type FacadePlan, facadePlans, learnFacade, runFacadePlan } from './facade.ts';
import { judge, type Reference, referenceOf, referencesDiffer, type Violation } from './judge.ts';
import { type Run, runPlan } from './lane.ts';
import { allPlans, type Plan, sample, WORKLOADS, type WorkloadName } from './plans.ts';
import { SEEDS } from './seeds.ts';

const MOST_QUICK_PLANS = 60;
const MOST_QUICK_FACADE_PLANS = 3;
const PATIENCE_MS = 30_000;
const PATIENCE_WITH_BUG_MS = 8_000;

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    seeds: { type: 'boolean', default: false },
    plan: { type: 'string' },
    match: { type: 'string' },
    lanes: { type: 'string', default: '6' },
    most: { type: 'string' },
  },
});

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

interface Bench {
  readonly cluster: Cluster;
  readonly census: Census;
  readonly references: Map<WorkloadName, Reference>;
}

/** Runs `work` on every item, a few at a time. */
async function inLanes<T>(
  items: readonly T[],
  work: (item: T) => Promise<void>,
  lanes = Number(values.lanes),
): Promise<void> {
  const queue = [...items];
  const lane = async (): Promise<void> => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other in each lane
      await work(item);
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}

async function learn({ cluster, census, references }: Bench, workloads: readonly WorkloadName[]): Promise<void> {
  const runs = new Map<WorkloadName, Run[]>();
  const runOnce = async (workload: WorkloadName): Promise<void> => {
    const run = await runPlan({ workload, fault: { kind: 'none' } }, cluster, census, PATIENCE_MS);
    runs.set(workload, [...(runs.get(workload) ?? []), run]);
  };
  const [first = 'create', ...rest] = workloads.flatMap((workload) => [workload, workload]);
  // Alone: it fills Node's compile cache, which all those after it only read.
  await runOnce(first);
  await inLanes(rest, runOnce);
  for (const [workload, [one, second]] of runs) {
    if (!one || !second) throw new Error(`${workload} was not run twice`);
    const differ = one.stuck ?? second.stuck ?? referencesDiffer(one, second);
    if (differ !== undefined) throw new Error(`undisturbed, ${workload} does not end alike: ${differ}`);
    const reference = referenceOf(one, second);
    references.set(workload, reference);
    const wrong = [one, second].flatMap((run) => judge(run, reference));
    for (const violation of wrong) say(`UNDISTURBED ${workload}: ${violation.invariant}: ${violation.what}`);
    say(`learned ${workload}: ${reference.labels.length} writes, ${one.seconds.toFixed(1)} s`);
  }
}

/** A plan that cannot be played through shows nothing, and must not end all the others. */
function notPlayed(error: unknown): Violation[] {
  return [{ invariant: 'not played', what: error instanceof Error ? error.message.slice(0, 300) : String(error) }];
}

async function executeFacade({ cluster, census }: Bench, plan: FacadePlan): Promise<Violation[]> {
  try {
    const { violations, fired } = await runFacadePlan(plan, cluster, census);
    if (!fired) unfired += 1;
    return violations;
  } catch (error) {
    return notPlayed(error);
  }
}

async function execute(bench: Bench, plan: Plan, patienceMs: number): Promise<Violation[]> {
  const reference = bench.references.get(plan.workload);
  if (!reference) throw new Error(`${plan.workload} was not learned`);
  let run: Run;
  try {
    run = await runPlan(plan, bench.cluster, bench.census, patienceMs);
  } catch (error) {
    return notPlayed(error);
  }
  const violations = judge(run, reference);
  if (values.plan !== undefined) {
    const file = join(bench.cluster.logsDir, 'history.json');
    const objects = run.history.map(({ kind, gone, object }) => ({ kind, gone, object }));
    await writeFile(file, JSON.stringify(objects));
    say(`what there was: ${file}; the controller's words: ${run.log}`);
    for (const { actor, at, label, status } of run.trace.writes) say(`  ${Math.round(at)} ${actor} ${status} ${label}`);
    for (const { actor, at } of run.trace.holders) say(`  ${Math.round(at)} ${actor} holds the lease`);
  }
  if (!run.trace.fired && !['none', 'slow', 'clock-skew'].includes(plan.fault.kind)) unfired += 1;
  return violations;
}

/** Which workloads a pattern of plans can mean, so that no others have to be learned. */
function matchingWorkloads(match: string): readonly WorkloadName[] {
  // The facade's runs have no reference, and one learned workload warms the caches.
  if (match.includes('http')) return ['create'];
  const named = WORKLOADS.filter((workload) => match.includes(`"${workload}"`));
  return named.length > 0 ? named : WORKLOADS;
}

/** In a sample three are enough: they differ only in where the facade is when it dies. */
async function plansOfFacade({ cluster, census }: Bench, one: Plan | FacadePlan | undefined): Promise<FacadePlan[]> {
  if (one !== undefined) return one.workload === 'http' ? [one] : [];
  if (values.seeds || values.match?.includes('http') === false) return [];
  const all = facadePlans(await learnFacade(cluster, census));
  const step = values.quick ? Math.ceil(all.length / MOST_QUICK_FACADE_PLANS) : 1;
  return all.filter((_, index) => index % step === 1 % step);
}

function tell(plan: Plan | FacadePlan, violations: readonly Violation[]): void {
  count += 1;
  if (violations.length > 0) violated += 1;
  for (const { invariant, what } of violations) say(`VIOLATION ${invariant}: ${what}`);
  if (violations.length > 0) say(`  npm run faults -- --plan '${JSON.stringify(plan)}'`);
}

let unfired = 0;

/** Says every half minute how far it is. */
function startProgress(all: number, done: () => number): { stop: () => void } {
  const since = performance.now();
  const timer = setInterval(() => {
    const perSecond = done() / ((performance.now() - since) / 1000);
    const left = perSecond === 0 ? '?' : Math.ceil((all - done()) / perSecond / 60);
    say(`${done()} of ${all} plans, ${Math.round(perSecond * 60)} a minute, ${left} min left`);
  }, 30_000);
  return { stop: () => clearInterval(timer) };
}

const begin = performance.now();
const cluster = await startCluster({ pods: 'off', keepLogs: true, progress: (line) => say(line) });
const ended = new AbortController();
let violated = 0;
let caught = 0;
let count = 0;
let seeded = 0;
try {
  const platform = await startPlatform(cluster, { parts: [] });
  const census = startCensus(cluster.api, ended.signal);
  const bench: Bench = { cluster, census, references: new Map() };
  const one = values.plan === undefined ? undefined : (JSON.parse(values.plan) as Plan | FacadePlan);
  if (one?.workload === 'http') await learn(bench, ['create']);
  else
    await learn(bench, one ? [one.workload] : values.match === undefined ? WORKLOADS : matchingWorkloads(values.match));
  const seeds: (Plan | FacadePlan)[] = Object.entries(SEEDS).flatMap(([seed, { shows }]) =>
    shows ? [{ ...shows, seed }] : [],
  );
  const every = allPlans(bench.references);
  const most = values.quick
    ? MOST_QUICK_PLANS - MOST_QUICK_FACADE_PLANS - seeds.length
    : Number(values.most ?? every.length);
  const { match } = values;
  const isMatch = (plan: Plan | FacadePlan): boolean => new RegExp(match ?? '').test(JSON.stringify(plan));
  const matching = match === undefined ? undefined : every.filter(isMatch);
  const plans = one ? (one.workload === 'http' ? [] : [one]) : values.seeds ? [] : (matching ?? sample(every, most));
  const throughFacade = (await plansOfFacade(bench, one)).filter(isMatch);
  const bugs = one || matching ? [] : seeds;
  say(
    `${every.length} plans are there, ${plans.length} are run, ${throughFacade.length} through the facade, and ${bugs.length} seeded bugs`,
  );
  const progress = startProgress(plans.length + throughFacade.length + bugs.length, () => count);

  const runAndSay = async (plan: Plan): Promise<void> => {
    tell(plan, await execute(bench, plan, plan.seed === undefined ? PATIENCE_MS : PATIENCE_WITH_BUG_MS));
  };
  const runThroughFacade = async (plan: FacadePlan): Promise<void> => {
    tell(plan, await executeFacade(bench, plan));
  };
  const [alone = [], besides = []] = [true, false].map((is) => plans.filter(({ fault }) => isExclusive(fault) === is));
  await inLanes(besides, runAndSay);
  await inLanes(throughFacade, runThroughFacade);
  const table: string[] = [];
  await inLanes(bugs, async (plan) => {
    const violations =
      plan.workload === 'http' ? await executeFacade(bench, plan) : await execute(bench, plan, PATIENCE_WITH_BUG_MS);
    count += 1;
    seeded += 1;
    if (violations.length > 0) caught += 1;
    const by = [...new Set(violations.map(({ invariant }) => invariant))].join(', ');
    table.push(`${violations.length > 0 ? 'caught' : 'MISSED'}  ${plan.seed}  ${by}`);
  });
  await inLanes(alone, runAndSay, 1);
  progress.stop();
  if (table.length > 0) say(`\n${table.toSorted().join('\n')}`);
  if (unfired > 0) say(`${unfired} plans never came to their fault`);
  await platform.stop();
} finally {
  ended.abort();
  await cluster.stop();
}
const seconds = Math.round((performance.now() - begin) / 1000);
say(JSON.stringify({ plans: count, violations: violated, seeded, caught, seconds }));
process.exit(violated > 0 || caught < seeded ? 1 : 0);
