// The runner of the tests, with small programs in the place of vitest.

import type { ChildProcess } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { getPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Lane, runLanes, signalGroup } from './parallel-runs.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'davit-lanes-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const NOTHING = { numPassedTests: 0, numFailedTests: 0, numPendingTests: 0, numTodoTests: 0, testResults: [] };

interface Program {
  readonly report?: object;
  /** What the program does after its report. */
  readonly rest?: string;
}

async function lane(name: string, { report, rest = '' }: Program): Promise<Lane> {
  const file = join(folder, `${name}-${Math.random()}.mjs`);
  const write = `fs.writeFileSync(out, ${JSON.stringify(JSON.stringify({ ...NOTHING, ...report }))});`;
  await writeFile(
    file,
    `import fs from 'node:fs';
     const out = process.argv.find((arg) => arg.startsWith('--outputFile.json=')).slice('--outputFile.json='.length);
     ${report ? write : ''}
     ${rest}`,
  );
  return { name, args: [file] };
}

async function run(
  programs: Readonly<Record<string, Program>>,
  children = new Set<ChildProcess>(),
  silenceMs = 30_000,
): Promise<{ tally: object; said: string[] }> {
  const said: string[] = [];
  const lanes = await Promise.all(Object.entries(programs).map(([name, program]) => lane(name, program)));
  const { tally } = await runLanes(lanes, { say: (line) => said.push(line), children, silenceMs });
  return { tally, said };
}

const one = { report: { numPassedTests: 2, numTodoTests: 1 }, rest: 'console.log("two lines\\nof one")' };

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
      report: { numPassedTests: 3, numFailedTests: 1, numPendingTests: 2 },
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

  it('start after others, and are counted by their last line where they leave no report', async () => {
    const said: string[] = [];
    const first = await lane('first', {
      report: { numPassedTests: 1 },
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
    { reason: 'it has crashed before its report', program: { rest: 'throw new Error("crashed")' } },
    { reason: 'it was killed', program: { rest: 'process.kill(process.pid, "SIGKILL")' } },
    { reason: 'it ended in failure though no test has failed', program: { report: {}, rest: 'process.exit(3)' } },
    {
      reason: 'a file could not be loaded',
      program: { report: { testResults: [{ status: 'failed', assertionResults: [] }] }, rest: 'process.exit(1)' },
    },
    {
      reason: 'a set-up threw, and its tests were left out',
      program: {
        report: { testResults: [{ status: 'failed', assertionResults: [{ status: 'skipped' }] }] },
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
    const { said } = await run({ slow: { report: {}, rest: 'setTimeout(() => {}, 600)' } }, new Set(), 200);
    expect(said).toContainEqual(expect.stringMatching(/^still running after \d+ s, 1 processes$/));
  });
});
