// `npm run faults`: learns what undisturbed runs look like, disturbs them, judges, and says what was found.
// Its options are in USAGE.

import { writeFile } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { type Cluster, startCluster } from '../../cluster/cluster.ts';
import { optionsOf } from '../../support/options.ts';
import { applyChart } from '../../support/platform.ts';
import { isBuildWorkload } from './build-workloads.ts';
import { isExclusive } from './control-plane-faults.ts';
import type { Run } from './evidence.ts';
import { type FacadePlan, facadePlans, learnFacade, runFacadePlan } from './facade.ts';
import { type Plan, WORKLOADS, type WorkloadName } from './fault.ts';
import { measureIdle } from './idle.ts';
import { judge, type Reference, referenceOf, referencesDiffer, type Violation } from './invariants.ts';
import { trialsOf } from './isolation-and-growth.ts';
import { RIGHTS_NAMESPACE } from './listener-agent.ts';
import { LISTENER_WORKLOADS, type ListenerPlan, listenerPlans } from './listener-plans.ts';
import { LISTENER_CHART, learnListener, runListenerPlan, startRemote } from './listener-run.ts';
import type { ListenerBench } from './listener-stage.ts';
import { SEEDS } from './mutants.ts';
import { learnOAuth, type OAuthPlan, oauthPlans, runOAuthPlan } from './oauth.ts';
import { type Census, startCensus } from './object-history.ts';
import { allPlans, oneOfEach, shuffled } from './plans.ts';
import { runPlan } from './run.ts';
import type { Patience } from './run-setup.ts';

/** All five sources, and what builds are granted; what they are built with is each run's own. */
const CHART = {
  'settings.hosting': 'both',
  // Gives the facade its rights to people's tokens; where their OAuth server is, is each run's own.
  'settings.oauth.hosts': [{ host: 'localhost:1' }],
  'settings.builds.registry': { host: 'builds.example', tokens: true },
  'settings.builds.images': { builder: 'registry.example/played-builder:1', davit: 'registry.example/played-davit:1' },
};

/** All of them are run, however slow the machine is: on two cores that are free they take two minutes. */
const MOST_QUICK_PLANS = 32;
/** In a sample three are enough: they differ only in where the facade is when it dies. */
const MOST_QUICK_FACADE_PLANS = 3;
/** The seeded bugs of a quick run: more would leave less room for the faults. */
const QUICK_BUGS = 6;
/** Every workload is run twice before it is disturbed: with another for each bug, that took as long as the bugs. */
const QUICK_BUG_WORKLOADS = 2;
const PATIENCE_MS = 30_000;
/** Of runs by which it is learned how long one takes here. */
const LEARNING_PATIENCE_MS = 120_000;
/** What never ends is waited for in vain: with a bug a phase ends when nothing has changed for so long, or for a usual run. */
const LEAST_QUIET_WITH_BUG_MS = 8_000;
/** Faults that need no moment of their own to have happened. */
const ALWAYS_FIRED: ReadonlySet<string> = new Set(['none', 'slow', 'clock-skew', 'quiet']);

const USAGE = `npm run faults -- [options]

  --quick [--sample N]  32 plans, of different faults, with some of the seeded bugs; another choice for every N
  --plan JSON           one plan, as a violation prints it; may be repeated
  --match REGEXP        the plans whose JSON matches; listener for those of listeners, on two clusters; with --seeds, the seeded bugs whose plan or name matches
  --every N [--from K]  each Nth of the plans that are chosen, from the Kth on: a part of them that is spread over all
  --seeds               only the seeded bugs, without those of listeners unless --match names them
  --trials              only isolation and churn
  --idle [--minutes 10] [--records 200]
                        what a controller at rest asks of the API server
  --within S            begins nothing new after S seconds of plans
  --lanes N             runs side by side
  --help

Ended early (Ctrl-C), it judges what is under way and tells what it has found.
`;

