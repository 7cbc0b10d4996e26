// The runner of the tests, with small programs in the place of vitest.

import type { ChildProcess } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { getPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Lane, type LanesOptions, type Outcome, runLanes, signalGroup } from './parallel-runs.ts';
import { PROGRESS_FILE, type ProgressEvent, type ReportedTest } from './test-progress.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'davit-lanes-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

interface Program {
  /** What it writes about its tests; absent if it ends before. */
  readonly tests?: { readonly passed?: number; readonly failed?: number; readonly skipped?: number };
  /** In the place of `tests`. */
  readonly events?: readonly ProgressEvent[];
  /** What the program does after that. */
  readonly rest?: string;
}

function eventsOf(tests: Program['tests']): ProgressEvent[] {
  if (tests === undefined) return [];
  const of = (state: ReportedTest['state'], count = 0): ReportedTest[] =>
    Array.from({ length: count }, (_, index) => ({ name: `${state} ${index}`, state }));
  const all = [...of('passed', tests.passed), ...of('failed', tests.failed), ...of('skipped', tests.skipped)];
  const hasFailed = (tests.failed ?? 0) > 0;
  return [{ began: '/a.test.ts' }, { ended: '/a.test.ts', hasFailed, tests: all }, { over: true }];
}

async function lane(name: string, { tests, events = eventsOf(tests), rest = '' }: Program): Promise<Lane> {
  const file = join(folder, `${name}-${Math.random()}.mjs`);
  const lines = events.map((event) => `${JSON.stringify(event)}\n`).join('');
  await writeFile(
    file,
    `import fs from 'node:fs';
     fs.writeFileSync(process.env.${PROGRESS_FILE}, ${JSON.stringify(lines)});
     ${rest}`,
  );
  return { name, args: [file] };
}

async function run(
  programs: Readonly<Record<string, Program>>,
  options: Partial<LanesOptions> = {},
): Promise<Outcome & { said: string[] }> {
  const said: string[] = [];
  const lanes = await Promise.all(Object.entries(programs).map(([name, program]) => lane(name, program)));
  const outcome = await runLanes(lanes, { say: (line) => said.push(line), children: new Set(), ...options });
  return { ...outcome, said };
}

