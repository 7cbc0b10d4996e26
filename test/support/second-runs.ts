// Tests that have failed beside all others run once more, alone. A busy machine makes some fail that wait for a pod or a process; what is
// broken fails again. Both are told by name: what fails now and then is to be mended too.

import { relative } from 'node:path';
import {
  type FailedFile,
  type Lane,
  type LanesOptions,
  type Outcome,
  runLanes,
  sum,
  type Tally,
} from './parallel-runs.ts';

/** Where more files than these have failed, it is not the machine. */
const MOST = 6;

/** An outcome, and which of its first failures were none when their files ran alone. */
export interface Confirmed extends Outcome {
  readonly passedAlone: readonly FailedFile[];
}

/**
 * Runs the files of an outcome that have failed once more, one lane after another; what counts is how they went then. A lane that ended
 * before its tests, or whose tests all passed though it ended in failure, is not run again.
 */
export async function runAgainAlone(outcome: Outcome, options: LanesOptions): Promise<Confirmed> {
  const again = outcome.failures.filter(({ lane }) => lane.argsOfFiles !== undefined);
  if (again.length === 0 || again.length > MOST || options.isStopped?.()) return { ...outcome, passedAlone: [] };
  options.say(`\nOnce more, alone: ${again.map(({ path }) => relative(process.cwd(), path)).join(', ')}`);
  const seconds: Outcome[] = [];
  for (const lane of new Set(again.map((file) => file.lane))) {
    const files = again.filter((file) => file.lane === lane);
    const second = await runLanes([alone(lane, files)], options);
    // A run that has failed and names no file says of none of them that it has passed.
    const isMute = second.tally.failed > 0 && second.failures.length === 0;
    seconds.push(isMute ? { ...second, failures: files } : second);
  }
  const failures = seconds.flatMap((second) => second.failures);
  const tally = sum([
    less(outcome.tally, sum(again.map((file) => file.tally))),
    ...seconds.map((second) => second.tally),
  ]);
  return {
    tally,
    failures: [...outcome.failures.filter((file) => !again.includes(file)), ...failures],
    passedAlone: again.filter(({ path }) => !failures.some((failure) => failure.path === path)),
  };
}

function alone({ name, args, argsOfFiles }: Lane, files: readonly FailedFile[]): Lane {
  return { name, args: argsOfFiles?.(files.map(({ path }) => path)) ?? args };
}

function less(all: Tally, part: Tally): Tally {
  return {
    passed: all.passed - part.passed,
    failed: all.failed - part.failed,
    skipped: all.skipped - part.skipped,
  };
}

/** The failures that stand, then those that did not happen again; the last lines of a long output are what its reader sees. */
export function tellFailures({ failures, passedAlone }: Confirmed, say: (line: string) => void): void {
  tell('Failed', failures);
  tell('Failed beside all others, and passed alone; each is to be mended', passedAlone);

  function tell(what: string, files: readonly FailedFile[]): void {
    if (files.length === 0) return;
    say(`\n${what}:`);
    for (const { path, lines } of files) {
      say(`  ${relative(process.cwd(), path)}`);
      for (const line of lines) say(`    ${line}`);
    }
  }
}