const values = optionsOf(
  {
    quick: { type: 'boolean', default: false },
    sample: { type: 'string', default: '1' },
    seeds: { type: 'boolean', default: false },
    trials: { type: 'boolean', default: false },
    plan: { type: 'string', multiple: true },
    match: { type: 'string' },
    every: { type: 'string', default: '1' },
    from: { type: 'string', default: '1' },
    within: { type: 'string' },
    lanes: { type: 'string', default: String(lanesFor(loadavg()[0] ?? 0)) },
    idle: { type: 'boolean', default: false },
    minutes: { type: 'string', default: '10' },
    records: { type: 'string', default: '200' },
  },
  { command: 'npm run faults', usage: USAGE },
);

/** So many runs side by side keep two cores busy; where others do so already, fewer. */
function lanesFor(load: number): number {
  return Math.max(2, 6 - Math.floor(load));
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

interface Bench {
  readonly cluster: Cluster;
  readonly census: Census;
  readonly references: Map<WorkloadName, Reference>;
  /** A cluster of its own for what breaks the control plane, the same references; started when it is first asked for. */
  apart(): Promise<Bench>;
  /** With a second cluster, of a listener, started when it is first asked for. */
  withRemote(): Promise<ListenerBench>;
}

/** What this run is to do. */
interface Programme {
  readonly workloads: readonly WorkloadName[];
  readonly bugs: readonly AnyPlan[];
  readonly trials: boolean;
  choose(every: readonly Plan[]): readonly Plan[];
  chooseFacade(every: readonly (FacadePlan | OAuthPlan)[]): readonly (FacadePlan | OAuthPlan)[];
  /** Undefined where none is wanted: then none is learned. */
  readonly chooseListener?: (every: readonly ListenerPlan[]) => readonly ListenerPlan[];
}

type AnyPlan = Plan | FacadePlan | OAuthPlan | ListenerPlan;

function isListener(plan: AnyPlan): plan is ListenerPlan {
  return LISTENER_WORKLOADS.some((workload) => workload === plan.workload);
}

function isFacade(plan: AnyPlan): plan is FacadePlan {
  return plan.workload === 'http';
}

function isOAuth(plan: AnyPlan): plan is OAuthPlan {
  return plan.workload === 'oauth';
}

function workloadsOf(plans: readonly AnyPlan[]): readonly WorkloadName[] {
  if (plans.every(isListener)) return [];
  const named = new Set<string>(plans.map(({ workload }) => workload));
  // The facade's runs have no reference, and one learned workload warms the caches.
  return WORKLOADS.filter((workload) => workload === 'create' || named.has(workload));
}

interface Tally {
  plans: number;
  violations: number;
  seeded: number;
  caught: number;
  unfired: number;
  /** Not begun, because the time was over. */
  leftOut: number;
  /** Violated beside other runs, and not when run again alone. */
  once: number;
}

/** What violated an invariant beside other runs, and is to be run again alone. */
interface Suspect {
  readonly replay: string;
  readonly found: readonly Violation[];
  again(): Promise<readonly Violation[]>;
}

function allBugs(): AnyPlan[] {
  return Object.entries(SEEDS).flatMap(([seed, { shows }]): AnyPlan[] =>
    shows ? [{ ...shows, seed } as AnyPlan] : [],
  );
}

function programme(): Programme {
  const { plan, match, sample } = values;
  const nothing: Programme = { workloads: [], bugs: [], trials: false, choose: () => [], chooseFacade: () => [] };
  if (plan !== undefined) {
    const named = plan.map((json) => JSON.parse(json) as AnyPlan);
    const facade = named.filter((one) => isFacade(one) || isOAuth(one));
    const listener = named.filter(isListener);
    const others = named.filter(isOfRecords);
    return {
      ...nothing,
      workloads: workloadsOf(named),
      choose: () => others,
      chooseFacade: () => facade,
      ...(listener.length > 0 && { chooseListener: () => listener }),
    };
  }
  if (match !== undefined && !values.seeds) {
    const named = WORKLOADS.filter(
      (workload) => match.includes(`"${workload}"`) || (match === 'builds' && workload.startsWith(match)),
    );
    const isMatch = (one: AnyPlan): boolean => new RegExp(match).test(JSON.stringify(one));
    const ofListeners = match.includes('listener');
    return {
      ...nothing,
      ...(ofListeners && { chooseListener: (every: readonly ListenerPlan[]) => every.filter(isMatch) }),
      workloads: ofListeners ? [] : /http|oauth/.test(match) ? ['create'] : named.length > 0 ? named : WORKLOADS,
      choose: (every) => every.filter(isMatch),
      chooseFacade: (every) => every.filter(isMatch),
    };
  }
  if (values.trials) return { ...nothing, trials: true };
  // Those of listeners need a second cluster: they run when they are asked for.
  const isAsked = (bug: AnyPlan): boolean =>
    match === undefined ? !isListener(bug) : new RegExp(match).test(JSON.stringify(bug));
  const bugs = allBugs().filter(isAsked);
  if (values.seeds) return { ...nothing, workloads: workloadsOf(bugs), bugs };
  if (!values.quick)
    return { workloads: WORKLOADS, bugs, trials: true, choose: (every) => every, chooseFacade: (every) => every };
  say(`sample ${sample}`);
  // To learn what builds are like takes twice as long as any other workload: they are left to the whole run.
  const shuffledBugs = shuffled(
    bugs.filter((bug) => !isListener(bug) && !isBuildWorkload(bug.workload)),
    sample,
  );
  const few = new Set([...new Set(shuffledBugs.map(({ workload }) => workload))].slice(0, QUICK_BUG_WORKLOADS));
  const some = shuffledBugs.filter(({ workload }) => few.has(workload)).slice(0, QUICK_BUGS);
  const left = MOST_QUICK_PLANS - some.length - trialsOf(true).length - MOST_QUICK_FACADE_PLANS;
  return {
    // A namespace that goes is among the faults of that one workload alone.
    workloads: workloadsOf([...some, { workload: 'doomed', fault: { kind: 'none' } }]),
    bugs: some,
    trials: true,
    choose: (every) => shuffled(oneOfEach(every.filter(isQuick), sample), sample).slice(0, left),
    chooseFacade: (every) => shuffled(every, sample).slice(0, MOST_QUICK_FACADE_PLANS),
  };
}

/** A minute of quiet, and two seconds on every request, take longer than all the rest. */
function isQuick({ fault }: Plan): boolean {
  return fault.kind !== 'quiet' && !(fault.kind === 'slow' && fault.ms === 2000);
}

/** Milliseconds after which nothing new is begun. */
function withinMs(): number {
  return Number(values.within ?? Infinity) * 1000;
}

/** Runs `work` on every item, a few at a time. */
async function inLanes<T>(
  items: readonly T[],
  work: (item: T) => Promise<void>,
  lanes = Number(values.lanes),
): Promise<void> {
  const queue = [...items];
  const lane = async (): Promise<void> => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}

async function learn({ cluster, census, references }: Bench, workloads: readonly WorkloadName[]): Promise<void> {
  const runs = new Map<WorkloadName, Run[]>();
  const runOnce = async (workload: WorkloadName): Promise<void> => {
    const run = await runPlan({ workload, fault: { kind: 'none' } }, cluster, census, {
      patienceMs: LEARNING_PATIENCE_MS,
    });
    runs.set(workload, [...(runs.get(workload) ?? []), run]);
  };
  // A namespace takes longest to go: last, all others would wait for it.
  const longestFirst = workloads.toSorted((a, b) => Number(b === 'doomed') - Number(a === 'doomed'));
  const [first, ...rest] = longestFirst.flatMap((workload) => [workload, workload]);
  if (first === undefined) return;
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

function invariantsOf(violations: readonly Violation[]): string {
  return [...new Set(violations.map(({ invariant }) => invariant))].join(', ');
}

/** A plan that cannot be played through shows nothing, and must not end all the others. */
function notPlayed(error: unknown): Violation[] {
  return [{ invariant: 'not played', what: error instanceof Error ? error.message.slice(0, 300) : String(error) }];
}

/** A plan that could not be played says nothing about the bug in it. */
function isCaught({ seed = '' }: AnyPlan, violations: readonly Violation[]): boolean {
  const expected = SEEDS[seed]?.violates;
  return violations.some(({ invariant }) =>
    expected === undefined ? invariant !== 'not played' : invariant === expected,
  );
}

/** What a run of a plan showed. */
interface Played {
  readonly violations: readonly Violation[];
  readonly fired: boolean;
}

/** Plans of one shape: how one is played and judged. */
interface Lane {
  owns(plan: AnyPlan): boolean;
  play(plan: AnyPlan, bench: Bench): Promise<Played>;
}

function laneOf<P extends AnyPlan>(
  owns: (plan: AnyPlan) => plan is P,
  play: (plan: P, bench: Bench) => Promise<Played>,
): Lane {
  return { owns, play: (plan, bench) => play(plan as P, bench) };
}

const isOfRecords = (plan: AnyPlan): plan is Plan => !isListener(plan) && !isFacade(plan) && !isOAuth(plan);

const LANES: readonly Lane[] = [
  laneOf(isListener, async (plan, bench) => runListenerPlan(plan, await bench.withRemote())),
  laneOf(isFacade, (plan, { cluster, census }) => runFacadePlan(plan, cluster, census)),
  laneOf(isOAuth, (plan, { cluster }) => runOAuthPlan(plan, cluster)),
  laneOf(isOfRecords, playRecord),
];

async function playRecord(plan: Plan, { cluster, census, references }: Bench): Promise<Played> {
  const reference = references.get(plan.workload);
  if (!reference) throw new Error(`${plan.workload} was not learned`);
  const run = await runPlan(plan, cluster, census, patienceWith(plan, reference));
  const violations = judge(run, reference);
  if (values.plan?.length === 1) await sayAll(run, cluster);
  return { violations, fired: run.trace.fired };
}

async function execute(bench: Bench, plan: AnyPlan, tally: Tally): Promise<readonly Violation[]> {
  try {
    const played = await LANES.find(({ owns }) => owns(plan))?.play(plan, bench);
    if (!played) throw new Error(`no lane has plans of ${plan.workload}`);
    if (!played.fired && !ALWAYS_FIRED.has(plan.fault.kind)) tally.unfired += 1;
    return played.violations;
  } catch (error) {
    return notPlayed(error);
  }
}

function patienceWith({ seed, fault }: Plan, reference: Reference): Patience {
  const usualMs = reference.seconds * 1000;
  // Every request late by seconds: some twenty one after another.
  const lateMs = fault.kind === 'slow' ? 60 * (fault.ms ?? 0) : 0;
  const patienceMs = Math.max(PATIENCE_MS, 4 * usualMs) + lateMs;
  if (seed === undefined) return { patienceMs };
  // While the fault lasts nothing changes either.
  return { patienceMs, quietMs: Math.max(LEAST_QUIET_WITH_BUG_MS, usualMs) + (fault.ms ?? 0) };
}

async function sayAll(run: Run, { logsDir }: Cluster): Promise<void> {
  const file = join(logsDir, 'history.json');
  const objects = run.history.map(({ kind, gone, object }) => ({ kind, gone, object }));
  await writeFile(file, JSON.stringify(objects));
  say(`what there was: ${file}; the controller's words: ${run.log}`);
  for (const { actor, at, label, status } of run.trace.writes) say(`  ${Math.round(at)} ${actor} ${status} ${label}`);
  for (const { actor, at } of run.trace.holders) say(`  ${Math.round(at)} ${actor} holds the lease`);
}

/** Says every half minute how far it is. */
function startProgress(all: number, tally: Tally): { stop: () => void } {
  const since = performance.now();
  const timer = setInterval(() => {
    const done = tally.plans;
    const perSecond = done / ((performance.now() - since) / 1000);
    const left = perSecond === 0 ? '?' : Math.ceil((all - done) / perSecond / 60);
    say(`${done} of ${all} plans, ${Math.round(perSecond * 60)} a minute, ${left} min left`);
  }, 30_000);
  return { stop: () => clearInterval(timer) };
}

function sayViolations(word: string, violations: readonly Violation[], replay: string): void {
  for (const { invariant, what } of violations) say(`${word} ${invariant}: ${what}`);
  say(`  npm run faults -- ${replay}`);
}

/** So many are run again; where there are more, it is not the machine. */
const MOST_SUSPECTS = 40;

/**
 * Leases of a second and a half are lost, and patience ends, when many runs share few processors. What is violated only
 * then is told and counted apart; what is violated again, alone, is a violation.
 */
async function tryAgain(suspects: readonly Suspect[], tally: Tally): Promise<void> {
  for (const [index, { replay, found, again }] of suspects.entries()) {
    const violations = index < MOST_SUSPECTS ? await again() : found;
    if (violations.length > 0) {
      tally.violations += 1;
      sayViolations('VIOLATION', violations, replay);
    } else {
      tally.once += 1;
      say(`not again, alone: ${replay}`);
    }
  }
}

/** A terminal and npm both pass a Ctrl-C on. */
const SAME_SIGNAL_MS = 1000;

/** The first asks for an end, one that comes later insists. */
function endOnSignal(): () => boolean {
  let askedAt: number | undefined;
  const end = (signal: NodeJS.Signals): void => {
    if (askedAt !== undefined && performance.now() - askedAt > SAME_SIGNAL_MS) process.exit(1);
    if (askedAt === undefined)
      say(`${signal}: nothing new is begun; what is under way is judged. Again to end at once`);
    askedAt ??= performance.now();
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, end);
  return () => askedAt !== undefined;
}

/** Everything that is to be run. */
interface Chosen {
  readonly plans: readonly Plan[];
  readonly throughFacade: readonly (FacadePlan | OAuthPlan)[];
  readonly ofListeners: readonly ListenerPlan[];
  readonly trials: ReturnType<typeof trialsOf>;
}

/** Each Nth, with `--every N`, from the Kth on, with `--from K`: the runs of all K up to N are all plans, each once. */
function spread<Item>(plans: readonly Item[]): readonly Item[] {
  const [step, first] = [Number(values.every), Number(values.from)];
  if (!Number.isSafeInteger(step) || step < 1)
    throw new Error(`--every takes a whole number from 1 on, not ${values.every}`);
  if (!Number.isSafeInteger(first) || first < 1 || first > step)
    throw new Error(`--from takes a whole number from 1 to ${step}, that of --every, not ${values.from}`);
  return plans.filter((_plan, index) => index % step === first - 1);
}

async function chosen(bench: Bench, what: Programme): Promise<Chosen> {
  const { bugs, trials, choose, chooseFacade, chooseListener } = what;
  const every = allPlans(bench.references);
  const plans = spread(choose(every));
  const throughFacade = spread(chooseFacade(await everyFacadePlan(bench, trials)));
  const ofListeners = spread(chooseListener ? chooseListener(await everyListenerPlan(bench)) : []);
  const all = plans.length + throughFacade.length + ofListeners.length + bugs.length;
  // A run of nothing would be taken for one without a violation.
  if (all === 0 && !trials) throw new Error(`No plan matches ${values.match ?? values.plan?.join(' ')}.`);
  say(
    `${every.length} plans are there, ${plans.length} are run, ${throughFacade.length} through the facade, ${ofListeners.length} of listeners, and ${bugs.length} seeded bugs`,
  );
  return { plans, throughFacade, ofListeners, trials: trials ? trialsOf(values.quick) : [] };
}

interface BugHunt {
  run(plan: AnyPlan): Promise<void>;
  /** Runs again, alone, what was missed beside other runs. */
  runMissed(): Promise<void>;
  /** A line for each bug. */
  readonly table: readonly string[];
}

function huntBugs(bench: Bench, tally: Tally): BugHunt {
  const table: string[] = [];
  const missed: AnyPlan[] = [];
  /**
   * Beside many runs a lease may be lost, after which everything is looked at again, and a failing key comes again more slowly:
   * what was missed then is run again alone. Twice, since some show only in a moment that does not come every time.
   */
  const runAgain = async (plan: AnyPlan): Promise<void> => {
    const first = await execute(bench, plan, tally);
    const violations = isCaught(plan, first) ? first : await execute(bench, plan, tally);
    if (isCaught(plan, violations)) tally.caught += 1;
    const word = isCaught(plan, violations) ? 'caught' : 'MISSED';
    table.push(`${word}  ${plan.seed}  ${invariantsOf(violations)} (alone)`);
  };
  return {
    table,
    async run(plan) {
      const violations = await execute(bench, plan, tally);
      tally.plans += 1;
      tally.seeded += 1;
      if (!isCaught(plan, violations)) {
        missed.push(plan);
        return;
      }
      tally.caught += 1;
      table.push(`caught  ${plan.seed}  ${invariantsOf(violations)}`);
    },
    runMissed: () => inLanes(missed, runAgain, 1),
  };
}

async function disturb(bench: Bench, what: Programme, tally: Tally): Promise<void> {
  const { bugs } = what;
  const { plans, throughFacade, ofListeners, trials } = await chosen(bench, what);
  const progress = startProgress(
    plans.length + throughFacade.length + ofListeners.length + bugs.length + trials.length,
    tally,
  );
  const lastMoment = performance.now() + withinMs();
  const isAskedToEnd = endOnSignal();
  const isTimeOver = (): boolean => {
    const isOver = isAskedToEnd() || performance.now() > lastMoment;
    if (isOver) tally.leftOut += 1;
    return isOver;
  };
  const suspects: Suspect[] = [];
  const judged = async (replay: string, again: Suspect['again']): Promise<void> => {
    const found = await again();
    tally.plans += 1;
    if (found.length === 0) return;
    suspects.push({ replay, found, again });
    sayViolations('seen', found, replay);
  };
  const runAndSay = async (plan: AnyPlan, on = bench): Promise<void> => {
    if (isTimeOver()) return;
    await judged(`--plan '${JSON.stringify(plan)}'`, () => execute(on, plan, tally));
  };
  const hunt = huntBugs(bench, tally);
  const runBug = async (plan: AnyPlan): Promise<void> => {
    if (!isTimeOver()) await hunt.run(plan);
  };
  const [alone = [], besides = []] = [true, false].map((is) => plans.filter(({ fault }) => isExclusive(fault) === is));
  const breakingTheirs = async (): Promise<void> => {
    if (alone.length === 0) return;
    const on = besides.length > 0 ? await bench.apart() : bench;
    await inLanes(alone, (plan) => runAndSay(plan, on), 1);
  };
  const faults = [...besides, ...throughFacade, ...ofListeners.filter((plan) => !isRestored(plan))].map(
    (plan: AnyPlan) => () => runAndSay(plan),
  );
  const seededBugs = bugs.filter((plan) => !isRestored(plan)).map((plan) => () => runBug(plan));
  const runTrials = async (alone: boolean): Promise<void> => {
    for (const trial of trials.filter((one) => one.alone === alone)) {
      if (isTimeOver()) continue;
      await judged('--trials', async () => {
        const { figures, violations } = await trial.run(bench.cluster, bench.census);
        say(`${trial.name}: ${figures}`);
        return violations;
      });
    }
  };
  if (!values.quick) await runTrials(true);
  // A bug is waited for longer than a fault, and would be waited for alone at the end.
  const runs = [...seededBugs, ...faults];
  await Promise.all([inLanes(runs, (run) => run()), breakingTheirs(), runTrials(false)]);
  // Everybody on the hub loses what has happened.
  await inLanes(ofListeners.filter(isRestored), (plan) => runAndSay(plan), 1);
  await inLanes(bugs.filter(isRestored), runBug, 1);
  if (values.quick) await runTrials(true);
  await hunt.runMissed();
  await tryAgain(suspects, tally);
  progress.stop();
  if (hunt.table.length > 0) say(`\n${hunt.table.toSorted().join('\n')}`);
  if (tally.leftOut > 0) say(`${tally.leftOut} plans were not begun: it was to end`);
  if (tally.unfired > 0) say(`${tally.unfired} plans never came to their fault`);
}

function isRestored({ workload }: AnyPlan): boolean {
  return workload === 'listener-restored';
}

/** Learning costs runs of the facade: not for those who want none. Those of tokens are left to the whole run. */
async function everyFacadePlan(
  { cluster, census }: Bench,
  trials: boolean,
): Promise<readonly (FacadePlan | OAuthPlan)[]> {
  const isNamed = (workload: string): boolean =>
    [...(values.plan ?? []), values.match ?? ''].some((text) => text.includes(workload));
  const isWhole = trials && !values.trials;
  const http = isWhole || isNamed('http') ? facadePlans(await learnFacade(cluster, census)) : [];
  const tokens = (isWhole && !values.quick) || isNamed('oauth') ? oauthPlans(await learnOAuth(cluster)) : [];
  return [...http, ...tokens];
}

async function everyListenerPlan(bench: Bench): Promise<readonly ListenerPlan[]> {
  const begin = performance.now();
  const labels = await learnListener(await bench.withRemote());
  const counts = Object.entries(labels).map(([side, { length }]) => `${length} ${side}`);
  say(`learned listener-life: writes ${counts.join(', ')}, ${((performance.now() - begin) / 1000).toFixed(1)} s`);
  return listenerPlans(labels);
}

/** Everything that a plan needs, and one that ends it. */
async function startBench(
  what: string,
  references: Bench['references'],
): Promise<Bench & { end: () => Promise<void> }> {
  const cluster = await startCluster({
    pods: 'off',
    keepLogs: true,
    progress: (line) => say(what === '' ? line : `${what}: ${line}`),
  });
  const ended = new AbortController();
  let second: ReturnType<typeof startBench> | undefined;
  let remote: ReturnType<typeof startRemote> | undefined;
  const end = async (): Promise<void> => {
    ended.abort();
    await cluster.stop();
    // One that could not be started has ended itself.
    await second?.then((other) => other.end()).catch(() => undefined);
    await remote?.then((other) => other.end()).catch(() => undefined);
  };
  try {
    await applyChart(cluster, CHART);
    const census = startCensus(cluster.api, ended.signal);
    const apart = (): Promise<Bench> => (second ??= startBench('to be broken', references));
    const addRemote = async (): ReturnType<typeof startRemote> => {
      await cluster.api.ensure('/api/v1/namespaces', { metadata: { name: RIGHTS_NAMESPACE } });
      await applyChart(cluster, { ...CHART, ...LISTENER_CHART });
      return startRemote(say);
    };
    const withRemote = async (): Promise<ListenerBench> => ({
      hub: cluster,
      hubCensus: census,
      ...(await (remote ??= addRemote())),
    });
    return { cluster, census, references, apart, withRemote, end };
  } catch (error) {
    await end();
    throw error;
  }
}

// Every process of every lane is ended with this one.
process.setMaxListeners(50);
const begin = performance.now();
const tally: Tally = { plans: 0, violations: 0, seeded: 0, caught: 0, unfired: 0, leftOut: 0, once: 0 };
let idleWrites = 0;
const bench = await startBench('', new Map());
try {
  if (values.idle) {
    const [minutes, records] = [Number(values.minutes), Number(values.records)];
    const idle = await measureIdle(bench.cluster, bench.census, { minutes, records, say });
    idleWrites = idle.writes;
    say(JSON.stringify(idle));
  } else {
    const what = programme();
    await learn(bench, what.workloads);
    await disturb(bench, what, tally);
  }
} finally {
  await bench.end();
}
const { plans, violations, seeded, caught, once } = tally;
const seconds = Math.round((performance.now() - begin) / 1000);
if (!values.idle) say(JSON.stringify({ plans, violations, once, seeded, caught, seconds }));
process.exit(violations > 0 || caught < seeded || idleWrites > 0 ? 1 : 0);
