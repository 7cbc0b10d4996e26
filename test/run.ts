// `npm test`: the tests of every part of Davit; alone on the last line, how many passed and failed. With `--whole`, also those that keep
// the processors busy for minutes (support/usual.ts lists some), and a sample of the fault plans, each counted as a test: it is what runs
// for a change before it lands. With other arguments, which are vitest's, only the tests that they choose. What takes longer still, or an
// engine that few tests need, is `npm run e2e`'s.

import type { ChildProcess } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { needs, type Project, prepare } from './support/needs.ts';
import { type Lane, runLanes, signalGroup, sum, type Tally } from './support/parallel-runs.ts';
import { runAgainAlone, tellFailures } from './support/second-runs.ts';
import { USUAL_TESTS } from './support/usual.ts';

/**
 * What runs side by side. Those of clusters mostly wait, and have limits for what they wait for; what computes takes the rest of the
 * processors.
 */
const USUAL: readonly (readonly Project[])[] = [['e2e'], ['clusters'], ['integration'], ['unit']];
/** As `nice` counts. With 10, the tests beside the fault plans got a twentieth of the machine, and reached limits of time. */
const BEHIND_CLUSTERS = 5;
const NONE: Tally = { passed: 0, failed: 0, skipped: 0 };

/**
 * What `--whole` adds: platforms that come and go, the documents' commands in real pods, a published CLI, and samples of the explorer and
 * the fault plans.
 */
const SLOW: readonly Project[] = ['platforms', 'pods', 'searches', 'published'];
const WHOLE = '--whole';
/**
 * It starts when the clusters with pods and the shared one are gone: what then still computes runs behind it. Undisturbed runs that differ
 * end a run of the harness; on a machine that was busy just then they need not differ again.
 */
const FAULTS: Lane = {
  name: 'faults',
  // By the load of the machine, which is still that of the tests, there would be fewer lanes.
  args: [join(import.meta.dirname, 'harness/faults/main.ts'), '--quick', '--lanes', '8'],
  after: ['e2e', 'integration'],
  tallyOfLastLine: tallyOfFaults,
};
const vitest = join(import.meta.dirname, '../node_modules/vitest/vitest.mjs');
const asked = process.argv.slice(2);
const whole = asked.join() === WHOLE;
if (!whole && asked.includes(WHOLE)) {
  process.stderr.write(`${WHOLE} goes with nothing else: it is all tests of npm test. Leave it out to choose tests.\n`);
  process.exit(2);
}
const lanes =
  asked.length > 0 && !whole
    ? [lane('tests', asked)]
    : [
        ...USUAL.map((projects) => ({
          ...laneOf(projects.join('+'), projects),
          ...(projects.includes('unit') && { niceness: BEHIND_CLUSTERS }),
        })),
        ...(whole ? slowLanes() : []),
      ];

function slowLanes(): Lane[] {
  return [
    { ...laneOf('platforms', ['platforms']), after: ['clusters'] },
    { ...laneOf('documents', ['pods'], ['test/suites/e2e/documents.test.ts']), after: ['e2e'] },
    { ...laneOf('searches+published', ['searches', 'published']), after: ['clusters'], niceness: BEHIND_CLUSTERS },
    FAULTS,
  ];
}

/** What the tests of a choice by other arguments need is seen to when vitest has chosen. */
function projectsOf(args: readonly string[]): Project[] {
  if (args.length === 0) return USUAL.flat();
  if (whole) return [...USUAL.flat(), ...SLOW];
  return args.filter((arg, index): arg is Project => args[index - 1] === '--project' && Object.hasOwn(needs, arg));
}

function lane(name: string, args: readonly string[]): Lane {
  return { name, args: [vitest, 'run', ...args] };
}

/** Of which the files that fail run once more, alone. */
function laneOf(name: string, projects: readonly string[], files: readonly string[] = []): Lane {
  const args = [vitest, 'run', ...of(projects)];
  return { name, args: [...args, ...files], argsOfFiles: (failed) => [...args, ...failed] };
}

function of(projects: readonly string[]): string[] {
  return projects.flatMap((project) => ['--project', project]);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

const children = new Set<ChildProcess>();
let stopped = false;
/** The clusters' keepers take them down when a process has gone; but what hangs must not stay. */
const PATIENCE_MS = 20_000;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    stopped = true;
    for (const child of children) signalGroup(child, signal);
    setTimeout(() => children.forEach((child) => signalGroup(child, 'SIGKILL')), PATIENCE_MS).unref();
  });
}

await prepare(
  projectsOf(asked).flatMap((project) => needs[project]),
  say,
);
const compiled = await mkdtemp(join(tmpdir(), 'davit-compiled-'));
/**
 * Davit's processes are started some hundred times, and reading its source takes half of a start. Kubernetes' take a fifth less
 * time when they collect garbage more rarely; how much memory that is has a bound: a twelfth of the machine's, of which up to five
 * API servers take part at a time.
 */
const mebibytes = Math.max(1024, Math.floor(totalmem() / 12 / 2 ** 20));
const env = {
  NODE_COMPILE_CACHE: compiled,
  GOGC: '800',
  GOMEMLIMIT: `${mebibytes}MiB`,
  ...(asked.length === 0 && { [USUAL_TESTS]: '' }),
};
const options = { say, children, isStopped: () => stopped, env };
const tests = await runAgainAlone(await runLanes(lanes, options), options);
await rm(compiled, { recursive: true, force: true });
tellFailures(tests, say);
const { passed, failed, skipped } = sum([tests.tally, stopped ? { ...NONE, failed: 1 } : NONE]);
if (stopped) say('\nStopped before the end.');
if (skipped > 0) say(`\n${skipped} left out: their names, or the lines above, say what this machine lacks for them.`);
say(`\n${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
process.exit(failed > 0 ? 1 : 0);

/** The last line of the fault harness says how it went; undefined for a run that came to no last line. */
function tallyOfFaults(line: string): Tally | undefined {
  try {
    const { plans, violations, seeded, caught } = JSON.parse(line) as Record<string, number>;
    const broken = (violations ?? 0) + (seeded ?? 0) - (caught ?? 0);
    // On a machine so slow that none was begun, nothing has been shown.
    return { ...NONE, ...(plans === 0 ? { failed: 1 } : { passed: (plans ?? 0) - broken, failed: broken }) };
  } catch {
    return undefined;
  }
}
