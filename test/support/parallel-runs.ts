// Test runs side by side, each in a process of its own: they mostly wait, for clusters and for pods. What they say is
// told line by line under the name of the run; how they went is read from the reports that they leave.

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
  /** What follows `node`; `--reporter=json --outputFile.json=FILE` is added. */
  readonly args: readonly string[];
  /** Of it and of what it starts; that of this process if absent. */
  readonly niceness?: number;
}

export interface LanesOptions {
  /** A line of all that is said. */
  readonly say: (line: string) => void;
  readonly children: Set<ChildProcess>;
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
  const { say, children, env = {}, silenceMs = 30_000 } = options;
  const folder = await mkdtemp(join(tmpdir(), 'davit-test-'));
  const width = Math.max(...lanes.map(({ name }) => name.length));
  const silence = breakSilence(say, children, silenceMs);
  const run = (lane: Lane): Promise<Tally> =>
    runLane(lane, { file: join(folder, `${lane.name}.json`), children, env, say: told(lane, width) });
  try {
    return sum(await Promise.all(lanes.map(run)));
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

interface LaneOptions extends Pick<LanesOptions, 'say' | 'children'> {
  /** Of its report. */
  readonly file: string;
  readonly env: NodeJS.ProcessEnv;
}

async function runLane({ args, niceness }: Lane, { file, children, env, say }: LaneOptions): Promise<Tally> {
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`];
  const child = spawn(process.execPath, [...args, ...reporters], {
    // A group of its own, so that what it has started is within reach too.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env, ...(process.stdout.isTTY && { FORCE_COLOR: '1' }) },
  });
  children.add(child);
  if (niceness !== undefined && child.pid !== undefined) setPriority(child.pid, niceness);
  const [code] = await Promise.all([
    new Promise<number>((resolve) => child.on('close', (exit) => resolve(exit ?? 1))),
    ...[child.stdout, child.stderr].map((stream) => tellLines(stream, say)),
  ]);
  children.delete(child);
  const report = await readFile(file, 'utf8').then(
    (text) => JSON.parse(text) as Report,
    () => undefined,
  );
  if (report) return tallyOf(report, code);
  say('It came to no report; the reason is above.');
  return { passed: 0, failed: 1, skipped: 0 };
}

async function tellLines(stream: Readable, say: (line: string) => void): Promise<void> {
  for await (const line of createInterface({ input: stream })) say(line);
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
