// Test runs side by side, each in a process of its own: they mostly wait, for clusters and for pods. Their output is printed
// line by line under the name of the run. Their results come from the progress that they write, or from their last line.

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { setPriority, tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { PROGRESS_FILE, progressOf, type ReportedFile, type ReportedTest, type TestProgress } from './test-progress.ts';

export interface Tally {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

export interface Lane {
  readonly name: string;
  /** What follows `node`; the reporters are added where there is no `tallyOfLastLine`. */
  readonly args: readonly string[];
  /** It starts when the lanes of these names have ended. */
  readonly after?: readonly string[];
  /** The result of a run that is not vitest's; undefined where the line does not say, and the run starts once more. */
  readonly tallyOfLastLine?: (line: string) => Tally | undefined;
  /** Of it and of what it starts; that of this process if absent. */
  readonly niceness?: number;
  /** What follows `node` to run the files alone in which tests have failed; where it is absent, what has failed has failed. */
  readonly argsOfFiles?: (files: readonly string[]) => readonly string[];
}

/** How lanes went. */
export interface Outcome {
  readonly tally: Tally;
  readonly failures: readonly FailedFile[];
}

/** A file of tests, not all of which have passed. */
export interface FailedFile {
  readonly lane: Lane;
  readonly path: string;
  /** What it is of the lane's tally. */
  readonly tally: Tally;
  /** A line for each of its failures: the name of the test, and how its message begins. */
  readonly lines: readonly string[];
}

export interface LanesOptions {
  /** A line of all that is said. */
  readonly say: (line: string) => void;
  readonly children: Set<ChildProcess>;
  /** Whether nothing more is to start. */
  readonly isStopped?: () => boolean;
  /** Environment of all of them, besides this process's own. */
  readonly env?: NodeJS.ProcessEnv;
  /** After so long without a word it is said which lanes still run. */
  readonly silenceMs?: number;
  /** A run without progress for so long is ended: no test or hook may take as long. */
  readonly hangMs?: number;
  /** A run whose files have all ended, or that leaves processes behind, is ended after so long. */
  readonly lingerMs?: number;
}

/**
 * All lanes side by side. Resolves when all have ended. A lane that ended before its tests did, or in failure without a failed test, is a
 * failure; what had passed counts all the same. A lane that hangs is ended, and the files that were under way have failed.
 */
export async function runLanes(lanes: readonly Lane[], options: LanesOptions): Promise<Outcome> {
  const { say, children, isStopped = () => false, env = {}, silenceMs = 30_000 } = options;
  const { hangMs = 30 * 60_000, lingerMs = 60_000 } = options;
  const folder = await mkdtemp(join(tmpdir(), 'davit-test-'));
  const width = Math.max(...lanes.map(({ name }) => name.length));
  const silence = breakSilence(say, children, silenceMs);
  const run = (lane: Lane): Promise<Outcome> =>
    runLane(lane, { folder, children, isStopped, env, hangMs, lingerMs, say: told(lane, width) });
  const runs = new Map<string, Promise<Outcome>>();
  const runInTurn = async (lane: Lane): Promise<Outcome> => {
    await Promise.all((lane.after ?? []).flatMap((name) => runs.get(name) ?? []));
    return run(lane);
  };
  try {
    for (const lane of lanes) runs.set(lane.name, runInTurn(lane));
    const outcomes = await Promise.all(runs.values());
    return {
      tally: sum(outcomes.map(({ tally }) => tally)),
      failures: outcomes.flatMap(({ failures }) => failures),
    };
  } finally {
    silence.stop();
    await rm(folder, { recursive: true, force: true });
  }

  function told({ name }: Lane, to: number): (line: string) => void {
    return (line) => {
      silence.broken();
      say(lanes.length === 1 ? line : `${name.padEnd(to)} │ ${line}`.trimEnd());
    };
  }
}

/** Sends it to a child that leads a group, and to all that it has started. */
export function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal);
  } catch {
    // It has ended on its own.
  }
}

