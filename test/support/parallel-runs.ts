// Test runs side by side, each in a process of its own: they mostly wait, for clusters and for pods. What they say is
// told line by line under the name of the run; how they went is read from the reports that they leave, or from their last line.

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';

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
  readonly testResults: readonly {
    readonly status: string;
    readonly assertionResults: readonly { readonly status: string }[];
  }[];
}

/**
 * All lanes side by side. Resolves when all have ended. A lane that left no report, or ended in failure without a failed test, is a
 * failure.
 */
export async function runLanes(lanes: readonly Lane[], options: LanesOptions): Promise<Tally> {
  const { say, children, isStopped = () => false, env = {}, silenceMs = 30_000 } = options;
  const folder = await mkdtemp(join(tmpdir(), 'davit-test-'));
  const width = Math.max(...lanes.map(({ name }) => name.length));
  const silence = breakSilence(say, children, silenceMs);
  const run = (lane: Lane): Promise<Tally> =>
    runLane(lane, { file: join(folder, `${lane.name}.json`), children, isStopped, env, say: told(lane, width) });
  const runs = new Map<string, Promise<Tally>>();
  const runInTurn = async (lane: Lane): Promise<Tally> => {
    await Promise.all((lane.after ?? []).flatMap((name) => runs.get(name) ?? []));
    return run(lane);
  };
  try {
    for (const lane of lanes) runs.set(lane.name, runInTurn(lane));
    return sum(await Promise.all(runs.values()));
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

/** How often a run whose last line does not say how it went is started. */
const ATTEMPTS = 2;

async function runLane(lane: Lane, options: LaneOptions): Promise<Tally> {
  const { say, isStopped, file } = options;
  if (lane.tallyOfLastLine) {
    for (let attempt = 0; attempt < ATTEMPTS && !isStopped(); attempt += 1) {
      // oxlint-disable-next-line no-await-in-loop -- the second only if the first came to nothing
      const { last } = await runOnce(lane, lane.args, options);
      const tally = lane.tallyOfLastLine(last);
      if (tally) return tally;
    }
    if (!isStopped()) say('Its last line does not say how it went; the reason is above.');
    return { passed: 0, failed: 1, skipped: 0 };
  }
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`];
  const { code } = await runOnce(lane, [...lane.args, ...reporters], options);
  const report = await readFile(file, 'utf8').then(
    (text) => JSON.parse(text) as Report,
    () => undefined,
  );
  if (report) return tallyOf(report, code);
  say('It came to no report; the reason is above.');
  return { passed: 0, failed: 1, skipped: 0 };
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
  // A file that could not be loaded, or whose set-up threw, has failed without a failed test to its name.
  const broken = report.testResults.filter(
    (file) => file.status === 'failed' && file.assertionResults.every(({ status }) => status !== 'failed'),
  ).length;
  const failed = report.numFailedTests + broken;
  return {
    passed: report.numPassedTests,
    failed: code !== 0 && failed === 0 ? 1 : failed,
    skipped: report.numPendingTests + report.numTodoTests,
  };
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
