// `npm test`: every test there is, then, alone on the last line, how many passed and failed.

import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

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

const folder = await mkdtemp(join(tmpdir(), 'davit-test-'));
const file = join(folder, 'report.json');
const args = ['run', '--reporter=default', '--reporter=json', `--outputFile.json=${file}`, ...process.argv.slice(2)];
const child = spawn(process.execPath, [join(import.meta.dirname, '../node_modules/vitest/vitest.mjs'), ...args], {
  stdio: 'inherit',
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal));
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
const skipped = report.numPendingTests + report.numTodoTests;
if (skipped > 0)
  process.stdout.write(
    `\n${skipped} left out: their names, or the lines above, say what this machine lacks for them.\n`,
  );
process.stdout.write(
  `\n${report.numPassedTests} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}\n`,
);
process.exit(failed > 0 ? 1 : 0);