export function sum(tallies: readonly Tally[]): Tally {
  const total = (of: keyof Tally): number => tallies.reduce((all, tally) => all + tally[of], 0);
  return { passed: total('passed'), failed: total('failed'), skipped: total('skipped') };
}

interface LaneOptions
  extends Required<Pick<LanesOptions, 'say' | 'children' | 'isStopped' | 'env' | 'hangMs' | 'lingerMs'>> {
  /** For the files of progress. */
  readonly folder: string;
}

const FAILED: Outcome = { tally: { passed: 0, failed: 1, skipped: 0 }, failures: [] };
/** How often a run whose last line does not say how it went is started. */
const ATTEMPTS = 2;
const REPORTERS = ['--reporter=default', `--reporter=${join(import.meta.dirname, 'progress-reporter.ts')}`];

async function runLane(lane: Lane, options: LaneOptions): Promise<Outcome> {
  const { say, isStopped } = options;
  if (!lane.tallyOfLastLine) return runTests(lane, options);
  for (let attempt = 0; attempt < ATTEMPTS && !isStopped(); attempt += 1) {
    const { last } = await runOnce(lane, lane.args, options);
    const tally = lane.tallyOfLastLine(last);
    if (tally) return { tally, failures: [] };
  }
  if (!isStopped()) say('Its last line does not say how it went; the reason is above.');
  return FAILED;
}

async function runTests(lane: Lane, options: LaneOptions): Promise<Outcome> {
  const file = join(options.folder, `${lane.name}.progress`);
  await writeFile(file, '');
  const progress = async (): Promise<TestProgress> => progressOf(await readFile(file, 'utf8'));
  const why = { ended: '' };
  const watch = watchForHangs(file, progress, options, (reason) => (why.ended = reason));
  const withFile = { ...options, env: { ...options.env, [PROGRESS_FILE]: file } };
  const { code } = await runOnce(lane, [...lane.args, ...REPORTERS], withFile, watch.follow).finally(watch.stop);
  const { files, isOver } = await progress();
  if (why.ended !== '') options.say(why.ended);
  else if (!isOver && !options.isStopped()) options.say('It ended before its tests did; the reason is above.');
  return outcomeOf(lane, files, { code, isWhole: isOver && why.ended === '', why: why.ended });
}

/**
 * Ends the group of a run in which nothing happens any more: no event for `hangMs`, or all files have ended and the run, or what one of them
 * started, has not for `lingerMs`.
 */
function watchForHangs(
  file: string,
  progress: () => Promise<TestProgress>,
  { hangMs, lingerMs }: LaneOptions,
  tell: (reason: string) => void,
): { follow(child: ChildProcess): void; stop(): void } {
  let child: ChildProcess | undefined;
  let size = 0;
  let since = Date.now();
  const timer = setInterval(() => void look(), Math.min(lingerMs, hangMs) / 4);
  return { follow: (started) => (child = started), stop: () => clearInterval(timer) };

  async function look(): Promise<void> {
    const { files, isOver } = await progress();
    const now = (await stat(file)).size;
    const hasExited = child?.exitCode !== null || child.signalCode !== null;
    if (now !== size) since = Date.now();
    size = now;
    const isLate = Date.now() - since >= (isOver || hasExited ? lingerMs : hangMs);
    if (child === undefined || !isLate) return;
    clearInterval(timer);
    const names = files.filter(({ hasEnded }) => !hasEnded).map(({ path }) => relative(process.cwd(), path));
    const [last = ''] =
      names.length > 0 ? [names.join(', ')] : files.slice(-1).map(({ path }) => relative(process.cwd(), path));
    const seconds = Math.round((Date.now() - since) / 1000);
    tell(
      isOver || hasExited
        ? `All tests ended ${seconds} s ago, and a process that they started did not. It was ended. The last file: ${last}`
        : `No test has ended for ${seconds} s. The run was ended. Still running: ${last}`,
    );
    signalGroup(child, 'SIGTERM');
    const started = child;
    setTimeout(() => {
      signalGroup(started, 'SIGKILL');
      // What has left the group may still hold them.
      started.stdout?.destroy();
      started.stderr?.destroy();
    }, 5000).unref();
  }
}

