// Test runs side by side, each in a process of its own: they mostly wait, for clusters and for pods. What they say is
// told line by line under the name of the run; how they went is read from the reports that they leave, or from their last line.

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';

export interface Tally {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

export interface Lane {
  readonly name: string;
  /** What follows `node`; `--reporter=json --outputFile.json=FILE` is added where there is no `tallyOfLastLine`. */
  readonly args: readonly string[];
  /** It starts when the lanes of these names have ended. */
  readonly after?: readonly string[];
  /** How a run that leaves no report went; undefined where the line does not say, and the run starts once more. */
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

/** A file of tests that a report names, not all of which have passed. */
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
}

/** What of vitest's JSON report is looked at. */
interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
  readonly testResults: readonly ReportedFile[];
}

interface ReportedFile {
  readonly name: string;
  readonly status: string;
  readonly message?: string;
  readonly assertionResults: readonly {
    readonly status: string;
    readonly fullName?: string;
    readonly failureMessages?: readonly string[];
  }[];
}

/**
 * All lanes side by side. Resolves when all have ended. A lane that left no report, or ended in failure without a failed test, is a
 * failure.
 */
export async function runLanes(lanes: readonly Lane[], options: LanesOptions): Promise<Outcome> {
  const { say, children, isStopped = () => false, env = {}, silenceMs = 30_000 } = options;
  const folder = await mkdtemp(join(tmpdir(), 'davit-test-'));
  const width = Math.max(...lanes.map(({ name }) => name.length));
  const silence = breakSilence(say, children, silenceMs);
  const run = (lane: Lane): Promise<Outcome> =>
    runLane(lane, { file: join(folder, `${lane.name}.json`), children, isStopped, env, say: told(lane, width) });
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

interface LaneOptions extends Required<Pick<LanesOptions, 'say' | 'children' | 'isStopped' | 'env'>> {
  /** Of its report. */
  readonly file: string;
}

const FAILED: Outcome = { tally: { passed: 0, failed: 1, skipped: 0 }, failures: [] };
/** How often a run whose last line does not say how it went is started. */
const ATTEMPTS = 2;

async function runLane(lane: Lane, options: LaneOptions): Promise<Outcome> {
  const { say, isStopped, file } = options;
  if (lane.tallyOfLastLine) {
    for (let attempt = 0; attempt < ATTEMPTS && !isStopped(); attempt += 1) {
      // oxlint-disable-next-line no-await-in-loop -- the second only if the first came to nothing
      const { last } = await runOnce(lane, lane.args, options);
      const tally = lane.tallyOfLastLine(last);
      if (tally) return { tally, failures: [] };
    }
    if (!isStopped()) say('Its last line does not say how it went; the reason is above.');
    return FAILED;
  }
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`];
  const { code } = await runOnce(lane, [...lane.args, ...reporters], options);
  const report = await readFile(file, 'utf8').then(
    (text) => JSON.parse(text) as Report,
    () => undefined,
  );
  if (report) return { tally: tallyOf(report, code), failures: failedFiles(lane, report) };
  say('It came to no report; the reason is above.');
  return FAILED;
}

/** Its exit code, and the last line of its standard output. */
async function runOnce(
  { niceness }: Lane,
  args: readonly string[],
  { children, env, say }: LaneOptions,
): Promise<{ readonly code: number; readonly last: string }> {
  const child = spawn(process.execPath, args, {
    // A group of its own, so that what it has started is within reach too.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env, ...(process.stdout.isTTY && { FORCE_COLOR: '1' }) },
  });
  children.add(child);
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

function tallyOf(report: Report, code: number): Tally {
  const failed = report.numFailedTests + report.testResults.filter(isBroken).length;
  return {
    passed: report.numPassedTests,
    failed: code !== 0 && failed === 0 ? 1 : failed,
    skipped: report.numPendingTests + report.numTodoTests,
  };
}

/** A file that could not be loaded, or whose set-up threw, has failed without a failed test to its name. */
function isBroken({ status, assertionResults }: ReportedFile): boolean {
  return status === 'failed' && assertionResults.every((test) => test.status !== 'failed');
}

function failedFiles(lane: Lane, report: Report): FailedFile[] {
  return report.testResults
    .filter(({ status }) => status === 'failed')
    .map((file) => {
      const tests = file.assertionResults;
      const count = (counts: (status: string) => boolean): number =>
        tests.filter(({ status }) => counts(status)).length;
      const passed = count((status) => status === 'passed');
      const failed = count((status) => status === 'failed');
      return {
        lane,
        path: file.name,
        tally: { passed, failed: isBroken(file) ? 1 : failed, skipped: tests.length - passed - failed },
        lines: isBroken(file)
          ? [beginOf(file.message)]
          : tests
              .filter(({ status }) => status === 'failed')
              .map(({ fullName, failureMessages }) => `${fullName ?? ''}: ${beginOf(failureMessages?.[0])}`),
      };
    });
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
