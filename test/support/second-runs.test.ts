// Files that have failed run once more, with small programs in the place of vitest.

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Lane, runLanes } from './parallel-runs.ts';
import { type Confirmed, runAgainAlone, tellFailures } from './second-runs.ts';
import { PROGRESS_FILE, type ProgressEvent, type ReportedTest } from './test-progress.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'davit-second-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const passed = (name: string): ReportedTest => ({ name, state: 'passed' });
const skipped: ReportedTest = { name: 'left out', state: 'skipped' };
const failed = (name: string): ReportedTest => ({
  name,
  state: 'failed',
  message: `\u001b[31mError: ${name} waited\u001b[39m\n  at a line`,
});

/** The progress of a run of one file. */
function progressOf(path: string, tests: readonly ReportedTest[], message?: string): ProgressEvent[] {
  const hasFailed = message !== undefined || tests.some(({ state }) => state === 'failed');
  return [{ ended: path, hasFailed, tests, ...(message !== undefined && { message }) }, { over: true }];
}

let programs = 0;
async function program(events: readonly ProgressEvent[], rest = ''): Promise<string> {
  programs += 1;
  const file = join(folder, `${programs}.mjs`);
  const lines = events.map((event) => `${JSON.stringify(event)}\n`).join('');
  await writeFile(
    file,
    `import fs from 'node:fs';
     fs.writeFileSync(process.env.${PROGRESS_FILE}, ${JSON.stringify(lines)});
     console.log('runs', ...process.argv.slice(2).filter((arg) => !arg.startsWith('--')));
     ${rest}`,
  );
  return file;
}

async function lane(
  name: string,
  first: readonly ProgressEvent[],
  second?: readonly ProgressEvent[],
  rest = '',
): Promise<Lane> {
  const [begun, again] = await Promise.all([program(first, rest), second && program(second)]);
  return { name, args: [begun], ...(again && { argsOfFiles: (files: readonly string[]) => [again, ...files] }) };
}

async function confirm(lanes: readonly Lane[], isStopped = false): Promise<{ confirmed: Confirmed; said: string[] }> {
  const said: string[] = [];
  const options = { say: (line: string) => void said.push(line), children: new Set<never>() };
  const confirmed = await runAgainAlone(await runLanes(lanes, options), { ...options, isStopped: () => isStopped });
  said.length = 0;
  tellFailures(confirmed, options.say);
  return { confirmed, said };
}

const well = progressOf('well.test.ts', [passed('a'), passed('b')]);
const bad = progressOf('bad.test.ts', [passed('c'), failed('d'), skipped]);

describe('a file with a failed test', () => {
  it('that passes alone has passed, and is told by name', async () => {
    const mended = progressOf('bad.test.ts', [passed('c'), passed('d'), skipped]);
    const { confirmed, said } = await confirm([await lane('well', well), await lane('bad', bad, mended)]);
    expect(confirmed.tally).toEqual({ passed: 4, failed: 0, skipped: 1 });
    expect(said).toEqual([
      '\nFailed beside all others, and passed alone; each is to be mended:',
      '  bad.test.ts',
      '    d: Error: d waited',
    ]);
  });

  it('that fails again has failed', async () => {
    const { confirmed, said } = await confirm([await lane('bad', bad, bad)]);
    expect(confirmed.tally).toEqual({ passed: 1, failed: 1, skipped: 1 });
    expect(said).toEqual(['\nFailed:', '  bad.test.ts', '    d: Error: d waited']);
  });

  it('that does not run again has failed, whatever it would have come to', async () => {
    const { confirmed } = await confirm([await lane('bad', bad)]);
    expect(confirmed).toMatchObject({ tally: { passed: 1, failed: 1, skipped: 1 }, passedAlone: [] });
  });

  it('is not run again when the run was stopped', async () => {
    const { confirmed } = await confirm([await lane('bad', bad, well)], true);
    expect(confirmed.tally).toEqual({ passed: 1, failed: 1, skipped: 1 });
  });

  it('is not run again where it is one of many', async () => {
    const many = await Promise.all(Array.from({ length: 7 }, (_, index) => lane(`bad ${index}`, bad, well)));
    expect((await confirm(many)).confirmed.tally).toEqual({ passed: 7, failed: 7, skipped: 7 });
  });
});

describe('what names no file is not run again:', () => {
  it('a run without a failed test that ended in failure', async () => {
    const { confirmed } = await confirm([await lane('odd', well, well, 'process.exitCode = 1')]);
    expect(confirmed.tally).toEqual({ passed: 2, failed: 1, skipped: 0 });
  });

  it('a run that ends before its tests the second time has failed', async () => {
    const begun = await lane('bad', bad);
    const none = join(folder, 'none.mjs');
    await writeFile(none, 'process.exit(1)');
    const { confirmed, said } = await confirm([{ ...begun, argsOfFiles: () => [none] }]);
    expect(confirmed.tally).toEqual({ passed: 0, failed: 1, skipped: 0 });
    expect(said).toEqual(['\nFailed:', '  bad.test.ts', '    d: Error: d waited']);
  });
});

it('a file whose set-up threw runs again too, and its reason is told', async () => {
  const thrown = progressOf('odd.test.ts', [skipped], 'Error: no cluster');
  expect(await confirm([await lane('odd', thrown, well)])).toMatchObject({
    confirmed: { tally: { passed: 2, failed: 0, skipped: 0 } },
    said: [expect.stringMatching(/passed alone/), '  odd.test.ts', '    Error: no cluster'],
  });
});

it('the file is named to the second run', async () => {
  const said: string[] = [];
  const options = { say: (line: string) => void said.push(line), children: new Set<never>() };
  await runAgainAlone(await runLanes([await lane('bad', bad, well)], options), options);
  expect(said).toEqual(['runs', '\nOnce more, alone: bad.test.ts', 'runs bad.test.ts']);
});
