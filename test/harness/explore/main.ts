// `npm run explore`: the states of all bounds, with two processes. The last line is one JSON object.

import { fork } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { SEEDS } from '../faults/mutants.ts';
import { BOUNDS } from './bounds.ts';
import { faultPlanOf } from './fault-plan.ts';
import { replay } from './replay.ts';
import type { Found, Violation } from './search.ts';
import { EXPLORER_SEEDS, EXPRESSED } from './seeds.ts';
import { WAKE_BOUNDS } from './wakes/bounds.ts';
import { replayWakes } from './wakes/walk.ts';
import type { Task } from './worker.ts';

const { values } = parseArgs({
  options: {
    bounds: { type: 'string' },
    depth: { type: 'string', default: '1000' },
    states: { type: 'string', default: '20000000' },
    minutes: { type: 'string', default: '30' },
    seeds: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
    wakes: { type: 'boolean', default: false },
    from: { type: 'string', default: '0' },
    table: { type: 'boolean', default: false },
    replay: { type: 'string' },
    out: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

/** Those that have no other mode. */
const WAKES_ALONE = WAKE_BOUNDS.filter((one) => !BOUNDS.includes(one));
const isOfWakes = (name: string): boolean => WAKES_ALONE.some((one) => one.name === name);

const HELP = `npm run explore -- [--bounds NAME,...] [--minutes N] [--depth N] [--states N] [--quick] [--table] [--seeds] [--wakes [--from N]] [--out FILE] [--replay FILE]

Explores every interleaving of events within bounds. Bounds:
${BOUNDS.map(({ name, about }) => `  ${name.padEnd(14)}${about}`).join('\n')}

With --wakes, the bounds above but upkeep, crashes, lag, pushes and files, and:
${WAKES_ALONE.map(({ name, about }) => `  ${name.padEnd(14)}${about}`).join('\n')}

--wakes     random sequences, in which only keys that are woken or due are reconciled, and processes remember; --states is the number of sequences of each bound
--from      the seed of the first sequence; the same seed is the same sequence
--minutes   in all, shared by the bounds (default 30)
--depth     most events on one way
--states    most states of one bound
--quick     a short run of the bounds
--table     prints what each bound had as a table of Markdown; with --states it is the same on every machine, but for the seconds
--seeds     runs with one seeded bug each: every one must be found
--out       writes the violations, which --replay reads
--replay    the events of a violation, one after the other, with what each pass wrote; of --wakes, together with it`;

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const WORKERS = 2;

interface Done {
  readonly found: Found;
  readonly MiB: number;
  readonly cpuSeconds: number;
}

function run(task: Task, seed?: string): Promise<Done> {
  const child = fork(new URL('worker.ts', import.meta.url), {
    execArgv: [
      '--max-old-space-size=6144',
      ...(seed === undefined ? [] : ['--import', new URL('../faults/mutant.ts', import.meta.url).href]),
    ],
    env: { ...process.env, ...(seed !== undefined && { SEEDED_BUGS: seed }) },
  });
  child.send(task);
  return new Promise((resolve, reject) => {
    child.on('message', (message: { line?: string } & Partial<Done>) => {
      if (message.line !== undefined && seed === undefined) say(message.line);
      if (message.found) resolve(message as Done);
    });
    child.on('error', reject);
    child.on('exit', (code) => reject(new Error(`the exploration of ${task.bound} ended with exit code ${code}`)));
  });
}

/** Runs the tasks, a few at a time. */
async function all<Job, Result>(jobs: readonly Job[], work: (job: Job) => Promise<Result>): Promise<Result[]> {
  const results: Result[] = [];
  const left = jobs.map((job, index) => ({ job, index }));
  const next = async (): Promise<void> => {
    for (let one = left.shift(); one; one = left.shift()) results[one.index] = await work(one.job);
  };
  await Promise.all(Array.from({ length: WORKERS }, next));
  return results;
}

function print({ property, message, bound, events, afterwards }: Violation): void {
  say(`\n${bound}: ${property}\n  ${message}`);
  for (const [index, event] of events.entries()) say(`  ${index + 1}. ${event}`);
  const plan = faultPlanOf(events);
  if (plan) say(`  npm run faults -- --plan '${JSON.stringify(plan)}'`);
  if (afterwards.length > 0) say(`  then, until nothing is left to do: ${afterwards.join('; ')}`);
}

const TABLE_HEAD = [
  '| bound | all sequences of events up to | all steps up to | distinct states | passes of the real code | rests judged | CPU seconds |',
  '|---|---|---|---|---|---|---|',
];

function rowOf(bound: string, { found, cpuSeconds }: Done): string {
  const { states, depth, sequences, counts, complete } = found;
  const figures = [depth, states, counts['passesRun'] ?? 0, counts['rests'] ?? 0, cpuSeconds];
  // A bound of interleavings has single steps alone.
  const cells = [sequences === 0 ? 'none' : sequences, ...figures.map((figure) => figure.toLocaleString('en-US'))];
  return `| \`${bound}\`${complete ? ', complete' : ''} | ${cells.join(' | ')} |`;
}

async function explore(): Promise<boolean> {
  const began = Date.now();
  const named = values.bounds?.split(',');
  const bounds = (values.wakes ? WAKE_BOUNDS : BOUNDS).filter(({ name }) => named?.includes(name) ?? true);
  if (bounds.length === 0) throw new Error(`no such bound: ${values.bounds}`);
  const minutes = values.quick ? 0.6 : Number(values.minutes);
  const shares = bounds.reduce((total, { share = 1 }) => total + share, 0);
  // The longest first, so that both processes end at about the same time.
  const ordered = bounds.toSorted((a, b) => (b.share ?? 1) - (a.share ?? 1));
  const rows = new Map<string, string>();
  const done = await all(ordered, async ({ name, share = 1 }) => {
    const seconds = Math.min(minutes * 60, (minutes * 60 * WORKERS * share) / shares);
    const ofWakes = values.wakes && { wakesFrom: Number(values.from) };
    const task = { bound: name, depth: Number(values.depth), states: Number(values.states), seconds, ...ofWakes };
    const one = await run(task);
    const { states, transitions, depth, sequences, complete, counts } = one.found;
    if (values.wakes) say(`${name}: ${states} sequences, ${transitions} passes, ${one.cpuSeconds} s of CPU`);
    else
      say(
        `${name}: ${states} states, ${transitions} transitions, ${depth} steps deep, all sequences of ${sequences} events${complete ? ', complete' : ''}, ${one.cpuSeconds} s of CPU, ${JSON.stringify(counts)}`,
      );
    rows.set(name, rowOf(name, one));
    return one;
  });
  if (values.table)
    for (const line of [...TABLE_HEAD, ...bounds.flatMap(({ name }) => rows.get(name) ?? [])]) say(line);
  const violations = done.flatMap(({ found }) => found.violations);
  for (const violation of violations) print(violation);
  if (values.out !== undefined) writeFileSync(values.out, `${JSON.stringify(violations, undefined, 2)}\n`);
  const sum = (of: (one: Done) => number): number => done.reduce((total, one) => total + of(one), 0);
  say(
    JSON.stringify({
      states: sum(({ found }) => found.states),
      transitions: sum(({ found }) => found.transitions),
      depth: Math.max(...done.map(({ found }) => found.depth)),
      violations: violations.length,
      seeded: 0,
      caught: 0,
      seconds: Math.round((Date.now() - began) / 1000),
      MiB: Math.max(...done.map(({ MiB }) => MiB)),
    }),
  );
  return violations.length === 0;
}

/** Every seeded bug has to show in its bound, by what the bound does not show without it. */
async function measure(): Promise<boolean> {
  const began = Date.now();
  const seeds = [
    ...Object.entries(EXPLORER_SEEDS).map(([name, { bound, way }]) => ({ name, bound, way })),
    ...Object.entries(EXPRESSED).flatMap(([name, bound]) => (SEEDS[name] ? [{ name, bound, way: undefined }] : [])),
  ].filter(({ bound }) => values.bounds?.split(',').includes(bound) ?? true);
  const task = (bound: string): Task => ({
    bound,
    depth: Number(values.depth),
    states: Number(values.states),
    // Of a seed that is found it is not used up. Two of `authors` take 4 minutes on a machine that does much else.
    seconds: 420,
    ...(isOfWakes(bound) && { wakesFrom: 0 }),
  });
  const bounds = [...new Set(seeds.map(({ bound }) => bound))];
  const saidOf = ({ property, message }: Violation): string => `${property} ${message.replaceAll(/[0-9a-f]{6,}/g, '')}`;
  const clean = new Map(
    await all(bounds, async (bound) => {
      const { found } = await run({ ...task(bound), seconds: 40 });
      return [bound, new Set(found.violations.map(saidOf))] as const;
    }),
  );
  const runs = await all(seeds, async ({ name, bound, way }) => {
    const first = clean.get(bound)?.size === 0;
    const done = await run({ ...task(bound), first, ...(way && { way }) }, name).catch(
      (error: unknown) => error as Error,
    );
    const known = way ? new Set((await run({ ...task(bound), way })).found.violations.map(saidOf)) : clean.get(bound);
    const news = done instanceof Error ? [] : done.found.violations.filter((one) => !known?.has(saidOf(one)));
    say(
      `${news.length > 0 ? 'caught' : 'MISSED'}: ${name} (${bound}): ${done instanceof Error ? done.message : (news[0]?.message ?? '')}`,
    );
    return { done, isCaught: news.length > 0 };
  });
  const found = runs.flatMap(({ done }) => (done instanceof Error ? [] : [done]));
  const caught = runs.filter(({ isCaught }) => isCaught).length;
  say(
    JSON.stringify({
      states: found.reduce((total, one) => total + one.found.states, 0),
      transitions: found.reduce((total, one) => total + one.found.transitions, 0),
      depth: Math.max(...found.map((one) => one.found.depth)),
      violations: 0,
      seeded: seeds.length,
      caught,
      seconds: Math.round((Date.now() - began) / 1000),
      MiB: Math.max(...found.map(({ MiB }) => MiB)),
    }),
  );
  return caught === seeds.length;
}

async function main(): Promise<boolean> {
  if (values.help) {
    say(HELP);
    return true;
  }
  if (values.replay !== undefined) {
    const read: Violation | readonly Violation[] = JSON.parse(readFileSync(values.replay, 'utf8'));
    return values.wakes ? replayWakes([read].flat(), WAKE_BOUNDS, say) : replay(read, say);
  }
  return values.seeds ? measure() : explore();
}

process.exitCode = (await main()) ? 0 : 1;
