// `npm test`: every test there is, then a sample of the fault plans, each counted as a test; alone on the last line, how
// many passed and failed. With arguments, which are vitest's, only the tests that they choose.

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
  readonly success: boolean;
  readonly testResults: readonly {
    readonly status: string;
    readonly name: string;
    readonly assertionResults: readonly unknown[];
  }[];
}

/** The installation by Helm builds an image and takes minutes: it is `npm run e2e`'s. */
const WHOLE = ['unit', 'integration', 'clusters', 'e2e'].flatMap((name) => ['--project', name]);
const partly = process.argv.length > 2;
const asked = partly ? process.argv.slice(2) : WHOLE;

const folder = await mkdtemp(join(tmpdir(), 'davit-test-'));
const file = join(folder, 'report.json');
const args = ['run', '--reporter=default', '--reporter=json', `--outputFile.json=${file}`, ...asked];
const child = spawn(process.execPath, [join(import.meta.dirname, '../node_modules/vitest/vitest.mjs'), ...args], {
  stdio: 'inherit',
});
let running: ChildProcess = child;
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => running.kill(signal));
const code = await new Promise<number>((resolve) => child.on('exit', (exit) => resolve(exit ?? 1)));
const report = await readFile(file, 'utf8').then(
  (text) => JSON.parse(text) as Report,
  () => undefined,
);
await rm(folder, { recursive: true, force: true });

if (!report) {
  process.stdout.write('No test was run; the reason is above.\n\n0 passed, 1 failed\n');
  process.exit(1);
}
// A file that could not be loaded has failed without a test to its name.
const broken = report.testResults.filter(
  (result) => result.status === 'failed' && result.assertionResults.length === 0,
).length;
const failed = report.numFailedTests + broken + (code !== 0 && report.numFailedTests + broken === 0 ? 1 : 0);
// Undisturbed runs that differ end a run of the harness; on a machine that was busy just then they need not differ again.
const faults = partly
  ? { passed: 0, failed: 0 }
  : ((await runFaults()) ?? (await runFaults()) ?? { passed: 0, failed: 1 });
const skipped = report.numPendingTests + report.numTodoTests;
if (skipped > 0)
  process.stdout.write(
    `\n${skipped} left out: their names, or the lines above, say what this machine lacks for them.\n`,
  );
process.stdout.write(
  `\n${report.numPassedTests + faults.passed} passed, ${failed + faults.failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}\n`,
);
process.exit(failed + faults.failed > 0 ? 1 : 0);

/** The last line of the fault harness says how it went; undefined for a run that came to no last line. */
async function runFaults(): Promise<{ readonly passed: number; readonly failed: number } | undefined> {
  process.stdout.write('\nFault plans: what each means is in docs/reliability.md\n');
  const harness = spawn(process.execPath, [join(import.meta.dirname, 'faults/main.ts'), '--quick'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  running = harness;
  let last = '';
  for await (const line of createInterface({ input: harness.stdout })) {
    process.stdout.write(`${line}\n`);
    last = line;
  }
  try {
    const { plans, violations, seeded, caught } = JSON.parse(last) as Record<string, number>;
    const broken = (violations ?? 0) + (seeded ?? 0) - (caught ?? 0);
    // On a machine so slow that none was begun, nothing has been shown.
    return plans === 0 ? { passed: 0, failed: 1 } : { passed: (plans ?? 0) - broken, failed: broken };
  } catch {
    return undefined;
  }
}