/** Its exit code, and the last line of its standard output. */
async function runOnce(
  { niceness }: Lane,
  args: readonly string[],
  { children, env, say }: LaneOptions,
  follow: (child: ChildProcess) => void = () => undefined,
): Promise<{ readonly code: number; readonly last: string }> {
  const child = spawn(process.execPath, args, {
    // A group of its own, so that what it has started is within reach too.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env, ...(process.stdout.isTTY && { FORCE_COLOR: '1' }) },
  });
  children.add(child);
  follow(child);
  if (niceness !== undefined && child.pid !== undefined) setPriority(child.pid, niceness);
  const [code, last] = await Promise.all([
    new Promise<number>((resolve) => child.on('close', (exit) => resolve(exit ?? 1))),
    tellLines(child.stdout, say),
    tellLines(child.stderr, say),
  ]);
  children.delete(child);
  return { code, last };
}

/** The last of them. */
async function tellLines(stream: Readable, say: (line: string) => void): Promise<string> {
  let last = '';
  for await (const line of createInterface({ input: stream })) {
    say(line);
    last = line;
  }
  return last;
}

function outcomeOf(
  lane: Lane,
  files: readonly ReportedFile[],
  { code, isWhole, why }: { readonly code: number; readonly isWhole: boolean; readonly why: string },
): Outcome {
  const tallies = files.map(tallyOf);
  const tally = sum(tallies);
  const failures: FailedFile[] = files.flatMap((file, index) => {
    const counted = tallies[index];
    return counted !== undefined && counted.failed > 0
      ? [{ lane, path: file.path, tally: counted, lines: linesOf(file, why) }]
      : [];
  });
  const last = files.at(-1);
  if (why !== '' && failures.length === 0 && last !== undefined)
    failures.push({ lane, path: last.path, tally: { passed: 0, failed: 1, skipped: 0 }, lines: [why] });
  const isBad = (code !== 0 || !isWhole) && tally.failed === 0;
  return { tally: isBad ? { ...tally, failed: 1 } : tally, failures };
}

/** A file that was under way, could not be loaded, or whose set-up threw, has failed without a failed test to its name. */
function tallyOf(file: ReportedFile): Tally {
  const count = (wanted: ReportedTest['state']): number => file.tests.filter(({ state }) => state === wanted).length;
  return {
    passed: count('passed'),
    failed: count('failed') + (isBroken(file) ? 1 : 0),
    skipped: count('skipped'),
  };
}

function isBroken({ hasEnded, hasFailed, tests }: ReportedFile): boolean {
  return !hasEnded || (hasFailed && tests.every(({ state }) => state !== 'failed'));
}

function linesOf(file: ReportedFile, why: string): string[] {
  const failed = file.tests.filter(({ state }) => state === 'failed');
  return [
    ...failed.map(({ name, message }) => `${name}: ${beginOf(message)}`),
    ...(isBroken(file) ? [file.hasEnded ? beginOf(file.message) : why || 'The run ended before this file did.'] : []),
  ];
}

function beginOf(message = ''): string {
  return stripVTControlCharacters(message.split('\n', 1)[0] ?? '');
}

function breakSilence(
  say: (line: string) => void,
  children: ReadonlySet<ChildProcess>,
  ms: number,
): { broken(): void; stop(): void } {
  const begun = Date.now();
  let last = begun;
  const timer = setInterval(() => {
    if (Date.now() - last < ms) return;
    last = Date.now();
    say(`still running after ${Math.round((last - begun) / 1000)} s, ${children.size} processes`);
  }, ms / 4);
  return { broken: () => void (last = Date.now()), stop: () => clearInterval(timer) };
}
