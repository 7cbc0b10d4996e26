// A reporter of vitest that writes each event to a file at once, so that a run that is ended, or hangs, still says what has passed and which
// files are under way (test-progress.ts reads it).

import { appendFileSync } from 'node:fs';
import type { Reporter, TestCase, TestModule } from 'vitest/node';
import { PROGRESS_FILE, type ProgressEvent, type ReportedTest } from './test-progress.ts';

const file = process.env[PROGRESS_FILE];

function write(event: ProgressEvent): void {
  if (file !== undefined) appendFileSync(file, `${JSON.stringify(event)}\n`);
}

function reported(test: TestCase): ReportedTest {
  const { state, errors } = test.result();
  const message = errors?.[0]?.message;
  return {
    name: test.fullName,
    state: state === 'pending' ? 'skipped' : state,
    ...(message !== undefined && { message }),
  };
}

/** The first error outside of a test: of the file, or of the hooks of a suite in it. */
function errorOf(module: TestModule): string | undefined {
  return [module, ...module.children.allSuites()].flatMap((suite) => suite.errors())[0]?.message;
}

// oxlint-disable-next-line no-default-export -- vitest loads a reporter by its file
export default class ProgressReporter implements Reporter {
  onTestModuleStart(module: TestModule): void {
    write({ began: module.moduleId });
  }

  onTestCaseResult(test: TestCase): void {
    write({ test: reported(test), of: test.module.moduleId });
  }

  onTestModuleEnd(module: TestModule): void {
    const message = errorOf(module);
    write({
      ended: module.moduleId,
      hasFailed: module.state() === 'failed',
      tests: [...module.children.allTests()].map(reported),
      ...(message !== undefined && { message }),
    });
  }

  onTestRunEnd(): void {
    write({ over: true });
  }
}