const one = { tests: { passed: 2, skipped: 1 }, rest: 'console.log("two lines\\nof one")' };

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe('lanes', () => {
  it('are counted together, and each line says of which it is', async () => {
    const other = {
      tests: { passed: 3, failed: 1, skipped: 2 },
      rest: 'process.exitCode = 1',
    };
    const { tally, said } = await run({ one, other });
    expect(tally).toEqual({ passed: 5, failed: 1, skipped: 3 });
    expect(said).toEqual(['one   │ two lines', 'one   │ of one']);
  });

  it('have more environment, and run behind others where that is asked for', async () => {
    const said: string[] = [];
    const rest = `import os from 'node:os'; setTimeout(() => console.log(process.env.MORE, os.getPriority()), 300)`;
    const niceness = Math.min(19, getPriority() + 1);
    const options = { say: (line: string) => void said.push(line), children: new Set<ChildProcess>() };
    const { tally } = await runLanes([{ ...(await lane('behind', { ...one, rest })), niceness }], {
      ...options,
      env: { MORE: 'it' },
    });
    expect(said).toEqual([`it ${niceness}`]);
    expect(tally).toEqual({ passed: 2, failed: 0, skipped: 1 });
  });

  it('start after others, and are counted by their last line where they are of another program', async () => {
    const said: string[] = [];
    const first = await lane('first', {
      tests: { passed: 1 },
      rest: 'setTimeout(() => console.log("it"), 300)',
    });
    const file = join(folder, 'counts.mjs');
    await writeFile(file, 'console.log("begun"); console.log(process.argv.length > 2 ? "?" : "7")');
    const second: Lane = {
      name: 'second',
      args: [file],
      after: ['first'],
      tallyOfLastLine: (line) => ({ passed: Number(line), failed: 0, skipped: 0 }),
    };
    const { tally } = await runLanes([first, second], { say: (line) => said.push(line), children: new Set() });
    expect(tally).toEqual({ passed: 8, failed: 0, skipped: 0 });
    expect(said).toEqual(['first  │ it', 'second │ begun', 'second │ 7']);
  });

  it('whose last line does not say how it went start twice, and not at all when the run was stopped', async () => {
    const said: string[] = [];
    const file = join(folder, 'mute.mjs');
    await writeFile(file, 'console.log("undisturbed, two runs differ")');
    const mute: Lane = { name: 'mute', args: [file], tallyOfLastLine: () => undefined };
    const options = { say: (line: string) => void said.push(line), children: new Set<ChildProcess>() };
    expect((await runLanes([mute], options)).tally).toEqual({ passed: 0, failed: 1, skipped: 0 });
    expect(said).toHaveLength(3);
    await runLanes([mute], { ...options, isStopped: () => true });
    expect(said).toHaveLength(3);
  });

  it('alone say what they say', async () => {
    expect((await run({ one })).said).toEqual(['two lines', 'of one']);
  });

  it.each([
    { reason: 'it has crashed before its tests', program: { rest: 'throw new Error("crashed")' } },
    { reason: 'it was killed', program: { rest: 'process.kill(process.pid, "SIGKILL")' } },
    { reason: 'it ended in failure though no test has failed', program: { tests: {}, rest: 'process.exit(3)' } },
    {
      reason: 'a file could not be loaded',
      program: {
        events: [
          { ended: '/b.test.ts', hasFailed: true, tests: [], message: 'no such import' },
          { over: true },
        ] as const,
        rest: 'process.exit(1)',
      },
    },
    {
      reason: 'a set-up threw, and its tests were left out',
      program: {
        events: [{ ended: '/b.test.ts', hasFailed: true, tests: [], message: 'set-up' }, { over: true }] as const,
        rest: 'process.exit(0)',
      },
    },
  ])('one has failed when $reason', async ({ program }) => {
    expect((await run({ one, program })).tally).toEqual({ passed: 2, failed: 1, skipped: 1 });
  });

  it('are all within reach of a signal while they run, with what they have started, and none after', async () => {
    const children = new Set<ChildProcess>();
    const rest = `import { spawn } from 'node:child_process';
      const own = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
      console.log(own.pid);
      setInterval(() => {}, 1000);`;
    const pids: number[] = [];
    const lanes = await Promise.all(['first', 'second'].map((name) => lane(name, { rest })));
    const ended = runLanes(lanes, { say: (line) => void pids.push(Number(line.split(' ').at(-1))), children });
    await expect.poll(() => pids.length, { timeout: 60_000 }).toBe(2);
    for (const child of children) signalGroup(child, 'SIGINT');
    expect((await ended).tally).toEqual({ passed: 0, failed: 2, skipped: 0 });
    expect(children.size).toBe(0);
    await expect.poll(() => pids.filter(isThere), { timeout: 60_000 }).toEqual([]);
  });

  it('that say nothing for long are said to be running', async () => {
    const { said } = await run({ slow: { tests: {}, rest: 'setTimeout(() => {}, 600)' } }, { silenceMs: 200 });
    expect(said).toContainEqual(expect.stringMatching(/^still running after \d+ s, 1 processes$/));
  });

  it('that are ended count what had passed, and name the files that were under way', async () => {
    const children = new Set<ChildProcess>();
    const events: ProgressEvent[] = [
      { began: '/a.test.ts' },
      { test: { name: 'one', state: 'passed' }, of: '/a.test.ts' },
      { ended: '/a.test.ts', hasFailed: false, tests: [{ name: 'one', state: 'passed' }] },
      // What is told late is in the end of its file.
      { test: { name: 'one', state: 'passed' }, of: '/a.test.ts' },
      { began: '/b.test.ts' },
      { test: { name: 'two', state: 'passed' }, of: '/b.test.ts' },
    ];
    let ready = false;
    const say = (): void => void (ready = true);
    const lanes = [await lane('ended', { events, rest: 'console.log("runs"); setInterval(() => {}, 1000)' })];
    const ended = runLanes(lanes, { say, children, isStopped: () => true });
    await expect.poll(() => ready, { timeout: 60_000 }).toBe(true);
    for (const child of children) signalGroup(child, 'SIGINT');
    const { tally, failures } = await ended;
    expect(tally).toEqual({ passed: 2, failed: 1, skipped: 0 });
    expect(failures).toMatchObject([{ path: '/b.test.ts', lines: ['The run ended before this file did.'] }]);
  });

  it('in which no test ends any more are ended, with the name of the file', async () => {
    const events: ProgressEvent[] = [{ began: join(process.cwd(), 'hangs.test.ts') }];
    const { tally, said, failures } = await run(
      { hangs: { events, rest: 'setInterval(() => {}, 1000)' } },
      // A process takes a second to start on a busy machine.
      { hangMs: 5000 },
    );
    expect(tally).toEqual({ passed: 0, failed: 1, skipped: 0 });
    expect(said).toEqual([
      expect.stringMatching(/^No test has ended for \d+ s\. The run was ended\. Still running: hangs\.test\.ts$/),
    ]);
    expect(failures).toHaveLength(1);
  });

  it('whose files leave a process behind are ended, with the name of the last file', async () => {
    const rest = `import { spawn } from 'node:child_process';
      const left = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: ['ignore', 'inherit', 'inherit'] });
      console.log(left.pid);
      process.exit(0);`;
    const { tally, said, failures } = await run({ leaves: { tests: { passed: 3 }, rest } }, { lingerMs: 400 });
    expect(tally).toEqual({ passed: 3, failed: 1, skipped: 0 });
    expect(said[1]).toMatch(
      /^All tests ended \d+ s ago, and a process that they started did not\. It was ended\. The last file: /,
    );
    expect(failures).toMatchObject([{ path: '/a.test.ts' }]);
    await expect.poll(() => isThere(Number(said[0])), { timeout: 60_000 }).toBe(false);
  });
});
